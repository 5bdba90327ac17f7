//! Arguments of `demo`.

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub struct DemoArgs {
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
}
