//! The block of lines around one of them, by how far they are indented.

use std::ops::Range;

/// A tab counts as so many spaces; a level is as wide.
const LEVEL: usize = 4;

/// How a line begins that only explains the next.
const COMMENTS: [&str; 3] = ["#", "//", "--"];

/// The lines that belong to the block.
pub(crate) struct Rules {
    /// How many levels outwards; 0 for all.
    pub levels_max: usize,
    /// Whether other blocks of the outermost level belong to it.
    pub has_siblings: bool,
    /// Whether comments above the outermost line belong to it.
    pub has_header: bool,
    /// How many lines at most.
    pub lines_max: usize,
}

/// The lines around the anchor, which count from 0. They are taken in turns, one above, one below.
pub(crate) fn block(lines: &[String], anchor: usize, rules: &Rules) -> Range<usize> {
    let indents = indents(lines);
    let indent_min = match rules.levels_max {
        0 => 0,
        levels => indents[anchor].saturating_sub(levels * LEVEL),
    };
    let n_max = rules.lines_max.min(lines.len());
    let (mut start, mut end) = (anchor, anchor + 1);
    if n_max == 1 {
        return start..end;
    }
    let (mut goes_up, mut goes_down) = (true, true);
    let (mut n_outermost_above, mut n_outermost_below) = (0, 0);
    while end - start < n_max && (goes_up || goes_down) {
        if goes_up {
            match start.checked_sub(1).filter(|&above| indents[above] >= indent_min) {
                Some(above) => {
                    start = above;
                    if indents[above] == indent_min && !rules.has_siblings {
                        let is_header = rules.has_header && is_comment(&lines[above]);
                        if is_header || n_outermost_above == 0 {
                            n_outermost_above += 1;
                        } else {
                            start += 1;
                            goes_up = false;
                        }
                    }
                    if end - start >= n_max {
                        break;
                    }
                }
                None => goes_up = false,
            }
        }
        if goes_down {
            if end < lines.len() && indents[end] >= indent_min {
                end += 1;
                if indents[end - 1] == indent_min && !rules.has_siblings {
                    if n_outermost_below > 0 {
                        end -= 1;
                        goes_down = false;
                    }
                    n_outermost_below += 1;
                }
            } else {
                goes_down = false;
            }
        }
    }
    let is_blank = |n: usize| lines[n].trim().is_empty();
    while start < end && is_blank(start) {
        start += 1;
    }
    while start < end && is_blank(end - 1) {
        end -= 1;
    }
    start..end
}

/// How far each line is indented; a blank one as far as the line before.
fn indents(lines: &[String]) -> Vec<usize> {
    let mut before = 0;
    let indent = |line: &String| {
        if !line.trim().is_empty() {
            let space = line.chars().take_while(|c| matches!(c, ' ' | '\t'));
            before = space.map(|c| if c == '\t' { LEVEL } else { 1 }).sum();
        }
        before
    };
    lines.iter().map(indent).collect()
}

fn is_comment(line: &str) -> bool {
    let line = line.trim();
    COMMENTS.iter().any(|mark| line.starts_with(mark))
}
