//! `--elicitation`: the answers to questions of MCP servers, given before there is a question.

use std::path::Path;

use pellucid_protocol::elicitation::ElicitationPolicy;

use crate::start::ProgramFailure;

/// The value that accepts every question.
const DEFAULTS: &str = "accept-defaults";

/// How long the file may be.
const BYTES_MAX: u64 = 1 << 20;

/// Who answers, by the value of the option.
pub fn policy(answers: &Path) -> Result<ElicitationPolicy, ProgramFailure> {
    if answers.as_os_str() == DEFAULTS {
        return Ok(ElicitationPolicy::Defaults);
    }
    let failed = |error: String| {
        let hint = "`--elicitation` takes `accept-defaults`, or a file such as {\"SERVER\": {\"FIELD\": \"value\"}}";
        ProgramFailure::with_hint(&format!("could not read {}: {error}", answers.display()), hint)
    };
    let bytes = pellucid_files::read(answers, BYTES_MAX).map_err(|error| failed(error.to_string()))?;
    serde_json::from_slice(&bytes).map(ElicitationPolicy::Given).map_err(|error| failed(error.to_string()))
}
