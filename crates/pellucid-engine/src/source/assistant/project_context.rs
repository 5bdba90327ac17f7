//! Files of the workspace, each under its path.

use super::Lines;
use super::with_assistant;
use crate::assistant::Assistant;
use crate::bootstrap::BootstrapFile;
use crate::file_chunks::is_replacement;
use crate::fragment::Fragment;
use crate::fragment::Omission;
use crate::fragment::Origin;
use crate::fragment::Why;
use crate::source::Source;
use crate::source::SourceInput;
use crate::source::SourceKind;
use crate::source::SourceOutput;
use crate::utf16;

const INTRO: &str = "sections/project_context.md";
const PERSONA: &str = "sections/persona.md";

/// The file that says who the assistant is.
const SOUL: &str = "soul.md";

pub(super) const SOURCE: Source = Source {
    name: "assistant_files",
    kind: SourceKind::Text,
    templates: &[(INTRO, super::LINES), (PERSONA, super::LINES)],
    give,
};

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    with_assistant(ask, |assistant| {
        let files: Vec<_> = assistant.loaded.files.iter().filter(|file| !utf16::is_blank(&file.path)).collect();
        if files.is_empty() {
            return SourceOutput::nothing();
        }
        let mut lines = Lines::headed("# Project Context");
        lines.push(ask.pack.template(INTRO).text());
        if files.iter().any(|file| is_soul(&file.path)) {
            lines.push(ask.pack.template(PERSONA).text());
        }
        for file in files {
            lines.push(vec![Fragment::layout(format!("## {}", file.path))]);
            lines.push(file.content.clone());
        }
        let mut given = lines.given();
        given.omissions = omissions(ask, assistant);
        given
    })
}

/// Files that are cut or left out, in bytes.
fn omissions(ask: &SourceInput<'_>, assistant: &Assistant) -> Vec<Omission> {
    let omission = |file: &BootstrapFile| {
        let text = utf16::trim_end(file.content.as_deref().filter(|_| !file.missing)?);
        let of = text.len() as u64;
        let why = match assistant.loaded.files.iter().find(|it| it.path == file.path) {
            None if text.is_empty() => Why::Blank,
            None => Why::OverBudget { of },
            Some(placed) => {
                let is_own =
                    |fragment: &&Fragment| matches!(fragment.origin, Origin::File { .. }) || is_replacement(fragment);
                let kept = placed.content.iter().filter(is_own).map(|it| it.text.len() as u64).sum();
                (kept < of).then_some(Why::Cut { kept, of })?
            }
        };
        Some(Omission { slot: ask.slot.clone(), what: file.path.clone(), why })
    };
    assistant.loaded.bootstrap.iter().filter_map(omission).collect()
}

fn is_soul(path: &str) -> bool {
    let path = utf16::trim(path).replace('\\', "/");
    path.rsplit('/').next().unwrap_or(&path).to_lowercase() == SOUL
}
