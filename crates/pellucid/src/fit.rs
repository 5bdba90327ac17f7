//! Texts that fit a number of columns: shortened with `…`, padded, relative to a folder, drawn as bars.
//!
//! Widths are those of a terminal's cells, so wide characters count twice. Texts are made visible before they are
//! measured: a name with a line break or a command for the terminal takes the cells that it is shown in.

use std::path::Path;

use pellucid_engine::visible::visible_name;
use unicode_width::UnicodeWidthChar;
use unicode_width::UnicodeWidthStr;

/// The sign in place of what was cut out.
const ELLIPSIS: &str = "…";

/// How many characters of a long text are looked at for each cell.
const HEAD_CHARS: usize = 4;

/// How many folders up a path is written with `..`.
const LEVELS_UP_MAX: usize = 3;

/// Blocks of one to seven eighths of a cell.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// How many cells a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// A text on one line with at most so many cells; what does not fit is cut after a whole word where one fits.
pub fn end(text: &str, max: usize) -> String {
    // A line may have megabytes, and its beginning decides.
    if let Some((at, _)) = text.char_indices().nth(max.saturating_mul(HEAD_CHARS)) {
        let head = &text[..at];
        if width(&visible_name(head)) > max + 1 {
            return cut_end(&visible_name(head), max);
        }
    }
    let text = visible_name(text);
    if width(&text) <= max {
        return text.into_owned();
    }
    cut_end(&text, max)
}

/// The beginning of a text that is wider than it may be.
fn cut_end(text: &str, max: usize) -> String {
    let kept = beginning(text, max.saturating_sub(1));
    let at_word = match kept.rfind(' ') {
        // A word that leaves more than half of the line empty is cut itself.
        Some(at) if !text[kept.len()..].starts_with(' ') && width(&kept[..at]) * 2 > max => &kept[..at],
        _ => kept,
    };
    format!("{}{ELLIPSIS}", at_word.trim_end_matches([' ', ',', ';', ':']))
}

/// A path or name with at most so many cells; its middle is cut out between folders, and the last name stays.
pub fn middle(text: &str, max: usize) -> String {
    let text = visible_name(text);
    if width(&text) <= max {
        return text.into_owned();
    }
    let names: Vec<&str> = text.split('/').collect();
    let Some((last, before)) = names.split_last() else { return String::new() };
    if before.is_empty() || width(last) + 2 > max {
        return cut_within(last, max);
    }
    let (mut front, mut back) = (0, 1);
    let shown = |front: usize, back: usize| {
        let (front, back) = (&names[..front], &names[names.len() - back..]);
        let front = if front.is_empty() { String::new() } else { format!("{}/", front.join("/")) };
        format!("{front}{ELLIPSIS}/{}", back.join("/"))
    };
    loop {
        let n = front + back;
        if n + 1 < names.len() && front == 0 && width(&shown(1, back)) <= max {
            front = 1;
        } else if n + 1 < names.len() && width(&shown(front, back + 1)) <= max {
            back += 1;
        } else {
            return shown(front, back);
        }
    }
}

/// One long word, with its middle cut out.
fn cut_within(word: &str, max: usize) -> String {
    let left = max.saturating_sub(1);
    let front = beginning(word, left - left / 2);
    let mut back = String::new();
    for character in word.chars().rev() {
        if width(&back) + character.width().unwrap_or(0) > left / 2 {
            break;
        }
        back.insert(0, character);
    }
    format!("{front}{ELLIPSIS}{back}")
}

/// The longest beginning with at most so many cells.
fn beginning(text: &str, max: usize) -> &str {
    let mut cells = 0;
    for (at, character) in text.char_indices() {
        cells += character.width().unwrap_or(0);
        if cells > max {
            return &text[..at];
        }
    }
    text
}

/// A text with spaces behind it up to a number of cells.
pub fn padded(text: &str, cells: usize) -> String {
    format!("{text}{}", " ".repeat(cells.saturating_sub(width(text))))
}

/// A path as a person in a folder would write it: relative below the folder, from `~` below the user's home.
pub fn relative(path: &str, folder: &Path, user: Option<&Path>) -> String {
    let path = Path::new(path);
    if let Ok(below) = path.strip_prefix(folder)
        && below.as_os_str().is_empty()
    {
        return ".".to_owned();
    }
    if let Ok(below) = path.strip_prefix(folder) {
        return below.to_string_lossy().into_owned();
    }
    let above = folder.ancestors().enumerate().skip(1).take(LEVELS_UP_MAX);
    for (n, ancestor) in above.take_while(|(_, it)| it.parent().is_some() && user != Some(*it)) {
        if let Ok(below) = path.strip_prefix(ancestor) {
            return format!("{}{}", "../".repeat(n), below.display()).trim_end_matches('/').to_owned();
        }
    }
    match user.and_then(|user| path.strip_prefix(user).ok()) {
        Some(below) => format!("~/{}", below.display()).trim_end_matches('/').to_owned(),
        None => path.to_string_lossy().into_owned(),
    }
}

/// A sentence with its absolute paths as [`relative`] writes them. Only beginnings of paths are looked at, as a path in a
/// sentence has no end that could be recognised.
pub fn relative_in(text: &str, folder: &Path, user: Option<&Path>) -> String {
    let above = folder.ancestors().enumerate().take(LEVELS_UP_MAX + 1);
    let above = above.take_while(|(n, it)| *n == 0 || (it.parent().is_some() && user != Some(*it)));
    let mut beginnings: Vec<(String, String)> =
        above.map(|(n, it)| (format!("{}/", it.display()), "../".repeat(n))).filter(|(it, _)| it != "//").collect();
    beginnings.extend(user.map(|user| (format!("{}/", user.display()), "~/".to_owned())));
    let is_name = |it: char| it.is_alphanumeric() || "._-~/".contains(it);
    let here = folder.to_string_lossy();
    let is_here = |text: &str| text.strip_prefix(&*here).is_some_and(|behind| !behind.starts_with(is_name));
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        let is_start = !rest[..at].ends_with(is_name);
        let found = beginnings.iter().find(|(beginning, _)| is_start && rest[at..].starts_with(beginning.as_str()));
        let (skipped, put) = match found {
            _ if is_start && here.len() > 1 && is_here(&rest[at..]) => (here.len(), "."),
            Some((beginning, put)) => (beginning.len(), put.as_str()),
            None => (1, "/"),
        };
        shown += &rest[..at];
        shown += put;
        rest = &rest[at + skipped..];
        if skipped == 1 {
            // The names behind a slash that begins no known folder belong to the same path.
            let end = rest.find(|it: char| it.is_whitespace()).unwrap_or(rest.len());
            shown += &rest[..end];
            rest = &rest[end..];
        }
    }
    shown + rest
}

/// The home folder of the user.
pub fn user_folder() -> Option<std::path::PathBuf> {
    std::env::var_os("HOME").map(std::path::PathBuf::from).filter(|path| path.is_absolute() && path.parent().is_some())
}

/// A bar of blocks, precise to an eighth of a cell: `part` of `whole` cells in all. What is not 0 is never invisible.
pub fn bar(part: usize, whole: usize, cells: usize) -> String {
    let eighths = if part == 0 { 0 } else { (part.min(whole) * cells * 8 / whole.max(1)).max(1) };
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// A share in percent, with one decimal.
pub fn percent(part: usize, whole: usize) -> String {
    let share = (part * 1_000 + whole / 2) / whole.max(1);
    format!("{}.{} %", share / 10, share % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(shortened: fn(&str, usize) -> String, text: &str, max: usize, expected: &str) {
        let short = shortened(text, max);
        assert_eq!(short, expected);
        assert!(width(&short) <= max, "{short}");
    }

    #[test]
    fn a_long_text_is_cut_by_its_beginning_as_by_all_of_it() {
        let texts = [
            "words of a line, and ",
            "名前",
            "n\u{301}",
            "\u{1b}[8m\u{202e}",
            "oneverylongword",
            "a\u{200b}b ",
            "\u{301}",
        ];
        for text in texts.map(|text| text.repeat(2_000)) {
            for max in [0, 1, 7, 80] {
                let whole = visible_name(&text);
                let cut = if width(&whole) <= max { whole.clone().into_owned() } else { cut_end(&whole, max) };
                assert_eq!(end(&text, max), cut, "{max}");
            }
        }
    }

    #[test]
    fn sentences_are_cut_after_a_word() {
        check(end, "one two three", 13, "one two three");
        check(end, "one two three", 12, "one two…");
        check(end, "one two, three", 9, "one two…");
        check(end, "incomprehensibilities", 8, "incompr…");
        check(end, "日本語の文", 7, "日本語…");
        check(end, "a\nb", 9, "a\\nb");
    }

    #[test]
    fn paths_are_cut_between_folders_and_keep_the_last_name() {
        check(middle, "crates/app/src/main.rs", 22, "crates/app/src/main.rs");
        check(middle, "crates/app/src/main.rs", 21, "crates/…/src/main.rs");
        check(middle, "crates/app/src/main.rs", 19, "crates/…/main.rs");
        check(middle, "crates/app/src/main.rs", 12, "…/main.rs");
        check(middle, "/home/ada/work/project/AGENTS.md", 22, "/…/project/AGENTS.md");
        check(middle, "a/mcp__server__long_name", 12, "mcp__s…_name");
        check(middle, "mcp__server__long_name", 12, "mcp__s…_name");
    }

    #[test]
    fn paths_in_sentences_are_relative() {
        let shown = |text: &str| relative_in(text, Path::new("/home/ada/work/app"), Some(Path::new("/home/ada")));
        for (text, expected) in [
            ("shadowed: /home/ada/work/app/a b.md comes first", "shadowed: a b.md comes first"),
            ("/home/ada/work/app/a:1 has it, /home/ada/work/b (9 bytes)", "a:1 has it, ../b (9 bytes)"),
            ("it leads to /home/ada/.ssh/key, and is not sent", "it leads to ~/.ssh/key, and is not sent"),
            ("--cd /home/ada/work/app/sub", "--cd sub"),
            ("in /etc/home/ada/work/app/a and x/home/ada/b", "in /etc/home/ada/work/app/a and x/home/ada/b"),
            ("the folder /home/ada/work/app, /home/ada/work/app-2", "the folder ., ../app-2"),
            ("1/2 of /", "1/2 of /"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
        let root = |text: &str| relative_in(text, Path::new("/"), None);
        assert_eq!(root("the file /a/b is cut"), "the file /a/b is cut");
    }

    #[test]
    fn every_width_is_kept() {
        for max in 1..40 {
            for text in ["crates/app/src/main.rs", "a sentence of several words", "日本語/文/書", "/"] {
                assert!(width(&middle(text, max)) <= max && width(&end(text, max)) <= max, "{text} {max}");
            }
        }
    }

    #[test]
    fn paths_are_those_of_a_person_in_the_folder() {
        let relative = |path: &str| relative(path, Path::new("/home/ada/p"), Some(Path::new("/home/ada")));
        let paths = ["/home/ada/p/src/a.rs", "/home/ada/p", "/home/ada/notes.md", "/home/ada", "/srv/bo/x"];
        assert_eq!(paths.map(relative), ["src/a.rs", ".", "~/notes.md", "~", "/srv/bo/x"]);
        let above = ["/srv/p/AGENTS.md", "/srv/p", "/srv/q/x", "/etc/x"];
        let shown = above.map(|path| self::relative(path, Path::new("/srv/p/sub"), None));
        assert_eq!(shown, ["../AGENTS.md", "..", "../../q/x", "/etc/x"]);
    }

    #[test]
    fn bars_are_precise_to_an_eighth_and_never_empty() {
        let bars = [(0, 10), (1, 1_000_000), (1, 16), (5, 10), (10, 10)].map(|(part, whole)| bar(part, whole, 4));
        assert_eq!(bars, ["", "▏", "▎", "██", "████"]);
        assert_eq!([percent(1, 3), percent(0, 0), percent(3, 3)], ["33.3 %", "0.0 %", "100.0 %"]);
    }
}
