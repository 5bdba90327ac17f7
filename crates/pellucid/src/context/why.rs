//! `context why`: why something is in a request, or why it is not.
//!
//! Here are the files and sessions that an answer needs; the answer itself is made in `pellucid-answers`.

use std::ops::ControlFlow;
use std::ops::RangeInclusive;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use jiff::Timestamp;
use pellucid_agent::replay;
use pellucid_agent::replay::WalkedBytes;
use pellucid_answers::figures::RequestFigures;
use pellucid_answers::inspected::Inspected;
use pellucid_answers::inspected::InspectedRow;
use pellucid_answers::why;
use pellucid_answers::why::Absences;
use pellucid_answers::why::FileQuestion;
use pellucid_answers::why::OnDisk;
use pellucid_answers::why::TriedSetting;
use pellucid_answers::why::WhyAnswer;
use pellucid_answers::why::WhyHistory;
use pellucid_answers::why::WhyPlace;
use pellucid_answers::why::WhyQuestion;
use pellucid_answers::why::WhyReason;
use pellucid_engine::report::Report;
use pellucid_engine::report::text_of;
use pellucid_engine::request_name::RequestName;
use pellucid_store::read;

use crate::args::request::RequestArgs;
use crate::args::session_ref::SessionRef;
use crate::args::shared::Shared;
use crate::args::turn::TurnArgs;
use crate::args::why::ContextWhyArgs;
use crate::capsule;
use crate::capsule::LookedAt;
use crate::fit;
use crate::inspected;
use crate::prices;
use crate::print;
use crate::request;
use crate::request::Coming;
use crate::request::RequestRefusal;
use crate::request::ShownRequest;
use crate::screen::OutputFormat;
use crate::screen::name;
use crate::start;
use crate::start::ProgramFailure;
use crate::stored;
use crate::style;
use crate::style::counted;
use crate::style::number;

/// How long a file may be that is searched.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// How long a session file may be that is searched.
const SESSION_BYTES_MAX: u64 = 1 << 30;

/// The status if nothing that is known has it.
const NOWHERE: u8 = 3;

/// How many cells an origin takes at most.
const ORIGIN_CELLS_MAX: usize = 60;

/// The name of instruction files.
const INSTRUCTIONS: &str = "AGENTS.md";

pub fn run(shared: &Shared, args: &ContextWhyArgs) -> Result<ExitCode, ProgramFailure> {
    match answer(shared, args) {
        Ok((text, code)) => {
            print::report(&text, OutputFormat::of(args.json))?;
            Ok(code)
        }
        Err(refusal) => Ok(refusal.show_of_question()),
    }
}

/// What the command prints, and its status.
pub fn answer(shared: &Shared, args: &ContextWhyArgs) -> Result<(String, ExitCode), RequestRefusal> {
    let home = start::find_home()?;
    let (question, reference) = question(&home, args)?;
    let request_name = inspected::name(&home, &reference)?;
    let asker = Asker { shared, args, home: &home, reference: &reference };
    let shown = request::shown(shared, &args.turn, &asker.request_args(false))?;
    let request = inspected::of_shown(&reference, &shown)?;
    let absences = match &shown {
        ShownRequest::Saved(report) => Absences::of_saved(report),
        _ => report(&shown).map(Absences::of).unwrap_or_default(),
    };
    let question = match with_skill_path(question, &shown) {
        WhyQuestion::File(file) => {
            let is_on_disk = Path::new(&file.path).is_file();
            WhyQuestion::File(file.resolved(&request, &absences, is_on_disk))
        }
        question => question,
    };
    let places = why::places(&question, &request).map_err(|error| RequestRefusal::unknown(error.to_string()))?;
    let history = asker.history(&request_name, &question)?;
    let absent = Absent { question: &question, shown: &shown, absences: &absences, history: history.as_ref() };
    let reason = absent.reason(&asker, &places)?;
    let settings = match (&shown, &reason) {
        (ShownRequest::Coming(_), Some(reason)) => asker.tried(&question, &request, reason),
        _ => Vec::new(),
    };
    let day = match &shown {
        ShownRequest::Sent(sent) => sent.rebuilt.entry.sent_at.clone().unwrap_or_default(),
        _ => Timestamp::now().to_string(),
    };
    let tokens = places.iter().map(|place| place.tokens).sum();
    let answer = WhyAnswer {
        request: reference.clone(),
        subject: question.subject(),
        status: past_end(&question, &places).or_else(|| status(&question, &shown)),
        cost: why::place_cost(&prices::table(&home)?, &request.model, &day, tokens),
        places,
        reason,
        settings,
        history,
    };
    let text = match question {
        _ if args.json => format!("{}\n", answer.to_json()),
        WhyQuestion::Byte(byte) if byte >= request.bytes() => {
            format!("the request has no byte {}: it has {} bytes\n", number(byte), number(request.bytes()))
        }
        _ => text(&answer),
    };
    let code = match (answer.is_there(), answer.is_nowhere()) {
        (true, _) => ExitCode::SUCCESS,
        (_, true) => ExitCode::from(NOWHERE),
        _ => ExitCode::FAILURE,
    };
    Ok((text, code))
}

/// The question and the name of the request, from the words of the command line.
fn question(home: &Path, args: &ContextWhyArgs) -> Result<(WhyQuestion, String), RequestRefusal> {
    let given = args.text.clone().map(WhyQuestion::Text).or(args.byte.map(WhyQuestion::Byte));
    let given = given.or(args.part.clone().map(WhyQuestion::Part)).or(args.tool.clone().map(WhyQuestion::Tool));
    let given = given.or(args.skill.clone().map(WhyQuestion::Skill)).or(args.call.clone().map(WhyQuestion::Call));
    let last = if args.last { Some(stored::meant(home, &SessionRef { session: None, last: true })?.0) } else { None };
    let or_now =
        |reference: Option<&String>| reference.or(last.as_ref()).map_or_else(|| "now".to_owned(), String::clone);
    match (given, &args.what, &args.reference) {
        (Some(_), Some(word), None) if args.last => Err(RequestRefusal::usage(format!(
            "`{word}` and --last both name a request\nhint: give one of them"
        ))),
        (Some(question), reference, None) => Ok((question, or_now(reference.as_ref()))),
        (None, Some(file), reference) => Ok((file_question(file, &args.turn)?, or_now(reference.as_ref()))),
        (Some(_), _, Some(word)) => Err(RequestRefusal::usage(format!(
            "`{word}` is one word too many: an option says what is asked about, so only the name of a request follows"
        ))),
        (None, None, _) => Err(RequestRefusal::usage(
            "nothing is asked about\nhint: name a line of a file (AGENTS.md:12) or use --text, --byte, --part, --tool, --skill or --call"
                .to_owned(),
        )),
    }
}

fn file_question(text: &str, turn: &TurnArgs) -> Result<WhyQuestion, RequestRefusal> {
    let (typed, lines) = match text.rsplit_once(':').map(|(path, lines)| (path, line_range(lines))) {
        Some((path, Some(lines))) if !path.is_empty() => (path, Some(lines)),
        _ => (text, None),
    };
    if let Some(lines) = &lines
        && (*lines.start() == 0 || lines.is_empty())
    {
        return Err(RequestRefusal::usage(format!("`{text}`: lines are counted from 1, the smaller number first")));
    }
    let folder = turn.start.cd.clone().unwrap_or_default();
    let path = std::path::absolute(folder.join(typed)).unwrap_or_else(|_| PathBuf::from(typed));
    let path: PathBuf = normal(&path);
    let content = read_file(&path);
    let on_disk = lines.as_ref().zip(content.as_ref()).and_then(|(lines, text)| OnDisk::of(text, lines));
    let is_past_end = lines.is_some() && content.is_some() && on_disk.is_none();
    let path = path.to_string_lossy().into_owned();
    Ok(WhyQuestion::File(FileQuestion { typed: typed.to_owned(), path, lines, on_disk, is_past_end }))
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(found.pop()),
            std::path::Component::CurDir => {}
            part => found.push(part),
        }
    }
    found
}

fn line_range(text: &str) -> Option<RangeInclusive<usize>> {
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    match text.split_once('-') {
        Some((first, last)) => Some(number(first)?..=number(last)?),
        None => number(text).map(|line| line..=line),
    }
}

/// The text of a file, with U+FFFD where it is not UTF-8.
fn read_file(path: &Path) -> Option<String> {
    pellucid_files::read(path, FILE_BYTES_MAX).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// A skill may be named by a name that is not that of its folder.
fn with_skill_path(question: WhyQuestion, shown: &ShownRequest) -> WhyQuestion {
    match (question, shown) {
        (WhyQuestion::Skill(skill), ShownRequest::Coming(coming)) => {
            let skills = &coming.session.facts().world.skills;
            let found = skills.first_by_name().get(skill.as_str()).map(|it| it.path.clone());
            let found = found.or_else(|| skills.all().iter().find(|it| it.name == skill).map(|it| it.path.clone()));
            WhyQuestion::Skill(found.unwrap_or(skill))
        }
        (question, _) => question,
    }
}

fn report(shown: &ShownRequest) -> Option<&Report> {
    match shown {
        ShownRequest::Coming(coming) => Some(&coming.next.report),
        ShownRequest::Sent(sent) => Some(&sent.rebuilt.report),
        ShownRequest::Saved(_) => None,
    }
}

/// What became of the file that is asked about, where the report lists it.
fn status(question: &WhyQuestion, shown: &ShownRequest) -> Option<String> {
    let (WhyQuestion::File(file), Some(report)) = (question, report(shown)) else {
        return None;
    };
    let source = report.sources().into_iter().find(|source| source.source == file.path)?;
    Some(why::status_sentence(source.status, source.bytes))
}

/// How long the file is that is asked about, if it ends before the lines and the request has none of them.
fn past_end(question: &WhyQuestion, places: &[WhyPlace]) -> Option<String> {
    let WhyQuestion::File(file) = question else {
        return None;
    };
    let content = read_file(Path::new(&file.path)).filter(|_| file.is_past_end && places.is_empty())?;
    Some(format!("shorter: it has {}", counted(content.lines().count(), "line")))
}

/// What a question is asked with.
struct Asker<'a> {
    shared: &'a Shared,
    args: &'a ContextWhyArgs,
    home: &'a Path,
    reference: &'a str,
}

impl Asker<'_> {
    fn request_args(&self, is_quiet: bool) -> RequestArgs {
        let (word, message) = (Some(self.reference.to_owned()), self.args.message.clone());
        RequestArgs { word, message, mcp: self.args.mcp, is_quiet, ..RequestArgs::default() }
    }

    /// Which requests of the session had it; absent for a request of no session.
    fn history(&self, request: &RequestName, question: &WhyQuestion) -> Result<Option<WhyHistory>, RequestRefusal> {
        let Some(session) = request.session() else {
            return Ok(None);
        };
        let LookedAt { home, id, path } = capsule::look(self.home, session)?;
        Ok(Some(history_of(&home, &id, &path, question)?))
    }

    /// The settings among the ideas of a reason with which the request has it, each tried.
    fn tried(&self, question: &WhyQuestion, before: &Inspected, reason: &WhyReason) -> Vec<TriedSetting> {
        let mut found = Vec::new();
        for idea in &reason.ideas {
            let (mut shared, mut turn) = (self.shared.clone(), self.args.turn.clone());
            match idea.strip_prefix("--cd ") {
                Some(folder) => turn.start.cd = Some(folder.into()),
                None => shared.config.push(idea.clone()),
            }
            let Ok(shown) = request::shown(&shared, &turn, &self.request_args(true)) else {
                continue;
            };
            let Ok(after) = inspected::of_shown(self.reference, &shown) else {
                continue;
            };
            let places = why::places(question, &after).unwrap_or_default();
            let absences = report(&shown).map(Absences::of).unwrap_or_default();
            if !places.is_empty() && lacking(question, &places, &absences).is_none() {
                found.push(why::tried(idea.clone(), before, &after));
            }
        }
        found
    }
}

/// Which requests of a session had it.
fn history_of(home: &Path, id: &str, path: &Path, question: &WhyQuestion) -> Result<WhyHistory, ProgramFailure> {
    let file = read::open(path).map_err(|error| ProgramFailure::new(format!("{error}")))?;
    let mut history = WhyHistory::new(id);
    replay::walk(home, &file, &mut |walked| {
        match walked.bytes {
            WalkedBytes::Proved(proved) => {
                let (body, report, model) = (proved.body(), proved.report(), proved.model().unwrap_or_default());
                let figures = walked.entry.map(|entry| RequestFigures::of(walked.number, &model, entry, walked.reply));
                let request = Inspected::of_body("", &model, proved.wire(), &body, &report);
                match why::places(question, &request) {
                    Ok(places) => history.add(figures.as_ref(), walked.number, &places),
                    Err(_) => history.unknown.push(walked.number),
                }
            }
            WalkedBytes::Again(of) => history.add_again(walked.number, of),
            WalkedBytes::Unknown(_) => history.unknown.push(walked.number),
        }
        ControlFlow::Continue(())
    })
    .map_err(|error| ProgramFailure::new(format!("{id}: {error}")))?;
    Ok(history)
}

/// A request of a session that would be sent, to be asked about.
#[derive(Debug)]
pub struct AskedRequest<'a> {
    pub home: &'a Path,
    pub request: &'a Inspected,
    pub report: &'a Report,
    /// The id of the session, and its file if there is one.
    pub session: (&'a str, Option<&'a Path>),
}

impl AskedRequest<'_> {
    /// Why the row at a byte is in the request, with its text, as lines.
    pub fn why_row(&self, byte: usize) -> Result<String, ProgramFailure> {
        let mut start = 0;
        let row = self.request.rows.iter().find(|row| {
            start += row.bytes;
            byte < start
        });
        let Some(row) = row else {
            return Err(ProgramFailure::new(format!("the request has no byte {byte}")));
        };
        let question = question_of(row, byte);
        let places = why::places(&question, self.request).map_err(|error| ProgramFailure::new(error.to_string()))?;
        let (id, path) = self.session;
        // A byte is the same text only in this request.
        let is_text = !matches!(question, WhyQuestion::Byte(_));
        let history = match path.filter(|path| is_text && path.is_file()) {
            Some(path) => Some(history_of(self.home, id, path, &question)?),
            None => None,
        };
        let (tokens, day) = (places.iter().map(|place| place.tokens).sum(), Timestamp::now().to_string());
        let status = match &question {
            WhyQuestion::File(file) => {
                let source = self.report.sources().into_iter().find(|source| source.source == file.path);
                source.map(|source| why::status_sentence(source.status, source.bytes))
            }
            _ => None,
        };
        let answer = WhyAnswer {
            request: self.request.name.clone(),
            subject: question.subject(),
            status,
            cost: why::place_cost(&prices::table(self.home)?, &self.request.model, &day, tokens),
            places,
            reason: None,
            settings: Vec::new(),
            history,
        };
        let content = row.content.as_ref().map_or("", |content| &*content.text);
        Ok(format!("{}\n{content}\n", text(&answer)))
    }
}

/// The question that names a row best: its file, tool or skill, else its first byte.
fn question_of(row: &InspectedRow, byte: usize) -> WhyQuestion {
    match (&*row.source, row.part.strip_prefix("tools/")) {
        (_, Some(tool)) => WhyQuestion::Tool(tool.to_owned()),
        ("file", _) => {
            let path = row.origin.to_string();
            let (lines, on_disk, is_past_end) = (None, None, false);
            WhyQuestion::File(FileQuestion { typed: path.clone(), path, lines, on_disk, is_past_end })
        }
        ("skill", _) => WhyQuestion::Skill(row.origin.to_string()),
        _ => WhyQuestion::Byte(byte),
    }
}

/// Why some of the lines that are asked about are missing, if a place has the others.
fn lacking(question: &WhyQuestion, places: &[WhyPlace], absences: &Absences) -> Option<WhyReason> {
    let WhyQuestion::File(file) = question else {
        return None;
    };
    let lines = file.lines.as_ref()?;
    let reason = absences.of_file(file).filter(|reason| reason.kind == "cut");
    let has_all = |place: &WhyPlace| {
        place.lines.as_ref().is_none_or(|has| has.start() <= lines.start() && has.end() >= lines.end())
    };
    match places.iter().any(has_all) {
        true => reason,
        false => {
            Some(reason.unwrap_or_else(|| WhyReason::new("end", "the file, as it was sent, has no further lines")))
        }
    }
}

/// A question whose answer may be that something is missing.
struct Absent<'a> {
    question: &'a WhyQuestion,
    shown: &'a ShownRequest,
    absences: &'a Absences,
    history: Option<&'a WhyHistory>,
}

impl Absent<'_> {
    /// The one reason for which the request lacks it; absent if it does not, or if nothing that is known has it.
    fn reason(&self, asker: &Asker<'_>, places: &[WhyPlace]) -> Result<Option<WhyReason>, RequestRefusal> {
        if !places.is_empty() {
            return Ok(lacking(self.question, places, self.absences));
        }
        let known = match self.question {
            WhyQuestion::File(file) => self.absences.of_file(file),
            WhyQuestion::Part(part) => self.absences.of_part(part),
            WhyQuestion::Tool(tool) => self.absences.of_tool(tool),
            WhyQuestion::Skill(skill) => self.absences.of_skill(skill),
            WhyQuestion::Text(_) | WhyQuestion::Byte(_) | WhyQuestion::Call(_) => None,
        };
        if let Some(reason) = known.or_else(|| self.lost()) {
            return Ok(Some(reason));
        }
        let coming = if let ShownRequest::Coming(coming) = self.shown { Some(&**coming) } else { None };
        Ok(match self.question {
            WhyQuestion::File(file) => self.of_other_file(file, coming),
            WhyQuestion::Text(text) => match self.of_text_on_disk(text, &asker.args.turn)? {
                Some(reason) => Some(reason),
                None => self.of_session_file(asker, text),
            },
            WhyQuestion::Part(part) => coming.and_then(|it| why::of_slot(part, it.session.pack(), it.session.facts())),
            WhyQuestion::Tool(tool) => coming.and_then(|it| why::of_tool(tool, it.session.pack(), it.session.facts())),
            WhyQuestion::Skill(skill) => coming.and_then(|coming| of_skill(skill, coming)),
            WhyQuestion::Call(call) => self.of_session_file(asker, call),
            WhyQuestion::Byte(_) => None,
        })
    }

    /// What became of something that another request of the session had.
    fn lost(&self) -> Option<WhyReason> {
        let history = self.history?;
        let at = match self.shown {
            ShownRequest::Sent(sent) => sent.rebuilt.number,
            _ => usize::MAX,
        };
        if let Some((last, lost)) = history.lost_before(at) {
            let lost = if lost == usize::MAX { "the next request".to_owned() } else { format!("request {lost}") };
            return Some(match history.summarised_by() {
                Some(summary) if summary >= last => WhyReason::new(
                    "summarised",
                    format!(
                        "summarised: request {last} was the last to have it; request {summary} asked for a summary of the history, and the summary does not have these words"
                    ),
                ),
                _ => WhyReason::new(
                    "left",
                    format!(
                        "left: request {last} was the last to have it, and {lost} lacks it; no summary was asked for in between"
                    ),
                ),
            });
        }
        let first = history.first()?;
        Some(WhyReason::new("later", format!("later: the first request to have it is {}", first.number)))
    }

    /// Why a file is missing that no list names.
    fn of_other_file(&self, file: &FileQuestion, coming: Option<&Coming>) -> Option<WhyReason> {
        let path = Path::new(&file.path);
        let is_there = match file.lines {
            Some(_) => file.on_disk.is_some(),
            None => read_file(path).is_some(),
        };
        if !is_there {
            return None;
        }
        let is_skill =
            |it: &Report| it.rows.iter().any(|row| row.origin.kind() == "skill" && row.origin.detail() == file.path);
        if report(self.shown).is_some_and(is_skill) {
            let sentence = "of a skill the request has only the name and the description; the model reads the rest when it uses the skill";
            return Some(WhyReason::new("skill", sentence));
        }
        if report(self.shown).is_some_and(|it| it.files.iter().any(|read| read.path == file.path)) {
            let sentence = "trimmed: the file was read, and white space at its ends is not sent";
            return Some(WhyReason::new("trimmed", sentence));
        }
        let Some(coming) = coming.filter(|_| self.absences.is_complete) else {
            let sentence = "not recorded: the request has nothing of it, and the record has no list of the files that were looked for; ask about `now`";
            return Some(WhyReason::new("not_recorded", sentence));
        };
        let (folder, file_name) = (path.parent()?, path.file_name()?.to_string_lossy());
        let cwd = &coming.session.facts().settings.cwd;
        let is_above = Path::new(cwd).starts_with(folder);
        let mut reason = WhyReason::new(
            "not_looked_for",
            match (is_above, &*file_name == INSTRUCTIONS) {
                (_, false) => format!("not looked for: a file of the name {file_name} is not an instruction file"),
                (false, true) => format!(
                    "not looked for: its folder is not between the root of the project and the working directory, {cwd}"
                ),
                (true, true) => "not looked for: its folder is above the root of the project".to_owned(),
            },
        );
        reason.ideas = match &*file_name == INSTRUCTIONS {
            true => vec![format!("--cd {}", folder.display())],
            false => vec![format!("project_doc_fallback_filenames=[{file_name:?}]")],
        };
        Some(reason)
    }

    /// The first file that was looked for and has the text: why it, or that line of it, is missing.
    fn of_text_on_disk(&self, text: &str, turn: &TurnArgs) -> Result<Option<WhyReason>, RequestRefusal> {
        let named = self.absences.all.iter().map(|absence| absence.what.as_str());
        let read = report(self.shown).into_iter().flat_map(|report| &report.files).map(|file| file.path.as_str());
        let skills = report(self.shown).into_iter().flat_map(|report| &report.rows);
        let skills = skills.filter(|row| row.origin.kind() == "skill").map(|row| row.origin.detail());
        for path in named.chain(read).chain(skills).filter(|path| Path::new(path).is_absolute()) {
            let Some(at) = read_file(Path::new(path)).and_then(|content| {
                let at = content.find(text)?;
                let line = content[..at].matches('\n').count() + 1;
                Some(line..=line + text.trim_end_matches('\n').matches('\n').count())
            }) else {
                continue;
            };
            let place = format!("{path}:{}-{}", at.start(), at.end());
            let WhyQuestion::File(file) = file_question(&place, turn)? else {
                continue;
            };
            let coming = if let ShownRequest::Coming(coming) = self.shown { Some(&**coming) } else { None };
            if let Some(reason) = self.absences.of_file(&file).or_else(|| self.of_other_file(&file, coming)) {
                let sentence = format!("{path}:{} has it. {}", at.start(), reason.sentence);
                return Ok(Some(WhyReason { sentence, ..reason }));
            }
        }
        Ok(None)
    }

    /// A text that the session's file has and no request had, such as the last answer.
    fn of_session_file(&self, asker: &Asker<'_>, text: &str) -> Option<WhyReason> {
        let session = asker.reference.rsplit_once('#').map_or(asker.reference, |(session, _)| session);
        let path = self.history.and_then(|_| capsule::look(asker.home, session).ok())?.path;
        let file = pellucid_files::read(&path, SESSION_BYTES_MAX).ok()?;
        let escaped = serde_json::Value::from(text).to_string();
        let escaped = &escaped[1..escaped.len() - 1];
        let has = |line: &[u8]| {
            let line = text_of(line);
            line.contains(text) || line.contains(escaped)
        };
        let line = file.split(|byte| *byte == b'\n').position(has)? + 1;
        let sentence = format!(
            "not sent: line {line} of the session file has it, and no request had it; `{}#next` shows whether the next one has",
            self.history?.session
        );
        Some(WhyReason::new("not_sent", sentence))
    }
}

/// Why a skill is missing that was found and not left out.
fn of_skill(path: &str, coming: &Coming) -> Option<WhyReason> {
    let found = coming.session.facts().world.skills.all().iter().any(|skill| skill.path == path);
    found.then(|| {
        WhyReason::new("no_slot", format!("no slot: the pack {} sends no list of skills", coming.session.pack().name))
    })
}

/// The folder that a person asks from, for paths as that person would write them. JSON has the whole paths.
struct Here {
    folder: PathBuf,
    user: Option<PathBuf>,
}

impl Here {
    fn new() -> Self {
        Self { folder: std::env::current_dir().unwrap_or_default(), user: fit::user_folder() }
    }

    fn sentence(&self, text: &str) -> String {
        fit::relative_in(text, &self.folder, self.user.as_deref())
    }

    /// A file or another origin, shortened in its middle.
    fn origin(&self, origin: &str) -> String {
        fit::middle(&fit::relative(origin, &self.folder, self.user.as_deref()), ORIGIN_CELLS_MAX)
    }
}

fn text(answer: &WhyAnswer) -> String {
    let here = Here::new();
    let mut text = String::new();
    for place in &answer.places {
        text += &place_text(place, &here);
    }
    if let Some(reason) = &answer.reason {
        let some = if answer.places.is_empty() { "not in the request" } else { "not all of it is in the request" };
        text += &format!("{some}: {}\n", name(&here.sentence(&reason.sentence)));
    }
    if answer.is_nowhere() {
        let subject = here.sentence(&answer.subject);
        text += &format!("{} is in no request and in no file that was looked for\n", name(&subject));
    }
    for tried in &answer.settings {
        let loses = tried
            .loses
            .iter()
            .map(|(path, bytes)| format!(", \u{2212}{} bytes of {}", number(*bytes), here.origin(path)));
        text += &format!(
            "  it would be there with: {}   ({} bytes, {} tokens{})\n",
            name(&here.sentence(&tried.setting)),
            signed(tried.bytes),
            signed(tried.tokens),
            loses.collect::<String>()
        );
    }
    if let Some(status) = &answer.status {
        text += &format!("  the file is {}\n", name(status));
    }
    if let Some(history) = &answer.history {
        text += &history_text(history, answer.places.len());
    }
    if !answer.places.is_empty() {
        text += &match &answer.cost {
            Some(cost) => format!(
                "  costs {} for each request, {} if the provider reads it from its cache (price from {})\n",
                cost.uncached, cost.cached, cost.from
            ),
            None => "  the price is unknown\n".to_owned(),
        };
    }
    text
}

fn place_text(place: &WhyPlace, here: &Here) -> String {
    let item = match (place.item, &place.role) {
        (Some(item), Some(role)) => format!(", item {item} ({role})"),
        (Some(item), None) => format!(", item {item}"),
        _ => String::new(),
    };
    let last = place.bytes.end.saturating_sub(1).max(place.bytes.start);
    let lines = place.lines.as_ref().map_or_else(String::new, |lines| match lines.start() == lines.end() {
        true => format!(":{}", lines.start()),
        false => format!(":{}-{}", lines.start(), lines.end()),
    });
    let from = format!("{} {}{lines}", place.source, here.origin(&place.origin));
    format!(
        "in the request: bytes {}-{}{item}, part {}, {}, from {}\n",
        number(place.bytes.start),
        number(last),
        name(&place.part),
        counted(place.tokens, "token"),
        name(from.trim_end())
    )
}

fn history_text(history: &WhyHistory, copies: usize) -> String {
    let (Some(first), Some(last)) = (history.first(), history.last()) else {
        return "  no request of the session had it\n".to_owned();
    };
    let session = &history.session;
    let copies = match copies {
        0 => String::new(),
        1 => ", one copy".to_owned(),
        n => format!(", {} copies", number(n)),
    };
    let cached = match history.cached_since() {
        Some(number) => format!(", read from the cache since #{number}"),
        None => String::new(),
    };
    let mut text =
        format!("  first sent in {session}#{}, last in {session}#{}{copies}{cached}\n", first.number, last.number);
    if let (Some(summary), true) = (history.summarised_by(), last.is_summary_only) {
        text += &format!("  summarised by request {summary}; the summary has it word for word\n");
    }
    if !history.unknown.is_empty() {
        let list: Vec<String> = history.unknown.iter().map(|number| format!("#{number}")).collect();
        text += &format!("  the bytes of {} are not known\n", list.join(", "));
    }
    text
}

/// A number with its sign.
fn signed(value: isize) -> String {
    let sign = if value < 0 { '\u{2212}' } else { '+' };
    format!("{sign}{}", style::thousands(i64::try_from(value.unsigned_abs()).unwrap_or(i64::MAX)))
}
