//! Sessions for tests: opened in a folder, and run to their end.

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
use pellucid_agent::prepare;
use pellucid_agent::session::Beginning;
use pellucid_agent::session::Session;
use pellucid_agent::session::Setup;
use pellucid_agent::telemetry::Telemetry;
use pellucid_config::Env;
use pellucid_config::LoadOptions;
use pellucid_config::SystemPaths;
use pellucid_engine::pack::Pack;
use pellucid_model::Model;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::RawItems;
use pellucid_protocol::event::RawReasoning;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::Submission;
use pellucid_protocol::provider::Provider;
use pellucid_store::recorder::Recorder;
use pellucid_store::side::SideFile;
use pellucid_testkit::MockServer;
use pellucid_testkit::Workspace;
use pellucid_workspace::pack_files;

/// Writes a configuration whose provider is this server.
pub fn configure(files: &Workspace, config: &str, server: &MockServer) {
    let provider = format!(
        "model_provider = \"mock\"\n{config}\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\nstream_max_retries = 0\nrequest_max_retries = 0\n",
        server.base_url()
    );
    files.write("home/config.toml", provider);
}

/// Opens a session with the configuration of `home/` in `work/`.
pub fn open(files: &Workspace, model: impl FnOnce(&Provider) -> Model) -> Session {
    Session::open(setup(files, model), Recorder::none(), Beginning::Nothing).unwrap()
}

/// What such a session is made of.
pub fn setup(files: &Workspace, model: impl FnOnce(&Provider) -> Model) -> Setup {
    setup_with(files, |name| pack_files::load(name, &files.folder("home")).unwrap(), model)
}

/// The same with a pack, given the name of the configured one.
pub fn setup_with(files: &Workspace, pack: impl FnOnce(&str) -> Pack, model: impl FnOnce(&Provider) -> Model) -> Setup {
    let (home, work) = (files.folder("home"), files.folder("work"));
    // Shells find nothing of this machine's user.
    let env = Env::from_pairs([("HOME", &*home.to_string_lossy()), ("PATH", "/usr/bin:/bin")]);
    let mut options = LoadOptions::new(work, home, Env::from_pairs([]));
    options.system = SystemPaths::in_folder(files.root());
    let config = pellucid_config::load(&options).unwrap();
    let (provider_id, provider) = (config.model.provider_id.clone(), config.model.provider.clone());
    let pack = pack(&config.prompt.pack);
    let crew = Crew::new(options);
    let sources = FactSources::new(config, env);
    let mut gathered = gather::gather(&sources);
    prepare::prepare(&mut gathered, &pack, &sources).unwrap();
    Setup {
        origin: StartedBy::Client("exec"),
        side: SideFile::default(),
        crew,
        session_id: identity::new_session_id(),
        pack: pack.into(),
        gathered,
        model: model(&provider),
        sources,
        provider_id,
        provider,
        identity: ClientIdentity::new("test", &Env::from_pairs([])),
        raw_reasoning: RawReasoning::Hidden,
        raw_items: RawItems::Hidden,
        compact_prompt: None,
        phases: Phases::default(),
        telemetry: Telemetry::default(),
        frames: SharedFrames::default(),
        context_events: ContextEvents::default(),
        notices: Vec::new(),
    }
}

/// Runs operations one after the other, and gives the session back with the names of its events.
pub fn run(session: Session, operations: Vec<Operation>) -> (Session, Vec<String>) {
    let (session, events) = run_for_events(session, operations);
    let name = |event: &EventMessage| match event {
        EventMessage::Error { message, .. } => format!("error: {message}"),
        _ => serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned(),
    };
    (session, events.iter().map(name).collect())
}

/// Runs operations one after the other, and gives the session back with its events.
pub fn run_for_events(session: Session, operations: Vec<Operation>) -> (Session, Vec<EventMessage>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (door, inside) = door::open(&session);
        tokio::join!(door::run(session, inside), watch(door, operations))
    })
}

async fn watch(mut door: door::Door, operations: Vec<Operation>) -> Vec<EventMessage> {
    let mut shown = Vec::new();
    for operation in operations.into_iter().chain([Operation::Shutdown]) {
        let is_quiet = matches!(operation, Operation::OverrideTurnContext(_));
        let submission = Submission { id: identity::new_turn_id(), operation };
        door.submissions.send(submission).await.unwrap();
        while !is_quiet && let Some(event) = door.events.recv().await {
            let is_done = matches!(
                event.msg,
                EventMessage::TaskComplete { .. }
                    | EventMessage::TurnAborted { .. }
                    | EventMessage::ThreadRolledBack { .. }
                    | EventMessage::ShutdownComplete
            );
            let is_refused =
                matches!(&event.msg, EventMessage::Error { message, .. } if message.starts_with("num_turns"));
            shown.push(event.msg);
            if is_done || is_refused {
                break;
            }
        }
    }
    shown
}
