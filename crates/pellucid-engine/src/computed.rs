//! Texts, values and conditions that a pack computes from facts.
//!
//! A text of a pack whose name ends with `.jinja` is a template; `[values]` of the layout are expressions with a name, and
//! a gate `if:` is a condition. All of them look at the same values ([`ROOTS`]): facts, files and what the layout declares.
//! They see nothing else, so that the same facts give the same bytes. What fails becomes an omission with its reason.
//!
//! Not here: the language (`pellucid-script`), and when a pack is checked (`pack`).

use std::ops::Range;
use std::sync::Arc;

use pellucid_protocol::settings::PromptMode;
use pellucid_protocol::settings::ReasoningEffort;
pub use pellucid_script::FILTERS;
use pellucid_script::Limits;
use pellucid_script::Program;
use pellucid_script::Provenance;
use pellucid_script::Roots;
pub use pellucid_script::ScriptError;
pub use pellucid_script::TESTS;
use pellucid_script::Text;
use pellucid_script::Value;
use serde_json::Map;

use crate::bootstrap;
use crate::facts::Document;
use crate::facts::Facts;
use crate::facts::Provided;
use crate::file_chunks::of_file;
use crate::fragment::Fragment;
use crate::fragment::Omission;
use crate::fragment::Origin;
use crate::fragment::Why;
use crate::pack::Pack;
use crate::tool_list;

/// The end of the names of files that are templates.
pub const EXTENSION: &str = ".jinja";

/// The value with the tools. Gates of tools cannot look at it.
pub(crate) const TOOLS: &str = "tools";

/// The value with the files that the layout's `[bootstrap]` reads.
pub(crate) const FILES: &str = "files";

/// The value with recalled texts.
pub(crate) const RECALLED: &str = "recalled";

const DOCUMENTS: &str = "documents";
const HOME_DOCUMENT: &str = "home_document";

/// The value with what the configuration and the caller give.
pub const GIVEN: &str = "given";

/// The value with what is known of the machine.
pub const MACHINE: &str = "machine";

/// The value with the top folder of the repository.
pub const REPOSITORY: &str = "repository";

/// The value with how much of the layout is used.
pub(crate) const MODE: &str = "mode";

/// Every value that templates and conditions can look at, and what it is.
pub const ROOTS: &[(&str, &str)] = &[
    ("base", "base instructions that the configuration or the resumed session has, if there are any"),
    ("cwd", "the working directory"),
    (DOCUMENTS, "the project's instruction files, from its root down: `path`, `name`, `text`"),
    ("effort", "how long the model may think, if configured"),
    ("features", "the keys of the features that are on"),
    (FILES, "the files that `[bootstrap]` reads, within their budgets: `path`, `name`, `text`"),
    (GIVEN, "the values of `[facts]`: those of the layout, and over them those of the configuration and the caller"),
    (HOME_DOCUMENT, "the user's own instruction file, if there is one: `path`, `name`, `text`"),
    (MACHINE, "the machine: `name`, `os`, `arch`, `time_zone`; what is not known is blank"),
    ("memory", "what earlier sessions left to remember, if there is something"),
    (MODE, "`full`, `minimal` or `none`"),
    ("model", "the model: `slug`, `provider`, `window` in tokens, if known"),
    ("policy", "what commands may do: `approval`, `sandbox`, `writable_roots`, `network` (true if it is open)"),
    (RECALLED, "the texts that a caller recalled for the session"),
    (REPOSITORY, "the top folder of the repository around the working directory, if there is one"),
    ("shell", "the family of the user's shell"),
    (
        "skills",
        "the skills that the model may choose: `name`, `description`, `path`, `scope`, `allowed_tools` (a list)",
    ),
    (TOOLS, "the tools that the layout offers: `name`, `description`, `summary` (its first line)"),
];

/// The name of recalled texts in reports.
pub(crate) const RECALLED_PLACE: &str = "memory";

/// What may be looked at, and the limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Looking<'a> {
    pub pack: &'a Pack,
    pub facts: &'a Facts,
}

impl Provenance for Origin {
    fn narrowed(&self, whole: &str, range: Range<usize>) -> Self {
        match self {
            Self::File { path, range: of_file, size } if of_file.end - of_file.start == whole.len() as u64 => {
                let start = of_file.start + range.start as u64;
                let end = start + range.len() as u64;
                // White space at the end of a file does not count as a part of it.
                let is_last = of_file.end == *size && whole[range.end..].trim_ascii().is_empty();
                Self::File { path: path.clone(), range: start..end, size: if is_last { end } else { *size } }
            }
            origin => origin.clone(),
        }
    }

    fn rewritten(&self) -> Self {
        match self {
            Self::File { .. } => Self::Layout,
            origin => origin.clone(),
        }
    }

    fn joins(&self) -> bool {
        !matches!(self, Self::File { .. })
    }
}

impl Roots<Origin> for Looking<'_> {
    fn value(&self, name: &str) -> Option<Value<Origin>> {
        if let Some(program) = self.pack.value(name) {
            let own = Origin::Pack { file: self.pack.layout_file() };
            // A failing value is not defined: the error of a template that looks at it names it.
            let value = pellucid_script::evaluate(program, &own, self, Limits::default());
            return Some(value.unwrap_or_else(|error| Value::Missing(error.to_string().into())));
        }
        self.root(name)
    }

    fn template(&self, name: &str) -> Option<(&Program, Origin)> {
        self.pack.program(name)
    }
}

impl Looking<'_> {
    fn root(&self, name: &str) -> Option<Value<Origin>> {
        let Facts { world, settings, system, .. } = self.facts;
        let fact = |name: &'static str| Origin::fact(name);
        let text = |name: &'static str, text: &str| Value::text(Origin::fact(name), text);
        Some(match name {
            "base" => {
                let given = settings.base_instructions.as_ref().or(world.recorded_instructions.as_ref());
                let value =
                    |it: &Provided| Value::text(Origin::Provided { place: it.place.as_str().into() }, it.text.as_str());
                given.map_or(Value::None, value)
            }
            "cwd" => text("cwd", &settings.cwd),
            "shell" => text("shell", &world.shell),
            MODE => text(MODE, system.prompt_mode.as_str()),
            MACHINE => {
                let origin = fact(MACHINE);
                let word = |text: &str| Value::text(origin.clone(), text);
                let it = &system.surroundings.machine;
                let all = [("name", &it.name), ("os", &it.os), ("arch", &it.arch), ("time_zone", &it.time_zone)];
                Value::map(&origin, all.map(|(name, text)| (name, word(text))))
            }
            REPOSITORY => Value::optional(&fact(REPOSITORY), system.surroundings.repository.as_deref()),
            "effort" => Value::optional(&fact("effort"), settings.effort.map(ReasoningEffort::as_str)),
            "model" => {
                let origin = fact("model");
                let window = settings.model.context_window.map(|window| Value::Number(window.into(), origin.clone()));
                let slug = Value::text(origin.clone(), settings.model.slug.as_str());
                let provider = Value::optional(&origin, system.surroundings.provider.as_deref());
                Value::map(&origin, [("slug", slug), ("provider", provider), ("window", window.unwrap_or(Value::None))])
            }
            "policy" => {
                let origin = fact("policy");
                let word = |text: &str| Value::text(origin.clone(), text);
                let roots = Value::list(settings.writable_roots.iter().map(|root| word(root)));
                let sandbox = word(settings.sandbox_policy.as_str());
                let approval = word(settings.approval_policy.as_str());
                let network = Value::Bool(settings.sandbox_policy.has_network());
                let all =
                    [("approval", approval), ("sandbox", sandbox), ("writable_roots", roots), ("network", network)];
                Value::map(&origin, all)
            }
            "features" => Value::list(settings.features.keys_on().map(|key| text("features", key))),
            DOCUMENTS => Value::list(world.project_documents.iter().map(document)),
            HOME_DOCUMENT => world.home_document.as_ref().map_or(Value::None, document),
            "memory" => world.memory.as_ref().map_or(Value::None, |memory| Value::Text(document_text(&memory.summary))),
            FILES => Value::list(system.files.placed.iter().map(placed_file)),
            GIVEN => self.given(),
            RECALLED => {
                let origin = Origin::Provided { place: RECALLED_PLACE.into() };
                Value::list(system.injection.memory.iter().map(|it| Value::text(origin.clone(), it.as_str())))
            }
            "skills" => {
                let offered = world.skills.all().iter().filter(|skill| skill.is_enabled() && skill.is_implicit());
                Value::list(offered.map(|skill| {
                    let origin = Origin::Skill { path: skill.path.as_str().into() };
                    let word = |text: &str| Value::text(origin.clone(), text);
                    let (name, description) = (word(&skill.name), word(&skill.description));
                    let (path, scope) = (word(&skill.path), word(skill.scope.as_str()));
                    let allowed_tools = Value::list(skill.allowed_tools.iter().map(|tool| word(tool)));
                    let own = [("path", path), ("scope", scope), ("allowed_tools", allowed_tools)];
                    let named = [("name", name), ("description", description)];
                    Value::map(&origin, named.into_iter().chain(own))
                }))
            }
            TOOLS => Value::list(tool_list::offered(self.pack, self.facts).iter().map(|tool| {
                let origin = fact(TOOLS);
                let description = tool.file.description.as_deref().unwrap_or_default();
                let word = |text: &str| Value::text(origin.clone(), text);
                let summary = word(description.lines().next().unwrap_or_default());
                let (name, description) = (word(&tool.file.name), word(description));
                Value::map(&origin, [("name", name), ("description", description), ("summary", summary)])
            })),
            _ => return None,
        })
    }

    /// The layout's own values, and over them those that were given.
    fn given(&self) -> Value<Origin> {
        let (own, given) = (&self.pack.layout.facts, &self.facts.system.given);
        let mut names: Vec<&String> = own.keys().collect();
        names.extend(given.keys().filter(|name| !own.contains_key(*name)));
        let layout = Origin::Pack { file: self.pack.layout_file() };
        let value = |name: &String| match given.get(name) {
            Some(given) => {
                let origin = Origin::Fact { name: format!("{GIVEN}.{name}").into() };
                Value::json(&origin, &over(own.get(name), given))
            }
            None => own.get(name).map_or(Value::None, |own| Value::json(&layout, own)),
        };
        Value::map(&layout, names.into_iter().map(|name| (name.as_str(), value(name))))
    }
}

/// A value with the layout's beneath it, where both are tables.
fn over(own: Option<&serde_json::Value>, given: &serde_json::Value) -> serde_json::Value {
    match (own, given) {
        (Some(serde_json::Value::Object(own)), serde_json::Value::Object(given)) => {
            let mut all: Map<String, serde_json::Value> = own.clone();
            for (name, value) in given {
                all.insert(name.clone(), over(own.get(name), value));
            }
            all.into()
        }
        _ => given.clone(),
    }
}

fn document(document: &Document) -> Value<Origin> {
    let origin = Origin::fact("documents");
    let word = |text: &str| Value::text(origin.clone(), text);
    let text = Value::Text(document_text(document));
    Value::map(&origin, [("path", word(&document.path)), ("name", word(base_name(&document.path))), ("text", text)])
}

fn document_text(document: &Document) -> Text<Origin> {
    text_of(&of_file(&document.version(), &document.bytes, 0, document.size))
}

fn placed_file(file: &bootstrap::ContextFile) -> Value<Origin> {
    let origin = Origin::fact(FILES);
    let word = |text: &str| Value::text(origin.clone(), text);
    let name = base_name(&file.path);
    Value::map(
        &origin,
        [("path", word(&file.path)), ("name", word(name)), ("text", Value::Text(text_of(&file.content)))],
    )
}

fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or_default().trim()
}

fn text_of(fragments: &[Fragment]) -> Text<Origin> {
    let mut text = Text::default();
    for fragment in fragments {
        text.push(&Text::new(fragment.origin.clone(), fragment.text.as_str()));
    }
    text
}

/// What a template of the pack makes of facts: its text, absent if there is none, and what is left out.
pub(crate) fn rendered(file: &str, looking: Looking<'_>, slot: &Arc<str>) -> (Option<Vec<Fragment>>, Vec<Omission>) {
    let omission = |what: &str, why: Why| Omission { slot: slot.clone(), what: what.to_owned(), why };
    let (text, left_out) = match render(file, looking) {
        Ok((text, left_out)) => (text, left_out),
        Err(error) => return (None, vec![omission(file, Why::Unusable { error: error.to_string() })]),
    };
    let reason = |it: pellucid_script::LeftOut| omission(&it.what, Why::ByPack { reason: it.why });
    let mut omissions: Vec<Omission> = left_out.into_iter().map(reason).collect();
    if looking.pack.looks_at(file, FILES) && !text.is_empty() {
        omissions.extend(looking.facts.system.files.omissions(slot));
    }
    let fragments = text.into_pieces().into_iter().map(|(origin, text)| Fragment { origin, text });
    let fragments: Vec<Fragment> = fragments.collect();
    let world = &looking.facts.world;
    for document in world.project_documents.iter().chain(&world.home_document) {
        let cut = cut_within(document, &fragments);
        omissions.extend(cut.map(|why| omission(&document.path, why)));
    }
    ((!fragments.is_empty()).then_some(fragments), omissions)
}

/// What an instruction file lost that a text has some bytes of. White space between its bytes and at its ends may go.
fn cut_within(document: &Document, fragments: &[Fragment]) -> Option<Why> {
    let mut is_kept = vec![false; document.bytes.len()];
    for fragment in fragments {
        if let Origin::File { path, range, .. } = &fragment.origin
            && **path == *document.path
            && let (Ok(start), Ok(end)) = (usize::try_from(range.start), usize::try_from(range.end))
            && let Some(kept) = is_kept.get_mut(start..end)
        {
            kept.fill(true);
        }
    }
    let kept = is_kept.iter().filter(|is_kept| **is_kept).count() as u64;
    // What is not UTF-8 is no part of a file's rows, and is reported for itself.
    let is_text = str::from_utf8(&document.bytes).is_ok();
    let mut unkept = document.bytes.iter().zip(&is_kept).filter(|(_, is_kept)| !**is_kept).map(|(byte, _)| byte);
    let loses = is_text && unkept.any(|byte| !byte.is_ascii_whitespace());
    let of = document.size;
    if kept == 0 {
        None
    } else if loses {
        Some(Why::ByPack { reason: format!("the template uses {kept} of its {of} bytes") })
    } else {
        ((document.bytes.len() as u64) < of).then_some(Why::Cut { kept, of })
    }
}

/// How much of the layout a session uses that does not say: `minimal` if the layout's `minimal_if` holds.
///
/// # Errors
/// What failed, with the column in the condition.
pub fn usual_mode(pack: &Pack, facts: &Facts) -> Result<PromptMode, ScriptError> {
    match &pack.layout.instructions.minimal_if {
        Some(condition) if holds(condition, Looking { pack, facts })? => Ok(PromptMode::Minimal),
        _ => Ok(PromptMode::Full),
    }
}

/// Renders a template of the pack.
///
/// # Errors
/// What failed, with the file, line and column.
pub(crate) fn render(
    file: &str,
    looking: Looking<'_>,
) -> Result<(Text<Origin>, Vec<pellucid_script::LeftOut>), ScriptError> {
    let Some((program, own)) = looking.pack.program(file) else {
        return Ok((Text::default(), Vec::new()));
    };
    let rendered = pellucid_script::render(program, &own, &looking, Limits::default())?;
    Ok((rendered.text, rendered.left_out))
}

/// Whether a condition of the layout holds.
///
/// # Errors
/// What failed, with the column in the condition.
pub(crate) fn holds(condition: &Program, looking: Looking<'_>) -> Result<bool, ScriptError> {
    let own = Origin::Pack { file: looking.pack.layout_file() };
    pellucid_script::is_true(condition, &own, &looking, Limits::default())
}
