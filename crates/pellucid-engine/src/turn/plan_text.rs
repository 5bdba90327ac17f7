//! Plans in the model's messages while a plan is being made.
//!
//! In plan mode, lines between `<proposed_plan>` and `</proposed_plan>` are a plan, which clients show as a separate
//! item; the rest is the message. Text comes in pieces of any size, so the start of a line is held back for as long as
//! it may become a tag. The history keeps the model's text unchanged.
//!
//! - [`Splitter`] separates plan and message, piece by piece
//! - [`PlanRound`] remembers what of a reply was shown
//!
//! Not here: what a plan is used for. The pack explains that to the model, and clients explain it to people.

use pellucid_protocol::event::AgentContent;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::TurnItem;
use pellucid_protocol::item::Item;
use pellucid_protocol::settings::CollaborationModeKind;

use super::RunningTurn;
use super::Wish;
use crate::fragment::Origin;
use crate::turn_item;

const OPEN: &str = "<proposed_plan>";
const CLOSE: &str = "</proposed_plan>";

/// A piece of the model's text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    /// Text of the message.
    Message(String),
    /// A plan begins here.
    PlanStart,
    /// Text of the plan.
    Plan(String),
}

/// Separates the plan from the message.
#[derive(Debug, Default)]
struct Splitter {
    /// The line so far, while it may become a tag.
    held: String,
    /// Whether the line cannot become a tag any more.
    is_plain: bool,
    is_in_plan: bool,
}

impl Splitter {
    /// Takes the next piece of text and returns what is decided by now.
    fn push(&mut self, text: &str) -> Vec<Segment> {
        let mut segments = Vec::new();
        for piece in text.split_inclusive('\n') {
            let ends_line = piece.ends_with('\n');
            if self.is_plain {
                self.give(piece, &mut segments);
            } else {
                self.held.push_str(piece);
                if ends_line {
                    self.end_line(&mut segments);
                } else if !may_become_tag(&self.held) {
                    let held = std::mem::take(&mut self.held);
                    self.give(&held, &mut segments);
                    self.is_plain = true;
                }
            }
            if ends_line {
                self.is_plain = false;
            }
        }
        segments
    }

    /// Ends the text: decides about what is held back, and ends an open plan.
    fn finish(&mut self) -> Vec<Segment> {
        let mut segments = Vec::new();
        if !self.held.is_empty() {
            self.end_line(&mut segments);
        }
        *self = Self::default();
        segments
    }

    fn end_line(&mut self, segments: &mut Vec<Segment>) {
        let line = std::mem::take(&mut self.held);
        match (line.trim(), self.is_in_plan) {
            (OPEN, false) => {
                self.is_in_plan = true;
                segments.push(Segment::PlanStart);
            }
            (CLOSE, true) => self.is_in_plan = false,
            _ => self.give(&line, segments),
        }
    }

    fn give(&self, text: &str, segments: &mut Vec<Segment>) {
        match (segments.last_mut(), self.is_in_plan) {
            (Some(Segment::Plan(last)), true) | (Some(Segment::Message(last)), false) => last.push_str(text),
            (_, true) => segments.push(Segment::Plan(text.to_owned())),
            (_, false) => segments.push(Segment::Message(text.to_owned())),
        }
    }
}

fn may_become_tag(line: &str) -> bool {
    let line = line.trim();
    OPEN.starts_with(line) || CLOSE.starts_with(line)
}

/// A whole text, split into message and plan.
#[derive(Debug, Default, PartialEq, Eq)]
struct Split {
    /// The text without plans.
    message: String,
    /// The last plan of the text.
    plan: Option<String>,
}

fn split(text: &str) -> Split {
    let mut splitter = Splitter::default();
    let mut segments = splitter.push(text);
    segments.extend(splitter.finish());
    let mut split = Split::default();
    for segment in segments {
        match segment {
            Segment::Message(text) => split.message.push_str(&text),
            Segment::PlanStart => split.plan = Some(String::new()),
            Segment::Plan(text) => split.plan.get_or_insert_default().push_str(&text),
        }
    }
    split
}

/// What of the plan and of the message in a reply was shown.
#[derive(Debug, Default)]
pub(super) struct PlanRound {
    splitter: Splitter,
    /// A message that will be shown once it has more than white space.
    unshown: Option<TurnItem>,
    /// Whether the active message is shown.
    is_shown: bool,
    /// The white space at the beginning of the message.
    blank: String,
    plan: Progress,
}

/// Whether the plan's item was begun and completed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Progress {
    #[default]
    None,
    Started,
    Completed,
}

impl RunningTurn {
    /// Whether an item is a message that may contain a plan.
    pub(super) fn may_hold_plan(&self, item: &TurnItem) -> bool {
        self.settings.mode == CollaborationModeKind::Plan && matches!(item, TurnItem::AgentMessage { .. })
    }

    /// Notes that a message began; it is shown once it has text.
    pub(super) fn plan_message_added(&mut self, message: TurnItem) {
        let plans = &mut self.round.plans;
        plans.splitter = Splitter::default();
        plans.blank.clear();
        plans.is_shown = false;
        plans.unshown = Some(without_plans(message));
    }

    /// Takes more text of the active item, if the item may contain a plan.
    pub(super) fn plan_text(&mut self, text: &str) -> Option<Vec<Wish>> {
        let item = self.round.active.as_ref().filter(|item| self.may_hold_plan(item))?;
        let id = item.id().to_owned();
        let segments = self.round.plans.splitter.push(text);
        Some(self.show_segments(&id, segments))
    }

    /// Notes that the active item gets no more text.
    pub(super) fn plan_text_over(&mut self) -> Vec<Wish> {
        let Some(item) = self.round.active.as_ref().filter(|item| self.may_hold_plan(item)) else {
            return Vec::new();
        };
        let id = item.id().to_owned();
        let segments = self.round.plans.splitter.finish();
        self.show_segments(&id, segments)
    }

    /// Completes a message: its plan, and the rest.
    pub(super) fn plan_message_done(&mut self, item: Item, message: TurnItem) -> Vec<Wish> {
        let mut wishes = self.plan_text_over();
        self.round.active = None;
        let Split { message: said, plan } = split(&turn_item::said(&item).unwrap_or_default());
        if let Some(text) = plan {
            wishes.extend(self.start_plan());
            if self.round.plans.plan == Progress::Started {
                self.round.plans.plan = Progress::Completed;
                wishes.push(self.item_completed(TurnItem::Plan { id: self.plan_id(), text }));
            }
        }
        let unshown = self.round.plans.unshown.take();
        if !said.trim().is_empty() {
            let message = without_plans(message);
            if !self.round.plans.is_shown {
                wishes.push(self.item_started(&unshown.unwrap_or_else(|| emptied(&message))));
            }
            wishes.push(self.item_completed(message));
            self.round.last_message = Some(said);
        }
        self.round.plans.is_shown = false;
        wishes.push(Wish::Record(item, Origin::Model));
        wishes
    }

    fn show_segments(&mut self, id: &str, segments: Vec<Segment>) -> Vec<Wish> {
        let mut wishes = Vec::new();
        for segment in segments {
            match segment {
                Segment::Message(text) => wishes.extend(self.show_message_text(id, text)),
                Segment::PlanStart => wishes.extend(self.start_plan()),
                Segment::Plan(_) if self.round.plans.plan == Progress::Completed => {}
                Segment::Plan(delta) => wishes.push(Wish::Emit(EventMessage::PlanDelta {
                    thread_id: self.settings.session_id.clone(),
                    turn_id: self.settings.turn_id.clone(),
                    item_id: self.plan_id(),
                    delta,
                })),
            }
        }
        wishes
    }

    fn show_message_text(&mut self, id: &str, text: String) -> Vec<Wish> {
        let mut wishes = Vec::new();
        let plans = &mut self.round.plans;
        let mut delta = text;
        if let Some(message) = plans.unshown.take() {
            if delta.trim().is_empty() {
                plans.blank.push_str(&delta);
                plans.unshown = Some(message);
                return wishes;
            }
            delta.insert_str(0, &std::mem::take(&mut plans.blank));
            plans.is_shown = true;
            wishes.push(self.item_started(&message));
        }
        wishes.push(Wish::Emit(EventMessage::AgentMessageContentDelta {
            thread_id: self.settings.session_id.clone(),
            turn_id: self.settings.turn_id.clone(),
            item_id: id.to_owned(),
            delta,
        }));
        wishes
    }

    /// Begins the plan's item, once in a reply.
    fn start_plan(&mut self) -> Option<Wish> {
        if self.round.plans.plan != Progress::None {
            return None;
        }
        self.round.plans.plan = Progress::Started;
        Some(self.item_started(&TurnItem::Plan { id: self.plan_id(), text: String::new() }))
    }

    fn plan_id(&self) -> String {
        format!("{}-plan", self.settings.turn_id)
    }
}

/// The message with its texts joined and without plans.
fn without_plans(message: TurnItem) -> TurnItem {
    match message {
        TurnItem::AgentMessage { id, content, phase } => {
            let text: String = content.iter().map(|AgentContent::Text { text }| text.as_str()).collect();
            let content = vec![AgentContent::Text { text: split(&text).message }];
            TurnItem::AgentMessage { id, content, phase }
        }
        other => other,
    }
}

/// The message without text.
fn emptied(message: &TurnItem) -> TurnItem {
    TurnItem::AgentMessage { id: message.id().to_owned(), content: Vec::new(), phase: None }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    /// Shows what is told after each piece, and what the whole text comes to.
    #[track_caller]
    fn check_pieces(pieces: &[&str], expected: &Expect) {
        let mut splitter = Splitter::default();
        let mut lines = String::new();
        for piece in pieces {
            lines += &format!("{:?}\n", splitter.push(piece));
        }
        lines += &format!("{:?}\n{:?}\n", splitter.finish(), split(&pieces.concat()));
        expected.assert_eq(&lines);
    }

    #[test]
    fn a_line_is_held_while_it_may_be_a_tag() {
        check_pieces(
            &["Hi <b\n  <prop", "osed_plan> \n- on", "e\n</propos", "als>\n</proposed_plan>", "\nBye"],
            &expect![[r#"
                [Message("Hi <b\n")]
                [PlanStart, Plan("- on")]
                [Plan("e\n")]
                [Plan("</proposals>\n")]
                [Message("Bye")]
                []
                Split { message: "Hi <b\nBye", plan: Some("- one\n</proposals>\n") }
            "#]],
        );
    }

    #[test]
    fn tags_stand_alone_on_their_line_and_in_their_place() {
        check_pieces(
            &["x <proposed_plan>\n</proposed_plan>\n<proposed_plan> x\n<proposed_plan>\n<proposed_plan>\n"],
            &expect![[r#"
                [Message("x <proposed_plan>\n</proposed_plan>\n<proposed_plan> x\n"), PlanStart, Plan("<proposed_plan>\n")]
                []
                Split { message: "x <proposed_plan>\n</proposed_plan>\n<proposed_plan> x\n", plan: Some("<proposed_plan>\n") }
            "#]],
        );
    }

    #[test]
    fn an_open_plan_ends_with_the_text_and_the_last_plan_counts() {
        check_pieces(
            &["<proposed_plan>\nA\n</proposed_plan>\n\n<proposed_plan>\nB\n  </proposed_plan"],
            &expect![[r#"
                [PlanStart, Plan("A\n"), Message("\n"), PlanStart, Plan("B\n")]
                [Plan("  </proposed_plan")]
                Split { message: "\n", plan: Some("B\n  </proposed_plan") }
            "#]],
        );
        check_pieces(
            &["\n<proposed_plan>"],
            &expect![[r#"
            [Message("\n")]
            [PlanStart]
            Split { message: "\n", plan: Some("") }
        "#]],
        );
    }

    /// The texts of message and plan, put together.
    fn texts(segments: &[Segment]) -> (String, String, usize) {
        let (mut message, mut plan, mut n_plans) = (String::new(), String::new(), 0);
        for segment in segments {
            match segment {
                Segment::Message(text) => message.push_str(text),
                Segment::Plan(text) => plan.push_str(text),
                Segment::PlanStart => n_plans += 1,
            }
        }
        (message, plan, n_plans)
    }

    proptest! {
        #[test]
        fn pieces_of_any_size_come_to_the_same(
            parts in prop::collection::vec(
                prop_oneof![
                    Just("<proposed_plan>"), Just("</proposed_plan>"), Just("<propo"), Just("\n"), Just(" "),
                    Just("é"), Just("text"), Just("\r\n"),
                ],
                0..30,
            ),
            cuts in prop::collection::vec(0_usize..200, 0..20),
        ) {
            let text = parts.concat();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| text.floor_char_boundary(cut)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let mut splitter = Splitter::default();
            let mut pieces = Vec::new();
            for pair in cuts.windows(2) {
                pieces.extend(splitter.push(&text[pair[0]..pair[1]]));
            }
            pieces.extend(splitter.finish());
            let mut whole = Splitter::default().push(&text);
            let mut splitter = Splitter::default();
            splitter.push(&text);
            whole.extend(splitter.finish());
            prop_assert_eq!(texts(&pieces), texts(&whole));
            prop_assert_eq!(texts(&pieces).0, split(&text).message);
        }
    }
}
