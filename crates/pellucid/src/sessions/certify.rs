//! `sessions certify`: whether the next request of a session extends the last one, in digests.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use pellucid_agent::replay;
use pellucid_agent::replay::ReplayStatus;
use pellucid_agent::replay::WalkedBytes;
use pellucid_agent::session::NextPurpose;
use pellucid_answers::certificate;
use pellucid_answers::certificate::Certificate;
use pellucid_answers::certificate::CertificateSubject;
use pellucid_answers::certificate::CertificateVerdict;
use pellucid_answers::inspected::Inspected;
use pellucid_engine::digest::Digest;
use pellucid_engine::pack::Pack;
use pellucid_store::name;
use pellucid_store::read;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::entry::Purpose;
use serde_json::Value;

use crate::args::certify::CertifyArgs;
use crate::args::request::RequestArgs;
use crate::args::shared::Shared;
use crate::print;
use crate::request;
use crate::request::Coming;
use crate::request::RequestRefusal;
use crate::request::ShownRequest;
use crate::start::ProgramFailure;
use crate::stored;

/// How long the file of a certificate may be.
const BYTES_MAX: u64 = 1 << 20;

pub fn run(home: &Path, shared: &Shared, args: &CertifyArgs) -> Result<ExitCode, ProgramFailure> {
    match certify(home, shared, args) {
        Ok(code) => Ok(code),
        Err(refusal) => Ok(refusal.show_of_question()),
    }
}

fn certify(home: &Path, shared: &Shared, args: &CertifyArgs) -> Result<ExitCode, RequestRefusal> {
    let before = args.check.as_deref().map(read_certificate).transpose()?;
    let certificate = certificate(home, shared, args)?;
    let value = certificate.to_json();
    let code = match certificate.verdict {
        CertificateVerdict::Extends => 0,
        CertificateVerdict::Diverges => 1,
        CertificateVerdict::NotProvable => 3,
    };
    let Some(before) = before else {
        print::json(format!("{value}\n").as_bytes())?;
        return Ok(ExitCode::from(code));
    };
    let differences = certificate::differences(&before, &value);
    if differences.is_empty() {
        let verdict = certificate.verdict.as_str();
        print::out(&format!("the certificate is the same; the verdict about the next request is `{verdict}`\n"))?;
        return Ok(ExitCode::from(code));
    }
    let line = |(place, before, now): &(String, Value, Value)| format!("{place}: {before}, now {now}\n");
    print::out(&differences.iter().map(line).collect::<String>())?;
    Ok(ExitCode::from(code.max(1)))
}

fn read_certificate(path: &Path) -> Result<Value, RequestRefusal> {
    let refused = |why: String| RequestRefusal::usage(format!("{}: {why}", path.display()));
    let text = pellucid_files::read_text(path, BYTES_MAX).map_err(|error| refused(error.to_string()))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| refused(format!("not a certificate: {error}")))?;
    match value["schema"].as_str() {
        Some(certificate::SCHEMA) => Ok(value),
        Some(other) => Err(refused(format!("`{other}` is not `{}`", certificate::SCHEMA))),
        None => Err(refused("not a certificate: there is no `schema`".to_owned())),
    }
}

fn certificate(home: &Path, shared: &Shared, args: &CertifyArgs) -> Result<Certificate, RequestRefusal> {
    let failed = |error: &dyn std::fmt::Display| ProgramFailure::new(format!("{error}"));
    let (id, path) = stored::meant(home, &args.of)?;
    let file = read::open_damaged(&path).map_err(|error| failed(&error))?;
    let file_name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let chain = match name::requests_path(home, file_name) {
        Some(path) => Chain::read(&path).map_err(|error| failed(&error))?,
        None => Chain::default(),
    };
    let mut subject = CertificateSubject {
        session: id.clone(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        record: certificate::record_versions(&chain),
        pack: None,
    };
    let replayed = replay::replay(home, &file, None).map_err(|error| failed(&error))?;
    if replayed.status() == ReplayStatus::Refuted {
        let why = "the session or its record is not as it was written; `pellucid replay` shows where";
        return Ok(Certificate::not_provable(subject, &chain, why));
    }
    if replayed.is_filled {
        let why = "the content of the session is replaced by filler";
        return Ok(Certificate::not_provable(subject, &chain, why));
    }
    let mut last = Err("the session has no record of what it sent".to_owned());
    replay::walk(home, &file, &mut |walked| {
        let is_answer =
            walked.entry.is_none_or(|entry| matches!(entry.purpose, Purpose::Answer | Purpose::AnswerAgain));
        match walked.bytes {
            WalkedBytes::Proved(proved) if is_answer => {
                let (body, report) = (proved.body(), proved.report());
                let model = proved.model().unwrap_or_default();
                last = Ok((walked.number, Inspected::of_body("last", &model, proved.wire(), &body, &report)));
            }
            WalkedBytes::Unknown(why) if is_answer => last = Err(format!("request {}: {why}", walked.number)),
            WalkedBytes::Proved(_) | WalkedBytes::Again(_) | WalkedBytes::Unknown(_) => {}
        }
        ControlFlow::Continue(())
    })
    .map_err(|error| failed(&error))?;
    let (number, last) = match last {
        Ok(last) => last,
        Err(why) => return Ok(Certificate::not_provable(subject, &chain, &why)),
    };
    let coming = coming(shared, args, &id)?;
    subject.pack = Some((coming.session.pack().name.clone(), pack_digest(coming.session.pack())));
    if coming.next.purpose != NextPurpose::Answer {
        let why = "the next request does not ask for an answer: the history is made shorter first";
        return Ok(Certificate::not_provable(subject, &chain, why));
    }
    let model = coming.session.facts().settings.model.slug.clone();
    let wire = coming.session.frame(None).view().wire;
    let next = Inspected::of_body("next", &model, wire, &coming.next.body(), &coming.next.report);
    let reasons = coming.reasons.iter().filter(|reason| reason.is_about_content()).map(|it| it.why.clone()).collect();
    Ok(Certificate::of(subject, &chain, (number, &last), &next, reasons))
}

/// What the session would send next, without a message.
fn coming(shared: &Shared, args: &CertifyArgs, id: &str) -> Result<Box<Coming>, RequestRefusal> {
    let asked = RequestArgs { word: Some(format!("{id}#next")), mcp: args.mcp, ..RequestArgs::default() };
    match request::shown(shared, &args.turn, &asked)? {
        ShownRequest::Coming(coming) => Ok(coming),
        ShownRequest::Sent(_) | ShownRequest::Saved(_) => {
            Err(RequestRefusal::unknown("the session has no next request"))
        }
    }
}

/// The digest of a pack's files, wherever they lie. The files that a pack of a user takes over from a built-in pack belong to
/// the program, whose version the certificate has.
fn pack_digest(pack: &Pack) -> String {
    let mut files: Vec<String> = Vec::new();
    for (name, text) in Pack::builtin_files(&pack.name).unwrap_or_default() {
        files.push(format!("{name} {}", Digest::of([text.as_bytes()])));
    }
    for file in pack.files_on_disk() {
        let name = Path::new(&**file).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let digest = file.sha256().map(ToString::to_string).unwrap_or_default();
        files.push(format!("{name} {digest}"));
    }
    files.sort_unstable();
    Digest::of([files.join("\n").as_bytes()]).to_string()
}
