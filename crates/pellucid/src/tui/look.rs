//! Answers to the client's questions about the next request, by the functions behind `context`, `context why`, `cache` and
//! `context packs`.
//!
//! - `sent`: requests that were sent
//! - `seen`: what the model has been shown
//!
//! The session gives a copy of itself; everything else is done beside it, so that neither the turn nor the keys wait.

mod seen;
mod sent;

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use jiff::Timestamp;
use pellucid_agent::door::LookQuestion;
use pellucid_agent::door::Sender;
use pellucid_agent::replay;
use pellucid_agent::replay::WantedRequest;
use pellucid_agent::session::ComingRequest;
use pellucid_agent::session::Session;
use pellucid_agent::session::SessionCopy;
use pellucid_agent::session::TurnPreview;
use pellucid_answers::cache::advice;
use pellucid_answers::figures::RequestFigures;
use pellucid_answers::forecast::NextSize;
use pellucid_answers::forecast::PastTurns;
use pellucid_answers::forecast::TurnForecast;
use pellucid_answers::inspected::Inspected;
use pellucid_answers::overview::OverviewKind;
use pellucid_answers::overview::OverviewOrigin;
use pellucid_answers::panel;
use pellucid_answers::panel::ContextPanel;
use pellucid_answers::panel::PanelGroup;
use pellucid_answers::panel::PanelRow;
use pellucid_engine::continuity::Break;
use pellucid_engine::continuity::Continuity;
use pellucid_engine::facts::Fate;
use pellucid_engine::fragment::Why;
use pellucid_engine::prices::PriceEntry;
use pellucid_engine::report::Report;
use pellucid_engine::report::fate_text;
use pellucid_engine::report::why_text;
use pellucid_engine::request::Request;
use pellucid_protocol::price::Money;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::usage::UsageSplit;
use pellucid_store::read;
use pellucid_store::read::SessionFile;
use pellucid_store::token_counts::token_counts;
use pellucid_tasks::Task;
use pellucid_tasks::Tasks;
use pellucid_tokens::Exact;
use pellucid_tui::look::report::CacheDivergence;
use pellucid_tui::look::report::CacheOutlook;
use pellucid_tui::look::report::LeftOut;
use pellucid_tui::look::report::LookAnswer;
use pellucid_tui::look::report::LookCall;
use pellucid_tui::look::report::LookDraft;
use pellucid_tui::look::report::LookGroup;
use pellucid_tui::look::report::LookReport;
use pellucid_tui::look::report::LookRow;
use pellucid_tui::look::report::LookSize;
use pellucid_tui::look::report::RequestPreview;
use pellucid_tui::look::report::TurnPrice;
use pellucid_tui::look::report::Whose;
use tokio::sync::mpsc;
use tokio::sync::oneshot;

use crate::cache;
use crate::context::head::change_text;
use crate::context::packs;
use crate::context::why::AskedRequest;
use crate::fit;
use crate::prices;
use crate::request;
use crate::request::Coming;
use crate::request::RequestRefusal;
use crate::request::certain::Reason;
use crate::start::Start;
use crate::style;
use crate::style::number;
use crate::tui::host::HowToOpen;

/// How wide the table of packs is at least, so that each pack has a column that can be read.
const PACK_COLUMNS_MIN: usize = 100;

/// The request of the last report, for questions about its rows.
#[derive(Debug)]
struct Looked {
    model: String,
    wire: WireApi,
    request: Request,
    report: Report,
    left_out: Vec<LeftOut>,
}

/// What is needed to answer questions.
#[derive(Debug, Clone)]
struct Ground {
    how: HowToOpen,
    home: PathBuf,
    /// The folder that paths are shown relative to.
    folder: PathBuf,
    session_id: String,
    file: Option<PathBuf>,
    looked: Arc<Mutex<Option<Arc<Looked>>>>,
    /// How the turns went up to this length of the session file.
    turns: Arc<Mutex<Option<(u64, PastTurns)>>>,
}

/// Answers questions about the next request of one session.
#[derive(Debug)]
pub struct Looks {
    ground: Ground,
    questions: Sender<LookQuestion>,
    answers: mpsc::UnboundedSender<LookAnswer>,
    ready: mpsc::UnboundedReceiver<LookAnswer>,
    tasks: Tasks,
}

impl Looks {
    /// Answers questions about a session that is about to run.
    pub fn new(how: HowToOpen, session: &Session, questions: Sender<LookQuestion>) -> Self {
        let (answers, ready) = mpsc::unbounded_channel();
        let folders = &session.config().folders;
        let ground = Ground {
            how,
            home: folders.home.clone(),
            folder: folders.cwd.clone(),
            session_id: session.id().to_string(),
            file: session.path().map(Path::to_owned),
            looked: Arc::default(),
            turns: Arc::default(),
        };
        Self { ground, questions, answers, ready, tasks: Tasks::default() }
    }

    /// Where the session's file is, or will be.
    pub fn session_file(&self) -> Option<PathBuf> {
        self.ground.file.clone()
    }

    /// Takes a question. Its answer comes from [`Looks::answer`].
    pub fn ask(&self, call: LookCall) {
        let (ground, questions, answers) = (self.ground.clone(), self.questions.clone(), self.answers.clone());
        self.tasks.spawn("looking at the next request", async move {
            let copy = match &call {
                LookCall::Report { .. } | LookCall::Preview(_) | LookCall::Seen | LookCall::SeenFiles => {
                    copy_of(&questions).await
                }
                _ => None,
            };
            let answer = Task::blocking("looking at the next request", move || ground.answer(call, copy)).await;
            if let Ok(answer) = answer {
                // The client is gone if this fails.
                let _ = answers.send(answer);
            }
        });
    }

    /// Waits for the next answer. May be cancelled.
    pub async fn answer(&mut self) -> LookAnswer {
        match self.ready.recv().await {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }
}

/// A copy of the session, when it has time for it; absent if it has ended.
pub async fn copy_of(questions: &Sender<LookQuestion>) -> Option<SessionCopy> {
    let (sender, receiver) = oneshot::channel();
    questions.send(LookQuestion(sender)).await.ok()?;
    receiver.await.ok()
}

impl Ground {
    fn answer(&self, call: LookCall, copy: Option<SessionCopy>) -> LookAnswer {
        let over = || "the session has ended".to_owned();
        match call {
            LookCall::Report { draft, is_exact } => LookAnswer::Report(
                copy.ok_or_else(over).and_then(|copy| self.report(copy, draft, is_exact).map(Box::new)),
            ),
            LookCall::Preview(draft) => {
                LookAnswer::Preview(copy.ok_or_else(over).and_then(|copy| self.preview(copy, draft).map(Box::new)))
            }
            LookCall::Why(byte) => page("Why is this here", self.why(byte)),
            LookCall::WhyNot(at) => page("Why is this left out", self.why_not(at)),
            LookCall::Cache => {
                let text = match &self.file {
                    Some(file) => cache::session_text(&self.home, file),
                    None => Ok(None),
                };
                let text = text.map(|text| text.unwrap_or_else(|| "no request was sent yet".to_owned()));
                page("Cache", text.map_err(|failure| failure.text().to_owned()))
            }
            LookCall::Packs => page("The same facts under every pack", self.packs()),
            LookCall::Pack(name) => {
                let coming = self.under_pack(&name).map_err(|refusal| format!("pack {name}: {}", refusal.text()));
                LookAnswer::Pack(coming.map(|coming| {
                    let Coming { session, next, reasons, .. } = coming;
                    Box::new(self.look_report(&session, &next, &reasons, false))
                }))
            }
            LookCall::Charge(model, usage) => {
                let price = self.price(&model);
                LookAnswer::Charge(price.map(|price| price.cost(&usage)))
            }
            LookCall::Seen => {
                page("What the model has been shown", copy.ok_or_else(over).and_then(|copy| self.seen(copy)))
            }
            LookCall::SeenFiles => {
                let seen = copy.ok_or_else(over).and_then(|copy| self.seen_of(copy));
                // A list of files is of use without this too.
                LookAnswer::SeenFiles(seen.map(|seen| seen.by_file(&self.folder)).unwrap_or_default())
            }
            LookCall::Sent(number) => LookAnswer::Sent(self.sent(number).map(Box::new)),
            LookCall::SentBytes(number) => LookAnswer::Preview(self.sent_bytes(number).map(Box::new)),
            LookCall::Spent => {
                let file = self.file.as_ref().filter(|file| file.is_file());
                LookAnswer::Spent(file.and_then(|file| cache::session_cost(&self.home, file)))
            }
        }
    }

    fn price(&self, model: &str) -> Option<PriceEntry> {
        let table = prices::table(&self.home).ok()?;
        table.of(model, &Timestamp::now().to_string()).cloned()
    }

    fn report(&self, copy: SessionCopy, draft: LookDraft, is_exact: bool) -> Result<LookReport, String> {
        let coming = copy.next(draft.change.map(|change| *change), &draft.inputs)?;
        let ComingRequest { session, mut next, recalled, unknown, is_in_turn } = coming;
        let mut reasons: Vec<Reason> = recalled.iter().map(|server| Reason::starting_tools(server)).collect();
        reasons.extend(unknown.iter().map(|server| Reason::unknown_tools(server)));
        let model = session.facts().settings.model.slug.clone();
        if is_exact {
            match Exact::for_model(&model) {
                Ok(exact) => next.report.count(&next.request.body(), &exact),
                Err(error) => reasons.push(Reason::not_counted(&error.to_string())),
            }
        }
        let shown = self.look_report(&session, &next, &reasons, is_in_turn);
        self.keep(&session, next, shown.left_out.clone());
        Ok(shown)
    }

    /// Keeps a request for questions about its rows.
    fn keep(&self, session: &Session, next: TurnPreview, left_out: Vec<LeftOut>) {
        let (model, wire) = (session.facts().settings.model.slug.clone(), session.wire_api());
        self.keep_looked(Looked { model, wire, request: next.request, report: next.report, left_out });
    }

    fn keep_looked(&self, looked: Looked) {
        *self.looked.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(looked));
    }

    /// The report of a request as the client shows it.
    fn look_report(&self, session: &Session, next: &TurnPreview, reasons: &[Reason], is_in_turn: bool) -> LookReport {
        let report = &next.report;
        let model = &session.facts().settings.model;
        let price = self.price(&model.slug);
        let panel = ContextPanel::of(report, &next.request, session.reading_order());
        LookReport {
            facts: Vec::new(),
            model: model.slug.clone(),
            pack: session.pack().name.clone(),
            purpose: request::first_line(next),
            size: size(panel.bytes(), panel.tokens(), panel.tokens_kept(), price.as_ref()),
            counted_by: report.is_counted().then(|| report.counted_by.to_string()),
            window: model.effective_window(),
            fresh: fresh(&panel, price.as_ref()),
            turn: self.turn_price(&panel, report.continuity.as_ref(), price.as_ref()),
            groups: self.groups(&panel, price.as_ref()),
            left_out: self.left_out(report),
            notes: self.notes(next, reasons, is_in_turn),
            outlook: outlook(report.continuity.as_ref(), price.as_ref()),
        }
    }

    /// What a turn that begins with a request will probably cost.
    fn turn_price(
        &self,
        panel: &ContextPanel,
        continuity: Option<&Continuity>,
        price: Option<&PriceEntry>,
    ) -> Option<TurnPrice> {
        let file = self.file.as_ref()?;
        let len = std::fs::metadata(file).ok()?.len();
        let mut known = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let turns = match *known {
            Some((at, turns)) if at == len => turns,
            _ => {
                let counts = token_counts(file).ok()?;
                let turns = PastTurns::of(&RequestFigures::estimated(&counts, Duration::ZERO));
                *known = Some((len, turns));
                turns
            }
        };
        let next = NextSize {
            tokens: panel.tokens(),
            tokens_kept: panel.tokens_kept(),
            is_extending: continuity.is_some_and(|it| it.broken.is_none() && !it.is_shortened),
        };
        let TurnForecast { tokens, cost, n_turns } = turns.forecast(next, price)?;
        Some(TurnPrice { tokens, cost, n_turns })
    }

    /// The groups of a request, the largest first.
    fn groups(&self, panel: &ContextPanel, price: Option<&PriceEntry>) -> Vec<LookGroup> {
        let mut groups: Vec<&PanelGroup> = panel.groups.iter().collect();
        groups.sort_by_key(|group| (group.kind == OverviewKind::Notation, std::cmp::Reverse(group.tokens())));
        groups.into_iter().map(|group| self.group(group, price)).collect()
    }

    fn group(&self, group: &PanelGroup, price: Option<&PriceEntry>) -> LookGroup {
        LookGroup {
            name: group.kind.name().to_owned(),
            size: size(group.bytes(), group.tokens(), group.tokens_kept(), price),
            rows: group.rows.iter().map(|row| self.row(row, price)).collect(),
        }
    }

    fn row(&self, row: &PanelRow, price: Option<&PriceEntry>) -> LookRow {
        let name = row.part.strip_prefix("tools/").unwrap_or(&row.part);
        let part = match (&row.role, row.item) {
            (Some(role), Some(item)) if **role != *row.part => format!("{item} {name} ({role})"),
            (_, Some(item)) => format!("{item} {name}"),
            _ => name.to_owned(),
        };
        let lines = row.lines.as_ref().map_or_else(String::new, |lines| match lines.start() == lines.end() {
            true => format!(":{}", lines.start()),
            false => format!(":{}-{}", lines.start(), lines.end()),
        });
        let origin = match row.source {
            "file" | "skill" => format!("{}{lines}", self.path(&row.origin)),
            "wire" => "notation".to_owned(),
            source if row.origin.is_empty() => source.to_owned(),
            source => {
                // The path of a tool's file begins with the name of the group.
                let origin = row.origin.strip_prefix("tools/").unwrap_or(&row.origin);
                format!("{source} {origin}")
            }
        };
        LookRow {
            part,
            origin,
            whose: whose(row.whose),
            size: size(row.bytes, row.tokens, row.tokens_kept, price),
            start: row.start,
            status: row.status.as_str().to_owned(),
        }
    }

    fn path(&self, path: &str) -> String {
        fit::relative(path, &self.folder, fit::user_folder().as_deref())
    }

    /// What the model does not see: what was left out first, then files that were looked for.
    fn left_out(&self, report: &Report) -> Vec<LeftOut> {
        let omitted = report.omissions.iter().map(|omission| LeftOut {
            what: self.path(&omission.what),
            why: why_text(&omission.why),
            is_loss: omission.why.is_loss() || matches!(omission.why, Why::Untrusted),
        });
        let mut all: Vec<LeftOut> = omitted.collect();
        for candidate in report.candidates.iter().filter(|candidate| candidate.fate != Fate::Read) {
            let what = self.path(&candidate.path);
            if !all.iter().any(|known| known.what == what) {
                all.push(LeftOut { what, why: fate_text(&candidate.fate), is_loss: false });
            }
        }
        all.sort_by_key(|left_out| !left_out.is_loss);
        all
    }

    fn notes(&self, next: &TurnPreview, reasons: &[Reason], is_in_turn: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if is_in_turn {
            notes
                .push("a turn is running: what the model and its tools still say comes before your message".to_owned());
        }
        notes.extend(next.plan.as_ref().map(request::plan_line));
        notes.extend(next.report.changed_files.iter().map(|file| self.path(&file.to_string())));
        for file in next.report.files.iter().filter(|file| !file.hidden.is_empty()) {
            notes.push(format!("{}:{}: seen by the model and not by you", self.path(&file.path), file.hidden[0]));
        }
        notes.extend(reasons.iter().filter(|reason| reason.is_about_content()).map(|reason| reason.why.clone()));
        notes.extend(next.reasons.iter().chain(&next.unasked).cloned());
        notes.extend(next.warnings.iter().cloned());
        notes
    }

    fn looked(&self) -> Result<Arc<Looked>, String> {
        let looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        looked.ok_or_else(|| "no request was looked at yet; /context shows the next one".to_owned())
    }

    fn why(&self, byte: usize) -> Result<String, String> {
        let looked = self.looked()?;
        let session = (self.session_id.as_str(), self.file.as_deref());
        let body = looked.request.body();
        let request = Inspected::of_body("next", &looked.model, looked.wire, &body, &looked.report);
        let asked = AskedRequest { home: &self.home, request: &request, report: &looked.report, session };
        asked.why_row(byte).map_err(|failure| failure.text().to_owned())
    }

    fn why_not(&self, at: usize) -> Result<String, String> {
        let looked = self.looked()?;
        let left_out = looked.left_out.get(at).ok_or("nothing like that is left out any more")?;
        let mut text = format!("{}\nnot in the request: {}\n", left_out.what, left_out.why);
        let absences = pellucid_answers::why::Absences::of(&looked.report);
        let absence = absences.all.iter().find(|absence| self.path(&absence.what) == left_out.what);
        for idea in absence.iter().flat_map(|absence| &absence.reason.ideas) {
            text += &format!("  what may change that: {idea}\n");
        }
        Ok(text)
    }

    fn preview(&self, copy: SessionCopy, draft: LookDraft) -> Result<RequestPreview, String> {
        let coming = copy.next(draft.change.map(|change| *change), &draft.inputs)?;
        let body = coming.next.request.body();
        let last = self.last_body();
        let wire = coming.session.wire_api();
        let since = match &last {
            Some(last) => format!(", {} in the last request", number(last.len())),
            None => String::new(),
        };
        let heading = format!("{wire:?} request of {} bytes{since} ── r raw or tree, w why", number(body.len()));
        self.keep(&coming.session, coming.next, Vec::new());
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(RequestPreview { heading, body: text(body), last: last.map(text) })
    }

    /// The body of the last request that the session sent, rebuilt from its record.
    fn last_body(&self) -> Option<Vec<u8>> {
        replay::rebuild(&self.home, &self.stored().ok()?, WantedRequest::Last).ok().map(|rebuilt| rebuilt.body)
    }

    /// The session file, once there is one.
    fn stored(&self) -> Result<SessionFile, String> {
        let file = self.file.as_ref().filter(|file| file.is_file()).ok_or("no request was sent yet")?;
        read::open(file).map_err(|error| error.to_string())
    }

    fn packs(&self) -> Result<String, String> {
        let used = self.how.shared.pack.clone().unwrap_or_default();
        let used = if used.is_empty() { "codex" } else { used.as_str() };
        let text = packs::all_text(used, PACK_COLUMNS_MIN, |pack| self.under_pack(pack));
        text.map(|text| format!("{text}\n/pack NAME shows every row under a pack\n"))
            .map_err(|refusal| refusal.text().to_owned())
    }

    /// The first request of a new session under a pack.
    fn under_pack(&self, pack: &str) -> Result<Coming, RequestRefusal> {
        let _kept = style::keep_lines();
        let HowToOpen { shared, turn, policy } = &self.how;
        let shared = crate::args::shared::Shared { pack: Some(pack.to_owned()), ..shared.clone() };
        request::first_with(Start::in_terminal(&shared, &turn.start, *policy)?, turn, None)
    }
}

fn page(title: &str, text: Result<String, String>) -> LookAnswer {
    let text = text.unwrap_or_else(|why| why);
    LookAnswer::Page { title: title.to_owned(), lines: text.lines().map(str::to_owned).collect() }
}

fn size(bytes: usize, tokens: usize, tokens_kept: usize, price: Option<&PriceEntry>) -> LookSize {
    LookSize { bytes, tokens, tokens_kept, cost: price.map(|price| panel::cost(price, tokens, tokens_kept)) }
}

/// The sizes without what was said before the last message.
fn fresh(panel: &ContextPanel, price: Option<&PriceEntry>) -> LookSize {
    let last = panel.groups.iter().flat_map(|group| &group.rows).filter_map(|row| row.item).max();
    let is_earlier = |group: &PanelGroup, row: &PanelRow| group.kind == OverviewKind::Conversation && row.item < last;
    let rows = panel.groups.iter().flat_map(|group| group.rows.iter().filter(move |row| !is_earlier(group, row)));
    let (bytes, tokens) = rows.fold((0, 0), |(bytes, tokens), row| (bytes + row.bytes, tokens + row.tokens));
    size(bytes, tokens, 0, price)
}

fn outlook(continuity: Option<&Continuity>, price: Option<&PriceEntry>) -> CacheOutlook {
    let Some(continuity) = continuity else {
        return CacheOutlook::First;
    };
    let Some(broken) = &continuity.broken else {
        return if continuity.is_shortened { CacheOutlook::Shortens } else { CacheOutlook::Extends };
    };
    CacheOutlook::Breaks(Box::new(CacheDivergence {
        byte: broken.first_byte,
        part: broken.part.to_string(),
        cause: broken.cause.as_str().to_owned(),
        what: what_changed(continuity, broken),
        changes: continuity.changes.iter().map(change_text).collect(),
        tokens: broken.tokens_rebilled,
        cost: price.and_then(|price| again(price, broken.tokens_rebilled)),
        advice: advice(broken.cause).to_owned(),
    }))
}

/// The part that the difference is in, what was done to it, and where it came from.
fn what_changed(continuity: &Continuity, broken: &Break) -> String {
    let change = continuity.changes.iter().find(|change| *change.part == *broken.part);
    let how = change.map_or_else(String::new, |change| format!(" {}", change.how));
    let source = change.map_or(&broken.source, |change| &change.source);
    let from = if source.is_empty() { String::new() } else { format!(", from {source}") };
    format!("{}{how}{from}", broken.part)
}

/// What tokens cost more if they are not read from the provider's cache.
fn again(price: &PriceEntry, tokens: usize) -> Option<Money> {
    let tokens = i64::try_from(tokens).unwrap_or(i64::MAX);
    let full = price.cost(&UsageSplit { uncached: tokens, ..UsageSplit::default() });
    full.minus(&price.cost(&UsageSplit { cached_read: tokens, ..UsageSplit::default() }))
}

fn whose(origin: OverviewOrigin) -> Whose {
    match origin {
        OverviewOrigin::Yours => Whose::Yours,
        OverviewOrigin::Pack => Whose::Pack,
        OverviewOrigin::Model => Whose::Model,
        OverviewOrigin::Tool => Whose::Tool,
        OverviewOrigin::Session => Whose::Session,
    }
}

#[cfg(test)]
pub mod tests;
