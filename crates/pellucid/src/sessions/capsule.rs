//! `sessions capsule`: a session in one HTML file.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use pellucid_agent::replay;
use pellucid_answers::capsule;
use pellucid_answers::capsule::Capsule;
use pellucid_answers::capsule::CapsulePage;
use pellucid_answers::capsule::CapsuleRow;
use pellucid_answers::capsule::CapsuleSystem;
use pellucid_answers::capsule::SessionTexts;
use pellucid_answers::capsule::Utterance;
use pellucid_engine::pack::Pack;
use pellucid_files::RealDisk;
use pellucid_store::name;
use pellucid_store::read;
use pellucid_store::read::SessionFile;
use pellucid_store::record::Record;
use pellucid_store::requests::parts::PartStore;
use pellucid_tools::edits::EditLog;
use pellucid_workspace::pack_files;
use pellucid_workspace::pack_files::PackPlace;
use serde_json::Value;

use super::export;
use super::export::Cut;
use super::export::Export;
use super::print;
use crate::args::capsule::MakeCapsuleArgs;
use crate::args::capsule::RedactLevel;
use crate::args::session_ref::SessionRef;
use crate::cache;
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

pub fn run(home: &Path, args: &MakeCapsuleArgs) -> Result<ExitCode, ProgramFailure> {
    let MadeCapsule { html, n_blanks } = match make(home, args) {
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
pub fn make(home: &Path, args: &MakeCapsuleArgs) -> Result<MadeCapsule, RequestRefusal> {
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
    let said = files.iter().find(|(path, _)| path.contains("sessions/")).map(|(_, text)| utterances(text));
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
    let rows = rows(home, &file, number.unwrap_or(usize::MAX))?;
    let page = CapsulePage { title: format!("Session {id}"), requests: rows, said: said.unwrap_or_default() };
    let html = capsule.to_html(&page).map_err(|error| failed(&error))?;
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

/// The table of the page, up to a request.
fn rows(home: &Path, file: &SessionFile, upto: usize) -> Result<Vec<CapsuleRow>, ProgramFailure> {
    let figures = cache::figures(home, file)?;
    let row = |it: &pellucid_answers::figures::RequestFigures| CapsuleRow {
        number: it.number,
        sent_at: it.sent_at.clone().unwrap_or_default(),
        model: it.model.clone(),
        tokens: it.tokens,
        read: it.usage.as_ref().map(|usage| usage.cached_read),
        answered: it.usage.as_ref().map(|usage| usage.output),
        verdict: it.verdict.verdict.to_string(),
    };
    Ok(figures.iter().filter(|it| it.number <= upto).map(row).collect())
}

/// What was said, from the session file as the capsule has it.
fn utterances(session: &str) -> Vec<Utterance> {
    let (records, _) = read::parse(session.as_bytes());
    let mut said = Vec::new();
    for record in &records {
        let Record::ResponseItem(item) = record else {
            continue;
        };
        let Ok(item) = serde_json::to_value(item) else {
            continue;
        };
        let text = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
        let kind = text("type");
        let is_output = kind.ends_with("_output");
        let role = match (item["role"].as_str(), is_output) {
            (Some(role), _) => role.to_owned(),
            (None, true) => "tool".to_owned(),
            (None, false) => "assistant".to_owned(),
        };
        let what = match kind.as_str() {
            "message" => String::new(),
            _ if item["name"].is_string() => text("name"),
            kind => kind.replace('_', " "),
        };
        let mut texts = Vec::new();
        collect(&item, &mut texts);
        if !texts.is_empty() {
            said.push(Utterance { role, what, text: texts.join("\n") });
        }
    }
    said
}

/// The texts of an item for people; what is encrypted or an image is left out.
fn collect(value: &Value, texts: &mut Vec<String>) {
    const KEYS: [&str; 4] = ["text", "arguments", "input", "output"];
    match value {
        Value::Array(list) => list.iter().for_each(|value| collect(value, texts)),
        Value::Object(table) => {
            for (key, value) in table {
                match value {
                    Value::String(text) if KEYS.contains(&key.as_str()) => texts.push(text.clone()),
                    value => collect(value, texts),
                }
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
