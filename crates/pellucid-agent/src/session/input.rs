//! What joins the conversation: messages of the layout, a person's message with its images, items of the model, notices
//! about tools, and images that a tool read.

use std::path::Path;

use pellucid_engine::assemble::Context;
use pellucid_engine::fragment::Origin;
use pellucid_engine::notice;
use pellucid_engine::transcript::Draft;
use pellucid_engine::user_message::image_message;
use pellucid_engine::user_message::user_message;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;
use pellucid_tools::desk::Notice;
use pellucid_workspace::images::load_image;

use super::Session;
use super::notices::image_omission;
use crate::habits::Happened;
use crate::habits::Wrapped;
use crate::images;

impl Session {
    /// Records the messages of the layout.
    pub(super) fn record_context(&mut self, context: Context) {
        for message in context.messages {
            self.record_layout(&Draft::from(message));
        }
    }

    /// Records a message of the layout, in the file and in the transcript.
    pub(super) fn record_layout(&mut self, draft: &Draft) {
        self.log.item(&draft.item(), &draft.part);
        self.conversation.transcript_mut().record_draft(draft);
    }

    /// Records a message of the conversation.
    pub(crate) fn record_draft(&mut self, draft: &Draft) {
        self.record_layout(draft);
        self.habits.note(&mut self.setup, &Happened::Drafted(draft));
    }

    /// Records an item of the conversation.
    pub(crate) fn record(&mut self, item: &Item, origin: &Origin) {
        self.log.item(item, origin.kind());
        self.conversation.transcript_mut().record(item, origin);
        self.habits.note(&mut self.setup, &Happened::Recorded(item, origin));
    }

    /// Adds an item for a summary. Session files do not have such items, so the record of requests keeps it.
    pub(crate) fn note(&mut self, item: &Item, origin: &Origin) {
        if let Some((sent, at)) = self.log.sent() {
            sent.noted(at, item);
        }
        self.conversation.transcript_mut().record(item, origin);
    }

    /// Writes into the record that requests show the items of this session from here on. A copy of the session may have
    /// noted items that no request of the session has.
    pub(crate) fn log_items(&mut self) {
        let items = self.conversation.items();
        if let Some((sent, at)) = self.log.sent().filter(|(sent, _)| sent.is_open()) {
            sent.shown(at, &items, &items);
        }
    }

    /// Records a person's message without looking for skills.
    pub(crate) fn record_message(&mut self, inputs: &[UserInput]) {
        let images = images::load(inputs);
        self.notices.omit(images.iter().filter_map(|(path, image)| image_omission(path, image)));
        let draft = user_message(&self.setup.pack, inputs, &images, &self.given);
        self.given.clear();
        let Wrapped { draft, said_before, injected } = self.habits.wrap(inputs, draft);
        for again in &said_before {
            self.note_again(again);
        }
        if self.setup.context_events.are_wanted() {
            for account in &injected {
                let account = serde_json::to_value(account).unwrap_or_default();
                self.notices.send(EventMessage::ContextInjection { account });
            }
        }
        self.injected.extend(injected);
        self.record_draft(&draft);
    }

    /// Records a notice to the model about how it uses its tools.
    pub(crate) fn record_notice(&mut self, notice: &Notice) {
        let draft = self.take_notice(notice);
        self.record_draft(&draft);
    }

    /// The message about a notice, whose effect holds from now on.
    pub(crate) fn take_notice(&mut self, notice: &Notice) -> Draft {
        if let Notice::PrefixSaved { prefix } = notice {
            self.setup.gathered.allow(prefix);
        }
        let pack = &self.setup.pack;
        match notice {
            Notice::PatchThroughShell { tool } => notice::patch_through_shell(pack, tool),
            Notice::PrefixSaved { prefix } => notice::prefix_saved(prefix),
            Notice::ManyTerminals { n, max } => notice::many_terminals(pack, *n, *max),
        }
    }

    /// A message that holds an image and nothing else.
    pub(crate) fn attached_image(&mut self, path: &Path) -> Draft {
        let image = load_image(path);
        self.notices.omit(image_omission(path, &image));
        image_message(&self.setup.pack, path, &image)
    }
}
