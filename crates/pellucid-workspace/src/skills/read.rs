//! Reading what a skill says of itself: the head of its `SKILL.md` and the file beside it.

use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;

use pellucid_engine::skills::Skill;
use pellucid_engine::skills::SkillError;
use pellucid_engine::skills::SkillFault;
use pellucid_engine::skills::SkillManifest;
use pellucid_engine::skills::SkillOwner;
use pellucid_engine::skills::SkillProblem;
use pellucid_engine::skills::Switch;
use pellucid_engine::skills::front_matter;
use pellucid_engine::skills::metadata;
use rustix::fs::Dir;
use rustix::fs::Mode;
use rustix::fs::OFlags;

use super::shown;

/// How many bytes of a file are read at a time. Most skills are shorter.
const BUFFER_BYTES: usize = 32 * 1024;

/// Reads one skill after another.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// Cache: one buffer for all files.
    buffer: Vec<u8>,
}

impl Reader {
    /// The file that makes a folder a skill.
    pub(super) const FILE: &str = "SKILL.md";

    /// The folder beside it with further descriptions.
    pub(super) const METADATA_FOLDER: &str = "agents";

    /// The one of them that is read.
    const METADATA_FILE: &str = "openai.yaml";

    /// The skill of this folder, whose path is canonical and which is open.
    pub(super) fn skill(&mut self, folder: &Path, handle: &Dir, scope: SkillOwner) -> Result<Skill, SkillProblem> {
        let head = self.text(handle).and_then(front_matter::parse);
        let path = shown(&folder.join(Self::FILE));
        match head {
            Ok(head) => Ok(Skill {
                name: head.name,
                description: head.description,
                short_description: head.short_description,
                allowed_tools: head.allowed_tools,
                path,
                scope,
                switch: Switch::On,
                metadata: None,
            }),
            Err(error) => Err(SkillProblem { path, fault: SkillFault::Skill(error) }),
        }
    }

    /// The content of the metadata file beside the skill of this folder, if there is one.
    pub(super) fn metadata(&self, folder: &Path) -> Result<Option<Box<SkillManifest>>, SkillProblem> {
        let path = folder.join(Self::METADATA_FOLDER).join(Self::METADATA_FILE);
        let metadata = match pellucid_files::read_text(&path, pellucid_files::TEXT_BYTES_MAX) {
            Ok(text) => metadata::parse(&text),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => Err(error.to_string()),
        };
        match metadata {
            Ok(metadata) => Ok(Some(Box::new(metadata))),
            Err(error) => Err(SkillProblem { path: shown(&path), fault: SkillFault::Metadata { error } }),
        }
    }

    /// The whole file: one that is not text further down is no skill either.
    fn text(&mut self, folder: &Dir) -> Result<&str, SkillError> {
        let unreadable = |error: io::Error| SkillError::Unreadable { error: error.to_string() };
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = folder.fd().and_then(|folder| rustix::fs::openat(folder, Self::FILE, flags, Mode::empty()));
        let mut file = file.map(File::from).map_err(|error| unreadable(error.into()))?;
        if !file.metadata().map_err(unreadable)?.is_file() {
            return Err(unreadable(io::Error::other("it is not a regular file")));
        }
        let mut len = 0;
        loop {
            if self.buffer.len() < len + BUFFER_BYTES {
                self.buffer.resize(len + BUFFER_BYTES, 0);
            }
            match file.read(&mut self.buffer[len..]) {
                Ok(n) => {
                    len += n;
                    // A listed file is a regular file, which gives fewer bytes only at its end.
                    if len < self.buffer.len() {
                        break;
                    }
                    if len as u64 > pellucid_files::TEXT_BYTES_MAX {
                        return Err(unreadable(io::ErrorKind::FileTooLarge.into()));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(unreadable(error)),
            }
        }
        std::str::from_utf8(&self.buffer[..len])
            .map_err(|_| unreadable(io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8")))
    }
}
