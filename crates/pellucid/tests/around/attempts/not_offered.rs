//! Calls of tools that the request did not offer. Each would leave a mark; none may be run.

use pellucid_testkit::McpScript;
use serde_json::Value;
use serde_json::json;

use super::Attempt;
use super::Tried;
use super::attempt;
use crate::trial::Trial;
use crate::turn::Call;

pub fn attempts() -> Vec<Attempt> {
    vec![
        marked(
            "tool-exec-command",
            "a terminal, where only plain commands are offered",
            &["--disable", "unified_exec"],
            || ("exec_command", json!({ "cmd": "touch $WORK/mark", "login": false })),
        ),
        marked("tool-javascript", "JavaScript, which is switched off", &["--disable", "js_repl"], || {
            ("js_repl", json!({ "input": "await codex.tool('shell_command', {command: 'touch $WORK/mark'})" }))
        }),
        marked("tool-agent", "an agent of the model's own, which is switched off", &["--disable", "collab"], || {
            ("spawn_agent", json!({ "message": "touch $WORK/mark" }))
        }),
        marked("tool-unknown-case", "a tool by its name in capitals", &["--disable", "unified_exec"], || {
            ("EXEC_COMMAND", json!({ "cmd": "touch $WORK/mark" }))
        }),
        marked(
            "tool-without-shell",
            "a command, where no shell is offered",
            &["--disable", "shell_tool", "--disable", "unified_exec"],
            || ("shell_command", json!({ "command": "touch $WORK/mark", "login": false })),
        ),
        marked(
            "tool-terminal-without-shell",
            "a terminal, where no shell is offered",
            &["--disable", "shell_tool", "--disable", "unified_exec"],
            || ("exec_command", json!({ "cmd": "touch $WORK/mark", "login": false })),
        ),
        served("tool-disabled", "a tool that the person switched off", "disabled_tools=['poke']", "mcp__e__poke"),
        served(
            "tool-not-enabled",
            "a tool that is not among those that were chosen",
            "enabled_tools=['look']",
            "mcp__e__poke",
        ),
        served("tool-server-off", "a tool of a server that is switched off", "enabled=false", "mcp__e__poke"),
        attempt("tool-read-disabled", "a resource of a server that is switched off", |trial| {
            let args = json!({ "server": "e", "uri": "x" });
            let asked = serve(trial, "enabled=false", Call::Tool("read_mcp_resource".to_owned(), args));
            Tried::out_if(asked.contains("resources/read"), "the server was asked")
        })
        .earlier(),
    ]
}

/// A call that leaves a mark in the project if it is run.
fn marked(name: &str, what: &str, args: &'static [&'static str], call: fn() -> (&'static str, Value)) -> Attempt {
    attempt(name, what, move |trial| {
        let (name, arguments) = call();
        let item = json!({ "type": "function_call", "id": "fc_0", "call_id": "call_0", "name": name,
            "arguments": trial.fill(&arguments.to_string()) });
        let script = trial.write("tool.jsonl", &crate::turn::script(&[item]));
        let script = script.to_str().unwrap().to_owned();
        let mut all = vec!["exec", "--skip-git-repo-check", "--full-auto", "--script", &script];
        all.extend(args);
        let backend;
        if let crate::trial::Way::Confined(it) = trial.way() {
            backend = format!("sandbox_backend={}", it.as_str());
            all.extend(["-c", &backend]);
        }
        all.push("go");
        trial.pellucid(&all);
        Tried::out_if(trial.path("work/mark").exists(), "it was run")
    })
    .earlier()
}

/// A call of a server's tool under a setting that takes it away.
fn served(name: &str, what: &str, setting: &'static str, tool: &'static str) -> Attempt {
    attempt(name, what, move |trial| {
        let asked = serve(trial, setting, Call::Tool(tool.to_owned(), json!({})));
        Tried::out_if(asked.contains("tools/call"), "the server was asked")
    })
    .by_hand(move |trial| {
        let asked = serve(trial, "enabled=true", Call::Tool(tool.to_owned(), json!({})));
        Tried::out_if(asked.contains("tools/call"), "the server was asked")
    })
}

/// What a server of tools is asked when the model makes this call.
fn serve(trial: &Trial, setting: &str, call: Call) -> String {
    let server = McpScript::new(&["poke", "look"]);
    server.answers("tools/call_poke", &json!({ "content": [{ "type": "text", "text": "ouch" }] }));
    let argv: Vec<String> = server.argv();
    // The server's files belong to the user who runs the suite; another user must be able to read and write them too.
    let folder = std::path::Path::new(&argv[1]).parent().unwrap();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        open_to_all(&entry.path());
    }
    open_to_all(folder);
    let (command, args) = argv.split_first().unwrap();
    let table = format!("mcp_servers.e={{command='{command}',args={args:?},{setting}}}");
    trial.turn().config(&table).run(&[call]);
    server.asked().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn open_to_all(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
}
