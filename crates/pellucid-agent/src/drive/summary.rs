//! Making the history of a session shorter, as the turn wishes.

use pellucid_engine::compaction::Compaction;
use pellucid_engine::compaction::Dropped;
use pellucid_engine::facts::Facts;
use pellucid_engine::turn::RunningTurn;
use pellucid_engine::turn::SummarisedBy;
use pellucid_engine::turn::SummaryModel;
use pellucid_engine::turn::TurnEvent;
use pellucid_engine::turn::compacting::CompactionWish;
use pellucid_model::Ask;
use pellucid_model::ProviderSummary;
use pellucid_protocol::item::Item;

use super::Driver;
use super::input_text;
use super::waiting::Waiting;
use crate::door::ClientGone;
use crate::door::Inside;
use crate::session::AskKind;
use crate::session::RunningSummary;
use crate::session::SummaryRequest;

/// A summary that is being made.
pub(super) struct Summary {
    /// What is summarised, and what was answered.
    running: RunningSummary,
    /// How many items the request had that was reported to clients last.
    n_told: Option<usize>,
}

impl Summary {
    /// The facts of the model that makes it.
    pub(super) fn facts(&self) -> &Facts {
        &self.running.facts
    }
}

impl Driver<'_> {
    /// Does what the turn wishes for a summary.
    pub(super) async fn compact(
        &mut self,
        turn: &RunningTurn,
        wish: CompactionWish,
        inside: &Inside,
    ) -> Result<(), ClientGone> {
        match wish {
            CompactionWish::Start(summariser) => self.start_compaction(turn, summariser, inside).await?,
            CompactionWish::AskAgain => {
                if let Some(reply) = self.summary.as_mut().and_then(|summary| summary.running.reply.as_mut()) {
                    reply.clear();
                }
                self.ask_for_summary(turn, inside).await?;
            }
            CompactionWish::DropOldest => self.drop_items(Compaction::drop_oldest),
            CompactionWish::DropHalf => self.drop_items(Compaction::drop_half),
            CompactionWish::Note(item, origin) => {
                let running = self.summary.as_mut().map(|summary| &mut summary.running);
                RunningSummary::note(running, self.session, item, origin);
            }
            CompactionWish::SummariseLocally => {
                if let Some(summary) = self.summary.take() {
                    self.events.push_back(summary.running.rebuild_locally(self.session));
                    self.tell(inside).await?;
                }
            }
            CompactionWish::Replace(items) => {
                if let Some(summary) = self.summary.take() {
                    let rebuilt = self.session.replace(summary.running.compaction, items, &summary.running.facts);
                    self.events.push_back(TurnEvent::Rebuilt(rebuilt));
                    self.tell(inside).await?;
                }
            }
            CompactionWish::Rebuild => {
                let event = self.summary.take().map(|summary| self.rebuild(summary));
                self.events.extend(event);
                self.tell(inside).await?;
            }
            CompactionWish::Log => self.session.log_summary(),
        }
        Ok(())
    }

    async fn start_compaction(
        &mut self,
        turn: &RunningTurn,
        summariser: SummaryModel,
        inside: &Inside,
    ) -> Result<(), ClientGone> {
        let compaction = self.session.compaction(Some(&input_text(&self.input.items)));
        let facts = self.session.summary_facts(summariser);
        if let Some(error) = compaction.failure() {
            self.events.push_back(TurnEvent::WindowExceeded(error.clone()));
        } else if compaction.has_question() {
            self.summary =
                Some(Summary { running: RunningSummary::new(self.session, compaction, facts), n_told: None });
            if self.session.summarised_by() == SummarisedBy::Model {
                self.log_context();
            }
            self.ask_for_summary(turn, inside).await?;
        } else {
            let drops_recalled = compaction.recalled_left().is_some();
            let rebuilt = self.session.rebuild(compaction, &facts);
            self.frame_again(drops_recalled);
            self.events.push_back(TurnEvent::Rebuilt(rebuilt));
        }
        Ok(())
    }

    /// Leaves items out of what is summarised, if there is something to leave out.
    fn drop_items(&mut self, drop: impl FnOnce(&mut Compaction) -> Dropped) {
        let dropped = self.summary.as_mut().map_or(Dropped::Nothing, |summary| drop(&mut summary.running.compaction));
        self.events.push_back(TurnEvent::OldestDropped(dropped));
    }

    /// Puts a summary in place of the history, unless it is refused.
    fn rebuild(&mut self, mut summary: Summary) -> TurnEvent {
        if let Some(reply) = &mut summary.running.reply {
            let items: Vec<Item> = reply.iter().map(|(item, _)| item.clone()).collect();
            if let Some(error) = self.session.refusal(&summary.running.compaction, &items) {
                reply.clear();
                self.summary = Some(summary);
                return TurnEvent::SummaryRefused(error);
            }
        }
        let drops_recalled = summary.running.compaction.recalled_left().is_some();
        let rebuilt = summary.running.rebuild(self.session);
        self.frame_again(drops_recalled);
        rebuilt
    }

    /// Puts the base instructions as they are now around the turn's next requests, if recalled texts in them had to go.
    fn frame_again(&mut self, drops_recalled: bool) {
        if drops_recalled {
            self.frame = self.session.frame(self.input.output_schema.clone());
        }
    }

    /// Asks the model or the provider for the summary that is being made.
    async fn ask_for_summary(&mut self, turn: &RunningTurn, inside: &Inside) -> Result<(), ClientGone> {
        let Some(summary) = &mut self.summary else {
            return Ok(());
        };
        let asked = self.session.summary_request(&summary.running.compaction, &summary.running.facts);
        let n_items = summary.running.compaction.n_items();
        let is_new = summary.n_told.replace(n_items) != Some(n_items);
        let mut ticket = None;
        if let Some(SummaryRequest { frame, request, report }) = &asked {
            match self.session.admit_again(request) {
                Ok(admitted) => ticket = Some(admitted),
                Err(error) => {
                    self.events.push_back(TurnEvent::ReplyFailed(error));
                    return Ok(());
                }
            }
            self.session.log_summary_request(&self.input.id, &summary.running.compaction, frame, request);
            if let Some(event) = self.session.summary_event(report).filter(|_| is_new) {
                self.emit(event, inside).await?;
            }
        }
        let request = asked.map(|asked| asked.request);
        match self.session.summarised_by() {
            SummarisedBy::Model => {
                self.request = request;
                if let Some(ticket) = ticket {
                    self.ask(turn, AskKind::Summary, ticket).await;
                }
            }
            SummarisedBy::Provider => {
                let (model, headers) = (self.session.setup.model.clone(), self.session.own_headers());
                let attempts = self.session.attempts();
                self.waiting = Waiting::Summarising(Box::pin(async move {
                    match request {
                        Some(request) => {
                            let ask = Ask { body: request.segments, headers, ticket, attempts, ..Ask::default() };
                            model.compact(ask).await
                        }
                        None => Ok(ProviderSummary { items: Vec::new(), usage: None }),
                    }
                }));
            }
        }
        Ok(())
    }
}
