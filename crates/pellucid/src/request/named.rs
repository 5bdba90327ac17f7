//! From words of the command line to the request that is meant.

use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::request_name::NameForm;
use pellucid_engine::request_name::RequestName;

use super::RequestRefusal;
use crate::args::request::RequestArgs;
use crate::capsule;
use crate::stored;
use crate::stored::Called;
use crate::stored::NoSession;

/// A parsed request for a request: the REF and the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRequest {
    /// The request; absent if the options say which.
    pub name: Option<RequestName>,
    /// The user's message, if there is one.
    pub message: Option<String>,
}

/// Decides whether a word is the name of a request or a message.
pub fn asked(args: &RequestArgs, home: &Path) -> Result<NamedRequest, RequestRefusal> {
    let message = args.said.clone().or_else(|| args.message.clone());
    let Some(word) = &args.word else {
        return with(args, NamedRequest { name: None, message });
    };
    if args.stored.which().is_some() {
        return match message {
            None => with(args, NamedRequest { name: None, message: Some(word.clone()) }),
            Some(_) => {
                Err(RequestRefusal::usage(format!("--session and --last say which request it is, so `{word}` cannot")))
            }
        };
    }
    let is_name = match RequestName::form(word) {
        NameForm::Name => true,
        NameForm::Message => false,
        NameForm::MaybeSession => match RequestName::parse(word) {
            Ok(RequestName::File { .. }) => true,
            Ok(name) => name
                .session()
                .is_some_and(|session| capsule::is_named(session) || stored::called(home, session) != Called::Nothing),
            Err(_) => false,
        },
    };
    if !is_name && message.is_some() {
        return Err(RequestRefusal::usage(format!(
            "{}; a message of several words is quoted",
            NoSession::called(home, word).text()
        )));
    }
    if !is_name {
        return with(args, NamedRequest { name: None, message: Some(word.clone()) });
    }
    let name = RequestName::parse(word).map_err(|error| RequestRefusal::usage(error.to_string()))?;
    with(args, NamedRequest { name: Some(name), message })
}

/// `--with` belongs to a new session.
fn with(args: &RequestArgs, asked: NamedRequest) -> Result<NamedRequest, RequestRefusal> {
    match &asked.name {
        Some(RequestName::Now { .. }) => Ok(asked),
        _ if args.with => Err(RequestRefusal::usage("--with follows `now` or `now@REV`".to_owned())),
        _ => Ok(asked),
    }
}

/// The file of the session that a text means.
pub fn session(home: &Path, text: &str) -> Result<(String, PathBuf), RequestRefusal> {
    Ok(stored::session(home, text)?)
}
