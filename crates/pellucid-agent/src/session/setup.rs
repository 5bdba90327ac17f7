//! What a session is made of before its first turn: settings, facts, model and identity.
//!
//! A `Setup` is data. Clients and sessions that start other sessions fill one in; `open` makes a session of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use pellucid_engine::assemble;
use pellucid_engine::assemble::Context;
use pellucid_engine::assemble::LayoutMessage;
use pellucid_engine::compaction;
use pellucid_engine::facts::Facts;
use pellucid_engine::facts::Provided;
use pellucid_engine::origins::Origins;
use pellucid_engine::pack::Pack;
use pellucid_engine::request::Frame;
use pellucid_engine::request::WireSettings;
use pellucid_engine::transcript::ItemIds;
use pellucid_model::Model;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::RawItems;
use pellucid_protocol::event::RawReasoning;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::item::Item;
use pellucid_protocol::provider::Provider;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_store::read::ReadError;
use pellucid_store::read::SessionFile;
use pellucid_store::record::Record;
use pellucid_store::requests::entry::How;
use pellucid_store::requests::entry::RequestTerms;
use pellucid_store::side::SideFile;
use serde_json::Value;

use crate::child;
use crate::client_tools;
use crate::client_tools::Indexed;
use crate::context_events::ContextEvents;
use crate::crew::Crew;
use crate::found_apps;
use crate::frames::SharedFrames;
use crate::gather;
use crate::gather::FactSources;
use crate::gather::Gathered;
use crate::identity::ClientIdentity;
use crate::phases::Phases;
use crate::prepare;
use crate::prepare::PrepareError;
use crate::replay::Recalled;
use crate::restore;
use crate::restore::RestoreOptions;
use crate::restore::Restored;
use crate::sent::OpeningRecord;
use crate::telemetry::Telemetry;

/// What a session is made of.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The id of the session.
    pub session_id: SessionId,
    /// The client or session that started it.
    pub origin: child::StartedBy,
    /// The pack whose layout orders the input.
    pub pack: Arc<Pack>,
    /// The configuration and environment that facts are gathered from.
    pub sources: FactSources,
    /// The facts that were gathered, with what they leave out.
    pub gathered: Gathered,
    /// The id of the provider.
    pub provider_id: String,
    /// The provider's address, wire and limits.
    pub provider: Provider,
    /// The model that requests are sent to.
    pub model: Model,
    /// The name and version that headers give.
    pub identity: ClientIdentity,
    /// Whether clients receive the model's raw reasoning.
    pub raw_reasoning: RawReasoning,
    /// Whether clients receive each item as it is recorded.
    pub raw_items: RawItems,
    /// How the model is asked for a summary, if the user has their own wording.
    pub compact_prompt: Option<Provided>,
    /// Whether clients receive events about the parts of each request.
    pub context_events: ContextEvents,
    /// What is exported of the session and of those that it starts.
    pub telemetry: Telemetry,
    /// Events that clients receive before the first turn.
    pub notices: Vec<EventMessage>,
    /// What is kept of the session beside its file.
    pub side: SideFile,
    /// The agents that the session started.
    pub crew: Crew,
    /// The phases of work. A session that begins makes them.
    pub phases: Phases,
    /// The frames that sessions of this process hold together.
    pub frames: SharedFrames,
}

/// The history of a session file, as a session that continues or copies it begins with it.
#[derive(Debug)]
pub(super) struct Past {
    /// What the lines of the file add up to.
    pub restored: Restored,
    /// What the record of requests has of earlier processes.
    pub recalled: Recalled,
    /// The items of the context that summaries were restored with.
    pub context: Vec<Item>,
}

impl Past {
    /// What summaries begin with and the context around them, if the history has a summary that needed it.
    pub(super) fn summaries<'a>(&'a self, prefix: &'a str) -> Option<(&'a str, &'a [Item])> {
        self.restored.has_used_context.then_some((prefix, self.context.as_slice()))
    }
}

impl Setup {
    /// Restores a history from some lines of a file, with the context as it is now.
    pub(crate) fn restore_records(&self, file: &SessionFile, records: Vec<Record>) -> Restored {
        let context = assemble::assemble(&self.pack, &self.gathered.facts);
        let items: Vec<Item> = context.messages.iter().map(LayoutMessage::item).collect();
        let prefix = compaction::summary_prefix(&self.pack);
        let origins = Origins::default();
        let rules = RestoreOptions { context_messages: &context.messages, ..self.rules(&prefix, &items, &origins) };
        restore::restore_records(file, records, &rules)
    }

    /// The variables that hold our keys. No program that the session starts receives them.
    pub(crate) fn key_variables(&self) -> BTreeSet<String> {
        let FactSources { config, env, .. } = &self.sources;
        config.key_variables(env, |value| self.model.is_key(value))
    }

    /// Whether the index keeps the tools that a client gave the session at its start.
    pub(crate) fn indexed(&self) -> Indexed {
        if self.gathered.facts.settings.features.is_on(Feature::Sqlite) { Indexed::Yes } else { Indexed::No }
    }

    /// Gathers the facts of the setup's configuration, as they are now.
    ///
    /// # Errors
    /// A file that is to be injected cannot be used.
    pub(crate) fn gathered_now(&self) -> Result<Gathered, PrepareError> {
        let mut gathered = gather::gather(&self.sources);
        prepare::prepare(&mut gathered, &self.pack, &self.sources)?;
        // Recalled texts that had to go stay away.
        let n_recalled = self.gathered.facts.system.injection.memory.len();
        gathered.facts.system.injection.memory.truncate(n_recalled);
        Ok(gathered)
    }

    /// Keeps a value beside the session's file. A session continues without it if that fails.
    pub(crate) fn keep(&mut self, name: &str, value: Value) {
        self.side.put(name, value);
    }

    /// A warning if values beside the session's file cannot be kept.
    pub(super) fn side_warning(&mut self) -> Option<String> {
        let failure = self.side.take_failure()?;
        Some(format!("memory and counts of this session are not saved, so a later turn begins without them: {failure}"))
    }

    /// Whether items carry the ids that the server gave them.
    pub(crate) fn item_ids(&self) -> ItemIds {
        if self.provider.is_azure() { ItemIds::Sent } else { ItemIds::Hidden }
    }

    /// The settings of a request on the provider's wire.
    pub(crate) fn wire(&self, output_schema: Option<Value>) -> WireSettings {
        let provider = &self.provider;
        WireSettings {
            session_id: self.session_id.clone(),
            wire: provider.wire_api,
            developer: provider.chat_developer_role.unwrap_or_default(),
            output_tokens_max: provider.max_output_tokens,
            ids: self.item_ids(),
            output_schema,
        }
    }

    /// The facts of this turn with another model, and an effort that the model supports.
    pub(super) fn facts_of_model(&self, slug: Option<&str>) -> Facts {
        let mut facts = Facts::clone(&self.gathered.facts);
        if let Some(slug) = slug {
            facts.settings.model = self.sources.model(slug).0;
            facts.settings.effort = supported_effort(&facts);
        }
        facts
    }

    /// Restores the history of a file up to an offset. The instructions of the file become a fact, because a session keeps
    /// those that it began with.
    pub(super) fn restore(&mut self, file: &SessionFile, upto: u64, context: &Context) -> Result<Past, ReadError> {
        self.recall_dynamic_tools(file);
        self.recall_found_apps(file);
        let mut past = self.past(file, upto, context)?;
        let place = format!("the session file {}", file.path.display());
        let instructions = past.restored.instructions.take();
        self.gathered.facts.world.recorded_fragments =
            instructions.as_deref().map_or_else(Vec::new, |text| past.recalled.instructions(text));
        self.gathered.facts.world.recorded_instructions = instructions.map(|text| Provided { place, text });
        Ok(past)
    }

    /// The history of a file up to an offset.
    pub(super) fn past(&self, file: &SessionFile, upto: u64, context: &Context) -> Result<Past, ReadError> {
        let recalled = Recalled::read(&self.sources.config.folders.home, file);
        let items: Vec<Item> = context.messages.iter().map(LayoutMessage::item).collect();
        let prefix = compaction::summary_prefix(&self.pack);
        let rules =
            RestoreOptions { context_messages: &context.messages, ..self.rules(&prefix, &items, &recalled.origins) };
        let restored = restore::restore(file, upto, &rules)?;
        Ok(Past { restored, recalled, context: items })
    }

    /// What the record says of how the session was opened, for a history without summaries.
    pub(super) fn opening(&self, how: How, at: u64) -> OpeningRecord<'_> {
        OpeningRecord {
            session: &self.session_id,
            how,
            at,
            ids: self.item_ids(),
            truncation: self.gathered.facts.settings.model.truncation_policy,
            summaries: None,
            origins_from: at,
            parent: None,
            files: None,
            terms: RequestTerms {
                pack: self.sources.config.prompt.pack.clone(),
                cache_order: self.provider.reading_order().to_vec(),
                cache_seconds: self.provider.cache_kept().map(|kept| kept.as_secs()),
                compact_at: self.sources.config.model.auto_compact_token_limit,
                window: self.sources.config.model.context_window,
            },
        }
    }

    fn rules<'a>(&self, summary_prefix: &'a str, context: &'a [Item], origins: &'a Origins) -> RestoreOptions<'a> {
        let (facts, wire) = (&self.gathered.facts, self.wire(None));
        RestoreOptions {
            ids: wire.ids,
            truncation: facts.settings.model.truncation_policy,
            view: Some(Frame::new(&self.pack, facts, &[], &wire).view()),
            summary_prefix,
            context,
            context_messages: &[],
            origins,
        }
    }

    /// Takes the tools of connected apps from the file that searches of the session found.
    fn recall_found_apps(&mut self, file: &SessionFile) {
        if self.gathered.facts.settings.features.is_on(Feature::Apps) {
            self.gathered.facts.tools.apps.found = found_apps::recalled(&file.path);
        }
    }

    /// Takes the client's tools from the file or the index, unless the client names some now.
    fn recall_dynamic_tools(&mut self, file: &SessionFile) {
        let home = &self.sources.config.folders.home;
        if self.gathered.facts.tools.dynamic_tools.is_empty() {
            self.gathered.facts.tools.dynamic_tools = client_tools::recalled(home, file, self.indexed());
        }
    }
}

/// The effort that is set if the model supports it, else the model's middle one, else its default.
fn supported_effort(facts: &Facts) -> Option<ReasoningEffort> {
    let levels = &facts.settings.model.supported_reasoning_levels;
    let is_known = |effort: &ReasoningEffort| levels.iter().any(|level| level.effort == *effort);
    let middle = levels.get(levels.len().saturating_sub(1) / 2).map(|level| level.effort);
    facts.settings.effort.filter(is_known).or(middle).or(facts.settings.model.default_reasoning_level)
}
