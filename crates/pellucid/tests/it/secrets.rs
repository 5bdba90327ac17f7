//! Keys stay where they belong: no command, no message and no file of a run holds one, and no other user can read
//! one.

use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::process::Stdio;

use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::json;

use crate::Ran;
use crate::World;

/// Variables with planted secrets, all of which begin alike.
const PLANTED: [(&str, &str); 7] = [
    ("MOCK_KEY", "planted-key-0123456789"),
    ("MOCK_KEY_AGAIN", "planted-key-0123456789"),
    ("OTHER_KEY", "planted-other-0123456789"),
    ("CODEX_API_KEY", "planted-codex-0123456789"),
    ("PELLUCID_APP_SERVER_TOKEN", "planted-token-0123456789"),
    ("PELLUCID_MCP_SERVER_TOKEN", "planted-mcp-0123456789"),
    ("CODEX_CONNECTORS_TOKEN", "planted-connectors-0123456789"),
];

fn configure(world: &World, server: &MockServer, more: &str) {
    let config = format!(
        "model_provider = \"mock\"\nnotify = [\"sh\", \"-c\", \"env > $PELLUCID_HOME/notified.new; mv $PELLUCID_HOME/notified.new $PELLUCID_HOME/notified\"]\n\
         [model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\nenv_key = \"MOCK_KEY\"\nrequest_max_retries = 0\n\
         stream_max_retries = 0\n\
         [model_providers.other]\nname = \"Other\"\nbase_url = \"http://127.0.0.1:1\"\nenv_key = \"OTHER_KEY\"\n{more}",
        server.base_url()
    );
    world.files.write("home/config.toml", config);
    // A login shell that exports a key of ours once more.
    world.files.write("user/.bash_profile", "export MOCK_KEY=planted-again-0123456789\n");
}

fn command(script: &str) -> serde_json::Value {
    let arguments = json!({ "cmd": script }).to_string();
    json!({ "type": "function_call", "name": "exec_command", "call_id": "c", "arguments": arguments })
}

/// Fails where a file below a folder holds a planted secret.
fn scan(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            scan(&path);
        } else if let Ok(bytes) = fs::read(&path) {
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains("planted-"), "{}: {text}", path.display());
        }
    }
}

#[track_caller]
fn check_clean(world: &World, server: &MockServer, ran: &Ran) {
    assert!(!ran.out().contains("planted-"), "{}", ran.out());
    assert!(!ran.stderr.contains("planted-"), "{}", ran.stderr);
    for request in server.requests() {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        assert!(!body.contains("planted-"), "{body}");
    }
    scan(&world.files.path("home"));
}

#[test]
fn a_command_that_prints_its_environment_prints_no_key() {
    for more in ["", "[shell_environment_policy]\ninherit = \"all\"\nignore_default_excludes = true\n"] {
        let replies = [MockReply::items([command("env; echo OTHER=$HOME")]), MockReply::say("Done.")];
        let server = MockServer::start(replies);
        let world = World::new("");
        configure(&world, &server, more);
        let args = ["exec", "--json", "--skip-git-repo-check", "-s", "danger-full-access", "go"];
        let ran = world.run_in(&args, &PLANTED);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert!(ran.out().contains("PELLUCID_HOME="), "the command ran: {}", ran.out());
        let asked = server.requests();
        assert!(asked.iter().all(|it| it.header("authorization") == Some("Bearer planted-key-0123456789")));
        while !world.files.path("home/notified").exists() {
            std::thread::yield_now();
        }
        check_clean(&world, &server, &ran);
    }
}

#[test]
fn what_a_person_sets_for_commands_is_given() {
    let server = MockServer::start([MockReply::items([command("echo \"<$MOCK_KEY>\"")]), MockReply::say("Done.")]);
    let world = World::new("");
    configure(&world, &server, "[shell_environment_policy]\nset = { MOCK_KEY = \"chosen\" }\n");
    world.files.write("user/.bash_profile", "");
    let args = ["exec", "--json", "--skip-git-repo-check", "-s", "danger-full-access", "go"];
    let ran = world.run_in(&args, &PLANTED);
    assert!(ran.out().contains("<chosen>"), "{}", ran.out());
}

#[test]
fn a_server_that_repeats_the_key_is_quoted_without_it() {
    for status in [400, 401, 404, 503] {
        let server = MockServer::start([MockReply::status(status, "wrong key planted-key-0123456789, sorry")]);
        let world = World::new("");
        configure(&world, &server, "");
        let variables = [("RUST_LOG", "trace")].into_iter().chain(PLANTED).collect::<Vec<_>>();
        let ran = world.run_in(&["exec", "--json", "--skip-git-repo-check", "go"], &variables);
        assert_eq!(ran.status, 1);
        check_clean(&world, &server, &ran);
    }
}

#[test]
fn nobody_else_can_look_into_a_home_that_was_made_under_an_open_umask() {
    let world = World::new("//- work/script.toml\n[[reply]]\nsay = \"answer\"\n[[reply]]\nsay = \"more\"\n");
    let run = |args: &[&str], stdin: Option<&[u8]>| {
        let program = crate::program();
        let args: Vec<&str> = ["-c", "umask 0002; exec \"$0\" \"$@\"", program].iter().chain(args).copied().collect();
        let mut command = world.command_of("/bin/sh", &args);
        command.env_remove("PELLUCID_HOME").env_remove("CODEX_HOME");
        world.finish(command, stdin)
    };
    let ran = run(&["exec", "--json", "--skip-git-repo-check", "--script", "script.toml", "hello"], None);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let first: serde_json::Value = serde_json::from_str(ran.out().lines().next().unwrap()).unwrap();
    let id = first["thread_id"].as_str().unwrap();
    for (args, stdin) in [
        (&["exec", "resume", "--script", "script.toml", id, "again"][..], None),
        (&["sessions", "list"], None),
        (&["sessions", "rename", id, "a name"], None),
        (&["sessions", "archive", id], None),
        (&["sessions", "unarchive", id], None),
        (&["login", "--with-api-key"], Some(&b"sk-0123456789012345"[..])),
        (&["mcp", "add", "x", "--", "true"], None),
        (&["pack", "new", "mine"], None),
    ] {
        let ran = run(args, stdin);
        assert_eq!(ran.status, 0, "{args:?}: {}{}", ran.out(), ran.stderr);
    }
    let home = world.files.path("user/.pellucid");
    let mut n_seen = 0;
    check_private(&home, &mut n_seen);
    assert!(n_seen > 12, "{n_seen}");
}

fn check_private(path: &Path, n_seen: &mut usize) {
    *n_seen += 1;
    let metadata = fs::symlink_metadata(path).unwrap();
    let mode = metadata.permissions().mode() & 0o777;
    assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", path.display());
    if metadata.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| check_private(&entry.unwrap().path(), n_seen));
    }
}

#[test]
fn the_doctor_tells_of_a_home_that_others_can_write() {
    let world = World::new("");
    let home = world.files.path("home");
    for (mode, expected) in [(0o700, "null"), (0o770, "its group can write it"), (0o777, "every user of this machine")]
    {
        fs::set_permissions(&home, fs::Permissions::from_mode(mode)).unwrap();
        let ran = world.run(&["doctor"]);
        let told = ran.out().contains(expected) || ran.stderr.contains(expected);
        assert_eq!(told, mode != 0o700, "{}", ran.out());
        assert_eq!(home.metadata().unwrap().permissions().mode() & 0o777, mode, "it is the user's to change");
    }
}

#[test]
fn the_servers_token_is_in_a_file_for_as_long_as_the_server_runs() {
    for signal in ["TERM", "INT"] {
        let world = World::new("");
        let mut command = world.command(&["app-server", "--listen", "ws://127.0.0.1:0"]);
        let mut server = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(server.stderr.take().unwrap()).lines().map(Result::unwrap);
        let place =
            said.find_map(|line| Some(line.strip_prefix("the token is in ")?.split_once(';')?.0.to_owned())).unwrap();
        assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o600);
        let id = server.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        assert!(server.wait().unwrap().success(), "{signal}");
        assert!(!Path::new(&place).exists(), "{signal}");
    }
}
