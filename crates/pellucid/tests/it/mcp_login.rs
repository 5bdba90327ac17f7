//! `mcp login` and `mcp logout` against an MCP server with a login, and sessions that use it.

use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::process::Stdio;

use expect_test::expect;
use pellucid_testkit::Iss;
use pellucid_testkit::LoginPlan;
use pellucid_testkit::MockLogin;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use crate::Ran;
use crate::World;
use crate::context_events::Client;

/// A world with a model and a server with a login. The model's provider may be absent.
fn world(server: &MockLogin, model: Option<&MockServer>, more: &str) -> World {
    let world = World::new("");
    let provider = model.map(|model| {
        format!(
            "model_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\n",
            model.base_url()
        )
    });
    let servers = format!("[mcp_servers.wiki]\nurl = \"{}\"\n{more}", server.url());
    world.files.write("home/config.toml", format!("{}{servers}", provider.unwrap_or_default()));
    world
}

/// Logs in by a browser that agrees.
fn log_in(world: &World) -> Ran {
    let browser = MockLogin::browser(&world.files.path("home"));
    world.run_in(&["mcp", "login", "wiki"], &[("BROWSER", browser.to_str().unwrap())])
}

fn stored(world: &World) -> Value {
    let logins: Value = serde_json::from_str(&world.files.read("home/.credentials.json")).unwrap();
    let mut logins: Vec<Value> = logins.as_object().unwrap().values().cloned().collect();
    assert_eq!(logins.len(), 1);
    logins.remove(0)
}

#[test]
fn a_person_logs_in_and_out() {
    let server = MockLogin::start(LoginPlan { scopes_supported: &["read"], ..LoginPlan::default() });
    let world = world(&server, None, "");
    let list = || world.run(&["mcp", "list"]).out().lines().last().unwrap().rsplit("  ").next().unwrap().to_owned();
    assert_eq!(list(), "Not logged in");
    let ran = log_in(&world);
    let lines: Vec<&str> = ran.out().lines().collect();
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.out());
    assert_eq!(lines[0], "Authorize `wiki` by opening this URL in your browser:");
    assert!(lines[1].starts_with(&format!("{}/authorize?", server.issuer())), "{}", lines[1]);
    assert_eq!(lines[2..], ["", "Successfully logged in to MCP server 'wiki'."]);
    assert_eq!(list(), "OAuth");
    let ran = world.run(&["mcp", "list", "--json"]);
    assert!(ran.out().contains(r#""auth_status": "o_auth""#), "{}", ran.out());
    let login = stored(&world);
    assert_eq!((&login["server_name"], &login["scopes"]), (&json!("wiki"), &json!(["read"])));
    assert_eq!(login["server_url"], server.url());
    let out = |args: &[&str]| {
        let ran = world.run(args);
        format!("{} {}{}", ran.status, ran.out(), ran.stderr)
    };
    expect!["0 Removed OAuth credentials for 'wiki'.\n"].assert_eq(&out(&["mcp", "logout", "wiki"]));
    expect!["0 No OAuth credentials stored for 'wiki'.\n"].assert_eq(&out(&["mcp", "logout", "wiki"]));
    assert!(!world.files.path("home/.credentials.json").exists());
    assert_eq!(list(), "Not logged in");
}

#[test]
fn a_server_with_a_login_is_logged_in_to_when_it_is_added() {
    let server = MockLogin::start(LoginPlan::default());
    let world = World::new("");
    let browser = MockLogin::browser(&world.files.path("home"));
    let ran = world.run_in(&["mcp", "add", "wiki", "--url", &server.url()], &[("BROWSER", browser.to_str().unwrap())]);
    let lines: Vec<&str> = ran.out().lines().filter(|line| !line.starts_with("http://")).collect();
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.out());
    assert_eq!(
        lines,
        [
            "Added global MCP server 'wiki'.",
            "Detected OAuth support. Starting OAuth flow…",
            "Authorize `wiki` by opening this URL in your browser:",
            "",
            "Successfully logged in."
        ]
    );
    assert_eq!(stored(&world)["server_url"], server.url());
}

#[test]
fn a_person_pastes_the_address_of_a_browser_elsewhere() {
    let server = MockLogin::start(LoginPlan::default());
    let world = world(&server, None, "");
    let args = ["mcp", "login", "wiki", "--no-browser", "--scopes", "a,b"];
    let mut command = world.command(&args);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = out.by_ref().map(Result::unwrap).find(|line| line.starts_with("http://")).unwrap();
    assert!(address.contains("scope=a+b"), "{address}");
    let mut input = child.stdin.take().unwrap();
    let returned = server.agree(&address);
    writeln!(input, "http://127.0.0.1:1/callback?code=x&state=other\nwhat?\n\n{returned}").unwrap();
    let rest: Vec<String> = out.map(Result::unwrap).collect();
    assert!(child.wait().unwrap().success());
    drop(input);
    assert_eq!(rest, ["", "Successfully logged in to MCP server 'wiki'."]);
    assert_eq!(stored(&world)["scopes"], json!(["a", "b"]));
}

#[test]
fn what_cannot_be_logged_in_to_says_why() {
    let server = MockLogin::start(LoginPlan { registers: false, ..LoginPlan::default() });
    let world = world(&server, None, "[mcp_servers.files]\ncommand = \"x\"\n");
    let said = |args: &[&str]| {
        let ran = world.run(args);
        format!("{} {}", ran.status, ran.stderr)
    };
    expect![[r#"
        1 error: No MCP server named 'nope' found.
        hint: `pellucid mcp list` shows those that are configured
    "#]]
    .assert_eq(&said(&["mcp", "login", "nope"]));
    expect![[r#"
        1 error: the MCP server 'files' is a program; only servers with a `url` have logins. Give it what it needs with `env` or `env_vars` in [mcp_servers.files].
    "#]].assert_eq(&said(&["mcp", "logout", "files"]));
    expect![[r#"
        1 error: failed to login to MCP server 'wiki': the authorization server registers no clients; give it a client that it knows by `client_id` in [mcp_servers.wiki.oauth]
    "#]].assert_eq(&said(&["mcp", "login", "wiki"]));
    expect![[r#"
        1 error: mcp_oauth_credentials_store = "keyring" is not supported: write "file", which keeps logins in ROOT/home/.credentials.json
    "#]].assert_eq(&said(&["-c", "mcp_oauth_credentials_store=keyring", "mcp", "login", "wiki"]));
}

/// A model that calls the tool of the server.
fn model() -> MockServer {
    let call = json!({"type": "function_call", "name": "mcp__wiki__echo", "arguments": "{}", "call_id": "c"});
    MockServer::start([MockReply::items([call]), MockReply::say("Done.")])
}

/// The error of the call of the tool, in the output of `exec --json`.
fn failure(ran: &Ran) -> String {
    let line = ran.out().lines().find(|line| line.contains("item.completed") && line.contains("mcp_tool_call"));
    let item: Value = serde_json::from_str(line.unwrap_or_else(|| panic!("{}{}", ran.out(), ran.stderr))).unwrap();
    item["item"]["error"]["message"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_session_uses_the_login_and_keeps_its_tokens_secret() {
    const MARKER: &str = "planted-in-tokens";
    let plan = LoginPlan {
        marker: MARKER,
        secret: Some("planted-in-tokens-secret"),
        methods: &["client_secret_basic"],
        first_expires_in: 5,
        ..LoginPlan::default()
    };
    let (server, model) = (MockLogin::start(plan), model());
    let world = world(&server, Some(&model), "");
    let mut said = vec![log_in(&world)];
    let trace = [("RUST_LOG", "trace")];
    let ran = world.run_in(&["exec", "--json", "Call it."], &trace);
    assert_eq!((ran.status, failure(&ran).as_str()), (0, ""), "{}", ran.stderr);
    assert_eq!(server.n_refreshes(), 1);
    said.push(ran);
    server.change(|plan| plan.repeats_secrets = true);
    server.revoke_all();
    said.extend(
        [&["mcp", "get", "wiki", "--json"][..], &["mcp", "list"], &["context", "--mcp", "connect"]]
            .map(|args| world.run_in(args, &trace)),
    );
    server.change(|plan| plan.secret = Some("another"));
    said.push(world.run_in(&["mcp", "logout", "wiki"], &trace));
    for ran in &said {
        assert!(!ran.out().contains(MARKER) && !ran.stderr.contains(MARKER), "{}{}", ran.out(), ran.stderr);
    }
    for request in model.requests() {
        assert!(!String::from_utf8_lossy(&request.body).contains(MARKER));
    }
    let mut folders = vec![world.files.path("home"), world.files.path("work")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                let bytes = std::fs::read(&entry).unwrap();
                assert!(!String::from_utf8_lossy(&bytes).contains(MARKER), "{}", entry.display());
            }
        }
    }
}

#[test]
fn a_call_beyond_the_login_names_the_command() {
    let plan = LoginPlan { scopes_supported: &["read"], tool_scope: Some("write"), ..LoginPlan::default() };
    let (server, model) = (MockLogin::start(plan), model());
    let world = world(&server, Some(&model), "");
    assert_eq!(log_in(&world).status, 0);
    let ran = world.run(&["exec", "--json", "Call it."]);
    expect![[r#"
        tool call error: tool call failed for `wiki/echo`

        Caused by:
            tools/call failed: the login at the MCP server `wiki` does not cover this; run `pellucid mcp login wiki --scopes read,write`"#]].assert_eq(&failure(&ran));
}

#[test]
fn a_client_with_a_secret_logs_in_by_itself() {
    let plan = LoginPlan { secret: Some("a secret"), methods: &["client_secret_post"], ..LoginPlan::default() };
    let (server, model) = (MockLogin::start(plan), model());
    let grant = "[mcp_servers.wiki.oauth]\ngrant = \"client_credentials\"\nclient_id = \"ci\"\nclient_secret_env_var = \"WIKI_SECRET\"\n";
    let world = world(&server, Some(&model), grant);
    let ran = world.run_in(&["exec", "--json", "Call it."], &[("WIKI_SECRET", "a secret")]);
    assert_eq!((ran.status, failure(&ran).as_str()), (0, ""), "{}", ran.stderr);
    let ran = world.run_in(&["mcp", "login", "wiki"], &[("WIKI_SECRET", "a secret")]);
    assert_eq!((ran.status, ran.out()), (0, "Successfully logged in to MCP server 'wiki'.\n"), "{}", ran.stderr);
    let grants: Vec<_> = server.token_requests().iter().map(|it| it["grant_type"].clone()).collect();
    assert_eq!(grants, ["client_credentials", "client_credentials"]);
    assert_eq!(world.run(&["mcp", "login", "wiki"]).status, 1, "the variable is not set");
}

#[test]
fn a_client_of_the_app_server_logs_in() {
    let server = MockLogin::start(LoginPlan::default());
    let world = world(&server, None, "");
    let mut client = Client::of(&world, &[]);
    client.introduce(&json!({}));
    let mut log_in = || {
        let answer = client.ask("mcpServer/oauth/login", &json!({ "name": "wiki", "scopes": ["a"] }));
        client.notified.clear();
        server.log_in(answer["result"]["authorizationUrl"].as_str().unwrap());
        client.until(|it| it["method"] == "mcpServer/oauthLogin/completed");
        client.notified.pop().unwrap()["params"].take()
    };
    assert_eq!(log_in(), json!({ "name": "wiki", "success": true }));
    server.change(|plan| plan.iss = Iss::Wrong);
    let failed = log_in();
    assert_eq!((&failed["name"], &failed["success"]), (&json!("wiki"), &json!(false)));
    assert!(failed["error"].as_str().unwrap().contains("names itself http://evil"), "{failed}");
    let listed = client.ask("mcpServerStatus/list", &json!({}))["result"]["data"][0].take();
    assert_eq!((&listed["authStatus"], &listed["tools"]["echo"]["name"]), (&json!("oAuth"), &json!("echo")));
}

#[test]
fn eight_processes_spend_a_refresh_token_once() {
    const N: usize = 8;
    let server = MockLogin::start(LoginPlan { first_expires_in: 5, ..LoginPlan::default() });
    let world = world(&server, None, "");
    assert_eq!(log_in(&world).status, 0);
    let args = ["context", "--mcp", "connect", "--strict-context"];
    let mut children = Vec::new();
    for _ in 0..N {
        children.push(world.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    }
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(server.n_refreshes(), 1);
    let is_list = |body: &[u8]| String::from_utf8_lossy(body).contains("tools/list");
    let listed = server.requests().into_iter().filter(|it| it.header("authorization").is_some() && is_list(&it.body));
    assert_eq!(listed.count(), N);
}
