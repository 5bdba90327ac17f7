//! The agents that a session starts: their calls are shown among those of the session, and their questions are asked in its
//! name. What they say is for the session, which shows it as the outcome of its calls.

use std::sync::Arc;

use agent_client_protocol::v1::schema::SessionUpdate;
use pellucid_agent::crew::NewChild;
use pellucid_agent::crew::Nursery;
use pellucid_protocol::event::Event;
use tokio::sync::mpsc;

use crate::server::AcpServer;
use crate::session::OpenSession;
use crate::session::QuestionOwner;
use crate::session::ask;
use crate::session::read;
use crate::view::Outgoing;
use crate::view::View;

/// Receives the agents of one session.
#[derive(Debug)]
pub struct AgentIntake(mpsc::UnboundedSender<NewChild>);

/// The agents that were received.
pub type Adopted = mpsc::UnboundedReceiver<NewChild>;

impl AgentIntake {
    /// A nursery, and what it receives.
    pub fn open() -> (Arc<dyn Nursery>, Adopted) {
        let (sender, adopted) = mpsc::unbounded_channel();
        (Arc::new(Self(sender)), adopted)
    }
}

impl Nursery for AgentIntake {
    fn adopt(&self, child: NewChild) {
        // A closed channel means that the session is over; the agent ends with it.
        let _is_over = self.0.send(child);
    }
}

/// Follows all agents of a session until it ends.
pub fn follow_all(server: &Arc<AcpServer>, session: &Arc<OpenSession>, mut adopted: Adopted) {
    let (server, session) = (server.clone(), session.clone());
    server.clone().tasks.spawn("following agents", async move {
        while let Some(child) = adopted.recv().await {
            server.tasks.spawn("following an agent", follow(server.clone(), session.clone(), child));
        }
    });
}

async fn follow(server: Arc<AcpServer>, session: Arc<OpenSession>, child: NewChild) {
    let NewChild { id, mut events, submissions, .. } = child;
    let mut view = View::of_agent(id.as_str());
    while let Some(event) = events.recv().await {
        for outgoing in shown(&mut view, &event).await {
            match outgoing {
                Outgoing::Update(update @ (SessionUpdate::ToolCall(_) | SessionUpdate::ToolCallUpdate(_))) => {
                    session.update(update).await;
                }
                Outgoing::Question(question) => {
                    ask(&server, &session, QuestionOwner::Agent(submissions.clone()), question);
                }
                // The rest is the agent's own affair.
                Outgoing::Update(_) | Outgoing::Over(_) => {}
            }
        }
    }
}

async fn shown(view: &mut View, event: &Event) -> Vec<Outgoing> {
    let texts = read(view.wants(&event.msg)).await;
    view.event(event, &texts)
}
