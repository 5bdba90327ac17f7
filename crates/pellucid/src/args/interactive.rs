//! Options of the terminal client, which stand before a command or without one.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use pellucid_protocol::settings::ApprovalPolicy;

use crate::args::turn::Approval;
use crate::args::turn::LocalProvider;
use crate::args::turn::SandboxArg;
use crate::args::turn::StartArgs;
use crate::args::turn::TurnArgs;

/// Options of the terminal client. Before another command they are accepted and do nothing.
///
/// Their ids are their own: clap counts an option that every subcommand of a command takes as given above that command
/// too, if something there has the same id.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct Interactive {
    /// What to say first.
    #[arg(id = "first_prompt", value_name = "PROMPT")]
    pub prompt: Option<String>,
    /// Images for the first message; put `--` before the prompt.
    #[arg(id = "before_image", short = 'i', long = "image", value_name = "FILE", value_delimiter = ',', num_args = 1..)]
    pub image: Vec<PathBuf>,
    /// The model to use, instead of the configured one.
    #[arg(id = "before_model", short = 'm', long = "model", value_name = "MODEL")]
    model: Option<String>,
    /// The configuration profile to use.
    #[arg(id = "before_profile", short = 'p', long = "profile", value_name = "PROFILE")]
    profile: Option<String>,
    /// What commands may read and write.
    #[arg(id = "before_sandbox", short = 's', long = "sandbox", value_enum, value_name = "MODE")]
    sandbox: Option<SandboxArg>,
    /// When a person is asked about a command.
    #[arg(id = "before_approval", short = 'a', long = "ask-for-approval", value_enum, value_name = "POLICY")]
    approval: Option<Approval>,
    /// The folder of the session.
    #[arg(id = "before_cd", short = 'C', long = "cd", value_name = "DIR")]
    cd: Option<PathBuf>,
    /// Short for `-a on-request --sandbox workspace-write`.
    #[arg(id = "before_full_auto", long = "full-auto", conflicts_with = "before_bypass")]
    full_auto: bool,
    /// No sandbox and no questions. Only for machines that are confined by other means.
    #[arg(id = "before_bypass", long = "dangerously-bypass-approvals-and-sandbox", alias = "yolo")]
    bypass: bool,
    /// Offer the provider's web search, on the live web.
    #[arg(id = "before_search", long = "search")]
    search: bool,
    /// A further folder that commands may write in, under workspace-write.
    #[arg(id = "before_add_dir", long = "add-dir", value_name = "DIR")]
    add_dir: Vec<PathBuf>,
    /// Use a local model server (see --local-provider).
    #[arg(id = "before_oss", long = "oss")]
    oss: bool,
    /// The local model server that --oss uses.
    #[arg(id = "before_local_provider", long = "local-provider", value_enum, value_name = "SERVER")]
    local_provider: Option<LocalProvider>,
    /// A script for the embedded model, in place of a provider.
    #[arg(id = "before_script", long = "script", value_name = "FILE")]
    script: Option<PathBuf>,
    /// Draw pages in the main screen.
    #[arg(id = "before_no_alt_screen", long = "no-alt-screen")]
    pub no_alt_screen: bool,
    /// Write plain lines for a screen reader, and draw nothing.
    #[arg(id = "before_screen_reader", long = "screen-reader")]
    pub screen_reader: bool,
}

impl Interactive {
    /// Whether any of these options was typed.
    pub fn is_given(&self) -> bool {
        self.has_turn_options() || !self.image.is_empty() || self.no_alt_screen || self.screen_reader
    }

    fn has_turn_options(&self) -> bool {
        self.model.is_some()
            || self.profile.is_some()
            || self.sandbox.is_some()
            || self.approval.is_some()
            || self.cd.is_some()
            || self.full_auto
            || self.bypass
            || self.search
            || !self.add_dir.is_empty()
            || self.oss
            || self.local_provider.is_some()
            || self.script.is_some()
    }

    /// The options of the session's turns.
    pub fn turn(&self) -> TurnArgs {
        TurnArgs {
            image: self.image.clone(),
            start: StartArgs {
                model: self.model.clone(),
                profile: self.profile.clone(),
                sandbox: self.sandbox,
                cd: self.cd.clone(),
                full_auto: self.full_auto,
                bypass: self.bypass,
                add_dir: self.add_dir.clone(),
                oss: self.oss,
                local_provider: self.local_provider,
                script: self.script.clone(),
                ..StartArgs::default()
            },
            ..TurnArgs::default()
        }
    }

    /// Whether the live web search is asked for.
    pub fn wants_search(&self) -> bool {
        self.search
    }

    /// The approval policy that was asked for.
    pub fn approval_policy(&self) -> Option<ApprovalPolicy> {
        policy(self.approval, self.full_auto, self.bypass)
    }
}

/// Options of `resume` and `fork` that only the terminal client has.
#[derive(Debug, Clone, Copy, Default, ClapArgs)]
pub struct ClientOptions {
    /// In a terminal: when a person is asked about a command.
    #[arg(short = 'a', long = "ask-for-approval", value_enum, value_name = "POLICY")]
    pub approval: Option<Approval>,

    /// In a terminal: draw pages in the main screen.
    #[arg(long)]
    pub no_alt_screen: bool,

    /// In a terminal: write plain lines for a screen reader, and draw nothing.
    #[arg(long)]
    pub screen_reader: bool,

    /// Run one turn and end, also in a terminal.
    #[arg(long)]
    pub once: bool,
}

/// The approval policy of the options of the terminal client.
pub fn policy(approval: Option<Approval>, full_auto: bool, bypass: bool) -> Option<ApprovalPolicy> {
    if bypass {
        return Some(ApprovalPolicy::Never);
    }
    if full_auto {
        return Some(ApprovalPolicy::OnRequest);
    }
    approval.map(|approval| match approval {
        Approval::Untrusted => ApprovalPolicy::Untrusted,
        Approval::OnFailure => ApprovalPolicy::OnFailure,
        Approval::OnRequest => ApprovalPolicy::OnRequest,
        Approval::Never => ApprovalPolicy::Never,
    })
}
