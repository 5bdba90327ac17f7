//! Items, sources, and how items are assembled.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::{Fragment, concat};
use pellucid_engine::injection::{
    InjectionItem, Inputs, ItemError, ItemSource, ItemTarget, PreambleRole, SystemParts, Version, preamble,
    system_prompt,
};
use pellucid_engine::skills as known;
use pellucid_engine::source::{OwnSections, own_sections};
use pellucid_protocol::model::ModelInfo;
use pellucid_protocol::settings::PromptMode;
use pellucid_workspace::injection_files;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::golden::Verdict;
use crate::golden::cases::{self, same};
use crate::golden::text::{Text, expanded, same_or_digest};
use crate::scratch::Scratch;

/// The placeholder for the folder of a tree.
const ROOT: &str = "$ROOT";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ItemCase {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "note")]
    _note: Option<String>,
    args: Map<String, Value>,
    expect_item: Option<Value>,
    expect_error: Option<ExpectedError>,
}

#[derive(Deserialize, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
struct ExpectedError {
    kind: String,
    message: Option<String>,
}

pub fn item(file: &Value) -> Vec<Verdict> {
    cases::run_expanded(file, |case: ItemCase| {
        let found = InjectionItem::from_fields(&case.args, Version::One, "args");
        match (found, case.expect_item, case.expect_error) {
            (Ok(item), Some(expected), None) => same_or_digest("item", &as_json(&item), &expected),
            (Err(error), None, Some(expected)) => {
                let kind = if matches!(error, ItemError::Type(_)) { "type_error" } else { "invalid_argument" };
                // A wrong type has no separate message.
                let message = (kind != "type_error").then(|| error.to_string());
                same("error", &ExpectedError { kind: kind.to_owned(), message }, &expected)
            }
            (found, ..) => Err(format!("is {found:?}")),
        }
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceCase {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "note")]
    _note: Option<String>,
    tree: Option<BTreeMap<String, Option<Text>>>,
    spec: Value,
    #[serde(default)]
    context: Map<String, Value>,
    /// A missing store means none, as `null` does.
    store: Option<BTreeMap<String, Text>>,
    prompt_mode: Option<Value>,
    expect_source_built: Option<bool>,
    expect_items: Option<Vec<Value>>,
}

pub fn with_tree(file: &Value) -> Vec<Verdict> {
    cases::run(file, |case: SourceCase| {
        let tree = case.tree.as_ref().ok_or("there is no tree")?;
        let scratch = Scratch::new().map_err(|error| error.to_string())?;
        plant(tree, scratch.path())?;
        // The temporary folder may be a link; paths are compared as they are given.
        source(&case, &scratch.path().to_string_lossy())
    })
}

pub fn without_tree(file: &Value) -> Vec<Verdict> {
    cases::run_expanded(file, |case: SourceCase| source(&case, "/nowhere"))
}

fn source(case: &SourceCase, root: &str) -> Result<(), String> {
    let found = ItemSource::parse(&placed(&expanded(&case.spec), root));
    if let Some(expected) = case.expect_source_built {
        same("source built", &found.is_some(), &expected)?;
    }
    let Some(source) = found else {
        return match &case.expect_items {
            None => Ok(()),
            Some(items) if items.is_empty() => Ok(()),
            Some(_) => Err("no source was built".to_owned()),
        };
    };
    let Value::Object(attributes) = placed(&expanded(&Value::Object(case.context.clone())), root) else {
        return Err("the context is a map".to_owned());
    };
    let store = case.store.as_ref().map(texts).transpose()?;
    let inputs = Inputs {
        attributes: &attributes,
        places: &BTreeMap::new(),
        store: store.as_ref(),
        texts: &super::pack().layout.source_texts,
        process_dir: "/nowhere",
        home: "/nowhere",
    };
    let mode = super::agent::mode(case.prompt_mode.as_ref());
    let read = injection_files::read(&source.wants(&inputs, mode));
    let items: Vec<Value> = source.items(&inputs, mode, &read).iter().map(as_json).collect();
    let expected = placed(&json!(case.expect_items), root);
    same_or_digest("items", &Value::Array(items), &expected)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AssemblyCase {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "note")]
    _note: Option<String>,
    input: AssemblyInput,
    expect: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AssemblyInput {
    system_prompt: Option<String>,
    #[serde(default)]
    variables: Map<String, Value>,
    #[serde(default)]
    memory: Vec<String>,
    #[serde(default)]
    items: Vec<Map<String, Value>>,
    skills: Option<Skills>,
    include_skill_locations: Option<bool>,
    #[serde(default)]
    history: Vec<Message>,
    user_message: Option<String>,
    prompt_mode: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Skills {
    /// Listing the store fails with this error.
    Fail(String),
    Listed(Vec<Skill>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Skill {
    name: String,
    description: String,
    #[serde(default)]
    allowed_tools: Vec<String>,
    location: Option<String>,
}

impl Skill {
    fn read(self) -> known::Skill {
        known::Skill {
            path: self.location.unwrap_or_else(|| self.name.clone()),
            name: self.name,
            description: self.description,
            short_description: None,
            allowed_tools: self.allowed_tools,
            scope: known::SkillOwner::User,
            switch: known::Switch::On,
            metadata: None,
        }
    }
}

#[derive(Deserialize, Debug, PartialEq, Clone)]
#[serde(deny_unknown_fields)]
pub struct Message {
    pub role: String,
    pub content: String,
}

pub fn assembly(file: &Value) -> Vec<Verdict> {
    cases::run_expanded(file, |case: AssemblyCase| {
        let input = case.input;
        let mode = super::agent::mode(input.prompt_mode.as_ref());
        let items = items(&input.items)?;
        let variables: Vec<(String, String)> = input
            .variables
            .iter()
            .map(|(name, value)| (name.clone(), pellucid_engine::injection::scalar::text(value).into_owned()))
            .collect();
        let mut facts = Facts::plain("/nowhere", ModelInfo::named("model"));
        facts.system.prompt_mode = mode;
        facts.system.injection.memory = input.memory;
        match input.skills {
            // A store that fails lists nothing.
            Some(Skills::Fail(word)) if word == "error" => {}
            Some(Skills::Fail(word)) => return Err(format!("unknown skills {word}")),
            Some(Skills::Listed(skills)) => {
                facts.world.skills = known::Skills::new(skills.into_iter().map(Skill::read).collect(), Vec::new());
                facts.system.given.insert("skills_always".to_owned(), true.into());
            }
            None => {}
        }
        let with_locations = input.include_skill_locations == Some(true);
        facts.system.given.insert("skill_locations".to_owned(), with_locations.into());
        let (own, omissions) = own_sections(super::pack(), &facts, OwnSections::All, &"sections".into());
        same("omissions", &omissions, &Vec::new())?;
        let parts = SystemParts {
            base: input.system_prompt.map(|text| Fragment::provided("system_prompt", text)).into_iter().collect(),
            variables: &variables,
            items: &items,
            own,
        };
        let found = concat(&system_prompt(parts, mode));
        let mut messages = preamble_messages(&items, mode);
        messages.extend(input.history);
        messages.extend(input.user_message.map(|content| Message { role: "user".to_owned(), content }));
        let messages: Vec<Value> =
            messages.iter().map(|it| json!({ "role": it.role, "content": it.content })).collect();
        same_or_digest("assembly", &json!({ "system_prompt": found, "messages": messages }), &case.expect)
    })
}

/// The messages before a history.
pub fn preamble_messages(items: &[InjectionItem], mode: PromptMode) -> Vec<Message> {
    let message = |it: &pellucid_engine::injection::PreambleMessage| Message {
        role: it.role.as_str().to_owned(),
        content: concat(&it.content),
    };
    preamble(items, mode).iter().map(message).collect()
}

/// Items made from loosely typed fields, all of which must be valid.
fn items(fields: &[Map<String, Value>]) -> Result<Vec<InjectionItem>, String> {
    let item = |fields: &Map<String, Value>| {
        InjectionItem::from_fields(fields, Version::One, "items").map_err(|error| error.to_string())
    };
    fields.iter().map(item).collect()
}

fn texts(store: &BTreeMap<String, Text>) -> Result<BTreeMap<String, String>, String> {
    store.iter().map(|(key, text)| Ok((key.clone(), String::from_utf8_lossy(&text.bytes()?).into_owned()))).collect()
}

/// Makes the files and folders of a tree.
fn plant(tree: &BTreeMap<String, Option<Text>>, root: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    for (path, text) in tree {
        let full = root.join(path);
        match text {
            _ if path.ends_with('/') => fs::create_dir_all(full).map_err(failed)?,
            None => return Err(format!("{path} has no text")),
            Some(text) => {
                fs::create_dir_all(full.parent().ok_or("no folder")?).map_err(failed)?;
                fs::write(full, text.bytes()?).map_err(failed)?;
            }
        }
    }
    Ok(())
}

/// A value with the folder of the tree in it.
fn placed(value: &Value, root: &str) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace(ROOT, root)),
        Value::Array(values) => values.iter().map(|value| placed(value, root)).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, value)| (key.clone(), placed(value, root))).collect())
        }
        other => other.clone(),
    }
}

/// An item as the vectors write it.
fn as_json(item: &InjectionItem) -> Value {
    let target = match item.target {
        ItemTarget::SystemSection => "system_section",
        ItemTarget::PreambleMessage => "preamble_message",
    };
    let modes: Vec<&str> = item.modes.iter().map(|mode| mode.as_str()).collect();
    let mut value = json!({
        "target": target,
        "role": item.role.map(PreambleRole::as_str),
        "order": item.order,
        "prompt_modes": modes,
        "substitute_variables": item.fills_variables,
        "content": item.text(),
    });
    if let Some(id) = &item.id {
        value["id"] = id.clone();
    }
    if !item.metadata.is_empty() {
        value["metadata"] = Value::Object(item.metadata.clone());
    }
    value
}
