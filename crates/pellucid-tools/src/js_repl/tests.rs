//! The tool with a kernel that is played by a script, and, where there is a Node that will do, with
//! the real one.

use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use expect_test::Expect;
use expect_test::expect;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::settings::SandboxPolicy;

use crate::bench::Bench;
use crate::bench::custom;
use crate::bench::function;

/// A bench with this program as Node.
fn bench(node: &Path) -> Bench {
    Bench { node_paths: vec![node.to_owned()], ..Bench::new() }
}

fn played() -> Bench {
    bench(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/js_repl/fake_node.sh"))
}

/// The answers of calls, one after the other in one session.
fn answers(bench: &Bench, calls: &[ToolCall]) -> String {
    let shown = bench.show_all(calls);
    let is_kept = |line: &&str| !line.starts_with('{');
    shown.lines().filter(is_kept).map(|line| line.to_owned() + "\n").collect()
}

#[track_caller]
fn check_played(inputs: &[&str], expected: &Expect) {
    let calls: Vec<_> = inputs.iter().map(|input| custom("js_repl", input)).collect();
    expected.assert_eq(&answers(&played(), &calls));
}

#[test]
fn a_kernel_stays_for_the_session() {
    check_played(
        &["count", "throw", "count"],
        &expect![[r#"
            => Ok(Parts([InputText { text: "1" }]))
            => boom
            => Ok(Parts([InputText { text: "2" }]))
        "#]],
    );
}

#[test]
fn a_reset_ends_it() {
    let calls = [
        function("js_repl_reset", ""),
        function("js_repl", r#"{"code":"count"}"#),
        function("js_repl_reset", "{}"),
        function("js_repl", r#"{"code":"count","timeout_ms":60000}"#),
    ];
    expect![[r#"
        => js_repl kernel reset
        => Ok(Parts([InputText { text: "1" }]))
        => js_repl kernel reset
        => Ok(Parts([InputText { text: "1" }]))
    "#]]
    .assert_eq(&answers(&played(), &calls));
}

#[test]
fn a_piece_that_takes_too_long_ends_the_kernel() {
    check_played(
        &["count", "// codex-js-repl: timeout_ms=1\nhang", "count"],
        &expect![[r#"
            => Ok(Parts([InputText { text: "1" }]))
            => js_repl execution timed out; kernel reset, rerun your request
            => Ok(Parts([InputText { text: "1" }]))
        "#]],
    );
}

#[test]
fn a_kernel_that_ends_says_why_and_the_next_piece_has_a_new_one() {
    let calls = ["count", "die", "count"].map(|input| custom("js_repl", input));
    let shown = answers(&played(), &calls);
    let (head, tail) = shown.split_once(r#""kernel_pid":"#).unwrap();
    let tail = tail.trim_start_matches(|char: char| char.is_ascii_digit());
    expect![[r#"
        => Ok(Parts([InputText { text: "1" }]))
        => js_repl kernel exited unexpectedly

        js_repl diagnostics: {"reason":"stdout_eof","stream_error":null,"kernel_pid":N,"kernel_status":"exited(code=7)","kernel_stderr_tail":"a last word"}
        => Ok(Parts([InputText { text: "1" }]))
    "#]]
    .assert_eq(&format!("{head}\"kernel_pid\":N{tail}"));
}

#[test]
fn lines_that_mean_nothing_are_passed_over() {
    check_played(
        &["babble"],
        &expect![[r#"
            => Ok(Parts([InputText { text: "sense" }]))
        "#]],
    );
}

#[test]
fn pieces_call_tools_but_not_their_own() {
    check_played(
        &["tool list_dir", "tool nope", "tool js_repl", "tool js_repl_reset"],
        &expect![[r#"
            => Ok(Parts([InputText { text: "ok:true,response:type:function_call_output,call_id:tool-0,output:failed to parse function arguments: missing field `dir_path` at line 1 column 2,error:null" }]))
            => Ok(Parts([InputText { text: "ok:true,response:type:function_call_output,call_id:tool-0,output:unsupported call: nope,error:null" }]))
            => Ok(Parts([InputText { text: "ok:false,response:null,error:js_repl cannot invoke itself" }]))
            => Ok(Parts([InputText { text: "ok:false,response:null,error:js_repl cannot invoke itself" }]))
        "#]],
    );
}

#[test]
fn where_only_these_tools_may_be_called_others_are_reached_through_them() {
    let mut bench = played();
    bench.situation.tools.only = Some(["js_repl", "js_repl_reset"].map(str::to_owned).to_vec());
    let calls = [function("list_dir", "{}"), custom("nope", ""), custom("js_repl", "tool list_dir")];
    expect![[r#"
        => direct tool calls are disabled; use js_repl and codex.tool(...) instead
        => direct tool calls are disabled; use js_repl and codex.tool(...) instead
        => Ok(Parts([InputText { text: "ok:true,response:type:function_call_output,call_id:tool-0,output:failed to parse function arguments: missing field `dir_path` at line 1 column 2,error:null" }]))
    "#]]
    .assert_eq(&answers(&bench, &calls));
}

#[test]
fn people_see_a_command() {
    let shown = played().show_all(&[custom("js_repl", "throw")]);
    let duration = shown.find(r#""duration":"#).unwrap();
    let after = duration + shown[duration..].find(r#","formatted_output""#).unwrap();
    expect![[r#"
        {"type":"exec_command_begin","call_id":"c","turn_id":"t","command":["js_repl"],"cwd":"DIR","parsed_cmd":[{"type":"unknown","cmd":"js_repl"}],"source":"agent"}
        {"type":"exec_command_end","call_id":"c","turn_id":"t","command":["js_repl"],"cwd":"DIR","parsed_cmd":[{"type":"unknown","cmd":"js_repl"}],"source":"agent","stdout":"","stderr":"boom","aggregated_output":"boom","exit_code":1,"duration":N,"formatted_output":"boom","status":"failed"}
        {"type":"tool_call_failed","call_id":"c","name":"js_repl","why":"the model got the reason"}
        => boom
    "#]]
    .assert_eq(&format!("{}\"duration\":N{}", &shown[..duration], &shown[after..]));
}

#[test]
fn wrong_input_runs_nothing() {
    check_played(
        &["// codex-js-repl: k=1\ncount", ""],
        &expect![[r#"
            => js_repl pragma only supports timeout_ms; got `k`
            => js_repl expects raw JavaScript source and got none; the first line may be `// codex-js-repl: ...`
        "#]],
    );
    let calls = [function("js_repl", r#"{"code":"count","k":1}"#), function("js_repl", "{}")];
    expect![[r#"
        => failed to parse function arguments: unknown field `k`, expected `code` or `timeout_ms` at line 1 column 19
        => failed to parse function arguments: missing field `code` at line 1 column 2
    "#]]
    .assert_eq(&answers(&played(), &calls));
}

#[test]
fn a_node_that_is_none_is_said() {
    let mut bench = bench(Path::new("/usr/bin/false"));
    bench.situation.children.environment.clear();
    let shown = answers(&bench, &[custom("js_repl", "count")]);
    assert!(shown.starts_with("=> failed to read Node version (status exit status: 1)"), "{shown}");
    bench.node_paths.clear();
    expect![[r#"
        => Node runtime not found; install Node or set CODEX_JS_REPL_NODE_PATH
    "#]]
    .assert_eq(&answers(&bench, &[custom("js_repl", "count")]));
}

#[test]
fn a_kernel_is_started_with_the_options_it_needs() {
    let bench = played();
    let shown = answers(&bench, &[custom("js_repl", "where")]);
    let home = bench.home.path().join("js_repl");
    assert!(shown.contains(&format!("{} --experimental-vm-modules ", home.display())), "{shown}");
    assert!(shown.contains("/kernel.mjs"), "{shown}");
}

#[test]
fn a_kernel_that_may_do_other_things_is_not_used() {
    let bench = played();
    let before = bench.situation.clone();
    let mut after = before.clone();
    let network_access = pellucid_protocol::settings::NetworkAccess::Enabled;
    after.sandbox_policy = SandboxPolicy::ExternalSandbox { network_access };
    let count = custom("js_repl", "count");
    let shown = bench.show_each(&[(&before, &count), (&before, &count), (&after, &count)]);
    let counts: Vec<_> = shown.lines().filter(|line| line.starts_with("=>")).collect();
    assert_eq!(counts, ["1", "2", "1"].map(|n| format!("=> Ok(Parts([InputText {{ text: \"{n}\" }}]))")));
}

/// A Node that will do, if there is one.
fn node() -> Option<PathBuf> {
    let named: Vec<_> = std::env::var_os("CODEX_JS_REPL_NODE_PATH").map(PathBuf::from).into_iter().collect();
    let found = super::node::find(&named, std::env::var_os("PATH").as_deref()).ok();
    let version = found.as_ref().and_then(|node| Command::new(node).arg("--version").output().ok());
    let will_do = version.is_some_and(|ran| super::node::will_do(String::from_utf8_lossy(&ran.stdout).trim()));
    if !will_do {
        eprintln!("skipped: no Node that is new enough; name one with CODEX_JS_REPL_NODE_PATH");
    }
    found.filter(|_| will_do)
}

#[track_caller]
fn check_javascript(pieces: &[&str], expected: &Expect) {
    let Some(node) = node() else { return };
    let calls: Vec<_> = pieces.iter().map(|piece| custom("js_repl", piece)).collect();
    expected.assert_eq(&answers(&bench(&node), &calls));
}

#[test]
fn bindings_stay_and_keep_their_kind() {
    check_javascript(
        &[
            "let x = 1; const y = 2; var z = 3; function f() { return x } class C {}; const { a, b: [c] } = { a: 1, b: [2] }",
            "x = 5; console.log(x, y, z, f(), typeof C, a, c)",
            "console.log(x)",
            "y = 3",
            "const x = 9",
            "function f() {}",
            "var z = 4; console.log(z)",
            "let q = 1; throw new Error('boom')",
            "console.log(typeof q, `let s = ${1}`, /let r/.source); { let inner } const g = ({ p }) => p",
            "console.log(typeof s, typeof r, typeof inner, typeof p, g({ p: await 7 }))",
        ],
        &expect![[r#"
            => Ok(Parts([InputText { text: "" }]))
            => Ok(Parts([InputText { text: "5 2 3 1 function 1 2" }]))
            => Ok(Parts([InputText { text: "5" }]))
            => Assignment to constant variable.
            => Identifier 'x' has already been declared
            => Identifier 'f' has already been declared
            => Ok(Parts([InputText { text: "4" }]))
            => boom
            => Ok(Parts([InputText { text: "undefined let s = 1 let r" }]))
            => Ok(Parts([InputText { text: "undefined undefined undefined undefined 7" }]))
        "#]],
    );
}

#[test]
fn what_is_printed_is_the_result() {
    check_javascript(
        &[
            "console.log('a', 1, { b: [2] }); console.error('c'); console.table([{ d: 1 }])",
            "1 + 1",
            "throw 'text'",
            "throw null",
            "syntax error",
            "setImmediate(() => console.log('late'))",
            "await new Promise(setImmediate); console.log('now')",
        ],
        &expect![[r#"
            => Ok(Parts([InputText { text: "a 1 { b: [ 2 ] }\nc\n┌─────────┬───┐\n│ (index) │ d │\n├─────────┼───┤\n│ 0       │ 1 │\n└─────────┴───┘" }]))
            => Ok(Parts([InputText { text: "" }]))
            => text
            => null
            => Unexpected identifier 'error'
            => Ok(Parts([InputText { text: "" }]))
            => Ok(Parts([InputText { text: "late\nnow" }]))
        "#]],
    );
}

#[test]
fn modules_are_loaded_but_for_a_few() {
    check_javascript(
        &[
            "const { writeFileSync } = await import('node:fs'); writeFileSync('m.mjs', 'export default 7')",
            "console.log((await import('./m.mjs')).default)",
            "await import('node:process')",
            "await import('child_process')",
            "await import('worker_threads')",
            "import fs from 'fs'",
            "console.log(typeof process, typeof require)",
        ],
        &expect![[r#"
            => Ok(Parts([InputText { text: "" }]))
            => Ok(Parts([InputText { text: "7" }]))
            => Importing module "node:process" is not allowed in js_repl
            => Importing module "child_process" is not allowed in js_repl
            => Importing module "worker_threads" is not allowed in js_repl
            => Static imports are not supported in js_repl; use await import("fs") instead
            => Ok(Parts([InputText { text: "undefined undefined" }]))
        "#]],
    );
}

#[test]
fn a_piece_has_tools_state_and_a_folder() {
    check_javascript(
        &[
            "codex.state.n = 1; console.log(Object.keys(codex))",
            "console.log(codex.state, (await import('fs')).statSync(codex.tmpDir).isDirectory())",
            "const plan = await codex.tool('update_plan', { plan: [{ step: 'one', status: 'pending' }] }); console.log(plan.output)",
            "console.log((await codex.tool('nope')).output)",
            "const both = await Promise.all([1, 2].map((n) => codex.tool('list_dir', { n }))); console.log(both.length)",
            "await codex.tool('js_repl', {})",
            "await codex.tool()",
        ],
        &expect![[r#"
            => Ok(Parts([InputText { text: "[ 'state', 'tmpDir', 'tool' ]" }]))
            => Ok(Parts([InputText { text: "{ n: 1 } true" }]))
            => Ok(Parts([InputText { text: "Plan updated" }]))
            => Ok(Parts([InputText { text: "unsupported call: nope" }]))
            => Ok(Parts([InputText { text: "2" }]))
            => js_repl cannot invoke itself
            => codex.tool expects a tool name string
        "#]],
    );
}

#[test]
fn a_kernel_that_breaks_is_replaced() {
    let Some(node) = node() else { return };
    let pieces =
        ["let x = 1", "setImmediate(() => { throw new Error('late') }); await new Promise(() => {})", "typeof x"];
    let calls = pieces.map(|piece| custom("js_repl", piece));
    let shown = answers(&bench(&node), &calls);
    assert!(shown.contains("js_repl kernel exited unexpectedly"), "{shown}");
    assert!(shown.contains("Error: late"), "{shown}");
    assert!(shown.ends_with("=> Ok(Parts([InputText { text: \"\" }]))\n"), "{shown}");
}

#[test]
fn endless_code_and_endless_output_end() {
    check_javascript(
        &["// codex-js-repl: timeout_ms=1\nwhile (true) {}", "console.log(1)"],
        &expect![[r#"
            => js_repl execution timed out; kernel reset, rerun your request
            => Ok(Parts([InputText { text: "1" }]))
        "#]],
    );
    let Some(node) = node() else { return };
    let call = custom("js_repl", "for (let i = 0; i < 40; i++) console.log('x'.repeat(100_000))");
    let shown = answers(&bench(&node), &[call]);
    assert!(shown.len() < 1_100_000);
    assert!(shown.contains("characters left out]"));
}
