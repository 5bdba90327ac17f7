//! The suites of OpenClaw: cutting, bootstrap files, the sections of the system prompt, the report.
//!
//! The fixed prose of the original is Pellucid's here and compared as the vectors say: headings, order, numbers of
//! lines and the lines that are made of inputs.

mod bootstrap;
mod report;
mod sections;
mod text;

use super::Suite;

pub const SUITES: &[Suite] =
    &[("bootstrap", bootstrap::run), ("report", report::run), ("sections", sections::run), ("trim", bootstrap::trim)];

/// Fields of a file that describe the origin and notation of its vectors.
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
