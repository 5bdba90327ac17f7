//! Every key of every built-in pack, changed, changes what is sent, left out or decided, or the pack is refused; and so does
//! every text.
//!
//! Not here: what only a running session reads. The tests of the agent answer for it.

#[path = "../common/mutations.rs"]
mod mutations;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use mutations::Files;
use mutations::Home;
use mutations::Mutant;
use mutations::Verdict;
use pellucid_engine::assemble::assemble;
use pellucid_engine::bootstrap::BootstrapFile;
use pellucid_engine::bootstrap::LoadedFiles;
use pellucid_engine::compaction;
use pellucid_engine::compaction::Compaction;
use pellucid_engine::computed::usual_mode;
use pellucid_engine::documents::change;
use pellucid_engine::documents::change::Changed;
use pellucid_engine::documents::change::NewText;
use pellucid_engine::documents::imports::Imported;
use pellucid_engine::facts::Facts;
use pellucid_engine::facts::LoadedImage;
use pellucid_engine::facts::Memory;
use pellucid_engine::facts::PrefixToken;
use pellucid_engine::facts::Provided;
use pellucid_engine::fragment::Omission;
use pellucid_engine::fragment::Origin;
use pellucid_engine::fragment::concat;
use pellucid_engine::injection;
use pellucid_engine::injection::FileRead;
use pellucid_engine::injection::FileText;
use pellucid_engine::injection::InjectionRead;
use pellucid_engine::injection::RepoRead;
use pellucid_engine::mcp::offered;
use pellucid_engine::memories::extraction;
use pellucid_engine::memories::files;
use pellucid_engine::meter::Meter;
use pellucid_engine::notice;
use pellucid_engine::pack::Pack;
use pellucid_engine::pack::SlotRole;
use pellucid_engine::presets::presets;
use pellucid_engine::prompt_sizes::PromptReport;
use pellucid_engine::reinject::again;
use pellucid_engine::reinject::again::AgainState;
use pellucid_engine::request::Frame;
use pellucid_engine::request::WireSettings;
use pellucid_engine::review;
use pellucid_engine::server_input::GivenParts;
use pellucid_engine::skills::Skill;
use pellucid_engine::skills::SkillOwner;
use pellucid_engine::skills::Skills;
use pellucid_engine::skills::Switch;
use pellucid_engine::skills::variables;
use pellucid_engine::skills::variables::NeededVariable;
use pellucid_engine::tool_list::callable;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::Transcript;
use pellucid_engine::turn::RunningTurn;
use pellucid_engine::turn::TurnEvent;
use pellucid_engine::update::FactsChange;
use pellucid_engine::update::updates;
use pellucid_engine::user_message::user_message;
use pellucid_protocol::dynamic_tool::DynamicTool;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;
use pellucid_protocol::mcp::McpTool;
use pellucid_protocol::model::ApplyPatchType;
use pellucid_protocol::model::ShellType;
use pellucid_protocol::project_docs::Cut;
use pellucid_protocol::project_docs::ProjectDocs;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::review::ReviewOutput;
use pellucid_protocol::review::ReviewTarget;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::McpOffer;
use pellucid_protocol::settings::McpStart;
use pellucid_protocol::settings::Personality;
use pellucid_protocol::settings::PromptMode;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_protocol::settings::WebSearchMode;
use serde_json::json;

use crate::document;
use crate::model;
use crate::session_id;

/// Something that packs are played in. What comes of it has no name of the pack or of its slots.
type Situation = Box<dyn Fn(&Pack) -> String>;

/// Keys that no built-in pack has.
const WHOLE: &str = r#"
name = "whole"
from = "codex"

[instructions]
join = "--"

[[slot]]
id = "base"
target = "instructions"
source = "base_instructions"
budget = { bytes = 500, keep = "head" }

[[slot]]
id = "greeting"
target = "instructions"
file = "greeting.md"
budget = { bytes = 30, keep = "head" }

[[slot]]
id = "rules"
role = "permissions"
target = "developer"
source = "permissions"
template = "collaboration.md"
budget = { bytes = 300, keep = "head" }
again_turns = 2

[[slot]]
id = "files"
role = "user_instructions"
target = "user"
budget = { bytes = 900, keep = "head" }
again_turns = 4
parts = [
  { source = "home_document", budget = { bytes = 20, keep = "head" } },
  { source = "project_docs", before = "\n", budget = { bytes = 40, keep = "head" } },
  { source = "skills_list", before = "\n", budget = { bytes = 150, keep = "head" } },
]

[[slot]]
id = "said"
target = "messages"
source = "injected_preamble"
budget = { bytes = 12, keep = "head" }

[[slot]]
id = "note"
target = "developer"
depth = 1
from = "start"
file = "greeting.md"

[updates]
order = ["permissions"]

[skills]
same_name = "first"

[given_tools]
form = "canonical"
list_tokens = 9
schemas = "whole"
start = "background"
follow = true
"#;

/// A text that is longer than every budget of the pack above.
const GREETING: &str = "A greeting of more than thirty bytes, so that it is cut.\n";

/// Facts with something to say for every source, and every feature off.
pub fn full() -> Facts {
    let mut facts = crate::facts();
    for feature in Feature::ALL {
        facts.settings.features.set(*feature, false);
    }
    facts.settings.features.set(Feature::ShellTool, true);
    facts.settings.developer_instructions =
        Some(Provided { place: "p".to_owned(), text: "Developers say.".to_owned() });
    let summary = document("/m/memory_summary.md", "Ada likes tea.");
    facts.world.memory = Some(Memory { folder: "/m".to_owned(), summary });
    facts.settings.collaboration_mode.settings.developer_instructions = Some("Work together.".to_owned());
    // The texts of a layout around the conversation.
    let texts =
        ["description", "persona", "jailbreak", "global_note", "author_note", "post_everything", "depth_prompt"];
    facts.system.given = texts.iter().map(|name| ((*name).to_owned(), format!("Says {name}.").into())).collect();
    facts.system.given.insert("lorebook".to_owned(), vec!["One.", "Two."].into());
    facts.world.home_document = Some(document("/h/AGENTS.md", "Home rules that are longer than twenty bytes."));
    facts.world.project_documents = vec![
        document("/p/AGENTS.md", "Project rules that are longer than forty bytes each.\n"),
        document("/p/a/AGENTS.md", "Rules of the folder.\n"),
    ];
    facts.world.skills =
        Skills::new(vec![skill("mend", "/s/1"), skill("mend", "/s/2"), skill("bake", "/s/3")], Vec::new());
    facts.settings.writable_roots = vec!["/p".to_owned()];
    facts.settings.approved_prefixes = vec![vec![PrefixToken::Word("ls".to_owned())]];
    facts.settings.web_search = WebSearchMode::Disabled;
    facts.settings.model.apply_patch_tool_type = None;
    facts.settings.model.shell_type = ShellType::Disabled;
    let schema = json!({ "type": "object", "properties": { "b": { "type": "string" }, "a": { "type": "string" } }, "required": ["b", "a"] });
    let tool: McpTool =
        serde_json::from_value(json!({ "name": "load", "description": "Loads.", "inputSchema": schema.clone() }))
            .unwrap();
    facts.tools.mcp_tools = offered(&[("depot".to_owned(), vec![tool])]).into();
    let client = |name: &str| DynamicTool {
        name: name.to_owned(),
        description: "A tool.".to_owned(),
        input_schema: schema.clone(),
    };
    facts.tools.dynamic_tools = vec![client("two"), client("one")];
    facts.system.injection.sources = injection::sources(&json!([
        { "type": "provided" }, { "type": "file_set", "files": [{ "path": "gone.md" }] }, { "type": "repo_docs" },
    ]));
    let rules = FileText::whole("/p/RULES.md", "Rules of a source.\n");
    let documents = vec![("RULES.md".to_owned(), FileRead::Text(rules))];
    let repo = InjectionRead { repo: RepoRead { documents }, ..InjectionRead::default() };
    facts.system.injection.reads = vec![InjectionRead::default(), InjectionRead::default(), repo];
    let items = json!([
        { "target": "system_section", "content": "A section.", "order": 300 },
        { "target": "system_section", "content": "Beside what is recalled.", "order": 200 },
        { "target": "system_section", "content": "Beside the skills.", "order": 800 },
        { "target": "preamble_message", "role": "user", "content": "A preamble.", "order": 1 },
        { "target": "preamble_message", "role": "assistant", "content": "Noted.", "order": 2 },
    ]);
    facts.system.injection.attributes.insert("prompt_injections".to_owned(), items);
    facts.system.injection.memory = vec!["likes tea".to_owned(), "has a cat".to_owned()];
    facts
}

fn skill(name: &str, path: &str) -> Skill {
    Skill {
        name: name.to_owned(),
        description: format!("How to {name} what is broken or raw, in a few words that say it."),
        short_description: None,
        allowed_tools: Vec::new(),
        path: path.to_owned(),
        scope: SkillOwner::User,
        switch: Switch::On,
        metadata: None,
    }
}

/// The same with these features on and this besides.
fn with(features: &[Feature], change: impl FnOnce(&mut Facts)) -> Facts {
    let mut facts = full();
    for feature in features {
        facts.settings.features.set(*feature, true);
    }
    change(&mut facts);
    facts
}

const ALL_SLOTS: [Feature; 11] = [
    Feature::MemoryTool,
    Feature::Personality,
    Feature::Apps,
    Feature::CodexGitCommit,
    Feature::JsRepl,
    Feature::ChildAgentsMd,
    Feature::CollaborationModes,
    Feature::MultiAgent,
    Feature::UnifiedExec,
    Feature::ApplyPatchFreeform,
    Feature::ShellTool,
];

fn everything(facts: &mut Facts) {
    let tools = ["grep_files", "read_file", "list_dir", "test_sync_tool"];
    facts.settings.model.experimental_supported_tools = tools.map(str::to_owned).to_vec();
    facts.tools.has_mcp_servers = true;
    facts.settings.web_search = WebSearchMode::Live;
    facts.settings.approval_policy = ApprovalPolicy::OnRequest;
    facts.settings.sandbox_policy = workspace();
    // Instructions of the user's do not carry the tone.
    facts.world.recorded_instructions = Some(Provided { place: "r".to_owned(), text: "Recorded.".to_owned() });
}

fn workspace() -> SandboxPolicy {
    serde_json::from_value(json!({ "type": "workspace-write" })).unwrap()
}

/// What a request with these facts says, what it leaves out, and how its tools may be called.
fn request(pack: &Pack, facts: &Facts) -> String {
    let context = assemble(pack, facts);
    let frame = Frame::new(pack, facts, &context.instructions, &WireSettings::new(session_id()));
    let mut transcript = crate::transcripts::empty();
    let omissions = left_out(&context.omissions);
    for message in context.messages {
        transcript.record_draft(&Draft::from(message));
    }
    for n in 0..5 {
        let (role, origin) = if n % 2 == 0 { ("user", Origin::User) } else { ("assistant", Origin::Model) };
        transcript.record(&Item::text(role, format!("Message {n}.")), &origin);
    }
    transcript.place(&context.placed);
    let body = String::from_utf8(frame.request(&mut transcript).body()).unwrap();
    let callable = callable(pack, facts, WireApi::Responses);
    let tools: Vec<String> =
        callable.tools.iter().map(|tool| format!("{} {}", tool.file.name, tool.slot.parallel)).collect();
    let mode = usual_mode(pack, facts);
    format!("{body}\n{omissions}\n{tools:?} {:?} {:?} {mode:?}", callable.given, callable.only)
}

fn left_out(omissions: &[Omission]) -> String {
    omissions.iter().map(|omission| format!("{}: {:?}\n", omission.what, omission.why)).collect()
}

fn requested(facts: Facts) -> Situation {
    Box::new(move |pack| request(pack, &facts))
}

/// The sizes of what is sent.
fn measured(facts: Facts) -> Situation {
    Box::new(move |pack| {
        let prompt = concat(&assemble(pack, &facts).instructions);
        format!("{:?}", PromptReport::of(pack, &facts, &prompt, &[]))
    })
}

/// What is sent when facts change.
fn told(before: Facts, change: impl FnOnce(&mut Facts)) -> Situation {
    let mut after = before.clone();
    change(&mut after);
    Box::new(move |pack| {
        let told = updates(&FactsChange { pack, before: &before, after: &after, previous_model: None });
        let messages = told.messages.iter().map(|it| format!("{}: {}\n", it.role, concat(&it.fragments)));
        messages.collect::<String>() + &left_out(&told.omissions)
    })
}

/// Tools of a server, each of about sixty tokens.
fn server_tools(n_tools: usize) -> Vec<McpTool> {
    let schema =
        json!({ "type": "object", "properties": { "place": { "type": "string", "description": "Where it is." } } });
    let tool = |n: usize| {
        let tool = json!({ "name": format!("load_{n}"), "description": "Loads what is in one place of the depot, and says what is left of it. The place must exist.", "inputSchema": schema });
        serde_json::from_value(tool).unwrap()
    };
    (0..n_tools).map(tool).collect()
}

/// Requests and updates of a coding agent.
fn coding() -> Vec<Situation> {
    let mut situations = vec![
        requested(with(&ALL_SLOTS, everything)),
        requested(full()),
        requested(with(&[], |facts| facts.system.prompt_mode = PromptMode::None)),
        requested(with(&[Feature::JsRepl, Feature::JsReplToolsOnly], everything)),
    ];
    // Above and below what the layouts leave direct, and with an order to defer.
    for (n_tools, offer) in [(40, None), (6, None), (6, Some(McpOffer::Deferred))] {
        situations.push(requested(with(&[], |facts| {
            facts.tools.mcp_tools = offered(&[("depot".to_owned(), server_tools(n_tools))]).into();
            facts.tools.mcp_offers.all = offer;
        })));
    }
    for shell in [ShellType::Default, ShellType::Local, ShellType::ShellCommand] {
        situations.push(requested(with(&[], |facts| facts.settings.model.shell_type = shell)));
    }
    situations.push(requested(with(&[], |facts| {
        facts.settings.model.apply_patch_tool_type = Some(ApplyPatchType::Function);
    })));
    for slug in ["gpt-5.3-codex", "gpt-5.2-codex", "exp-codex-personality", "gpt-5.1"] {
        for tone in [None, Some(Personality::Friendly), Some(Personality::Pragmatic)] {
            situations.push(requested(with(&[Feature::Personality], |facts| {
                facts.settings.model = model(slug);
                facts.settings.personality = tone;
            })));
        }
    }
    let policies = [ApprovalPolicy::OnFailure, ApprovalPolicy::Untrusted, ApprovalPolicy::Never];
    let sandboxes = [SandboxPolicy::DangerFullAccess, workspace(), SandboxPolicy::ReadOnly];
    for (approval, sandbox) in policies.into_iter().zip(sandboxes) {
        situations.push(requested(with(&[], |facts| {
            facts.settings.approval_policy = approval;
            facts.settings.sandbox_policy = sandbox;
        })));
    }
    situations.push(requested(with(&[], |facts| {
        facts.settings.sandbox_policy = workspace();
        facts.settings.writable_roots = vec!["/p".to_owned(), "/tmp".to_owned()];
    })));
    situations.push(told(with(&[Feature::Personality], |_| {}), |facts| {
        facts.settings.cwd = "/elsewhere".to_owned();
        facts.settings.sandbox_policy = SandboxPolicy::DangerFullAccess;
        facts.settings.collaboration_mode.settings.developer_instructions = Some("Plan.".to_owned());
        facts.settings.personality = Some(Personality::Friendly);
    }));
    situations.push(told(with(&[Feature::Personality], |_| {}), |facts| {
        facts.settings.cwd = "/elsewhere".to_owned();
        facts.settings.model = model("gpt-5.3-codex");
    }));
    situations.extend([Box::new(said_again) as Situation, Box::new(words), Box::new(documents), Box::new(summaries)]);
    situations.push(Box::new(memories_of_sessions));
    situations
}

/// The requests that extract memories of past sessions and put them together.
fn memories_of_sessions(pack: &Pack) -> String {
    let session =
        extraction::ExtractionSource { path: "/sessions/s.jsonl", cwd: "/work", items: &[Item::text("user", "hi")] };
    let asked = [extraction::instructions(pack), extraction::input(pack, &session, None)];
    asked.iter().chain([&files::prompt(pack, "/memories")]).map(|text| concat(text)).collect()
}

/// What is said again in ten turns.
fn said_again(pack: &Pack) -> String {
    let (schedule, context) = (again::schedule(&pack.layout, &BTreeMap::new()), assemble(pack, &full()));
    let (mut state, mut said) = (AgainState::default(), String::new());
    for turn in 0..10 {
        let due = state.due(&schedule, &context.messages);
        said += &due
            .iter()
            .map(|(n, _)| format!("{turn}: {}\n", concat(&context.messages[*n].fragments)))
            .collect::<String>();
        state.complete_turn();
    }
    said
}

/// Texts around what people, tools and turns do.
fn words(pack: &Pack) -> String {
    let mut said = String::new();
    let mut show = |draft: &Draft| {
        let mut transcript = crate::transcripts::empty();
        transcript.record_draft(draft);
        said += &format!("{:?}\n", transcript.items().collect::<Vec<_>>());
    };
    let error = || "broken".to_owned();
    let images = [
        ("/1.png", LoadedImage::Unreadable { error: error() }),
        ("/2.png", LoadedImage::Invalid { error: error() }),
        ("/3.tiff", LoadedImage::Unsupported { mime: "image/tiff".to_owned(), error: error() }),
    ];
    let images: BTreeMap<PathBuf, LoadedImage> = images.into_iter().map(|(path, it)| (path.into(), it)).collect();
    let inputs: Vec<UserInput> = images.keys().map(|path| UserInput::LocalImage { path: path.clone() }).collect();
    show(&user_message(pack, &inputs, &images, &GivenParts::default()));
    show(&notice::patch_through_shell(pack, "shell"));
    show(&notice::many_terminals(pack, 3, 2));
    show(&review::record(pack, None));
    show(&review::record(pack, Some(&ReviewOutput::default())));
    let branch = || ReviewTarget::BaseBranch { branch: "main".to_owned() };
    let commit = |title: Option<&str>| ReviewTarget::Commit { sha: "abc".to_owned(), title: title.map(str::to_owned) };
    for (target, base) in [
        (ReviewTarget::UncommittedChanges, None),
        (branch(), Some("abc")),
        (branch(), None),
        (commit(None), None),
        (commit(Some("Mend")), None),
    ] {
        said += &concat(&review::prompt(pack, &target, base));
    }
    said += &concat(&review::rubric(pack));
    said += &presets(pack).iter().map(|preset| concat(&preset.instructions)).collect::<String>();
    let needed = NeededVariable { name: "KEY".to_owned(), skill: "mend".to_owned(), description: None };
    said += &format!("{:?}", variables::question(pack, &TurnId::new("t"), &[needed]));
    for fact in [
        TurnEvent::Interrupted { running: Vec::new() },
        TurnEvent::Reply(ReplyEvent::ServerModel("another".to_owned())),
    ] {
        let mut turn = RunningTurn::new(crate::turns::settings(), Meter::default(), pack);
        turn.begin(&[UserInput::text("go")]);
        said += &format!("{:?}", turn.step(fact));
    }
    said
}

/// Instruction files that are cut, import others, join and change.
fn documents(pack: &Pack) -> String {
    let mut facts = full();
    facts.settings.project_docs = ProjectDocs { cut: Some(Cut::Lines), ..ProjectDocs::default() };
    facts.settings.project_document_bytes_max = 55;
    facts.world.imports = vec![Imported {
        root: "/h/AGENTS.md".to_owned(),
        by: "/h/AGENTS.md".to_owned(),
        line: 1,
        path: "/h/more.md".to_owned(),
        outcome: Ok(document("/h/more.md", "More.")),
    }];
    let mut said = request(pack, &facts);
    facts.world.nested_documents = vec![document("/p/b/AGENTS.md", "Joined.")];
    let joined = change::joined(pack, &facts, &facts.world.nested_documents[0], "0f");
    let changes = [
        Changed { path: "/p/AGENTS.md", old: Some("1"), new: Some("2") },
        Changed { path: "/p/gone.md", old: Some("1"), new: None },
    ];
    let mut transcript = crate::transcripts::empty();
    transcript.record_draft(&joined);
    for text in [NewText::Here, NewText::Above] {
        transcript.record_draft(&change::changed(pack, &facts, &changes, text).unwrap());
    }
    said += &format!("{:?}", transcript.items().collect::<Vec<_>>());
    said
}

/// How a summary is asked for, and what takes the place of the history.
fn summaries(pack: &Pack) -> String {
    let mut transcript: Transcript = crate::transcripts::empty();
    transcript.record(&Item::text("user", "Mend the roof."), &Origin::User);
    transcript.record(&Item::text("assistant", "Mended src/roof.rs."), &Origin::Model);
    let frame = Frame::for_summary(pack, &full(), &[], &WireSettings::new(session_id()));
    let asked = Compaction::new(&transcript, pack, None);
    let mut said = String::from_utf8(asked.request(&frame).body()).unwrap();
    let accounting = Compaction::new(&transcript, pack, None).accounting(&transcript, pack);
    said += &String::from_utf8(accounting.request(&frame).body()).unwrap();
    said += &compaction::summary_prefix(pack);
    said += &compaction::local_summary(&transcript.items().collect::<Vec<_>>(), pack);
    said
}

/// Requests of an assistant in chats.
fn chatting() -> Vec<Situation> {
    let mut situations = vec![measured(with(&[], chat))];
    for mode in [PromptMode::Full, PromptMode::Minimal, PromptMode::None] {
        situations.push(requested(with(&[], |facts| {
            facts.system.prompt_mode = mode;
            chat(facts);
        })));
    }
    let changes = [
        json!({ "time_zone": "" }),
        json!({ "reasoning_tags": false }),
        json!({ "tools": [] }),
        json!({ "memory_citations": "off" }),
        json!({ "reactions": { "is_minimal": true, "channel": "telegram" } }),
        json!({ "sandbox": {} }),
        json!({ "sandbox": { "enabled": true, "workspace_access": "ro" } }),
        json!({ "session_key": "subagent:1" }),
        json!({ "session_key": "agent:main:cron:1" }),
        json!({ "sandbox": { "enabled": true, "container_dir": "/box" } }),
        json!({ "runtime": { "channel": "telegram", "capabilities": ["inlineButtons"] } }),
        json!({ "tools": ["mine", "other"], "tool_summaries": { "Mine": "does mine" } }),
    ];
    for change in changes {
        situations.push(requested(with(&[], |facts| {
            chat(facts);
            facts.system.given.extend(change.as_object().unwrap().clone());
        })));
    }
    // Without what is given the pack's own values count, and the tools are those that the layout offers.
    situations.push(requested(with(&[], |_| {})));
    for enabled in ["sandbox", "reactions"] {
        situations.push(requested(with(&[], |facts| {
            facts.system.given.insert("tools".to_owned(), json!(["message", "memory_get"]));
            facts.system.given.insert(enabled.to_owned(), json!({ "enabled": true, "channel": "signal" }));
            facts.system.given.insert("runtime".to_owned(), json!({ "channel": "signal" }));
        })));
    }
    situations
}

/// Facts of an assistant in chats with something to say in every section.
pub fn chat(facts: &mut Facts) {
    let names = [
        "read",
        "write",
        "edit",
        "apply_patch",
        "grep",
        "find",
        "ls",
        "exec",
        "process",
        "web_search",
        "web_fetch",
        "browser",
        "canvas",
        "nodes",
        "cron",
        "message",
        "gateway",
        "agents_list",
        "sessions_list",
        "sessions_history",
        "sessions_spawn",
        "sessions_send",
        "subagents",
        "session_status",
        "image",
        "memory_search",
        "memory_get",
    ];
    let file = |name: &str| BootstrapFile::read(name, &format!("/ws/{name}"), b"Words of the file.");
    let files = [file("AGENTS.md"), file("SOUL.md")];
    let set = Pack::builtin("openclaw").unwrap().layout.bootstrap.unwrap();
    facts.system.files = LoadedFiles { placed: set.fit(&files, None, None).files, read: files.to_vec(), limits: None };
    let given = json!({
        "tools": names,
        "model_aliases": ["- fast: small"],
        "time_zone": "Europe/Berlin",
        "docs_path": "/docs",
        "sandbox": { "enabled": true, "elevated_level": "on" },
        "owner_numbers": ["+1"],
        "voice_hint": "Speak.",
        "reactions": { "is_minimal": false, "channel": "telegram" },
        "heartbeat_prompt": "Beat.",
        "extra_prompt": "Extra.",
        "reasoning_tags": true,
        "runtime": { "channel": "telegram" },
    });
    facts.system.given = given.as_object().unwrap().clone();
}

/// Requests for small windows, with and without base instructions of the user's.
fn in_small_windows() -> Vec<Situation> {
    let minimal = |change: &dyn Fn(&mut Facts)| {
        requested(with(&[], |facts| {
            facts.system.prompt_mode = PromptMode::Minimal;
            facts.settings.base_instructions = None;
            facts.world.recorded_instructions = None;
            change(facts);
        }))
    };
    vec![
        minimal(&|_| {}),
        minimal(&|facts| facts.settings.sandbox_policy = SandboxPolicy::DangerFullAccess),
        minimal(&|facts| {
            facts.settings.base_instructions = Some(Provided { place: "p".to_owned(), text: "Mine.".to_owned() });
        }),
    ]
}

/// Requests with injected items, in every mode.
fn injecting() -> Vec<Situation> {
    let modes = [PromptMode::Full, PromptMode::Minimal, PromptMode::None];
    let without_skills = with(&[], |facts| facts.world.skills = Skills::default());
    let modes = modes.map(|mode| requested(with(&[], |facts| facts.system.prompt_mode = mode)));
    modes.into_iter().chain([requested(without_skills)]).collect()
}

/// How a session treats its MCP servers.
fn with_servers() -> Situation {
    Box::new(|pack| {
        let rules = &pack.layout.given_tools;
        format!("waits: {}, follows: {}", rules.start == McpStart::Wait, rules.follow)
    })
}

/// The situations that a pack is played in.
fn situations(name: &str) -> Vec<Situation> {
    let mut situations = match name {
        "openclaw" => chatting(),
        "agentcore" => injecting(),
        "pellucid" => coding().into_iter().chain(in_small_windows()).collect(),
        _ => coding(),
    };
    situations.push(with_servers());
    // Without what the configuration gives, the values of the layout count.
    situations.push(requested(with(&[], |facts| facts.system.given.clear())));
    situations
}

/// The packs of the corpus: the built-in ones, and one with the keys that none of them has.
fn packs() -> Vec<(&'static str, Files)> {
    let builtin = Pack::builtin_names().into_iter().map(|name| (name, Pack::builtin_files(name).unwrap()));
    let whole = [("pack.toml", WHOLE), ("greeting.md", GREETING)];
    let whole = whole.map(|(file, text)| (file.to_owned(), text.to_owned())).into_iter().collect();
    builtin.chain([("whole", whole)]).collect()
}

/// Whether two packs are laid out alike and have the same tools.
fn is_same(one: &Pack, other: &Pack) -> bool {
    let tools =
        |pack: &Pack| pack.layout.tools.iter().map(|tool| pack.tool_file(&tool.file).clone()).collect::<Vec<_>>();
    one.layout == other.layout && tools(one) == tools(other)
}

/// Judges changes of one pack by playing it until something is different.
fn check(name: &str, files: &Files, mutants: &[Mutant]) -> Vec<String> {
    let (pack, situations) = (Pack::load(files).unwrap(), situations(name));
    let usual: Vec<String> = situations.iter().map(|play| play(&pack)).collect();
    // What showed the last change is likely to show the next one.
    let first = Cell::new(0);
    let judge = |files: &Files| {
        let Ok(changed) = Pack::load(files) else {
            return Verdict::Refused;
        };
        let n = situations.len();
        let mut order = (0..n).map(|step| (first.get() + step) % n);
        match order.find(|situation| situations[*situation](&changed) != usual[*situation]) {
            Some(situation) => {
                first.set(situation);
                Verdict::Changed
            }
            None if is_same(&changed, &pack) => Verdict::Equal,
            None => Verdict::Unnoticed,
        }
    };
    mutations::without_effect(name, files, mutants, judge)
}

#[track_caller]
fn check_all(which: impl Fn(&Files) -> Vec<Mutant>) {
    let (mut dead, mut n) = (Vec::new(), 0);
    for (name, files) in packs() {
        let mutants = which(&files);
        n += mutants.len();
        dead.extend(check(name, &files, &mutants));
    }
    assert!(n > 100, "only {n} changes were tried");
    assert!(dead.is_empty(), "{} of {n} changes have no effect:\n{}", dead.len(), dead.join("\n"));
}

#[test]
fn every_key_of_every_pack_has_an_effect_or_is_refused() {
    check_all(|files| mutations::sample(mutations::of_tables(files, Home::Engine), 11));
}

#[test]
fn every_text_of_every_pack_is_sent_or_shown() {
    check_all(|files| mutations::of_texts(files, Home::Engine));
}

#[test]
fn the_id_of_a_slot_is_only_its_name_in_reports() {
    for name in Pack::builtin_names() {
        let mut files = Pack::builtin_files(name).unwrap();
        let (pack, situations) = (Pack::load(&files).unwrap(), situations(name));
        let layout = files["pack.toml"].replace("\nid = \"", "\nid = \"renamed_");
        files.insert("pack.toml".to_owned(), layout);
        let renamed = Pack::load(&files).unwrap();
        for (n, play) in situations.iter().enumerate() {
            assert_eq!(play(&renamed), play(&pack), "{name}, situation {n}");
        }
        let recorded = |pack: &Pack| assemble(pack, &full()).inside(&pack.layout, SlotRole::UserInstructions);
        assert_eq!(recorded(&renamed), recorded(&pack), "{name}");
    }
}
