//! A stored session whose next request is looked at.

use clap::Args as ClapArgs;

use crate::start::Which;

/// A stored session to look at without continuing it.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct StoredArgs {
    /// Look at the next request of this session: its id, the beginning of its id, or its name.
    #[arg(long, value_name = "SESSION", conflicts_with = "last")]
    pub session: Option<String>,

    /// Look at the next request of the session that was used last in this folder.
    #[arg(long)]
    pub last: bool,
}

impl StoredArgs {
    /// The session that is meant, if any.
    pub fn which(&self) -> Option<Which> {
        let last = self.last.then_some(Which::Newest { everywhere: false });
        self.session.clone().map(Which::Id).or(last)
    }
}
