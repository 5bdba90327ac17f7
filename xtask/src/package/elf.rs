//! Whether a program runs without the libraries of the system: what its ELF header says.

use anyhow::{Context, Result, bail};

/// What a program needs to start.
#[derive(Debug, PartialEq, Eq)]
pub struct Needs {
    pub machine: u16,
    /// The loader that the kernel starts for the program.
    pub interpreter: Option<String>,
    /// How many shared libraries the loader looks for.
    pub n_libraries: usize,
}

impl Needs {
    pub fn is_static(&self) -> bool {
        self.interpreter.is_none() && self.n_libraries == 0
    }
}

const SEGMENT_DYNAMIC: u32 = 2;
const SEGMENT_INTERPRETER: u32 = 3;
const TAG_END: u64 = 0;
const TAG_LIBRARY: u64 = 1;

/// The size of an entry of the dynamic section: a tag and a value.
const TAG_BYTES: usize = 16;

/// Reads the header of a 64-bit program of little endian.
pub fn needs(program: &[u8]) -> Result<Needs> {
    if program.get(..6) != Some(b"\x7fELF\x02\x01") {
        bail!("this is no 64-bit ELF program of little endian");
    }
    let at = usize::try_from(number(program, 32, 8)?)?;
    let (size, n) = (usize::try_from(number(program, 54, 2)?)?, usize::try_from(number(program, 56, 2)?)?);
    let machine = u16::try_from(number(program, 18, 2)?)?;
    let mut needs = Needs { machine, interpreter: None, n_libraries: 0 };
    for segment in (0..n).map(|it| at + it * size) {
        let kind = u32::try_from(number(program, segment, 4)?)?;
        let start = usize::try_from(number(program, segment + 8, 8)?)?;
        let len = usize::try_from(number(program, segment + 32, 8)?)?;
        let bytes = || program.get(start..start.saturating_add(len)).context("a segment is behind the end of the file");
        match kind {
            SEGMENT_INTERPRETER => {
                needs.interpreter = Some(String::from_utf8_lossy(bytes()?).trim_end_matches('\0').to_string());
            }
            SEGMENT_DYNAMIC => {
                for entry in bytes()?.chunks_exact(TAG_BYTES) {
                    match number(entry, 0, 8)? {
                        TAG_END => break,
                        TAG_LIBRARY => needs.n_libraries += 1,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    Ok(needs)
}

fn number(bytes: &[u8], at: usize, len: usize) -> Result<u64> {
    let bytes = bytes.get(at..at + len).context("the file ends within its header")?;
    Ok(bytes.iter().rev().fold(0, |sum, byte| (sum << 8) | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_the_system_needs_a_loader_and_libraries() {
        let this = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let needs = needs(&this).unwrap();
        if cfg!(target_env = "gnu") {
            assert!(needs.interpreter.as_deref().is_some_and(|it| it.contains("ld-linux")), "{needs:?}");
            assert!(needs.n_libraries >= 1 && !needs.is_static(), "{needs:?}");
        }
    }

    #[test]
    fn other_files_are_refused() {
        let error = needs(b"#!/bin/sh\n").unwrap_err().to_string();
        assert_eq!(error, "this is no 64-bit ELF program of little endian");
        assert!(needs(b"\x7fELF\x02\x01").is_err());
    }
}
