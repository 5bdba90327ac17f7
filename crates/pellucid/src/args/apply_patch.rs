//! Arguments of `apply-patch`.

use std::ffi::OsString;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "The format is described in docs/apply-patch.md. Exit codes: 0 applied, 1 nothing was changed, 2 usage."
)]
pub struct ApplyPatchArgs {
    /// The patch, from `*** Begin Patch` to `*** End Patch`. Without it the patch is read from standard input.
    pub patch: Option<OsString>,
}
