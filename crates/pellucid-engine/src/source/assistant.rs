//! Sections of an assistant's system prompt: one source for each that has facts in it.
//!
//! A section is a list of lines; empty ones are left out. The layout joins sections with a newline,
//! so there is no empty line but those within a text. Sections without facts are files of the pack
//! that the layout names itself.

mod message_tool;
mod project_context;
mod sandbox;
mod skills;
mod small;
mod tooling;
mod workspace;

pub use skills::skills_text;
pub(crate) use tooling::delimiters;

use super::Source;
use super::SourceInput;
use super::SourceOutput;
use crate::assistant::Assistant;
use crate::fragment::Fragment;
use crate::template::Shape;
use crate::template::Trim;

/// Every source of this kind.
pub(super) const SOURCES: [Source; 16] = [
    tooling::SOURCE,
    skills::SOURCE,
    small::MEMORY_RECALL,
    small::MODEL_ALIASES,
    workspace::SOURCE,
    small::DOCUMENTATION,
    sandbox::SOURCE,
    small::OWNERS,
    small::TIME_ZONE,
    message_tool::SOURCE,
    small::VOICE,
    small::EXTRA_PROMPT,
    small::REACTIONS,
    project_context::SOURCE,
    small::HEARTBEATS,
    small::RUNTIME,
];

/// A text of which the newline at the end is no part.
const LINES: Shape = Shape { trim: Trim::Newline, places: &[] };

/// The lines of a section.
#[derive(Debug, Default)]
struct Lines {
    fragments: Vec<Fragment>,
}

impl Lines {
    /// A section that begins with this heading.
    fn headed(heading: &str) -> Self {
        Self { fragments: vec![Fragment::layout(heading)] }
    }

    /// Adds a text of one or more lines, if there is something in it.
    fn push(&mut self, text: Vec<Fragment>) {
        if text.iter().all(|fragment| fragment.text.is_empty()) {
            return;
        }
        if !self.fragments.is_empty() {
            self.fragments.push(Fragment::layout("\n"));
        }
        self.fragments.extend(text);
    }

    /// Adds a line that is worked out from facts.
    fn fact(&mut self, name: &'static str, text: impl Into<String>) {
        self.push(vec![Fragment::fact(name, text)]);
    }

    fn given(self) -> SourceOutput {
        SourceOutput::text(self.fragments)
    }
}

/// Calls `give` with the assistant's surroundings; without an assistant the result is empty.
fn with_assistant(ask: &SourceInput<'_>, give: impl Fn(&Assistant) -> SourceOutput) -> SourceOutput {
    ask.facts.system.assistant.as_deref().map_or_else(SourceOutput::nothing, give)
}
