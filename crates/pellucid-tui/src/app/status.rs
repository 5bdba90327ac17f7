//! What `/status` shows: the model, the folder, permissions, tokens.

use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::SandboxPolicy;

use super::App;
use super::footer;

impl App {
    /// Shows the settings and the figures of the session.
    pub(super) fn say_status(&mut self) {
        let mut lines = vec!["/status".to_owned()];
        let mut row = |name: &str, value: String| lines.push(format!("  {name:<18}{value}"));
        if let Some(session) = &self.session.configured {
            let effort = session.reasoning_effort.map_or_else(String::new, |effort| format!(" (reasoning {effort})"));
            row("Model", format!("{}{effort}", session.model));
            row("Provider", self.settings.around.provider.clone());
            row("Folder", session.cwd.display().to_string());
            row("Permissions", permissions(session.approval_policy, &session.sandbox_policy));
            row("Instructions", self.settings.around.instructions.clone());
            if let Some(name) = &self.session.name {
                row("Name", name.clone());
            }
            row("Session", session.session_id.as_str().to_owned());
        }
        if let Some(usage) = &self.session.usage {
            let total = &usage.total_token_usage;
            let input = total.input_tokens.saturating_sub(total.cached_input_tokens).max(0);
            let all = short(input + total.output_tokens);
            row("Tokens", format!("{all} total ({} input + {} output)", short(input), short(total.output_tokens)));
            if let Some(window) = usage.model_context_window {
                let used = usage.last_token_usage.total_tokens;
                let left = footer::percent_left(used, window);
                row("Context", format!("{left}% left ({} used / {})", short(used), short(window)));
            }
        }
        self.say_lines(&lines);
    }
}

fn permissions(approval: ApprovalPolicy, sandbox: &SandboxPolicy) -> String {
    let sandbox = match sandbox {
        SandboxPolicy::DangerFullAccess => "no sandbox",
        SandboxPolicy::ReadOnly => "read-only",
        SandboxPolicy::ExternalSandbox { .. } => "sandbox of another program",
        SandboxPolicy::WorkspaceWrite { .. } => "workspace-write",
    };
    format!("{sandbox}, asks: {approval}")
}

/// A number in short: `950`, `1.5K`, `272K`, `1.2M`.
pub(crate) fn short(number: i64) -> String {
    let scaled = |by: i64, unit: &str| {
        // The part below the unit is scaled alone, so that no count of a server overflows.
        let tenths = number / by * 10 + (number % by * 10 + by / 2) / by;
        if tenths >= 1000 || tenths % 10 == 0 {
            format!("{}{unit}", (tenths + 5 * i64::from(tenths % 10 != 0)) / 10)
        } else {
            format!("{}.{}{unit}", tenths / 10, tenths % 10)
        }
    };
    match number {
        ..1_000 => number.to_string(),
        1_000..1_000_000 => scaled(1_000, "K"),
        _ => scaled(1_000_000, "M"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (number, expected) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1K"),
            (1_549, "1.5K"),
            (272_000, "272K"),
            (1_250_000, "1.3M"),
            (i64::MAX, "9223372036855M"),
        ] {
            assert_eq!(short(number), expected);
        }
    }
}
