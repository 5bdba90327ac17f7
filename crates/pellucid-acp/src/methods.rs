//! What clients can ask for.
//!
//! - `about`: `initialize`, logins
//! - `life`: sessions begin, are loaded, copied, closed and archived
//! - `list`: stored sessions and their names
//! - `turn`: prompts, and what a user chooses for them

mod about;
mod life;
mod list;
mod turn;

use std::pin::Pin;
use std::sync::Arc;

use agent_client_protocol::v1::schema::Error;
use agent_client_protocol::v1::schema::ErrorCode;
use agent_client_protocol::v1::schema::RequestId;
use serde::Serialize;
use serde_json::Value;

use crate::server::AcpServer;
use crate::wire::failed;
use crate::wire::params as read;
use crate::wire::refusal;

/// Work on a request that takes long.
pub type LongWork = Pin<Box<dyn Future<Output = Result<Done, Error>> + Send>>;

/// What is done for a request.
pub enum Answer {
    /// The answer is known.
    Now(Result<Value, Error>),
    /// The answer follows when the turn is over.
    Given,
    /// The answer follows when the work is done.
    Later(LongWork),
}

/// Work that is done.
pub struct Done {
    /// The result of the request.
    pub result: Value,
    /// What comes behind the answer.
    pub after: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Done {
    /// Work of which nothing follows but the answer.
    pub fn new(result: &impl Serialize) -> Result<Self, Error> {
        Ok(Self { result: value(result)?, after: None })
    }

    /// The same, with something behind the answer.
    pub fn and(self, after: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { after: Some(Box::pin(after)), ..self }
    }
}

fn value(result: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(result).map_err(|error| failed(format!("the answer cannot be written: {error}")))
}

fn later(work: impl Future<Output = Result<Done, Error>> + Send + 'static) -> Answer {
    Answer::Later(Box::pin(work))
}

/// Begins to work on a request.
pub async fn dispatch(server: &Arc<AcpServer>, id: &RequestId, method: &str, params: Value) -> Answer {
    let (own, server) = (server, server.clone());
    /// Reads the parameters, or answers that they are wrong.
    macro_rules! read {
        () => {
            match read(method, params) {
                Ok(params) => params,
                Err(error) => return Answer::Now(Err(error)),
            }
        };
    }
    match method {
        "initialize" => Answer::Now(about::initialize(own, &read!())),
        "authenticate" => Answer::Now(about::authenticate(own, &read!())),
        "logout" => Answer::Now(about::log_out(own)),
        "session/new" => later(life::new(server, read!())),
        "session/load" => later(life::load(server, read!())),
        "session/resume" => later(life::resume(server, read!())),
        "session/fork" => later(life::fork(server, read!())),
        "session/close" => later(life::close(server, read!())),
        "session/delete" => later(life::delete(server, read!())),
        "session/archive" => later(life::archive(server, read!())),
        "session/unarchive" => later(life::unarchive(server, read!())),
        "session/list" => later(list::list(server, read!())),
        "session/set_title" => later(list::set_title(server, read!())),
        "session/prompt" => turn::prompt(own, id, read!()).await,
        "session/set_mode" => turn::set_mode(own, read!()).await,
        "session/set_config_option" => turn::set_option(own, read!()).await,
        other => Answer::Now(Err(refusal(ErrorCode::MethodNotFound, format!("there is no method {other}")))),
    }
}
