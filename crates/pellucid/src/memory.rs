//! `memory`: the cards of a session's memory, to look at and to change.
//!
//! - `past`: memories of past sessions
//! - `forgetting`: removes what was derived from one of them

mod forgetting;
mod past;

use std::io::Read;
use std::process::ExitCode;

use pellucid_agent::memory::CardOrigin;
use pellucid_agent::memory::CardView;
use pellucid_agent::memory::History;
use pellucid_agent::memory::MemoryFile;
use pellucid_agent::memory::SIDE;
use pellucid_agent::memory::cards;
use pellucid_engine::memory::cards as card_rules;
use pellucid_engine::memory::cards::CategoryFilter;
use pellucid_store::read;
use pellucid_store::read::RecordedSession;
use pellucid_store::record::Record;
use pellucid_store::side::SideFile;
use serde_json::json;

use crate::args::memory::ListArgs;
use crate::args::memory::MemoryArgs;
use crate::args::memory::MemoryCommand;
use crate::args::memory::OfSession;
use crate::args::shared::Shared;
use crate::args::turn::StartArgs;
use crate::print;
use crate::screen::OutputFormat;
use crate::start::ProgramFailure;
use crate::start::Start;

/// How much of a card's text is in the list.
const SHOWN_CHARS: usize = 60;

pub fn run(shared: &Shared, args: &MemoryArgs) -> Result<ExitCode, ProgramFailure> {
    let mut is_json = false;
    let text = match &args.command {
        MemoryCommand::Run(args) => return past::run(shared, args),
        MemoryCommand::Status(args) => return past::status(shared, args),
        MemoryCommand::ForgetSession(args) => return forgetting::run(args),
        MemoryCommand::List(args) => {
            is_json = args.of.json;
            let opened = Opened::new(shared, &args.of)?;
            let cards = opened.chosen(args);
            if is_json { format!("{}\n", json!(cards)) } else { opened.table(&cards) }
        }
        MemoryCommand::Show(args) => {
            is_json = args.of.json;
            let opened = Opened::new(shared, &args.of)?;
            let card = opened.card(args.card)?;
            if args.of.json { format!("{}\n", json!(card)) } else { whole(&card) }
        }
        MemoryCommand::Edit(args) => {
            let mut opened = Opened::new(shared, &args.of)?;
            opened.card(args.card)?;
            opened.file.v3.summaries[args.card - 1].text = text_of_card(&args.text)?;
            opened.keep(&format!("card {} changed", args.card), &args.of)?
        }
        MemoryCommand::Pin(args) => {
            let mut opened = Opened::new(shared, &args.of)?;
            opened.card(args.card)?;
            opened.file.v3.summaries[args.card - 1].is_important = !args.off;
            let what = if args.off { "no longer pinned" } else { "pinned" };
            opened.keep(&format!("card {} {what}", args.card), &args.of)?
        }
        MemoryCommand::Merge(args) => {
            let mut opened = Opened::new(shared, &args.of)?;
            let numbers = opened.numbers(&args.cards)?;
            let (Some(first), true) = (numbers.first(), numbers.len() > 1) else {
                return Err(ProgramFailure::new(format!(
                    "{} is one card; `memory merge` takes two at least",
                    args.cards
                )));
            };
            card_rules::merge(&mut opened.file.v3, &numbers, text_of_card(&args.text)?);
            opened.keep(&format!("{} cards merged into card {}", numbers.len(), first + 1), &args.of)?
        }
        MemoryCommand::Forget(args) => {
            let mut opened = Opened::new(shared, &args.of)?;
            let numbers = opened.numbers(&args.cards)?;
            for card in numbers.iter().rev() {
                card_rules::forget(&mut opened.file.v3, *card);
            }
            let n = numbers.len();
            opened.keep(&format!("{n} {} forgotten", if n == 1 { "card" } else { "cards" }), &args.of)?
        }
    };
    print::report(&text, OutputFormat::of(is_json))?;
    Ok(ExitCode::SUCCESS)
}

/// A session's memory, opened from disk.
struct Opened {
    id: String,
    model: String,
    side: SideFile,
    file: MemoryFile,
    history: History,
}

impl Opened {
    fn new(shared: &Shared, of: &OfSession) -> Result<Self, ProgramFailure> {
        let turn = StartArgs { cd: of.cd.clone(), ..StartArgs::default() };
        let start = Start::new(shared, &turn)?;
        let which = of.which();
        let found = start.existing_of_any(&which)?;
        let loaded = read::read(&found.path).map_err(|error| ProgramFailure::new(format!("{error}")))?;
        let side = SideFile::open(&start.config.folders.home, &loaded.meta.id);
        let file = MemoryFile::read(side.get(SIDE));
        Ok(Self { id: loaded.meta.id.clone(), model: model(&loaded), side, file, history: history(&loaded) })
    }

    fn cards(&self) -> Vec<CardView> {
        cards(&self.file, &self.history, &self.model)
    }

    /// The cards that are asked for, each with its number among all.
    fn chosen(&self, args: &ListArgs) -> Vec<CardView> {
        let found = args.search.as_ref().map(|query| card_rules::search(&self.file.v3, query));
        let category = args.category.as_deref().map_or(CategoryFilter::All, CategoryFilter::parse);
        let is_chosen = |card: &CardView| {
            let at = card.number - 1;
            let is_shown = |summary| card_rules::is_shown(summary, args.pinned, &category);
            self.file.v3.summaries.get(at).is_some_and(is_shown)
                && found.as_ref().is_none_or(|found| found.contains(&at))
        };
        self.cards().into_iter().filter(is_chosen).collect()
    }

    /// The places of the cards that an input such as `1,3-4` means, in order.
    fn numbers(&self, input: &str) -> Result<Vec<usize>, ProgramFailure> {
        let mut numbers = card_rules::selection(input, self.file.v3.summaries.len());
        if numbers.is_empty() {
            return Err(self.no_card(input));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn card(&self, number: usize) -> Result<CardView, ProgramFailure> {
        let card = number.checked_sub(1).and_then(|at| self.cards().into_iter().nth(at));
        card.ok_or_else(|| self.no_card(&number.to_string()))
    }

    fn no_card(&self, number: &str) -> ProgramFailure {
        let n = self.file.v3.summaries.len();
        ProgramFailure::new(format!("no card {number}: the session {} has {n}; see `pellucid memory list`", self.id))
    }

    /// Writes the memory back, and says what was done.
    fn keep(&mut self, what: &str, of: &OfSession) -> Result<String, ProgramFailure> {
        let value = serde_json::to_value(&self.file).map_err(|error| ProgramFailure::new(format!("{error}")))?;
        self.side.put(SIDE, value);
        if let Some(failure) = self.side.take_failure() {
            return Err(ProgramFailure::new(format!("the memory cannot be written: {failure}")));
        }
        Ok(if of.json { format!("{}\n", json!(self.cards())) } else { format!("{what}\n") })
    }

    fn table(&self, cards: &[CardView]) -> String {
        let mut text = format!("session {}: {} cards\n", self.id, cards.len());
        if cards.is_empty() {
            return text;
        }
        text += &format!(
            "\n{:>3} {:>3} {:>7} {:>7} {:>8}  {:<16} {}\n",
            "no", "pin", "tokens", "for", "messages", "used", "text"
        );
        for card in cards {
            let pin = if card.pinned { "*" } else { "" };
            let (used, n_origins) = (card.used.join(","), card.origins.len());
            let line = format!(
                "{:>3} {pin:>3} {:>7} {:>7} {n_origins:>8}  {used:<16} {}",
                card.number,
                card.tokens,
                card.tokens_replaced,
                beginning(&card.text)
            );
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

/// The text that a person gives a card.
fn text_of_card(given: &str) -> Result<String, ProgramFailure> {
    let text = if given == "-" { from_stdin()? } else { given.to_owned() };
    let text = text.trim().to_owned();
    if text.is_empty() {
        return Err(ProgramFailure::new("a card needs a text; to take it away use `memory forget`"));
    }
    Ok(text)
}

/// One card with all its fields.
fn whole(card: &CardView) -> String {
    let pinned = if card.pinned { ", pinned" } else { "" };
    let used = if card.used.is_empty() { String::new() } else { format!(", used last as {}", card.used.join(", ")) };
    let (tokens, replaced) = (card.tokens, card.tokens_replaced);
    let mut text = format!("card {}: {tokens} tokens for {replaced}{pinned}{used}\n\n{}\n", card.number, card.text);
    text += "\nmade from\n";
    for CardOrigin { id, role, begins } in &card.origins {
        text += &format!("  {id} {}: {begins}\n", role.unwrap_or("gone"));
    }
    text
}

fn beginning(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut shown: String = line.chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// The conversation of a session file.
fn history(loaded: &RecordedSession) -> History {
    let items = loaded.records.iter().filter_map(|record| match record {
        Record::ResponseItem(item) => Some(item.clone()),
        _ => None,
    });
    History::restored(&items.collect::<Vec<_>>())
}

/// The model that a session was last used with.
fn model(loaded: &RecordedSession) -> String {
    let last = loaded.records.iter().rev().find_map(|record| match record {
        Record::TurnContext(turn) => Some(turn.model.clone()),
        _ => None,
    });
    last.unwrap_or_default()
}

fn from_stdin() -> Result<String, ProgramFailure> {
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|error| ProgramFailure::new(format!("standard input cannot be read: {error}")))?;
    Ok(text)
}
