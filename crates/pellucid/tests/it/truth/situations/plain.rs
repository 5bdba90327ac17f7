//! A first turn, calls of tools, a session that another process continues.

use serde_json::json;

use super::Config;
use super::Situation;
use super::ensure;
use super::plain;
use super::possible;
use crate::truth::cell::Pack;
use crate::truth::cell::call;
use crate::truth::cell::message;
use crate::truth::cell::plan;
use crate::truth::stage::Step;
use crate::truth::stage::Turn;

pub const FIRST_TURN: Situation = Situation {
    name: "first turn",
    about: "one message, one answer",
    impossible: possible,
    config: plain,
    steps: |cell| vec![Turn::new("Say \"hé\".", [cell.wire.say("Hé.")]).step()],
    n_requests: |_| 1,
    happened: |stage| ensure(stage.bodies()[0].contains("Say \\\"hé\\\"."), "the message was not sent"),
};

pub const TOOL_CALLS: Situation = Situation {
    name: "tool calls",
    about: "two calls in one reply, one of a tool that does not exist, then a command; a thought before them",
    impossible: possible,
    config: plain,
    steps: |cell| {
        let thought = json!({
            "type": "reasoning", "summary": [{ "type": "summary_text", "text": "Hm." }],
            "content": [{ "type": "reasoning_text", "text": "Hm." }], "encrypted_content": "SEALED",
        });
        let unknown = call("c2", "no_such_tool", &json!({ "a": "\"é\"" }));
        let command = call("c3", "exec_command", &json!({ "cmd": "cat notes.txt" }));
        let replies = [
            cell.wire.reply([thought, message("I plan."), plan("c1"), unknown]),
            cell.wire.reply([command]),
            cell.wire.say("Done."),
        ];
        vec![Turn::new("Look at it.", replies).step()]
    },
    n_requests: |_| 3,
    happened: |stage| {
        let bodies = stage.bodies();
        ensure(bodies[1].contains("Plan updated"), "the plan's output was not sent")?;
        ensure(bodies[1].contains("no_such_tool"), "the call of an unknown tool was not sent")?;
        ensure(bodies[2].contains("one\\ntwo"), "the command's output was not sent")
    },
};

pub const RESUME: Situation = Situation {
    name: "resume",
    about: "three processes, a call in the second; an instruction file changes before the third",
    impossible: possible,
    config: plain,
    steps: |cell| {
        vec![
            Turn::new("One.", [cell.wire.say("First.")]).step(),
            Turn::new("Two.", [cell.wire.reply([plan("c1")]), cell.wire.say("Second.")]).step(),
            Step::Write("work/AGENTS.md", "Use spaces.\n".to_owned()),
            Turn::new("Three.", [cell.wire.say("Third.")]).step(),
        ]
    },
    n_requests: |_| 4,
    happened: |stage| {
        let last = stage.bodies().remove(3);
        let has_all =
            ["One.", "First.", "Two.", "Plan updated", "Second.", "Three."].iter().all(|it| last.contains(it));
        ensure(has_all, "the last request lacks what was said before")
    },
};

pub const UNLOADED: Situation = Situation {
    name: "unloaded and back",
    about: "three turns in the app-server, a call in the second; the session is unloaded after each; then another process",
    impossible: |pack| {
        (pack == Pack::Risuai).then_some("a session whose memory decides what requests show stays loaded")
    },
    config: |_| Config { tables: "[app_server]\nloaded_threads_max = 0\n".to_owned(), ..Config::default() },
    steps: |cell| {
        let turns = [
            Turn::new("One.", [cell.wire.say("First.")]),
            Turn::new("Two.", [cell.wire.reply([plan("c1")]), cell.wire.say("Second.")]),
            Turn::new("Three.", [cell.wire.say("Third.")]),
        ];
        vec![Step::Served(turns.into()), Turn::new("Four.", [cell.wire.say("Fourth.")]).step()]
    },
    n_requests: |_| 5,
    happened: |stage| {
        let last = stage.bodies().remove(3);
        let has_all =
            ["One.", "First.", "Two.", "Plan updated", "Second.", "Three."].iter().all(|it| last.contains(it));
        ensure(has_all, "the last request of the server lacks what was said before")?;
        ensure(stage.n_events("context.cache_break") == 0, "a request did not extend the one before")
    },
};
