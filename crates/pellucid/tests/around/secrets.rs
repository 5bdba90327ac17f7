//! Secrets in every place where one can be: after everything that the program does, each is found at its own place
//! and nowhere else, in no file and in nothing that was sent or printed.
//!
//! The output of a command is the model's and is not searched, with one exception: the keys of the program itself are
//! never given to a command, so `env` must not show them. `OPENAI_API_KEY` is one of them only where it is the key in
//! use, which it is not here.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::RecordedRequest;
use serde_json::Value;
use serde_json::json;

use crate::person::Person;
use crate::suite::Wanted;
use crate::trial::Backend;
use crate::trial::Ran;
use crate::trial::Trial;
use crate::trial::User;
use crate::trial::Way;
use crate::turn;
use crate::turn::shell;

/// A secret, where it is at home, and in which header of a request it belongs.
struct Planted {
    name: &'static str,
    token: &'static str,
    /// Files below the world's folder that may have it.
    files: &'static [&'static str],
    /// The header that may have it, or `path` for the request's address.
    header: Option<&'static str>,
    /// Whether it is a key of the program itself, which no command is given.
    is_key: bool,
}

const fn planted(name: &'static str, token: &'static str) -> Planted {
    Planted { name, token, files: &[], header: None, is_key: false }
}

impl Planted {
    const fn files(mut self, files: &'static [&'static str]) -> Self {
        self.files = files;
        self
    }

    const fn header(mut self, name: &'static str) -> Self {
        self.header = Some(name);
        self
    }

    const fn key(mut self) -> Self {
        self.is_key = true;
        self
    }
}

const CONFIG: &[&str] = &["home/config.toml"];

const CORPUS: &[Planted] = &[
    planted("the provider's key", "planted0provider0key0a1b2c3d4").header("authorization").key(),
    planted("`CODEX_API_KEY`", "planted0codex0key0b2c3d4e5f6").key(),
    planted("`OPENAI_API_KEY`", "planted0openai0key0c3d4e5f6a7"),
    planted("the stored key", "planted0stored0key0d4e5f6a7b8").files(&["home/auth.json"]).key(),
    planted("a password in the remote's address", "planted0remote0e5f6a7b8c9").files(&["work/.git/config"]),
    planted("a password in the proxy's address", "planted0proxy0f6a7b8c9d0"),
    planted("a header of the provider", "planted0header0a7b8c9d0e1").files(CONFIG).header("x-planted"),
    planted("a header from a variable", "planted0header0variable0b8c9d0e1f2").header("x-planted-variable").key(),
    planted("a part of the provider's address", "planted0query0c9d0e1f2a3").files(CONFIG).header("path"),
    planted("a variable of a server of tools", "planted0tools0d0e1f2a3b4").files(CONFIG),
    planted("the token of a server of tools", "planted0bearer0e1f2a3b4c5").header("authorization").key(),
    planted("a variable of the home's `.env`", "planted0home0env0f2a3b4c5d6").files(&["home/.env"]),
    planted("a variable of the project's `.env`", "planted0project0env0a3b4c5d6e7").files(&["work/.env"]),
    planted("a variable of the login shell", "planted0profile0b4c5d6e7f8")
        .files(&["user/.profile", "user/.bash_profile"]),
];

fn token(name: &str) -> &'static str {
    CORPUS.iter().find(|it| it.name == name).unwrap().token
}

/// What was seen in one run: its name, and bytes with the place they were in.
struct Shown {
    whose: &'static str,
    place: String,
    bytes: Vec<u8>,
}

/// Plants, runs and scans; says what was found.
pub fn run(wanted: &Wanted) -> bool {
    if !wanted.has("secrets") {
        return true;
    }
    let trial = Trial::new(Way::Confined(Backend::Namespaces), User::Ourselves);
    let model = MockServer::start([]);
    let tools = MockServer::start([]);
    plant(&trial, &model, &tools);
    let mut shown = Vec::new();
    let mut problems = Vec::new();
    for (name, deed) in DEEDS {
        let said = deed(&trial, &model);
        if std::env::var_os("AROUND_SHOW").is_some() {
            println!("== {name}\n{}", said.said());
        }
        shown.push(Shown { whose: name, place: "standard output".to_owned(), bytes: said.stdout });
        shown.push(Shown { whose: name, place: "standard error".to_owned(), bytes: said.stderr });
    }
    let n_requests = model.requests().len() + tools.requests().len();
    problems.extend(model.requests().iter().flat_map(|it| sent(it, "the provider")));
    problems.extend(tools.requests().iter().flat_map(|it| sent(it, "the server of tools")));
    for shown in &shown {
        problems.extend(
            found(&shown.bytes, |_| true).map(|it| format!("{}: {} of `{}`", it.name, shown.place, shown.whose)),
        );
    }
    let mut n_files = 0;
    for path in files(&trial.path("")) {
        n_files += 1;
        let below = path.strip_prefix(trial.path("")).unwrap().display().to_string();
        let bytes = fs::read(&path).unwrap_or_default();
        let is_elsewhere = |it: &Planted| !it.files.contains(&below.as_str());
        problems.extend(found(&bytes, is_elsewhere).map(|it| format!("{}: the file {below}", it.name)));
    }
    problems.extend(given_to_commands(&trial));
    if let Some(proof) = trial.proof() {
        problems.push(proof);
    }
    if n_requests < 5 {
        problems.push(format!("only {n_requests} requests were sent, so that this says little"));
    }
    let problems: BTreeSet<_> = problems.into_iter().collect();
    if !problems.is_empty() {
        let lines: Vec<_> = problems.iter().map(String::as_str).collect();
        println!("\nplanted secrets found where they do not belong:\n  {}", lines.join("\n  "));
    }
    println!(
        "planted secrets: {} in {n_requests} requests, {n_files} files and what {} commands printed; {} out of place",
        CORPUS.len(),
        DEEDS.len(),
        problems.len()
    );
    problems.is_empty()
}

fn plant(trial: &Trial, model: &MockServer, tools: &MockServer) {
    let (header, query, env) = (
        token("a header of the provider"),
        token("a part of the provider's address"),
        token("a variable of a server of tools"),
    );
    let config = format!(
        "model_provider = \"mock\"\n\
         [model_providers.mock]\nname = \"mock\"\nbase_url = \"{}\"\nenv_key = \"PROVIDER_KEY\"\nwire_api = \"responses\"\n\
         request_max_retries = 0\nstream_max_retries = 0\n\
         http_headers = {{ x-planted = \"{header}\" }}\nenv_http_headers = {{ x-planted-variable = \"HEADER_VARIABLE\" }}\n\
         query_params = {{ planted = \"{query}\" }}\n\
         [mcp_servers.local]\ncommand = \"/bin/false\"\nenv = {{ PLANTED = \"{env}\" }}\nstartup_timeout_sec = 1\n\
         [mcp_servers.remote]\nurl = \"{}\"\nbearer_token_env_var = \"TOOLS_TOKEN\"\nstartup_timeout_sec = 1\n",
        model.base_url(),
        tools.base_url(),
    );
    let before = fs::read_to_string(trial.path("home/config.toml")).unwrap();
    trial.write("home/config.toml", &format!("{config}{before}"));
    trial.write("home/auth.json", &json!({ "OPENAI_API_KEY": token("the stored key") }).to_string());
    trial.write("home/.env", &format!("PLANTED_HOME={}\n", token("a variable of the home's `.env`")));
    trial.write("work/.env", &format!("PLANTED_PROJECT={}\n", token("a variable of the project's `.env`")));
    let profile = format!("export PLANTED_PROFILE={}\n", token("a variable of the login shell"));
    trial.write("user/.profile", &profile);
    trial.write("user/.bash_profile", &profile);
    trial.repository();
    let remote = token("a password in the remote's address");
    // Git must not have the file `.env`: committed content is not a secret.
    trial.by_hand(&format!(
        "git rm -q --cached .env; git commit -q --amend -m one; git reflog expire --expire=now --all; git gc -q --prune=now; \
         git remote add origin https://ada:{remote}@127.0.0.1:9/r.git"
    ));
}

/// The program with every secret in its variables.
fn command(trial: &Trial, args: &[&str]) -> Command {
    let mut command = trial.product();
    command.args(args.iter().map(|arg| trial.fill(arg)));
    trial.around(&mut command, "work");
    secretive(&mut command);
    command
}

fn secretive(command: &mut Command) {
    let proxy = format!("http://ada:{}@127.0.0.1:9", token("a password in the proxy's address"));
    command
        .env("PROVIDER_KEY", token("the provider's key"))
        .env("CODEX_API_KEY", token("`CODEX_API_KEY`"))
        .env("OPENAI_API_KEY", token("`OPENAI_API_KEY`"))
        .env("HEADER_VARIABLE", token("a header from a variable"))
        .env("TOOLS_TOKEN", token("the token of a server of tools"))
        .env("HTTPS_PROXY", &proxy)
        .env("ALL_PROXY", &proxy)
        .env("NO_PROXY", "127.0.0.1,localhost")
        .env("SHELL", "/bin/bash")
        .env("RUST_LOG", "trace");
}

fn run_with(trial: &Trial, args: &[&str]) -> Ran {
    trial.run(&mut command(trial, args), None)
}

type Deed = fn(&Trial, &MockServer) -> Ran;

const DEEDS: &[(&str, Deed)] = &[
    ("exec", |trial, model| {
        let login = json!({ "command": "echo hi; sleep 0.2", "login": true });
        let calls = [
            turn::Call::Tool("shell_command".to_owned(), login),
            shell("cat missing"),
            turn::add("src/new.txt", "x"),
            turn::patch("*** Update File: missing\n@@\n-a\n+b"),
            turn::Call::Tool("dance".to_owned(), json!({})),
        ];
        answer(trial, model, &calls);
        run_with(trial, &["exec", "--full-auto", "--json", "--record", "$BASE/record.toml", "go"])
    }),
    ("exec refused with the key", |trial, model| {
        let body = json!({ "error": { "message": format!("wrong key: {}", token("the provider's key")) } });
        model.add([MockReply::status(401, &body.to_string())]);
        run_with(trial, &["exec", "go"])
    }),
    ("exec refused with headers", |trial, model| {
        let (key, header) = (token("the provider's key"), token("a header from a variable"));
        let body = format!("<html>Authorization: Bearer {key}\r\nx: {header}</html>");
        model.add([MockReply::status(400, &body)]);
        run_with(trial, &["exec", "--json", "go"])
    }),
    ("exec resume", |trial, model| {
        answer(trial, model, &[shell("true")]);
        run_with(trial, &["exec", "resume", "--last", "go"])
    }),
    ("review", |trial, model| {
        answer(trial, model, &[]);
        run_with(trial, &["exec", "review", "--uncommitted"])
    }),
    ("sessions list", |trial, _| run_with(trial, &["sessions", "list"])),
    ("sessions show", |trial, _| run_with(trial, &["sessions", "show", "--last"])),
    ("sessions export", |trial, _| run_with(trial, &["sessions", "export", "--last"])),
    ("context", |trial, _| run_with(trial, &["context"])),
    ("context json", |trial, _| run_with(trial, &["context", "--format", "json"])),
    ("prompt", |trial, _| run_with(trial, &["prompt", "go"])),
    ("prompt json", |trial, _| run_with(trial, &["prompt", "--format", "json", "go"])),
    ("doctor", |trial, _| run_with(trial, &["doctor"])),
    ("doctor json", |trial, _| run_with(trial, &["doctor", "--json"])),
    ("mcp list", |trial, _| run_with(trial, &["mcp", "list"])),
    ("login status", |trial, _| run_with(trial, &["login", "status"])),
    ("features", |trial, _| run_with(trial, &["features", "list"])),
    ("app-server", |trial, model| {
        answer(trial, model, &[shell("true")]);
        let mut command = trial.product();
        command.arg("app-server");
        let mut person = Person::serve_with(trial, command, secretive);
        person.turn();
        person.ask("config/read", &json!({ "includeLayers": false }));
        person.ask("getAuthStatus", &json!({ "includeToken": false }));
        person.ask("mcpServerStatus/list", &json!({}));
        // A client that asks for the settings is shown them as they are in the file.
        let heard: Vec<Value> = person.heard.iter().filter(|it| it["result"]["config"].is_null()).cloned().collect();
        let text: String = heard.iter().map(ToString::to_string).collect();
        Ran { status: Some(0), stdout: text.into_bytes(), ..Ran::default() }
    }),
    ("a run that is killed", |trial, model| {
        let login = json!({ "command": "sleep 0.5; touch started; sleep 20", "login": true });
        answer(trial, model, &[turn::Call::Tool("shell_command".to_owned(), login)]);
        let script = format!(
            "{} exec --full-auto go & id=$!; i=0; \
             while [ ! -e started ] && [ $i -lt 500 ]; do sleep 0.02; i=$((i+1)); done; kill -9 $id; wait $id; sleep 0.3",
            crate::trial::program()
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        trial.around(&mut command, "work");
        secretive(&mut command);
        let ran = trial.run(&mut command, None);
        assert!(trial.path("work/started").exists(), "the command began: {}", ran.said());
        ran
    }),
    ("the run after it", |trial, model| {
        answer(trial, model, &[]);
        run_with(trial, &["exec", "go"])
    }),
];

/// The model makes these calls, then says that it is done.
fn answer(trial: &Trial, model: &MockServer, calls: &[turn::Call]) {
    let items = calls.iter().enumerate().map(|(at, call)| turn::item(trial, call, at, false));
    model.add(items.map(|item| MockReply::items([item])));
    model.add([MockReply::say("done")]);
}

/// The keys that a command was given, which is looked at last: what it prints goes into the session.
fn given_to_commands(trial: &Trial) -> Vec<String> {
    let mut problems = Vec::new();
    let write = "env > $WORK/given.txt; cat /proc/$PPID/environ >> $WORK/given.txt 2>/dev/null; true";
    for is_login in [false, true] {
        let call = turn::Call::Tool("shell_command".to_owned(), json!({ "command": write, "login": is_login }));
        let script = turn::script(&[turn::item(trial, &call, 0, false)]);
        let path = trial.write(&trial.fresh("env.jsonl"), &script);
        for policy in ["all", "core"] {
            let inherit = format!("shell_environment_policy.inherit={policy}");
            // The script replaces the model; the configured provider and its key are still used.
            let args = ["exec", "--full-auto", "-c", &inherit, "--script", path.to_str().unwrap(), "go"];
            let _ran = run_with(trial, &args);
            let bytes = fs::read(trial.path("work/given.txt")).unwrap_or_default();
            if !bytes.windows(5).any(|it| it == b"PATH=") {
                problems.push("a command did not write its variables".to_owned());
            }
            problems
                .extend(found(&bytes, |it| it.is_key).map(|it| format!("{}: given to a command ({policy})", it.name)));
            let _gone = fs::remove_file(trial.path("work/given.txt"));
        }
    }
    problems
}

/// What a request has that does not belong there.
fn sent(request: &RecordedRequest, to: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut look = |place: &str, bytes: &[u8]| {
        let is_elsewhere = |it: &Planted| it.header != Some(place);
        problems.extend(found(bytes, is_elsewhere).map(|it| format!("{}: {place} of a request to {to}", it.name)));
    };
    look("path", request.path.as_bytes());
    look("body", &request.body);
    for (name, value) in &request.headers {
        look(&name.to_ascii_lowercase(), value.as_bytes());
    }
    problems
}

/// The secrets that these bytes have, in any form.
fn found(bytes: &[u8], is_wanted: impl Fn(&Planted) -> bool) -> impl Iterator<Item = &'static Planted> {
    let has = |form: &str| !form.is_empty() && bytes.windows(form.len()).any(|it| it == form.as_bytes());
    let hits: Vec<_> =
        CORPUS.iter().filter(|it| is_wanted(it)).filter(|it| forms(it.token).iter().any(|form| has(form))).collect();
    hits.into_iter()
}

/// The token in plain text, in hexadecimal, and as it looks inside of a longer text in base64.
fn forms(token: &str) -> Vec<String> {
    let mut forms = vec![token.to_owned(), token.bytes().map(|byte| format!("{byte:02x}")).collect()];
    for n_before in 0..3 {
        let text = STANDARD_NO_PAD.encode(format!("{}{token}", "x".repeat(n_before)));
        // The first and the last characters depend on the text next to the token.
        let from = (n_before * 4).div_ceil(3);
        forms.push(text[from..text.len() - 2].to_owned());
    }
    forms
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            all.extend(files(&entry.path()));
        } else if kind.is_file() {
            all.push(entry.path());
        }
    }
    all
}
