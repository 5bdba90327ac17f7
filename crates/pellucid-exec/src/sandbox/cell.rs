//! The messages between the agent and a cell. A cell is a set of namespaces that was made before the command came.
//!
//! ```text
//! agent → keeper   another one
//! keeper → agent   here it is: the id of its first process, with its socket and a handle of that process
//! agent → cell     the command, as a file in memory, with its three files
//! cell → agent     it begins | it cannot be entered | this place is out of date
//! cell → agent     how it ended
//! ```
//!
//! Not here: making cells (`helper`) and choosing one (`crate::cells`).

use std::ffi::OsStr;
use std::ffi::OsString;
use std::io;
use std::io::IoSlice;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::net::RecvAncillaryBuffer;
use rustix::net::RecvAncillaryMessage;
use rustix::net::RecvFlags;
use rustix::net::SendAncillaryBuffer;
use rustix::net::SendAncillaryMessage;
use rustix::net::SendFlags;

use crate::before_exec::Attachment;

/// How many files go along with a message at most.
const FILES_MAX: usize = 4;

/// A message is short.
const BYTES_MAX: usize = 8;

/// Asks a keeper for another cell.
pub const ANOTHER: &[u8] = b"+";

/// Goes with the command, whose words are in the first file.
pub const BEGIN: &[u8] = b"!";

/// The message of a cell about its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellMessage {
    /// The command begins now.
    Begins,
    /// The command's folder cannot be entered, for this reason (an error number).
    NotEntered(i32),
    /// The paths that this cell protects have changed.
    OutOfDate,
    /// The command has ended with this status, as the system gives it.
    Ended(i32),
}

impl CellMessage {
    /// Encodes the answer as a message.
    pub fn to_bytes(self) -> [u8; 5] {
        let (kind, number) = match self {
            Self::Begins => (b'b', 0),
            Self::NotEntered(errno) => (b'n', errno),
            Self::OutOfDate => (b'o', 0),
            Self::Ended(status) => (b'e', status),
        };
        let [a, b, c, d] = number.to_ne_bytes();
        [kind, a, b, c, d]
    }

    /// Decodes the answer from a message.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let &[kind, a, b, c, d] = bytes else { return None };
        let number = i32::from_ne_bytes([a, b, c, d]);
        Some(match kind {
            b'b' => Self::Begins,
            b'n' => Self::NotEntered(number),
            b'o' => Self::OutOfDate,
            b'e' => Self::Ended(number),
            _ => return None,
        })
    }
}

/// A command in the form in which it is sent to a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellCommand {
    /// The terminal that the command is attached to, if any.
    pub attachment: Attachment,
    /// The folder it starts in.
    pub cwd: PathBuf,
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// The environment variables of the command.
    pub env: Vec<(OsString, OsString)>,
}

impl CellCommand {
    /// As bytes; nothing if a word has a byte in it that no word can have.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let attachment: &[u8] = match self.attachment {
            Attachment::Nothing => b"n",
            Attachment::Terminal => b"t",
        };
        let n_args = self.argv.len().to_string();
        let mut bytes = Vec::new();
        let mut push = |word: &[u8]| {
            bytes.extend_from_slice(word);
            bytes.push(0);
            !word.contains(&0)
        };
        let mut is_sound = push(attachment) && push(self.cwd.as_os_str().as_bytes()) && push(n_args.as_bytes());
        is_sound &= self.argv.iter().all(|word| push(word.as_bytes()));
        is_sound &= self.env.iter().all(|(name, value)| {
            // A name ends at the first sign of equality.
            !name.as_bytes().contains(&b'=') && push(name.as_bytes()) && push(value.as_bytes())
        });
        is_sound.then_some(bytes)
    }

    /// Decodes the command from a message.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut words = bytes.strip_suffix(&[0])?.split(|byte| *byte == 0);
        let attachment = match words.next()? {
            b"n" => Attachment::Nothing,
            b"t" => Attachment::Terminal,
            _ => return None,
        };
        let word = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        let cwd = PathBuf::from(OsStr::from_bytes(words.next()?));
        let n_args: usize = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
        let argv: Vec<OsString> = words.by_ref().take(n_args).map(word).collect();
        if argv.is_empty() || argv.len() != n_args {
            return None;
        }
        let mut env = Vec::new();
        while let Some(name) = words.next() {
            env.push((word(name), word(words.next()?)));
        }
        Some(Self { attachment, cwd, argv, env })
    }
}

/// Sends a message with files.
pub fn send(socket: impl AsFd, bytes: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !control.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    loop {
        match rustix::net::sendmsg(&socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL) {
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Takes a message with its files. An empty one is the end.
pub fn receive(socket: impl AsFd) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = [0; BYTES_MAX];
    let received = loop {
        let mut places = [IoSliceMut::new(&mut bytes)];
        match rustix::net::recvmsg(&socket, &mut places, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            result => break result?,
        }
    };
    let mut files = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(given) = message {
            files.extend(given);
        }
    }
    Ok((bytes[..received.bytes].to_vec(), files))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(argv: &[&str], env: &[(&str, &str)]) -> CellCommand {
        CellCommand {
            attachment: Attachment::Terminal,
            cwd: "/w".into(),
            argv: argv.iter().map(Into::into).collect(),
            env: env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        }
    }

    #[test]
    fn a_command_survives_the_way() {
        for command in [
            command(&["sh", "-c", "", "a\nb"], &[("A", "1=2"), ("B", "")]),
            command(&["true"], &[]),
            CellCommand {
                attachment: Attachment::Nothing,
                argv: vec![OsString::from_vec(vec![0xff])],
                ..command(&["x"], &[])
            },
        ] {
            assert_eq!(CellCommand::from_bytes(&command.to_bytes().unwrap()), Some(command));
        }
    }

    #[test]
    fn what_cannot_be_told_is_not() {
        assert_eq!(command(&["a\0b"], &[]).to_bytes(), None);
        assert_eq!(command(&["a"], &[("A", "1\0")]).to_bytes(), None);
        assert_eq!(command(&["a"], &[("A=B", "1")]).to_bytes(), None);
        assert_eq!(CellCommand::from_bytes(b"n\0/\x002\0a\0"), None);
        assert_eq!(CellCommand::from_bytes(b"n\0/\x000\0"), None);
        assert_eq!(CellCommand::from_bytes(b""), None);
    }

    #[test]
    fn what_a_cell_says_survives_the_way() {
        for said in [CellMessage::Begins, CellMessage::NotEntered(2), CellMessage::OutOfDate, CellMessage::Ended(-1)] {
            assert_eq!(CellMessage::from_bytes(&said.to_bytes()), Some(said));
        }
        assert_eq!(CellMessage::from_bytes(b""), None);
    }
}
