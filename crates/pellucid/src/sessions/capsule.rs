//! `sessions capsule`: a session in one HTML file.
//!
//! The capsule is made first, blanked as asked, and unpacked again. Its page is then what `inspect` shows of the unpacked session,
//! so nothing that is blanked can be in the page.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::SystemTime;

use jiff::Timestamp;
use pellucid_agent::prices::PRICES_FILE;
use pellucid_agent::replay;
use pellucid_answers::capsule;
use pellucid_answers::capsule::Capsule;
use pellucid_answers::capsule::CapsuleSystem;
use pellucid_answers::capsule::SessionTexts;
use pellucid_engine::pack::Pack;
use pellucid_files::RealDisk;
use pellucid_inspect::export::ExportPlan;
use pellucid_inspect::export::page as export_page;
use pellucid_inspect::questions::NoAnswer;
use pellucid_inspect::questions::Question;
use pellucid_inspect::questions::Questions;
use pellucid_store::name;
use pellucid_store::read;
use pellucid_store::read::SessionFile;
use pellucid_store::requests::parts::PartStore;
use pellucid_tools::edits::EditLog;
use pellucid_workspace::pack_files;
use pellucid_workspace::pack_files::PackPlace;
use serde_json::Value;
use serde_json::json;

use super::export;
use super::export::Cut;
use super::export::Export;
use super::print;
use crate::args::capsule::MakeCapsuleArgs;
use crate::args::capsule::RedactLevel;
use crate::args::session_ref::SessionRef;
use crate::args::shared::Shared;
use crate::cache;
use crate::capsule::LookedAt;
use crate::capsule::unpacked;
use crate::cost::CostedSessions;
use crate::inspect::questions;
use crate::request::RequestRefusal;
use crate::start::ProgramFailure;
use crate::stored;
use crate::style;

/// How long the file with the edits of a session may be.
const EDITS_BYTES_MAX: u64 = 512 << 20;

/// How long the configuration may be.
const CONFIG_BYTES_MAX: u64 = 16 << 20;

/// The line about content that was replaced, for people.
const FILLED_LINE: &str = "note: every text is replaced by filler of the same length; ids, times, sizes, settings and names of models are left";

pub fn run(shared: &Shared, home: &Path, args: &MakeCapsuleArgs) -> Result<ExitCode, ProgramFailure> {
    let MadeCapsule { html, n_blanks } = match make(shared, home, args) {
        Ok(made) => made,
        Err(refusal) => return Ok(refusal.show()),
    };
    pellucid_files::write_private(&args.output, html.as_bytes())
        .map_err(|error| ProgramFailure::new(format!("{}: {error}", args.output.display())))?;
    match args.redact {
        RedactLevel::Secrets => style::line(&export::redacted_line(n_blanks)),
        RedactLevel::Content => style::line(FILLED_LINE),
        RedactLevel::None => {}
    }
    print(&format!("{}\n", args.output.display()))
}

/// A capsule that is not written yet.
#[derive(Debug)]
pub struct MadeCapsule {
    /// The page with the data.
    pub html: String,
    /// How many secrets are blanked.
    pub n_blanks: usize,
}

/// Makes a capsule. The file of the arguments is not written.
pub fn make(shared: &Shared, home: &Path, args: &MakeCapsuleArgs) -> Result<MadeCapsule, RequestRefusal> {
    let failed = |error: &dyn std::fmt::Display| ProgramFailure::new(format!("{error}"));
    let (session, number) = match args.session.as_deref().map(named).transpose()? {
        Some((session, number)) => (Some(session.to_owned()), number),
        None => (None, None),
    };
    let (id, path) = stored::meant(home, &SessionRef { session, last: args.last })?;
    let file = read::open_damaged(&path).map_err(|error| failed(&error))?;
    let cut = number.map(|number| cut(home, &file, number)).transpose()?;
    let mut export = Export::new(home, args.redact == RedactLevel::Secrets);
    let exported = export.files(home, &path, cut.as_ref());
    let exported = exported.map_err(|(path, error)| failed(&format!("{}: {error}", path.display())))?;
    let exported = match args.redact {
        RedactLevel::Content => without_content(exported),
        RedactLevel::Secrets | RedactLevel::None => exported,
    };
    let mut files = BTreeMap::new();
    for (path, text) in exported {
        let path = path.to_str().ok_or_else(|| failed(&format!("{} is not a text", path.display())))?;
        files.insert(path.to_owned(), text);
    }
    let config = pellucid_files::read_text(&home.join("config.toml"), CONFIG_BYTES_MAX).unwrap_or_default();
    let mut settings = capsule::settings(&config);
    if args.redact != RedactLevel::Content {
        add_pack(home, &config, &mut export, &mut settings, &mut files);
        let edits = EditLog::of(RealDisk::shared(), home, &id);
        // An edit after the last request would have what the capsule leaves out.
        let edits = number.is_none().then(|| pellucid_files::read_text(edits.path(), EDITS_BYTES_MAX).ok()).flatten();
        files.extend(edits.map(|edits| (format!("edits/{id}.jsonl"), export.lines(&edits))));
    } else if settings.get("pack").is_some_and(|pack| !Pack::builtin_names().contains(&pack.as_str())) {
        settings.remove("pack");
    }
    let capsule = Capsule {
        schema: capsule::SCHEMA.to_owned(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        system: CapsuleSystem { os: std::env::consts::OS.to_owned(), arch: std::env::consts::ARCH.to_owned() },
        session: id.clone(),
        request: number,
        redact: args.redact.as_str().to_owned(),
        blanks: export.n_blanks(),
        config_keys: match args.redact {
            RedactLevel::Content => capsule::config_tables(&config),
            RedactLevel::Secrets | RedactLevel::None => capsule::config_keys(&config),
        },
        settings,
        files,
    };
    let html = page(shared, home, &capsule)?;
    Ok(MadeCapsule { html, n_blanks: export.n_blanks() })
}

/// Adds the files of the user's pack, if the configuration selects one, under the name that the settings then have.
fn add_pack(
    home: &Path,
    config: &str,
    export: &mut Export,
    settings: &mut BTreeMap<String, String>,
    files: &mut BTreeMap<String, String>,
) {
    let Some(Ok(PackPlace::Folder(folder))) = capsule::config_pack(config).map(|pack| pack_files::find(&pack, home))
    else {
        return;
    };
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let is_plain = |text: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
        !text.is_empty() && text.bytes().all(is_plain) && !text.split('/').any(|step| step.starts_with('.'))
    };
    if let (true, Ok(pack)) = (is_plain(&name), pack_files::read(&folder)) {
        for (path, text) in pack.into_iter().filter(|(path, _)| is_plain(path)) {
            files.insert(format!("packs/{name}/{path}"), export.text(text));
        }
        settings.insert("pack".to_owned(), name);
    }
}

/// The files of a session with every text replaced. A long text has the digest of its filler as its name.
fn without_content(files: Vec<(PathBuf, String)>) -> Vec<(PathBuf, String)> {
    let mut texts = SessionTexts::default();
    let (mut session, mut record) = (PathBuf::new(), PathBuf::new());
    let parts = PartStore::new(Path::new(""));
    for (path, text) in files {
        let sha256 = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if parts.path(&sha256) == path {
            texts.parts.insert(sha256, text);
        } else if path.starts_with(name::REQUESTS) {
            (record, texts.record) = (path, text);
        } else {
            (session, texts.session) = (path, text);
        }
    }
    let SessionTexts { session: session_text, record: record_text, parts: part_texts } = texts.without_content();
    let mut files = vec![(session, session_text)];
    if record != Path::new("") {
        files.push((record, record_text));
    }
    files.extend(part_texts.into_iter().map(|(sha256, text)| (parts.path(&sha256), text)));
    files
}

/// The session and the number in `SESSION#N`.
fn named(text: &str) -> Result<(&str, Option<usize>), RequestRefusal> {
    let Some((session, number)) = text.rsplit_once('#') else {
        return Ok((text, None));
    };
    match number.parse::<usize>() {
        Ok(number) if number > 0 => Ok((session, Some(number))),
        _ => Err(RequestRefusal::usage(format!("`{text}`: behind # comes the number of a request, from 1"))),
    }
}

/// Where the files of a session end for a capsule up to this request.
fn cut(home: &Path, file: &SessionFile, number: usize) -> Result<Cut, RequestRefusal> {
    let mut found = None;
    let n = replay::walk(home, file, &mut |walked| {
        if walked.number < number {
            return ControlFlow::Continue(());
        }
        found = walked.entry.filter(|_| walked.session == file.meta.id).map(|entry| Cut {
            session_bytes: entry.at,
            body: entry.body.clone(),
            turn: entry.turn.clone(),
        });
        ControlFlow::Break(())
    })
    .map_err(|error| ProgramFailure::new(format!("{error}")))?;
    if number > n {
        return Err(RequestRefusal::usage(format!("there is no request {number}: the session has {n}")));
    }
    found.ok_or_else(|| RequestRefusal::unknown(format!("request {number} is not in the record of this session")))
}

/// The page about the session of a capsule, with its data.
fn page(shared: &Shared, home: &Path, capsule: &Capsule) -> Result<String, ProgramFailure> {
    let failed = |error: &dyn std::fmt::Display| ProgramFailure::new(format!("{error}"));
    let data = capsule.to_block().map_err(|error| failed(&error))?;
    let unpacked = unpacked(capsule)?;
    let found = unpacked.found.clone();
    set_time(&found.path).map_err(|error| failed(&error))?;
    // The price of a request is known where the capsule is made. A file of prices may have words of a person.
    let prices = home.join(PRICES_FILE);
    if capsule.redact != RedactLevel::Content.as_str() && prices.is_file() {
        std::fs::copy(&prices, found.home.join(PRICES_FILE)).map_err(|error| failed(&error))?;
    }
    let about = json!({
        "redact": capsule.redact,
        "blanks": capsule.blanks,
        "request": capsule.request,
        "program": capsule.program,
        "system": capsule.system,
    });
    let questions = Arc::new(CapsuleAnswers { shared: shared.clone(), found: found.clone(), costed: Mutex::default() });
    let plan = ExportPlan { home: found.home, session: found.id, questions, about, data };
    export_page(plan).map_err(|error| failed(&error))
}

/// Gives a session file the time of its last line, so that the page says when the session was used and not when it was unpacked.
fn set_time(path: &Path) -> std::io::Result<()> {
    let text = pellucid_files::read_text(path, u64::MAX)?;
    let time = text.lines().rev().find_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        line["timestamp"].as_str()?.parse::<Timestamp>().ok()
    });
    let time = time.map_or(SystemTime::UNIX_EPOCH, SystemTime::from);
    std::fs::File::options().append(true).open(path)?.set_modified(time)
}

/// Answers about the session of a capsule as commands give them for a stored one.
#[derive(Debug)]
struct CapsuleAnswers {
    shared: Shared,
    found: LookedAt,
    /// The session with what the model read, once it was asked for.
    costed: Mutex<Option<CostedSessions>>,
}

impl CapsuleAnswers {
    fn cost(&self, question: &Question) -> Result<String, NoAnswer> {
        let wrong = |failure: ProgramFailure| NoAnswer::Unknown(failure.text().to_owned());
        let args = questions::cost_args(question)?;
        let mut costed = self.costed.lock().unwrap_or_else(PoisonError::into_inner);
        if costed.is_none() {
            *costed = Some(CostedSessions::read(&self.found.home, vec![self.found.clone()]).map_err(wrong)?);
        }
        let Some(costed) = costed.as_mut() else {
            return Err(NoAnswer::Failed("the session was not read".to_owned()));
        };
        match costed.answer(&self.shared, &args).map_err(wrong)? {
            Ok((text, _)) => Ok(text),
            Err(refusal) => Err(NoAnswer::Unknown(refusal.text().to_owned())),
        }
    }

    fn cache(&self) -> Result<String, NoAnswer> {
        let failed = |error: &dyn std::fmt::Display| NoAnswer::Failed(error.to_string());
        let file = read::open_damaged(&self.found.path).map_err(|error| failed(&error))?;
        let none = || NoAnswer::Unknown(cache::NOTHING_KNOWN.to_owned());
        let answer =
            cache::recorded(&self.found, &file, &self.found.home).map_err(|failure| failed(&failure.text()))?;
        answer.ok_or_else(none).map(|answer| format!("{}\n", answer.to_json()))
    }
}

impl Questions for CapsuleAnswers {
    fn ask(&self, question: &Question) -> Result<Vec<u8>, NoAnswer> {
        let text = match question {
            Question::Cost { .. } => self.cost(question)?,
            Question::Cache { .. } => self.cache()?,
            _ => return Err(NoAnswer::Unknown("a capsule has no answer to this question".to_owned())),
        };
        Ok(text.into_bytes())
    }
}
