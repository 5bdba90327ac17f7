//! Messages: sent, given to the running turn, or kept for the next one.

use pellucid_protocol::input::ByteRange;
use pellucid_protocol::input::TextElement;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;

use super::App;
use super::Effect;
use crate::composer::Message;
use crate::composer::draft::Clip;
use crate::host::HostCall;

/// The inputs of a message: images first, then the text, then the skills that it names.
pub(super) fn inputs(message: &Message) -> Vec<UserInput> {
    let images = message.images.iter().map(|path| UserInput::LocalImage { path: path.clone() });
    let elements = message.labels.iter().map(|(range, label)| TextElement {
        byte_range: ByteRange { start: range.start, end: range.end },
        placeholder: Some(label.clone()),
    });
    let text = (!message.text.is_empty())
        .then(|| UserInput::Text { text: message.text.clone(), text_elements: elements.collect() });
    let skills = message.skills.iter().map(|(name, path)| UserInput::Skill { name: name.clone(), path: path.clone() });
    images.chain(text).chain(skills).collect()
}

impl App {
    /// Sends a message, or gives it to the running turn. Before the session is ready it waits.
    pub(super) fn send(&mut self, message: Message, effects: &mut Vec<Effect>) {
        if self.session.configured.is_none() {
            self.queue.push_back(message);
            return;
        }
        let items = inputs(&message);
        if items.is_empty() {
            return;
        }
        if !message.text.is_empty() {
            effects.push(Effect::Ask(HostCall::Remember(message.text.clone())));
        }
        // Images of the command line have no label in the text, and are not shown.
        let is_shown = |item: &&UserInput| !message.labels.is_empty() || !matches!(item, UserInput::LocalImage { .. });
        let shown: Vec<UserInput> = items.iter().filter(is_shown).cloned().collect();
        let changes = self.transcript.said(&shown, &self.canvas());
        self.changed(changes);
        if std::mem::take(&mut self.session.is_mode_due) {
            effects.push(Effect::Submit(self.mode_change()));
        }
        effects.push(Effect::Submit(Operation::UserInput { items, final_output_json_schema: None }));
    }

    /// Sends the oldest waiting message, unless the list of them is open.
    pub(super) fn send_waiting(&mut self, effects: &mut Vec<Effect>) {
        if self.waiting.is_none()
            && let Some(message) = self.queue.pop_front()
        {
            self.send(message, effects);
        }
    }

    /// Brings the newest waiting message back into the composer.
    pub(super) fn edit_queued(&mut self) {
        if let Some(message) = self.queue.pop_back() {
            self.put_before_draft(vec![message.written]);
        }
    }

    /// Brings all waiting messages back into the composer, before the draft.
    pub(super) fn take_back_queue(&mut self) {
        self.leave_waiting();
        if self.queue.is_empty() {
            return;
        }
        let waiting = self.queue.drain(..).map(|message| message.written).collect();
        self.put_before_draft(waiting);
    }

    /// Puts texts before the draft, each on a line for itself.
    fn put_before_draft(&mut self, mut texts: Vec<Clip>) {
        texts.extend(Some(self.composer.draft().clip()).filter(|draft| !draft.text.is_empty()));
        self.composer.set_draft(joined(texts));
    }

    /// Puts texts behind the draft, each on a line for itself.
    pub(super) fn add_to_draft(&mut self, texts: Vec<Clip>) {
        let draft = Some(self.composer.draft().clip()).filter(|draft| !draft.text.is_empty());
        self.composer.set_draft(joined(draft.into_iter().chain(texts).collect()));
    }
}

/// Texts in one, with a line end between them.
pub(super) fn joined(clips: Vec<Clip>) -> Clip {
    let mut all = Clip::default();
    for clip in clips {
        if !all.text.is_empty() {
            all.text.push('\n');
        }
        let offset = all.text.len();
        all.text.push_str(&clip.text);
        all.pieces.extend(clip.pieces.into_iter().map(|mut piece| {
            piece.range = piece.range.start + offset..piece.range.end + offset;
            piece
        }));
    }
    all
}
