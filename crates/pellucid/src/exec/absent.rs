//! Things that the user named and that do not exist: found before anything is sent.

use pellucid_agent::own_git;
use pellucid_git::history;
use pellucid_protocol::review::ReviewTarget;

use crate::exec::Work;
use crate::start;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::style;

/// A session, an image, a branch or a commit that was named and does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// A warning, and the turn runs.
    Warned,
    /// The command ends before anything is sent.
    Refused,
}

impl Absent {
    /// Checks whether the session, image or commit of a job exists.
    pub fn check(self, start: &Start, work: &Work) -> Result<(), ProgramFailure> {
        match work {
            Work::Answer { images, .. } => {
                start::image_problems(images).iter().try_for_each(|problem| self.found(problem))
            }
            Work::Review(ReviewTarget::BaseBranch { branch }) => {
                if is_known(start, branch) {
                    Ok(())
                } else {
                    self.found(&format!("there is no branch `{branch}`"))
                }
            }
            Work::Review(ReviewTarget::Commit { sha, .. }) if !is_known(start, sha) => {
                Err(ProgramFailure::new(format!("there is no commit `{sha}`; nothing was sent")))
            }
            Work::Review(_) => Ok(()),
        }
    }

    /// Warns of something that does not exist, or ends the command.
    fn found(self, problem: &str) -> Result<(), ProgramFailure> {
        match self {
            Self::Warned => {
                style::line(&format!("warning: {problem}"));
                Ok(())
            }
            Self::Refused => Err(ProgramFailure::new(format!("{problem}; nothing was sent"))),
        }
    }
}

/// Whether a branch or commit exists. If git cannot be asked, the reviewer finds out.
fn is_known(start: &Start, name: &str) -> bool {
    let git = own_git::of(&start.config, &start.env);
    history::has_commit(&git, &start.config.folders.cwd, name).unwrap_or(true)
}
