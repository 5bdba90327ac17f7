//! One call as the files of its session have it: what the model asked for, what it was sent back, and what is kept beside that.

use std::collections::BTreeMap;
use std::io;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::ops::Range;
use std::path::Path;
use std::path::PathBuf;

use pellucid_protocol::item::Item;
use pellucid_protocol::item::ToolOutput;
use pellucid_store::lines::Forwards;
use pellucid_store::read::LineReading;
use pellucid_store::read::RecordKind;
use pellucid_store::read::read_line;
use pellucid_store::read::split;
use pellucid_store::record::Record;
use pellucid_tools::outputs::Outputs;

use crate::patches::PatchedFile;
use crate::patches::patch_of;

/// From how many bytes on a text counts as found in another one.
const FOUND_BYTES_MIN: usize = 16;

/// What the session file has of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallTexts {
    /// What the model asked for.
    pub arguments: Option<String>,
    /// What the model was sent back.
    pub output: Option<String>,
    /// The offset of the line that has the call.
    pub at: Option<u64>,
    /// What the patch of the call says of files; empty for a call that is no patch.
    pub files: Vec<PatchedFile>,
}

impl CallTexts {
    /// The items of all calls of a session file, by the ids of the calls.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read_all(session_file: &Path) -> io::Result<BTreeMap<String, Self>> {
        let mut all: BTreeMap<String, Self> = BTreeMap::new();
        let mut cwd = PathBuf::new();
        let mut lines = Forwards::new(pellucid_files::open(session_file)?, 0, u64::MAX)?;
        while let Some(line) = lines.next_line()? {
            if !matches!(split(line.bytes), Some((RecordKind::ResponseItem | RecordKind::TurnContext, _))) {
                continue;
            }
            match read_line(line.bytes) {
                LineReading::Record(Record::TurnContext(context)) => cwd = PathBuf::from(&context.cwd),
                LineReading::Record(Record::ResponseItem(item)) => {
                    if let Some((call, text, is_output)) = text_of(&item) {
                        all.entry(call.to_owned()).or_default().take(&item, text, is_output, line.start, &cwd);
                    }
                }
                _ => {}
            }
        }
        Ok(all)
    }

    /// Searches a session file for the items of a call.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(session_file: &Path, call: &str) -> io::Result<Self> {
        let mut texts = Self::default();
        let mut cwd = PathBuf::new();
        let mut lines = Forwards::new(pellucid_files::open(session_file)?, 0, u64::MAX)?;
        while let Some(line) = lines.next_line()? {
            let is_worth_reading = match split(line.bytes) {
                Some((RecordKind::ResponseItem, payload)) => contains(payload, call.as_bytes()),
                Some((RecordKind::TurnContext, _)) => texts.at.is_none(),
                _ => false,
            };
            if !is_worth_reading {
                continue;
            }
            match read_line(line.bytes) {
                LineReading::Record(Record::TurnContext(context)) => cwd = PathBuf::from(&context.cwd),
                LineReading::Record(Record::ResponseItem(item)) => match text_of(&item) {
                    Some((of, text, is_output)) if of == call => texts.take(&item, text, is_output, line.start, &cwd),
                    _ => {}
                },
                _ => {}
            }
        }
        Ok(texts)
    }

    fn take(&mut self, item: &Item, text: String, is_output: bool, at: u64, cwd: &Path) {
        if is_output {
            self.output = Some(text);
        } else {
            self.arguments = Some(text);
            self.at = Some(at);
            self.files = patch_of(item, cwd).map(|patch| patch.files()).unwrap_or_default();
        }
    }
}

/// The call of an item, with its arguments or its output.
fn text_of(item: &Item) -> Option<(&str, String, bool)> {
    Some(match item {
        Item::FunctionCall { call_id, arguments, .. } => (call_id, arguments.clone(), false),
        Item::CustomToolCall { call_id, input, .. } => (call_id, input.clone(), false),
        Item::LocalShellCall { call_id: Some(call_id), action, .. } => {
            (call_id, serde_json::to_string(action).unwrap_or_default(), false)
        }
        Item::FunctionCallOutput { call_id, output: ToolOutput::Text(output) }
        | Item::CustomToolCallOutput { call_id, output } => (call_id, output.clone(), true),
        Item::FunctionCallOutput { call_id, output } => {
            (call_id, serde_json::to_string(output).unwrap_or_default(), true)
        }
        _ => return None,
    })
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// The whole output of a call, which is kept beside the session.
#[derive(Debug)]
pub struct WholeOutput {
    /// How many bytes are kept.
    pub bytes: u64,
    /// Whether these are all that the call wrote.
    pub is_whole: bool,
    file: std::fs::File,
}

impl WholeOutput {
    /// The output of a call, if it is kept.
    ///
    /// # Errors
    /// When the folder of the outputs cannot be read.
    pub fn open(home: &Path, session: &str, call: &str) -> io::Result<Option<Self>> {
        let outputs = Outputs::of(home, session);
        let file = match outputs.open(call) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let bytes = file.metadata()?.len();
        Ok(Some(Self { bytes, is_whole: outputs.is_whole(call), file }))
    }

    /// Some bytes of the output.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(&mut self, from: u64, n_bytes: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(from))?;
        (&mut self.file).take(n_bytes as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Which bytes of the output the model was sent. `shown` is the text that it was sent.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn seen(&mut self, shown: &str) -> io::Result<Vec<Range<u64>>> {
        let n_bytes = usize::try_from(self.bytes).unwrap_or(usize::MAX).min(shown.len());
        let (start, end) = (self.read(0, n_bytes)?, self.read(self.bytes - n_bytes as u64, n_bytes)?);
        let (first, last) = seen(&start, &end, shown.as_bytes());
        Ok(joined(first as u64, last as u64, self.bytes))
    }
}

/// How many bytes of the beginning and of the end of an output are in the text that was shown of it.
fn seen(start: &[u8], end: &[u8], shown: &[u8]) -> (usize, usize) {
    let head = &start[..start.len().min(FOUND_BYTES_MIN)];
    let tail = &end[end.len() - end.len().min(FOUND_BYTES_MIN)..];
    let first = memchr::memmem::find(shown, head).map_or(0, |at| n_equal(start.iter().zip(&shown[at..])));
    let last = memchr::memmem::rfind(shown, tail).map_or(0, |at| {
        let upto = at + tail.len();
        n_equal(end.iter().rev().zip(shown[..upto].iter().rev()))
    });
    (first, last)
}

fn n_equal<'a>(pairs: impl Iterator<Item = (&'a u8, &'a u8)>) -> usize {
    pairs.take_while(|(one, other)| one == other).count()
}

/// The first and the last bytes of so many as ranges, one if they meet.
fn joined(first: u64, last: u64, of: u64) -> Vec<Range<u64>> {
    // If they meet, the second range begins where the first one ends.
    let first = if first + last >= of { of } else { first };
    [0..first, (of - last).max(first)..of].into_iter().filter(|range| !range.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_seen(whole: &str, shown: &str, expected: &[(u64, u64)]) {
        let n = whole.len().min(shown.len());
        let (first, last) = seen(&whole.as_bytes()[..n], &whole.as_bytes()[whole.len() - n..], shown.as_bytes());
        let ranges = joined(first as u64, last as u64, whole.len() as u64);
        assert_eq!(ranges.into_iter().map(|it| (it.start, it.end)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_the_model_saw_of_an_output_is_its_beginning_and_its_end() {
        let whole: String = (0..100).map(|n| format!("this is line {n:02}\n")).collect();
        check_seen(&whole, &format!("Output:\n{whole}"), &[(0, 1600)]);
        let cut = format!("Output:\n{}…90 lines…{}", &whole[..80], &whole[1520..]);
        check_seen(&whole, &cut, &[(0, 80), (1520, 1600)]);
        check_seen(&whole, "nothing of it", &[]);
        check_seen("short", "the short text", &[(0, 5)]);
        check_seen(&whole, &whole[..80], &[(0, 80)]);
    }
}
