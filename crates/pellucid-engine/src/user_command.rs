//! The item that shows a user's command to the model.

use std::time::Duration;

use pellucid_protocol::settings::TruncationPolicy;

use crate::exec_output;
use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::transcript::Draft;

/// A command of a person that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserCommand<'a> {
    /// The command, as the person wrote it.
    pub command: &'a str,
    /// The exit code; -1 for a command without one.
    pub exit_code: i32,
    /// The running time of the command.
    pub duration: Duration,
    /// The output of the command.
    pub output: &'a str,
}

impl UserCommand<'_> {
    /// The message that records it.
    pub fn record(&self, policy: TruncationPolicy) -> Draft {
        let result = format!(
            "Exit code: {}\nDuration: {:.4} seconds\nOutput:\n{}",
            self.exit_code,
            self.duration.as_secs_f64(),
            exec_output::with_heading(self.output, policy)
        );
        let fragments = vec![
            Fragment::layout("<user_shell_command>\n<command>\n"),
            Fragment { origin: Origin::User, text: self.command.to_owned() },
            Fragment::layout("\n</command>\n<result>\n"),
            Fragment { origin: Origin::Tool { name: "user_shell".into() }, text: result },
            Fragment::layout("\n</result>\n</user_shell_command>"),
        ];
        Draft::text("user_shell_command", "user", fragments)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use pellucid_protocol::settings::TruncationMode;

    use super::*;
    use crate::boundary;
    use crate::fragment::concat;
    use crate::transcript::DraftPart;

    #[test]
    fn a_record_has_command_and_result_and_begins_no_turn() {
        let command = UserCommand {
            command: "seq 3 | tac",
            exit_code: 0,
            duration: Duration::from_micros(12_345),
            output: "3\n2\n1\n",
        };
        let record = command.record(TruncationPolicy { mode: TruncationMode::Bytes, limit: 100 });
        let DraftPart::Text(text) = &record.parts[0] else { panic!("a record is a text") };
        expect![[r#"
            <user_shell_command>
            <command>
            seq 3 | tac
            </command>
            <result>
            Exit code: 0
            Duration: 0.0123 seconds
            Output:
            3
            2
            1

            </result>
            </user_shell_command>"#]]
        .assert_eq(&concat(text));
        assert!(!boundary::begins_user_turn(&record.item()));
    }
}
