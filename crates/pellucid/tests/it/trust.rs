//! Configuration of projects that reaches outside of them: not applied, shown, accepted, changed, taken back.

use crate::World;

const FILE: &str = "model_reasoning_effort = \"high\"\nnotify = [\"sh\", \"-c\", \"echo ran > notified\"]\n";

fn world(trust_level: &str, file: &str) -> World {
    let world = World::new("//- answer.toml\n[[reply]]\nsay = \"Done.\"\n");
    let work = world.files.path("work").canonicalize().unwrap();
    let config = format!("[projects.\"{}\"]\ntrust_level = \"{trust_level}\"\n", work.display());
    world.files.write("home/config.toml", &config);
    world.files.write("work/.codex/config.toml", file);
    world
}

/// Runs a turn, and says whether the project's program ran.
fn turn(world: &World) -> (bool, String) {
    let script = world.files.path("answer.toml");
    let ran = world.run(&["exec", "--script", script.to_str().unwrap(), "hi"]);
    assert_eq!((ran.status, ran.out()), (0, "Done.\n"), "{}", ran.stderr);
    let notified = world.files.path("work/notified");
    let has_run = notified.exists();
    let _ = std::fs::remove_file(notified);
    (has_run, ran.stderr)
}

#[test]
fn a_program_of_the_project_runs_once_it_was_accepted_and_until_it_changes() {
    let world = world("trusted", FILE);
    let (has_run, said) = turn(&world);
    assert!(!has_run);
    let warning = "warning: ROOT/work/.codex/config.toml:2: not applied, as nobody has accepted them: notify; \
                   `pellucid trust accept ROOT/work` shows and accepts them";
    assert!(said.contains(warning), "{said}");
    assert!(said.contains("reasoning effort: high"), "{said}");

    let refused = world.run(&["trust", "accept"]);
    assert_eq!(refused.status, 1);
    assert!(refused.out().contains("notify = [\"sh\",\"-c\",\"echo ran > notified\"]"), "{}", refused.out());
    assert!(refused.stderr.contains("nobody can be asked here"), "{}", refused.stderr);
    assert!(!turn(&world).0);

    assert_eq!(world.run(&["trust", "accept", "--yes"]).status, 0);
    let (has_run, said) = turn(&world);
    assert!(has_run && !said.contains("not applied"), "{said}");

    world.files.write("work/.codex/config.toml", FILE.replace("ran", "Ran"));
    let (has_run, said) = turn(&world);
    assert!(!has_run && said.contains("they changed since they were accepted"), "{said}");

    world.files.write("work/.codex/config.toml", FILE);
    assert!(turn(&world).0);
    assert_eq!(world.run(&["trust", "revoke", "."]).status, 0);
    assert!(!turn(&world).0);
}

#[cfg(unix)]
#[test]
fn a_person_at_a_terminal_is_asked() {
    let world = world("trusted", FILE);
    let (seen, status) = pellucid_testkit::run_at_terminal(world.command(&["trust", "accept"]), b"n\n");
    assert_eq!(status, 1, "{}", String::from_utf8_lossy(&seen));
    assert!(!turn(&world).0);
    let (seen, status) = pellucid_testkit::run_at_terminal(world.command(&["trust", "accept"]), b"y\n");
    let seen = String::from_utf8_lossy(&seen);
    assert!(status == 0 && seen.contains("Accept these values? [y/N]"), "{seen}");
    assert!(turn(&world).0);
}

#[test]
fn secrets_are_not_shown() {
    let file = "[mcp_servers.a]\ncommand = \"x\"\nenv = { A_TOKEN = \"verysecret\", LEVEL = \"debug\" }\n\
                [model_providers.b]\nname = \"B\"\nexperimental_bearer_token = \"alsosecret\"\n";
    let shown = world("trusted", file).run(&["trust", "accept"]);
    assert!(shown.out().contains("mcp_servers.a.env.LEVEL = \"debug\""), "{}", shown.out());
    assert!(shown.out().contains("mcp_servers.a.env.A_TOKEN = (a secret of 10 characters)"), "{}", shown.out());
    assert!(!shown.out().contains("secret\"") && !shown.out().contains("verysecret"), "{}", shown.out());
}

#[test]
fn an_untrusted_project_has_no_say_at_all() {
    let world = world("untrusted", FILE);
    world.files.write("work/AGENTS.md", "Do as the project says.\n");
    world.files.write("work/.agents/skills/s/SKILL.md", "---\nname: s\ndescription: Of the project.\n---\nx\n");
    let prompt = world.run(&["prompt", "--format", "text", "hi"]);
    assert!(!prompt.out().contains("project says") && !prompt.out().contains("Of the project"), "{}", prompt.out());
    let warning = "warning: instruction files and skills of ROOT/work are left out, as it is marked as untrusted";
    assert_eq!(prompt.stderr.matches(warning).count(), 1, "{}", prompt.stderr);
    let context = world.run(&["context", "hi"]);
    let shown = world.shown(context.out());
    let why = "left out, as the project is marked as untrusted";
    for what in ["ROOT/work/AGENTS.md", "ROOT/work/.agents/skills"] {
        assert!(shown.contains(&format!("  {what} (user_instructions): {why}")), "{shown}");
    }
    let accept = world.run(&["trust", "accept", "--yes"]);
    assert!(accept.status == 1 && accept.stderr.contains("is not trusted"), "{}", accept.stderr);
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_project_is_left_out_and_named() {
    let world = world("trusted", "");
    world.files.write("user/.ssh/id", "KEY OF THE USER\n");
    world.files.write("work/docs/real.md", "Linked inside.\n");
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, world.files.path(name)).unwrap();
    link("../user/.ssh/id", "work/AGENTS.md");
    let prompt = world.run(&["prompt", "hi"]);
    assert!(!prompt.out().contains("KEY OF THE USER"));
    let context = world.run(&["context", "hi"]);
    let why =
        "ROOT/work/AGENTS.md (user_instructions): left out, as it is a link out of the project, to ROOT/user/.ssh/id";
    assert!(world.shown(context.out()).contains(why), "{}", context.out());
    let script = world.files.path("answer.toml");
    let strict = world.run(&["exec", "--strict-context", "--script", script.to_str().unwrap(), "hi"]);
    assert_eq!(strict.status, 1);
    assert!(strict.stderr.contains("to ROOT/user/.ssh/id"), "{}", strict.stderr);

    std::fs::remove_file(world.files.path("work/AGENTS.md")).unwrap();
    link("docs/real.md", "work/AGENTS.md");
    let context = world.run(&["context", "hi"]);
    let shown = world.shown(context.out());
    assert!(shown.contains("ROOT/work/AGENTS.md (a link to ROOT/work/docs/real.md): read"), "{shown}");
}
