//! The suites of the strategies: `supa_and_hypav1`, `hypav2`, `hypav3`, `hanurai`.

use pellucid_engine::memory::ask::{Answers, MemoryAnswer};
use pellucid_engine::memory::count::EntryCounter;
use pellucid_engine::memory::data::{CardData, DetailData};
use pellucid_engine::memory::ranking::KnownVectors;
use pellucid_engine::memory::summary_cards::{Chance, Input};
use pellucid_engine::memory::{Chat as Run, ChatLimits, MemoryFailure, Stop, StrategyOutcome};
use pellucid_engine::memory::{recall, running_summary, summaries_and_details, summary_cards};
use serde::Deserialize;
use serde_json::{Value, json};

use super::chats::{self, Chat};
use super::toy::{Cleans, PROMPT, Toy, Words, texts};
use crate::golden::ads_number as number;
use crate::golden::cases::{self, Verdict, same};

/// Runs a strategy with all answers so far until it ends.
pub fn finish<T>(toy: &mut Toy, mut run: impl FnMut(&mut Answers<'_>) -> Result<T, Stop>) -> Result<T, MemoryFailure> {
    let mut given: Vec<MemoryAnswer> = Vec::new();
    loop {
        match run(&mut Answers::new(&given)) {
            Ok(done) => return Ok(done),
            Err(Stop::Fails(failure)) => return Err(failure),
            Err(Stop::Asks(question)) => given.push(toy.answer(&question)),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case<I> {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "note")]
    _note: Option<String>,
    #[serde(rename = "impl")]
    implementation: Option<Implementation>,
    input: I,
    expect: Expect,
}

#[derive(Deserialize, PartialEq, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Implementation {
    Standard,
    Experimental,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    #[serde(alias = "tokens_out")]
    current_tokens_out: Option<Value>,
    chats: Option<Vec<Value>>,
    data: Option<Value>,
    memory: Option<Value>,
    last_id: Option<Value>,
    error: Option<ExpectError>,
    thrown: Option<ExpectError>,
    summarizer_inputs: Option<Value>,
    embedded_texts: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectError {
    pub code: String,
    pub numbers: Option<Vec<Value>>,
}

impl Expect {
    /// Compares the outcome: the result, or why there is none.
    fn compare<D>(&self, result: &Result<StrategyOutcome<D>, MemoryFailure>, input: &[Chat]) -> Result<(), String> {
        match result {
            Ok(outcome) => {
                if let Some(error) = self.error.as_ref().or(self.thrown.as_ref()) {
                    return Err(format!("no failure, expected {}", error.code));
                }
                let expected = self.chats.as_deref().ok_or("no chats are expected")?;
                chats::compare(&outcome.entries, expected, &chats::entries(input))?;
                self.compare_tokens(outcome.tokens)
            }
            Err(failure) => {
                let expected = if failure.is_raised { &self.thrown } else { &self.error };
                compare_failure(failure, expected.as_ref())?;
                if failure.is_raised { Ok(()) } else { self.compare_tokens(failure.tokens) }
            }
        }
    }

    fn compare_tokens(&self, tokens: f64) -> Result<(), String> {
        let expected = self.current_tokens_out.as_ref();
        expected.map_or(Ok(()), |expected| same("tokens", &number(tokens), expected))
    }
}

/// Compares why something failed.
pub fn compare_failure(failure: &MemoryFailure, expected: Option<&ExpectError>) -> Result<(), String> {
    let Some(expected) = expected else {
        return Err(format!("fails: {} {:?}", failure.code, failure.numbers));
    };
    let expected_code = match expected.code.as_str() {
        "hypa_data_in_supa_mode" => "stored_with_fragments",
        "hypa_data_not_array" => "stored_data_not_a_list",
        code => code,
    };
    same("code", &failure.code, &expected_code)?;
    let Some(numbers) = &expected.numbers else {
        return Ok(());
    };
    let found: Vec<Value> = failure.numbers.iter().map(|it| number(*it)).collect();
    same("numbers", &found, numbers)
}

fn count() -> EntryCounter<'static> {
    EntryCounter::new(&Words, "toy")
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SupaInput {
    #[serde(rename = "as_hyper")]
    as_hyper: bool,
    #[serde(rename = "max_context")]
    max_context: f64,
    max_supa_chunk_size: f64,
    remove_punctuation_hypa: bool,
    supa_memory_prompt: Option<String>,
    chats: Vec<Chat>,
    memory: Option<String>,
    #[serde(default)]
    summaries: Vec<String>,
    #[serde(default)]
    vocab: Vec<String>,
    #[serde(rename = "current_tokens_in")]
    tokens: f64,
    #[serde(default, rename = "embed_fails")]
    embed_fails: bool,
    #[serde(default, alias = "is_group", alias = "isGroup")]
    group: bool,
}

pub fn supa(file: &Value) -> Vec<Verdict> {
    cases::run(file, |case: Case<SupaInput>| {
        let input = case.input;
        let settings = running_summary::RunningSummarySettings {
            mode: if input.as_hyper {
                running_summary::SummaryMode::WithFragments
            } else {
                running_summary::SummaryMode::Alone
            },
            chunk_tokens_max: input.max_supa_chunk_size,
            removes_punctuation: input.remove_punctuation_hypa,
            prompt: input.supa_memory_prompt.filter(|it| !it.is_empty()).unwrap_or_else(|| PROMPT.into()),
            user: "User".into(),
            character: "Char".into(),
            cast: if input.group { running_summary::Cast::Group } else { running_summary::Cast::One },
        };
        let entries = chats::entries(&input.chats);
        let mut toy = Toy::new(input.vocab, input.summaries, input.embed_fails, Cleans::No);
        let known = KnownVectors::new();
        let limits = ChatLimits { max: input.max_context, response: 0.0 };
        let result = finish(&mut toy, |answers| {
            let chat =
                Run { entries: &entries, tokens: input.tokens, limits, count: &count(), known: &known, texts: texts() };
            running_summary::running_summary(&chat, input.memory.as_deref(), &settings, answers)
        });
        case.expect.compare(&result, &input.chats)?;
        chats::compare_asked(&toy.asked, case.expect.summarizer_inputs.as_ref())?;
        let stored = result.map(|it| it.data).unwrap_or_default();
        same("memory", &stored.memory.map_or(Value::Null, Value::from), &case.expect.memory.unwrap_or_default())?;
        same("last id", &stored.last_id.map_or(Value::Null, Value::from), &case.expect.last_id.unwrap_or_default())
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct V2Input {
    #[serde(rename = "max_context")]
    max_context: f64,
    #[serde(rename = "max_response")]
    max_response: f64,
    hypa_allocated_tokens: f64,
    hypa_chunk_size: f64,
    supa_memory_prompt: Option<String>,
    chats: Vec<Chat>,
    data: Option<Value>,
    #[serde(default)]
    summaries: Vec<String>,
    #[serde(default)]
    vocab: Vec<String>,
    #[serde(rename = "current_tokens_in")]
    tokens: f64,
    #[serde(default, rename = "embed_fails")]
    embed_fails: bool,
}

pub fn hypa_v2(file: &Value) -> Vec<Verdict> {
    cases::run(file, |case: Case<V2Input>| {
        let input = case.input;
        let settings = summaries_and_details::DetailSettings {
            allocated_tokens: input.hypa_allocated_tokens,
            chunk_size: input.hypa_chunk_size,
            prompt: input.supa_memory_prompt.filter(|it| !it.is_empty()).unwrap_or_else(|| PROMPT.into()),
        };
        let entries = chats::entries(&input.chats);
        let data = match &input.data {
            Some(data) => DetailData::read(data, &entries).ok_or("the data cannot be read")?,
            None => DetailData::default(),
        };
        let limits = ChatLimits { max: input.max_context, response: input.max_response };
        let mut toy = Toy::new(input.vocab, input.summaries, input.embed_fails, Cleans::No);
        let known = KnownVectors::new();
        let result = finish(&mut toy, |answers| {
            let chat =
                Run { entries: &entries, tokens: input.tokens, limits, count: &count(), known: &known, texts: texts() };
            summaries_and_details::summaries_and_details(&chat, data.clone(), &settings, answers)
        });
        case.expect.compare(&result, &input.chats)?;
        chats::compare_asked(&toy.asked, case.expect.summarizer_inputs.as_ref())?;
        let data = result.map_or(Value::Null, |it| json!(it.data));
        same("data", &data, &case.expect.data.unwrap_or_default())
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct V3Input {
    settings: Value,
    max_context: f64,
    max_response: f64,
    /// For the reader: `current_tokens_in` contains it already.
    #[serde(rename = "other_tokens")]
    _other_tokens: Option<f64>,
    chats: Vec<Chat>,
    data: Option<CardData>,
    #[serde(default)]
    summaries: Vec<String>,
    #[serde(default)]
    vocab: Vec<String>,
    current_tokens_in: f64,
    #[serde(default)]
    embed_fails: bool,
}

pub fn hypa_v3(file: &Value) -> Vec<Verdict> {
    cases::run(file, |case: Case<V3Input>| {
        let input = case.input;
        let mut settings = super::presets::settings(&input.settings);
        settings.experimental = case.implementation == Some(Implementation::Experimental);
        let entries = chats::entries(&input.chats);
        let mut toy = Toy::new(input.vocab, input.summaries, input.embed_fails, Cleans::Yes);
        let known = KnownVectors::new();
        let mut data = CardData::default();
        let limits = ChatLimits { max: input.max_context, response: input.max_response };
        let result = finish(&mut toy, |answers| {
            data = input.data.clone().unwrap_or_default();
            let tokens = input.current_tokens_in;
            let chat = Run { entries: &entries, tokens, limits, count: &count(), known: &known, texts: texts() };
            let run = Input { chat, settings: &settings, prompt: PROMPT, chance: Chance::Stored };
            summary_cards::summary_cards(&run, &mut data, answers)
        });
        case.expect.compare(&result, &input.chats)?;
        chats::compare_asked(&toy.asked, case.expect.summarizer_inputs.as_ref())?;
        same("embedded texts", &toy.embedded, &case.expect.embedded_texts.unwrap_or_default())?;
        let is_kept = match &result {
            Ok(_) => true,
            Err(failure) => !failure.is_raised && failure.code != "ratio_sum_gt_1",
        };
        let data = if is_kept { json!(data) } else { Value::Null };
        same("data", &data, &case.expect.data.unwrap_or_default())
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct HanuraiInput {
    #[serde(rename = "max_context")]
    max_context: f64,
    hanurai_tokens: f64,
    hanurai_split: bool,
    chats: Vec<Chat>,
    #[serde(default)]
    vocab: Vec<String>,
    #[serde(rename = "current_tokens_in")]
    tokens: f64,
    #[serde(default, rename = "embed_fails")]
    embed_fails: bool,
}

pub fn hanurai(file: &Value) -> Vec<Verdict> {
    cases::run(file, |case: Case<HanuraiInput>| {
        let input = case.input;
        let settings = recall::RecallSettings { tokens: input.hanurai_tokens, is_split: input.hanurai_split };
        let entries = chats::entries(&input.chats);
        let mut toy = Toy::new(input.vocab, Vec::new(), input.embed_fails, Cleans::No);
        let known = KnownVectors::new();
        let limits = ChatLimits { max: input.max_context, response: 0.0 };
        let result = finish(&mut toy, |answers| {
            let chat =
                Run { entries: &entries, tokens: input.tokens, limits, count: &count(), known: &known, texts: texts() };
            recall::recall(&chat, &settings, answers)
        });
        case.expect.compare(&result, &input.chats)?;
        same("embedded texts", &toy.embedded, &case.expect.embedded_texts.unwrap_or_default())
    })
}
