//! How to use the JavaScript tool.
//!
//! With only that tool on offer, further lines come before the last one.

use pellucid_protocol::feature::Feature;

use super::Source;
use super::SourceInput;
use super::SourceKind;
use super::SourceOutput;
use crate::fragment::Fragment;
use crate::template::Shape;

const SECTION: &str = "js_repl/section.md";
const TOOLS_ONLY: &str = "js_repl/section_tools_only.md";

pub(super) const SOURCE: Source = Source {
    name: "js_repl",
    kind: SourceKind::Text,
    templates: &[(SECTION, Shape::VERBATIM), (TOOLS_ONLY, Shape::VERBATIM)],
    give,
};

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    let section = ask.pack.template(SECTION).text();
    if !ask.facts.settings.features.is_on(Feature::JsReplToolsOnly) {
        return SourceOutput::text(section);
    }
    let mut fragments = Vec::new();
    for Fragment { origin, text } in section {
        let (head, last) = text.rsplit_once('\n').unwrap_or(("", &text));
        fragments.push(Fragment { origin: origin.clone(), text: format!("{head}\n") });
        fragments.extend(ask.pack.template(TOOLS_ONLY).text());
        fragments.push(Fragment { origin, text: format!("\n{last}") });
    }
    SourceOutput::text(fragments)
}
