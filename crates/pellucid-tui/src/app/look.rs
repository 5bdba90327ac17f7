//! What the model will see, in the client: when it is asked for, where it is shown, and what was paid.

use std::collections::BTreeMap;
use std::time::Duration;

use pellucid_protocol::event::EventMessage;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::price::Money;
use pellucid_protocol::usage::UsageSplit;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::App;
use super::Effect;
use super::messages::inputs;
use super::pages::OpenPage;
use super::status::short;
use crate::composer::drawing::Drawn;
use crate::host::HostCall;
use crate::key::Key;
use crate::keymap::table::Action;
use crate::look::dock;
use crate::look::outlook::Outlook;
use crate::look::preview::PreviewOutcome;
use crate::look::preview::PreviewPage;
use crate::look::report::LookAnswer;
use crate::look::report::LookCall;
use crate::look::report::LookDraft;
use crate::look::report::LookReport;
use crate::look::rows::RowsOutcome;
use crate::look::rows::RowsPage;
use crate::pager::Pager;
use crate::text::width::shortened;

/// The items of the last row that need to know what requests cost.
const COST_ITEMS: [&str; 2] = ["cost", "cost-turn"];

/// What the client knows of the next request and of what was paid.
#[derive(Debug, Default)]
pub(super) struct LookState {
    outlook: Outlook,
    /// Whether the panel above the composer is open.
    has_dock: bool,
    paid: Paid,
    /// What the model was shown of files, while the list of files is open.
    pub(super) seen: Option<BTreeMap<String, String>>,
}

/// What was paid in this session.
#[derive(Debug, Default)]
struct Paid {
    session: Sum,
    turn: Sum,
    /// The tokens of the last request, as the provider counted them.
    last: Option<UsageSplit>,
    /// The tokens of the last request before it was sent, until the provider's figure is there.
    expected: Option<usize>,
    /// The tokens of the last request that was expected: before it was sent, and as the provider counted them.
    compared: Option<(usize, i64)>,
}

/// A sum of money, as far as prices are known.
#[derive(Debug, Default)]
struct Sum {
    money: Option<Money>,
    is_unknown: bool,
}

impl Sum {
    fn add(&mut self, money: Option<Money>) {
        let Some(money) = money else {
            self.is_unknown = true;
            return;
        };
        self.money = match self.money.take() {
            None => Some(money),
            Some(sum) => match sum.plus(&money) {
                Some(sum) => Some(sum),
                None => {
                    self.is_unknown = true;
                    Some(sum)
                }
            },
        };
    }

    fn text(&self) -> String {
        match (&self.money, self.is_unknown) {
            (Some(money), false) => money.to_string(),
            (Some(money), true) => format!("more than {money}"),
            (None, true) => "price unknown".to_owned(),
            (None, false) => "no cost yet".to_owned(),
        }
    }
}

impl LookState {
    /// What the next request would be made of, as far as it is known.
    pub(super) fn report(&self) -> Option<&LookReport> {
        self.outlook.report()
    }

    /// The history of the session changed outside of a turn.
    pub(super) fn history_changed(&mut self, now: Duration) {
        self.outlook.session_changed(now, true);
    }

    /// The state for another session. The panel stays where it is.
    pub(super) fn renewed(&self) -> Self {
        Self { outlook: self.outlook.of_other_session(), has_dock: self.has_dock, paid: Paid::default(), seen: None }
    }
}

fn ask(call: LookCall) -> Effect {
    Effect::Ask(HostCall::Look(call))
}

impl App {
    /// What Enter would send.
    fn look_draft(&self) -> LookDraft {
        let context = self.settings.context(self.session.is_working());
        let message = self.composer.would_send(&context);
        let change = match self.mode_change() {
            Operation::OverrideTurnContext(change) if self.session.is_mode_due => Some(Box::new(change)),
            _ => None,
        };
        LookDraft { inputs: message.as_ref().map(inputs).unwrap_or_default(), change }
    }

    /// Whether the report is in view, so that it has to follow what is typed.
    fn is_looking(&self) -> bool {
        match &self.page {
            Some(OpenPage::Context(page)) => page.of_pack.is_none(),
            Some(_) => false,
            None => self.session.look.has_dock,
        }
    }

    /// Opens the panel above the composer; with the panel open, the page with every row.
    pub(super) fn step_context(&mut self) {
        if self.session.look.has_dock {
            self.open_rows();
        } else {
            self.session.look.has_dock = true;
            self.session.look.outlook.draft_changed(self.now);
        }
    }

    /// Opens the page with every row of the next request.
    pub(super) fn open_rows(&mut self) {
        self.page = Some(OpenPage::Context(RowsPage::default()));
        self.session.look.outlook.draft_changed(self.now);
    }

    /// Asks for the bytes of the next request.
    pub(super) fn ask_preview(&mut self, effects: &mut Vec<Effect>) {
        effects.push(ask(LookCall::Preview(self.look_draft())));
    }

    /// Asks for what came of the provider's cache.
    pub(super) fn ask_cache(effects: &mut Vec<Effect>) {
        effects.push(ask(LookCall::Cache));
    }

    /// Asks for the same facts under every pack, or for the rows under one.
    pub(super) fn ask_packs(words: &str, effects: &mut Vec<Effect>) {
        effects.push(ask(match words.trim() {
            "" => LookCall::Packs,
            pack => LookCall::Pack(pack.to_owned()),
        }));
    }

    /// After a key or a paste: the draft may have changed.
    pub(super) fn look_after_key(&mut self, effects: &mut Vec<Effect>) {
        self.forget_seen_files();
        let is_change = |effect: &Effect| {
            matches!(effect, Effect::Submit(Operation::OverrideTurnContext(_) | Operation::ThreadRollback { .. }))
        };
        let is_sent = effects.iter().any(|effect| matches!(effect, Effect::Submit(Operation::UserInput { .. })));
        if is_sent {
            let look = &mut self.session.look;
            look.paid.expected = look.outlook.report().map(|report| report.size.tokens);
            look.outlook.sent();
        } else if effects.iter().any(is_change) {
            self.session.look.outlook.session_changed(self.now, true);
        } else if !self.composer.draft().is_empty() || self.session.look.outlook.report().is_some() {
            self.session.look.outlook.draft_changed(self.now);
        }
        self.look_if_open(effects);
    }

    /// After an event of the session.
    pub(super) fn look_after_event(&mut self, event: &EventMessage, effects: &mut Vec<Effect>) {
        let look = &mut self.session.look;
        match event {
            EventMessage::TaskStarted { .. } => {
                look.paid.turn = Sum::default();
                look.outlook.session_changed(self.now, false);
            }
            EventMessage::ContextUsage { request, .. } => {
                look.paid.last = Some(*request);
                let parts = [request.uncached, request.cache_write.unwrap_or(0)];
                let counted = parts.into_iter().fold(request.cached_read, i64::saturating_add);
                look.paid.compared =
                    look.paid.expected.take().map(|expected| (expected, counted)).or(look.paid.compared);
                if self.has_cost_items() {
                    let model = self.session.configured.as_ref().map(|it| it.model.clone()).unwrap_or_default();
                    effects.push(ask(LookCall::Charge(model, *request)));
                }
            }
            EventMessage::TaskComplete { .. }
            | EventMessage::TurnAborted { .. }
            | EventMessage::ThreadRolledBack { .. }
            | EventMessage::ContextCompacted
            | EventMessage::TokenCount { .. }
            | EventMessage::ItemCompleted { .. }
            | EventMessage::ExecCommandEnd(_)
            | EventMessage::McpStartupComplete { .. } => look.outlook.session_changed(self.now, false),
            EventMessage::SessionConfigured(_) => {
                if self.has_cost_items() {
                    effects.push(ask(LookCall::Spent));
                }
            }
            _ => return,
        }
        self.look_if_open(effects);
    }

    /// Asks what the next request would be, if a panel shows it.
    fn look_if_open(&mut self, effects: &mut Vec<Effect>) {
        if self.is_looking() && self.session.configured.is_some() {
            self.look_now(effects);
        }
    }

    fn look_now(&mut self, effects: &mut Vec<Effect>) {
        let draft = self.look_draft();
        let outlook = &mut self.session.look.outlook;
        if outlook.asks(&draft, self.now) {
            effects.push(ask(LookCall::Report { draft, is_exact: outlook.is_exact }));
        }
    }

    /// When the client asks what the next request would be, if no key comes before.
    pub(super) fn look_tick(&self) -> Option<Duration> {
        let is_closed = self.page.is_none() && !self.session.is_working() && !self.is_looking();
        self.session.look.outlook.due().filter(|_| is_closed && self.session.configured.is_some())
    }

    /// The moment of [`App::look_tick`] has come, or another one.
    pub(super) fn look_due(&mut self, now: Duration) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.look_tick().is_some_and(|due| due <= now) {
            self.look_now(&mut effects);
        }
        effects
    }

    /// Takes an answer about the next request.
    pub(super) fn looked(&mut self, answer: LookAnswer) -> Vec<Effect> {
        let mut effects = Vec::new();
        let columns = usize::from(self.size.columns);
        match answer {
            LookAnswer::Report(report) => {
                if self.session.look.outlook.answered(report) {
                    self.look_if_open(&mut effects);
                }
            }
            LookAnswer::Pack(Ok(report)) => {
                self.open_above(OpenPage::Context(RowsPage::of_pack(report)));
            }
            LookAnswer::Page { title, lines } => {
                let lines = lines.iter().map(|line| crate::text::clean::line(line).into_owned().into()).collect();
                self.open_above(OpenPage::Text(Pager::of_text(title, lines)));
            }
            LookAnswer::Preview(Ok(preview)) => {
                self.open_above(OpenPage::Preview(PreviewPage::new(*preview, columns, &self.palette)));
            }
            LookAnswer::Preview(Err(why)) | LookAnswer::Pack(Err(why)) => self.say_error(&why),
            LookAnswer::Sent(view) => self.time_arrived(view),
            LookAnswer::Charge(money) => {
                self.session.look.paid.turn.add(money.clone());
                self.session.look.paid.session.add(money);
            }
            LookAnswer::Spent(money) => {
                if money.is_some() {
                    self.session.look.paid.session.add(money);
                }
            }
            LookAnswer::SeenFiles(seen) => self.files_seen(seen),
        }
        effects
    }

    /// Opens a page; leaving it leads back to the page with the rows or the bytes that it was opened from.
    pub(super) fn open_above(&mut self, page: OpenPage) {
        self.page = Some(match self.page.take() {
            Some(
                below @ (OpenPage::Context(_) | OpenPage::Preview(_) | OpenPage::Time(_) | OpenPage::Above { .. }),
            ) => OpenPage::Above { page: Box::new(page), below: Box::new(below) },
            _ => page,
        });
    }

    /// Takes a key on a page that was opened from another one.
    pub(super) fn above_key(&mut self, key: Key) -> Vec<Effect> {
        let Some(OpenPage::Above { page, below }) = self.page.take() else { return Vec::new() };
        self.page = Some(*page);
        let effects = self.page_key(key);
        match self.page.take() {
            Some(page) => self.page = Some(OpenPage::Above { page: Box::new(page), below }),
            None => {
                self.page = Some(*below);
                self.refresh_page();
            }
        }
        effects
    }

    /// Takes pasted text on a page that was opened from another one.
    pub(super) fn above_paste(&mut self, text: &str) -> bool {
        let Some(OpenPage::Above { page, below }) = self.page.take() else { return false };
        self.page = Some(*page);
        let is_taken = self.page_paste(text);
        if let Some(page) = self.page.take() {
            self.page = Some(OpenPage::Above { page: Box::new(page), below });
        }
        is_taken
    }

    /// Draws a page that was opened from another one.
    pub(super) fn above_view(&mut self, rows: u16) -> Drawn {
        let Some(OpenPage::Above { page, below }) = self.page.take() else { return Drawn::default() };
        self.page = Some(*page);
        let drawn = self.page_view(rows);
        if let Some(page) = self.page.take() {
            self.page = Some(OpenPage::Above { page: Box::new(page), below });
        }
        drawn
    }

    /// Takes a key on the page with every row.
    pub(super) fn rows_key(&mut self, outcome: RowsOutcome) -> Vec<Effect> {
        let mut effects = Vec::new();
        match outcome {
            RowsOutcome::Open => {}
            RowsOutcome::Left => {
                let is_of_pack = matches!(&self.page, Some(OpenPage::Context(page)) if page.of_pack.is_some());
                self.page = None;
                self.session.look.has_dock &= is_of_pack;
            }
            RowsOutcome::Why(byte) => effects.push(ask(LookCall::Why(byte))),
            RowsOutcome::WhyNot(at) => effects.push(ask(LookCall::WhyNot(at))),
            RowsOutcome::Preview => self.ask_preview(&mut effects),
            RowsOutcome::Cache => Self::ask_cache(&mut effects),
            RowsOutcome::Packs => Self::ask_packs("", &mut effects),
            RowsOutcome::Exact => {
                let outlook = &mut self.session.look.outlook;
                outlook.is_exact = !outlook.is_exact;
                outlook.session_changed(self.now, true);
            }
        }
        effects
    }

    /// Takes a key on the page with the bytes.
    pub(super) fn preview_key(&mut self, outcome: PreviewOutcome) -> Vec<Effect> {
        match outcome {
            PreviewOutcome::Open => Vec::new(),
            PreviewOutcome::Left => {
                self.page = None;
                Vec::new()
            }
            PreviewOutcome::Why(byte) => vec![ask(LookCall::Why(byte))],
        }
    }

    /// Draws the page with every row.
    pub(super) fn rows_view(&mut self, rows: u16) -> Drawn {
        let size = (usize::from(self.size.columns), usize::from(rows));
        let keys = self.look_keys(&[
            (Action::LookOpen, "opens"),
            (Action::LookWhy, "why"),
            (Action::LookPreview, "bytes"),
            (Action::LookExact, "exact"),
            (Action::LookCache, "cache"),
            (Action::LookPacks, "packs"),
            (Action::LookLeave, "leaves"),
        ]);
        let palette = self.palette;
        let outlook = &self.session.look.outlook;
        let Some(OpenPage::Context(page)) = &mut self.page else { return Drawn::default() };
        let of_pack = page.of_pack.take();
        let report: Result<&LookReport, &str> = match (of_pack.as_deref(), outlook.report(), outlook.refusal()) {
            (Some(report), ..) | (None, Some(report), _) => Ok(report),
            (None, None, Some(why)) => Err(why),
            (None, None, None) => Err("the session is working on the answer"),
        };
        let title = if of_pack.is_some() { "first request of a new session" } else { "next request" };
        let lines = page.draw_over(title, report, size, &keys, &palette);
        page.of_pack = of_pack;
        Drawn { lines, cursor: None }
    }

    /// The rows of the panel above the composer.
    pub(super) fn dock_rows(&self, rows_max: usize) -> Vec<Line<'static>> {
        let look = &self.session.look;
        if !look.has_dock || self.asking.is_open() || self.menu.is_some() || self.field.is_some() {
            return Vec::new();
        }
        let width = usize::from(self.size.columns);
        let words = match (look.outlook.report(), look.outlook.refusal()) {
            (Some(report), _) => {
                let keys = self.look_keys(&[(Action::Context, "every row"), (Action::Preview, "bytes")]);
                let mut lines = dock::dock(report, width, rows_max, &keys, &self.palette);
                if let Some(line) = self.compared_line().filter(|_| lines.len() < rows_max) {
                    lines.insert(lines.len() - 1, line);
                }
                return lines;
            }
            (None, Some(why)) => why,
            (None, None) => "the session is working on the answer",
        };
        let title = Line::styled("── next request ".to_owned(), self.palette.dim());
        let words = shortened(&format!(" {words}"), width);
        vec![title, Line::from(Span::styled(words, self.palette.dim()))]
    }

    /// How the request with the person's last message was counted before it was sent, and by the provider.
    fn compared_line(&self) -> Option<Line<'static>> {
        let (expected, counted) = self.session.look.paid.compared?;
        let expected = i64::try_from(expected).unwrap_or(i64::MAX).max(1);
        let thousandths = counted.saturating_sub(expected).saturating_mul(1000) / expected;
        let (sign, off) = (if thousandths < 0 { "−" } else { "+" }, thousandths.abs());
        let words = format!(
            " the request with your message: {} tokens expected, {} counted by the provider ({sign}{}.{} %)",
            short(expected),
            short(counted),
            off / 10,
            off % 10
        );
        Some(Line::from(Span::styled(shortened(&words, usize::from(self.size.columns)), self.palette.dim())))
    }

    pub(super) fn look_keys(&self, actions: &[(Action, &str)]) -> String {
        let one = |(action, word): &(Action, &str)| {
            let key = self.settings.keymap.keys(*action).first().map(ToString::to_string)?;
            Some(format!("{key} {word}"))
        };
        actions.iter().filter_map(one).collect::<Vec<_>>().join(" · ")
    }

    /// What the last row says of the next request, if that breaks the cache.
    pub(super) fn cache_alarm(&self) -> Option<String> {
        self.session.look.outlook.alarm().filter(|_| !self.session.is_working() && !self.session.look.has_dock)
    }

    /// What the last row says of the next request.
    pub(super) fn request_meter(&self) -> Option<String> {
        let report = self.session.look.outlook.report()?;
        (!self.session.is_working() && !self.session.look.has_dock).then(|| dock::meter(report))
    }

    fn has_cost_items(&self) -> bool {
        let items = self.settings.status_line.as_deref().unwrap_or_default();
        items.iter().any(|item| COST_ITEMS.contains(&item.as_str()))
    }

    /// The value of an item of the last row about money and tokens.
    pub(super) fn paid_item(&self, item: &str) -> Option<String> {
        let paid = &self.session.look.paid;
        match item {
            "cost" => Some(paid.session.text()),
            "cost-turn" => Some(format!("{} this turn", paid.turn.text())),
            "cached" => {
                let last = paid.last.as_ref()?;
                let all = last.cached_read + last.uncached + last.cache_write.unwrap_or(0);
                Some(format!("{}% cached", (last.cached_read * 100 + all.max(1) / 2) / all.max(1)))
            }
            "context" => {
                let usage = self.session.usage.as_ref()?;
                let used = short(usage.last_token_usage.total_tokens);
                Some(match usage.model_context_window {
                    Some(window) => format!("{used} of {} tokens", short(window)),
                    None => format!("{used} tokens"),
                })
            }
            _ => None,
        }
    }
}
