//! The origins that a record keeps, for a session that is resumed and for requests that are rebuilt.
//!
//! Resuming must not take longer the longer the record is, so only the few lines with origins are parsed.

use std::path::Path;

use pellucid_engine::file_states::FileStates;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::Origin;
use pellucid_engine::origins;
use pellucid_engine::origins::ItemKey;
use pellucid_engine::origins::Origins;
use pellucid_engine::request::Frame;
use pellucid_store::find;
use pellucid_store::lines::Forwards;
use pellucid_store::name;
use pellucid_store::read;
use pellucid_store::read::SessionFile;
use pellucid_store::requests::entry::ChainLink;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::entry::StoredPiece;
use pellucid_store::requests::parts::PartStore;

/// What a resumed session takes over from its record.
#[derive(Debug, Default)]
pub struct Recalled {
    /// The origins of its items.
    pub origins: Origins,
    /// Its last frame, with its digest, if that can be read.
    pub frame: Option<(Frame, String)>,
    /// The last frame of the session that it is a copy of, if it sent nothing itself.
    inherited: Option<Frame>,
    /// The files that its last request was made from, where that was kept.
    pub files: Option<FileStates>,
}

impl Recalled {
    /// Reads the record of a session; empty if there is none.
    pub fn read(home: &Path, file: &SessionFile) -> Self {
        let lines = read_lines(home, file).unwrap_or_default();
        let parts = PartStore::new(home);
        let frame = last_frame(&lines, &parts);
        let inherited = if frame.is_none() { inherited_frame(home, &lines, &parts) } else { None };
        let (_, files) = files(lines.iter(), &parts);
        Self { origins: origins(lines.iter(), &parts), frame, inherited, files }
    }

    /// Instructions with the origins that they had, if the last frame had these.
    pub fn instructions(&self, text: &str) -> Vec<Fragment> {
        let Some(frame) = self.frame.as_ref().map(|(frame, _)| frame).or(self.inherited.as_ref()) else {
            return Vec::new();
        };
        let mut rest = text;
        let mut fragments = Vec::new();
        let spans = frame.head_spans().iter().filter(|span| *span.part == *"base" && span.origin != Origin::Wire);
        for span in spans {
            let Some((own, behind)) = rest.split_at_checked(span.raw_len) else {
                return Vec::new();
            };
            rest = behind;
            fragments.push(Fragment { origin: span.origin.clone(), text: own.to_owned() });
        }
        if rest.is_empty() { fragments } else { Vec::new() }
    }
}

/// The last frame of these lines, with its digest.
fn last_frame(lines: &[LogEntry], parts: &PartStore) -> Option<(Frame, String)> {
    let frame = lines.iter().rev().find_map(|entry| match entry {
        LogEntry::Frame(frame) => Some(frame),
        _ => None,
    })?;
    Some((super::frame(frame, parts).ok()?, frame.digest.clone()))
}

/// The last frame of the session that these lines are of a copy of, or of the one that that is a copy of.
fn inherited_frame(home: &Path, lines: &[LogEntry], parts: &PartStore) -> Option<Frame> {
    let mut parent = parent(lines);
    for _ in 0..COPIES_MAX {
        let file = read::open(&find::by_id(home, &parent?)?).ok()?;
        let lines = read_lines(home, &file)?;
        if let Some((frame, _)) = last_frame(&lines, parts) {
            return Some(frame);
        }
        parent = self::parent(&lines);
    }
    None
}

/// The session that these lines are of a copy of.
fn parent(lines: &[LogEntry]) -> Option<String> {
    lines.iter().find_map(|entry| match entry {
        LogEntry::Opened(opened) => opened.parent.as_ref().map(|parent| parent.session.clone()),
        _ => None,
    })
}

/// The lines that say something of origins.
fn read_lines(home: &Path, file: &SessionFile) -> Option<Vec<LogEntry>> {
    const KINDS: [&[u8]; 4] =
        [b"\"kind\":\"origins\"", b"\"kind\":\"opened\"", b"\"kind\":\"frame\"", b"\"kind\":\"request\""];
    let path = name::requests_path(home, file.path.file_name()?.to_str()?)?;
    let mut lines = Forwards::new(pellucid_files::open(&path).ok()?, 0, u64::MAX).ok()?;
    let mut entries = Vec::new();
    while let Ok(Some(line)) = lines.next_line() {
        // A line names its kind after its number, its time and the hash of the line before.
        let start = &line.bytes[..line.bytes.len().min(KIND_WITHIN)];
        if KINDS.iter().any(|kind| start.windows(kind.len()).any(|it| it == *kind))
            && let Ok(link) = serde_json::from_slice::<ChainLink>(line.bytes)
        {
            entries.push(link.entry);
        }
    }
    Some(entries)
}

/// How many copies of copies are followed to a session that sent something.
const COPIES_MAX: usize = 16;

/// The kind of a line is found within this many bytes from its start.
const KIND_WITHIN: usize = 256;

/// The files that the last request of these lines was made from, behind those that the request before it was made from.
/// Absent where the record does not say it.
pub(super) fn files<'e>(
    entries: impl Iterator<Item = &'e LogEntry>,
    parts: &PartStore,
) -> (Option<FileStates>, Option<FileStates>) {
    let (mut before, mut last): (Option<&StoredPiece>, Option<&StoredPiece>) = (None, None);
    for entry in entries {
        match entry {
            LogEntry::Opened(opened) => last = opened.files.as_ref().or(last),
            LogEntry::Request(request) => {
                before = last;
                last = request.files.as_ref().or(last);
            }
            _ => {}
        }
    }
    let read = |piece: Option<&StoredPiece>| FileStates::read(&parts.text(piece?).ok()?);
    (read(before), read(last))
}

/// The origins that lines of a record say.
pub(super) fn origins<'e>(entries: impl Iterator<Item = &'e LogEntry>, parts: &PartStore) -> Origins {
    let mut all = Origins::default();
    // Where the process that is looked at began to keep origins, and up to where it did.
    let mut covered: Option<(u64, u64)> = None;
    for entry in entries {
        match entry {
            LogEntry::Opened(opened) => {
                if let Some((from, to)) = covered.take() {
                    all.cover(from..to);
                }
                covered = opened.origins_from.map(|from| (from, from.max(opened.at)));
            }
            LogEntry::Request(request) => {
                if let Some((_, to)) = &mut covered {
                    *to = (*to).max(request.at);
                }
            }
            LogEntry::Origins(kept) => {
                if let Some((_, to)) = &mut covered {
                    *to = (*to).max(kept.at);
                }
                let lists = parts.text(&kept.spans).ok().and_then(|text| origins::read(&text)).unwrap_or_default();
                for ((bytes, digest), spans) in kept.items.iter().zip(lists) {
                    let bytes = usize::try_from(*bytes).unwrap_or(usize::MAX);
                    all.keep(ItemKey { bytes, digest: digest.clone() }, kept.from, spans);
                }
            }
            _ => {}
        }
    }
    if let Some((from, to)) = covered {
        all.cover(from..to);
    }
    all
}
