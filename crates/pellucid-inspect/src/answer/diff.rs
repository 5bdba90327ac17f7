//! Two requests of one session, compared as `context diff --json` compares them.
//!
//! The page has just shown one of the two, so both are taken from the requests that are kept, and the session is not read again.

use jiff::Timestamp;
use pellucid_answers::diff::RequestDiff;
use pellucid_answers::inspected::Inspected;
use pellucid_answers::inspected::SharedTexts;
use pellucid_engine::request_name::RequestName;

use super::Answers;
use crate::error::ApiError;

impl Answers {
    /// The comparison of two requests of one session; absent if they are others, or not as plain as that.
    pub(super) fn sent_diff(&self, a: &str, b: &str) -> Result<Option<Vec<u8>>, ApiError> {
        let Some((session, of_a)) = sent_name(a) else { return Ok(None) };
        // The prices of a capsule are those of the folder that commands are run with.
        let same = sent_name(b).filter(|(other, _)| *other == session && self.started_for.capsule.is_none());
        let Some((_, of_b)) = same else { return Ok(None) };
        let Ok(files) = self.session(&session) else { return Ok(None) };
        // Requests before a request are rebuilt with it.
        let (Ok(last), Ok(first)) = (self.sent(&files, of_a.max(of_b)), self.sent(&files, of_a.min(of_b))) else {
            return Ok(None);
        };
        let (sent_a, sent_b) = if of_a > of_b { (last, first) } else { (first, last) };
        let (Some((model_a, wire_a)), Some((model_b, wire_b))) = (&sent_a.asked, &sent_b.asked) else {
            return Ok(None);
        };
        let mut texts = SharedTexts::default();
        let a = Inspected::of_request(a, model_a, *wire_a, &sent_a.request, &sent_a.report, &mut texts);
        let b = Inspected::of_request(b, model_b, *wire_b, &sent_b.request, &sent_b.report, &mut texts);
        let diff = RequestDiff::of(&a, &b);
        let cost = diff.cost_again(&self.prices()?, &Timestamp::now().to_string());
        Ok(Some(format!("{}\n", diff.to_json_with(cost.as_ref())).into_bytes()))
    }
}

/// The session and the number that a name has.
fn sent_name(name: &str) -> Option<(String, usize)> {
    match RequestName::parse(name).ok()? {
        RequestName::Sent { session, number: Some(number) } => Some((session, usize::try_from(number).ok()?)),
        _ => None,
    }
}
