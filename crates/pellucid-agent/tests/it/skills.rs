//! Skills in a session: where they are found, what a turn brings in, and what a person hears.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use expect_test::Expect;
use expect_test::expect;
use pellucid_agent::child::StartedBy;
use pellucid_agent::context_events::ContextEvents;
use pellucid_agent::crew::Crew;
use pellucid_agent::door;
use pellucid_agent::frames::SharedFrames;
use pellucid_agent::gather;
use pellucid_agent::gather::FactSources;
use pellucid_agent::identity;
use pellucid_agent::identity::ClientIdentity;
use pellucid_agent::phases::Phases;
use pellucid_agent::session::Beginning;
use pellucid_agent::session::Session;
use pellucid_agent::session::Setup;
use pellucid_agent::telemetry::Telemetry;
use pellucid_config::Env;
use pellucid_config::LoadOptions;
use pellucid_engine::pack::Pack;
use pellucid_model::Model;
use pellucid_model::Script;
use pellucid_protocol::event::Event;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::RawItems;
use pellucid_protocol::event::RawReasoning;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::Submission;
use pellucid_protocol::provider::Provider;
use pellucid_protocol::question::UserAnswer;
use pellucid_protocol::question::UserAnswers;
use pellucid_store::recorder::Recorder;
use pellucid_store::side::SideFile;
use serde_json::Value;
use tempfile::TempDir;

/// A machine with a project, a home and a user.
struct World {
    _folder: TempDir,
    root: PathBuf,
}

impl World {
    fn new(skills: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let world = Self { _folder: folder, root };
        world.write("work/.git/HEAD", "ref: refs/heads/main\n");
        world.write("state/config.toml", "");
        for skill in skills {
            world.skill(skill);
        }
        world
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A skill named like its folder.
    fn skill(&self, folder: &str) {
        let name = Path::new(folder).file_name().unwrap().to_str().unwrap();
        let head = format!("---\nname: {name}\ndescription: About {name}.\n---\nBody of {name}.\n");
        self.write(&format!("{folder}/SKILL.md"), &head);
    }

    fn session(&self) -> Session {
        self.session_of("exec", "[[reply]]\nsay = \"One.\"\n[[reply]]\nsay = \"Two.\"\n")
    }

    /// A session of this client, whose model says what a script says.
    fn session_of(&self, client: &'static str, script: &str) -> Session {
        let env = Env::from_pairs([("HOME", self.root.join("user").to_str().unwrap())]);
        let mut options = LoadOptions::new(self.root.join("work"), self.root.join("state"), env.clone());
        options.system.config = self.root.join("system/config.toml");
        let config = pellucid_config::load(&options).unwrap();
        let script = Script::parse("script.toml", script).unwrap();
        let identity = ClientIdentity::new("test", &env);
        let sources = FactSources::new(config, env);
        Session::open(
            Setup {
                origin: StartedBy::Client(client),
                side: SideFile::default(),
                crew: Crew::default(),
                session_id: identity::new_session_id(),
                pack: Pack::builtin("codex").unwrap().into(),
                gathered: gather::gather(&sources),
                sources,
                provider_id: "scripted".to_owned(),
                provider: Provider::default(),
                model: Model::scripted(script),
                identity,
                phases: Phases::default(),
                telemetry: Telemetry::default(),
                frames: SharedFrames::default(),
                raw_reasoning: RawReasoning::Hidden,
                raw_items: RawItems::Hidden,
                compact_prompt: None,
                context_events: ContextEvents::default(),
                notices: Vec::new(),
            },
            Recorder::none(),
            Beginning::Nothing,
        )
        .unwrap()
    }
}

/// Runs turns, doing something before each, and shows their events, what each said, and what is
/// sent in the end.
async fn run(world: &World, session: Session, turns: Vec<(&dyn Fn(), Vec<UserInput>)>) -> String {
    let (door::Door { submissions, mut events, .. }, inside) = door::open(&session);
    let mut shown = String::new();
    let client = async {
        for (before, items) in turns {
            before();
            let operation = Operation::UserInput { items, final_output_json_schema: None };
            submissions.send(Submission { id: identity::new_turn_id(), operation }).await.unwrap();
            while let Some(Event { msg, .. }) = events.recv().await {
                match msg {
                    EventMessage::TaskStarted { .. } => shown += "turn\n",
                    EventMessage::UserMessage { .. } => shown += "user message\n",
                    EventMessage::Warning { message } => shown += &format!("warning: {message}\n"),
                    EventMessage::TaskComplete { .. } => break,
                    _ => {}
                }
            }
        }
        submissions.send(Submission { id: identity::new_turn_id(), operation: Operation::Shutdown }).await.unwrap();
        while events.recv().await.is_some() {}
    };
    let (mut session, ()) = tokio::join!(door::run(session, inside), client);
    let frame = session.frame(None);
    let body: Value = serde_json::from_slice(&session.request(&frame).body()).unwrap();
    for item in body["input"].as_array().unwrap() {
        let text = item["content"][0]["text"].as_str().unwrap();
        let first = text.lines().nth(if text.starts_with("<skill>") { 1 } else { 0 }).unwrap();
        shown += &format!("{} {first}\n", item["role"].as_str().unwrap());
    }
    shown.replace(world.root.to_str().unwrap(), "$")
}

#[track_caller]
fn check_turns(world: &World, session: Session, turns: Vec<(&dyn Fn(), Vec<UserInput>)>, expected: &Expect) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    expected.assert_eq(&runtime.block_on(run(world, session, turns)));
}

#[test]
fn skills_are_found_in_every_place_even_if_the_project_is_not_trusted() {
    let world = World::new(&[
        "work/.codex/skills/repo-codex",
        "work/.agents/skills/repo-agents",
        "state/skills/home",
        "state/skills/.system/own",
        "user/.agents/skills/user",
        "system/skills/machine",
        "elsewhere/skills/nobody",
    ]);
    world.write("work/.codex/config.toml", "model = \"other\"\n");
    let off = world.root.join("state/skills/home/SKILL.md");
    world.write("state/config.toml", &format!("[[skills.config]]\npath = {off:?}\nenabled = false\n"));
    let session = world.session();
    let shown: String = (session.facts().world.skills.all().iter())
        .map(|skill| format!("{} {} {}\n", skill.scope.as_str(), skill.name, skill.is_enabled()))
        .collect();
    expect![[r#"
        repo repo-agents true
        repo repo-codex true
        user home false
        user user true
        system own true
        admin machine true
    "#]]
    .assert_eq(&shown);
}

#[test]
fn skills_follow_the_message_and_one_that_is_gone_is_told_before_it() {
    let world = World::new(&["state/skills/gone", "state/skills/here"]);
    let session = world.session();
    let remove = || fs::remove_dir_all(world.root.join("state/skills/gone")).unwrap();
    let turns: Vec<(&dyn Fn(), _)> = vec![(&remove, vec![UserInput::text("Use $here and $gone.")])];
    check_turns(
        &world,
        session,
        turns,
        &expect![[r#"
        turn
        warning: failed to load skill gone at $/state/skills/gone/SKILL.md: No such file or directory (os error 2)
        user message
        developer <permissions instructions>
        user # AGENTS.md instructions for $/work
        user <environment_context>
        user Use $here and $gone.
        user <name>here</name>
        assistant One.
    "#]],
    );
}

#[test]
fn a_later_turn_sees_skills_that_came_or_went() {
    let world = World::new(&["state/skills/old"]);
    let session = world.session();
    let nothing = || {};
    let change = || {
        fs::remove_dir_all(world.root.join("state/skills/old")).unwrap();
        world.skill("state/skills/new");
    };
    let turns: Vec<(&dyn Fn(), _)> =
        vec![(&nothing, vec![UserInput::text("Use $old.")]), (&change, vec![UserInput::text("Use $old and $new.")])];
    check_turns(
        &world,
        session,
        turns,
        &expect![[r#"
        turn
        user message
        turn
        user message
        developer <permissions instructions>
        user # AGENTS.md instructions for $/work
        user <environment_context>
        user Use $old.
        user <name>old</name>
        assistant One.
        user Use $old and $new.
        user <name>new</name>
        assistant Two.
    "#]],
    );
}

#[test]
fn a_skill_chosen_by_hand_needs_no_text() {
    let world = World::new(&["work/.codex/skills/tidy"]);
    let session = world.session();
    let path = world.root.join("work/.codex/skills/tidy/SKILL.md");
    let nothing = || {};
    let chosen = UserInput::Skill { name: "tidy".to_owned(), path };
    let turns: Vec<(&dyn Fn(), _)> = vec![(&nothing, vec![UserInput::text("Please."), chosen])];
    check_turns(
        &world,
        session,
        turns,
        &expect![[r#"
        turn
        user message
        developer <permissions instructions>
        user # AGENTS.md instructions for $/work
        user <environment_context>
        user Please.
        user <name>tidy</name>
        assistant One.
    "#]],
    );
}

/// A session of a client with somebody behind it, whose model runs a command that prints the variable.
fn session_with_variable(world: &World) -> Session {
    world.skill("work/.codex/skills/deploy");
    let metadata =
        "dependencies:\n  tools:\n    - type: env_var\n      value: DEPLOY_KEY\n      description: The key.\n";
    world.write("work/.codex/skills/deploy/agents/openai.yaml", metadata);
    let config = "sandbox_mode = \"danger-full-access\"\n[features]\nskill_env_var_dependency_prompt = true\nunified_exec = false\n";
    world.write("state/config.toml", config);
    let call = "[[reply]]\ncall = [{ name = \"shell\", args = { command = [\"/bin/sh\", \"-c\", \"test \\\"$DEPLOY_KEY\\\" = s3cret && echo matches\"] } }]\n";
    world.session_of("vscode", &format!("{call}[[reply]]\nsay = \"Done.\"\n"))
}

#[test]
fn a_person_is_asked_for_a_variable_and_commands_see_it() {
    let world = World::new(&[]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (said, expected) in [("user_note: s3cret ", 0), ("s3cret", 1)] {
        let session = session_with_variable(&world);
        let (door::Door { submissions, mut events, .. }, inside) = door::open(&session);
        let client = async {
            let operation =
                Operation::UserInput { items: vec![UserInput::text("$deploy it")], final_output_json_schema: None };
            submissions.send(Submission { id: identity::new_turn_id(), operation }).await.unwrap();
            let (mut order, mut exit_code) = (Vec::new(), None);
            while let Some(Event { id, msg }) = events.recv().await {
                match msg {
                    EventMessage::RequestUserInput(asked) => {
                        order.push("asked");
                        assert_eq!(asked.call_id, format!("skill-deps-{id}"));
                        let question = &asked.questions[0];
                        assert_eq!(
                            (question.id.as_str(), question.is_secret, &question.options),
                            ("DEPLOY_KEY", true, &None)
                        );
                        assert!(question.question.contains("deploy") && question.question.contains("The key."));
                        let answer = UserAnswer { answers: vec![said.to_owned()] };
                        let response = UserAnswers { answers: BTreeMap::from([("DEPLOY_KEY".to_owned(), answer)]) };
                        let operation = Operation::UserInputAnswer { id: asked.turn_id, response };
                        submissions.send(Submission { id: identity::new_turn_id(), operation }).await.unwrap();
                    }
                    EventMessage::UserMessage { .. } => order.push("said"),
                    EventMessage::ExecCommandEnd(end) => exit_code = Some(end.exit_code),
                    EventMessage::TaskComplete { .. } => break,
                    _ => {}
                }
            }
            submissions.send(Submission { id: identity::new_turn_id(), operation: Operation::Shutdown }).await.unwrap();
            while events.recv().await.is_some() {}
            (order, exit_code)
        };
        let (session, (order, exit_code)) =
            runtime.block_on(async { tokio::join!(door::run(session, inside), client) });
        assert_eq!(order, ["asked", "said"]);
        assert_eq!(exit_code, Some(expected), "{said}");
        assert!(!format!("{session:?}").contains("\"s3cret\""), "the value is not shown");
    }
}
