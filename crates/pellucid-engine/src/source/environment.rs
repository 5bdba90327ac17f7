//! Where the model works: directory, shell, and the network rules of managed requirements.
//!
//! No date, system, policy or git state: what changes from day to day would break the prefix.

use super::Ask;
use super::Given;
use super::Source;
use crate::fragment::Fragment;

pub(super) const SOURCE: Source = Source { name: "environment", templates: &[], give };

fn give(ask: &Ask<'_>) -> Given {
    let facts = ask.facts;
    let mut fragments = vec![
        Fragment::layout("<environment_context>\n  <cwd>"),
        Fragment::fact("cwd", facts.cwd.as_str()),
        Fragment::layout("</cwd>\n  <shell>"),
        Fragment::fact("shell", facts.shell.as_str()),
        Fragment::layout("</shell>"),
    ];
    if let Some(network) = &facts.network {
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
    Given::text(fragments)
}
