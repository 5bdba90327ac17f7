//! The parts of a request that an outcome needs: the request is sent again with fewer and fewer of them.

use std::path::Path;

use pellucid_agent::open;
use pellucid_agent::open::SessionModel;
use pellucid_answers::bisect::BisectJudgement;
use pellucid_answers::bisect::MinimisedSet;
use pellucid_answers::bisect::RemovablePart;
use pellucid_answers::bisect::minimise;
use pellucid_answers::bisect::removable_parts;
use pellucid_answers::bisect::without;
use pellucid_answers::inspected::Inspected;
use pellucid_model::Ask;
use pellucid_model::Model;
use pellucid_model::Script;
use pellucid_model::Transport;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_protocol::reply::ReplyEvent;
use serde_json::Value;
use serde_json::json;

use super::BisectAnswer;
use super::BisectStatus;
use super::command::JudgingCommand;
use crate::args::bisect::ContextBisectArgs;
use crate::args::shared::Shared;
use crate::exec;
use crate::inspected;
use crate::request::RequestRefusal;
use crate::screen::name;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::style::counted;

/// Searches the parts of a request.
pub fn answer(shared: &Shared, args: &ContextBisectArgs, text: &str) -> Result<BisectAnswer, RequestRefusal> {
    let Some(command) = &args.run else {
        return Err(RequestRefusal::usage("--parts needs --run".to_owned()));
    };
    let request = inspected::inspected(shared, &args.turn, args.mcp, text)?;
    let parts = removable_parts(&request);
    if parts.is_empty() {
        return Err(RequestRefusal::unknown(format!("{text} has no parts that can be taken out")));
    }
    let model = answering(shared, args, &request)?;
    let mut search = PartSearch {
        command: JudgingCommand::new(shared, &args.turn.start, command)?,
        runtime: exec::runtime()?,
        model,
        parts: &parts,
        request: &request,
        n_requests: 0,
    };
    let everything: Vec<usize> = (0..parts.len()).collect();
    let whole = search.judge(&everything).map_err(SearchStop::refusal)?;
    if whole == BisectJudgement::Skip {
        let why = "the command skips the answer to the whole request".to_owned();
        return Ok(search.without_outcome(BisectStatus::Unknown, whole, &why));
    }
    let nothing = search.judge(&[]).map_err(SearchStop::refusal)?;
    if nothing == whole {
        let why = format!("the outcome is {} with and without the parts, so it depends on none", whole.as_str());
        return Ok(search.without_outcome(BisectStatus::EndsAgree, whole, &why));
    }
    let minimised = minimise(parts.len(), &mut |set| match set.is_empty() {
        true => Ok(false),
        false => search.judge(set).map(|judgement| judgement == whole),
    });
    Ok(search.found(whole, &minimised))
}

/// The model that answers.
enum AnsweringModel {
    /// Every request begins the script, so the same request has the same answer.
    Scripted(Script),
    Asked(Model),
}

fn answering(shared: &Shared, args: &ContextBisectArgs, request: &Inspected) -> Result<AnsweringModel, RequestRefusal> {
    if let Some(path) = &args.turn.start.script {
        return Ok(AnsweringModel::Scripted(load(path)?));
    }
    if args.max_requests.is_none() && args.max_cost.is_none() {
        return Err(RequestRefusal::usage(
            "--parts asks a model, so it needs a limit: add --max-requests N or --max-cost AMOUNT\nhint: with --script FILE no model is asked"
                .to_owned(),
        ));
    }
    let mut start = Start::new(shared, &args.turn.start)?;
    let wire = start.config.model.provider.wire_api;
    if request.wire.is_some_and(|of_request| of_request != wire) {
        let id = &start.config.model.provider_id;
        return Err(RequestRefusal::usage(format!(
            "the provider `{id}` has another API format than {}\nhint: --provider names another provider",
            request.name
        )));
    }
    let limits = &mut start.config.limits;
    limits.max_requests = args.max_requests.or(limits.max_requests);
    limits.max_cost = args.max_cost.or(limits.max_cost);
    let budget = open::budget(&start.config).map_err(|error| ProgramFailure::new(format!("{error}")))?;
    let asked = SessionModel::over_http(&start.config, &start.env, Transport::default());
    Ok(AnsweringModel::Asked(asked.model.within(budget)))
}

fn load(path: &Path) -> Result<Script, RequestRefusal> {
    Script::load(path).map_err(|error| RequestRefusal::usage(format!("the script cannot be loaded: {error}")))
}

/// Why no further request is sent.
enum SearchStop {
    Failed(ProgramFailure),
    Reply(ReplyError),
}

impl SearchStop {
    fn text(&self) -> String {
        match self {
            Self::Failed(failure) => failure.text().to_owned(),
            Self::Reply(error) => error.to_string(),
        }
    }

    fn refusal(self) -> RequestRefusal {
        match self {
            Self::Failed(failure) => failure.into(),
            Self::Reply(error) => RequestRefusal::unknown(error.to_string()),
        }
    }
}

struct PartSearch<'a> {
    command: JudgingCommand,
    runtime: tokio::runtime::Runtime,
    model: AnsweringModel,
    parts: &'a [RemovablePart],
    request: &'a Inspected,
    n_requests: usize,
}

impl PartSearch<'_> {
    /// What the command says of the answer to the request with only these parts.
    fn judge(&mut self, kept: &[usize]) -> Result<BisectJudgement, SearchStop> {
        let body = without(self.request, self.parts, kept).unwrap_or_default();
        let model = match &self.model {
            AnsweringModel::Scripted(script) => Model::scripted(script.clone()),
            AnsweringModel::Asked(model) => model.clone(),
        };
        self.n_requests += 1;
        match self.runtime.block_on(answer_text(&model, body)) {
            Ok(answer) => self.command.judge(answer.as_bytes()).map_err(SearchStop::Failed),
            // A provider may refuse what is left of a request; others may still be answered.
            Err(error) if is_about_request(&error) => Ok(BisectJudgement::Skip),
            Err(error) => {
                if error.kind == ReplyErrorKind::Budget {
                    self.n_requests -= 1;
                }
                Err(SearchStop::Reply(error))
            }
        }
    }

    fn json(&self, whole: BisectJudgement) -> Value {
        json!({
            "search": "parts",
            "request": self.request.name,
            "of_parts": self.parts.len(),
            "requests": self.n_requests,
            "outcome": whole.as_str(),
        })
    }

    fn without_outcome(&self, status: BisectStatus, whole: BisectJudgement, why: &str) -> BisectAnswer {
        let text = format!("{why} ({} sent)\n", counted(self.n_requests, "request"));
        BisectAnswer { status, text, json: self.json(whole) }
    }

    fn found(&self, whole: BisectJudgement, minimised: &MinimisedSet<SearchStop>) -> BisectAnswer {
        let kept: Vec<&RemovablePart> = minimised.kept.iter().map(|number| &self.parts[*number]).collect();
        let mut json = self.json(whole);
        json["parts"] = kept.iter().map(|part| json!({ "kind": part.kind, "name": part.name })).collect();
        json["minimal"] = minimised.stopped.is_none().into();
        let of = counted(self.parts.len(), "part");
        let mut text =
            format!("the outcome ({}) needs {} of {of}:\n", whole.as_str(), counted(minimised.kept.len(), "part"));
        for part in kept {
            text += &format!("  {:<7}  {}\n", part.kind, name(&part.name));
        }
        let sent = counted(self.n_requests, "request");
        text += &match &minimised.stopped {
            None => format!("without any one of them the outcome goes away; {sent} sent\n"),
            Some(stop) => format!("a smaller set may exist, as the search ended early: {}; {sent} sent\n", stop.text()),
        };
        if let Some(stop) = &minimised.stopped {
            json["stopped"] = stop.text().into();
        }
        let status = if minimised.stopped.is_none() { BisectStatus::Found } else { BisectStatus::Unknown };
        BisectAnswer { status, text, json }
    }
}

/// Whether the provider refused this request, and may answer another.
fn is_about_request(error: &ReplyError) -> bool {
    matches!(
        error.kind,
        ReplyErrorKind::InvalidRequest | ReplyErrorKind::InvalidImage | ReplyErrorKind::ContextWindowExceeded
    )
}

/// The answer as the command gets it: every text of the model with a line break, then a line of JSON for every call.
async fn answer_text(model: &Model, body: Vec<u8>) -> Result<String, ReplyError> {
    let mut reply = model.ask(Ask { body: vec![body.into()], ..Ask::default() }).await?;
    let (mut text, mut calls) = (String::new(), String::new());
    while let Some(event) = reply.next().await {
        if let ReplyEvent::ItemDone(item) = event? {
            match &item {
                Item::Message { content, .. } => {
                    for part in content {
                        if let ContentPart::OutputText { text: said } = part {
                            text += &format!("{said}\n");
                        }
                    }
                }
                Item::FunctionCall { name, arguments, .. } => {
                    calls += &format!("{}\n", json!({ "call": name, "arguments": arguments }));
                }
                Item::CustomToolCall { name, input, .. } => {
                    calls += &format!("{}\n", json!({ "call": name, "input": input }));
                }
                Item::LocalShellCall { action, .. } => {
                    calls += &format!("{}\n", json!({ "call": "local_shell", "action": action }));
                }
                _ => {}
            }
        }
    }
    Ok(text + &calls)
}
