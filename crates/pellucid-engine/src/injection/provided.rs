//! `provided`: items that the caller hands over for one call.

use serde_json::Map;
use serde_json::Value;

use super::item::InjectionItem;
use super::item::Version;
use super::scalar;
use super::source::Collecting;
use super::source::Inputs;

/// The default key of the items in the call's context.
const CONTEXT_KEY: &str = "prompt_injections";

/// A source of items that the caller provides.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Provided {
    context_key: String,
    version: Version,
}

impl Provided {
    pub(super) fn new(spec: &Map<String, Value>) -> Self {
        let key = scalar::given(spec.get("context_key")).map(|key| scalar::text(key).into_owned());
        Self { context_key: key.unwrap_or_else(|| CONTEXT_KEY.to_owned()), version: Version::of(spec) }
    }

    pub(super) fn collect(&self, inputs: &Inputs<'_>, collecting: &mut Collecting<'_>) {
        let entries = match inputs.attributes.get(&self.context_key) {
            Some(Value::Array(entries)) => entries,
            Some(Value::Null) | None if self.context_key == CONTEXT_KEY => return,
            Some(Value::Null) | None => return collecting.missing(&self.context_key),
            Some(_) => return collecting.refused(&self.context_key, "the attribute is no list"),
        };
        for (n, entry) in entries.iter().enumerate() {
            let place = match inputs.places.get(&self.context_key).and_then(|places| places.get(n)) {
                Some(place) => place.clone(),
                None => format!("{}[{n}]", self.context_key),
            };
            let Some(fields) = entry.as_object() else {
                collecting.refused(&place, "it is not a map");
                continue;
            };
            let bytes_before = scalar::text(fields.get("content").unwrap_or(&Value::Null)).len();
            match InjectionItem::from_fields(fields, self.version, &place) {
                Ok(mut item) => {
                    let max = fields.get("max_bytes").filter(|max| !max.is_null());
                    let truncation = max.and_then(|max| item.cut(max));
                    collecting.item(item, &place, bytes_before, truncation);
                }
                Err(error) => collecting.refused(&place, &error.to_string()),
            }
        }
    }
}
