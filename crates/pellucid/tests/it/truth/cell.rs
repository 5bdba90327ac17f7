//! A cell of the table: a pack, a wire and a situation.

use std::fmt;

use pellucid_testkit::MockReply;
use pellucid_testkit::RecordedRequest;
use serde_json::Value;
use serde_json::json;

use super::situations::SITUATIONS;
use super::situations::Situation;

/// The packs that come with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pack {
    Codex,
    Openclaw,
    Ads,
    Agentcore,
    Risuai,
}

impl Pack {
    pub const ALL: [Self; 5] = [Self::Codex, Self::Openclaw, Self::Ads, Self::Agentcore, Self::Risuai];

    pub fn name(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Openclaw => "openclaw",
            Self::Ads => "ads",
            Self::Agentcore => "agentcore",
            Self::Risuai => "risuai",
        }
    }
}

/// The notations in which servers are spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Responses,
    Chat,
    Messages,
}

impl Wire {
    pub const ALL: [Self; 3] = [Self::Responses, Self::Chat, Self::Messages];

    pub fn name(self) -> &'static str {
        match self {
            Self::Responses => "responses",
            Self::Chat => "chat",
            Self::Messages => "messages",
        }
    }

    /// The wire of a request that arrived.
    pub fn of(request: &RecordedRequest) -> Self {
        match request.path.rsplit('/').next() {
            Some("completions") => Self::Chat,
            Some("messages") => Self::Messages,
            _ => Self::Responses,
        }
    }

    /// A reply with these items.
    pub fn reply(self, items: impl IntoIterator<Item = Value>) -> MockReply {
        match self {
            Self::Responses => MockReply::items(items),
            Self::Chat => MockReply::chat(items),
            Self::Messages => MockReply::messages(items),
        }
    }

    /// A reply that is one message.
    pub fn say(self, text: &str) -> MockReply {
        self.reply([message(text)])
    }

    /// A reply that calls one tool.
    pub fn call(self, id: &str, name: &str, arguments: &Value) -> MockReply {
        self.reply([call(id, name, arguments)])
    }
}

/// A message of the model.
pub fn message(text: &str) -> Value {
    let content = json!([{ "type": "output_text", "text": text }]);
    json!({ "type": "message", "id": "msg", "role": "assistant", "content": content })
}

/// A call of a tool.
pub fn call(id: &str, name: &str, arguments: &Value) -> Value {
    json!({ "type": "function_call", "call_id": id, "name": name, "arguments": arguments.to_string() })
}

/// A plan, which every pack's tools can take down.
pub fn plan(id: &str) -> Value {
    call(id, "update_plan", &json!({ "plan": [{ "step": "look", "status": "completed" }] }))
}

/// One cell of the table: a pack and a wire in one situation.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    pub pack: Pack,
    pub wire: Wire,
    pub situation: &'static Situation,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} / {} / {}", self.situation.name, self.pack.name(), self.wire.name())
    }
}

impl Cell {
    /// Why there is nothing to play, if the pack lacks the feature.
    pub fn impossible(&self) -> Option<&'static str> {
        (self.situation.impossible)(self.pack)
    }
}

/// Every cell, situation by situation.
pub fn all() -> Vec<Cell> {
    let mut cells = Vec::new();
    for situation in &SITUATIONS {
        for pack in Pack::ALL {
            cells.extend(Wire::ALL.map(|wire| Cell { pack, wire, situation }));
        }
    }
    cells
}

/// A fixed sample: every situation once, with every pack and every wire among them.
pub fn sample() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (n, situation) in SITUATIONS.iter().enumerate() {
        let wire = Wire::ALL[n % Wire::ALL.len()];
        let packs = (0..Pack::ALL.len()).map(|m| Pack::ALL[(n + m) % Pack::ALL.len()]);
        let mut possible = packs.map(|pack| Cell { pack, wire, situation }).filter(|cell| cell.impossible().is_none());
        cells.extend(possible.next());
    }
    cells
}
