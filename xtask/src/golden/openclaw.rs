//! The suites of OpenClaw: cutting, bootstrap files, the sections of the system prompt, the report.
//!
//! What is fixed prose in the original is ours here and compared as the vectors say: headings, order,
//! numbers of lines and the lines that are made of inputs.

mod bootstrap;
mod report;
mod sections;
mod text;

use super::Suite;

pub const SUITES: &[Suite] =
    &[("bootstrap", bootstrap::run), ("report", report::run), ("sections", sections::run), ("trim", bootstrap::trim)];

/// Fields of a file that say where its vectors come from and how they are written.
const ABOUT: &[&str] = &[
    "format",
    "reference",
    "part",
    "function",
    "functions",
    "how",
    "generator",
    "output",
    "placeholders",
    "tree",
    "nulls",
    "rules",
    "count",
    "build_count",
    "render_count",
];

#[cfg(test)]
mod tests {
    #[test]
    fn every_case_passes() {
        crate::golden::testing::check_passes("openclaw");
    }
}
