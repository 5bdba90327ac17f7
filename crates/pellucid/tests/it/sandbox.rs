//! `doctor` and `sandbox`.

use expect_test::expect;
use serde_json::Value;

use crate::World;

fn doctor(world: &World, args: &[&str]) -> (i32, Value) {
    let ran = world.run(&[&["doctor", "--json"], args].concat());
    (ran.status, serde_json::from_str(ran.out()).unwrap())
}

#[test]
fn a_key_that_is_missing_is_a_problem_and_one_that_is_there_is_not_shown() {
    let world = World::new("");
    let (status, found) = doctor(&world, &[]);
    assert_eq!((status, &found["ok"], &found["model"]["key"]), (1, &false.into(), &"missing".into()));

    let key = "model_providers.x={name='X',base_url='http://127.0.0.1:9',experimental_bearer_token='not-to-be-seen'}";
    let ran = world.run(&["doctor", "--json", "-c", "model_provider=x", "-c", key]);
    assert!(!ran.out().contains("not-to-be-seen"));
    let found: Value = serde_json::from_str(ran.out()).unwrap();
    assert_eq!(found["model"]["key"], "present");
}

#[test]
fn a_configuration_that_cannot_be_used_is_a_finding() {
    let world = World::new("");
    world.files.write("home/config.toml", "model = 5\n");
    let ran = world.run(&["doctor"]);
    assert_eq!(ran.status, 1);
    assert!(ran.out().contains("problem  configuration  it cannot be used"), "{}", ran.out());
    assert!(ran.out().contains("invalid type: integer `5`"), "{}", ran.out());
}

#[cfg(target_os = "linux")]
#[test]
fn every_backend_is_named_with_its_state_and_limits() {
    let world = World::new("");
    let (_, found) = doctor(&world, &["-c", "sandbox_protect=false"]);
    let backends = found["sandbox"]["backends"].as_array().unwrap();
    let names: Vec<_> = backends.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["namespaces", "bubblewrap", "landlock"]);
    let works: Vec<_> = backends.iter().filter(|it| it["state"] == "works").map(|it| &it["name"]).collect();
    match works.first() {
        Some(strongest) => {
            assert_eq!(&&found["sandbox"]["chosen"], strongest);
            assert_eq!(found["sandbox"]["limits"][0]["id"], "protection-off");
        }
        // Nothing works on this machine; then that is a problem, and nothing is chosen.
        None => {
            assert_eq!((&found["sandbox"]["chosen"], &found["sandbox"]["state"]), (&Value::Null, &"problem".into()));
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_runs_confined_and_its_status_is_ours() {
    let world = World::new("");
    let (_, found) = doctor(&world, &[]);
    if found["sandbox"]["chosen"].is_null() {
        println!("skipped: no sandbox works on this machine");
        return;
    }
    let read_only = world.run(&["sandbox", "linux", "--", "sh", "-c", "echo $0; echo x > file; exit 7", "--full-auto"]);
    assert_eq!((read_only.status, read_only.out()), (7, "--full-auto\n"));
    let text = "mkdir -p src; echo $CODEX_SANDBOX_NETWORK_DISABLED; echo x > .git/config";
    let writing = world.run(&["sandbox", "landlock", "--full-auto", "sh", "-c", text]);
    assert_eq!(writing.out(), "1\n");
    assert_ne!(writing.status, 0);
}

#[test]
fn a_sandbox_of_another_system_is_refused() {
    let other = if cfg!(target_os = "macos") { "linux" } else { "macos" };
    let ran = World::new("").run(&["sandbox", other, "--", "true"]);
    assert_eq!(ran.status, 1);
    let text = ran.stderr.replace(std::env::consts::OS, "OS");
    if cfg!(target_os = "linux") {
        expect![[r#"
            error: this sandbox is macOS's and this is OS; `pellucid doctor` shows what works here
        "#]]
        .assert_eq(&text);
    }
}
