//! What a session file says about the session that goes on.

use pellucid_engine::assemble::Context;
use pellucid_engine::boundary;
use pellucid_engine::compaction;
use pellucid_engine::output_cut::cut_output;
use pellucid_engine::pack::Pack;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::Item;
use pellucid_protocol::settings::TruncationPolicy;
use pellucid_protocol::usage::TokenUsageInfo;
use pellucid_store::read::Loaded;
use pellucid_store::record::Compacted;
use pellucid_store::record::Record;

/// What is restored of a session.
#[derive(Debug)]
pub struct Restored {
    /// Its history.
    pub items: Vec<Item>,
    /// The model of its last request.
    pub model: Option<String>,
    /// Its token figures.
    pub usage: Option<TokenUsageInfo>,
    /// Its base instructions.
    pub instructions: Option<String>,
}

/// Folds the lines of a file into what they mean.
///
/// Summaries without a history of their own are put together with the context as it is now.
pub fn restore(loaded: &Loaded, pack: &Pack, context: &Context, policy: TruncationPolicy) -> Restored {
    let mut restored = Restored { items: Vec::new(), model: None, usage: None, instructions: None };
    for record in &loaded.records {
        match record {
            Record::SessionMeta(meta) => {
                let text = meta.base_instructions.as_ref().map(|instructions| instructions.text.clone());
                restored.instructions = restored.instructions.or(text);
            }
            Record::ResponseItem(item) => restored.items.push(cut_output(item, policy).into_owned()),
            Record::Compacted(Compacted { replacement_history: Some(items), .. }) => {
                restored.items.clone_from(items);
            }
            Record::Compacted(Compacted { message, replacement_history: None }) => {
                restored.items = compaction::restored(&restored.items, pack, context, message);
            }
            Record::TurnContext(turn) => restored.model = Some(turn.model.clone()),
            Record::EventMsg(EventMessage::ThreadRolledBack { num_turns }) => {
                roll_back(&mut restored.items, *num_turns);
            }
            Record::EventMsg(EventMessage::TokenCount { info: Some(info), .. }) => {
                restored.usage = Some(info.clone());
            }
            Record::EventMsg(_) => {}
        }
    }
    restored
}

fn roll_back(items: &mut Vec<Item>, n_turns: usize) {
    let boundaries: Vec<usize> =
        items.iter().enumerate().filter(|(_, item)| boundary::begins_user_turn(item)).map(|(n, _)| n).collect();
    if let Some(cut) = boundary::cut_position(&boundaries, n_turns) {
        items.truncate(cut);
    }
}
