//! A review: a separate session examines changes and reports to this one.

use pellucid_engine::facts::Provided;
use pellucid_engine::fragment::Origin;
use pellucid_engine::fragment::concat;
use pellucid_engine::review;
use pellucid_git::Git;
use pellucid_git::history;
use pellucid_protocol::event::AgentContent;
use pellucid_protocol::event::ErrorInfo;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::TurnItem;
use pellucid_protocol::failure::Failure;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::Submission;
use pellucid_protocol::review::ReviewOutput;
use pellucid_protocol::review::ReviewRequest;
use pellucid_protocol::review::ReviewTarget;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::WebSearchMode;
use pellucid_tasks::Task;

use crate::child;
use crate::child::StartedBy;
use crate::door;
use crate::door::ClientGone;
use crate::door::Door;
use crate::door::Inside;
use crate::identity;
use crate::session::Session;

/// The id of the message in which a review is shown.
const ASSISTANT: &str = "review_rollout_assistant";

/// Runs a review to its end.
pub(crate) async fn run(
    session: &mut Session,
    id: &TurnId,
    request: ReviewRequest,
    inside: &mut Inside,
) -> Result<(), ClientGone> {
    if let ReviewTarget::Custom { instructions } = &request.target
        && instructions.trim().is_empty()
    {
        let error = EventMessage::Error {
            message: "Review prompt cannot be empty".to_owned(),
            codex_error_info: Some(ErrorInfo::BadRequest),
            failure: Failure::default(),
        };
        return inside.events.send(&mut session.log, id.as_str(), error).await;
    }
    session.begin_turn();
    let ReviewRequest { target, user_facing_hint } = request;
    let base = match &target {
        ReviewTarget::BaseBranch { branch } => {
            let (git, cwd) = (session.setup.sources.git.clone(), session.facts().settings.cwd.clone());
            merge_base(git, cwd, branch.clone()).await
        }
        _ => None,
    };
    let prompt = concat(&review::prompt(session.pack(), &target, base.as_deref()));
    let hint = user_facing_hint.unwrap_or_else(|| review::hint(&target));
    if let Some(telemetry) = session.log.telemetry() {
        telemetry.review_begins();
    }
    let child = child::open(session, StartedBy::Review, |setup| {
        let rubric = concat(&review::rubric(&setup.pack));
        let facts = &mut setup.gathered.facts;
        facts.settings.base_instructions =
            Some(Provided { place: "the pack's review/rubric.md".to_owned(), text: rubric });
        facts.settings.approval_policy = ApprovalPolicy::Never;
        facts.settings.web_search = WebSearchMode::Disabled;
        facts.settings.collaboration_mode.settings.developer_instructions = None;
        if let Some(slug) = setup.sources.config.model.review_slug.clone() {
            (facts.settings.model, setup.gathered.model_match) = setup.sources.model(&slug);
            facts.settings.collaboration_mode.settings.model = slug;
        }
    });
    let child = match child {
        Ok(child) => child,
        Err(error) => {
            let (message, codex_error_info) = (error.to_string(), Some(ErrorInfo::Other));
            let error = EventMessage::Error { message, codex_error_info, failure: Failure::default() };
            return inside.events.send(&mut session.log, id.as_str(), error).await;
        }
    };
    let entered = EventMessage::EnteredReviewMode { target, user_facing_hint: Some(hint) };
    inside.events.send(&mut session.log, id.as_str(), entered).await?;

    let reviewer = child.id().clone();
    let (door, child_inside) = door::open(&child);
    let reviewing = Box::pin(door::run(child, child_inside));
    let (_, answer) = tokio::join!(reviewing, watch(session, id, &reviewer, door, prompt, inside));
    let output = match answer? {
        Ending::Answered(answer) => Some(review::parse(&answer.unwrap_or_default())),
        Ending::BrokenOff => None,
    };
    finish(session, id, &reviewer, output, inside).await
}

/// How a reviewer ended.
enum Ending {
    Answered(Option<String>),
    BrokenOff,
}

/// Asks the reviewer, and shows what it does, but for its words: they become the review.
async fn watch(
    session: &mut Session,
    id: &TurnId,
    reviewer: &SessionId,
    mut door: Door,
    prompt: String,
    inside: &mut Inside,
) -> Result<Ending, ClientGone> {
    let submit = |operation| Submission { id: identity::new_turn_id(), operation };
    let input = Operation::UserInput { items: vec![UserInput::text(prompt)], final_output_json_schema: None };
    // A send only fails when the reviewer has ended, and then its events say so.
    let _ = door.submissions.send(submit(input)).await;
    let mut ending = Ending::BrokenOff;
    // The last message is never shown, so each one waits for the next.
    let mut held: Option<EventMessage> = None;
    loop {
        tokio::select! {
            biased;
            submission = inside.submissions.recv() => match submission {
                Some(submission) => match submission.operation {
                    Operation::Interrupt => {
                        let _ = door.submissions.send(submit(Operation::Interrupt)).await;
                    }
                    Operation::Shutdown => {
                        inside.waiting.push_back(submission);
                        let _ = door.submissions.send(submit(Operation::Interrupt)).await;
                    }
                    answer @ (Operation::ExecApproval { .. }
                    | Operation::PatchApproval { .. }
                    | Operation::UserInputAnswer { .. }
                    | Operation::DynamicToolResponse { .. }) => {
                        let _ = door.submissions.send(submit(answer)).await;
                    }
                    _ => inside.waiting.push_back(submission),
                },
                None => {
                    let _ = door.submissions.send(submit(Operation::Interrupt)).await;
                    return Err(ClientGone);
                }
            },
            Some(question) = inside.looks.recv() => question.in_turn(session),
            // The reviewer uses the servers of this session, which ask here. No turn of this session could ask on.
            message = session.jobs.hear() => door::outside_of_turns(session, inside, message).await?,
            event = door.events.recv() => {
                let Some(event) = event else { return Ok(ending) };
                match event.msg {
                    EventMessage::TaskComplete { last_agent_message, .. } => {
                        ending = Ending::Answered(last_agent_message);
                        let _ = door.submissions.send(submit(Operation::Shutdown)).await;
                    }
                    EventMessage::TurnAborted { .. } => {
                        let _ = door.submissions.send(submit(Operation::Shutdown)).await;
                    }
                    EventMessage::AgentMessage { message } => {
                        if let Some(earlier) = held.replace(EventMessage::AgentMessage { message }) {
                            inside.events.send(&mut session.log, id.as_str(), earlier).await?;
                        }
                    }
                    other if is_private(&other) => {}
                    other => inside.events.send(&mut session.log, id.as_str(), other.of_session(reviewer)).await?,
                }
            }
        }
    }
}

/// Whether an event is the reviewer's own affair.
fn is_private(event: &EventMessage) -> bool {
    matches!(
        event,
        EventMessage::TokenCount { .. }
            | EventMessage::SessionConfigured(_)
            | EventMessage::AgentMessageDelta { .. }
            | EventMessage::AgentReasoningDelta { .. }
            | EventMessage::AgentReasoningRawContentDelta { .. }
            | EventMessage::AgentMessageContentDelta { .. }
            | EventMessage::ItemCompleted { item: TurnItem::AgentMessage { .. }, .. }
            | EventMessage::ShutdownComplete
    )
}

/// Records the review and shows it.
async fn finish(
    session: &mut Session,
    id: &TurnId,
    reviewer: &SessionId,
    output: Option<ReviewOutput>,
    inside: &Inside,
) -> Result<(), ClientGone> {
    let (draft, text) = (review::record(session.pack(), output.as_ref()), review::render(output.as_ref()));
    session.record_draft(&draft);
    let exited = EventMessage::ExitedReviewMode { review_output: output };
    inside.events.send(&mut session.log, id.as_str(), exited).await?;
    session.record(&Item::text("assistant", text.as_str()), &Origin::Model);
    let item =
        TurnItem::AgentMessage { id: ASSISTANT.to_owned(), content: vec![AgentContent::Text { text }], phase: None };
    let (thread_id, turn_id) = (session.id().clone(), id.clone());
    for event in [
        EventMessage::ItemStarted { thread_id: thread_id.clone(), turn_id: turn_id.clone(), item: item.clone() },
        EventMessage::ItemCompleted { thread_id, turn_id: turn_id.clone(), item },
    ] {
        inside.events.send(&mut session.log, id.as_str(), event).await?;
    }
    session.log.persist();
    session.log_child(reviewer, "review");
    session.end_task();
    let complete = EventMessage::TaskComplete { turn_id, last_agent_message: None };
    inside.events.send(&mut session.log, id.as_str(), complete).await
}

/// Where this branch parted from another, if git says so.
async fn merge_base(git: Git, cwd: String, branch: String) -> Option<String> {
    Task::blocking("asking git", move || history::merge_base(&git, cwd.as_ref(), &branch)).await.ok()?
}
