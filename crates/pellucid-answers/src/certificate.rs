//! The resume certificate: whether the next request of a session extends the last one, in digests.
//!
//! A certificate has no time, no path and no text of the session, so the same session gives the same bytes on every
//! machine with the same program and configuration.

#[cfg(test)]
mod tests;

use pellucid_engine::digest::Digest;
use pellucid_protocol::provider::WireApi;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::entry::LogEntry;
use serde_json::Value;
use serde_json::json;

use crate::diff::RequestDiff;
use crate::inspected::Inspected;

/// The name and version of the form.
pub const SCHEMA: &str = "pellucid.certificate/1";

/// The key of the program's version, which differs between releases that agree in all else.
const PROGRAM: &str = "program";

/// Whether the next request extends the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateVerdict {
    /// The model reads all of the last request again, unchanged, and then more.
    Extends,
    /// The next request diverges from the last one.
    Diverges,
    /// The files do not prove what was sent, or no next request can be made.
    NotProvable,
}

impl CertificateVerdict {
    /// The word in the certificate.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Extends => "extends",
            Self::Diverges => "diverges",
            Self::NotProvable => "not_provable",
        }
    }
}

/// Whether a session can be resumed without paying again for what was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Certificate {
    /// Whether the next request extends the last one.
    pub verdict: CertificateVerdict,
    /// Why nothing can be proved, where that is so.
    pub why: Option<String>,
    /// The session and the program.
    pub subject: CertificateSubject,
    /// The last request for an answer, if it is proved.
    pub last: Option<CertifiedRequest>,
    /// The next request.
    pub next: Option<CertifiedNext>,
    /// The last seal of the session file and the last hash of the record.
    pub seal: Option<CertifiedSeal>,
    /// The hash of the last line of the record.
    pub anchor: Option<String>,
}

/// What a certificate is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CertificateSubject {
    /// The id of the session.
    pub session: String,
    /// The version of the program that certifies.
    pub program: String,
    /// The versions of the record's format, and of the programs that wrote it, each once, in the order of the record.
    pub record: Vec<(u32, String)>,
    /// The name of the pack and the digest of its files.
    pub pack: Option<(String, String)>,
}

/// A request that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertifiedRequest {
    /// The number of the request, as a replay counts.
    pub number: usize,
    /// The model that the request asks.
    pub model: String,
    /// The API format.
    pub wire: Option<WireApi>,
    /// How many bytes the body has.
    pub bytes: usize,
    /// The SHA-256 of the body.
    pub sha256: String,
    /// How many bytes come before the end of the last item.
    pub prefix_bytes: usize,
    /// The SHA-256 of these bytes.
    pub prefix_sha256: String,
}

/// The request that would be sent next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertifiedNext {
    /// The model that the request asks.
    pub model: String,
    /// How many bytes the body has, without a message.
    pub bytes: usize,
    /// The SHA-256 of as many bytes as the prefix of the last request has.
    pub prefix_sha256: String,
    /// Whether the body begins with the prefix of the last request.
    pub extends_bytes: bool,
    /// Whether the model reads everything of the last request first.
    pub extends_reading: bool,
    /// Where the two diverge.
    pub first_difference: Option<FirstDifference>,
    /// Why the bytes cannot be promised; empty if they can.
    pub reasons: Vec<String>,
}

/// Where the next request diverges from the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstDifference {
    /// The first byte of the body that differs.
    pub byte: usize,
    /// The part that the model reads first among those that differ.
    pub part: Option<String>,
    /// The cause in a word.
    pub cause: Option<&'static str>,
    /// How many tokens are paid for again, estimated.
    pub tokens_rebilled: usize,
}

/// The last seal of a session file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertifiedSeal {
    /// The offset of the first byte that the seal covers.
    pub from: u64,
    /// The offset behind the last one.
    pub at: u64,
    /// The SHA-256 of these bytes.
    pub sha256: String,
}

impl Certificate {
    /// A certificate that proves nothing, for this reason.
    pub fn not_provable(subject: CertificateSubject, chain: &Chain, why: &str) -> Self {
        Self {
            verdict: CertificateVerdict::NotProvable,
            why: Some(why.to_owned()),
            subject,
            last: None,
            next: None,
            seal: seal(chain),
            anchor: chain.anchor().map(str::to_owned),
        }
    }

    /// Compares the last request with the one that would follow it. Both need their bodies.
    pub fn of(
        subject: CertificateSubject,
        chain: &Chain,
        (number, last): (usize, &Inspected),
        next: &Inspected,
        reasons: Vec<String>,
    ) -> Self {
        let (Some(body), Some(next_body)) = (last.body(), next.body()) else {
            return Self::not_provable(subject, chain, "a saved report has no bytes");
        };
        let prefix_bytes = prefix_bytes(last);
        let digest = |bytes: &[u8]| Digest::of([bytes]).to_string();
        let same = body.iter().zip(&next_body).take_while(|(a, b)| a == b).count();
        let extends_bytes = same >= prefix_bytes;
        let diff = RequestDiff::of(last, next);
        let broken = diff.continuity.as_ref().and_then(|it| it.broken.as_ref());
        let extends_reading = diff.continuity.is_some() && broken.is_none();
        let first_difference = (!extends_bytes || !extends_reading).then(|| FirstDifference {
            byte: same,
            part: broken.map(|broken| broken.part.to_string()),
            cause: broken.map(|broken| broken.cause.as_str()),
            tokens_rebilled: broken.map_or(0, |broken| broken.tokens_rebilled),
        });
        let verdict = match (&diff.continuity, extends_reading) {
            (None, _) => CertificateVerdict::NotProvable,
            (Some(_), true) => CertificateVerdict::Extends,
            (Some(_), false) => CertificateVerdict::Diverges,
        };
        let why = diff.continuity.is_none().then(|| "the two requests cannot be compared".to_owned());
        Self {
            verdict,
            why,
            subject,
            last: Some(CertifiedRequest {
                number,
                model: last.model.clone(),
                wire: last.wire,
                bytes: body.len(),
                sha256: digest(&body),
                prefix_bytes,
                prefix_sha256: digest(&body[..prefix_bytes]),
            }),
            next: Some(CertifiedNext {
                model: next.model.clone(),
                bytes: next_body.len(),
                prefix_sha256: digest(&next_body[..prefix_bytes.min(next_body.len())]),
                extends_bytes,
                extends_reading,
                first_difference,
                reasons,
            }),
            seal: seal(chain),
            anchor: chain.anchor().map(str::to_owned),
        }
    }

    /// The certificate as JSON.
    pub fn to_json(&self) -> Value {
        let record: Vec<Value> = self
            .subject
            .record
            .iter()
            .map(|(format, version)| json!({ "format": format, "program": version }))
            .collect();
        let pack = self.subject.pack.as_ref().map(|(name, digest)| json!({ "name": name, "sha256": digest }));
        let last = self.last.as_ref().map(|it| {
            json!({
                "number": it.number,
                "model": it.model,
                "wire": it.wire,
                "bytes": it.bytes,
                "sha256": it.sha256,
                "prefix_bytes": it.prefix_bytes,
                "prefix_sha256": it.prefix_sha256,
            })
        });
        let next = self.next.as_ref().map(|it| {
            let first = it.first_difference.as_ref().map(|it| {
                json!({
                    "byte": it.byte,
                    "part": it.part,
                    "cause": it.cause,
                    "tokens_rebilled": it.tokens_rebilled,
                })
            });
            json!({
                "model": it.model,
                "bytes": it.bytes,
                "prefix_sha256": it.prefix_sha256,
                "extends": { "bytes": it.extends_bytes, "reading": it.extends_reading },
                "first_difference": first,
                "certain": it.reasons.is_empty(),
                "reasons": it.reasons,
            })
        });
        let seal = self.seal.as_ref().map(|it| json!({ "from": it.from, "at": it.at, "sha256": it.sha256 }));
        json!({
            "schema": SCHEMA,
            "session": self.subject.session,
            PROGRAM: self.subject.program,
            "record": record,
            "pack": pack,
            "verdict": self.verdict.as_str(),
            "why": self.why,
            "last": last,
            "next": next,
            "seal": seal,
            "anchor": self.anchor,
        })
    }
}

/// What differs between two certificates: the place of each value, the value before and the value now. The version of the
/// certifying program does not count.
pub fn differences(before: &Value, now: &Value) -> Vec<(String, Value, Value)> {
    let mut found = Vec::new();
    compare("", before, now, &mut found);
    found.retain(|(place, ..)| place.strip_prefix('/') != Some(PROGRAM));
    found
}

fn compare(place: &str, before: &Value, now: &Value, found: &mut Vec<(String, Value, Value)>) {
    match (before, now) {
        (Value::Object(a), Value::Object(b)) => {
            let added = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(added) {
                let of = |table: &serde_json::Map<String, Value>| table.get(key).cloned().unwrap_or_default();
                compare(&format!("{place}/{key}"), &of(a), &of(b), found);
            }
        }
        (before, now) if before == now => {}
        (before, now) => found.push((place.to_owned(), before.clone(), now.clone())),
    }
}

/// The versions of a record, each once, in its order.
pub fn record_versions(chain: &Chain) -> Vec<(u32, String)> {
    let mut versions: Vec<(u32, String)> = Vec::new();
    for link in &chain.links {
        if let LogEntry::Opened(opened) = &link.entry {
            let version = (opened.format, opened.version.clone());
            if !versions.contains(&version) {
                versions.push(version);
            }
        }
    }
    versions
}

/// How many bytes come before the end of the last item. A request that begins with them extends this one.
fn prefix_bytes(request: &Inspected) -> usize {
    let (mut end, mut prefix) = (0, 0);
    for row in &request.rows {
        end += row.bytes;
        if row.item.is_some() {
            prefix = end;
        }
    }
    prefix
}

fn seal(chain: &Chain) -> Option<CertifiedSeal> {
    chain.links.iter().rev().find_map(|link| match &link.entry {
        LogEntry::Sealed(sealed) => {
            Some(CertifiedSeal { from: sealed.from, at: sealed.at, sha256: sealed.sha256.clone() })
        }
        _ => None,
    })
}
