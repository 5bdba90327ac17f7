//! Making a history shorter: who summarises it, what takes its place, what is written down.

use pellucid_engine::compaction::CompactionError;
use pellucid_engine::compaction::Region;
use pellucid_engine::compaction::local_summary;
use pellucid_engine::loss::Loss;
use pellucid_engine::pack::CompactionRules;
use pellucid_protocol::settings::SummaryInput;
use pellucid_protocol::settings::SummaryRequests;
use serde_json::json;

use super::*;

/// A request for a summary.
#[derive(Debug)]
pub(crate) struct SummaryRequest {
    pub frame: Frame,
    pub request: Request,
    pub report: Report,
}

impl Session {
    /// How the history is made shorter: as a person sets it, else as the pack says.
    pub(crate) fn compaction_rules(&self) -> CompactionRules {
        let (own, given) = (self.setup.pack.layout.compaction, &self.setup.sources.config.compaction);
        CompactionRules {
            fallback: given.fallback.or(own.fallback),
            keep_turns: given.keep_turns.unwrap_or(own.keep_turns),
            saving_min: given.saving_min.or(own.saving_min),
            overflow_calls_max: given.overflow_calls_max.or(own.overflow_calls_max),
            input: given.input.or(own.input),
            requests: given.requests.or(own.requests),
            ..own
        }
    }

    /// Puts a summary that is made by rule in place of the history.
    pub(crate) fn rebuild_locally(&mut self, compaction: Compaction, facts: &Facts) -> Rebuilt {
        let before: Vec<Item> = self.transcript.items().collect();
        let summary = local_summary(&before, &self.setup.pack);
        self.note(&Item::text("assistant", summary), &Origin::Layout);
        self.rebuild_by("rule", &before, compaction, facts)
    }

    /// Tells faces that want to know what a summary did.
    fn tell_compaction(&mut self, by: &str, before: &[Item], rebuilt: &Rebuilt) {
        if !self.setup.context_events.are_wanted() {
            return;
        }
        let after: Vec<Item> = self.transcript.items().collect();
        let Loss { paths, identifiers, open_tasks, constraints } = Loss::of(before, &after);
        let account = json!({
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
        self.told.push(EventMessage::ContextCompaction { account });
    }

    /// Why a summary is refused, if it is. Only those that must be good are looked at.
    pub(crate) fn refusal(&self, compaction: &Compaction, reply: &[Item]) -> Option<CompactionError> {
        let is_looked_at = self.compaction_rules().is_checked() && !compaction.is_by_window();
        is_looked_at.then(|| compaction.refusal(reply)).flatten()
    }

    /// What surrounds them in the request for a summary.
    pub(crate) fn summary_frame(&self, facts: &Facts) -> Frame {
        let pack = &self.setup.pack;
        match pack.layout.compaction.strategy {
            Strategy::Summarise => Frame::for_summary(pack, facts, &self.instructions, &self.setup.wire(None)),
            Strategy::Window => {
                let instructions = pack.template(WINDOW_SUMMARY).text();
                let mut wire = self.setup.wire(None);
                let tokens = output_tokens(pack.layout.compaction.summary_max_output_tokens);
                wire.output_tokens_max = u64::try_from(tokens).ok();
                Frame::for_summary(pack, facts, &instructions, &wire)
            }
        }
    }

    /// The facts under which a summary is made: those of this turn, with the model before it where
    /// that one makes it.
    pub(crate) fn summary_facts(&self, summariser: Summariser) -> Facts {
        let mut facts = self.setup.gathered.facts.clone();
        let previous = self.previous_model.as_ref().filter(|_| summariser == Summariser::Previous);
        if let Some(slug) = self.setup.sources.config.compaction.model.as_ref().or(previous) {
            facts.model = self.setup.sources.model(slug).0;
            facts.effort = supported_effort(&facts);
        }
        facts
    }

    /// Whether the coming turn's model takes over from one with a larger window.
    pub(crate) fn takeover(&self) -> Option<Takeover> {
        if !self.setup.sources.config.compaction.auto {
            return None;
        }
        let (slug, model) = (self.previous_model.as_ref()?, &self.setup.gathered.facts.model);
        let previous = self.setup.sources.model(slug).0;
        let is_smaller = *slug != model.slug && previous.effective_window() > model.effective_window();
        let limit = model.compaction_limit().filter(|_| is_smaller)?;
        Some(Takeover { limit, previous_window: previous.effective_window() })
    }

    /// What the history has to fit into, for layouts that drop the oldest turns.
    pub(crate) fn fit<'a>(&'a self, input: Option<&'a str>) -> Option<Fit<'a>> {
        (self.setup.pack.layout.compaction.strategy == Strategy::Window).then(|| Fit {
            pack: &self.setup.pack,
            facts: &self.setup.gathered.facts,
            instructions: &self.instructions,
            input,
            summary: self.running_summary.as_deref(),
            n_context: self.n_context,
        })
    }

    /// From how many tokens on the history is made shorter.
    pub fn compaction_limit(&self) -> Option<i64> {
        if !self.setup.sources.config.compaction.auto {
            return None;
        }
        match self.fit(None) {
            Some(fit) => fit.limit().map(|limit| limit + 1),
            None => self.setup.gathered.facts.model.compaction_limit(),
        }
    }

    /// Begins to summarise the history.
    pub(crate) fn compaction(&self, input: Option<&str>) -> Compaction {
        if let Some(fit) = self.fit(input) {
            return Compaction::by_window(&self.transcript, fit);
        }
        let prompt = self.setup.compact_prompt.as_ref();
        let prompt = prompt.map(|given| Fragment::provided(&given.place, given.text.as_str()));
        let (rules, pack) = (self.compaction_rules(), &self.setup.pack);
        let input = rules.input.unwrap_or(SummaryInput::All);
        let mut compaction = if rules.keep_turns == 0 && input == SummaryInput::All {
            Compaction::new(&self.transcript, pack, prompt)
        } else {
            let context = assemble::assemble(pack, &self.setup.gathered.facts);
            let pinned: Vec<Item> = context.messages.iter().map(ContextMessage::item).collect();
            let region = Region { keep_turns: rules.keep_turns, input, pinned: &pinned };
            Compaction::of_region(&self.transcript, pack, prompt, &region)
        };
        if rules.requests == Some(SummaryRequests::Marked) {
            compaction = compaction.accounting(&self.transcript, pack);
        }
        if self.summarised_by() == SummarisedBy::Provider {
            compaction.fit_window(&self.instructions, self.setup.gathered.facts.model.effective_window());
        }
        compaction
    }

    /// Who summarises: the provider of that name has an endpoint for it beside the Responses one.
    pub(crate) fn summarised_by(&self) -> SummarisedBy {
        let provider = &self.setup.provider;
        let has_endpoint = provider.name == "OpenAI"
            && provider.wire_api == WireApi::Responses
            && self.setup.pack.layout.compaction.strategy == Strategy::Summarise;
        if has_endpoint { SummarisedBy::Provider } else { SummarisedBy::Model }
    }

    /// What surrounds the items in the request to that endpoint.
    pub(crate) fn provider_summary_frame(&self, facts: &Facts) -> Frame {
        Compaction::frame_for_provider(facts, &self.instructions)
    }

    /// Puts the provider's items in place of the history, with the context as it is now.
    pub(crate) fn replace(&mut self, compaction: Compaction, items: Vec<Item>, facts: &Facts) -> Rebuilt {
        let tokens_before = self.prompt_tokens();
        let before: Vec<Item> = self.transcript.items().collect();
        let context = assemble::assemble(&self.setup.pack, facts);
        compaction.rebuild_from(&mut self.transcript, items, context);
        self.compact_documents();
        self.cause = Some(Cause::Compaction);
        let replacement = Some(self.items_to_keep());
        self.summary = Some(Summary { message: String::new(), replacement, rebuilt: None });
        self.said_all();
        let rebuilt = Rebuilt { tokens_before, tokens_after: self.prompt_tokens(), n_dropped: 0 };
        self.tell_compaction("provider", &before, &rebuilt);
        rebuilt
    }

    /// Puts the summary in place of the history, with the context as it is now.
    pub(crate) fn rebuild(&mut self, compaction: Compaction, facts: &Facts) -> Rebuilt {
        let before: Vec<Item> = self.transcript.items().collect();
        self.rebuild_by("model", &before, compaction, facts)
    }

    fn rebuild_by(&mut self, by: &str, before: &[Item], compaction: Compaction, facts: &Facts) -> Rebuilt {
        let rebuilt = self.rebuild_quietly(compaction, facts);
        self.said_all();
        self.tell_compaction(by, before, &rebuilt);
        rebuilt
    }

    fn rebuild_quietly(&mut self, compaction: Compaction, facts: &Facts) -> Rebuilt {
        let (tokens_before, n_dropped) = (self.prompt_tokens(), compaction.n_dropped());
        let context = assemble::assemble(&self.setup.pack, facts);
        self.compact_documents();
        self.cause = Some(Cause::Compaction);
        if compaction.is_by_window() {
            self.n_context = context.messages.len();
            self.running_summary = compaction.rebuild_window(&mut self.transcript, context);
            let message = self.running_summary.clone().unwrap_or_default();
            let replacement = Some(self.items_to_keep());
            self.summary = Some(Summary { message, replacement, rebuilt: None });
            return Rebuilt { tokens_before, tokens_after: self.prompt_tokens(), n_dropped };
        }
        let keeps_turns = compaction.keeps_turns();
        let before: Option<Vec<Item>> = self.log.is_recording().then(|| self.transcript.items().collect());
        let message = compaction.rebuild(&mut self.transcript, &self.setup.pack, context);
        if keeps_turns {
            // A summary alone would say that nothing stays.
            let replacement = Some(self.items_to_keep());
            self.summary = Some(Summary { message, replacement, rebuilt: None });
            return Rebuilt { tokens_before, tokens_after: self.prompt_tokens(), n_dropped };
        }
        let rebuilt = before.map(|before| (before, self.transcript.items().collect()));
        self.summary = Some(Summary { message, replacement: None, rebuilt });
        Rebuilt { tokens_before, tokens_after: self.prompt_tokens(), n_dropped }
    }

    /// Writes the last summary down.
    pub(crate) fn log_summary(&mut self) {
        // Where the file stays as it is, the record must not speak of a summary in it.
        if let Some(Summary { message, replacement, rebuilt }) = self.summary.take()
            && !self.log.is_held()
        {
            self.log.compacted(message, replacement);
            if let (Some((before, after)), Some((sent, at))) = (rebuilt, self.log.sent()) {
                sent.rebuilt(at, &before, &after);
            }
            self.log_origins_of(if self.transcript.is_attributed() { Extent::New } else { Extent::Told });
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
        report.changed_files = self.files.changed();
        Some(SummaryRequest { frame, request, report })
    }

    /// The event that reports a request for a summary to clients that ask for it.
    pub(crate) fn summary_event(&mut self, report: &Report) -> Option<EventMessage> {
        let purpose = match self.summarised_by() {
            SummarisedBy::Model => "summary",
            SummarisedBy::Provider => "provider_summary",
        };
        self.setup.context_events.are_wanted().then(|| self.report_event(report, Some(purpose)))
    }

    /// Whether the bytes of a request for a summary, or when it is made, depend on the tools that are offered.
    pub(crate) fn summary_needs_tools(&self) -> bool {
        self.setup.provider.wire_api == WireApi::Messages
            || self.setup.pack.layout.compaction.strategy == Strategy::Window
    }

    /// Writes down that a summary is asked for.
    pub(crate) fn log_summary_request(
        &mut self,
        turn: &TurnId,
        compaction: &Compaction,
        frame: &Frame,
        request: &Request,
    ) {
        self.log_origins();
        drop(self.files.take_changed());
        let by = self.summarised_by();
        let continuity = self.continuity_beside(frame, request);
        let cache_break = continuity.as_ref().and_then(shown::cache_break);
        let sent_at = self.cache.sends(Some(continuity));
        let Some((sent, at)) = self.log.sent().filter(|(sent, _)| sent.is_open()) else {
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
        let (bytes, body) = (request.len(), Digest::of_body(request));
        let n_items = match by {
            SummarisedBy::Provider => compaction.n_items(),
            SummarisedBy::Model => compaction.items_with_prompt().n_items(),
        };
        let account = Account { bytes, body, n_items, marks: Vec::new() };
        sent.request(at, turn, purpose, frame, &account, cache_break, sent_at);
    }
}
