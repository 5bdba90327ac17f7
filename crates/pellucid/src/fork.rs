//! Where a copy of a session ends: behind messages of the person, or behind the turn of a request.

use std::ops::ControlFlow;
use std::path::Path;

use pellucid_agent::fork::MessageOffsets;
use pellucid_agent::fork::end_of_turn;
use pellucid_agent::replay;
use pellucid_store::find;
use pellucid_store::read;
use pellucid_store::read::SessionFile;

use crate::start::ProgramFailure;
use crate::style;

/// What a copy has of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyEnd {
    /// The copy has all of the session.
    Whole,
    /// The copy has so many messages of the person, with the answers to them.
    Messages(usize),
    /// The copy ends with the turn that sent the request of this number.
    Request(usize),
}

/// The file that is copied, and how many of its bytes.
pub fn place(home: &Path, file: SessionFile, end: CopyEnd) -> Result<(SessionFile, u64), ProgramFailure> {
    let n_messages = match end {
        CopyEnd::Request(number) => return behind_request(home, file, number),
        CopyEnd::Messages(n) => Some(n),
        CopyEnd::Whole => None,
    };
    let upto = behind_messages(&file, n_messages)?;
    Ok((file, upto))
}

/// How many bytes of a session a fork copies if it keeps `at` messages of the person.
fn behind_messages(file: &SessionFile, at: Option<usize>) -> Result<u64, ProgramFailure> {
    let places = MessageOffsets::read(file).map_err(|error| ProgramFailure::new(format!("{error}")))?;
    let n_messages = places.messages.len();
    places.keeping(at.unwrap_or(n_messages)).ok_or_else(|| {
        let (at, messages) = (at.unwrap_or_default(), style::counted(n_messages, "message"));
        ProgramFailure::usage(format!("--at {at}: the session has {messages} from the user"))
    })
}

/// The file and the number of its bytes for a copy of a session that ends with the turn of a request. A request that the
/// session has from the one that it was forked from is in the file of that session.
fn behind_request(home: &Path, file: SessionFile, wanted: usize) -> Result<(SessionFile, u64), ProgramFailure> {
    let mut found = None;
    let n = replay::walk(home, &file, &mut |walked| {
        if walked.number == wanted {
            found = walked.entry.map(|entry| (walked.session.to_owned(), entry.at));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })
    .map_err(|error| ProgramFailure::new(error.to_string()))?;
    let (session, at) =
        found.ok_or_else(|| ProgramFailure::new(format!("the record has no request {wanted}; the session has {n}")))?;
    let file = if session == file.meta.id {
        file
    } else {
        let path = find::by_id(home, &session)
            .ok_or_else(|| ProgramFailure::new(format!("session {session}, which sent request {wanted}, is gone")))?;
        read::open(&path).map_err(|error| ProgramFailure::new(error.to_string()))?
    };
    let upto = end_of_turn(&file, at).map_err(|error| ProgramFailure::new(error.to_string()))?;
    Ok((file, upto))
}
