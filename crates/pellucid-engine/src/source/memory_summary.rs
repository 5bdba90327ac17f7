//! The summary of memories of earlier sessions, cut to a few thousand tokens.

use pellucid_protocol::settings::TruncationMode;
use pellucid_protocol::settings::TruncationPolicy;

use super::Source;
use super::SourceInput;
use super::SourceKind;
use super::SourceOutput;
use crate::cut::middle::truncate_middle;
use crate::file_chunks::FileChunks;
use crate::fragment::Fragment;
use crate::fragment::Omission;
use crate::fragment::Why;
use crate::template::Shape;
use crate::template::TemplatePlace;
use crate::template::Trim;

const GUIDE: &str = "memory/read_path.md";

/// How much of the summary is used.
const SUMMARY_MAX: TruncationPolicy = TruncationPolicy { mode: TruncationMode::Tokens, limit: 5_000 };

pub(super) const SOURCE: Source = Source {
    name: "memory_summary",
    kind: SourceKind::Text,
    templates: &[(
        GUIDE,
        Shape {
            trim: Trim::Newline,
            places: &[TemplatePlace::may("{{ base_path }}"), TemplatePlace::must("{{ memory_summary }}")],
        },
    )],
    give,
};

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    let Some(memory) = &ask.facts.world.memory else {
        return SourceOutput::nothing();
    };
    let whole = String::from_utf8_lossy(&memory.summary.bytes);
    let trimmed = whole.trim();
    if trimmed.is_empty() {
        return SourceOutput::nothing();
    }
    let text = truncate_middle(trimmed, SUMMARY_MAX);
    let path = memory.summary.path.as_str();
    let start = whole.len() - whole.trim_start().len();
    let chunks = FileChunks::of(&memory.summary.bytes, 0);
    let size = chunks.end(start + trimmed.len()).unwrap_or(memory.summary.size);
    let version = memory.summary.version();
    let kept = |from: usize, text: &str| chunks.fragments(&version, size, start + from, text);
    // A cut leaves a beginning, a note and an end.
    let same = |(a, b): &(char, char)| a == b;
    let head: usize = text.chars().zip(trimmed.chars()).take_while(same).map(|(it, _)| it.len_utf8()).sum();
    let rest = (text.chars().rev().zip(trimmed.chars().rev())).take_while(same).map(|(it, _)| it.len_utf8());
    let tail = rest.sum::<usize>().min(text.len().min(trimmed.len()) - head);
    // The note may be longer than what it replaces, so lengths do not say whether something is cut.
    let why = Why::Cut { kept: (head + tail) as u64, of: trimmed.len() as u64 };
    let omission = (text != trimmed).then(|| Omission { slot: ask.slot.clone(), what: path.to_owned(), why });
    let omissions = omission.into_iter().collect();
    let mut summary = kept(0, &text[..head]);
    if head + tail < text.len() {
        summary.push(Fragment::layout(&text[head..text.len() - tail]));
    }
    summary.extend(kept(trimmed.len() - tail, &text[text.len() - tail..]));
    let values = [
        ("{{ base_path }}", vec![Fragment::fact("memory folder", memory.folder.as_str())]),
        ("{{ memory_summary }}", summary),
    ];
    SourceOutput { fragments: Some(ask.pack.template(GUIDE).render(&values)), omissions, ..SourceOutput::default() }
}
