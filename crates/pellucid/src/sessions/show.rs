//! `sessions show`: what a session is and what was said in it.

use std::path::Path;
use std::process::ExitCode;

use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::Item;
use pellucid_store::record::Record;
use pellucid_store::sessions::LocalSessions;
use pellucid_store::sessions::Sessions;
use pellucid_store::sessions::Stored;
use serde_json::json;

use super::failed;
use super::print;
use super::resolve;
use super::time;
use crate::args::ShowArgs;
use crate::start::Failure;
use crate::style;

pub fn run(home: &Path, args: &ShowArgs) -> Result<ExitCode, Failure> {
    let sessions = LocalSessions::new(home);
    let id = resolve(&sessions, &args.session)?;
    let stored = sessions.read(&id).map_err(|error| failed(&error))?;
    if args.json {
        let items: Vec<&Item> = items(&stored).collect();
        let value = json!({ "summary": stored.summary, "items": items, "set_aside": stored.loaded.set_aside });
        return print(&format!("{value}\n"));
    }
    print(&text(&stored))
}

fn items(stored: &Stored) -> impl Iterator<Item = &Item> {
    stored.loaded.records.iter().filter_map(|record| match record {
        Record::ResponseItem(item) => Some(item),
        _ => None,
    })
}

fn text(stored: &Stored) -> String {
    let Stored { summary, loaded } = stored;
    let mut text = format!("session   {}\n", summary.id);
    let mut row = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            text += &format!("{name:10}{value}\n");
        }
    };
    row("name", summary.name.clone());
    row("forked", summary.forked_from.as_ref().map(|id| format!("from {id}")));
    row("began", Some(time(summary.created_at)));
    row("updated", Some(time(summary.updated_at)));
    row("folder", Some(summary.cwd.clone()));
    row("branch", summary.git.as_ref().and_then(|git| git.branch.clone()));
    row("model", summary.model.clone());
    row("provider", summary.model_provider.clone());
    row("face", Some(summary.source.clone()));
    row("tokens", Some(style::thousands(summary.usage.blended_total())));
    row("file", Some(summary.path.clone()));
    row("state", summary.is_archived.then(|| "put away".to_owned()));
    let n_set_aside = loaded.set_aside.len();
    row("damage", (n_set_aside > 0).then(|| format!("{n_set_aside} lines cannot be read")));
    for record in &loaded.records {
        match record {
            Record::EventMsg(EventMessage::UserMessage { message, .. }) => {
                text += &format!("\n── user ──\n{message}\n");
            }
            Record::EventMsg(EventMessage::AgentMessage { message }) => text += &format!("\n── agent ──\n{message}\n"),
            Record::ResponseItem(Item::FunctionCall { name, .. } | Item::CustomToolCall { name, .. }) => {
                text += &format!("\n── calls {name} ──\n");
            }
            Record::Compacted(_) => text += "\n── summarised ──\n",
            Record::EventMsg(EventMessage::ThreadRolledBack { num_turns }) => {
                text += &format!("\n── {num_turns} turns taken back ──\n");
            }
            _ => {}
        }
    }
    text
}
