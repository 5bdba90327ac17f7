//! Whether a sandbox stopped a command, and what follows.
//!
//! A sandbox does not report that it stopped a command. The output and the exit code of the command are the only signs,
//! and they are not certain: a program without rights to a file prints the same outside of any sandbox.

use pellucid_protocol::settings::ApprovalPolicy;

use crate::approval::Platform;

/// What programs print when they are stopped, in lower case.
const SIGNS: &[&str] = &[
    "operation not permitted",
    "permission denied",
    "read-only file system",
    "seccomp",
    "sandbox",
    "landlock",
    "failed to write file",
];
/// Exit codes of programs that were called wrongly, cannot be started or do not exist.
const ORDINARY_ENDS: &[i32] = &[2, 126, 127];
/// The exit code, on Linux, of a program that made a forbidden system call.
const BAD_SYSTEM_CALL: i32 = 128 + 31;

/// The reason that the client shows when it asks after a denial.
pub const RETRY_REASON: &str = "command failed; retry without sandbox?";

/// An attempt to run a command, after its end.
#[derive(Debug, Clone, Copy)]
pub struct EndedAttempt<'a> {
    /// Whether the attempt ran in a sandbox.
    pub is_sandboxed: bool,
    /// The exit code of the command.
    pub exit_code: i32,
    /// What the command printed, in as many pieces as are known.
    pub outputs: &'a [&'a str],
}

/// Why an attempt counts as denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// The command printed this text.
    Printed(&'static str),
    /// The command ended like a program that made a forbidden system call.
    BadSystemCall,
}

/// Whether a sandbox seems to have stopped an attempt.
pub fn denial(ended: &EndedAttempt<'_>, platform: Platform) -> Option<Sign> {
    if !ended.is_sandboxed || ended.exit_code == 0 {
        return None;
    }
    let printed = ended.outputs.iter().find_map(|output| {
        let output = output.to_lowercase();
        SIGNS.iter().find(|sign| output.contains(*sign))
    });
    if let Some(sign) = printed {
        return Some(Sign::Printed(sign));
    }
    if ORDINARY_ENDS.contains(&ended.exit_code) {
        return None;
    }
    (platform == Platform::Linux && ended.exit_code == BAD_SYSTEM_CALL).then_some(Sign::BadSystemCall)
}

/// What kind of call the sandbox stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// The call runs a command.
    Command,
    /// The call applies a patch.
    Patch,
}

/// Whether a person has allowed the call already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// A person allowed the call.
    Given,
    /// The call ran without a question.
    NotAsked,
}

/// What follows a denial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterDenial {
    /// The failure is the result of the call.
    Fail,
    /// The client is asked, with [`RETRY_REASON`]; if it agrees, the call is tried again outside of the sandbox.
    Ask,
    /// The call is tried again outside of the sandbox, without a question.
    Retry,
}

/// What follows a denial. There is at most one more attempt.
pub fn after_denial(policy: ApprovalPolicy, denied: Denied, consent: Consent) -> AfterDenial {
    let may_ask = match (policy, denied) {
        (ApprovalPolicy::Never, _) | (ApprovalPolicy::OnRequest, Denied::Command) => false,
        (ApprovalPolicy::OnRequest, Denied::Patch) | (ApprovalPolicy::OnFailure | ApprovalPolicy::Untrusted, _) => true,
    };
    match (may_ask, consent) {
        (false, _) => AfterDenial::Fail,
        (true, Consent::NotAsked) => AfterDenial::Ask,
        (true, Consent::Given) => AfterDenial::Retry,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_denial(exit_code: i32, outputs: &[&str], expected: Option<Sign>) {
        let ended = EndedAttempt { is_sandboxed: true, exit_code, outputs };
        assert_eq!(denial(&ended, Platform::Linux), expected);
        let unconfined = EndedAttempt { is_sandboxed: false, ..ended };
        assert_eq!(denial(&unconfined, Platform::Linux), None);
    }

    #[test]
    fn signs_of_a_sandbox() {
        check_denial(1, &["", "touch: a: Permission denied"], Some(Sign::Printed("permission denied")));
        check_denial(126, &["sh: x: Operation not permitted"], Some(Sign::Printed("operation not permitted")));
        check_denial(1, &["Read-only file system"], Some(Sign::Printed("read-only file system")));
        check_denial(1, &["SECCOMP"], Some(Sign::Printed("seccomp")));
        check_denial(1, &["a sandbox"], Some(Sign::Printed("sandbox")));
        check_denial(1, &["landlock"], Some(Sign::Printed("landlock")));
        check_denial(1, &["", "", "Failed to write file a"], Some(Sign::Printed("failed to write file")));
        check_denial(0, &["permission denied"], None);
        check_denial(1, &["no such file"], None);
        for code in [2, 126, 127] {
            check_denial(code, &["not found"], None);
        }
        check_denial(159, &[""], Some(Sign::BadSystemCall));
        check_denial(-1, &[], None);
        let ended = EndedAttempt { is_sandboxed: true, exit_code: 159, outputs: &[] };
        assert_eq!(denial(&ended, Platform::MacOs), None);
    }

    #[test]
    fn what_follows() {
        use ApprovalPolicy as Policy;
        let rows = [
            (Policy::Never, AfterDenial::Fail, AfterDenial::Fail),
            (Policy::OnRequest, AfterDenial::Fail, AfterDenial::Ask),
            (Policy::OnFailure, AfterDenial::Ask, AfterDenial::Ask),
            (Policy::Untrusted, AfterDenial::Ask, AfterDenial::Ask),
        ];
        for (policy, command, patch) in rows {
            for (denied, unasked) in [(Denied::Command, command), (Denied::Patch, patch)] {
                assert_eq!(after_denial(policy, denied, Consent::NotAsked), unasked, "{policy} {denied:?}");
                let asked = if unasked == AfterDenial::Ask { AfterDenial::Retry } else { AfterDenial::Fail };
                assert_eq!(after_denial(policy, denied, Consent::Given), asked, "{policy} {denied:?}");
            }
        }
    }
}
