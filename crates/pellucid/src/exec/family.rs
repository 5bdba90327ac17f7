//! The agents that a session starts, for a client that shows what they do among what the session does.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Context;
use std::task::Poll;

use pellucid_agent::crew::AgentOpened;
use pellucid_agent::crew::NewChild;
use pellucid_agent::crew::Nursery;
use pellucid_agent::door::Receiver;
use pellucid_protocol::event::Event;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::SessionId;
use tokio::sync::mpsc;

/// Receives the agents that a session starts.
#[derive(Debug)]
struct Intake {
    /// Whether it is shown what the requests of agents are made of.
    has_context: bool,
    sender: mpsc::UnboundedSender<NewChild>,
}

impl Nursery for Intake {
    fn adopt(&self, child: NewChild) {
        if self.has_context {
            child.context_events.join();
        }
        // A closed channel means that the run is over; the agent ends with it.
        let _run_is_over = self.sender.send(child);
    }
}

/// The agents of a session.
#[derive(Debug)]
pub struct Family {
    taken_in: mpsc::UnboundedReceiver<NewChild>,
    open: Vec<Child>,
}

#[derive(Debug)]
struct Child {
    id: SessionId,
    opened: AgentOpened,
    events: Receiver<Event>,
}

impl Family {
    /// A family without members, and what brings it some. It may show what the requests of its members are made of.
    pub fn new(has_context: bool) -> (Self, Arc<dyn Nursery>) {
        let (sender, taken_in) = mpsc::unbounded_channel();
        (Self { taken_in, open: Vec::new() }, Arc::new(Intake { has_context, sender }))
    }

    /// The next event of an agent that people should see; pends forever while there are no agents.
    pub async fn next(&mut self) -> EventMessage {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<EventMessage> {
        while let Poll::Ready(Some(NewChild { id, opened, events, .. })) = self.taken_in.poll_recv(context) {
            self.open.push(Child { id, opened, events });
        }
        let mut at = 0;
        while let Some(child) = self.open.get_mut(at) {
            match child.events.poll_recv(context) {
                Poll::Ready(Some(event)) => {
                    let event = event.msg.of_session(&child.id);
                    if is_shown(child.opened, &event) {
                        return Poll::Ready(event);
                    }
                }
                Poll::Ready(None) => {
                    self.open.remove(at);
                }
                Poll::Pending => at += 1,
            }
        }
        Poll::Pending
    }
}

/// Whether an agent's event is shown. Settings, token counts and completion of an agent are not shown. Of an agent
/// that was opened again only its requests to the model are shown, as the Codex CLI shows nothing of it.
fn is_shown(opened: AgentOpened, event: &EventMessage) -> bool {
    let is_private = matches!(
        event,
        EventMessage::SessionConfigured(_)
            | EventMessage::TokenCount { .. }
            | EventMessage::TaskComplete { .. }
            | EventMessage::ShutdownComplete
    );
    let is_request = matches!(event, EventMessage::ContextElsewhere { .. });
    is_request || (opened == AgentOpened::New && !is_private)
}
