//! The suites of risuai: windows and memories of a chat, in the toy world of `golden/README.md`.

mod chats;
mod helpers;
mod memories;
mod presets;
mod prompt;
mod toy;
mod window;

use super::Suite;

pub const SUITES: &[Suite] = &[
    ("cards", helpers::cards),
    ("hanurai", memories::hanurai),
    ("hypav2", memories::hypa_v2),
    ("hypav3", memories::hypa_v3),
    ("presets", helpers::presets),
    ("ranking", helpers::ranking),
    ("rate_limiter", helpers::rate_limiter),
    ("supa_and_hypav1", memories::supa),
    ("window", window::run),
];

#[cfg(test)]
mod tests {
    #[test]
    fn every_case_passes() {
        crate::golden::testing::check_passes("risuai");
    }
}
