//! A place for tests to run calls: a folder, a situation, and all that was said.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use pellucid_engine::approval::rules::Rules;
use pellucid_engine::deferred::DeferredTools;
use pellucid_engine::facts::Facts;
use pellucid_engine::mcp::offered;
use pellucid_engine::pack::Pack;
use pellucid_engine::turn::questions::AskId;
use pellucid_engine::turn::questions::AskOutcome;
use pellucid_engine::turn::questions::AskWish;
use pellucid_engine::turn::questions::Audience;
use pellucid_engine::turn::questions::ClientAnswer;
use pellucid_engine::turn::questions::Questions;
use pellucid_exec::sandbox::Protection;
use pellucid_exec::sandbox::Sandbox;
use pellucid_exec::sandbox::WantedBackend;
use pellucid_files::RealDisk;
use pellucid_protocol::call::Payload;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::mcp::McpTool;
use pellucid_protocol::model::ModelInfo;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::CollaborationModeKind;
use pellucid_protocol::settings::McpOffer;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_protocol::settings::TruncationMode;
use pellucid_protocol::settings::TruncationPolicy;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::CallContext;
use crate::NoOutcome;
use crate::TOOLS;
use crate::Takes;
use crate::desk::Asking;
use crate::desk::Desk;
use crate::desk::FromTool;
use crate::edits::EditLog;
use crate::mcp_tool::ToolServers;
use crate::notes::CallNotes;
use crate::notes::NotedCall;
use crate::outputs::Outputs;
use crate::run;
use crate::situation::ChildEnvironment;
use crate::situation::Offered;
use crate::situation::Situation;
use crate::situation::ToolsAtHand;
use crate::toolbox::Equipment;
use crate::toolbox::Toolbox;

pub(crate) struct Bench {
    pub folder: tempfile::TempDir,
    pub home: tempfile::TempDir,
    pub situation: Situation,
    pub servers: Option<Arc<dyn ToolServers>>,
    /// Paths at which Node is looked for.
    pub node_paths: Vec<PathBuf>,
    /// The rules about commands.
    pub rules: Rules,
}

/// The events and the answer of a call.
pub(crate) struct Ran {
    pub outcome: Result<ToolOutput, NoOutcome>,
    pub said: Vec<Said>,
    pub noted: NotedCall,
}

/// Something that a call said.
pub(crate) enum Said {
    /// A question, and by what its answer is known.
    Asked(String),
    Other(Box<FromTool>),
}

impl Bench {
    /// A bench in a temporary folder, with all tools offered and no sandbox.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let offered = TOOLS.iter().map(|tool| Offered {
            name: tool.name.to_owned(),
            is_parallel: true,
            takes_text: tool.takes == [Takes::Custom],
        });
        let offered = offered.collect();
        let situation = Situation {
            session_id: SessionId::new("s"),
            turn_id: TurnId::new("t"),
            cwd: folder.path().to_owned(),
            approval_policy: ApprovalPolicy::Never,
            sandbox_policy: SandboxPolicy::DangerFullAccess,
            writable_roots: Vec::new(),
            project_root: folder.path().to_owned(),
            mode: CollaborationModeKind::Default,
            sees_images: true,
            truncation: TruncationPolicy { mode: TruncationMode::Bytes, limit: 10_000 },
            tools: ToolsAtHand { offered, shell_is_on: true, ..ToolsAtHand::default() },
            agents: None,
            children: ChildEnvironment {
                shell: "/bin/bash".into(),
                environment: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
                ..ChildEnvironment::default()
            },
        };
        Self {
            folder,
            home: tempfile::tempdir().unwrap(),
            situation,
            node_paths: Vec::new(),
            servers: None,
            rules: Rules::default(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a call and gives all that was said, a line each.
    pub(crate) fn show(&self, call: &ToolCall) -> String {
        self.run(call).text().replace(&*self.folder.path().to_string_lossy(), "DIR")
    }

    /// Runs a call to its end. Questions are not answered.
    pub(crate) fn run(&self, call: &ToolCall) -> Ran {
        self.run_answered(call, None)
    }

    /// Runs calls of one session and gives all that was said, a line each.
    pub(crate) fn show_all(&self, calls: &[ToolCall]) -> String {
        let calls: Vec<_> = calls.iter().map(|call| (&self.situation, call)).collect();
        self.show_each(&calls)
    }

    /// Runs calls of one session.
    pub(crate) fn run_all(&self, calls: &[ToolCall]) -> Vec<Ran> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let toolbox = self.toolbox();
        calls.iter().map(|call| Self::run_in(&runtime, &toolbox, &self.situation, call, None)).collect()
    }

    /// The same for calls with separate situations.
    pub(crate) fn show_each(&self, calls: &[(&Situation, &ToolCall)]) -> String {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let toolbox = self.toolbox();
        let run = |(situation, call): &(&Situation, &ToolCall)| {
            Self::run_in(&runtime, &toolbox, situation, call, None).text()
        };
        let shown: String = calls.iter().map(run).collect();
        shown.replace(&*self.folder.path().to_string_lossy(), "DIR")
    }

    /// Runs a call to its end, and answers its first question.
    pub(crate) fn run_answered(&self, call: &ToolCall, answer: Option<ClientAnswer>) -> Ran {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self::run_in(&runtime, &self.toolbox(), &self.situation, call, answer)
    }

    pub(crate) fn toolbox(&self) -> Arc<Toolbox> {
        let toolbox = Toolbox::new(Equipment {
            rules: self.rules.clone(),
            sandbox: Sandbox::new(WantedBackend::Strongest),
            protection: Protection::On,
            home: self.home.path().to_owned(),
            homes: vec![self.home.path().to_owned()],
            roots: Arc::default(),
            node_paths: self.node_paths.clone(),
            found_apps: Vec::new(),
            outputs: Some(Outputs::of(self.home.path(), "session")),
            edits: Some(EditLog::of(RealDisk::shared(), self.home.path(), "session")),
        });
        if let Some(servers) = &self.servers {
            toolbox.use_servers(servers.clone());
        }
        Arc::new(toolbox)
    }

    fn run_in(
        runtime: &Runtime,
        toolbox: &Arc<Toolbox>,
        situation: &Situation,
        call: &ToolCall,
        mut answer: Option<ClientAnswer>,
    ) -> Ran {
        runtime.block_on(async {
            let (desk, mut heard) = Desk::open();
            let notes = CallNotes::new(&call.call_id, &call.name, || "T".to_owned());
            let situation = Arc::new(situation.clone());
            let job = CallContext { situation, toolbox: toolbox.clone(), desk, notes: notes.clone() };
            let mut said = Vec::new();
            let outcome = {
                let running = async {
                    let outcome = run(call, &job).await;
                    drop(job);
                    outcome
                };
                let hearing = async {
                    while let Some(message) = heard.recv().await {
                        match message {
                            FromTool::Ask(asking) => {
                                let answer = answer.take();
                                answer_as_a_turn(asking, answer, toolbox, &mut said);
                            }
                            other => said.push(Said::Other(Box::new(other))),
                        }
                    }
                };
                tokio::join!(running, hearing).0
            };
            Ran { outcome, said, noted: notes.take() }
        })
    }
}

/// Does what the questions of a turn wish for a call that asks. Without an answer the question stays unanswered.
fn answer_as_a_turn(asking: Asking, answer: Option<ClientAnswer>, toolbox: &Toolbox, said: &mut Vec<Said>) {
    let Asking { question, asker } = asking;
    let (key, mut asker) = (question.key.clone(), Some(asker));
    let mut questions = Questions::new(Audience::Client, toolbox.grants());
    let mut wishes = questions.ask(AskId(0), question);
    wishes.extend(answer.map(|answer| questions.answer(key.clone(), answer)).unwrap_or_default());
    for wish in wishes {
        match wish {
            AskWish::Client { event, .. } => {
                said.push(Said::Asked(format!("{} by {key:?}", serde_json::to_string(&event).unwrap())));
            }
            AskWish::Answer { outcome, .. } => asker.take().unwrap().give(outcome),
            AskWish::Grant(keys) => toolbox.grant(keys),
            AskWish::SaveRule { prefix, .. } => {
                let notice = toolbox.save_rule(prefix).unwrap();
                said.push(Said::Other(Box::new(FromTool::Notice(notice))));
            }
            AskWish::Ignore(key) => panic!("{key:?}"),
        }
    }
    if let Some(asker) = asker {
        asker.give(AskOutcome::Unanswered);
    }
}

impl Ran {
    /// The events and the answer, one on each line.
    pub(crate) fn text(&self) -> String {
        let said = self.said.iter().map(|message| match message {
            Said::Asked(question) => question.clone(),
            Said::Other(other) => match &**other {
                FromTool::Event(event) => serde_json::to_string(event).unwrap(),
                other => format!("{other:?}"),
            },
        });
        let answer = match &self.outcome {
            Ok(ToolOutput::Text(text)) => format!("=> {text}"),
            other => format!("=> {other:?}"),
        };
        said.chain([answer]).map(|line| line + "\n").collect()
    }
}

pub(crate) fn function(name: &str, arguments: &str) -> ToolCall {
    call(name, Payload::Function { arguments: arguments.to_owned() })
}

pub(crate) fn custom(name: &str, input: &str) -> ToolCall {
    call(name, Payload::Custom { input: input.to_owned() })
}

fn call(name: &str, payload: Payload) -> ToolCall {
    ToolCall { call_id: "c".to_owned(), name: name.to_owned(), payload }
}

/// Tools of two servers that are offered by name. Each wants a text.
pub(crate) fn deferred() -> DeferredTools {
    let schema = json!({"type":"object","properties":{"text":{"type":"string"}},"required":["text"]});
    let tool = |name: &str| -> McpTool {
        let tool = json!({"name":name,"description":format!("Does {name}."),"inputSchema":schema});
        serde_json::from_value(tool).unwrap()
    };
    let servers = [("depot", &["echo", "count"][..]), ("yard", &["open"])];
    let servers = servers.map(|(server, tools)| (server.to_owned(), tools.iter().copied().map(tool).collect()));
    let mut facts = Facts::plain("/w", ModelInfo::unknown("m"));
    facts.tools.mcp_tools = offered(&servers).into();
    facts.tools.mcp_offers.all = Some(McpOffer::Deferred);
    DeferredTools::of(&Pack::builtin("codex").unwrap(), &facts)
}
