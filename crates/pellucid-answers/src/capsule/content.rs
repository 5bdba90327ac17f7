//! A session without its content: every text of a person, a model, a tool or a file is replaced by filler.
//!
//! Sizes, numbers of items and offsets stay, so requests are rebuilt with their lengths. Digests of replaced texts are
//! replaced too: from the digest of a short text a reader could find the text by trying. The chain of the record and the
//! seals of the session file are made again over the filler, so changes of the opened files are still detected.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::sync::Arc;

use pellucid_engine::encode::Span;
use pellucid_engine::fragment::Origin;
use pellucid_engine::origins;
use pellucid_engine::origins::ItemKey;
use pellucid_engine::reinject::MISSING;
use pellucid_protocol::item::Item;
use pellucid_store::read::LineReading;
use pellucid_store::read::read_line;
use pellucid_store::record::Record;
use pellucid_store::requests::chain;
use pellucid_store::requests::entry::ChainLink;
use pellucid_store::requests::entry::FrameEntry;
use pellucid_store::requests::entry::InjectionEntry;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::entry::OriginsEntry;
use pellucid_store::requests::entry::Purpose;
use pellucid_store::requests::entry::RequestEntry;
use pellucid_store::requests::entry::Sealed;
use pellucid_store::requests::entry::StoredPiece;
use pellucid_store::requests::entry::StoredText;
use pellucid_store::requests::entry::Stretch;
use pellucid_store::requests::seal;
use pellucid_store::requests::seal::Tally;
use serde_json::Value;

use super::blanker::Blanker;
use super::filler::Filler;

/// The word for content that was replaced.
pub const CONTENT: &str = "content";

/// The files of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionTexts {
    /// The session file.
    pub session: String,
    /// The record; empty if there is none.
    pub record: String,
    /// The long texts, by their digests.
    pub parts: BTreeMap<String, String>,
}

impl SessionTexts {
    /// The same session without its content.
    #[must_use]
    pub fn without_content(&self) -> Self {
        Blanking::new(self).done()
    }
}

/// The lines of a record: parsed, or as they are.
enum RecordLine<'t> {
    Link(Box<ChainLink>),
    Torn(&'t str),
}

/// A session that is being blanked.
struct Blanking<'t> {
    texts: &'t SessionTexts,
    lines: Vec<RecordLine<'t>>,
    blanker: Blanker,
    /// The digest of every item with kept origins, and the digest of the item without its content.
    keys: HashMap<(u64, String), String>,
    /// The digests of frames that were changed, and what is in their place.
    frames: HashMap<String, String>,
    /// The long texts without content, by their digests.
    parts: BTreeMap<String, String>,
}

impl<'t> Blanking<'t> {
    fn new(texts: &'t SessionTexts) -> Self {
        let filler = Filler::new([texts.session.as_str(), texts.record.as_str()]);
        let line = |line: &'t str| match serde_json::from_str::<ChainLink>(line) {
            Ok(link) => RecordLine::Link(Box::new(link)),
            Err(_) => RecordLine::Torn(line),
        };
        let lines: Vec<RecordLine<'t>> = texts.record.lines().map(line).collect();
        let blanker = Blanker::new(filler);
        let mut blanking =
            Self { texts, lines, blanker, keys: HashMap::new(), frames: HashMap::new(), parts: BTreeMap::new() };
        blanking.learn();
        blanking
    }

    fn entries(&self) -> impl Iterator<Item = &LogEntry> {
        self.lines.iter().filter_map(|line| match line {
            RecordLine::Link(link) => Some(&link.entry),
            RecordLine::Torn(_) => None,
        })
    }

    /// Learns from the origins of the record which texts are the program's.
    fn learn(&mut self) {
        let mut of_items: HashMap<(u64, String), Arc<[Span]>> = HashMap::new();
        let mut learnt: Vec<(String, Vec<Span>)> = Vec::new();
        for entry in self.entries() {
            match entry {
                LogEntry::Frame(frame) => {
                    let [head, tail] = self.spans_of(frame);
                    learnt.extend([(self.joined(&frame.head), head), (self.joined(&frame.tail), tail)]);
                }
                LogEntry::Origins(kept) => {
                    let lists = self.text(&kept.spans).and_then(|text| origins::read(&text)).unwrap_or_default();
                    of_items.extend(kept.items.iter().cloned().zip(lists.into_iter().map(Arc::from)));
                }
                LogEntry::Request(request) => learnt.extend(self.asked(request)),
                LogEntry::Placed(placed) => {
                    let lists = self.text(&placed.origins).and_then(|text| origins::read(&text)).unwrap_or_default();
                    let items = placed.texts.iter().filter_map(|text| self.text(&text.item));
                    learnt.extend(items.zip(lists));
                }
                _ => {}
            }
        }
        let items: Vec<(Item, (u64, String))> =
            self.items().into_iter().map(|item| (item.clone(), key(&item))).collect();
        for (item, key) in &items {
            if let (Some(spans), Ok(json)) = (of_items.get(key), serde_json::to_string(item)) {
                learnt.push((json, spans.to_vec()));
            }
        }
        let is_users = |span: &Span| matches!(&span.origin, Origin::Pack { file } if file.sha256().is_some());
        self.blanker.is_layout_ours = !learnt.iter().any(|(_, spans)| spans.iter().any(is_users));
        let folders = learnt.iter().flat_map(|(_, spans)| spans.iter().filter_map(|span| folder(&span.origin)));
        let folders = folders.chain(self.folders());
        // A folder at the top of the disk is in too many texts.
        let folders: BTreeSet<String> = folders.filter(|folder| folder.len() > 2).collect();
        self.blanker.folders = folders;
        for (json, spans) in &learnt {
            self.blanker.learn(json, spans);
        }
        for (item, (bytes, digest)) in items {
            let blank = serde_json::to_string(&item).map(|json| self.blanker.json(&json)).unwrap_or_default();
            self.keys.insert((bytes, digest), ItemKey::of(blank.as_bytes()).digest);
        }
    }

    /// The items that ask for a summary, with the origins of their bytes.
    fn asked(&self, request: &RequestEntry) -> Vec<(String, Vec<Span>)> {
        let lists = |piece: &StoredPiece| self.text(piece).and_then(|text| origins::read(&text)).unwrap_or_default();
        match &request.purpose {
            Purpose::Summary { prompt, origins: Some(origins), .. } => {
                self.text(prompt).into_iter().zip(lists(origins)).collect()
            }
            Purpose::MemorySummary { items, origins } => {
                items.iter().filter_map(|piece| self.text(piece)).zip(lists(origins)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The folders that the session worked in.
    fn folders(&self) -> Vec<String> {
        let folder = |line: &str| match read_line(line.as_bytes()) {
            LineReading::Record(Record::SessionMeta(meta)) => Some(meta.cwd),
            LineReading::Record(Record::TurnContext(turn)) => Some(turn.cwd),
            _ => None,
        };
        self.texts.session.lines().filter_map(folder).collect()
    }

    /// Every item of the session file and the record.
    fn items(&self) -> Vec<Item> {
        let mut items = Vec::new();
        for line in self.texts.session.lines() {
            match read_line(line.as_bytes()) {
                LineReading::Record(Record::ResponseItem(item)) => items.push(item),
                LineReading::Record(Record::Compacted(compacted)) => {
                    items.extend(compacted.replacement_history.unwrap_or_default());
                }
                _ => {}
            }
        }
        for entry in self.entries() {
            let pieces = match entry {
                LogEntry::Frame(_) | LogEntry::Origins(_) => Vec::new(),
                entry => entry.pieces(),
            };
            let texts = pieces.into_iter().filter_map(|piece| self.text(piece));
            items.extend(texts.filter_map(|text| serde_json::from_str::<Item>(&text).ok()));
        }
        items
    }

    fn spans_of(&self, frame: &FrameEntry) -> [Vec<Span>; 2] {
        let lists = frame.origins.as_ref().and_then(|piece| origins::read(&self.text(piece)?)).unwrap_or_default();
        let mut lists = lists.into_iter();
        [lists.next().unwrap_or_default(), lists.next().unwrap_or_default()]
    }

    fn text(&self, piece: &StoredPiece) -> Option<String> {
        match &piece.text {
            StoredText::Here { text } => Some(text.clone()),
            StoredText::Kept { sha256, .. } => self.texts.parts.get(sha256).cloned(),
        }
    }

    fn joined(&self, pieces: &[StoredPiece]) -> String {
        pieces.iter().filter_map(|piece| self.text(piece)).collect()
    }

    fn done(mut self) -> SessionTexts {
        let session: String = self.texts.session.split_inclusive('\n').map(|line| self.session_line(line)).collect();
        let mut record = String::with_capacity(self.texts.record.len());
        let (mut previous, mut sealed) = (None, None);
        for line in std::mem::take(&mut self.lines) {
            let text = match line {
                RecordLine::Torn(line) => self.blanker.filler.between(line, &[]),
                RecordLine::Link(mut link) => {
                    self.entry(&mut link.entry, &session);
                    link.previous = link.previous.and(previous);
                    let is_seal = match &mut link.entry {
                        LogEntry::Sealed(seal) => {
                            seal.before = seal.before.take().and(sealed.take());
                            true
                        }
                        _ => false,
                    };
                    let text = serde_json::to_string(&link).unwrap_or_default();
                    previous = Some(chain::sha256(text.as_bytes()));
                    if is_seal {
                        sealed.clone_from(&previous);
                    }
                    text
                }
            };
            record += &text;
            record.push('\n');
        }
        if !self.texts.record.ends_with('\n') {
            record.pop();
        }
        SessionTexts { session, record, parts: self.parts }
    }

    fn session_line(&self, line: &str) -> String {
        match serde_json::from_str::<serde::de::IgnoredAny>(line) {
            Ok(_) => self.blanker.json(line),
            Err(_) => self.blanker.filler.between(line, &[]),
        }
    }

    fn entry(&mut self, entry: &mut LogEntry, session: &str) {
        match entry {
            LogEntry::Opened(opened) => {
                opened.blanked = Some(CONTENT.to_owned());
                // A pack of the person is named by its folder.
                if let Some(terms) = opened.terms.as_mut().filter(|terms| terms.pack.contains('/')) {
                    terms.pack = self.blanker.path(&terms.pack);
                }
                if let Some(watched) = &mut opened.watched {
                    watched.upstream = self.blanker.path(&watched.upstream);
                }
                if let Some(summaries) = &mut opened.summaries {
                    self.piece(&mut summaries.prefix, Blanker::prefix);
                    summaries.context.iter_mut().for_each(|piece| self.piece(piece, Blanker::json));
                }
                if let Some(files) = &mut opened.files {
                    self.piece(files, file_states);
                }
            }
            LogEntry::Frame(frame) => self.frame(frame),
            LogEntry::Request(request) => self.request(request),
            LogEntry::Reply(reply) => reply.failure = reply.failure.as_ref().map(|why| self.blanker.word(why)),
            LogEntry::Rebuilt(it) => self.stretches(&mut it.items),
            LogEntry::Shown(it) => self.stretches(&mut it.items),
            LogEntry::Noted(it) => self.piece(&mut it.item, Blanker::json),
            LogEntry::Origins(it) => self.origins(it),
            LogEntry::Placed(it) => {
                it.texts.iter_mut().for_each(|text| self.piece(&mut text.item, Blanker::json));
                self.piece(&mut it.origins, origin_lists);
            }
            LogEntry::Child(it) => it.purpose = self.blanker.word(&it.purpose),
            LogEntry::SaidAgain(it) => {
                it.part = self.blanker.part(&it.part);
                it.reason = self.blanker.word(&it.reason);
                it.sha256 = self.blanker.filler.digest(&it.sha256);
            }
            LogEntry::NotSent(it) => {
                it.why = self.blanker.word(&it.why);
                self.injections(&mut it.injections);
            }
            LogEntry::Call(it) => {
                it.tool = self.blanker.tool(&it.tool);
                if let Some(grounds) = &mut it.grounds.is {
                    *grounds = self.value(grounds);
                }
                for sandbox in it.runs.iter_mut().filter_map(|run| run.sandbox.is.as_mut()) {
                    let roots = sandbox.writable_roots.iter_mut().flatten();
                    roots.for_each(|root| *root = self.blanker.path(root));
                }
            }
            LogEntry::Sealed(it) => reseal(it, session),
        }
    }

    fn injections(&self, injections: &mut [InjectionEntry]) {
        for it in injections {
            it.path = self.blanker.path(&it.path);
            if it.hash != MISSING {
                it.hash = self.blanker.filler.digest(&it.hash);
            }
            it.reason = self.blanker.word(&it.reason);
            it.channel = self.blanker.word(&it.channel);
        }
    }

    fn value(&self, value: &Value) -> Value {
        serde_json::from_str(&self.blanker.json(&value.to_string())).unwrap_or_default()
    }

    fn stretches(&mut self, stretches: &mut [Stretch]) {
        for stretch in stretches {
            if let Stretch::Item(piece) = stretch {
                self.piece(piece, Blanker::json);
            }
        }
    }

    /// Replaces the text of a piece, here or among the long texts.
    fn piece(&mut self, piece: &mut StoredPiece, blank: impl Fn(&Blanker, &str) -> String) {
        piece.part = self.blanker.part(&piece.part);
        if let Some(text) = self.text(piece) {
            let blanked = blank(&self.blanker, &text);
            self.put(piece, blanked);
        }
    }

    fn put(&mut self, piece: &mut StoredPiece, text: String) {
        match &mut piece.text {
            StoredText::Here { text: here } => *here = text,
            StoredText::Kept { sha256, bytes } => {
                *sha256 = chain::sha256(text.as_bytes());
                *bytes = text.len() as u64;
                self.parts.insert(sha256.clone(), text);
            }
        }
    }

    fn frame(&mut self, frame: &mut FrameEntry) {
        let [head, tail] = self.spans_of(frame);
        let mut is_changed = false;
        let is_raw = frame.view["watched"] == "raw";
        for (pieces, spans) in [(&mut frame.head, head), (&mut frame.tail, tail)] {
            let joined = self.joined(pieces);
            // A body of another program need not be JSON, and then has no tokens to keep.
            let is_plain = is_raw && serde_json::from_str::<serde::de::IgnoredAny>(&joined).is_err();
            let blanked = if is_plain { self.blanker.text(&joined) } else { self.blanker.attributed(&joined, &spans) };
            is_changed |= blanked != joined;
            let mut at = 0;
            for piece in pieces {
                piece.part = self.blanker.part(&piece.part);
                if let Some(text) = self.text(piece) {
                    let end = at + text.len();
                    let own = blanked.get(at..end).unwrap_or_default().to_owned();
                    self.put(piece, own);
                    at = end;
                }
            }
        }
        if let Some(piece) = &mut frame.origins {
            self.piece(piece, origin_lists);
        }
        if is_changed {
            let digest = self.blanker.filler.digest(&frame.digest);
            self.frames.insert(std::mem::replace(&mut frame.digest, digest.clone()), digest);
        }
    }

    fn request(&mut self, request: &mut RequestEntry) {
        match &mut request.purpose {
            Purpose::Summary { prompt, origins, .. } => {
                self.piece(prompt, Blanker::json);
                origins.iter_mut().for_each(|piece| self.piece(piece, origin_lists));
            }
            Purpose::MemorySummary { items, origins } => {
                items.iter_mut().for_each(|piece| self.piece(piece, Blanker::json));
                self.piece(origins, origin_lists);
            }
            Purpose::Answer | Purpose::AnswerAgain | Purpose::ProviderSummary | Purpose::Vectors => {}
        }
        self.injections(&mut request.injections);
        if let Some(files) = &mut request.files {
            self.piece(files, file_states);
        }
        if let Some(frame) = self.frames.get(&request.frame) {
            request.frame.clone_from(frame);
        }
        let filler = &self.blanker.filler;
        if let Some(watched) = &mut request.watched {
            watched.path = self.blanker.path(&watched.path);
            watched.headers.clear();
            watched.encoded_sha256 = watched.encoded_sha256.as_ref().map(|digest| filler.digest(digest));
        }
        request.body = filler.digest(&request.body);
        for (_, _, digest) in &mut request.marks {
            *digest = filler.digest(digest);
        }
        if let Some(broken) = &mut request.cache_break {
            broken.part = self.blanker.part(&broken.part);
            broken.source = source(&self.blanker, &broken.source);
            for change in &mut broken.changes {
                change.part = self.blanker.part(&change.part);
                change.source = source(&self.blanker, &change.source);
            }
        }
    }

    fn origins(&mut self, kept: &mut OriginsEntry) {
        for (bytes, digest) in &mut kept.items {
            *digest = match self.keys.get(&(*bytes, digest.clone())) {
                Some(key) => key.clone(),
                None => self.blanker.filler.digest(digest),
            };
        }
        self.piece(&mut kept.spans, origin_lists);
    }
}

/// The digest of an item as the record has it.
fn key(item: &Item) -> (u64, String) {
    let key = ItemKey::of(&serde_json::to_vec(item).unwrap_or_default());
    (key.bytes as u64, key.digest)
}

/// The folder of the file that a text comes from.
fn folder(origin: &Origin) -> Option<String> {
    let path: &str = match origin.claim() {
        Origin::File { path, .. } => path,
        Origin::Pack { file } => file,
        Origin::Skill { path } | Origin::Recorded { path } => path,
        Origin::Provided { place } => place,
        _ => return None,
    };
    Some(path.starts_with('/').then_some(path)?.rsplit_once('/')?.0.to_owned())
}

/// Lists of spans, with paths and names replaced.
fn origin_lists(blanker: &Blanker, text: &str) -> String {
    let Some(lists) = origins::read(text) else {
        return blanker.text(text);
    };
    let replaced = |span: &Span| Span {
        part: blanker.part(&span.part).into(),
        origin: origin(blanker, &span.origin),
        ..span.clone()
    };
    let lists: Vec<Vec<Span>> = lists.iter().map(|list| list.iter().map(replaced).collect()).collect();
    origins::write(&lists.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

fn origin(blanker: &Blanker, origin: &Origin) -> Origin {
    let version = |file: &pellucid_engine::file_version::FileVersion| {
        let sha256 = file.sha256().map(|sha256| blanker.filler.digest(&sha256.to_string()));
        let sha256 = sha256.and_then(|sha256| pellucid_engine::digest::Digest::read(&sha256));
        pellucid_engine::file_version::FileVersion::new(&blanker.path(file), sha256)
    };
    match origin {
        Origin::Pack { file } if !blanker.is_ours(origin) => Origin::Pack { file: version(file) },
        Origin::File { path, range, size } => Origin::File { path: version(path), range: range.clone(), size: *size },
        Origin::Skill { path } => Origin::Skill { path: blanker.path(path).into() },
        Origin::Tool { name } => Origin::Tool { name: blanker.tool(name).into() },
        Origin::Recorded { path } => Origin::Recorded { path: blanker.path(path).into() },
        Origin::Provided { place } if place.contains('/') => Origin::Provided { place: blanker.path(place).into() },
        Origin::Likely(claim) => Origin::Likely(Arc::new(self::origin(blanker, claim))),
        other => other.clone(),
    }
}

/// Where a part comes from: the kind, and behind it a name or a path.
fn source(blanker: &Blanker, source: &str) -> String {
    match source.split_once(' ') {
        Some(("fact", _)) | None => source.to_owned(),
        Some(("provided", rest)) if !rest.contains('/') => source.to_owned(),
        Some(("pack", rest)) if !rest.starts_with('/') => source.to_owned(),
        Some((kind, rest)) if rest.contains('/') => format!("{kind} {}", blanker.path(rest)),
        Some((kind, rest)) => format!("{kind} {}", blanker.tool(rest)),
    }
}

/// The states of files, with their paths and digests replaced.
fn file_states(blanker: &Blanker, text: &str) -> String {
    let Ok(Value::Object(mut states)) = serde_json::from_str::<Value>(text) else {
        return blanker.text(text);
    };
    for files in states.values_mut().filter_map(Value::as_object_mut) {
        let replaced = std::mem::take(files).into_iter().map(|(path, sha256)| {
            let sha256 = sha256.as_str().map_or(Value::Null, |sha256| blanker.filler.digest(sha256).into());
            (blanker.path(&path), sha256)
        });
        *files = replaced.collect();
    }
    Value::Object(states).to_string()
}

/// Seals the same lines as they are now.
fn reseal(sealed: &mut Sealed, session: &str) {
    let range = usize::try_from(sealed.from).ok().zip(usize::try_from(sealed.at).ok());
    let Some(lines) = range.and_then(|(from, at)| session.get(from..at)) else {
        return;
    };
    let names = seal::lines(&sealed.lines).unwrap_or_default();
    let mut tally = Tally::new(sealed.from);
    for (n, line) in lines.split_inclusive('\n').enumerate() {
        let name = names.get(n).and_then(|(name, _)| sealed.names.get(*name));
        tally.add(line.as_bytes(), name.map_or("", |name| &name.part));
    }
    if let Some(piece) = tally.take() {
        sealed.sha256 = piece.sha256;
        sealed.names = piece.names;
        sealed.lines = piece.lines;
    }
}
