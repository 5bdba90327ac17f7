//! Making a history shorter: who summarises it, what takes its place, and what is recorded of it.

use pellucid_engine::assemble;
use pellucid_engine::assemble::Context;
use pellucid_engine::assemble::LayoutMessage;
use pellucid_engine::boundary;
use pellucid_engine::compaction::Compaction;
use pellucid_engine::compaction::CompactionError;
use pellucid_engine::compaction::Fit;
use pellucid_engine::compaction::Region;
use pellucid_engine::compaction::local_summary;
use pellucid_engine::continuity::Cause;
use pellucid_engine::continuity::Continuity;
use pellucid_engine::digest::Digest;
use pellucid_engine::digest::RequestDigest;
use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::Origin;
use pellucid_engine::loss::Loss;
use pellucid_engine::pack::CompactionRules;
use pellucid_engine::pack::CompactionStrategy;
use pellucid_engine::pack::Pack;
use pellucid_engine::report::Report;
use pellucid_engine::request::Frame;
use pellucid_engine::request::Request;
use pellucid_engine::turn::CompactionEffect;
use pellucid_engine::turn::SummarisedBy;
use pellucid_engine::turn::SummaryModel;
use pellucid_engine::turn::Takeover;
use pellucid_engine::window::settings::WindowKeys;
use pellucid_engine::window::summary::INSTRUCTIONS;
use pellucid_engine::window::summary::output_tokens;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::item::Item;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::settings::SummaryInput;
use pellucid_protocol::settings::SummaryRequests;
use pellucid_store::requests::entry::Purpose;
use serde_json::Value;
use serde_json::json;

use super::Session;
use super::conversation::Conversation;
use crate::habits::Happened;
use crate::prepare::configured_window;
use crate::sent::Extent;

/// What is known of the history's summaries.
#[derive(Debug, Clone, Default)]
pub(super) struct Shortening {
    /// A summary that is not recorded yet.
    pending: Option<Pending>,
    /// The running summary of turns that were dropped, for layouts that drop them.
    running: Option<String>,
    /// How many messages of the layout the history begins with.
    n_context: usize,
    /// How many summaries this process has made of the history.
    n_summaries: usize,
    /// How many messages of the history these summaries stand for.
    cursor: usize,
}

/// Why dropped turns have no summary.
const NO_SUMMARY: &str = "no summary came, so the dropped turns are lost";
const NOT_SUMMARISED: &str = "the settings ask for no summary, so the dropped turns are lost";

/// A summary that is not recorded yet.
#[derive(Debug, Clone)]
struct Pending {
    message: String,
    /// The whole history, where the summary's text alone does not give it.
    replacement: Option<Vec<Item>>,
    /// The history before and after a summary of ours, where requests are recorded.
    rebuilt: Option<(Vec<Item>, Vec<Item>)>,
}

impl Shortening {
    /// The state of a session whose history begins with so many messages of the layout.
    pub(super) fn new(n_context: usize) -> Self {
        Self { n_context, ..Self::default() }
    }

    /// Whether a summary is not recorded yet.
    pub(super) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Puts a provider's items in place of the history.
    fn replace(&mut self, compaction: Compaction, items: Vec<Item>, conversation: &mut Conversation, context: Context) {
        compaction.rebuild_from(conversation.transcript_mut(), items, context);
        let replacement = Some(conversation.items_to_keep());
        self.pending = Some(Pending { message: String::new(), replacement, rebuilt: None });
    }

    /// Puts a summary in place of the history.
    fn rebuild(
        &mut self,
        compaction: Compaction,
        conversation: &mut Conversation,
        context: Context,
        pack: &Pack,
        is_recording: bool,
    ) {
        if compaction.is_by_window() {
            self.n_context = context.messages.len();
            self.running = compaction.rebuild_window(conversation.transcript_mut(), context, pack);
            let message = self.running.clone().unwrap_or_default();
            let replacement = Some(conversation.items_to_keep());
            self.pending = Some(Pending { message, replacement, rebuilt: None });
            return;
        }
        let keeps_items = compaction.keeps_items();
        let before = is_recording.then(|| conversation.items());
        let message = compaction.rebuild(conversation.transcript_mut(), pack, context);
        self.pending = Some(if keeps_items {
            // The text of the summary alone would mean that no item stays.
            Pending { message, replacement: Some(conversation.items_to_keep()), rebuilt: None }
        } else {
            let rebuilt = before.map(|before| (before, conversation.items()));
            Pending { message, replacement: None, rebuilt }
        });
    }
}

/// How many turns a history has.
fn n_turns(items: &[Item]) -> usize {
    items.iter().filter(|item| boundary::begins_user_turn(item)).count()
}

/// A request for a summary, with its report.
#[derive(Debug)]
pub(crate) struct SummaryRequest {
    pub frame: Frame,
    pub request: Request,
    pub report: Report,
}

impl Session {
    /// How the history is made shorter: as the configuration sets it, else as the pack does.
    pub(crate) fn compaction_rules(&self) -> CompactionRules {
        let (own, given) = (self.setup.pack.layout.compaction, &self.setup.sources.config.compaction);
        CompactionRules {
            fallback: given.fallback.or(own.fallback),
            keep_turns: given.keep_turns.unwrap_or(own.keep_turns),
            saving_min: given.saving_min.or(own.saving_min),
            overflow_calls_max: given.overflow_calls_max.or(own.overflow_calls_max),
            input: given.input.or(own.input),
            requests: given.requests.or(own.requests),
            keep_skills: given.keep_skills.unwrap_or(own.keep_skills),
            window: self.window_keys(),
            ..own
        }
    }

    /// What is set for the window: by a caller, else by the configuration, else by the pack.
    fn window_keys(&self) -> WindowKeys {
        let configured = configured_window(&self.setup.sources.config);
        let of_caller = self.setup.gathered.facts.system.injection.window;
        of_caller.over(configured).over(self.setup.pack.layout.compaction.window)
    }

    /// How many tokens a summary of dropped turns has at most.
    pub(super) fn window_summary_tokens(&self) -> i64 {
        output_tokens(self.window_keys().summary_max_output_tokens)
    }

    /// Puts a summary that is made without a model in place of the history.
    pub(crate) fn rebuild_locally(&mut self, compaction: Compaction, facts: &Facts) -> CompactionEffect {
        let before: Vec<Item> = self.conversation.items();
        let summary = local_summary(&before, &self.setup.pack);
        self.note(&Item::text("assistant", summary), &Origin::Layout);
        self.rebuild_by("rule", &before, compaction, facts)
    }

    /// Reports what a summary did to clients that ask for it.
    fn report_compaction(&mut self, by: &str, before: &[Item], rebuilt: &CompactionEffect, made: Value) {
        if !self.setup.context_events.are_wanted() {
            return;
        }
        let after: Vec<Item> = self.conversation.items();
        let Loss { paths, identifiers, open_tasks, constraints } = Loss::of(before, &after);
        let mut account = json!({
            "run_id": self.setup.session_id,
            "turn_id": self.notices.turn(),
            "summarised_by": by,
            "tokens_before": rebuilt.tokens_before,
            "tokens_after": rebuilt.tokens_after,
            "items_before": before.len(),
            "items_after": after.len(),
            "items_left_out": rebuilt.n_dropped,
            "lost": {
                "paths": paths,
                "identifiers": identifiers,
                "open_tasks": open_tasks,
                "constraints": constraints,
            },
        });
        if let (Value::Object(account), Value::Object(made)) = (&mut account, made) {
            account.extend(made.into_iter().filter(|(_, value)| !value.is_null()));
            account.retain(|_, value| !value.is_null());
        }
        self.notices.send(EventMessage::ContextCompaction { account });
    }

    /// Why a summary is refused, if it is. Only layouts and settings that check summaries refuse one.
    pub(crate) fn refusal(&self, compaction: &Compaction, reply: &[Item]) -> Option<CompactionError> {
        let is_looked_at = self.compaction_rules().is_checked() && !compaction.is_by_window();
        is_looked_at.then(|| compaction.refusal(reply)).flatten()
    }

    /// What surrounds the items in the request for a summary.
    pub(crate) fn summary_frame(&self, facts: &Facts) -> Frame {
        let pack = &self.setup.pack;
        match pack.layout.compaction.strategy {
            CompactionStrategy::Summarise => {
                Frame::for_summary(pack, facts, self.conversation.instructions(), &self.setup.wire(None))
            }
            CompactionStrategy::Window => {
                let instructions = pack.template(INSTRUCTIONS).text();
                let mut wire = self.setup.wire(None);
                wire.output_tokens_max = u64::try_from(self.window_summary_tokens()).ok();
                Frame::for_summary(pack, facts, &instructions, &wire)
            }
        }
    }

    /// The facts under which a summary is made: those of this turn, with the model of the last turn where that one makes it.
    pub(crate) fn summary_facts(&self, summariser: SummaryModel) -> Facts {
        let previous = self.last_turn.model().filter(|_| summariser == SummaryModel::Previous);
        self.setup.facts_of_model(self.setup.sources.config.compaction.model.as_deref().or(previous))
    }

    /// Whether the coming turn's model takes over from one with a larger window.
    pub(crate) fn takeover(&self) -> Option<Takeover> {
        if !self.setup.sources.config.compaction.auto {
            return None;
        }
        let (slug, model) = (self.last_turn.model()?, &self.setup.gathered.facts.settings.model);
        let previous = self.setup.sources.model(slug).0;
        let is_smaller = *slug != model.slug && previous.effective_window() > model.effective_window();
        let limit = model.compaction_limit().filter(|_| is_smaller)?;
        Some(Takeover { limit, previous_window: previous.effective_window() })
    }

    /// What the history has to fit into, for layouts that drop the oldest turns.
    pub(crate) fn fit<'a>(&'a self, input: Option<&'a str>) -> Option<Fit<'a>> {
        (self.setup.pack.layout.compaction.strategy == CompactionStrategy::Window).then(|| Fit {
            pack: &self.setup.pack,
            facts: &self.setup.gathered.facts,
            instructions: self.conversation.instructions(),
            input,
            summary: self.shortening.running.as_deref(),
            n_context: self.shortening.n_context,
            keys: self.window_keys(),
        })
    }

    /// From how many tokens on the history is made shorter.
    pub fn compaction_limit(&self) -> Option<i64> {
        if !self.setup.sources.config.compaction.auto {
            return None;
        }
        match self.fit(None) {
            Some(fit) => fit.limit().map(|limit| limit + 1),
            None => self.setup.gathered.facts.settings.model.compaction_limit(),
        }
    }

    /// Begins to summarise the history.
    pub(crate) fn compaction(&self, input: Option<&str>) -> Compaction {
        if let Some(fit) = self.fit(input) {
            return Compaction::by_window(self.conversation.transcript(), fit);
        }
        let prompt = self.setup.compact_prompt.as_ref();
        let prompt = prompt.map(|given| Fragment::provided(&given.place, given.text.as_str()));
        let (rules, pack) = (self.compaction_rules(), &self.setup.pack);
        let input = rules.input.unwrap_or(SummaryInput::All);
        let mut compaction = if rules.keep_turns == 0 && input == SummaryInput::All {
            Compaction::new(self.conversation.transcript(), pack, prompt)
        } else {
            let context = assemble::assemble(pack, &self.setup.gathered.facts);
            let pinned: Vec<Item> = context.messages.iter().map(LayoutMessage::item).collect();
            let region = Region { keep_turns: rules.keep_turns, input, pinned: &pinned };
            Compaction::of_region(self.conversation.transcript(), pack, prompt, &region)
        };
        if rules.keep_skills {
            compaction = compaction.keeping_skills(self.conversation.transcript());
        }
        if rules.requests == Some(SummaryRequests::Marked) {
            compaction = compaction.accounting(self.conversation.transcript(), pack);
        }
        if self.summarised_by() == SummarisedBy::Provider {
            compaction.fit_window(
                self.conversation.instructions(),
                self.setup.gathered.facts.settings.model.effective_window(),
            );
        }
        compaction
    }

    /// Who summarises: OpenAI has an endpoint for it beside the Responses one.
    pub(crate) fn summarised_by(&self) -> SummarisedBy {
        let provider = &self.setup.provider;
        let has_endpoint = provider.name == "OpenAI"
            && provider.wire_api == WireApi::Responses
            && self.setup.pack.layout.compaction.strategy == CompactionStrategy::Summarise;
        if has_endpoint { SummarisedBy::Provider } else { SummarisedBy::Model }
    }

    /// What surrounds the items in the request to the provider's endpoint for summaries.
    pub(crate) fn provider_summary_frame(&self, facts: &Facts) -> Frame {
        Compaction::frame_for_provider(facts, self.conversation.instructions())
    }

    /// Puts the provider's items in place of the history, with the context as it is now.
    pub(crate) fn replace(&mut self, compaction: Compaction, items: Vec<Item>, facts: &Facts) -> CompactionEffect {
        let (before, tokens_before) = (self.conversation.items(), self.conversation.tokens());
        let context = assemble::assemble(&self.setup.pack, facts);
        self.shortening.replace(compaction, items, &mut self.conversation, context);
        self.shortening.n_summaries += 1;
        self.shortening.cursor += before.len();
        let account = json!({
            "cause": self.notices.cause_of_summary(),
            "dropped_messages": before.len(),
            "dropped_turns": n_turns(&before),
            "compaction_count": self.shortening.n_summaries,
            "cursor_before": self.shortening.cursor - before.len(),
            "cursor_after": self.shortening.cursor,
            "summary_bytes": 0,
            "ok": true,
        });
        self.shortened("provider", &before, tokens_before, 0, Some(account))
    }

    /// Puts the summary in place of the history, with the context as it is now.
    pub(crate) fn rebuild(&mut self, compaction: Compaction, facts: &Facts) -> CompactionEffect {
        let before = self.conversation.items();
        self.rebuild_by("model", &before, compaction, facts)
    }

    fn rebuild_by(&mut self, by: &str, before: &[Item], compaction: Compaction, facts: &Facts) -> CompactionEffect {
        let (tokens_before, n_dropped) = (self.conversation.tokens(), compaction.n_dropped());
        let (turns, had_question) = (compaction.dropped_turns(), compaction.has_question());
        let is_by_window = compaction.is_by_window();
        if let Some(left) = compaction.recalled_left() {
            self.forget_recalled(left);
        }
        let context = assemble::assemble(&self.setup.pack, facts);
        let is_recording = self.log.is_recording();
        let summary_before = self.shortening.running.clone();
        self.shortening.rebuild(compaction, &mut self.conversation, context, &self.setup.pack, is_recording);
        let is_made = !is_by_window || (had_question && self.shortening.running != summary_before);
        let cursor_before = self.shortening.cursor;
        if is_made {
            self.shortening.n_summaries += 1;
            self.shortening.cursor += if is_by_window { turns.messages } else { before.len() };
        }
        // Nothing but recalled texts had to go.
        let is_silent = is_by_window && turns.messages == 0;
        let made = (!is_silent).then(|| {
            json!({
                "cause": self.notices.cause_of_summary(),
                "dropped_messages": if is_by_window { turns.messages } else { before.len() },
                "dropped_turns": if is_by_window { turns.turns } else { n_turns(before) },
                "summary_bytes": self.summary_bytes(),
                "cursor_before": cursor_before,
                "cursor_after": self.shortening.cursor,
                "compaction_count": self.shortening.n_summaries,
                "ok": is_made,
                "error": (!is_made).then_some(if had_question { NO_SUMMARY } else { NOT_SUMMARISED }),
            })
        });
        self.shortened(by, before, tokens_before, n_dropped, made)
    }

    /// Leaves only the first recalled texts in the base instructions, and reports that to clients that ask for it.
    fn forget_recalled(&mut self, left: usize) {
        let memory = &mut self.setup.gathered.facts.system.injection.memory;
        let count = memory.len().saturating_sub(left);
        memory.truncate(left);
        let context = assemble::assemble(&self.setup.pack, &self.setup.gathered.facts);
        self.conversation.instruct(self.setup.frames.instructions(&context.instructions));
        self.requests.expect_break(Cause::Memory);
        if self.setup.context_events.are_wanted() {
            let account = json!({ "run_id": self.setup.session_id, "turn_id": self.notices.turn(), "count": count });
            self.notices.send(EventMessage::ContextMemoryDropped { account });
        }
    }

    /// How many bytes the last summary has.
    fn summary_bytes(&self) -> usize {
        let running = self.shortening.running.clone().or_else(|| self.last_summary());
        running.map_or(0, |summary| summary.len())
    }

    /// Notes that the history was replaced, and reports it to clients that ask for it.
    fn shortened(
        &mut self,
        by: &str,
        before: &[Item],
        tokens_before: usize,
        n_dropped: usize,
        made: Option<Value>,
    ) -> CompactionEffect {
        self.requests.expect_break(Cause::Compaction);
        self.habits.note(&mut self.setup, &Happened::Shortened);
        let rebuilt = CompactionEffect { tokens_before, tokens_after: self.conversation.tokens(), n_dropped };
        if let Some(made) = made {
            self.report_compaction(by, before, &rebuilt, made);
        }
        rebuilt
    }

    /// Counts what a copy of this session spent, which nothing else spent meanwhile.
    pub(crate) fn count_spent(&mut self, copy: &Self) {
        self.requests.count_spent(&copy.requests);
    }

    /// Notes that another history, which comes from here, took the place of the one so far.
    pub(crate) fn note_replaced(&mut self, origin: Origin) {
        self.habits.note(&mut self.setup, &Happened::Replaced(self.conversation.transcript(), origin));
    }

    /// Records the last summary in the session's file.
    pub(crate) fn log_summary(&mut self) {
        // If the file stays as it is, the record must not name a summary that the file does not have.
        if let Some(Pending { message, replacement, rebuilt }) = self.shortening.pending.take()
            && !self.log.is_held()
        {
            self.log.compacted(message, replacement);
            if let (Some((before, after)), Some((sent, at))) = (rebuilt, self.log.sent()) {
                sent.rebuilt(at, &before, &after);
            }
            let is_attributed = self.conversation.transcript().is_attributed();
            self.log_origins_of(if is_attributed { Extent::New } else { Extent::Covered });
        }
    }

    /// The request for a summary, with what surrounds its items and what it is made of. Absent if there is nothing that
    /// could be summarised.
    pub(crate) fn summary_request(&self, compaction: &Compaction, facts: &Facts) -> Option<SummaryRequest> {
        let by = self.summarised_by();
        let frame = match by {
            SummarisedBy::Model => self.summary_frame(facts),
            SummarisedBy::Provider if compaction.n_items() == 0 => return None,
            SummarisedBy::Provider => self.provider_summary_frame(facts),
        };
        let (request, mut report) = compaction.reported(by, &frame);
        report.changed_files = self.requests.changed_files();
        Some(SummaryRequest { frame, request, report })
    }

    /// The event that reports a request for a summary to clients that ask for it.
    pub(crate) fn summary_event(&mut self, report: &Report) -> Option<EventMessage> {
        let purpose = match self.summarised_by() {
            SummarisedBy::Model => "summary",
            SummarisedBy::Provider => "provider_summary",
        };
        self.setup
            .context_events
            .are_wanted()
            .then(|| self.requests.report_event(report, Some(purpose), &mut self.setup.context_events))
    }

    /// Whether the bytes of a request for a summary, or when it is made, depend on the tools that are offered.
    pub(crate) fn summary_needs_tools(&self) -> bool {
        self.setup.provider.wire_api == WireApi::Messages
            || self.setup.pack.layout.compaction.strategy == CompactionStrategy::Window
    }

    /// Records that a summary is asked for.
    pub(crate) fn log_summary_request(
        &mut self,
        turn: &TurnId,
        compaction: &Compaction,
        frame: &Frame,
        request: &Request,
    ) {
        self.log_origins();
        drop(self.requests.take_changed_files());
        let by = self.summarised_by();
        let is_recording = self.log.is_recording();
        let continuity = self.requests.continuity_beside(frame, request, &self.setup, is_recording);
        let cache_break = continuity.as_ref().and_then(Continuity::cache_break);
        let sent_at = self.requests.sends_for_summary(continuity);
        let n_items = match by {
            SummarisedBy::Provider => compaction.n_items(),
            SummarisedBy::Model => compaction.items_with_prompt().n_items(),
        };
        let is_observed = self.log.telemetry().is_some();
        let account =
            || RequestDigest { bytes: request.len(), body: Digest::of_body(request), n_items, marks: Vec::new() };
        let Some((sent, at)) = self.log.sent().filter(|(sent, _)| sent.is_open()) else {
            if is_observed {
                let purpose = match by {
                    SummarisedBy::Provider => "provider_summary",
                    SummarisedBy::Model => "summary",
                };
                self.log.sent_from_start().observe(purpose, &account(), cache_break, sent_at);
            }
            return;
        };
        let purpose = match by {
            SummarisedBy::Provider => Purpose::ProviderSummary,
            SummarisedBy::Model => {
                let prompt = sent.item(&compaction.prompt());
                let shown = compaction.shown().map(|shown| shown.iter().map(|n| *n as u64).collect());
                let origins = Some(sent.spans(&[&compaction.prompt_spans()]));
                Purpose::Summary { prompt, dropped: compaction.n_dropped() as u64, shown, origins }
            }
        };
        sent.request(at, turn, purpose, frame, &account(), cache_break, sent_at);
    }
}
