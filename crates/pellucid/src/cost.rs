//! `cost`: what sessions cost, and what they would cost under another setting.
//!
//! - `remade`: the requests of a session, made again under a setting

mod remade;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use jiff::Timestamp;
use pellucid_agent::replay;
use pellucid_agent::replay::WalkedBytes;
use pellucid_answers::cost::CostAnswer;
use pellucid_answers::cost::CostGroup;
use pellucid_answers::cost::CostedRequest;
use pellucid_answers::cost::ReadText;
use pellucid_answers::cost::ReadTexts;
use pellucid_answers::cost::SimulatedCost;
use pellucid_answers::cost::UsedPrice;
use pellucid_answers::figures::RequestFigures;
use pellucid_answers::figures::cache_seconds;
use pellucid_protocol::price::Money;
use pellucid_protocol::provider::ReadSection;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::usage::UsageSplit;
use pellucid_store::read;
use pellucid_store::read::SessionFile;
use pellucid_store::reconstructed;
use pellucid_store::token_counts::token_counts;
use serde_json::Value;

use crate::args::cost::CostArgs;
use crate::args::cost::CostByWord;
use crate::args::shared::Shared;
use crate::cache;
use crate::capsule;
use crate::capsule::LookedAt;
use crate::fit;
use crate::other;
use crate::pack::table;
use crate::prices;
use crate::print;
use crate::screen::OutputFormat;
use crate::screen::StandardStream;
use crate::screen::name;
use crate::sessions;
use crate::start::ProgramFailure;
use crate::stored;
use crate::style;

/// What is said below the costs of a session without a record.
const FROM_COUNTS: &str = "a session has no record of what it sent, so its tokens are those of the counts in its file";

/// The status when a price is unknown or a session has no record.
const NOT_KNOWN: u8 = 3;

pub fn run(shared: &Shared, args: &CostArgs) -> Result<ExitCode, ProgramFailure> {
    let (text, code) = match answer(shared, args)? {
        Ok(answered) => answered,
        Err(refusal) => return Ok(refusal.show()),
    };
    print::report(&text, OutputFormat::of(args.json))?;
    Ok(code)
}

/// What the command prints and its status, or why nothing is known.
pub fn answer(shared: &Shared, args: &CostArgs) -> Result<Result<(String, ExitCode), CostRefusal>, ProgramFailure> {
    let home = sessions::home()?;
    answer_in(&args.from.home_of_all(&home, &args.of)?, shared, args)
}

/// The same about the sessions of a home folder.
///
/// # Errors
/// When a session or the prices cannot be read.
pub fn answer_in(
    home: &Path,
    shared: &Shared,
    args: &CostArgs,
) -> Result<Result<(String, ExitCode), CostRefusal>, ProgramFailure> {
    let meant = capsule::all_meant(home, &args.of)?;
    CostedSessions::read(home, meant)?.answer(shared, args)
}

/// The sessions that costs are asked of, read once for any number of questions.
#[derive(Debug)]
pub struct CostedSessions {
    /// The home folder with the prices.
    home: PathBuf,
    sessions: Vec<CostedSession>,
    texts: ReadTexts,
    /// Why nothing is known of some sessions.
    unknown: Vec<String>,
}

impl CostedSessions {
    /// Goes through the records of sessions.
    ///
    /// # Errors
    /// When a session cannot be read.
    pub fn read(home: &Path, meant: Vec<LookedAt>) -> Result<Self, ProgramFailure> {
        let mut costed =
            Self { home: home.to_owned(), sessions: Vec::new(), texts: ReadTexts::default(), unknown: Vec::new() };
        for LookedAt { home: of, path, .. } in meant {
            let file = read::open_damaged(&path).map_err(|error| ProgramFailure::new(format!("{error}")))?;
            let mut session = CostedSession::walk(&of, file, &mut costed.texts)?;
            if session.requests.is_empty() {
                session.estimate(&path)?;
            }
            if session.requests.is_empty() {
                let id = &session.file.meta.id;
                costed.unknown.push(format!("the session {id} has no record of what it sent"));
            }
            costed.sessions.push(session);
        }
        Ok(costed)
    }

    /// What the command prints about these sessions and its status, or why nothing is known.
    ///
    /// # Errors
    /// When the prices cannot be read.
    pub fn answer(
        &mut self,
        shared: &Shared,
        args: &CostArgs,
    ) -> Result<Result<(String, ExitCode), CostRefusal>, ProgramFailure> {
        let Self { home, sessions, texts, unknown } = self;
        costed_answer(shared, args, home, sessions, texts, unknown)
    }
}

fn costed_answer(
    shared: &Shared,
    args: &CostArgs,
    home: &Path,
    sessions: &[CostedSession],
    texts: &mut ReadTexts,
    unknown: &[String],
) -> Result<Result<(String, ExitCode), CostRefusal>, ProgramFailure> {
    let prices = prices::table(home)?;
    let needs_bytes = matches!(args.by, CostByWord::Part | CostByWord::Source | CostByWord::Tool);
    if let Some(session) = sessions.iter().find(|it| it.is_estimated && (needs_bytes || !args.settings.is_empty())) {
        let id = &session.file.meta.id;
        let why = "only the tokens of its requests are known, and neither parts nor other settings";
        return Ok(Err(CostRefusal::unknown(format!("the session {id} has no record of what it sent: {why}"))));
    }
    let requests: Vec<CostedRequest> = sessions.iter().flat_map(|session| session.requests.clone()).collect();
    if requests.is_empty() {
        return Ok(Err(CostRefusal::unknown(unknown.join("\nerror: "))));
    }
    unknown.iter().for_each(|text| style::line(&format!("error: {text}")));
    let answer = CostAnswer::of(&requests, args.by.into(), &prices);
    let mut columns = Vec::new();
    if !args.settings.is_empty() {
        for setting in std::iter::once(None).chain(args.settings.iter().map(Some)) {
            let column = match setting {
                Some(setting) if setting.is_remade() => {
                    let remade = remade::requests(shared, sessions, setting, texts);
                    remade.map(|remade| SimulatedCost::of_remade(&requests, &remade, setting, &prices))
                }
                _ => SimulatedCost::of(&requests, setting, &prices)
                    .map_err(|error| CostRefusal { text: error.to_string(), status: 2 }),
            };
            match column {
                Ok(column) => columns.push(column),
                Err(refusal) => return Ok(Err(refusal)),
            }
        }
    }
    let has_unknown = |column: &SimulatedCost| column.prices.iter().any(|price| price.from.is_none());
    let is_known = unknown.is_empty() && !answer.has_unknown_price() && !columns.iter().any(has_unknown);
    let text = if args.json {
        let mut json = answer.to_json();
        if reconstructed::is_marked(home) {
            json["reconstructed"] = true.into();
        }
        if !columns.is_empty() {
            json["simulated"] = columns.iter().map(SimulatedCost::to_json).collect::<Value>();
            json["simulated_requests_that_differ"] = columns[0].n_different(&requests).into();
        }
        format!("{json}\n")
    } else if columns.is_empty() {
        let mut text = answer_text(&answer, &NamedGroups::of(home, args.by));
        if sessions.iter().any(|session| session.is_estimated) {
            text += if reconstructed::is_marked(home) { other::RECONSTRUCTED } else { FROM_COUNTS };
            text.push('\n');
        }
        text
    } else {
        columns_text(&answer, &columns, columns[0].n_different(&requests))
    };
    Ok(Ok((text, ExitCode::from(if is_known { 0 } else { NOT_KNOWN }))))
}

/// Why nothing is known, or a setting is not simulated, and the status to end with.
#[derive(Debug)]
pub struct CostRefusal {
    text: String,
    status: u8,
}

impl CostRefusal {
    /// What would be is not known.
    fn unknown(text: String) -> Self {
        Self { text, status: NOT_KNOWN }
    }

    /// The message, without the prefix `error:`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the question itself is wrong.
    pub fn is_usage(&self) -> bool {
        self.status != NOT_KNOWN
    }

    fn show(&self) -> ExitCode {
        style::line(&format!("error: {}", self.text));
        ExitCode::from(self.status)
    }
}

/// A session with the requests that it sent.
#[derive(Debug)]
struct CostedSession {
    /// The home folder that has the session and its record.
    home: PathBuf,
    file: SessionFile,
    /// Every request that the session itself sent, with what the model read.
    requests: Vec<CostedRequest>,
    /// The API format of the requests, where their bytes are known.
    wire: Option<WireApi>,
    /// The order in which the provider's models read a request.
    order: Vec<ReadSection>,
    /// Whether there is no record, so that the requests are those of the file's token counts.
    is_estimated: bool,
}

impl CostedSession {
    fn walk(home: &Path, file: SessionFile, texts: &mut ReadTexts) -> Result<Self, ProgramFailure> {
        let session: Arc<str> = file.meta.id.as_str().into();
        let provider: Arc<str> = file.meta.model_provider.as_deref().unwrap_or_default().into();
        let mut costed = Self {
            home: home.to_owned(),
            file,
            requests: Vec::new(),
            wire: None,
            order: Vec::new(),
            is_estimated: false,
        };
        let mut known: BTreeMap<usize, (String, WireApi, Arc<[ReadText]>)> = BTreeMap::new();
        let Self { file, requests, wire: last_wire, order: last_order, .. } = &mut costed;
        replay::walk(home, file, &mut |walked| {
            let read = match walked.bytes {
                WalkedBytes::Proved(proved) => {
                    let wire = proved.wire();
                    let order = walked.terms.map_or(wire.reading_order(), |terms| &terms.cache_order);
                    let (body, report) = (proved.body(), proved.report());
                    let read = (proved.model().unwrap_or_default(), wire, texts.of(order, &body, &report));
                    known.insert(walked.number, read.clone());
                    *last_order = order.to_vec();
                    Some(read)
                }
                WalkedBytes::Again(number) => known.get(&number).cloned(),
                WalkedBytes::Unknown(_) => None,
            };
            let Some(entry) = walked.entry.filter(|_| walked.session == &*session) else {
                return ControlFlow::Continue(());
            };
            let sent_ms = entry.sent_at.as_deref().and_then(|at| Some(at.parse::<Timestamp>().ok()?.as_millisecond()));
            let (model, read) = match read {
                Some((model, wire, read)) => {
                    *last_wire = Some(wire);
                    (model, read)
                }
                None => (requests.last().map(|it| it.figures.model.clone()).unwrap_or_default(), Arc::default()),
            };
            let seconds = cache_seconds(walked.terms, *last_wire);
            let kept_ms = seconds.and_then(|seconds| i64::try_from(seconds).ok()?.checked_mul(1000));
            let figures = RequestFigures::of(walked.number, &model, entry, walked.reply);
            let (session, provider) = (session.clone(), provider.clone());
            requests.push(CostedRequest { session, provider, figures, sent_ms, kept_ms, read });
            ControlFlow::Continue(())
        })
        .map_err(|error| ProgramFailure::new(format!("{error}")))?;
        Ok(costed)
    }

    /// Takes the requests from the token counts of the session file, which has no record.
    fn estimate(&mut self, path: &Path) -> Result<(), ProgramFailure> {
        let session: Arc<str> = self.file.meta.id.as_str().into();
        let provider: Arc<str> = self.file.meta.model_provider.as_deref().unwrap_or_default().into();
        let counts = token_counts(path).map_err(|error| ProgramFailure::new(format!("{error}")))?;
        let request = |figures: RequestFigures| {
            let sent = figures.sent_at.as_deref().and_then(|at| at.parse::<Timestamp>().ok());
            let (session, provider) = (session.clone(), provider.clone());
            let sent_ms = sent.map(Timestamp::as_millisecond);
            CostedRequest { session, provider, figures, sent_ms, kept_ms: None, read: Arc::default() }
        };
        self.requests = RequestFigures::estimated(&counts, cache::KEPT_FOR).into_iter().map(request).collect();
        self.is_estimated = true;
        Ok(())
    }
}

/// How groups are named for people; JSON has the names as they are.
struct NamedGroups {
    by: CostByWord,
    /// The ids of all stored sessions, which short ids distinguish.
    ids: Vec<String>,
    folder: PathBuf,
    user: Option<PathBuf>,
}

impl NamedGroups {
    fn of(home: &Path, by: CostByWord) -> Self {
        let ids = match by {
            CostByWord::Session | CostByWord::Turn | CostByWord::Request => stored::ids(home),
            CostByWord::Part | CostByWord::Source | CostByWord::Tool => Vec::new(),
        };
        Self { by, ids, folder: std::env::current_dir().unwrap_or_default(), user: fit::user_folder() }
    }

    /// The name of a group: short ids, a turn as its first and last request, and paths from the folder of the person.
    fn name(&self, group: &CostGroup) -> String {
        let short = |id| stored::short_id(id, &self.ids);
        match (self.by, group.name.split_once([' ', '#'])) {
            (CostByWord::Session, _) => short(&group.name).to_owned(),
            (CostByWord::Request, Some((session, number))) => format!("{}#{number}", short(session)),
            (CostByWord::Turn, Some((session, _))) => match group.numbers {
                (first, last) if first == last => format!("{}#{first}", short(session)),
                (first, last) => format!("{}#{first}-{last}", short(session)),
            },
            (CostByWord::Source, Some((kind, path))) if Path::new(path).is_absolute() => {
                format!("{kind} {}", fit::relative(path, &self.folder, self.user.as_deref()))
            }
            _ => group.name.clone(),
        }
    }
}

fn answer_text(answer: &CostAnswer, named: &NamedGroups) -> String {
    let row = |(shown, group): (String, &CostGroup)| {
        let mut row = vec![name(&shown).into_owned()];
        row.extend(cells(&group.usage, group.cost.as_ref()));
        row
    };
    let groups = answer.groups.iter().map(|group| (named.name(group), group));
    let rows: Vec<Vec<String>> = groups.chain([(answer.total.name.clone(), &answer.total)]).map(row).collect();
    let heading = answer.by.as_str().to_uppercase();
    let headings = [&*heading, "READ", "WRITTEN", "UNCACHED", "ANSWERED", "COST"];
    let mut text = table::fitted(&headings, &rows, &[1, 2, 3, 4, 5], StandardStream::Out.columns_of_terminal());
    text += &notes(answer);
    text += &format!("{}\n", name(&UsedPrice::line(&answer.prices)));
    text
}

fn columns_text(answer: &CostAnswer, columns: &[SimulatedCost], n_different: usize) -> String {
    let mut text = String::new();
    for column in columns {
        if let Some(setting) = &column.setting {
            text += &format!("{}: {}\n", name(setting), name(&column.note));
        }
    }
    if n_different > 0 {
        text += &format!(
            "the simulation of the recorded setting gives other figures than the provider for {}, so the columns are estimates\n",
            style::counted(n_different, "request"),
        );
    }
    let mut headings = vec!["TOKENS".to_owned(), "RECORDED".to_owned(), "SIMULATED".to_owned()];
    headings.extend(columns.iter().filter_map(|column| Some(name(column.setting.as_ref()?).into_owned())));
    let recorded = cells(&answer.total.usage, answer.total.cost.as_ref());
    let simulated: Vec<_> = columns.iter().map(|column| cells(&column.usage, column.cost.as_ref())).collect();
    let names = ["read", "written", "uncached", "answered", "cost"];
    let rows: Vec<Vec<String>> = names
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let mut row = vec![(*name).to_owned(), recorded[at].clone()];
            row.extend(simulated.iter().map(|column| column[at].clone()));
            row
        })
        .collect();
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    text += &table::blocks(&headings, &rows, StandardStream::Out.columns_of_terminal());
    text += &notes(answer);
    let mut prices: Vec<UsedPrice> = columns.iter().flat_map(|column| column.prices.clone()).collect();
    prices.sort();
    prices.dedup();
    text += &format!("{}\n", name(&UsedPrice::line(&prices)));
    text
}

/// Tokens read, written, uncached and answered, and the cost.
fn cells(usage: &UsageSplit, cost: Option<&Money>) -> [String; 5] {
    [
        style::thousands(usage.cached_read),
        usage.cache_write.map_or_else(|| "-".to_owned(), style::thousands),
        style::thousands(usage.uncached),
        style::thousands(usage.output),
        cost.map_or_else(|| "unknown".to_owned(), ToString::to_string),
    ]
}

/// How the provider's count relates to ours, and what is in no sum.
fn notes(answer: &CostAnswer) -> String {
    let mut text = String::new();
    if let Some(factor) = answer.factor() {
        let estimated = i64::try_from(answer.estimated).unwrap_or(i64::MAX);
        text += &format!(
            "the provider counted {} input tokens, and {} are estimated from bytes: a factor of {factor:.2}\n",
            style::thousands(answer.counted()),
            style::thousands(estimated),
        );
    }
    if answer.n_unreported > 0 {
        text += &format!(
            "no figures of the provider for {}, which no sum has\n",
            style::counted(answer.n_unreported, "request")
        );
    }
    text
}
