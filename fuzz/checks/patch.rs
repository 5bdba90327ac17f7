//! Any text is a patch or is refused, and one that is not refused fits or does not, as the rules say.
//!
//! A line `%%` divides it into the patch and the files `a`, `b` and so on that it is held against. What
//! becomes of a file is compared with the rules written down in the plainest way.

use std::path::Path;

use pellucid_patch::Misfit;
use pellucid_patch::ParseError;
use pellucid_patch::Reader;
use pellucid_patch::files::FileTable;
use pellucid_patch::parse::Hunk;
use pellucid_patch::parse::PatchChunk;

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut parts = text.split("\n%%\n");
    let patch = parts.next().unwrap_or_default();
    let files: Vec<(String, &str)> = ('a'..='z').map(|name| format!("/w/{name}")).zip(parts).collect();
    let patch = match pellucid_patch::parse(patch) {
        Ok(patch) => patch,
        Err(ParseError::Hunk { line, .. }) => {
            return assert!(line >= 2 && line <= patch.lines().count() + 1, "line {line}");
        }
        Err(ParseError::Patch(_)) => return,
    };
    let table: FileTable = files.iter().map(|(path, text)| (path.clone(), *text)).collect();
    for reader in [Reader::Model, Reader::Program] {
        match pellucid_patch::verify(&patch, Path::new("/w"), &table, reader) {
            Ok(verified) => {
                assert_eq!(verified.is_empty(), patch.hunks.is_empty());
                assert!(verified.paths().all(Path::is_absolute));
                let _ = verified.changes();
            }
            Err(error) => assert!(error.to_string().starts_with("Failed to "), "{error}"),
        }
    }
    for hunk in &patch.hunks {
        if let Hunk::Update { chunks, .. } = hunk {
            files.iter().for_each(|(_, text)| check_edit(text, chunks));
        }
    }
}

/// What `edit` makes of a text is what the rules say.
pub fn check_edit(text: &str, chunks: &[PatchChunk<'_>]) {
    assert_eq!(pellucid_patch::edit(text, chunks), plain_edit(text, chunks), "{text:?} {chunks:?}");
}

fn plain_edit(text: &str, chunks: &[PatchChunk<'_>]) -> Result<String, Misfit> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.last() == Some(&"") {
        lines.pop();
    }
    let mut replacements: Vec<(usize, usize, &[&str])> = Vec::new();
    let mut cursor = 0;
    for chunk in chunks {
        if let Some(context) = chunk.context {
            let found = plain_search(&lines, &[context], cursor, false);
            cursor = found.ok_or_else(|| Misfit::Context(context.to_owned()))? + 1;
        }
        if chunk.old.is_empty() {
            let end = if lines.last() == Some(&"") { lines.len() - 1 } else { lines.len() };
            replacements.push((end, 0, &chunk.new));
            continue;
        }
        let (mut old, mut new) = (chunk.old.as_slice(), chunk.new.as_slice());
        let mut found = plain_search(&lines, old, cursor, chunk.is_at_end);
        if found.is_none() && old.last() == Some(&"") {
            old = &old[..old.len() - 1];
            if new.last() == Some(&"") {
                new = &new[..new.len() - 1];
            }
            found = plain_search(&lines, old, cursor, chunk.is_at_end);
        }
        let at = found.ok_or_else(|| Misfit::Lines(chunk.old.join("\n")))?;
        replacements.push((at, old.len(), new));
        cursor = at + old.len();
    }
    replacements.sort_by_key(|(at, _, _)| *at);
    for (at, n_old, new) in replacements.into_iter().rev() {
        for _ in 0..n_old {
            if at < lines.len() {
                lines.remove(at);
            }
        }
        for (offset, line) in new.iter().enumerate() {
            lines.insert(at + offset, line);
        }
    }
    if lines.last() != Some(&"") {
        lines.push("");
    }
    Ok(lines.join("\n"))
}

fn plain_search(lines: &[&str], block: &[&str], from: usize, is_at_end: bool) -> Option<usize> {
    if block.is_empty() {
        return Some(from);
    }
    if block.len() > lines.len() {
        return None;
    }
    let last = lines.len() - block.len();
    let first = if is_at_end { last } else { from };
    let alike: [fn(&str) -> String; 4] =
        [|line| line.to_owned(), |line| line.trim_end().to_owned(), |line| line.trim().to_owned(), without_typography];
    alike.iter().find_map(|alike| {
        (first..=last).find(|at| block.iter().zip(&lines[*at..]).all(|(wanted, line)| alike(wanted) == alike(line)))
    })
}

fn without_typography(line: &str) -> String {
    let plain = |character| match character {
        '\u{2010}' | '\u{2011}' | '\u{2012}' | '\u{2013}' | '\u{2014}' | '\u{2015}' | '\u{2212}' => '-',
        '\u{2018}' | '\u{2019}' | '\u{201A}' | '\u{201B}' => '\'',
        '\u{201C}' | '\u{201D}' | '\u{201E}' | '\u{201F}' => '"',
        '\u{A0}' | '\u{202F}' | '\u{205F}' | '\u{3000}' | '\u{2002}'..='\u{200A}' => ' ',
        other => other,
    };
    line.trim().chars().map(plain).collect()
}
