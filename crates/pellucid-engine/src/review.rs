//! A review: what the reviewer is asked, what is made of the answer, what the session keeps of it.
//!
//! Not here: running the reviewer, which is a separate session.

use pellucid_protocol::review::ReviewOutput;
use pellucid_protocol::review::ReviewTarget;

use crate::fragment::Fragment;
use crate::pack::Pack;
use crate::template::Shape;
use crate::template::TemplatePlace;
use crate::transcript::Draft;

const RUBRIC: &str = "review/rubric.md";
const UNCOMMITTED: &str = "review/target_uncommitted.md";
const BRANCH: &str = "review/target_base_branch.md";
const BRANCH_WITHOUT_BASE: &str = "review/target_base_branch_no_merge_base.md";
const COMMIT: &str = "review/target_commit.md";
const COMMIT_TITLED: &str = "review/target_commit_titled.md";
const SUCCESS: &str = "review/exit_success.xml";
const INTERRUPTED: &str = "review/exit_interrupted.xml";

/// The message for the user when a reviewer said nothing.
const SILENT: &str = "Reviewer failed to output a response.";

/// The message for the user when a review was interrupted.
const BROKEN_OFF: &str = "The review was interrupted. Run it again to get its results.";

/// The templates used here.
pub(crate) const TEMPLATES: &[(&str, Shape)] = &[
    (RUBRIC, Shape::VERBATIM),
    (UNCOMMITTED, Shape::VERBATIM),
    (BRANCH, Shape::with(&[TemplatePlace::must("{baseBranch}"), TemplatePlace::must("{mergeBaseSha}")])),
    (BRANCH_WITHOUT_BASE, Shape::with(&[TemplatePlace::must("{branch}")])),
    (COMMIT, Shape::with(&[TemplatePlace::must("{sha}")])),
    (COMMIT_TITLED, Shape::with(&[TemplatePlace::must("{sha}"), TemplatePlace::must("{title}")])),
    (SUCCESS, Shape::with(&[TemplatePlace::must("{results}")])),
    (INTERRUPTED, Shape::VERBATIM),
];

/// The base instructions of the reviewer.
pub fn rubric(pack: &Pack) -> Vec<Fragment> {
    pack.template(RUBRIC).text()
}

/// The prompt for the reviewer. The merge base is the commit at which the branches diverge, if it is known.
pub fn prompt(pack: &Pack, target: &ReviewTarget, merge_base: Option<&str>) -> Vec<Fragment> {
    let fact = |name, text: &str| vec![Fragment::fact(name, text)];
    match (target, merge_base) {
        (ReviewTarget::UncommittedChanges, _) => pack.template(UNCOMMITTED).text(),
        (ReviewTarget::BaseBranch { branch }, Some(sha)) => pack
            .template(BRANCH)
            .render(&[("{baseBranch}", fact("base branch", branch)), ("{mergeBaseSha}", fact("merge base", sha))]),
        (ReviewTarget::BaseBranch { branch }, None) => {
            pack.template(BRANCH_WITHOUT_BASE).render(&[("{branch}", fact("base branch", branch))])
        }
        (ReviewTarget::Commit { sha, title: None }, _) => {
            pack.template(COMMIT).render(&[("{sha}", fact("commit", sha))])
        }
        (ReviewTarget::Commit { sha, title: Some(title) }, _) => {
            pack.template(COMMIT_TITLED).render(&[("{sha}", fact("commit", sha)), ("{title}", fact("title", title))])
        }
        (ReviewTarget::Custom { instructions }, _) => vec![Fragment::fact("instructions", instructions.trim())],
    }
}

/// A short description of the target, for people.
pub fn hint(target: &ReviewTarget) -> String {
    let short = |sha: &str| sha.chars().take(7).collect::<String>();
    match target {
        ReviewTarget::UncommittedChanges => "current changes".to_owned(),
        ReviewTarget::BaseBranch { branch } => format!("changes against '{branch}'"),
        ReviewTarget::Commit { sha, title: None } => format!("commit {}", short(sha)),
        ReviewTarget::Commit { sha, title: Some(title) } => format!("commit {}: {title}", short(sha)),
        ReviewTarget::Custom { instructions } => instructions.trim().to_owned(),
    }
}

/// Parses a reviewer's answer: JSON, JSON among other text, or plain text.
pub fn parse(answer: &str) -> ReviewOutput {
    let inner = || answer.get(answer.find('{')?..=answer.rfind('}')?);
    serde_json::from_str(answer)
        .ok()
        .or_else(|| serde_json::from_str(inner()?).ok())
        .unwrap_or_else(|| ReviewOutput { overall_explanation: answer.to_owned(), ..ReviewOutput::default() })
}

/// A review in words; `None` means an interrupted review.
pub fn render(output: Option<&ReviewOutput>) -> String {
    let Some(output) = output else { return BROKEN_OFF.to_owned() };
    let explanation = output.overall_explanation.trim();
    let mut sections = Vec::new();
    if !explanation.is_empty() {
        sections.push(explanation.to_owned());
    }
    if !output.findings.is_empty() {
        sections.push(findings(output));
    }
    if sections.is_empty() { SILENT.to_owned() } else { sections.join("\n\n") }
}

fn findings(output: &ReviewOutput) -> String {
    let heading = if output.findings.len() == 1 { "Review comment:" } else { "Full review comments:" };
    let mut lines = vec![heading.to_owned()];
    for finding in &output.findings {
        let place = &finding.code_location;
        let range = place.line_range;
        lines.push(String::new());
        lines.push(format!("- {} — {}:{}-{}", finding.title, place.absolute_file_path, range.start, range.end));
        lines.extend(finding.body.lines().map(|line| format!("  {line}")));
    }
    lines.join("\n")
}

/// The user message that the session records for a review.
pub fn record(pack: &Pack, output: Option<&ReviewOutput>) -> Draft {
    let text = match output {
        Some(output) => {
            let results = vec![Fragment::fact("review", results(output))];
            pack.template(SUCCESS).render(&[("{results}", results)])
        }
        None => pack.template(INTERRUPTED).text(),
    };
    Draft::text("review", "user", text)
}

fn results(output: &ReviewOutput) -> String {
    let explanation = output.overall_explanation.trim();
    if output.findings.is_empty() { explanation.to_owned() } else { format!("{explanation}\n\n{}", findings(output)) }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::fragment::concat;

    #[test]
    fn answers_are_json_or_hold_it_or_are_text() {
        let json = r#"{"findings":[],"overall_correctness":"ok","overall_explanation":"Fine.","overall_confidence_score":0.5}"#;
        assert_eq!(parse(json).overall_correctness, "ok");
        assert_eq!(parse(&format!("Here: {json} so.")), parse(json));
        assert_eq!(parse("Nothing {odd}.").overall_explanation, "Nothing {odd}.");
    }

    #[test]
    fn findings_are_listed_with_their_places() {
        let finding = |title: &str| {
            let place = r#"{"absolute_file_path":"/a","line_range":{"start":1,"end":2}}"#;
            format!(
                r#"{{"title":"{title}","body":"One.\nTwo.","confidence_score":1,"priority":1,"code_location":{place}}}"#
            )
            .replace("One.\n", "One.\\n")
        };
        let output = |findings: &str| {
            parse(&format!(
                r#"{{"findings":[{findings}],"overall_correctness":"","overall_explanation":" Bad. ","overall_confidence_score":1}}"#
            ))
        };
        expect![[r#"
            Bad.

            Full review comments:

            - A — /a:1-2
              One.
              Two.

            - B — /a:1-2
              One.
              Two."#]]
        .assert_eq(&render(Some(&output(&format!("{},{}", finding("A"), finding("B"))))));
        assert_eq!(render(Some(&output(""))), "Bad.");
        assert_eq!(render(Some(&ReviewOutput::default())), SILENT);
    }

    #[test]
    fn every_target_has_a_question_and_a_hint() {
        let pack = Pack::builtin("codex").unwrap();
        let branch = ReviewTarget::BaseBranch { branch: "main".to_owned() };
        expect!["Review the changes on the current branch against the base branch 'main'. The merge base of the two is the commit abc. Run `git diff abc` to see exactly what would be merged into main. Report your findings in order of priority, as far as they can be acted on."].assert_eq(&concat(&prompt(&pack, &branch, Some("abc"))));
        expect![[r#"Review the changes on the current branch against the base branch 'main'. The merge base could not be determined in advance, so find it first, preferring the upstream of that branch: run `git merge-base HEAD "$(git rev-parse --abbrev-ref "main@{upstream}")"`, and if there is no upstream, `git merge-base HEAD main`. Then run `git diff` with the commit you found to see exactly what would be merged into main. Report your findings in order of priority, as far as they can be acted on."#]].assert_eq(&concat(&prompt(&pack, &branch, None)));
        let commit = |title: Option<&str>| ReviewTarget::Commit {
            sha: "0123456789".to_owned(),
            title: title.map(str::to_owned),
        };
        assert_eq!(
            [hint(&commit(None)), hint(&commit(Some("t"))), hint(&branch)],
            ["commit 0123456", "commit 0123456: t", "changes against 'main'"]
        );
        let custom = ReviewTarget::Custom { instructions: " look ".to_owned() };
        assert_eq!((concat(&prompt(&pack, &custom, None)), hint(&custom)), ("look".to_owned(), "look".to_owned()));
    }
}
