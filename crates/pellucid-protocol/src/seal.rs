//! Seals: what a server puts on thoughts so that it recognises them when they come back.
//!
//! An item keeps the seal as its sealed form. Seals of the Messages wire are marked, because they
//! mean nothing to a server of another wire, and theirs mean nothing here.
//!
//! Not here: reading a seal. Only the server that made it can.

/// Marks the signature of a thought whose text stands in the item's summary.
const SIGNATURE: &str = "messages-signature:";

/// Marks a thought that came without a text.
const REDACTED: &str = "messages-redacted:";

/// A seal, by the wire that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seal<'a> {
    /// The Messages wire signed the thought.
    Signature(&'a str),
    /// The Messages wire hid the thought.
    Redacted(&'a str),
    /// Another wire sealed it.
    Other(&'a str),
}

impl<'a> Seal<'a> {
    /// Reads the sealed form of an item.
    ///
    /// ```
    /// use pellucid_protocol::seal::Seal;
    ///
    /// let text = Seal::Signature("EqQB").to_text();
    /// assert_eq!(Seal::read(&text), Seal::Signature("EqQB"));
    /// assert_eq!(Seal::read("gAAAA"), Seal::Other("gAAAA"));
    /// ```
    pub fn read(text: &'a str) -> Self {
        if let Some(signature) = text.strip_prefix(SIGNATURE) {
            Self::Signature(signature)
        } else if let Some(data) = text.strip_prefix(REDACTED) {
            Self::Redacted(data)
        } else {
            Self::Other(text)
        }
    }

    /// The sealed form for an item.
    pub fn to_text(self) -> String {
        match self {
            Self::Signature(signature) => format!("{SIGNATURE}{signature}"),
            Self::Redacted(data) => format!("{REDACTED}{data}"),
            Self::Other(text) => text.to_owned(),
        }
    }
}
