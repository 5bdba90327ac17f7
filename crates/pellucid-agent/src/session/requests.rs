//! What a session sent: its last requests, what they cost, and how the next one continues them.

mod cache;
mod files;
mod size;

use std::sync::Arc;
use std::time::Duration;

use pellucid_engine::continuity;
use pellucid_engine::continuity::Cause;
use pellucid_engine::continuity::Continuity;
use pellucid_engine::continuity::Recorded;
use pellucid_engine::continuity::SentRequest;
use pellucid_engine::digest::Items;
use pellucid_engine::digest::Ledger;
use pellucid_engine::digest::RequestDigest;
use pellucid_engine::facts::Candidate;
use pellucid_engine::file_states::ChangedFile;
use pellucid_engine::file_states::FileStates;
use pellucid_engine::fragment::Omission;
use pellucid_engine::increment::Increment;
use pellucid_engine::increment::RequestPair;
use pellucid_engine::report::Report;
use pellucid_engine::report::Row;
use pellucid_engine::request::Frame;
use pellucid_engine::request::Request;
use pellucid_engine::transcript::Divergence;
use pellucid_engine::transcript::KeptPlace;
use pellucid_engine::transcript::Rendered;
use pellucid_engine::transcript::Transcript;
use pellucid_model::failure::OVERFLOW_ADVICE;
use pellucid_model::socket::KnownPrefix;
use pellucid_model::transport::Attempts;
use pellucid_protocol::cache::CacheVerdict;
use pellucid_protocol::event::CacheBreak;
use pellucid_protocol::event::ContextReport;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::usage::TokenUsage;
use pellucid_protocol::usage::UsageSplit;
use pellucid_store::moment::Moment;
use pellucid_store::read::SessionFile;
use pellucid_store::requests::entry;

use self::cache::CacheState;
use self::files::FilesSeen;
use self::size::Size;
use super::setup::Setup;
use crate::context_events::ContextEvents;
use crate::frames::SharedFrames;
use crate::least::Least;
use crate::memory::PART as MEMORY;
use crate::replay::Before;
use crate::replay::Reader;

/// The requests of a session: the last ones, what they cost, and how the next one continues them.
#[derive(Debug, Clone, Default)]
pub(super) struct Requests {
    last: Option<LastRequest>,
    /// The request before it, which is the last again if that one is not sent.
    previous: Option<Box<LastRequest>>,
    size: Size,
    n: u64,
    /// The file that the history is from, until its record was read.
    restored_from: Option<Box<SessionFile>>,
    /// The last request of an earlier process, until a request of this one is compared with it.
    recorded: Option<Box<Recorded>>,
    /// The texts that the last request of an earlier process had between items.
    recorded_places: Vec<KeptPlace>,
    spent: UsageSplit,
    files: FilesSeen,
    cache: CacheState,
    /// Why the next request may not extend the last one.
    cause: Option<Cause>,
    /// The slot whose text within the conversation moved or changed since the last request.
    moved: Option<Arc<str>>,
    /// Whether a request that diverges from the one before without an expected cause is refused.
    refuses_breaks: bool,
    ledger: Ledger,
    /// The rows that the last report to clients had.
    reported_rows: Vec<Row>,
}

/// The byte of the body behind the memory of the session, if the request has one.
fn end_of_memory(frame: &Frame, items: &[Rendered]) -> Option<usize> {
    let is_memory = |item: &Rendered| item.spans.iter().any(|span| &*span.part == MEMORY);
    let last = items.iter().rposition(is_memory)?;
    Some(frame.head_bytes().len() + items[..=last].iter().map(Rendered::len).sum::<usize>())
}

/// What the last request was made of.
#[derive(Debug, Clone)]
struct LastRequest {
    frame: Frame,
    n_items: usize,
    sent: SentRequest,
    continuity: Option<Continuity>,
    /// The files that differ from those of the request before.
    changed_files: Vec<ChangedFile>,
    /// The digests of the request, where requests are recorded.
    account: Option<RequestDigest>,
    /// What a server knows of the request if it remembers the one before.
    known: Option<KnownPrefix>,
}

impl Requests {
    /// The requests of a session with a history. The record of the file is read once it is needed.
    pub(super) fn after(file: Option<SessionFile>, files: Option<FileStates>, cause: Option<Cause>) -> Self {
        Self {
            restored_from: file.map(Box::new),
            files: FilesSeen::after(files),
            cache: CacheState::of_history(),
            cause,
            ..Self::default()
        }
    }

    /// How many requests this process made.
    pub(super) fn n(&self) -> u64 {
        self.n
    }

    /// Gives the reason if the next request does not extend the last one.
    pub(super) fn expect_break(&mut self, cause: Cause) {
        self.cause = Some(cause);
    }

    /// Names the slot whose text within the conversation moved or changed, so that the next request does not extend the last one.
    pub(super) fn text_moved(&mut self, slot: Arc<str>) {
        self.cause = None;
        self.moved = Some(slot);
    }

    /// Makes the request with everything recorded so far.
    pub(super) fn make(
        &mut self,
        frame: &Frame,
        transcript: &mut Transcript,
        setup: &Setup,
        is_recording: bool,
        is_observed: bool,
    ) -> Request {
        let request = frame.request(transcript);
        let divergence = transcript.take_divergence();
        let items = if divergence.is_some() { Items::Changed } else { Items::Extended };
        let account =
            (is_recording || is_observed).then(|| self.ledger.account(frame, &request, transcript.rendered(), items));
        self.recall(setup, is_recording);
        let continuity = self.continuity(frame, &request, transcript, setup, divergence);
        self.cache.next_request();
        let known = self.last.as_ref().zip(continuity.as_ref()).and_then(|(last, continuity)| {
            let step = RequestPair { sent: &last.sent, frame, continuity, items: transcript.rendered() };
            let Increment { known_bytes, n_returned } = Increment::of(&step)?;
            Some(KnownPrefix { number: self.n, bytes: known_bytes, n_returned })
        });
        self.n += 1;
        let changed_files = self.files.take_changed();
        let n_items = transcript.rendered().len();
        let before = self.last.replace(LastRequest {
            frame: frame.clone(),
            n_items,
            sent: SentRequest::new(frame, transcript.shown_len(), n_items),
            continuity,
            changed_files,
            account,
            known,
        });
        self.previous = before.map(Box::new);
        request
    }

    /// How a request continues the one before: that of this process, else the last one of the record.
    fn continuity(
        &mut self,
        frame: &Frame,
        request: &Request,
        transcript: &mut Transcript,
        setup: &Setup,
        divergence: Option<Divergence>,
    ) -> Option<Continuity> {
        let left = transcript.take_left();
        let known = std::mem::take(&mut self.recorded_places);
        let moved = self.moved.take().or_else(|| {
            let places = transcript.places();
            let is_same = |(known, now): (&KeptPlace, &KeptPlace)| known.before == now.before && known.item == now.item;
            let n_same = known.iter().zip(&places).take_while(|pair| is_same(*pair)).count();
            known.get(n_same).map(KeptPlace::slot)
        });
        let next = continuity::NextRequest {
            frame,
            request,
            items: transcript.rendered(),
            order: setup.provider.reading_order(),
            left,
            cause: self.cause.take(),
            moved: moved.as_deref(),
        };
        let recorded = self.recorded.take();
        let compared = |next: &continuity::NextRequest<'_>| match &self.last {
            Some(last) => last.sent.continued_by(next, divergence),
            None => recorded.as_ref()?.continued_by(next),
        };
        let continuity = compared(&next)?;
        // A memory that is what it was is not the cause of a difference behind it.
        let is_behind = end_of_memory(frame, next.items).is_some_and(|end| continuity.items_end >= end);
        if next.moved.is_some() && next.cause == Some(Cause::Memory) && is_behind {
            return compared(&continuity::NextRequest { cause: None, ..next });
        }
        Some(continuity)
    }

    /// How a request that is no continuation of the conversation, such as one for a summary, continues the last request.
    pub(super) fn continuity_beside(
        &mut self,
        frame: &Frame,
        request: &Request,
        setup: &Setup,
        is_recording: bool,
    ) -> Option<Continuity> {
        self.recall(setup, is_recording);
        let order = setup.provider.reading_order();
        let next = continuity::NextRequest { frame, request, items: &[], order, left: None, cause: None, moved: None };
        let Some(last) = self.last.as_ref() else {
            return self.recorded.as_ref()?.continued_by(&next);
        };
        let mark = last.account.as_ref()?.marks.last()?;
        let marks = vec![(mark.n_items, mark.end, mark.beginning.short())];
        Recorded { frame: last.frame.clone(), marks }.continued_by(&next)
    }

    /// Reads once what the record has of the requests of earlier processes: what all of them cost, and what the next
    /// request is compared with. It is read only for clients that ask for it and for the record itself.
    fn recall(&mut self, setup: &Setup, is_recording: bool) {
        let reader = if setup.context_events.are_wanted() { Reader::Client } else { Reader::InPassing };
        if reader == Reader::Client || is_recording {
            self.recall_by(setup, reader);
        } else {
            self.restored_from = None;
        }
    }

    fn recall_by(&mut self, setup: &Setup, reader: Reader) {
        let home = &setup.sources.config.folders.home;
        let Some(before) = self.restored_from.take().and_then(|file| Before::read(home, &file, reader)) else {
            return;
        };
        self.spent.add(&before.usage);
        if let Some(request) = before.request {
            self.cache.recall(&request);
            self.recorded = Some(Box::new(request.sent));
            self.recorded_places = request.places;
        }
    }

    /// Reads what the record has of earlier processes now, because a client asks what the next request would be.
    pub(super) fn recall_for_client(&mut self, setup: &Setup) {
        self.recall_by(setup, Reader::Client);
    }

    /// Refuses a request whose least number of tokens exceeds the window.
    pub(super) fn check_window(
        &mut self,
        request: &Request,
        window: u64,
        least: &Least,
        model: &str,
    ) -> Result<(), ReplyError> {
        if self.size.tokens_max(request.len() as u64) <= window {
            return Ok(());
        }
        let least = least.tokens(&request.segments);
        self.size.counted(least);
        if least <= window {
            return Ok(());
        }
        let message = format!(
            "the prompt has at least {least} tokens and the window of the model `{model}` has {window}, so it was not \
             sent; {OVERFLOW_ADVICE}"
        );
        Err(ReplyError::new(ReplyErrorKind::ContextWindowExceeded, message))
    }

    /// Forgets the last request, because it was not sent.
    pub(super) fn take_back(&mut self) {
        self.last = self.previous.take().map(|previous| *previous);
        self.files.take_back();
        self.n = self.n.saturating_sub(1);
    }

    /// Forgets what can be made again, and the request before the last one, which counts only until the last one is sent.
    pub(super) fn unload(&mut self) {
        self.previous = None;
        self.last = self.last.take().map(|mut last| {
            last.frame.forget_reading();
            LastRequest { sent: last.sent.with_frame(&last.frame), ..last }
        });
    }

    /// Whether a request was made for an answer.
    pub(super) fn has_last(&self) -> bool {
        self.last.is_some()
    }

    /// The frame and the digests of the last request, where requests are recorded.
    pub(super) fn last_account(&self) -> Option<(&Frame, &RequestDigest)> {
        let last = self.last.as_ref()?;
        Some((&last.frame, last.account.as_ref()?))
    }

    /// What surrounded the items of the last request.
    pub(super) fn last_frame(&self) -> Option<&Frame> {
        Some(&self.last.as_ref()?.frame)
    }

    /// What a server knows of the last request if it remembers the one before.
    pub(super) fn last_known(&self) -> Option<KnownPrefix> {
        self.last.as_ref()?.known
    }

    /// The files that differ between the last request and the one before.
    pub(super) fn last_changed_files(&self) -> &[ChangedFile] {
        self.last.as_ref().map_or(&[], |last| &last.changed_files)
    }

    /// Where the last request differs from the one before, if it does.
    pub(super) fn cache_break(&self) -> Option<CacheBreak> {
        self.last.as_ref()?.continuity.as_ref()?.cache_break()
    }

    /// Refuses requests from now on that diverge from the one before without an expected cause.
    pub(super) fn refuse_breaks(&mut self) {
        self.refuses_breaks = true;
    }

    /// Checks that the last request may be sent although it diverges from the one before.
    ///
    /// # Errors
    /// The cause is not an expected one, and such requests are refused.
    pub(super) fn check_break(&self) -> Result<(), ReplyError> {
        let broken = self.last.as_ref().and_then(|last| last.continuity.as_ref()?.broken.as_ref());
        match broken.filter(|broken| self.refuses_breaks && !broken.cause.is_expected()) {
            Some(broken) => {
                let message = format!(
                    "the request diverges from the one before at {} ({}), which costs {} tokens, so --strict-cache did not \
                     send it",
                    broken.part,
                    broken.cause.as_str(),
                    broken.tokens_rebilled,
                );
                Err(ReplyError::new(ReplyErrorKind::Local, message))
            }
            None => Ok(()),
        }
    }

    /// What the last request was made of; absent before the first.
    pub(super) fn report(
        &self,
        transcript: &Transcript,
        omissions: &[Omission],
        candidates: Vec<Candidate>,
    ) -> Option<Report> {
        let last = self.last.as_ref()?;
        let items = transcript.rendered().get(..last.n_items)?;
        let not_on_wire = last.frame.omissions().iter().chain(transcript.omissions());
        let omissions = omissions.iter().chain(not_on_wire).cloned().collect();
        let mut report = Report::new(&last.frame, items, omissions, candidates);
        report.continuity.clone_from(&last.continuity);
        report.changed_files.clone_from(&last.changed_files);
        Some(report)
    }

    /// The event that reports a request to clients: its rows without those that the request before had, and what it asks
    /// for if that is not an answer.
    pub(super) fn report_event(
        &mut self,
        report: &Report,
        purpose: Option<&str>,
        readers: &mut ContextEvents,
    ) -> EventMessage {
        if readers.take_new_reader() {
            self.reported_rows.clear();
        }
        let new = report.since(&self.reported_rows);
        self.reported_rows.clone_from(&report.rows);
        EventMessage::ContextReport(ContextReport { purpose: purpose.map(str::to_owned), ..new })
    }

    /// Which files differ from those of the last request.
    pub(super) fn changed_files(&self) -> Vec<ChangedFile> {
        self.files.changed()
    }

    /// The same for a request that is made now. The next request is compared with it.
    pub(super) fn take_changed_files(&mut self) -> Vec<ChangedFile> {
        self.files.take_changed()
    }

    /// The states of files that are known, the newest first.
    pub(super) fn known_files(&self) -> Vec<&FileStates> {
        self.files.known()
    }

    /// Takes over the files that the next request is made from.
    pub(super) fn read_files(&mut self, now: FileStates, shared: &SharedFrames) -> &Arc<FileStates> {
        self.files.read(now, shared)
    }

    /// Where attempts to send the request are counted.
    pub(super) fn attempts(&self) -> Attempts {
        self.cache.attempts()
    }

    /// Notes that the last request is sent now. Gives the time.
    pub(super) fn sends(&mut self) -> Moment {
        self.cache.sends(None)
    }

    /// Notes that a request for a summary is sent now. Gives the time.
    pub(super) fn sends_for_summary(&mut self, continuity: Option<Continuity>) -> Moment {
        self.cache.sends(Some(continuity))
    }

    /// Notes an event of a reply that is not its end.
    pub(super) fn note(&mut self, event: &ReplyEvent) {
        self.cache.note(event);
    }

    /// Notes that the provider's summary came. Gives whether it was asked for: a history without items is summarised
    /// without a request.
    pub(super) fn note_whole(&mut self) -> bool {
        let is_asked = self.cache.is_in_flight();
        if is_asked {
            self.cache.note_whole();
        }
        is_asked
    }

    /// Notes that a request was answered. Gives what the record gets of it, and the event about its cost.
    pub(super) fn answered(
        &mut self,
        response_id: Option<String>,
        usage: Option<&TokenUsage>,
        kept_for: Option<Duration>,
    ) -> (entry::ReplyEntry, Option<EventMessage>) {
        let last = self.last.as_ref().and_then(|last| last.continuity.as_ref());
        let cache = self.cache.judge(last, usage, kept_for);
        if let Some(usage) = usage.filter(|_| !self.cache.is_summary()) {
            self.size.reported(usage.input_tokens);
        }
        let (usage_copy, cache_copy) = (usage.copied(), Some(cache.clone()));
        let reply = entry::ReplyEntry { response_id, usage: usage_copy, cache: cache_copy, ..self.cache.over() };
        let event = usage.map(|usage| self.spend(UsageSplit::new(usage, reply.cache_write), cache));
        (reply, event)
    }

    /// Notes that a request has no answer, for this reason. Gives what the record gets of it.
    pub(super) fn failed(&mut self, why: &str) -> entry::ReplyEntry {
        entry::ReplyEntry { failure: Some(why.to_owned()), ..self.cache.over() }
    }

    /// What came of the provider's cache for a request beside the conversation that was sent at this time.
    pub(super) fn judge_beside(
        &self,
        sent_at: Moment,
        continuity: Option<&Continuity>,
        usage: Option<&TokenUsage>,
        kept_for: Option<Duration>,
    ) -> CacheVerdict {
        self.cache.judge_beside(sent_at, continuity, usage, kept_for)
    }

    /// Adds the cost of a request. Gives the event about it.
    pub(super) fn spend(&mut self, request: UsageSplit, cache: CacheVerdict) -> EventMessage {
        self.spent.add(&request);
        EventMessage::ContextUsage { request, session: self.spent, cache }
    }

    /// Adds the cost of a question beside the conversation.
    pub(super) fn spend_apart(&mut self, request: &UsageSplit) {
        self.spent.add(request);
    }

    /// Takes over what all requests cost, those of a copy included.
    pub(super) fn count_spent(&mut self, copy: &Self) {
        self.spent = copy.spent;
    }

    /// What all requests of the session cost, as far as its record was read.
    pub(super) fn spent(&self) -> UsageSplit {
        self.spent
    }
}
