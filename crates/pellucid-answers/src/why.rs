//! Why something is in a request, or why it is not.
//!
//! A question names a line of a file, a text, a byte, a part, a tool, a skill or a call. The answer has the places where
//! the request has it, or the one reason for which it is missing.
//!
//! - `places`: where a request has something
//! - `reasons`: why a request lacks something, and what would change that
//! - `history`: which requests of a session had it
//! - `json`: the answer for programs

mod history;
mod json;
mod places;
mod reasons;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::ops::RangeInclusive;

use pellucid_protocol::usage::UsageSplit;

pub use self::history::SeenIn;
pub use self::history::WhyHistory;
pub use self::json::SCHEMA;
pub use self::places::Unanswerable;
pub use self::places::places;
pub use self::reasons::Absence;
pub use self::reasons::Absences;
pub use self::reasons::WhyReason;
pub use self::reasons::fate_sentence;
pub use self::reasons::of_slot;
pub use self::reasons::of_tool;
pub use self::reasons::status_sentence;
pub use self::reasons::why_sentence;
use crate::inspected::Inspected;
use pellucid_engine::prices::PriceTable;
use pellucid_protocol::price::Money;

/// What is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhyQuestion {
    /// A file, or lines of it.
    File(FileQuestion),
    /// Any text, as it was before it was escaped.
    Text(String),
    /// A byte of the request.
    Byte(usize),
    /// A slot or part, as in the report.
    Part(String),
    /// A tool, by its name.
    Tool(String),
    /// A skill, by its name or its file.
    Skill(String),
    /// A call of a tool and its output, by the id of the call.
    Call(String),
}

/// A question about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileQuestion {
    /// The path as a person typed it.
    pub typed: String,
    /// The path from the root of the file system.
    pub path: String,
    /// The lines, from 1; absent for the whole file.
    pub lines: Option<RangeInclusive<usize>>,
    /// What the disk has at these lines, where it has them.
    pub on_disk: Option<OnDisk>,
    /// Whether the disk has the file, and the file ends before these lines.
    pub is_past_end: bool,
}

impl FileQuestion {
    /// The same question about the file that is meant: the one at this path, else the first known file whose path ends
    /// with what was typed. So a file of a pack, or of a session in another folder, can be named by a short path.
    pub fn resolved(self, request: &Inspected, absences: &Absences, is_on_disk: bool) -> Self {
        let rows = request.rows.iter().filter(|row| matches!(&*row.source, "file" | "skill" | "pack"));
        let known = rows.map(|row| &*row.origin).chain(absences.all.iter().map(|it| it.what.as_str()));
        let known: Vec<&str> = known.collect();
        if is_on_disk || known.contains(&self.path.as_str()) {
            return self;
        }
        let typed = self.typed.trim_start_matches("./");
        let is_meant =
            |it: &&&str| it.strip_suffix(typed).is_some_and(|before| before.is_empty() || before.ends_with('/'));
        let path = known.iter().find(is_meant).map_or_else(|| self.path.clone(), |it| (*it).to_owned());
        Self { path, ..self }
    }
}

/// Lines of a file as the disk has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnDisk {
    /// The text of the lines, without the line end of the last.
    pub text: String,
    /// The first byte of the lines in the file.
    pub start: u64,
}

impl OnDisk {
    /// Lines of a text; absent if it has not all of them.
    pub fn of(text: &str, lines: &RangeInclusive<usize>) -> Option<Self> {
        let mut start = 0;
        let mut found: Option<Range<usize>> = None;
        for (n, line) in text.split_inclusive('\n').enumerate() {
            if n + 1 == *lines.start() {
                found = Some(start..start);
            }
            start += line.len();
            if n + 1 == *lines.end() {
                let found = Range { end: start, ..found? };
                let text = text[found.clone()].trim_end_matches('\n').to_owned();
                return Some(Self { text, start: found.start as u64 });
            }
        }
        None
    }
}

impl WhyQuestion {
    /// What is asked about, for people.
    pub fn subject(&self) -> String {
        match self {
            Self::File(FileQuestion { typed, lines: None, .. }) => typed.clone(),
            Self::File(FileQuestion { typed, lines: Some(lines), .. }) if lines.start() == lines.end() => {
                format!("{typed}:{}", lines.start())
            }
            Self::File(FileQuestion { typed, lines: Some(lines), .. }) => {
                format!("{typed}:{}-{}", lines.start(), lines.end())
            }
            Self::Text(text) => format!("the text {text:?}"),
            Self::Byte(byte) => format!("byte {byte}"),
            Self::Part(part) => format!("the part {part}"),
            Self::Tool(tool) => format!("the tool {tool}"),
            Self::Skill(skill) => format!("the skill {skill}"),
            Self::Call(call) => format!("the call {call}"),
        }
    }
}

/// A place where a request has what is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhyPlace {
    /// The bytes of the request.
    pub bytes: Range<usize>,
    /// The number of the input item, from 0.
    pub item: Option<usize>,
    /// The role of that item.
    pub role: Option<String>,
    /// The slot or part.
    pub part: String,
    /// The kind of the origin of the first byte.
    pub source: String,
    /// The file, fact or tool that the first byte came from.
    pub origin: String,
    /// The lines of the file that the place has, where that is known.
    pub lines: Option<RangeInclusive<usize>>,
    /// How many tokens the place has, estimated.
    pub tokens: usize,
}

/// What a place costs in each request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceCost {
    /// The first day on which the price counts.
    pub from: String,
    /// If the provider has not kept it.
    pub uncached: Money,
    /// If the provider reads it from its cache.
    pub cached: Money,
}

/// A setting that would change the answer, tried on the same request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedSetting {
    /// The setting, as configuration or option.
    pub setting: String,
    /// How many bytes the request gains.
    pub bytes: isize,
    /// How many tokens the request gains.
    pub tokens: isize,
    /// The files that lose bytes by the setting, with how many.
    pub loses: Vec<(String, usize)>,
}

/// The answer to a question about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhyAnswer {
    /// The name of the request.
    pub request: String,
    /// What was asked about, for people.
    pub subject: String,
    /// Every place where the request has it.
    pub places: Vec<WhyPlace>,
    /// What became of the file, for a question about a file.
    pub status: Option<String>,
    /// Why the request lacks it, in whole or in part.
    pub reason: Option<WhyReason>,
    /// Settings with which the request would have it.
    pub settings: Vec<TriedSetting>,
    /// The requests of the session that had it.
    pub history: Option<WhyHistory>,
    /// What all places together cost in each request; absent where no price is known.
    pub cost: Option<PlaceCost>,
}

impl WhyAnswer {
    /// Whether the request has all that was asked about.
    pub fn is_there(&self) -> bool {
        !self.places.is_empty() && self.reason.is_none()
    }

    /// Whether there is neither a place nor a reason: nothing that is known has it.
    pub fn is_nowhere(&self) -> bool {
        self.places.is_empty() && self.reason.is_none()
    }

    /// How many tokens all places have.
    pub fn tokens(&self) -> usize {
        self.places.iter().map(|place| place.tokens).sum()
    }
}

/// What these tokens cost in a request that was sent on a day; absent where the price is unknown.
pub fn place_cost(prices: &PriceTable, model: &str, day: &str, tokens: usize) -> Option<PlaceCost> {
    let price = prices.of(model, day)?;
    let tokens = i64::try_from(tokens).unwrap_or(i64::MAX);
    let uncached = price.cost(&UsageSplit { uncached: tokens, ..UsageSplit::default() });
    let cached = price.cost(&UsageSplit { cached_read: tokens, ..UsageSplit::default() });
    Some(PlaceCost { from: price.from.clone(), uncached, cached })
}

/// What a setting changes: bytes, tokens, and which files lose bytes.
pub fn tried(setting: String, before: &Inspected, after: &Inspected) -> TriedSetting {
    let grown =
        |a: usize, b: usize| isize::try_from(b).unwrap_or(isize::MAX) - isize::try_from(a).unwrap_or(isize::MAX);
    let of_file = |request: &Inspected, path: &str| -> usize {
        request.rows.iter().filter(|row| &*row.source == "file" && &*row.origin == path).map(|row| row.bytes).sum()
    };
    let mut files: Vec<&str> =
        before.rows.iter().filter(|row| &*row.source == "file").map(|row| &*row.origin).collect();
    files.sort_unstable();
    files.dedup();
    let lost = files.into_iter().filter_map(|path| {
        let lost = of_file(before, path).saturating_sub(of_file(after, path));
        (lost > 0).then(|| (path.to_owned(), lost))
    });
    TriedSetting {
        setting,
        bytes: grown(before.bytes(), after.bytes()),
        tokens: grown(before.tokens(), after.tokens()),
        loses: lost.collect(),
    }
}
