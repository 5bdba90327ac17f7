//! The beginning of a system prompt: the configured instructions, else the pack's text. In mode `none` it is one line
//! of the pack.

use pellucid_protocol::settings::PromptMode;

use super::Source;
use super::SourceInput;
use super::SourceKind;
use super::SourceOutput;
use crate::fragment::Fragment;
use crate::injection::filled;
use crate::template::Shape;
use crate::template::Trim;

const SYSTEM: &str = "system.md";
const IDENTITY: &str = "identity.md";

const LINES: Shape = Shape { trim: Trim::Newline, places: &[] };

pub(super) const SOURCE: Source =
    Source { name: "system_prompt", kind: SourceKind::Text, templates: &[(SYSTEM, LINES), (IDENTITY, LINES)], give };

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    if ask.facts.system.prompt_mode == PromptMode::None {
        return SourceOutput::text(ask.pack.template(IDENTITY).text());
    }
    let text = match &ask.facts.settings.base_instructions {
        Some(given) => vec![Fragment::provided(&given.place, given.text.as_str())],
        None => ask.pack.template(SYSTEM).text(),
    };
    SourceOutput::text(filled(text, &ask.facts.system.injection.variables))
}
