//! `repo_docs`: the documents of a repository, layer by layer, in one message.
//!
//! The first version takes every name in every folder, under headings, and cuts the whole. The second takes one file
//! for each folder, cuts document by document as a shared budget runs out, and can put texts before, between, around
//! and instead of them.

use pellucid_protocol::settings::PromptMode;
use serde_json::Map;
use serde_json::Value;

use super::item;
use super::item::InjectionItem;
use super::item::ItemError;
use super::item::ItemTarget;
use super::item::PreambleRole;
use super::item::Version;
use super::read::FileRead;
use super::read::FileText;
use super::read::InjectionRead;
use super::read::RepoWanted;
use super::read::Wants;
use super::report::Truncation;
use super::scalar;
use super::source::Collecting;
use super::source::Inputs;
use super::substitute;
use super::texts::SourceTexts;
use crate::cut::ends;
use crate::file_chunks::of_file;
use crate::fragment::Fragment;
use crate::fragment::concat;
use crate::path;

/// The origin of documents whose text had to be escaped.
pub(crate) const PLACE: &str = "repo_docs";

const SLOT: &str = "{{content}}";

/// A source that reads the documents of a repository.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RepoDocs {
    names: Vec<String>,
    markers: Vec<String>,
    max: Option<Value>,
    marker: String,
    /// The text around the documents; absent for the layout's.
    wrapper: Option<String>,
    order: i64,
    modes: Vec<PromptMode>,
    second: Option<Second>,
}

/// The options that only the second version has.
#[derive(Debug, Clone, PartialEq)]
struct Second {
    separator: String,
    heading: Option<String>,
    title: Option<String>,
    truncation: DocumentCut,
    prepend: Option<String>,
    prepend_separator: String,
    append: Vec<String>,
    when_empty: Option<String>,
}

/// How documents are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DocumentCut {
    Head,
    HeadMarkerTail,
    None,
}

impl RepoDocs {
    pub(super) fn new(spec: &Map<String, Value>) -> Result<Self, ItemError> {
        let option = |name: &str| spec.get(name).unwrap_or(&Value::Null);
        let version = Version::of(spec);
        let names = |name: &str, default: &[&str]| {
            let names = scalar::list(option(name)).into_iter().map(|name| scalar::text(name).into_owned());
            let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
            if names.is_empty() { default.iter().map(|name| (*name).to_owned()).collect() } else { names }
        };
        let (names, markers) = match version {
            Version::One => (names("filenames", &["AGENTS.md"]), vec![".git".to_owned()]),
            Version::Two => {
                let mut candidates = names("candidates", &["AGENTS.override.md", "AGENTS.md"]);
                candidates.extend(names("fallback_names", &[]));
                (candidates, names("root_markers", &[".git"]))
            }
        };
        let wrapper = scalar::text(option("wrapper_template")).into_owned();
        Ok(Self {
            names,
            markers,
            max: spec.get("max_total_bytes").filter(|max| !max.is_null()).cloned(),
            marker: scalar::text(option("marker")).into_owned(),
            wrapper: (!scalar::is_blank(&wrapper)).then_some(wrapper),
            order: scalar::int(option("order")).unwrap_or(0),
            modes: item::modes_or_both(option("prompt_modes"), version)?,
            second: (version == Version::Two).then(|| Second::new(spec)),
        })
    }

    pub(super) fn wants(&self, inputs: &Inputs<'_>) -> Wants {
        let repo = RepoWanted {
            start: start(inputs),
            markers: self.markers.clone(),
            names: self.names.clone(),
            first_only: self.second.is_some(),
        };
        Wants { files: Vec::new(), repo: Some(repo) }
    }

    pub(super) fn collect(&self, inputs: &Inputs<'_>, read: &InjectionRead, collecting: &mut Collecting<'_>) {
        let documents = &read.repo.documents;
        for (path, document) in documents {
            if let FileRead::Failed { error } = document {
                collecting.refused(path, error);
            }
        }
        let body = match &self.second {
            None if documents.is_empty() => None,
            None => Some(self.first_body(documents, inputs.texts)),
            Some(second) => second.body(documents, self.budget()),
        };
        let Some((body, bytes_before, truncation)) = body else {
            collecting.missing(&self.names.join(", "));
            return;
        };
        let n_body = ends::length(&body);
        let Some(content) = self.wrapped(&body, inputs) else {
            collecting.refused(&self.names.join(", "), "a document has `\\k<`, which the wrapper cannot take");
            return;
        };
        // The wrapper is counted on both sides, so that a difference is what was cut.
        let bytes_before = (bytes_before + ends::length(&content)).saturating_sub(n_body);
        let item = InjectionItem {
            target: ItemTarget::PreambleMessage,
            role: Some(PreambleRole::User),
            order: self.order,
            modes: self.modes.clone(),
            fills_variables: false,
            content,
            id: None,
            metadata: Map::new(),
        };
        collecting.item(item, "", bytes_before, truncation);
    }

    /// The documents under their headings; nothing at all if one cannot be read.
    fn first_body(&self, documents: &[(String, FileRead)], texts: &SourceTexts) -> Body {
        let mut body = vec![Fragment::layout(format!("# {}\n", texts.repo_docs_title))];
        for (path, document) in documents {
            let FileRead::Text(text) = document else {
                body.clear();
                break;
            };
            body.push(Fragment::layout(format!("\n## {path}\n")));
            body.extend(text.fragments());
            if !ends_with_newline(&body) {
                body.push(Fragment::layout("\n"));
            }
        }
        let bytes_before = ends::length(&body);
        match &self.max {
            Some(max) => {
                let max = scalar::int(max);
                let (body, kept) = ends::cut_of(body, max, &self.marker);
                (body, bytes_before, kept.map(|kept| Truncation::of_ends(kept, max)))
            }
            None => (body, bytes_before, None),
        }
    }

    fn budget(&self) -> Budget<'_> {
        let max = self.max.as_ref().map(|max| scalar::int(max).unwrap_or(0));
        Budget { max, marker: &self.marker }
    }

    /// The body in its wrapper; absent when it cannot be inserted.
    fn wrapped(&self, body: &[Fragment], inputs: &Inputs<'_>) -> Option<Vec<Fragment>> {
        let wrapper = self.wrapper.as_deref().unwrap_or(&inputs.texts.repo_docs_wrapper);
        if self.second.is_some() {
            let wrapper = substitute::literal(wrapper, "{{cwd}}", &start(inputs));
            return Some(around(&wrapper, body));
        }
        let text = concat(body);
        let content = substitute::with_escapes(wrapper, SLOT, &text).ok()?;
        // If nothing was escaped, the documents keep their origins.
        let kept = around(wrapper, body);
        Some(if concat(&kept) == content { kept } else { vec![Fragment::provided(PLACE, content)] })
    }
}

/// The documents, with their bytes before any cut, and how they were cut.
type Body = (Vec<Fragment>, usize, Option<Truncation>);

#[derive(Clone, Copy)]
struct Budget<'a> {
    max: Option<i64>,
    marker: &'a str,
}

impl Second {
    fn new(spec: &Map<String, Value>) -> Self {
        let text = |name: &str| spec.get(name).filter(|it| !it.is_null()).map(|it| scalar::text(it).into_owned());
        let append = scalar::list(spec.get("append").unwrap_or(&Value::Null));
        Self {
            separator: text("separator").unwrap_or_else(|| "\n\n".to_owned()),
            heading: text("heading"),
            title: text("title"),
            truncation: match text("truncation").as_deref() {
                Some("head_marker_tail") => DocumentCut::HeadMarkerTail,
                Some("none") => DocumentCut::None,
                _ => DocumentCut::Head,
            },
            prepend: text("prepend").filter(|text| !text.is_empty()),
            prepend_separator: text("prepend_separator").unwrap_or_else(|| "\n\n".to_owned()),
            append: append.into_iter().map(|text| scalar::text(text).into_owned()).collect(),
            when_empty: text("when_empty"),
        }
    }

    fn body(&self, documents: &[(String, FileRead)], budget: Budget<'_>) -> Option<Body> {
        let (mut n_lost, mut truncation) = (0, None);
        let mut left = match self.truncation {
            DocumentCut::Head => budget.max.map(|max| usize::try_from(max).unwrap_or(0)),
            DocumentCut::HeadMarkerTail | DocumentCut::None => None,
        };
        let mut body: Vec<Fragment> = Vec::new();
        for (path, document) in documents {
            let FileRead::Text(FileText::Whole { path: place, bytes }) = document else {
                continue;
            };
            if left == Some(0) {
                n_lost += bytes.len();
                continue;
            }
            // Bytes are counted before they are decoded; a blank document costs nothing.
            let kept = &bytes[..bytes.len().min(left.unwrap_or(bytes.len()))];
            let text = ends::normalize(kept);
            if text.trim().is_empty() {
                continue;
            }
            left = left.map(|left| left - kept.len());
            n_lost += bytes.len() - kept.len();
            if !body.is_empty() {
                body.push(Fragment::layout(self.separator.as_str()));
            }
            if let Some(heading) = &self.heading {
                let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
                body.push(Fragment::layout(heading.replace("{{path}}", path).replace("{{dir}}", folder)));
            }
            body.extend(of_file(place, kept, 0, bytes.len() as u64));
        }
        if body.is_empty() && self.prepend.is_none() {
            let text = self.when_empty.as_ref()?;
            return Some((vec![Fragment::layout(text.as_str())], text.len(), None));
        }
        if self.truncation == DocumentCut::HeadMarkerTail
            && let Some(max) = budget.max
        {
            let n_before = ends::length(&body);
            let (cut, kept) = ends::cut_of(body, Some(max), budget.marker);
            body = cut;
            n_lost = n_before - ends::length(&body);
            truncation = kept.map(|kept| Truncation::of_ends(kept, Some(max)));
        } else if n_lost > 0 {
            let max = budget.max.and_then(|max| usize::try_from(max).ok()).unwrap_or(0);
            truncation = Some(Truncation::of_head(max - left.unwrap_or(0), max));
        }
        let mut whole = Vec::new();
        if let Some(title) = &self.title {
            whole.push(Fragment::layout(format!("{title}\n")));
        }
        if let Some(prepend) = &self.prepend {
            whole.push(Fragment::provided("prepend", prepend.as_str()));
            if !body.is_empty() {
                whole.push(Fragment::layout(self.prepend_separator.as_str()));
            }
        }
        whole.extend(body);
        for text in &self.append {
            whole.push(Fragment::layout(self.separator.as_str()));
            whole.push(Fragment::provided("append", text.as_str()));
        }
        let bytes_before = ends::length(&whole) + n_lost;
        Some((whole, bytes_before, truncation))
    }
}

/// A text in a wrapper, in every place for it.
fn around(wrapper: &str, body: &[Fragment]) -> Vec<Fragment> {
    let mut whole = Vec::new();
    for (n, text) in wrapper.split(SLOT).enumerate() {
        if n > 0 {
            whole.extend(body.iter().cloned());
        }
        if !text.is_empty() {
            whole.push(Fragment::layout(text));
        }
    }
    whole
}

/// The folder to climb from.
fn start(inputs: &Inputs<'_>) -> String {
    let attribute = |key: &str| scalar::given(inputs.attributes.get(key)).map(|value| scalar::text(value));
    let given = attribute("cwd").or_else(|| attribute("workspace_dir")).filter(|dir| !scalar::is_blank(dir));
    path::expand(given.as_deref().unwrap_or(inputs.process_dir), inputs.process_dir, inputs.home)
}

fn ends_with_newline(body: &[Fragment]) -> bool {
    body.iter().rev().find(|fragment| !fragment.text.is_empty()).is_some_and(|fragment| fragment.text.ends_with('\n'))
}
