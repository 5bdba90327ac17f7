//! How a reply is written in a script, and the errors about one that is not.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use pellucid_protocol::item::Item;
use pellucid_protocol::item::MessagePhase;
use serde::Deserialize;
use serde::Deserializer;
use serde::de;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::Ending;
use super::ScriptReply;
use super::error_form::ErrorForm;
use super::event_form::EventForm;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a reply")]
pub(super) struct ReplyForm {
    think: Option<OneOrMany<String>>,
    sealed: Option<String>,
    say: Option<String>,
    call: Option<OneOrMany<CallForm>>,
    items: Option<Vec<ItemForm>>,
    events: Option<Vec<EventForm>>,
    compact: Option<Vec<Item>>,
    usage: Option<UsageForm>,
    error: Option<ErrorForm>,
    contains: Option<OneOrMany<String>>,
    delay_ms: Option<u64>,
    deltas: Option<bool>,
}

impl TryFrom<ReplyForm> for ScriptReply {
    type Error = String;

    fn try_from(form: ReplyForm) -> Result<Self, String> {
        let mut items = Vec::new();
        if form.think.is_some() || form.sealed.is_some() {
            items.push(thought(form.think, form.sealed.as_deref()));
        }
        items.extend(form.say.map(|text| message(&text, None)));
        items.extend(form.call.into_iter().flat_map(|calls| calls.0).map(|call| call.0));
        if let Some(listed) = form.items {
            if !items.is_empty() {
                return Err("`items` cannot be combined with `think`, `say` and `call`: put those into it".to_owned());
            }
            items = listed.into_iter().map(|item| item.0).collect();
        }
        let is_recorded = form.events.is_some() || form.compact.is_some();
        if form.events.is_some() && form.compact.is_some() || is_recorded && (!items.is_empty() || form.usage.is_some())
        {
            return Err(
                "`events` and `compact` cannot be combined with other keys: they contain the whole reply".to_owned()
            );
        }
        let ending = form.error.map_or(Ending::Completed, |error| error.0);
        if matches!(ending, Ending::Status { .. }) && !items.is_empty() {
            return Err("a reply whose `error` has a `status` has no items".to_owned());
        }
        if ending != Ending::Completed && form.usage.is_some() {
            return Err("a reply with an `error` has no `usage`".to_owned());
        }
        Ok(Self {
            items,
            events: form.events.map(|events| events.into_iter().map(Into::into).collect()),
            compact: form.compact,
            usage: form.usage.map(UsageForm::wire),
            ending,
            deltas: form.deltas.unwrap_or(true),
            delay: Duration::from_millis(form.delay_ms.unwrap_or(0)),
            contains: form.contains.map(|texts| texts.0),
        })
    }
}

fn message(text: &str, phase: Option<MessagePhase>) -> Value {
    let mut item =
        json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] });
    if let Some(phase) = phase {
        item["phase"] = json!(phase);
    }
    item
}

fn thought(paragraphs: Option<OneOrMany<String>>, sealed: Option<&str>) -> Value {
    let paragraphs = paragraphs.into_iter().flat_map(|paragraphs| paragraphs.0);
    let summary: Vec<Value> = paragraphs.map(|text| json!({ "type": "summary_text", "text": text })).collect();
    json!({ "type": "reasoning", "summary": summary, "encrypted_content": sealed })
}

/// A call of a function (`args`) or of a freeform tool (`input`), as an item of the wire.
#[derive(Deserialize)]
#[serde(try_from = "CallFields")]
struct CallForm(Value);

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with `name` and either `args` or `input`")]
struct CallFields {
    name: String,
    args: Option<Value>,
    input: Option<String>,
    id: Option<String>,
}

impl TryFrom<CallFields> for CallForm {
    type Error = String;

    fn try_from(call: CallFields) -> Result<Self, String> {
        let CallFields { name, args, input, id } = call;
        let mut item = match (args, input) {
            (Some(_), Some(_)) => return Err(format!("the call of `{name}` has `args` or `input`, not both")),
            (None, Some(input)) => {
                json!({ "type": "custom_tool_call", "status": "completed", "name": name, "input": input })
            }
            (args, None) => {
                let arguments = match args {
                    None => "{}".to_owned(),
                    Some(Value::String(raw)) => raw,
                    Some(Value::Object(table)) => Value::Object(table).to_string(),
                    Some(_) => return Err(format!("the `args` of `{name}` must be a table or a string")),
                };
                json!({ "type": "function_call", "name": name, "arguments": arguments })
            }
        };
        if let Some(id) = id {
            item["call_id"] = json!(id);
        }
        Ok(Self(item))
    }
}

/// An item in short form, or in the format of the wire.
#[derive(Deserialize)]
#[serde(try_from = "Map<String, Value>")]
struct ItemForm(Value);

impl TryFrom<Map<String, Value>> for ItemForm {
    type Error = String;

    fn try_from(table: Map<String, Value>) -> Result<Self, String> {
        if table.contains_key("type") {
            return wire_item(table).map(Self);
        }
        let fields: ItemFields = serde_json::from_value(Value::Object(table)).map_err(|error| error.to_string())?;
        match fields {
            ItemFields { say: Some(text), phase, think: None, sealed: None, call: None } => {
                Ok(Self(message(&text, phase)))
            }
            ItemFields { say: None, phase: None, think, sealed, call: None } if think.is_some() || sealed.is_some() => {
                Ok(Self(thought(think, sealed.as_deref())))
            }
            ItemFields { say: None, phase: None, think: None, sealed: None, call: Some(call) } => Ok(Self(call.0)),
            _ => Err("an item has one of `say` (with `phase`), `think` (with `sealed`), `call`, `type`".to_owned()),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of an item")]
struct ItemFields {
    say: Option<String>,
    phase: Option<MessagePhase>,
    think: Option<OneOrMany<String>>,
    sealed: Option<String>,
    call: Option<CallForm>,
}

fn wire_item(mut table: Map<String, Value>) -> Result<Value, String> {
    // Calls get an id when they are played, so a missing id is not an error here.
    let is_call = matches!(table["type"].as_str(), Some("function_call" | "custom_tool_call"));
    let lacks_id = is_call && !table.contains_key("call_id");
    if lacks_id {
        table.insert("call_id".to_owned(), json!(""));
    }
    let mut item = Value::Object(table);
    match serde_json::from_value::<Item>(item.clone()) {
        Ok(Item::Other) => return Err(format!("an item of type {} is not known", item["type"])),
        Ok(_) => {}
        Err(error) => return Err(format!("an item of type {} is not valid: {error}", item["type"])),
    }
    if lacks_id {
        item["call_id"] = Value::Null;
    }
    Ok(item)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with numbers of tokens")]
struct UsageForm {
    #[serde(default)]
    input: i64,
    #[serde(default)]
    cached: i64,
    #[serde(default)]
    output: i64,
    #[serde(default)]
    reasoning: i64,
    total: Option<i64>,
}

impl UsageForm {
    fn wire(self) -> Value {
        json!({
            "input_tokens": self.input,
            "input_tokens_details": { "cached_tokens": self.cached },
            "output_tokens": self.output,
            "output_tokens_details": { "reasoning_tokens": self.reasoning },
            "total_tokens": self.total.unwrap_or(self.input.saturating_add(self.output)),
        })
    }
}

/// One value, or a list of them.
struct OneOrMany<T>(Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrManyVisitor(PhantomData))
    }
}

struct OneOrManyVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> de::Visitor<'de> for OneOrManyVisitor<T> {
    type Value = OneOrMany<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one value or a list of them")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        T::deserialize(de::value::StrDeserializer::new(text)).map(|one| OneOrMany(vec![one]))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(de::value::MapAccessDeserializer::new(map)).map(|one| OneOrMany(vec![one]))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut many = Vec::new();
        while let Some(one) = list.next_element()? {
            many.push(one);
        }
        Ok(OneOrMany(many))
    }
}
