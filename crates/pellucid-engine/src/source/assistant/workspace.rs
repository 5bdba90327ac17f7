//! The folder that an assistant works in, and what is to be said of it.

use super::Lines;
use super::with_assistant;
use crate::assistant::sanitised;
use crate::fragment::Fragment;
use crate::source::Source;
use crate::source::SourceInput;
use crate::source::SourceKind;
use crate::source::SourceOutput;
use crate::template::Shape;
use crate::template::TemplatePlace;
use crate::template::Trim;
use crate::utf16;

const PLAIN: &str = "sections/workspace.md";
const SANDBOXED: &str = "sections/workspace_sandboxed.md";

pub(super) const SOURCE: Source = Source {
    name: "assistant_workspace",
    kind: SourceKind::Text,
    templates: &[
        (PLAIN, super::LINES),
        (
            SANDBOXED,
            Shape {
                trim: Trim::Newline,
                places: &[TemplatePlace::may("{{ host }}"), TemplatePlace::may("{{ container }}")],
            },
        ),
    ],
    give,
};

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    with_assistant(ask, |assistant| {
        let host = sanitised(&assistant.workspace_dir);
        let sandbox = assistant.sandbox.as_ref().filter(|sandbox| sandbox.enabled);
        let container = sandbox.and_then(|sandbox| sandbox.container_dir.as_deref()).map(utf16::trim).map(sanitised);
        let container = container.filter(|dir| !dir.is_empty());
        let mut lines = Lines::headed("## Workspace");
        let shown = container.as_ref().unwrap_or(&host);
        lines.fact("workspace", format!("Your working directory is: {shown}"));
        lines.push(match &container {
            Some(container) => ask.pack.template(SANDBOXED).render(&[
                ("{{ host }}", vec![Fragment::fact("workspace", host.as_str())]),
                ("{{ container }}", vec![Fragment::fact("sandbox", container.as_str())]),
            ]),
            None => ask.pack.template(PLAIN).text(),
        });
        for note in &assistant.workspace_notes {
            lines.fact("workspace", utf16::trim(note));
        }
        lines.given()
    })
}
