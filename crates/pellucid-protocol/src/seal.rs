//! Seals: signatures by which a provider recognises its own reasoning when it is sent back.
//!
//! An item keeps the seal in its field `encrypted_content`. Seals of the Messages API are marked, because they mean
//! nothing to providers of other APIs, and the seals of those mean nothing to the Messages API.
//!
//! Not here: decrypting a seal. Only the provider that made it can.

/// Marks the signature of reasoning whose text is in the item's summary.
const SIGNATURE: &str = "messages-signature:";

/// Marks reasoning that came without a text.
const REDACTED: &str = "messages-redacted:";

/// A seal, by the API that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seal<'a> {
    /// The Messages API signed the reasoning.
    Signature(&'a str),
    /// The Messages API hid the reasoning.
    Redacted(&'a str),
    /// Another API made the seal.
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

    /// What the API sent, without the mark that says which API it was.
    pub fn sealed(self) -> &'a str {
        match self {
            Self::Signature(text) | Self::Redacted(text) | Self::Other(text) => text,
        }
    }

    /// The text for the item's field `encrypted_content`.
    pub fn to_text(self) -> String {
        match self {
            Self::Signature(signature) => format!("{SIGNATURE}{signature}"),
            Self::Redacted(data) => format!("{REDACTED}{data}"),
            Self::Other(text) => text.to_owned(),
        }
    }
}
