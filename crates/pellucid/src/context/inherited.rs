//! What the request of an agent has from the session that started it.

use std::path::Path;

use pellucid_answers::inherited::Inheritance;
use pellucid_answers::inherited::InheritedPart;
use pellucid_answers::inspected::Inspected;
use pellucid_store::lines::Forwards;
use pellucid_store::name;
use pellucid_store::parent::ParentSession;
use pellucid_store::read::RecordKind;
use pellucid_store::read::split;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::entry::LogEntry;

use crate::args::request::McpLists;
use crate::args::shared::Shared;
use crate::args::turn::TurnArgs;
use crate::inspected;
use crate::start;
use crate::stored;
use crate::style::counted;

/// What a request of a session has from the session that started it; absent for a session that no other one started, or
/// whose parent has no record.
pub fn of(shared: &Shared, session: &str, child: impl FnOnce() -> Inspected) -> Option<Inheritance> {
    let home = start::find_home().ok()?;
    let (_, path) = stored::session(&home, session).ok()?;
    let parent = ParentSession::of_file(&path).ok().flatten().filter(|parent| parent.how == "started")?;
    let number = number_before(&home, &parent.id, session)?;
    let name = format!("{}#{number}", parent.id);
    let parent = inspected::inspected(shared, &TurnArgs::default(), McpLists::Off, &name).ok()?;
    Some(Inheritance::of(&parent, &child()))
}

/// The number of the request by whose answer a session started another one: the last one before the output that names the
/// new session.
fn number_before(home: &Path, parent: &str, child: &str) -> Option<usize> {
    let (_, path) = stored::session(home, parent).ok()?;
    let chain = Chain::read(&name::requests_path(home, path.file_name()?.to_str()?)?).ok()?;
    let place = place_of_output(&path, child)?;
    let is_before = |entry: &LogEntry| matches!(entry, LogEntry::Request(request) if request.at <= place);
    let n = chain.links.iter().filter(|link| is_before(&link.entry)).count();
    (n > 0).then_some(n)
}

/// Where a session file has the first output of a call with this id.
fn place_of_output(path: &Path, id: &str) -> Option<u64> {
    let file = pellucid_files::open(path).ok()?;
    let mut lines = Forwards::new(file, 0, u64::MAX).ok()?;
    while let Some(line) = lines.next_line().ok()? {
        let output = split(line.bytes).filter(|(kind, payload)| {
            *kind == RecordKind::ResponseItem && payload.starts_with(b"{\"type\":\"function_call_output")
        });
        let is_meant = |(_, payload): (_, &[u8])| payload.windows(id.len()).any(|window| window == id.as_bytes());
        if output.is_some_and(is_meant) {
            return Some(line.start);
        }
    }
    None
}

/// The same on one line.
pub fn line(inheritance: &Inheritance) -> String {
    let shown = |it: &InheritedPart| match it.bytes == it.of {
        true => it.part.clone(),
        false => format!("{} ({} of {} bytes)", it.part, it.bytes, it.of),
    };
    let parts = inheritance.parts.iter().map(shown).collect::<Vec<_>>().join(", ");
    let model = if inheritance.same_model { "with the same model" } else { "with another model" };
    let from = &inheritance.from;
    match inheritance.parts.len() {
        0 => format!("an agent, {model}: it inherits no text of {from}"),
        n => format!("an agent, {model}: it inherits {} of {from}: {parts}", counted(n, "part")),
    }
}
