//! Making a history shorter: who summarises it, what takes its place, what is written down.

use super::*;

impl Session {
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
        if let (Summariser::Previous, Some(slug)) = (summariser, &self.previous_model) {
            facts.model = self.setup.sources.model(slug).0;
            facts.effort = supported_effort(&facts);
        }
        facts
    }

    /// Whether the coming turn's model takes over from one with a larger window.
    pub(crate) fn takeover(&self) -> Option<Takeover> {
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
    pub(crate) fn compaction_limit(&self) -> Option<i64> {
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
        let mut compaction = Compaction::new(&self.transcript, &self.setup.pack, prompt);
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
        let context = assemble::assemble(&self.setup.pack, facts);
        compaction.rebuild_from(&mut self.transcript, items, context);
        let replacement = Some(self.items_to_keep());
        self.summary = Some(Summary { message: String::new(), replacement, rebuilt: None });
        Rebuilt { tokens_before, tokens_after: self.prompt_tokens(), n_dropped: 0 }
    }

    /// Puts the summary in place of the history, with the context as it is now.
    pub(crate) fn rebuild(&mut self, compaction: Compaction, facts: &Facts) -> Rebuilt {
        let (tokens_before, n_dropped) = (self.prompt_tokens(), compaction.n_dropped());
        let context = assemble::assemble(&self.setup.pack, facts);
        if compaction.is_by_window() {
            self.n_context = context.messages.len();
            self.running_summary = compaction.rebuild_window(&mut self.transcript, context);
            let message = self.running_summary.clone().unwrap_or_default();
            let replacement = Some(self.items_to_keep());
            self.summary = Some(Summary { message, replacement, rebuilt: None });
            return Rebuilt { tokens_before, tokens_after: self.prompt_tokens(), n_dropped };
        }
        let message = compaction.rebuild(&mut self.transcript, &self.setup.pack, context);
        let rebuilt = self.log.is_recording().then(|| self.transcript.items().collect());
        self.summary = Some(Summary { message, replacement: None, rebuilt });
        Rebuilt { tokens_before, tokens_after: self.prompt_tokens(), n_dropped }
    }

    /// Writes the last summary down.
    pub(crate) fn log_summary(&mut self) {
        if let Some(Summary { message, replacement, rebuilt }) = self.summary.take() {
            self.log.compacted(message, replacement);
            if let (Some(items), Some((sent, at))) = (rebuilt, self.log.sent()) {
                sent.rebuilt(at, &items);
            }
        }
    }

    /// Writes down that a summary is asked for.
    pub(crate) fn log_summary_request(
        &mut self,
        turn: &TurnId,
        compaction: &Compaction,
        frame: &Frame,
        request: &Request,
    ) {
        let by = self.summarised_by();
        let Some((sent, at)) = self.log.sent().filter(|(sent, _)| sent.is_open()) else {
            return;
        };
        let purpose = match by {
            SummarisedBy::Provider => Purpose::ProviderSummary,
            SummarisedBy::Model => {
                let prompt = sent.item(&compaction.prompt());
                Purpose::Summary { prompt, dropped: compaction.n_dropped() as u64 }
            }
        };
        let (bytes, body) = (request.len(), Digest::of_body(request));
        let account = Account { bytes, body, n_items: compaction.n_items(), marks: Vec::new() };
        sent.request(at, turn, purpose, frame, &account);
    }
}
