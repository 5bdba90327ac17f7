//! Files that a conversation names: words of texts that may be paths of files in the working directory.
//!
//! Only names are found here. Whether a file is there, and whether a request has its text, is for others to see.

use std::collections::BTreeSet;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

use crate::scan::Unescaped;
use crate::scan::leaves;

/// How many names of a text or an item count.
const N_NAMES_MAX: usize = 256;

/// The longest path that counts as one.
const NAME_BYTES_MAX: usize = 256;

/// How much of a text is searched for names. Longer texts are outputs and contents, which name very many.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// The names in a text, relative to the working directory, which absolute paths must be in.
pub fn names(text: &str, cwd: &Path) -> BTreeSet<PathBuf> {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let words = text[..end].split(|it: char| it.is_whitespace() || "\"'`()[]{}<>,;|=".contains(it));
    words.filter_map(|word| name(word, cwd)).take(N_NAMES_MAX).collect()
}

/// The names in the strings of an item.
pub fn names_of_item(item: &str, cwd: &Path) -> BTreeSet<PathBuf> {
    let texts = leaves(item).into_iter().filter_map(|leaf| Unescaped::of(&item[leaf.range]));
    texts.flat_map(|text| names(&text.text, cwd)).take(N_NAMES_MAX).collect()
}

/// The path that a word means, relative to the working directory; absent if it does not look like a file in there.
fn name(word: &str, cwd: &Path) -> Option<PathBuf> {
    let word = word.trim_start_matches('@').trim_end_matches(['.', ':', '!', '?', '*']);
    // `file.rs:12` and `file.rs:12:3` name a place in a file.
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit() || it == b'-');
    let mut word = word;
    while let Some((before, number)) = word.rsplit_once(':') {
        if !is_number(number) {
            break;
        }
        word = before;
    }
    let looks_like_one = word.contains(['.', '/']) && word.len() <= NAME_BYTES_MAX && !word.contains("://");
    if !looks_like_one || word.starts_with('-') {
        return None;
    }
    let path = Path::new(word);
    let path = if path.is_absolute() { path.strip_prefix(cwd).ok()? } else { path };
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => found.push(part),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!found.as_os_str().is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(names: &BTreeSet<PathBuf>) -> Vec<String> {
        names.iter().map(|path| path.to_string_lossy().into_owned()).collect()
    }

    #[track_caller]
    fn check_names(text: &str, expected: &[&str]) {
        assert_eq!(drawn(&names(text, Path::new("/p/app"))), expected, "{text}");
    }

    #[test]
    fn words_that_may_be_files_of_the_folder_are_names() {
        check_names("please fix @src/main.rs, then `lib.rs:12:3`.", &["lib.rs", "src/main.rs"]);
        check_names("/p/app/a.txt /etc/passwd ../b.txt ./c/d.md", &["a.txt", "c/d.md"]);
        check_names("see https://example.org/x.md or -o.txt and word", &[]);
        check_names("{\"path\":\"src/x.py\"}", &["src/x.py"]);
        check_names(&format!("{} late.rs", "word ".repeat(TEXT_BYTES_MAX)), &[]);
        let item = r#"{"role":"user","content":"see\nnotes.md \u0022b.md\u0022"}"#;
        assert_eq!(drawn(&names_of_item(item, Path::new("/p"))), ["b.md", "notes.md"]);
        let many: String = (0..1000).map(|n| format!("f{n}.rs ")).collect();
        assert_eq!(names(&many, Path::new("/p")).len(), N_NAMES_MAX);
    }
}
