//! Content of requests besides the conversation: repeated texts, items, images, tools of servers.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use super::Config;
use super::Situation;
use super::ensure;
use super::possible;
use crate::truth::cell::Pack;
use crate::truth::stage::Foresight;
use crate::truth::stage::Stage;
use crate::truth::stage::Step;
use crate::truth::stage::Turn;

pub const REINJECTION: Situation = Situation {
    name: "re-injection",
    about: "a text of the first context is said again in a later turn; `ads` says changed rules again",
    impossible: |pack| {
        (pack == Pack::Openclaw).then_some("all its slots are instructions, which every request has; none is a message")
    },
    config: |stage| {
        let slot = match stage.cell.pack {
            Pack::Ads => return Config::default(),
            Pack::Agentcore => "preamble",
            _ => "user_instructions",
        };
        Config {
            top: "resume_context = \"changed\"\n".to_owned(),
            tables: format!("[reinject_turns]\n{slot} = 1\n"),
            ..Config::default()
        }
    },
    steps: |cell| {
        let turn = |prompt: &str| Turn::new(prompt, [cell.wire.say("Done.")]).step();
        let rules = "Name tests after what they show. Keep them short.\n".to_owned();
        vec![turn("One."), Step::Write("work/.ads/rules.md", rules), turn("Two."), turn("Three.")]
    },
    n_requests: |_| 3,
    happened: |stage| {
        let text = if stage.cell.pack == Pack::Ads { "Name tests after" } else { "Use \\\"tabs\\\", café." };
        let counts: Vec<usize> = stage.bodies().iter().map(|body| body.matches(text).count()).collect();
        // With a memory the context precedes the current conversation, and repeated instructions occur once.
        let expected = if matches!(stage.cell.pack, Pack::Ads | Pack::Risuai) { [1, 2, 2] } else { [1, 2, 3] };
        ensure(counts == expected, &format!("the text is {counts:?} times in the requests"))?;
        ensure(stage.n_events("context.reinjection") > 0, "nothing was said again")
    },
};

pub const INJECTED: Situation = Situation {
    name: "injected items",
    about: "sections, messages, files, texts of a store and memories that a caller gives",
    impossible: |pack| {
        (pack != Pack::Agentcore)
            .then_some("it has no slot for injected items (`injected_sections`, `injected_preamble`)")
    },
    config: |stage| {
        let items = json!({
            "items": [
                { "target": "system_section", "content": "Answer in French.", "order": 300 },
                { "target": "preamble_message", "role": "assistant", "content": "Bien \"sûr\"." },
                { "target": "preamble_message", "role": "user", "content": "x".repeat(90), "max_bytes": 40 },
            ],
            "sources": [
                { "type": "file_set", "files": [{ "path": "notes.txt", "max_bytes": 4000 }] },
                { "type": "text_store", "entries": [{ "key": "style", "target": "system_section" }] },
            ],
            "store": { "style": "Short sentences." },
            "memory": ["prefers tabs"],
        });
        stage.world.files.write("work/items.json", items.to_string());
        Config::default()
    },
    steps: |cell| {
        let turn = |prompt: &str| Turn::new(prompt, [cell.wire.say("Bien.")]).with(&["--inject", "items.json"]).step();
        vec![turn("One."), turn("Two.")]
    },
    n_requests: |_| 2,
    happened: |stage| {
        for body in stage.bodies() {
            for text in ["Answer in French.", "Bien \\\"sûr\\\".", "Short sentences.", "prefers tabs", "one\\ntwo"] {
                ensure(body.contains(text), &format!("{text} was not sent"))?;
            }
        }
        Ok(())
    },
};

/// The smallest image: one dot.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

pub const IMAGES: Situation = Situation {
    name: "images",
    about: "an image that the person attaches, one that the model looks at, then another process",
    impossible: possible,
    config: |stage| {
        stage.world.files.write("work/dot.png", BASE64_STANDARD.decode(DOT).unwrap());
        Config::default()
    },
    steps: |cell| {
        let look = cell.wire.call("c1", "view_image", &json!({ "path": "dot.png" }));
        let first = Turn::new("What is it?", [look, cell.wire.say("A dot.")]).with(&["--image", "dot.png"]);
        vec![first.step(), Turn::new("Sure?", [cell.wire.say("Yes.")]).step()]
    },
    n_requests: |_| 3,
    happened: |stage| {
        let counts: Vec<usize> = stage.bodies().iter().map(|body| body.matches("iVBORw0KGgo").count()).collect();
        ensure(counts == [1, 2, 2], &format!("the requests have {counts:?} images"))
    },
};

pub const MCP: Situation = Situation {
    name: "MCP",
    about: "tools of a server, a call of one, then another process",
    impossible: possible,
    config: |stage: &Stage| {
        let answer = json!({ "content": [{ "type": "text", "text": "pong \"é\"" }] });
        stage.tools.answers("tools/call_echo", &answer);
        Config { tables: format!("[mcp_servers.depot]\n{}", stage.tools.config()), ..Config::default() }
    },
    steps: |cell| {
        let call = cell.wire.call("c1", "mcp__depot__echo", &json!({ "a": 1 }));
        let foresight = Foresight::With(&["--mcp", "connect"]);
        vec![
            Turn::new("Call it.", [call, cell.wire.say("Pong.")]).foreseen(foresight).step(),
            Turn::new("Again?", [cell.wire.say("No.")]).foreseen(foresight).step(),
        ]
    },
    n_requests: |_| 3,
    happened: |stage| {
        let bodies = stage.bodies();
        ensure(bodies.iter().all(|body| body.contains("mcp__depot__count")), "the server's tools were not offered")?;
        ensure(bodies[1].contains("pong"), "the server's answer was not sent")?;
        ensure(stage.tools.asked().iter().any(|it| it["method"] == "tools/call"), "the server was not called")
    },
};

pub const DEFERRED: Situation = Situation {
    name: "deferred tools",
    about: "tools of a server by name: the schema of one is asked for, it is called, then another process with another list",
    impossible: possible,
    config: |stage: &Stage| {
        let answer = json!({ "content": [{ "type": "text", "text": "pong \"é\"" }] });
        stage.tools.answers("tools/call_echo", &answer);
        Config {
            top: "mcp_tools = \"deferred\"\n".to_owned(),
            tables: format!("[mcp_servers.depot]\n{}", stage.tools.config()),
            ..Config::default()
        }
    },
    steps: |cell| {
        let find = cell.wire.call("c1", "find_tools", &json!({ "names": ["depot/echo"] }));
        let call = cell.wire.call("c2", "call_tool", &json!({ "name": "depot/echo", "arguments": { "a": 1 } }));
        let foresight = Foresight::With(&["--mcp", "connect"]);
        vec![
            Turn::new("Call it.", [find, call, cell.wire.say("Pong.")]).foreseen(foresight).step(),
            Step::Tools(&["echo", "weigh"]),
            Turn::new("Again?", [cell.wire.say("No.")]).foreseen(foresight).step(),
        ]
    },
    n_requests: |_| 4,
    happened: |stage| {
        let bodies = stage.bodies();
        ensure(bodies.iter().all(|body| body.contains("- echo: Does echo")), "the server's tools were not listed")?;
        ensure(!bodies.iter().any(|body| body.contains("mcp__depot")), "a tool was described without being asked for")?;
        ensure(bodies[1].contains("\\\"input_schema\\\""), "the schema was not sent")?;
        ensure(bodies[2].contains("pong"), "the server's answer was not sent")?;
        ensure(bodies[2].contains("- count") && bodies[3].contains("- weigh"), "the list is not the server's")?;
        ensure(stage.tools.asked().iter().any(|it| it["method"] == "tools/call"), "the server was not called")
    },
};
