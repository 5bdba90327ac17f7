//! `cost`: what sessions cost.

use clap::Args as ClapArgs;
use clap::ValueEnum;
use pellucid_answers::cost::CostBy;
use pellucid_answers::cost::CostSetting;

use crate::args::from::FromArgs;
use crate::args::session_ref::SessionList;

/// The arguments of `cost`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Tokens are those that the provider charged: read from its cache, written to it, uncached, and answered. With --by part, source \
or tool each request's tokens are dealt out by the bytes that the model read, in whole tokens that add up.

--as simulates the recorded requests under another setting, with the recorded answers and times; several give several columns. \
Settings: model=M, ttl=TIME (such as 5m or 1h), without=PART, order=stable-first, pack=P, wire=responses|chat|messages, \
prompt_mode=full|minimal|none, mcp=off, compact_at=TOKENS. From pack= on, the requests are made again from the recorded \
conversation and the files and configuration of today, after a check that the recorded requests come out byte for byte.

Examples:
  pellucid cost --last
  pellucid cost --last --by part
  pellucid cost --last --as ttl=1h --as without=tools
  pellucid cost --last --as pack=openclaw --as wire=chat

Exit status: 0, 2 for wrong usage, 3 if a price is unknown, a session has no record, or a setting cannot be simulated.")]
pub struct CostArgs {
    #[command(flatten)]
    pub of: SessionList,

    #[command(flatten)]
    pub from: FromArgs,

    /// What costs are added up by.
    #[arg(long, value_enum, default_value_t = CostByWord::Session)]
    pub by: CostByWord,

    /// Simulate the requests under another setting.
    #[arg(long = "as", value_name = "SETTING", value_parser = setting)]
    pub settings: Vec<CostSetting>,

    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// What costs are added up by.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum CostByWord {
    Session,
    Turn,
    Request,
    Part,
    Source,
    Tool,
}

impl From<CostByWord> for CostBy {
    fn from(word: CostByWord) -> Self {
        match word {
            CostByWord::Session => Self::Session,
            CostByWord::Turn => Self::Turn,
            CostByWord::Request => Self::Request,
            CostByWord::Part => Self::Part,
            CostByWord::Source => Self::Source,
            CostByWord::Tool => Self::Tool,
        }
    }
}

fn setting(text: &str) -> Result<CostSetting, String> {
    CostSetting::parse(text).map_err(|error| error.to_string())
}
