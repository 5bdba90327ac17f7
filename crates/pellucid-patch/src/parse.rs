//! From the text of a patch to hunks that borrow from it.
//!
//! The notation is lenient where models are careless: blank lines count as empty context lines, the first chunk may
//! come without `@@`, and a here-document around the patch is taken off.
//!
//! Not here: files. Whether a hunk fits is the business of `verify`.

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";
/// The prefix of the line that ends a chunk: the head of the next hunk.
const STARS: &str = "***";
const EMPTY_CONTEXT: &str = "@@";
const CONTEXT: &str = "@@ ";

/// A patch: what is to be done, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch<'a> {
    /// The hunks, one for each file operation.
    pub hunks: Vec<Hunk<'a>>,
}

/// One operation on a file. Paths are as written in the patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hunk<'a> {
    /// Write a file, whether or not there is one.
    Add {
        /// The path of the file.
        path: &'a str,
        /// All lines of the file.
        lines: Vec<&'a str>,
    },
    /// Removes the file at a path.
    Delete {
        /// The path of the file.
        path: &'a str,
    },
    /// Change lines of a file, and maybe its name.
    Update {
        /// The path of the file.
        path: &'a str,
        /// The new path of the file.
        move_to: Option<&'a str>,
        /// The changes, from the top of the file to its end.
        chunks: Vec<PatchChunk<'a>>,
    },
}

/// Neighbouring lines of a file, before and after.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchChunk<'a> {
    /// A line to be found first; the chunk is below it.
    pub context: Option<&'a str>,
    /// The old lines, context included.
    pub old: Vec<&'a str>,
    /// The new lines, context included.
    pub new: Vec<&'a str>,
    /// Whether the old lines are the last of the file.
    pub is_at_end: bool,
}

/// Why a text is not a patch. The message is sent to the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The first or the last line is wrong.
    #[error("invalid patch: {0}")]
    Patch(&'static str),
    /// Something inside is wrong.
    #[error("invalid hunk at line {line}, {message}")]
    Hunk {
        /// The problem with the hunk.
        message: String,
        /// The line, counted from 1.
        line: usize,
    },
}

impl ParseError {
    /// The same as the program says it.
    pub fn for_program(&self) -> String {
        match self {
            Self::Patch(message) => format!("Invalid patch: {message}"),
            Self::Hunk { message, line } => format!("Invalid patch hunk on line {line}: {message}"),
        }
    }
}

/// Whether a text is meant as a patch: it can be parsed as one.
///
/// A command that is itself such a text was meant as the patch of an `apply_patch` call.
pub fn is_patch_text(text: &str) -> bool {
    parse(text).is_ok()
}

/// Parses the text of a patch.
///
/// ```
/// let patch = pellucid_patch::parse("*** Begin Patch\n*** Delete File: old.txt\n*** End Patch")?;
/// assert_eq!(patch.hunks.len(), 1);
/// # Ok::<(), pellucid_patch::ParseError>(())
/// ```
///
/// # Errors
///
/// See [`ParseError`].
pub fn parse(text: &str) -> Result<Patch<'_>, ParseError> {
    let lines: Vec<&str> = text.trim().lines().collect();
    let body = envelope(&lines)?;
    let mut rest = Rest { lines: body, number: 2 };
    let mut hunks = Vec::new();
    while let Some(first) = rest.first() {
        hunks.push(hunk(first, &mut rest)?);
    }
    Ok(Patch { hunks })
}

/// The lines between the first and the last, if these are what they must be.
fn envelope<'l, 'a>(lines: &'l [&'a str]) -> Result<&'l [&'a str], ParseError> {
    let problem = match strict_envelope(lines) {
        Ok(body) => return Ok(body),
        Err(problem) => problem,
    };
    match lines {
        [first, inner @ .., last]
            if inner.len() >= 2 && matches!(*first, "<<EOF" | "<<'EOF'" | "<<\"EOF\"") && last.ends_with("EOF") =>
        {
            strict_envelope(inner)
        }
        _ => Err(problem),
    }
}

fn strict_envelope<'l, 'a>(lines: &'l [&'a str]) -> Result<&'l [&'a str], ParseError> {
    match lines {
        [first, body @ .., last] if first.trim() == BEGIN && last.trim() == END => Ok(body),
        [first, ..] if first.trim() != BEGIN => {
            Err(ParseError::Patch("The first line of the patch must be '*** Begin Patch'"))
        }
        _ => Err(ParseError::Patch("The last line of the patch must be '*** End Patch'")),
    }
}

/// Lines that were not read yet, and the number of the first of them.
struct Rest<'l, 'a> {
    lines: &'l [&'a str],
    number: usize,
}

impl<'a> Rest<'_, 'a> {
    fn first(&self) -> Option<&'a str> {
        self.lines.first().copied()
    }

    fn skip(&mut self) {
        self.lines = self.lines.get(1..).unwrap_or_default();
        self.number += 1;
    }
}

fn error(line: usize, message: String) -> ParseError {
    ParseError::Hunk { message, line }
}

fn hunk<'a>(first: &'a str, rest: &mut Rest<'_, 'a>) -> Result<Hunk<'a>, ParseError> {
    let head = first.trim();
    let number = rest.number;
    rest.skip();
    if let Some(path) = head.strip_prefix(ADD) {
        let mut lines = Vec::new();
        while let Some(line) = rest.first().and_then(|line| line.strip_prefix('+')) {
            lines.push(line);
            rest.skip();
        }
        return Ok(Hunk::Add { path, lines });
    }
    if let Some(path) = head.strip_prefix(DELETE) {
        return Ok(Hunk::Delete { path });
    }
    if let Some(path) = head.strip_prefix(UPDATE) {
        let move_to = rest.first().and_then(|line| line.strip_prefix(MOVE));
        if move_to.is_some() {
            rest.skip();
        }
        let chunks = chunks(rest)?;
        if chunks.is_empty() {
            return Err(error(number, format!("Update file hunk for path '{path}' is empty")));
        }
        return Ok(Hunk::Update { path, move_to, chunks });
    }
    Err(error(
        number,
        format!(
            "'{head}' is not a valid hunk header. Valid hunk headers: '{ADD}{{path}}', '{DELETE}{{path}}', '{UPDATE}{{path}}'"
        ),
    ))
}

fn chunks<'a>(rest: &mut Rest<'_, 'a>) -> Result<Vec<PatchChunk<'a>>, ParseError> {
    let mut chunks = Vec::new();
    while let Some(line) = rest.first() {
        if line.trim().is_empty() {
            rest.skip();
        } else if line.starts_with(STARS) {
            break;
        } else {
            chunks.push(chunk(line, chunks.is_empty(), rest)?);
        }
    }
    Ok(chunks)
}

fn chunk<'a>(head: &'a str, is_first: bool, rest: &mut Rest<'_, 'a>) -> Result<PatchChunk<'a>, ParseError> {
    let mut chunk = PatchChunk::default();
    let number = rest.number;
    if head == EMPTY_CONTEXT {
        rest.skip();
    } else if let Some(context) = head.strip_prefix(CONTEXT) {
        chunk.context = Some(context);
        rest.skip();
    } else if !is_first {
        let message = format!("Expected update hunk to start with a @@ context marker, got: '{head}'");
        return Err(error(number, message));
    }
    let mut n_lines = 0;
    while let Some(line) = rest.first() {
        if line == END_OF_FILE && n_lines > 0 {
            chunk.is_at_end = true;
            rest.skip();
            return Ok(chunk);
        }
        match line.as_bytes().first() {
            None => {
                chunk.old.push("");
                chunk.new.push("");
            }
            Some(b' ') => {
                chunk.old.push(&line[1..]);
                chunk.new.push(&line[1..]);
            }
            Some(b'+') => chunk.new.push(&line[1..]),
            Some(b'-') => chunk.old.push(&line[1..]),
            Some(_) => break,
        }
        rest.skip();
        n_lines += 1;
    }
    if n_lines > 0 {
        return Ok(chunk);
    }
    // The reference counts as if there were always a marker, so these numbers may be one too high.
    let message = match rest.first() {
        None | Some(END_OF_FILE) => "Update hunk does not contain any lines".to_owned(),
        Some(line) => format!(
            "Unexpected line found in update hunk: '{line}'. Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)"
        ),
    };
    Err(error(number + 1, message))
}

#[cfg(test)]
mod tests;
