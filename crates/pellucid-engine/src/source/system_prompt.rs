//! The beginning of a system prompt: the configured instructions, else the pack's text. In mode `none` it is one line
//! of the pack.

use pellucid_protocol::settings::PromptMode;

use super::Ask;
use super::Given;
use super::Kind;
use super::Source;
use crate::fragment::Fragment;
use crate::template::Shape;
use crate::template::Trim;

const SYSTEM: &str = "system.md";
const IDENTITY: &str = "identity.md";

const LINES: Shape = Shape { trim: Trim::Newline, places: &[] };

pub(super) const SOURCE: Source =
    Source { name: "system_prompt", kind: Kind::Text, templates: &[(SYSTEM, LINES), (IDENTITY, LINES)], give };

fn give(ask: &Ask<'_>) -> Given {
    if ask.facts.system.prompt_mode == PromptMode::None {
        return Given::text(ask.pack.template(IDENTITY).text());
    }
    match &ask.facts.settings.base_instructions {
        Some(given) => Given::text(vec![Fragment::provided(&given.place, given.text.as_str())]),
        None => Given::text(ask.pack.template(SYSTEM).text()),
    }
}
