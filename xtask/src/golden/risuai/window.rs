//! The suite `window`: the whole list of messages of a request.

use pellucid_engine::memory::count::EntryCounter;
use pellucid_engine::memory::data::CardData;
use pellucid_engine::memory::entry::{ChatEntry, ChatRole};
use pellucid_engine::memory::ranking::KnownVectors;
use pellucid_engine::memory::summary_cards::{Chance, Input, summary_cards};
use pellucid_engine::memory::window::window;
use pellucid_engine::memory::{Chat, ChatLimits, MemoryFailure, SPARE};
use serde::Deserialize;
use serde_json::Value;

use super::chats::{self, Content, NEW_CHAT};
use super::memories::{ExpectError, compare_failure, finish};
use super::prompt::{
    Card, CardKind, ChatMessage, Deep, DepthFrom, DepthPrompt, MessageState, Prompt, RangeEnd, chat, example,
};
use super::toy::{Cleans, PROMPT, Toy, Words, texts};
use crate::golden::cases::{self, Verdict, same};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "note")]
    _note: Option<String>,
    input: WindowInput,
    expect: Expect,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WindowInput {
    ai_model: Option<String>,
    max_context: f64,
    #[serde(default)]
    max_response: f64,
    messages: Vec<Said>,
    first_message: Option<Content>,
    main_prompt: Option<Content>,
    description: Option<Content>,
    persona: Option<Content>,
    global_note: Option<Content>,
    author_note: Option<Content>,
    example: Option<Content>,
    template: Option<Vec<TemplateCard>>,
    #[serde(default)]
    prompt_settings: PromptSettings,
    #[serde(default)]
    lore: Vec<Lore>,
    depth_prompt: Option<Depth>,
    #[serde(default)]
    memory_on: bool,
    #[serde(default, rename = "hypaV3")]
    has_v3: bool,
    v3: Option<Value>,
    chat_data: Option<ChatData>,
    #[serde(default)]
    vocab: Vec<String>,
    #[serde(default)]
    summaries: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    role: Speaker,
    content: Content,
    #[serde(alias = "chatId", alias = "memo")]
    id: Option<String>,
    disabled: Option<Value>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Speaker {
    User,
    Char,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
struct PromptSettings {
    post_end_inner_format: String,
    send_chat_as_system: bool,
    send_name: bool,
    assistant_prefill: String,
    #[serde(rename = "maxThoughtTagDepth")]
    _thoughts: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct TemplateCard {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "type2")]
    _type2: Option<String>,
    #[serde(rename = "name")]
    _name: Option<String>,
    role: Option<String>,
    text: Option<Content>,
    inner_format: Option<String>,
    default_text: Option<String>,
    range_start: Option<i64>,
    range_end: Option<Value>,
    #[serde(default)]
    chat_as_original_on_system: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lore {
    pos: String,
    depth: Option<usize>,
    role: Option<ChatRole>,
    prompt: Content,
    inject: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Depth {
    depth: usize,
    prompt: Content,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ChatData {
    hypa_v3_data: Option<CardData>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    messages: Option<Vec<Value>>,
    error: Option<ExpectError>,
    last_memory: Option<String>,
}

pub fn run(file: &Value) -> Vec<Verdict> {
    cases::run(file, |case: Case| {
        let (result, last_memory) = request(&case.input)?;
        match &result {
            Ok(messages) => {
                let expected = case.expect.messages.ok_or("a failure is expected")?;
                chats::compare(messages, &expected, &[])?;
            }
            Err(failure) => compare_failure(failure, case.expect.error.as_ref())?,
        }
        same("last memory", &last_memory, &case.expect.last_memory)
    })
}

/// The messages of a request, and the first message that is still in the window.
type Requested = (Result<Vec<ChatEntry>, MemoryFailure>, Option<String>);

fn request(input: &WindowInput) -> Result<Requested, String> {
    let model = input.ai_model.as_deref().unwrap_or("toy");
    let count = EntryCounter::new(&Words, model);
    let prompt = prompt(input, model)?;
    let entries = chat_of(input, model)?;
    let parts = input.max_response + SPARE + prompt.tokens(&count);
    // The entry that opens the chat is not counted.
    let counted: f64 = entries.iter().filter(|it| it.memo.as_deref() != Some(NEW_CHAT)).map(|it| count.entry(it)).sum();
    let tokens = parts + counted;
    let mut last_memory = None;
    let fitted = if input.memory_on && input.has_v3 {
        remembered(input, &entries, tokens, &count)
    } else {
        window(entries, tokens, input.max_context, &count).map(|window| {
            last_memory = window.last_memory;
            window.entries
        })
    };
    let laid = fitted.and_then(|chat| prompt.lay_out(chat, input.max_context, &count));
    Ok((laid, last_memory))
}

fn remembered(
    input: &WindowInput,
    entries: &[ChatEntry],
    tokens: f64,
    count: &EntryCounter<'_>,
) -> Result<Vec<ChatEntry>, MemoryFailure> {
    let settings = super::presets::settings(input.v3.as_ref().unwrap_or(&Value::Null));
    let mut toy = Toy::new(input.vocab.clone(), input.summaries.clone(), false, Cleans::Yes);
    let known = KnownVectors::new();
    let outcome = finish(&mut toy, |answers| {
        let mut data = input.chat_data.as_ref().and_then(|it| it.hypa_v3_data.clone()).unwrap_or_default();
        let limits = ChatLimits { max: input.max_context, response: input.max_response };
        let chat = Chat { entries, tokens, limits, count, known: &known, texts: texts() };
        let run = Input { chat, settings: &settings, prompt: PROMPT, chance: Chance::Stored };
        summary_cards(&run, &mut data, answers)
    })?;
    Ok(outcome.entries)
}

fn chat_of(input: &WindowInput, model: &str) -> Result<Vec<ChatEntry>, String> {
    let mut messages = Vec::new();
    for (n, said) in input.messages.iter().enumerate() {
        let state = match &said.disabled {
            None | Some(Value::Bool(false)) => MessageState::Used,
            Some(Value::Bool(true)) => MessageState::Disabled,
            Some(Value::String(word)) if word == "allBefore" || word == "all-before" => MessageState::AllBefore,
            Some(other) => return Err(format!("unknown state {other}")),
        };
        let role = match said.role {
            Speaker::User => ChatRole::User,
            Speaker::Char => ChatRole::Assistant,
        };
        let id = said.id.clone().unwrap_or_else(|| format!("id-{}", n + 1));
        messages.push(ChatMessage { role, content: said.content.text(), id, state });
    }
    let first = input.first_message.as_ref().map_or_else(|| "fm1 fm2 fm3 fm4 fm5".into(), Content::text);
    let example = example(&text(input.example.as_ref()), "User", "Char");
    let mut entries = chat(example, Some(&first), &messages);
    if model.starts_with("novelai") {
        entries.retain(|it| it.memo.as_deref() != Some(NEW_CHAT));
    }
    Ok(entries)
}

fn text(content: Option<&Content>) -> String {
    content.map(Content::text).unwrap_or_default()
}

fn prompt(input: &WindowInput, model: &str) -> Result<Prompt, String> {
    let settings = &input.prompt_settings;
    if settings.send_name || !settings.assistant_prefill.is_empty() {
        return Err("names and prefills are not known here".into());
    }
    let mut prompt = Prompt {
        model: model.into(),
        main: input.main_prompt.as_ref().map_or_else(|| "main prompt".into(), Content::text),
        description: text(input.description.as_ref()),
        persona: input.persona.as_ref().map(Content::text).filter(|it| !it.is_empty()),
        global_note: text(input.global_note.as_ref()),
        author_note: input.author_note.as_ref().map(Content::text).filter(|it| !it.is_empty()),
        post_end: settings.post_end_inner_format.clone(),
        depth_prompt: input.depth_prompt.as_ref().map(|it| DepthPrompt { depth: it.depth, text: it.prompt.text() }),
        chat_as_system: settings.send_chat_as_system,
        ..Prompt::default()
    };
    for lore in &input.lore {
        if lore.inject.is_some() {
            return Err("injected lore is not known here".into());
        }
        let entry = ChatEntry::new(lore.role.unwrap_or(ChatRole::System), lore.prompt.text());
        let depth = lore.depth.unwrap_or(0);
        match lore.pos.as_str() {
            "" => prompt.lore.push(entry),
            "depth" => prompt.deep_lore.push(Deep { entry, depth, from: DepthFrom::Start }),
            "reverse_depth" => prompt.deep_lore.push(Deep { entry, depth, from: DepthFrom::End }),
            other => return Err(format!("unknown place {other}")),
        }
    }
    let cards = input.template.as_ref().map(|cards| cards.iter().map(card).collect::<Result<Vec<_>, _>>());
    prompt.template = cards.transpose()?.map(|cards| cards.into_iter().flatten().collect());
    Ok(prompt)
}

/// A card, unless it is switched off.
fn card(card: &TemplateCard) -> Result<Option<Card>, String> {
    let role = match card.role.as_deref() {
        None | Some("system") => ChatRole::System,
        Some("user") => ChatRole::User,
        Some("bot" | "assistant" | "char") => ChatRole::Assistant,
        Some(other) => return Err(format!("unknown role {other}")),
    };
    let kind = match card.kind.as_str() {
        "plain" => CardKind::Plain { role, text: text(card.text.as_ref()) },
        "chatML" => CardKind::ChatMarkup { text: text(card.text.as_ref()) },
        "persona" => CardKind::Persona,
        "description" => CardKind::Description,
        "authornote" => CardKind::AuthorNote { default: card.default_text.clone().unwrap_or_default() },
        "lorebook" => CardKind::Lorebook,
        "postEverything" => CardKind::PostEverything,
        "memory" => CardKind::Memory,
        "chat" => {
            let end = match &card.range_end {
                None => RangeEnd::End,
                Some(Value::String(word)) if word == "end" => RangeEnd::End,
                Some(Value::Number(at)) => RangeEnd::At(at.as_i64().ok_or("no place")?),
                Some(other) => return Err(format!("unknown end {other}")),
            };
            let is_original = card.chat_as_original_on_system;
            CardKind::Chat { start: card.range_start.unwrap_or(0), end, is_original }
        }
        // Both are off unless the settings switch them on.
        "jailbreak" | "cot" => return Ok(None),
        other => return Err(format!("unknown card {other}")),
    };
    Ok(Some(Card { kind, inner: card.inner_format.clone() }))
}
