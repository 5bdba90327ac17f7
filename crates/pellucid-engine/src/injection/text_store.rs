//! `text_store`: texts that are fetched by name and wrapped.

use serde_json::Map;
use serde_json::Value;

use super::item::InjectionItem;
use super::item::Version;
use super::scalar;
use super::source::Collecting;
use super::source::Inputs;
use super::substitute;
use crate::fragment::Fragment;

const SLOT: &str = "{{content}}";

/// A source that looks texts up by key.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TextStore {
    entries: Vec<Value>,
    version: Version,
}

impl TextStore {
    pub(super) fn new(spec: &Map<String, Value>) -> Self {
        let entries = spec.get("entries").and_then(Value::as_array).cloned().unwrap_or_default();
        Self { entries, version: Version::of(spec) }
    }

    /// The keys of the entries that can become items.
    pub(super) fn wanted_keys(&self) -> Vec<String> {
        let key = |entry: &Value| {
            let fields = entry.as_object()?;
            scalar::given(fields.get("target"))?;
            Some(scalar::text(scalar::given(fields.get("key"))?).into_owned())
        };
        self.entries.iter().filter_map(key).collect()
    }

    pub(super) fn collect(&self, inputs: &Inputs<'_>, collecting: &mut Collecting<'_>) {
        for entry in &self.entries {
            let Some(fields) = entry.as_object() else {
                collecting.refused("entry", "it is not a map");
                continue;
            };
            let (Some(key), Some(_)) = (scalar::given(fields.get("key")), scalar::given(fields.get("target"))) else {
                collecting.refused("entry", "it needs `key` and `target`");
                continue;
            };
            let key = scalar::text(key);
            let Some(store) = inputs.store else {
                collecting.refused(&key, "there is no store of texts");
                continue;
            };
            let Some(text) = store.get(key.as_ref()) else {
                collecting.missing(&key);
                continue;
            };
            let wrapped = self.wrapped(fields.get("wrapper").unwrap_or(&Value::Null), text);
            let content = vec![Fragment::provided(&format!("text store, {key}"), wrapped)];
            match InjectionItem::with_content(fields, self.version, content) {
                Ok(mut item) => {
                    let bytes_before = item.text().len();
                    let max = fields.get("max_bytes").filter(|max| !max.is_null());
                    let truncation = max.and_then(|max| item.cut(max));
                    collecting.item(item, &key, bytes_before, truncation);
                }
                Err(error) => collecting.refused(&key, &error.to_string()),
            }
        }
    }

    /// The text in its wrapper; unwrapped where it cannot be inserted.
    fn wrapped(&self, wrapper: &Value, text: &str) -> String {
        match wrapper {
            Value::String(wrapper) if wrapper.contains(SLOT) => self.filled(wrapper, text),
            Value::String(heading) => format!("{heading}\n{text}"),
            Value::Object(fields) => match fields.get("template").filter(|template| !template.is_null()) {
                Some(template) => self.filled(&scalar::text(template), text),
                None => {
                    let part = |name| scalar::text(fields.get(name).unwrap_or(&Value::Null));
                    format!("{}{text}{}", part("prefix"), part("suffix"))
                }
            },
            _ => text.to_owned(),
        }
    }

    fn filled(&self, template: &str, text: &str) -> String {
        match self.version {
            Version::One => substitute::with_escapes(template, SLOT, text).unwrap_or_else(|_| text.to_owned()),
            Version::Two => substitute::literal(template, SLOT, text),
        }
    }
}
