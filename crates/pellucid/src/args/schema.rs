//! `schema`: the JSON Schemas of what commands print.

use clap::Args as ClapArgs;

/// The arguments of `schema`.
#[derive(Debug, Clone, ClapArgs)]
#[command(after_help = "\
Example: pellucid schema diff

Exit status: 0, or 2 if there is no such form.")]
pub struct SchemaArgs {
    /// The name of the form, such as `diff` or `pellucid.diff/1`. Without a name, all are listed.
    pub name: Option<String>,
}
