//! Sessions that come from others: copies, reviewers, agents.

use pellucid_testkit::MockReply;
use pellucid_testkit::RecordedRequest;
use serde_json::json;

use super::Config;
use super::Situation;
use super::ensure;
use super::plain;
use super::possible;
use crate::truth::cell::Wire;
use crate::truth::cell::plan;
use crate::truth::stage::Step;
use crate::truth::stage::Turn;

pub const FORK: Situation = Situation {
    name: "fork",
    about: "a copy that is continued, and a copy of a part of it that answers at once",
    impossible: possible,
    config: plain,
    steps: |cell| {
        vec![
            Turn::new("One.", [cell.wire.reply([plan("c1")]), cell.wire.say("First.")]).step(),
            Turn::new("Two.", [cell.wire.say("Second.")]).step(),
            Step::Fork,
            Turn::new("Three.", [cell.wire.say("Third.")]).step(),
            Step::ForkAt(1, Turn::new("Otherwise.", [cell.wire.say("Fourth.")])),
        ]
    },
    n_requests: |_| 5,
    happened: |stage| {
        let bodies = stage.bodies();
        ensure(bodies[3].contains("Second.") && bodies[3].contains("Three."), "the copy did not go on")?;
        ensure(!bodies[4].contains("Two.") && bodies[4].contains("Otherwise."), "the part of the copy is not a part")?;
        let sessions: std::collections::BTreeSet<&str> = stage.told.iter().map(|told| told.session.as_str()).collect();
        ensure(sessions.len() == 3, "the copies are not sessions apart")
    },
};

pub const REVIEW: Situation = Situation {
    name: "review",
    about: "a reviewer with a call, then the session continues with its findings",
    impossible: possible,
    config: plain,
    steps: |cell| {
        let findings = json!({
            "findings": [], "overall_correctness": "patch is correct",
            "overall_explanation": "All is well.", "overall_confidence_score": 0.9,
        });
        vec![
            Step::Review(vec![cell.wire.reply([plan("c1")]), cell.wire.say(&findings.to_string())]),
            Turn::new("Go on.", [cell.wire.say("Done.")]).step(),
        ]
    },
    n_requests: |_| 3,
    happened: |stage| {
        let bodies = stage.bodies();
        ensure(bodies[0].contains("Look at notes.txt."), "the reviewer was not asked")?;
        ensure(bodies[1].contains("Plan updated"), "the reviewer's call was not answered")?;
        ensure(bodies[2].contains("All is well."), "the session does not know of the review")
    },
};

pub const CHILD: Situation = Situation {
    name: "child agent",
    about: "an agent with a call, whose session waits for it; then both sessions continue",
    impossible: possible,
    config: |_| Config { tables: "[features]\nmulti_agent = true\n".to_owned(), ..Config::default() },
    steps: |cell| {
        // Only a session that a person began has tools for agents.
        let to_parent = |reply: MockReply| reply.to_body_with("spawn_agent");
        let to_child = |reply: MockReply| reply.to_body_without("spawn_agent");
        let spawn = cell.wire.call("c1", "spawn_agent", &json!({ "message": "Count the lines." }));
        let replies = [
            to_parent(spawn),
            to_child(cell.wire.reply([plan("c2")])),
            to_child(cell.wire.say("Two lines.")),
            to_parent(MockReply::made_from(wait_for_the_agent)),
            to_parent(cell.wire.say("Done.")),
        ];
        vec![
            Turn::new("Have them counted.", replies).step(),
            Turn::new("Go on.", [cell.wire.say("On it.")]).step(),
            Step::ToChild,
            Turn::new("And the words?", [cell.wire.say("Two words.")]).step(),
        ]
    },
    n_requests: |_| 7,
    happened: |stage| {
        let bodies = stage.bodies();
        let of_child = |body: &&String| !body.contains("spawn_agent") && body.contains("Count the lines.");
        ensure(bodies.iter().filter(of_child).count() == 2, "the agent did not ask twice")?;
        let told = bodies.iter().filter(|body| body.contains("spawn_agent") && body.contains("Two lines."));
        ensure(told.count() == 3, "the agent's answer did not come back")?;
        ensure(bodies[6].contains("And the words?") && bodies[6].contains("Two lines."), "the agent did not go on")
    },
};

/// Waits for the agent whose id is in the request.
fn wait_for_the_agent(request: &RecordedRequest) -> MockReply {
    let body = String::from_utf8_lossy(&request.body);
    let id = body.split("agent_id").nth(1).unwrap_or_default();
    let is_id = |c: char| c.is_ascii_hexdigit() || c == '-';
    let id: String = id.chars().skip_while(|c| !is_id(*c)).take_while(|c| is_id(*c)).collect();
    Wire::of(request).call("c3", "wait", &json!({ "ids": [id], "timeout_ms": 300_000 }))
}
