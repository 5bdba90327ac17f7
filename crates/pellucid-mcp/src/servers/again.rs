//! A server that has ended is started again at the next call, a few times.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use pellucid_protocol::event::EventMessage;
use tokio::time::Instant;

use super::Server;
use super::State;
use crate::client::Client;
use crate::spec::Reach;

/// How often a server is started again within [`WITHIN`].
const RESTARTS_MAX: usize = 3;

/// The time in which restarts count.
const WITHIN: Duration = Duration::from_secs(600);

/// When a server was started again, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Restarts(VecDeque<Instant>);

impl Restarts {
    /// Counts a restart. Gives how many there were within the time, this one included; none if there were too many.
    fn count(&mut self, now: Instant) -> Option<usize> {
        while self.0.front().is_some_and(|at| now.duration_since(*at) >= WITHIN) {
            self.0.pop_front();
        }
        if self.0.len() >= RESTARTS_MAX {
            return None;
        }
        self.0.push_back(now);
        Some(self.0.len())
    }
}

impl Server {
    /// Starts the server again, whose connection has ended, with a warning for people.
    ///
    /// # Errors
    /// If the server ended too often, does not start, or has other tools than before: why, as text for people.
    pub(super) async fn again(&self, ended: &Arc<Client>) -> Result<Arc<Client>, String> {
        let mut restarts = self.restarts.lock().await;
        match &*self.state.borrow() {
            // Another call has done it.
            State::Ready(client) if !Arc::ptr_eq(client, ended) => return Ok(client.clone()),
            State::Failed(error) => return Err(error.clone()),
            _ => {}
        }
        let name = &self.spec.name;
        let lost = match &self.spec.reach {
            Ok(Reach::Http(_)) => format!("the connection to the MCP server `{name}` has ended"),
            _ => format!("the MCP server `{name}` has ended"),
        };
        let minutes = WITHIN.as_secs() / 60;
        let Some(n) = restarts.count(Instant::now()) else {
            return Err(format!(
                "{lost}, and was started again {RESTARTS_MAX} times in {minutes} minutes already; that is the limit"
            ));
        };
        self.warn(format!("{lost}; it is started again ({n} of {RESTARTS_MAX} times in {minutes} minutes)"));
        ended.end().await;
        let client = match self.connected().await {
            Ok(client) => client,
            Err(error) => {
                self.warn(error.clone());
                return Err(error);
            }
        };
        if let Some(difference) = ended.listing().difference(&client.listing()) {
            client.end().await;
            let error = format!(
                "{lost}, and has other tools since it was started again ({difference}), so it stays out of this session"
            );
            self.warn(error.clone());
            self.state.send_replace(State::Failed(error.clone()));
            return Err(error);
        }
        let client = Arc::new(client);
        self.state.send_replace(State::Ready(client.clone()));
        Ok(client)
    }

    fn warn(&self, message: String) {
        tracing::warn!(server = self.spec.name, "{message}");
        self.tell(EventMessage::Warning { message });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_restarts_in_ten_minutes_are_counted() {
        let (mut restarts, began) = (Restarts::default(), Instant::now());
        let at = |minutes: u64| began + Duration::from_secs(60 * minutes);
        let counted = [0, 1, 2, 3, 9, 10, 10, 11].map(|minutes| restarts.count(at(minutes)));
        assert_eq!(counted, [Some(1), Some(2), Some(3), None, None, Some(3), None, Some(3)]);
    }
}
