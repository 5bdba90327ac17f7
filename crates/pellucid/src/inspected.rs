//! From the name of a request to the request, for commands that ask about requests.

use std::path::Path;

use pellucid_answers::inspected::Inspected;
use pellucid_engine::request_name::RequestName;

use crate::args::request::McpLists;
use crate::args::request::RequestArgs;
use crate::args::shared::Shared;
use crate::args::turn::TurnArgs;
use crate::request;
use crate::request::Coming;
use crate::request::RequestRefusal;
use crate::request::ShownRequest;
use crate::request::certain;
use crate::stored::NoSession;

/// The name of a request; a text that is none is refused, never taken as a message.
///
/// # Errors
/// When the text has no form of a name.
pub fn name(home: &Path, text: &str) -> Result<RequestName, RequestRefusal> {
    match request::asked_name(home, text)? {
        Some(name) => Ok(name),
        None => {
            let NoSession { why, hint } = NoSession::called(home, text);
            Err(RequestRefusal::usage(format!(
                "`{text}` is not the name of a request: {why}\nhint: {hint}; `pellucid context --help` lists the forms of names"
            )))
        }
    }
}

/// A request that would be sent, under a name.
pub fn of_coming(name: &str, coming: &Coming) -> Inspected {
    let model = coming.session.facts().settings.model.slug.clone();
    let wire = coming.session.frame(None).view().wire;
    let pack = Some(coming.session.pack().name.clone());
    let next = &coming.next;
    Inspected { pack, ..Inspected::of_body(name, &model, wire, &next.body(), &next.report) }
}

/// The request that a name means, with its bytes.
///
/// # Errors
/// When the name means nothing, or the request cannot be made or rebuilt.
pub fn inspected(shared: &Shared, turn: &TurnArgs, mcp: McpLists, text: &str) -> Result<Inspected, RequestRefusal> {
    let args = RequestArgs { word: Some(text.to_owned()), mcp, ..RequestArgs::default() };
    let shown = request::shown(shared, turn, &args)?;
    if let ShownRequest::Coming(coming) = &shown {
        let reasons: Vec<_> = coming.reasons.iter().filter(|reason| reason.is_about_content()).cloned().collect();
        certain::tell(&reasons);
    }
    of_shown(text, &shown)
}

/// A request that was found or made, with its bytes.
///
/// # Errors
/// When a saved report is none, or a body is not JSON.
pub fn of_shown(text: &str, shown: &ShownRequest) -> Result<Inspected, RequestRefusal> {
    match shown {
        ShownRequest::Coming(coming) => Ok(of_coming(text, coming)),
        ShownRequest::Sent(sent) => {
            let rebuilt = &sent.rebuilt;
            Ok(Inspected::of_body(text, &rebuilt.model(), rebuilt.wire, &rebuilt.body, &rebuilt.report))
        }
        ShownRequest::Saved(report) => Inspected::of_saved(text, report)
            .map_err(|error| RequestRefusal::usage(format!("{text} is not a report of `context --json`: {error}"))),
    }
}
