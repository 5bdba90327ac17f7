//! The surroundings of the model: directory, shell, and the network rules of managed requirements.
//!
//! No date, system, policy or git state: what changes from day to day would break the prefix.

use super::Source;
use super::SourceInput;
use super::SourceKind;
use super::SourceOutput;
use crate::facts::Facts;
use crate::fragment::Fragment;

pub(super) const SOURCE: Source = Source { name: "environment", kind: SourceKind::Text, templates: &[], give };

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    // An update leaves the directory out where it did not change.
    let with_directory = ask.before.is_none_or(|before| before.settings.cwd != ask.facts.settings.cwd);
    SourceOutput::text(environment(ask.facts, with_directory))
}

fn environment(facts: &Facts, with_directory: bool) -> Vec<Fragment> {
    let mut fragments = vec![Fragment::layout("<environment_context>")];
    if with_directory {
        fragments.push(Fragment::layout("\n  <cwd>"));
        fragments.push(Fragment::fact("cwd", facts.settings.cwd.as_str()));
        fragments.push(Fragment::layout("</cwd>"));
    }
    fragments.push(Fragment::layout("\n  <shell>"));
    fragments.push(Fragment::fact("shell", facts.world.shell.as_str()));
    fragments.push(Fragment::layout("</shell>"));
    if let Some(network) = &facts.settings.network {
        fragments.push(Fragment::layout("\n  <network enabled=\"true\">"));
        for (tag, domains) in [("allowed", &network.allowed_domains), ("denied", &network.denied_domains)] {
            for domain in domains {
                fragments.push(Fragment::layout(format!("\n    <{tag}>")));
                fragments.push(Fragment::fact("network requirements", domain.as_str()));
                fragments.push(Fragment::layout(format!("</{tag}>")));
            }
        }
        fragments.push(Fragment::layout("\n  </network>"));
    }
    fragments.push(Fragment::layout("\n</environment_context>"));
    fragments
}
