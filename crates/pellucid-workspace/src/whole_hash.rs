//! The hash of a whole file of which the first bytes were read.

use std::io;
use std::io::Read;

use pellucid_engine::digest::Digest;
use pellucid_files::TEXT_BYTES_MAX;
use sha2::Digest as _;
use sha2::Sha256;

/// How much of a file passes through memory at once.
const BUFFER_BYTES: usize = 64 * 1024;

/// The hash of a file of which `rest` is what follows the first bytes, and which has `size` bytes as the system says.
/// Absent for a file that is longer than any text, because to hash it would take longer than to send what is used of it,
/// and for one that cannot be read to its end.
pub(crate) fn whole_hash(first: &[u8], rest: &mut impl Read, size: u64) -> Option<Digest> {
    if size > TEXT_BYTES_MAX {
        return None;
    }
    let mut hash = Sha256::new_with_prefix(first);
    // A file that is made while it is read has no size beforehand.
    if size != first.len() as u64 {
        let mut left = TEXT_BYTES_MAX;
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let n_read = match rest.read(&mut buffer) {
                Ok(0) => break,
                Ok(n_read) => n_read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return None,
            };
            left = left.checked_sub(n_read as u64)?;
            hash.update(&buffer[..n_read]);
        }
    }
    Some(Digest::from(<[u8; 32]>::from(hash.finalize())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_of_all_bytes_wherever_reading_ended() {
        let text = "0123456789".repeat(20_000);
        let bytes = text.as_bytes();
        for n in [0, 1, 10, bytes.len()] {
            let hash = whole_hash(&bytes[..n], &mut &bytes[n..], bytes.len() as u64);
            assert_eq!(hash, Some(Digest::of([bytes])), "{n}");
        }
    }

    #[test]
    fn a_file_that_is_longer_than_any_text_is_not_hashed() {
        assert_eq!(whole_hash(b"a", &mut io::repeat(b'a'), TEXT_BYTES_MAX + 1), None);
        assert_eq!(whole_hash(b"a", &mut io::repeat(b'a'), 0), None, "one that has no size and no end");
    }

    #[test]
    fn a_file_that_has_no_size_beforehand_is_read_to_its_end() {
        assert_eq!(whole_hash(b"a", &mut b"bc".as_slice(), 0), Some(Digest::of([b"abc".as_slice()])));
    }
}
