//! `file_set`: a list of files in one section.
//!
//! The second version counts in bytes or UTF-16 units, keeps shares of a budget, has configurable markers and lines,
//! spends a budget over the files in order, and knows standard lists of files.

use pellucid_protocol::settings::PromptMode;
use serde_json::Map;
use serde_json::Value;

use super::item;
use super::item::InjectionItem;
use super::item::ItemError;
use super::item::ItemTarget;
use super::item::Version;
use super::read::Counts;
use super::read::FileRead;
use super::read::FileText;
use super::read::FileWanted;
use super::read::InjectionRead;
use super::read::ReadExtent;
use super::read::Wants;
use super::report::Truncation;
use super::scalar;
use super::source::Collecting;
use super::source::Inputs;
use crate::bootstrap::FileSetLayout;
use crate::cut::ends;
use crate::cut::ends::KeptEnds;
use crate::cut::files::FileContent;
use crate::cut::files::FileEntry;
use crate::cut::files::FileRules;
use crate::cut::files::Placing;
use crate::cut::files::Spending;
use crate::cut::files::Unit;
use crate::file_chunks::FileChunks;
use crate::file_chunks::is_replacement;
use crate::file_version::FileVersion;
use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::pack::Pack;
use crate::path;
use crate::utf16;

/// A source that lists files.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FileSet {
    files: Vec<Value>,
    /// The heading; absent for the layout's.
    header: Option<String>,
    total_max: Option<Value>,
    marker: String,
    order: i64,
    modes: Vec<PromptMode>,
    root_key: Option<String>,
    fills_variables: bool,
    includes_missing: bool,
    /// Whether a section without files is kept.
    keeps_empty: bool,
    version: Version,
    rules: Option<FileRules>,
    /// The line for a missing file, if the options or a preset have one.
    missing: Option<String>,
}

/// A file of the list that is used in a mode.
struct Listed {
    /// The path, spelled as in the configuration.
    path: String,
    /// The heading above the file.
    title: String,
    /// The resolved path; absent when it is outside of the root.
    place: Option<String>,
    max: Option<i64>,
    /// Whether a missing file leaves no line.
    only_if_there: bool,
}

/// An entry of the list that is not used.
enum Hidden {
    /// The file is for other modes.
    ByMode(String),
    /// The entry is no map, or has no path.
    NoPath,
}

impl FileSet {
    pub(super) fn new(spec: &Map<String, Value>) -> Result<Self, ItemError> {
        let option = |name: &str| spec.get(name).unwrap_or(&Value::Null);
        let version = Version::of(spec);
        let header = scalar::text(option("section_header"));
        let header = Some(scalar::strip(&header)).filter(|header| !header.is_empty()).map(str::to_owned);
        let marker = scalar::text(option("marker")).into_owned();
        let preset = option("preset").as_str().filter(|_| version == Version::Two);
        let preset = preset.map(preset_of).transpose()?;
        let mut files = option("files").as_array().cloned().unwrap_or_default();
        if let Some(preset) = &preset {
            files = preset.entries().chain(files).collect();
        }
        Ok(Self {
            files,
            header,
            total_max: spec.get("total_max_bytes").filter(|total| !total.is_null()).cloned(),
            rules: (version == Version::Two).then(|| rules(spec, preset.as_ref(), &marker)),
            missing: missing_line(spec, version).or_else(|| preset.map(|preset| preset.rules.missing)),
            marker,
            order: scalar::int(option("order")).unwrap_or(0),
            modes: item::modes_or_both(option("prompt_modes"), version)?,
            root_key: scalar::given(spec.get("root_key")).map(|key| scalar::text(key).into_owned()),
            fills_variables: scalar::is_true(spec.get("substitute_variables")),
            includes_missing: spec.get("include_missing").is_none_or(|it| *it == Value::Bool(true)),
            keeps_empty: option("empty_section") != "omit" || version == Version::One,
            version,
        })
    }

    pub(super) fn wants(&self, inputs: &Inputs<'_>, mode: PromptMode) -> Wants {
        let (listed, _) = self.listed(inputs, mode);
        let wanted = |file: &Listed| {
            let own = file.max.and_then(|max| usize::try_from(max).ok()).filter(|max| *max > 0);
            let keep = match (&self.rules, own) {
                (None, Some(bytes)) => ReadExtent::Ends { bytes, counts: Counts::Nothing },
                // The end of a text whose white space goes first is not known before.
                (Some(rules), own) if !rules.trims_end => match own.or(rules.per_file) {
                    // A unit of UTF-16 is three bytes at most.
                    Some(max) => ReadExtent::Ends { bytes: max.saturating_mul(3), counts: Counts::Text },
                    None => ReadExtent::Whole,
                },
                _ => ReadExtent::Whole,
            };
            Some(FileWanted { path: file.place.clone()?, keep })
        };
        Wants { files: listed.iter().filter_map(wanted).collect(), repo: None }
    }

    pub(super) fn collect(
        &self,
        inputs: &Inputs<'_>,
        mode: PromptMode,
        read: &InjectionRead,
        collecting: &mut Collecting<'_>,
    ) {
        let header = self.header.as_deref().unwrap_or(&inputs.texts.file_set_header);
        let missing = self.missing.as_deref().unwrap_or(&inputs.texts.missing);
        let rules = self.rules.clone().map(|rules| FileRules { missing: missing.to_owned(), ..rules });
        let mut section = Section::new(header);
        let mut spending = rules.as_ref().map(Spending::new);
        let (mut n_lost, mut truncation) = (0, None);
        let (listed, hidden) = self.listed(inputs, mode);
        for what in &hidden {
            match what {
                Hidden::ByMode(path) => collecting.hidden(path),
                Hidden::NoPath => collecting.refused("entry", "a file of the list needs `path`"),
            }
        }
        for file in listed {
            let found = file.place.as_ref().and_then(|place| read.files.get(place)).unwrap_or(&FileRead::Missing);
            match found {
                FileRead::Failed { error } => {
                    collecting.refused(&file.path, error);
                    continue;
                }
                FileRead::Missing => collecting.missing(&file.path),
                FileRead::Text(_) => {}
            }
            if *found == FileRead::Missing && (!self.includes_missing || file.only_if_there) {
                continue;
            }
            let (content, kept) = match (&mut spending, &rules) {
                (Some(spending), Some(rules)) => match spent(spending, rules, &file, found) {
                    Ok(Some(content)) => content,
                    Ok(None) => continue,
                    Err(reason) => {
                        collecting.refused(&file.path, &reason);
                        break;
                    }
                },
                _ => self.first_version(&file, found, missing),
            };
            if let Some(kept) = kept {
                let budget = file.max.and_then(|max| usize::try_from(max).ok());
                let budget = budget.or_else(|| rules.as_ref().and_then(|rules| rules.per_file));
                truncation = Some(Truncation::with_file(truncation, kept, budget));
            }
            if let FileRead::Text(text) = found {
                let used = content.iter().filter(|it| matches!(it.origin, Origin::File { .. }) || is_replacement(it));
                let used: usize = used.map(|it| it.text.len()).sum();
                n_lost += self.wanted_bytes(text).saturating_sub(used);
            }
            section.push(&file.title, content);
        }
        if section.is_empty && !self.keeps_empty {
            return;
        }
        let whole = ends::length(&section.body);
        let content = match &self.total_max {
            Some(max) if self.version == Version::One || self.rules.as_ref().is_none_or(|it| it.total.is_none()) => {
                let max = scalar::int(max);
                let (content, kept) = ends::cut_of(section.body, max, &self.marker);
                truncation = kept.map(|kept| Truncation::of_ends(kept, max)).or(truncation);
                content
            }
            _ => section.body,
        };
        let item = InjectionItem {
            target: ItemTarget::SystemSection,
            role: None,
            order: self.order,
            modes: self.modes.clone(),
            fills_variables: self.fills_variables,
            content,
            id: None,
            metadata: Map::new(),
        };
        collecting.item(item, header, whole + n_lost, truncation);
    }

    /// How many bytes of a file should be there: white space at its end that goes by rule is not missed.
    fn wanted_bytes(&self, text: &FileText) -> usize {
        match text {
            FileText::Whole { bytes, .. } if self.rules.as_ref().is_some_and(|rules| rules.trims_end) => {
                utf16::trim_end(&ends::normalize(bytes)).len()
            }
            text => usize::try_from(text.size()).unwrap_or(usize::MAX),
        }
    }

    fn first_version(&self, file: &Listed, found: &FileRead, missing: &str) -> Content {
        let max = file.max.filter(|max| *max > 0);
        match (found, max) {
            (FileRead::Text(text), Some(max)) => text.cut(max, &self.marker),
            (FileRead::Text(text), None) => (text.fragments(), None),
            (FileRead::Missing | FileRead::Failed { .. }, max) => {
                let line = vec![Fragment::layout(missing.replace("{{path}}", &file.path))];
                match max {
                    Some(max) => ends::cut_of(line, Some(max), &self.marker),
                    None => (line, None),
                }
            }
        }
    }

    /// The files that are used in this mode, and what is hidden of the list.
    fn listed(&self, inputs: &Inputs<'_>, mode: PromptMode) -> (Vec<Listed>, Vec<Hidden>) {
        let root = self.root(inputs);
        let is_in = |entry: &Value| match entry.get("prompt_modes").filter(|modes| !modes.is_null()) {
            Some(modes) => item::modes(modes, self.version).map(|modes| modes.contains(&mode)),
            None => Ok(true),
        };
        // A list that cannot be read hides nothing, of this file or of any other.
        let shown: Result<Vec<bool>, ItemError> = self.files.iter().map(is_in).collect();
        let shown = shown.unwrap_or_else(|_| vec![true; self.files.len()]);
        let (mut files, mut hidden) = (Vec::new(), Vec::new());
        for (entry, is_shown) in self.files.iter().zip(shown) {
            match listed(entry, &root, inputs.home) {
                Some(file) if is_shown => files.push(file),
                Some(file) => hidden.push(Hidden::ByMode(file.path)),
                None => hidden.push(Hidden::NoPath),
            }
        }
        (files, hidden)
    }

    fn root(&self, inputs: &Inputs<'_>) -> String {
        let attribute = |key: &str| scalar::given(inputs.attributes.get(key)).map(|value| scalar::text(value));
        let given = match &self.root_key {
            Some(key) => attribute(key),
            None => attribute("workspace_dir").or_else(|| attribute("cwd")),
        };
        let given = given.filter(|root| !scalar::is_blank(root));
        path::expand(given.as_deref().unwrap_or(inputs.process_dir), inputs.process_dir, inputs.home)
    }
}

/// The text of a file, with what a cut kept of it.
type Content = (Vec<Fragment>, Option<KeptEnds>);

/// The text of a file within the budget that is spent over all; nothing for an empty one.
fn spent(
    spending: &mut Spending<'_>,
    rules: &FileRules,
    file: &Listed,
    found: &FileRead,
) -> Result<Option<Content>, String> {
    let name = path::base_name(&file.path);
    let (whole, head, tail);
    let mut size = 0;
    let (mut first_chunks, mut last_chunks) = (FileChunks::default(), FileChunks::default());
    let content = match found {
        FileRead::Text(FileText::Whole { bytes, .. }) => {
            size = bytes.len() as u64;
            first_chunks = FileChunks::of(bytes, 0);
            last_chunks = first_chunks.clone();
            whole = ends::normalize(bytes);
            Some(FileContent::Whole(&whole))
        }
        FileRead::Text(FileText::Ends { head: first, tail: last, size: all, text_bytes, units, .. }) => {
            size = *all;
            first_chunks = FileChunks::of(first, 0);
            last_chunks = FileChunks::of(last, size.saturating_sub(last.len() as u64));
            (head, tail) = (ends::normalize(first), ends::normalize(last));
            let len = if rules.unit == Unit::Bytes { *text_bytes } else { *units };
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            Some(FileContent::Ends { head: &head, tail: &tail, len })
        }
        FileRead::Missing | FileRead::Failed { .. } => None,
    };
    let shown = file.place.as_deref().filter(|_| rules.trims_end).unwrap_or(&file.path);
    let sha256 = match found {
        FileRead::Text(text) => text.path().sha256().copied(),
        FileRead::Missing | FileRead::Failed { .. } => None,
    };
    let place = FileVersion::new(file.place.as_deref().unwrap_or(&file.path), sha256);
    match spending.place(&FileEntry {
        name,
        path: shown,
        content,
        max: file.max.and_then(|max| usize::try_from(max).ok()),
    }) {
        Placing::Placed(placed) => {
            let fragments = placed.fragments(&place, size, &first_chunks, &last_chunks);
            let kept = placed.is_cut.then(|| kept_of(&fragments));
            Ok(Some((fragments, kept)))
        }
        Placing::Empty => Ok(if rules.trims_end { None } else { Some((Vec::new(), None)) }),
        Placing::Spent => Err("the budget is spent".to_owned()),
        Placing::TooLittle { remaining } => Err(format!("only {remaining} of the budget are left")),
    }
}

/// What a cut kept of a file: its bytes before and after the marker.
fn kept_of(fragments: &[Fragment]) -> KeptEnds {
    let mut kept = KeptEnds::default();
    for fragment in fragments {
        let is_marker = fragment.origin == Origin::Layout && !is_replacement(fragment);
        match (is_marker, kept.marker) {
            (true, _) => kept.marker += fragment.text.len(),
            (false, 0) => kept.head += fragment.text.len(),
            (false, _) => kept.tail += fragment.text.len(),
        }
    }
    kept
}

/// The files that a built-in pack begins with.
fn preset_of(name: &str) -> Result<FileSetLayout, ItemError> {
    let set = |name: &str| Pack::builtin(name)?.layout.bootstrap;
    let known = || Pack::builtin_names().into_iter().filter(|name| set(name).is_some()).collect();
    set(name).ok_or_else(|| ItemError::UnknownPreset { name: name.to_owned(), known: known() })
}

/// The line for a missing file that the options have.
fn missing_line(spec: &Map<String, Value>, version: Version) -> Option<String> {
    let own = spec.get("missing_template").filter(|_| version == Version::Two);
    own.and_then(Value::as_str).map(str::to_owned)
}

fn listed(entry: &Value, root: &str, home: &str) -> Option<Listed> {
    let fields = entry.as_object()?;
    let written = scalar::text(scalar::given(fields.get("path"))?).into_owned();
    if scalar::is_blank(&written) {
        return None;
    }
    let title = fields.get("title").filter(|title| !title.is_null()).map(scalar::text);
    let title = scalar::strip(title.as_deref().unwrap_or(&written)).to_owned();
    let place = path::expand(&written, root, home);
    Some(Listed {
        title: if title.is_empty() { written.clone() } else { title },
        place: path::is_inside(&place, root).then_some(place),
        max: fields.get("max_bytes").or_else(|| fields.get("max")).and_then(scalar::int),
        only_if_there: scalar::is_true(fields.get("only_if_there")),
        path: written,
    })
}

/// The rules of the second version.
fn rules(spec: &Map<String, Value>, preset: Option<&FileSetLayout>, marker: &str) -> FileRules {
    let mut rules = match preset {
        Some(preset) => preset.rules(None, None),
        None => FileRules {
            unit: Unit::Bytes,
            per_file: None,
            total: None,
            min_remaining: 0,
            head_ratio: 0.5,
            tail_ratio: 0.5,
            marker: if marker.is_empty() { ends::DEFAULT_MARKER.to_owned() } else { marker.to_owned() },
            marker_counts: true,
            trims_end: false,
            missing: String::new(),
        },
    };
    let count = |name: &str| spec.get(name).and_then(scalar::int).and_then(|n| usize::try_from(n).ok());
    let ratio = |name: &str| spec.get(name).and_then(Value::as_f64).filter(|ratio| (0.0..=1.0).contains(ratio));
    match spec.get("unit").and_then(Value::as_str) {
        Some("utf16") => rules.unit = Unit::Utf16,
        Some("bytes") => rules.unit = Unit::Bytes,
        _ => {}
    }
    rules.per_file = count("max").or(rules.per_file);
    rules.total = count("total_max").or(rules.total);
    rules.min_remaining = count("min_remaining").unwrap_or(rules.min_remaining);
    rules.head_ratio = ratio("head_ratio").unwrap_or(rules.head_ratio);
    rules.tail_ratio = ratio("tail_ratio").unwrap_or(rules.tail_ratio);
    if let Some(template) = spec.get("marker_template").and_then(Value::as_str) {
        template.clone_into(&mut rules.marker);
    }
    if let Some(counts) = spec.get("marker_counts").and_then(Value::as_bool) {
        rules.marker_counts = counts;
    }
    rules
}

/// The section while files are added.
struct Section {
    body: Vec<Fragment>,
    is_empty: bool,
}

impl Section {
    fn new(header: &str) -> Self {
        Self { body: vec![Fragment::layout(format!("# {header}\n"))], is_empty: true }
    }

    /// Adds a file, with an empty line before it and a line end after it.
    fn push(&mut self, title: &str, content: Vec<Fragment>) {
        self.is_empty = false;
        if !self.ends_with("\n\n") {
            self.body.push(Fragment::layout("\n"));
        }
        self.body.push(Fragment::layout(format!("## {title}\n")));
        self.body.extend(content.into_iter().filter(|fragment| !fragment.text.is_empty()));
        if !self.ends_with("\n") {
            self.body.push(Fragment::layout("\n"));
        }
    }

    fn ends_with(&self, end: &str) -> bool {
        let mut left = end;
        for fragment in self.body.iter().rev() {
            if fragment.text.len() >= left.len() {
                return fragment.text.ends_with(left);
            }
            match left.strip_suffix(fragment.text.as_str()) {
                Some(rest) => left = rest,
                None => return false,
            }
        }
        left.is_empty()
    }
}
