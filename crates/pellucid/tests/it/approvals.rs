//! Rules about commands, and what is decided by them.

use expect_test::Expect;
use expect_test::expect;

use crate::World;

const RULES: &str = "prefix_rule(pattern=[\"touch\"], decision=\"allow\")\nprefix_rule(pattern=[\"git\", [\"push\", \"pull\"]], decision=\"prompt\", justification=\"Others see it.\")\nprefix_rule(pattern=[\"git\", \"push\", \"-f\"], decision=\"forbidden\")\n";

/// Runs with these files and shows status and both outputs.
#[track_caller]
fn check_run(files: &[(&str, &str)], args: &[&str], expected: &Expect) {
    let world = World::new("");
    for (path, text) in files {
        world.files.write(path, text);
    }
    let root = world.files.root().display().to_string();
    let ran = world.run(args);
    expected.assert_eq(&format!("{}\n{}{}", ran.status, ran.out(), ran.stderr).replace(&root, "ROOT"));
}

#[test]
fn rules_are_checked_against_a_command() {
    let files = [("work/a.rules", RULES)];
    let check = |args: &[&str], expected: &Expect| {
        let args: Vec<&str> = ["execpolicy", "check", "--rules", "a.rules"].iter().chain(args).copied().collect();
        check_run(&files, &args, expected);
    };
    check(
        &["git", "push", "-f", "--x"],
        &expect![[r#"
        0
        {"matchedRules":[{"prefixRuleMatch":{"matchedPrefix":["git","push"],"decision":"prompt","justification":"Others see it."}},{"prefixRuleMatch":{"matchedPrefix":["git","push","-f"],"decision":"forbidden"}}],"decision":"forbidden"}
    "#]],
    );
    check(
        &["ls"],
        &expect![[r#"
        0
        {"matchedRules":[]}
    "#]],
    );
    check(
        &["--pretty", "touch", "a"],
        &expect![[r#"
        0
        {
          "matchedRules": [
            {
              "prefixRuleMatch": {
                "matchedPrefix": [
                  "touch"
                ],
                "decision": "allow"
              }
            }
          ],
          "decision": "allow"
        }
    "#]],
    );
    check(
        &["bash", "-c", "touch a"],
        &expect![[r#"
        0
        {"matchedRules":[]}
    "#]],
    );
}

#[test]
fn rules_that_cannot_be_used_say_why() {
    check_run(
        &[],
        &["execpolicy", "check", "-r", "none.rules", "ls"],
        &expect![[r#"
        1
        error: could not read none.rules
          caused by: No such file or directory (os error 2)
    "#]],
    );
    let wrong = [("work/a.rules", "\nprefix_rule(pattern=[])\n")];
    check_run(
        &wrong,
        &["execpolicy", "check", "-r", "a.rules", "ls"],
        &expect![[r#"
        1
        error: could not parse a.rules
          caused by: starlark error: Traceback (most recent call last):
              * a.rules:2, in <module>
                  prefix_rule(pattern=[])
            error: invalid pattern element: pattern cannot be empty
             --> a.rules:2:1
              |
            2 | prefix_rule(pattern=[])
              | ^^^^^^^^^^^^^^^^^^^^^^^
              |
    "#]],
    );
    let wrong = [("home/rules/default.rules", "prefix_rule(pattern=[], decision=\"maybe\")\n")];
    check_run(
        &wrong,
        &["exec", "hi"],
        &expect![[r#"
        1
        error: the rules cannot be loaded:
        ROOT/home/rules/default.rules:1: error: invalid decision: maybe (problem is on or around line 1)
    "#]],
    );
    check_run(
        &wrong,
        &["prompt"],
        &expect![[r#"
        1
        error: the rules cannot be loaded:
        ROOT/home/rules/default.rules:1: error: invalid decision: maybe (problem is on or around line 1)
    "#]],
    );
}

#[test]
fn a_decision_is_explained_by_rule_file_and_line() {
    let files = [("home/rules/default.rules", RULES)];
    check_run(
        &files,
        &["approvals", "explain", "--", "git", "push", "-f"],
        &expect![[r#"
        0
        git push -f
        under approval policy on-request and sandbox read-only
        reject: `git push -f` rejected: policy forbids commands starting with `git push -f`
        taken apart: no, it is not a shell script
          git push -f: forbidden
            ROOT/home/rules/default.rules:2: prefix_rule(pattern=["git", ["push", "pull"]], decision="prompt", justification="Others see it.")
            ROOT/home/rules/default.rules:3: prefix_rule(pattern=["git", "push", "-f"], decision="forbidden")
        what would change it:
          - changing or removing the rule at ROOT/home/rules/default.rules:3
    "#]],
    );
    check_run(
        &files,
        &["approvals", "explain", "-a", "never", "--", "bash", "-lc", "ls && git pull"],
        &expect![[r#"
        0
        bash -lc 'ls && git pull'
        under approval policy never and sandbox read-only
        reject: approval required by policy, but AskForApproval is set to Never
        taken apart: yes, its script consists of plain commands
          ls: allow
            no rule matches; it is known to only read
          git pull: prompt
            ROOT/home/rules/default.rules:2: prefix_rule(pattern=["git", ["push", "pull"]], decision="prompt", justification="Others see it.")
        what would change it:
          - changing or removing the rule at ROOT/home/rules/default.rules:2
          - an approval policy other than never, so that a person can be asked
    "#]],
    );
    check_run(
        &files,
        &["approvals", "explain", "--json", "bash", "-lc", "touch a > b"],
        &expect![[r#"
            0
            {
              "command": [
                "bash",
                "-lc",
                "touch a > b"
              ],
              "approval_policy": "on-request",
              "sandbox_mode": "read-only",
              "outcome": "run",
              "what": "it runs in the sandbox: no rule that allows counts for `touch a`, as there is a redirection in the script",
              "split": "a single command; what redirects or assigns is passed over, so it is never known to be safe",
              "parts": [
                {
                  "command": [
                    "touch",
                    "a"
                  ],
                  "decision": "allow",
                  "rules": [],
                  "ignored": [
                    {
                      "place": "ROOT/home/rules/default.rules:1",
                      "rule": "prefix_rule(pattern=[\"touch\"], decision=\"allow\")"
                    }
                  ],
                  "ignored_because": "there is a redirection in the script",
                  "heuristic": "the approval policy asks when the model does, and it does not"
                }
              ],
              "changes": [
                "a script without a redirection, or the model's asking for escalated permissions, to leave the sandbox"
              ],
              "in_exec": "run",
              "ignored_rules": [],
              "unread_files": [],
              "unusable_rules": []
            }
        "#]],
    );
    check_run(
        &files,
        &["approvals", "explain", "-a", "never", "--escalated", "make", "x"],
        &expect![[r#"
        0
        make x
        under approval policy never and sandbox read-only
        reject: approval policy is Never; reject command — you should not ask for escalated permissions if the approval policy is Never
    "#]],
    );
    check_run(
        &files,
        &[
            "approvals",
            "explain",
            "--sandbox",
            "danger-full-access",
            "-c",
            "approval_policy=untrusted",
            "bash",
            "-lc",
            "echo $A",
        ],
        &expect![[r#"
            0
            bash -lc 'echo $A'
            under approval policy untrusted and sandbox danger-full-access
            ask: if allowed, it runs without a sandbox, as the settings have none
            taken apart: no, there is more in its script than plain commands, so it is judged as a whole
              bash -lc 'echo $A': prompt
                no rule matches; the approval policy asks about all that is not known to only read
            rule you could save: prefix_rule(pattern=["bash", "-lc", "echo $A"], decision="allow")
            what would change it:
              - the rule prefix_rule(pattern=["bash", "-lc", "echo $A"], decision="allow")
              - another approval policy than untrusted
              - allowing it for the session when asked
            in `pellucid exec`, which never asks: run: it runs without a sandbox, as the settings have none
        "#]],
    );
}

#[test]
fn a_project_that_is_not_trusted_cannot_allow_its_own_commands() {
    let rules = "prefix_rule(pattern=[\"make\"])\nprefix_rule(pattern=[\"rm\"], decision=\"forbidden\")\n";
    let files = [("work/.codex/rules/a.rules", rules)];
    check_run(
        &files,
        &["approvals", "explain", "bash", "-lc", "make && rm x"],
        &expect![[r#"
        0
        bash -lc 'make && rm x'
        under approval policy on-request and sandbox read-only
        reject: `bash -lc 'make && rm x'` rejected: policy forbids commands starting with `rm`
        taken apart: yes, its script consists of plain commands
          make: allow
            no rule matches; the approval policy asks when the model does, and it does not
          rm x: forbidden
            ROOT/work/.codex/rules/a.rules:2: prefix_rule(pattern=["rm"], decision="forbidden")
        what would change it:
          - changing or removing the rule at ROOT/work/.codex/rules/a.rules:2
        note: ROOT/work/.codex/rules/a.rules:1: a rule that allows does not count, as the project is not trusted: prefix_rule(pattern=["make"], decision="allow")
    "#]],
    );
    check_run(
        &files,
        &["approvals", "explain", "--json", "--", "make", "x"],
        &expect![[r#"
            0
            {
              "command": [
                "make",
                "x"
              ],
              "approval_policy": "on-request",
              "sandbox_mode": "read-only",
              "outcome": "run",
              "what": "it runs in the sandbox",
              "split": "no, it is not a shell script",
              "parts": [
                {
                  "command": [
                    "make",
                    "x"
                  ],
                  "decision": "allow",
                  "rules": [],
                  "heuristic": "the approval policy asks when the model does, and it does not"
                }
              ],
              "changes": [
                "the rule prefix_rule(pattern=[\"make\", \"x\"], decision=\"allow\"), or the model's asking for escalated permissions, to leave the sandbox"
              ],
              "in_exec": "run",
              "ignored_rules": [
                {
                  "place": "ROOT/work/.codex/rules/a.rules:1",
                  "rule": "prefix_rule(pattern=[\"make\"], decision=\"allow\")",
                  "why": "a rule that allows does not count, as the project is not trusted"
                }
              ],
              "unread_files": [],
              "unusable_rules": []
            }
        "#]],
    );
}
