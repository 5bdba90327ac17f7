//! The arguments of `pack`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::Subcommand;
use clap::ValueEnum;

#[derive(Debug, ClapArgs)]
pub struct PackArgs {
    #[command(subcommand)]
    pub command: PackCommand,
}

#[derive(Debug, Subcommand)]
pub enum PackCommand {
    /// List packs, built in and yours, and mark the one in use.
    List {
        /// Print the packs as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the slots of the pack in use, or the text of one of them.
    ///
    /// Without a slot: every slot with the file its text comes from. With one: its text on standard
    /// output, byte for byte, and what is known of it on standard error.
    Show {
        /// The slot, such as `permissions/approval_never` or `tools/update_plan.plan.status`.
        slot: Option<String>,
        /// Print the pack as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Copy a built-in pack, to change it.
    ///
    /// The copy is written into the folder `packs` of your home folder.
    New {
        /// The new pack's name: letters, digits, `-` and `_`.
        name: String,
        /// The built-in pack to copy.
        #[arg(long, value_name = "PACK", default_value = "codex")]
        from: String,
        /// A file whose text becomes the standing instructions of the copy, in packs that have them, such as `ads`.
        #[arg(long, value_name = "FILE")]
        instructions: Option<PathBuf>,
    },
    /// Check a pack, and list its mistakes with file and line.
    Check {
        /// The pack, by its name or its folder.
        #[arg(value_name = "NAME_OR_DIR")]
        pack: String,
        /// Print the findings as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Make a pack with another agent's texts.
    ///
    /// The texts are read from that agent's sources: a checkout that you name or that is found, else the tag is fetched with your
    /// git. The command says what it does before it does it.
    Import(PackImportArgs),
    /// Use a pack from now on.
    ///
    /// Writes `pack` into your `config.toml`; the rest of the file stays as it is.
    Use {
        /// The pack, by its name or its folder.
        #[arg(value_name = "NAME_OR_DIR")]
        pack: String,
    },
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: pellucid pack import codex --use\nWith a checkout: git clone --branch rust-v0.104.0 --depth 1 https://github.com/openai/codex codex-src\n                 pellucid pack import codex codex-src && pellucid --pack codex-0.104.0 prompt hello"
)]
pub struct PackImportArgs {
    /// The agent whose texts are imported.
    #[arg(value_enum)]
    pub project: Project,
    /// The folder with the checkout of its sources; for Codex of the tag rust-v0.104.0. Without it ~/codex,
    /// ~/codex-src and ~/src/codex are looked at, and else the tag is fetched.
    pub checkout: Option<PathBuf>,
    /// The repository to fetch the tag from, even if a checkout is found: https://… or file:///…
    #[arg(long, value_name = "URL", conflicts_with = "checkout")]
    pub from: Option<String>,
    /// Use the pack from now on, as `pack use` does.
    #[arg(long = "use")]
    pub uses: bool,
    /// The folder to write the pack into, instead of the folder `packs` of your home folder.
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// Write the pack even if some texts are not found; those are then as in the built-in pack.
    #[arg(long)]
    pub partial: bool,
    /// Write into a folder that is not empty.
    #[arg(long)]
    pub force: bool,
    /// Print the table as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Agents whose texts can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Project {
    Codex,
}
