//! The messages of a WebSocket, read from the bytes of one direction as they are forwarded.
//!
//! Compressed messages are not read: they are forwarded, and missing in the record.

/// The longest message that is read.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// Reads frames of one direction.
#[derive(Debug, Default)]
pub struct FrameReader {
    buffer: Vec<u8>,
    /// The pieces of a message so far.
    message: Option<Vec<u8>>,
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
        self.is_lost = self.buffer.len() > MESSAGE_BYTES_MAX;
        if self.is_lost {
            self.buffer = Vec::new();
        }
        messages
    }

    fn take(&mut self, frame: Frame) -> Option<Vec<u8>> {
        match frame.opcode {
            // A text message begins; compressed ones have a bit set.
            1 => self.message = (!frame.is_compressed).then_some(frame.payload),
            // A message continues.
            0 => {
                let message = self.message.as_mut()?;
                message.extend_from_slice(&frame.payload);
                if message.len() > MESSAGE_BYTES_MAX {
                    self.message = None;
                }
            }
            // Control frames may stand between the pieces of a message.
            opcode if opcode >= 8 => return None,
            _ => self.message = None,
        }
        if frame.is_final { self.message.take() } else { None }
    }
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

    #[test]
    fn messages_are_read_however_the_bytes_are_cut() {
        let long = vec![b'x'; 300];
        let stream = [
            frame(0x81, b"one", true),
            frame(0x01, b"tw", false),
            frame(0x89, b"ping", false),
            frame(0x80, b"o", true),
            frame(0x82, b"binary", false),
            frame(0xc1, b"compressed", false),
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
