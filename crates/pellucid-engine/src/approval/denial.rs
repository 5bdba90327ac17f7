//! Whether a sandbox stopped a command, and what follows.
//!
//! A sandbox does not say that it did. What a command prints and how it ends tells, though not for sure: a
//! program that has no right to a file outside of any sandbox says the same.

use pellucid_protocol::settings::ApprovalPolicy;

use crate::approval::Platform;

/// What programs say when they are stopped, in lower case.
const SIGNS: &[&str] = &[
    "operation not permitted",
    "permission denied",
    "read-only file system",
    "seccomp",
    "sandbox",
    "landlock",
    "failed to write file",
];
/// How programs end that were called wrongly, cannot be started or are not there.
const ORDINARY_ENDS: &[i32] = &[2, 126, 127];
/// How a program ends on Linux that made a forbidden system call.
const BAD_SYSTEM_CALL: i32 = 128 + 31;

/// Why somebody is asked after a denial.
pub const RETRY_REASON: &str = "command failed; retry without sandbox?";

/// How an attempt ended.
#[derive(Debug, Clone, Copy)]
pub struct EndedAttempt<'a> {
    /// Whether it ran in a sandbox.
    pub is_sandboxed: bool,
    /// Its exit code.
    pub exit_code: i32,
    /// What it printed, in as many pieces as are known.
    pub outputs: &'a [&'a str],
}

/// Why an attempt counts as denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// It printed this.
    Printed(&'static str),
    /// It ended like a program that made a forbidden system call.
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

/// Who was denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// A command.
    Command,
    /// A patch.
    Patch,
}

/// Whether a person has allowed the call already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// Somebody has.
    Given,
    /// Nobody was asked.
    NotAsked,
}

/// What follows a denial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterDenial {
    /// The failure is the result.
    Fail,
    /// Somebody is asked, for [`RETRY_REASON`]; with consent it is tried again outside of the sandbox.
    Ask,
    /// It is tried again outside of the sandbox.
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
