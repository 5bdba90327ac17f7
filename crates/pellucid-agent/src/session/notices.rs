//! What people learn of a session: what the model does not see, and events that clients have not received yet.

use std::path::Path;

use pellucid_engine::facts::LoadedImage;
use pellucid_engine::fragment::Omission;
use pellucid_engine::fragment::Why;
use pellucid_engine::report::why_text;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::TurnId;

/// The end of the message that refuses input with `--strict-context`.
const STRICT: &str = "with --strict-context nothing is sent then";

/// What people learn of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct Notices {
    omissions: Vec<Omission>,
    /// Whether input is refused when the model would not see every text unchanged.
    is_strict: bool,
    /// Events that clients have not received yet.
    events: Vec<EventMessage>,
    /// The turn that events are about, once there was one.
    turn: Option<TurnId>,
    /// Whether a person asked for a summary in that turn.
    is_summary_asked: bool,
}

impl Notices {
    pub(super) fn new(omissions: Vec<Omission>) -> Self {
        Self { omissions, ..Self::default() }
    }

    pub(super) fn omissions(&self) -> &[Omission] {
        &self.omissions
    }

    /// Adds something that the model does not see, with a warning for clients.
    pub(super) fn warn_of(&mut self, omission: Omission) {
        self.events.push(EventMessage::Warning { message: text(&omission) });
        self.omissions.push(omission);
    }

    /// The same, unless it is known already.
    pub(super) fn warn_once_of(&mut self, omission: Omission) {
        if !self.omissions.contains(&omission) {
            self.warn_of(omission);
        }
    }

    /// Adds things that the model does not see. Only reports name them.
    pub(super) fn omit(&mut self, omissions: impl IntoIterator<Item = Omission>) {
        self.omissions.extend(omissions);
    }

    /// The same, for those that are not known already.
    pub(super) fn omit_once(&mut self, omissions: impl IntoIterator<Item = Omission>) {
        for omission in omissions {
            if !self.omissions.contains(&omission) {
                self.omissions.push(omission);
            }
        }
    }

    /// Refuses input from now on if the model would not see every text before it unchanged.
    pub(super) fn refuse_losses(&mut self) {
        self.is_strict = true;
    }

    /// Adds what the texts before the next input lack. Gives a warning for each loss that is new.
    ///
    /// # Errors
    /// A text would be lost, and losses are refused.
    pub(super) fn accept(&mut self, omissions: Vec<Omission>) -> Result<Vec<String>, String> {
        let is_new = |omission: &Omission| !self.omissions.contains(omission);
        let new: Vec<Omission> = omissions.into_iter().filter(is_new).collect();
        let lost: Vec<String> = new.iter().filter(|omission| omission.why.is_loss()).map(text).collect();
        if self.is_strict && !lost.is_empty() {
            return Err(format!("{}; {STRICT}", lost.join("; ")));
        }
        self.omissions.extend(new);
        Ok(lost)
    }

    /// Notes which turn the next events are about.
    pub(super) fn turn_is(&mut self, turn: &TurnId, is_summary_asked: bool) {
        self.turn = Some(turn.clone());
        self.is_summary_asked = is_summary_asked;
    }

    pub(super) fn turn(&self) -> Option<&TurnId> {
        self.turn.as_ref()
    }

    /// Why the history is made shorter: a person asked for it, or it would not fit.
    pub(super) fn cause_of_summary(&self) -> &'static str {
        if self.turn.is_none() || self.is_summary_asked { "asked" } else { "limit" }
    }

    /// Keeps an event until the driver sends it.
    pub(super) fn send(&mut self, event: EventMessage) {
        self.events.push(event);
    }

    pub(super) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    pub(super) fn take_events(&mut self) -> Vec<EventMessage> {
        std::mem::take(&mut self.events)
    }
}

/// An omission for an image that the model is not shown.
pub(super) fn image_omission(path: &Path, image: &LoadedImage) -> Option<Omission> {
    let error = image.problem()?.to_owned();
    Some(Omission { slot: "user".into(), what: path.to_string_lossy().into_owned(), why: Why::Unusable { error } })
}

/// An omission on one line.
fn text(omission: &Omission) -> String {
    format!("{}: {}", omission.what, why_text(&omission.why))
}

#[cfg(test)]
mod tests {
    use pellucid_engine::fragment::Omission;
    use pellucid_engine::fragment::Why;
    use pellucid_protocol::event::EventMessage;

    use super::Notices;

    fn unusable(what: &str) -> Omission {
        Omission { slot: "a".into(), what: what.to_owned(), why: Why::Unusable { error: "torn".to_owned() } }
    }

    #[test]
    fn a_loss_is_a_warning_once_and_refuses_strict_input() {
        let mut notices = Notices::new(vec![unusable("known")]);
        let texts = || vec![unusable("known"), unusable("new")];
        let mut strict = Notices::new(vec![unusable("known")]);
        strict.refuse_losses();
        let warnings = notices.accept(texts()).unwrap();
        assert_eq!(warnings.len(), 1);
        assert_eq!(notices.accept(texts()), Ok(Vec::new()));
        assert_eq!(notices.omissions(), texts());
        let refused = format!("{}; with --strict-context nothing is sent then", warnings[0]);
        assert_eq!(strict.accept(texts()), Err(refused));
        assert_eq!(strict.omissions(), [unusable("known")]);
    }

    #[test]
    fn a_known_omission_is_no_second_warning() {
        let mut notices = Notices::default();
        notices.warn_once_of(unusable("x"));
        notices.warn_once_of(unusable("x"));
        let events = notices.take_events();
        assert!(matches!(events.as_slice(), [EventMessage::Warning { .. }]), "{events:?}");
        assert!(notices.take_events().is_empty());
    }
}
