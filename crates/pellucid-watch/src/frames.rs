//! The messages of a WebSocket, read from the bytes of one direction as they are forwarded.
//!
//! Messages may be compressed (permessage-deflate); what is read of them is their text.

use flate2::Decompress;
use flate2::FlushDecompress;
use flate2::Status;

/// The longest message that is read.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// What the sender leaves out behind every compressed message.
const DEFLATE_END: [u8; 4] = [0, 0, 0xff, 0xff];

/// How many bytes are decompressed in one go.
const INFLATED_BYTES: usize = 64 << 10;

/// Reads frames of one direction.
#[derive(Debug, Default)]
pub struct FrameReader {
    buffer: Vec<u8>,
    /// The pieces of a message so far.
    message: Option<PartMessage>,
    /// What earlier messages were decompressed with, because later ones may refer to them.
    inflate: Option<Decompress>,
    /// Whether something came that cannot be read, so that nothing more is.
    is_lost: bool,
}

impl FrameReader {
    /// Adds bytes, and gives the text messages that are complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        if self.is_lost {
            return messages;
        }
        self.buffer.extend_from_slice(bytes);
        while let Some((frame, len)) = Frame::read(&self.buffer) {
            self.buffer.drain(..len);
            messages.extend(self.take(frame));
        }
        self.is_lost |= self.buffer.len() > MESSAGE_BYTES_MAX;
        if self.is_lost {
            (self.buffer, self.message, self.inflate) = (Vec::new(), None, None);
        }
        messages
    }

    /// Takes a frame; gives the text of the message that it ends.
    fn take(&mut self, frame: Frame) -> Option<Vec<u8>> {
        match frame.opcode {
            // A message begins; compressed ones have a bit set.
            1 | 2 => {
                let (is_text, is_compressed) = (frame.opcode == 1, frame.is_compressed);
                self.message = Some(PartMessage { is_text, is_compressed, bytes: frame.payload });
            }
            // A message continues.
            0 => {
                let message = self.message.as_mut()?;
                message.bytes.extend_from_slice(&frame.payload);
                if message.bytes.len() > MESSAGE_BYTES_MAX {
                    // Compressed messages behind it may refer to it.
                    self.is_lost |= message.is_compressed;
                    self.message = None;
                }
            }
            // Control frames may stand between the pieces of a message.
            _ => return None,
        }
        let PartMessage { is_text, is_compressed, bytes } = self.message.take_if(|_| frame.is_final)?;
        let bytes = if is_compressed { self.inflated(bytes) } else { Some(bytes) };
        bytes.filter(|_| is_text)
    }

    /// Decompresses a message. Nothing more is read if that fails or the message is too long.
    fn inflated(&mut self, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
        bytes.extend_from_slice(&DEFLATE_END);
        let inflate = self.inflate.get_or_insert_with(|| Decompress::new(false));
        let mut message = Vec::new();
        let (mut rest, mut piece) = (&bytes[..], vec![0; INFLATED_BYTES]);
        loop {
            let (read, made) = (inflate.total_in(), inflate.total_out());
            let status = inflate.decompress(rest, &mut piece, FlushDecompress::Sync);
            let n_read = usize::try_from(inflate.total_in() - read).unwrap_or(usize::MAX);
            let n_made = usize::try_from(inflate.total_out() - made).unwrap_or(usize::MAX);
            rest = rest.get(n_read..).unwrap_or_default();
            message.extend_from_slice(piece.get(..n_made).unwrap_or_default());
            match status {
                _ if message.len() > MESSAGE_BYTES_MAX => break,
                Ok(Status::StreamEnd) => {
                    inflate.reset(false);
                    return Some(message);
                }
                Ok(_) if n_made < piece.len() && (rest.is_empty() || n_read + n_made == 0) => return Some(message),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.is_lost = true;
        None
    }
}

/// A message that has not ended yet.
#[derive(Debug)]
struct PartMessage {
    is_text: bool,
    is_compressed: bool,
    bytes: Vec<u8>,
}

struct Frame {
    is_final: bool,
    is_compressed: bool,
    opcode: u8,
    payload: Vec<u8>,
}

impl Frame {
    /// The first frame of the bytes, and how many bytes it has; absent if it is not complete.
    fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let [first, second, rest @ ..] = bytes else {
            return None;
        };
        let (len, rest, n_len) = match second & 0x7f {
            126 => (u64::from(u16::from_be_bytes(rest.get(..2)?.try_into().ok()?)), &rest[2..], 2),
            127 => (u64::from_be_bytes(rest.get(..8)?.try_into().ok()?), &rest[8..], 8),
            len => (u64::from(len), rest, 0),
        };
        let len = usize::try_from(len).ok()?;
        let is_masked = second & 0x80 != 0;
        let (mask, rest, n_mask) = if is_masked { (rest.get(..4)?, rest.get(4..)?, 4) } else { (&[0; 4][..], rest, 0) };
        let payload = rest.get(..len)?;
        let payload = payload.iter().enumerate().map(|(n, byte)| byte ^ mask[n % 4]).collect();
        let frame =
            Self { is_final: first & 0x80 != 0, is_compressed: first & 0x40 != 0, opcode: first & 0x0f, payload };
        Some((frame, 2 + n_len + n_mask + len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(first: u8, payload: &[u8], is_masked: bool) -> Vec<u8> {
        let mut bytes = vec![first];
        let mask_bit = if is_masked { 0x80 } else { 0 };
        match payload.len() {
            len @ ..126 => bytes.push(mask_bit | u8::try_from(len).unwrap()),
            len => {
                bytes.push(mask_bit | 126);
                bytes.extend(u16::try_from(len).unwrap().to_be_bytes());
            }
        }
        if is_masked {
            bytes.extend([1, 2, 3, 4]);
            bytes.extend(payload.iter().enumerate().map(|(n, byte)| byte ^ [1, 2, 3, 4][n % 4]));
        } else {
            bytes.extend(payload);
        }
        bytes
    }

    /// Compresses messages as a sender does that refers to earlier ones.
    fn deflated(messages: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut deflate = flate2::Compress::new(flate2::Compression::default(), false);
        let mut compress = |message: &&[u8]| {
            let mut bytes = Vec::with_capacity(message.len() + 1024);
            deflate.compress_vec(message, &mut bytes, flate2::FlushCompress::Sync).unwrap();
            assert!(bytes.ends_with(&DEFLATE_END));
            bytes.truncate(bytes.len() - DEFLATE_END.len());
            bytes
        };
        messages.iter().map(&mut compress).collect()
    }

    #[test]
    fn compressed_messages_are_read_and_a_bomb_ends_the_reading() {
        let text = b"a message that the next one repeats".as_slice();
        let packed = deflated(&[text, b"binary", text, b""]);
        assert!(packed[2].len() < packed[0].len(), "later messages refer to earlier ones");
        let stream = [
            frame(0xc1, &packed[0], true),
            frame(0xc2, &packed[1], true),
            frame(0x81, b"plain", true),
            frame(0x41, &packed[2][..2], true),
            frame(0x80, &packed[2][2..], true),
            frame(0xc1, &packed[3], true),
        ]
        .concat();
        for size in [1, 3, stream.len()] {
            let mut reader = FrameReader::default();
            let messages: Vec<Vec<u8>> = stream.chunks(size).flat_map(|piece| reader.push(piece)).collect();
            assert_eq!(messages, [text, b"plain", text, b""], "{size}");
        }
        let zeros = vec![0; MESSAGE_BYTES_MAX + 1];
        let bomb = deflated(&[&zeros]).remove(0);
        let mut reader = FrameReader::default();
        let mut long = vec![0xc1, 127];
        long.extend((bomb.len() as u64).to_be_bytes());
        long.extend(&bomb);
        assert_eq!(reader.push(&long), Vec::<Vec<u8>>::new());
        assert_eq!(reader.push(&frame(0x81, b"behind", false)), Vec::<Vec<u8>>::new());
        let mut reader = FrameReader::default();
        assert_eq!(reader.push(&frame(0xc1, b"not compressed", false)), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn messages_are_read_however_the_bytes_are_cut() {
        let long = vec![b'x'; 300];
        let stream = [
            frame(0x81, b"one", true),
            frame(0x01, b"tw", false),
            frame(0x89, b"ping", false),
            frame(0x80, b"o", true),
            frame(0x82, b"binary", false),
            frame(0x81, &long, true),
        ]
        .concat();
        for size in [1, 2, 7, stream.len()] {
            let mut reader = FrameReader::default();
            let messages: Vec<Vec<u8>> = stream.chunks(size).flat_map(|piece| reader.push(piece)).collect();
            assert_eq!(messages, [b"one".to_vec(), b"two".to_vec(), long.clone()], "{size}");
        }
    }
}
