//! Connected apps of a session: which of them are in play, and what searches found. The engine decides (`apps`).

use std::collections::BTreeSet;

use pellucid_engine::apps;
use pellucid_engine::apps::FoundBefore;
use pellucid_engine::apps::Known;
use pellucid_engine::compaction;
use pellucid_engine::skills::select;
use pellucid_engine::transcript::Draft;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;

use super::Session;
use super::setup::Setup;

/// The apps that the last input named.
#[derive(Debug, Clone, Default)]
pub(super) struct NamedApps(BTreeSet<String>);

impl NamedApps {
    /// Finds the apps that an input and the messages of its skills name.
    pub(super) fn find(&mut self, setup: &Setup, inputs: &[UserInput], skills: &[Draft]) {
        self.0.clear();
        if is_on(setup) {
            let texts: Vec<String> = skills.iter().map(|draft| text(&draft.item())).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            self.0 = apps::named(inputs, &texts, &known(setup));
        }
    }
}

impl Session {
    /// Whether it depends on the tools of servers what an input means.
    pub(crate) fn input_needs_servers(&self, inputs: &[UserInput]) -> bool {
        is_on(&self.setup) && select::may_select(inputs)
    }

    /// Decides which tools of connected apps the next request offers. Gives whether they are others than before.
    pub(crate) fn choose_apps(&mut self) -> bool {
        self.choose_apps_with(self.jobs.toolbox.found_apps())
    }

    /// The same for a conversation that is had again, whose searches are not made.
    pub(super) fn choose_apps_again(&mut self) -> bool {
        let mut found = FoundBefore::default();
        if is_on(&self.setup) {
            self.conversation.items().iter().for_each(|item| found.look_at(item));
        }
        self.choose_apps_with(found.into_names())
    }

    fn choose_apps_with(&mut self, found: Vec<String>) -> bool {
        let setup = &self.setup;
        let tools = &setup.gathered.facts.tools;
        if !is_on(setup) || !tools.mcp_tools.iter().any(|tool| tool.app.is_some()) {
            return false;
        }
        let (messages, prefix) = (self.conversation.transcript().messages(), compaction::summary_prefix(&setup.pack));
        let mut in_play = apps::named_in_conversation(messages, &tools.apps, &known(setup), &prefix);
        in_play.extend(self.named_apps.0.iter().cloned());
        let choice = &mut self.setup.gathered.facts.tools.apps;
        let is_same = choice.in_play == in_play && choice.found == found;
        (choice.in_play, choice.found) = (in_play, found);
        !is_same
    }
}

/// The slugs of the apps, which no skill is meant by.
pub(super) fn slugs(setup: &Setup) -> Vec<String> {
    if is_on(setup) { apps::slugs(&setup.gathered.facts.tools.mcp_tools) } else { Vec::new() }
}

fn is_on(setup: &Setup) -> bool {
    setup.gathered.facts.settings.features.is_on(Feature::Apps)
}

fn known(setup: &Setup) -> Known<'_> {
    let facts = &setup.gathered.facts;
    Known { tools: &facts.tools.mcp_tools, skills: &facts.world.skills }
}

/// The text of a skill's message.
fn text(item: &Item) -> String {
    let Item::Message { content, .. } = item else { return String::new() };
    let texts = content.iter().filter_map(|part| match part {
        ContentPart::InputText { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}
