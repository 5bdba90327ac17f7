//! The files of a session, read once for any number of questions about its requests.

use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::sync::OnceLock;

use pellucid_store::read::SessionFile;
use pellucid_store::requests::anchors::Anchors;
use pellucid_store::requests::chain::Chain;

use super::ReplayError;
use super::family::Numbering;
use super::skim::JsonMatch;
use super::survey::FileSurvey;

/// The files of a session: its record in memory, and a survey of its session file.
#[derive(Debug)]
pub struct ReplaySource {
    pub(super) home: PathBuf,
    pub(super) file: SessionFile,
    pub(super) chain: Chain,
    pub(super) survey: FileSurvey,
    /// How the requests are counted, once that was asked.
    numbering: OnceLock<Numbering>,
}

impl ReplaySource {
    /// Reads the record of a session and goes through its file.
    ///
    /// # Errors
    /// When the files cannot be read.
    pub fn open(home: &Path, file: &SessionFile) -> Result<Self, ReplayError> {
        Self::open_surveyed(home, file, FileSurvey::default())
    }

    /// The same with a survey of the file as it was before something was added to it.
    ///
    /// # Errors
    /// When the files cannot be read.
    pub fn open_surveyed(home: &Path, file: &SessionFile, mut survey: FileSurvey) -> Result<Self, ReplayError> {
        let chain = super::chain(home, file, &Anchors::read(home, Some(&file.meta.id)))?;
        survey.extend(file)?;
        Ok(Self::new(home, file, chain, survey))
    }

    /// Reads the record of a session and goes through its file. Gives the offsets of the lines that may match, too.
    ///
    /// # Errors
    /// When the files cannot be read.
    pub fn open_searched(
        home: &Path,
        file: &SessionFile,
        is_match: &JsonMatch<'_>,
    ) -> Result<(Self, Vec<u64>), ReplayError> {
        let chain = super::chain(home, file, &Anchors::read(home, Some(&file.meta.id)))?;
        let (mut survey, mut starts) = (FileSurvey::default(), Vec::new());
        survey.extend_with(file, &mut |line| starts.extend(is_match(line.bytes).then_some(line.start)))?;
        Ok((Self::new(home, file, chain, survey), starts))
    }

    pub(super) fn new(home: &Path, file: &SessionFile, chain: Chain, survey: FileSurvey) -> Self {
        Self { home: home.to_owned(), file: file.clone(), chain, survey, numbering: OnceLock::new() }
    }

    /// The session file.
    pub fn file(&self) -> &SessionFile {
        &self.file
    }

    /// The record of what was sent.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// What the session file says between its items.
    pub fn survey(&self) -> &FileSurvey {
        &self.survey
    }

    /// How the requests are counted, without sessions that are being looked at already.
    pub(super) fn numbering(&self, seen: &BTreeSet<String>) -> Result<Numbering, ReplayError> {
        Ok(Numbering::of(self, seen)?)
    }

    /// How the requests are counted.
    pub(super) fn own_numbering(&self) -> Result<&Numbering, ReplayError> {
        match self.numbering.get() {
            Some(numbering) => Ok(numbering),
            None => {
                let numbering = self.numbering(&BTreeSet::new())?;
                Ok(self.numbering.get_or_init(|| numbering))
            }
        }
    }
}
