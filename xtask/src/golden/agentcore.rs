//! The suites of AgentCore: items, their sources, how items are assembled, and the budget loop.

mod agent;
mod sources;
mod texts;
mod window;

use std::sync::LazyLock;

use pellucid_engine::pack::Pack;

use super::Suite;

/// The pack whose texts and layout the suites use.
fn pack() -> &'static Pack {
    static PACK: LazyLock<Pack> = LazyLock::new(|| Pack::builtin("agentcore").expect("agentcore is built in"));
    &PACK
}

pub const SUITES: &[Suite] = &[
    ("agent", agent::run),
    ("assembly", sources::assembly),
    ("budget_manager", window::run),
    ("config_errors", agent::config_errors),
    ("file_set", sources::with_tree),
    ("item", sources::item),
    ("provided", sources::without_tree),
    ("repo_docs", sources::with_tree),
    ("text_store", sources::without_tree),
    ("token_counter", texts::token_counter),
    ("truncation", texts::truncation),
];

#[cfg(test)]
mod tests {
    #[test]
    fn every_case_passes() {
        crate::golden::testing::check_passes("agentcore");
    }
}
