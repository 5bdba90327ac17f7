//! What a turn would send first, without sending it.
//!
//! The turn is run as the driver runs it, by the same value and with the same figures, up to its first request. If the
//! history has to be made shorter first, that is the request for the summary. The request behind it is then a plan: all
//! of it is known but the summary.

use std::ops::Range;

use pellucid_engine::compaction::Compaction;
use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::Origin;
use pellucid_engine::pack::CompactionStrategy;
use pellucid_engine::report::Report;
use pellucid_engine::request::Request;
use pellucid_engine::transcript::ReasoningCounted;
use pellucid_engine::turn::Due;
use pellucid_engine::turn::FirstRetry;
use pellucid_engine::turn::RunningTurn;
use pellucid_engine::turn::SummarisedBy;
use pellucid_engine::turn::TurnEvent;
use pellucid_engine::turn::TurnSettings;
use pellucid_engine::turn::Wish;
use pellucid_engine::turn::compacting::CompactionWish;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;
use serde_json::Value;

use super::Session;
use super::shortening::SummaryRequest;
use crate::drive::input_text;
use crate::memory;
use crate::memory::Offline;

/// The text in place of a summary that is not known yet.
const UNKNOWN: &str = "(the summary, which is not known yet)";

/// What a turn would send first.
#[derive(Debug)]
pub struct TurnPreview {
    /// What the request asks for.
    pub purpose: NextPurpose,
    /// The request, byte for byte as it would be sent, in pieces that the history shares.
    pub request: Request,
    /// What the body is made of.
    pub report: Report,
    /// Why the history is made shorter first, if it is.
    pub due: Option<Due>,
    /// The request after it, if a part of that one is not known yet.
    pub plan: Option<UnfinishedRequest>,
    /// Reasons why other bytes may be sent.
    pub reasons: Vec<String>,
    /// What MCP servers give for the input when it is sent, and were not asked for now.
    pub unasked: Vec<String>,
    /// Warnings that the person sees.
    pub warnings: Vec<String>,
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextPurpose {
    /// The model's answer to the conversation.
    Answer,
    /// A summary of the history, from the model.
    Summary,
    /// A summary of the history, from the provider's own endpoint.
    ProviderSummary,
    /// A summary for the memory of the session.
    MemorySummary,
    /// Vectors for the memory of the session.
    MemoryVectors,
}

impl NextPurpose {
    /// The name of the purpose in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Summary => "summary",
            Self::ProviderSummary => "provider_summary",
            Self::MemorySummary => "memory_summary",
            Self::MemoryVectors => "vectors",
        }
    }
}

/// A request with a part that is not known yet.
#[derive(Debug)]
pub struct UnfinishedRequest {
    /// The body, with a placeholder where the hole is.
    pub body: Vec<u8>,
    /// What the body is made of.
    pub report: Report,
    /// Which bytes of it are not known.
    pub hole: Range<usize>,
    /// How many tokens the hole has at most, where that is known.
    pub tokens_max: Option<i64>,
}

/// What running a turn came to.
enum Reached {
    /// The turn asks for an answer.
    Answer,
    /// The turn asks for a summary first.
    Summary(Box<Summarising>),
    /// The turn ends, for this reason.
    End(String),
}

/// A summary that would be asked for.
struct Summarising {
    compaction: Compaction,
    facts: Facts,
    asked: SummaryRequest,
}

/// A turn that is run without a model being asked.
struct Rehearsal<'a> {
    session: &'a mut Session,
    turn: RunningTurn,
    inputs: &'a [UserInput],
    warnings: Vec<String>,
}

impl Session {
    /// The settings that a turn needs from the start.
    pub(crate) fn turn_settings(&self, turn_id: &TurnId) -> TurnSettings {
        let facts = &self.setup.gathered.facts;
        TurnSettings {
            session_id: self.setup.session_id.clone(),
            turn_id: turn_id.clone(),
            model: facts.settings.model.slug.clone(),
            window: facts.settings.model.effective_window(),
            mode: facts.settings.collaboration_mode.mode,
            stream_retries_max: self.setup.provider.stream_retries(),
            compaction_limit: self.compaction_limit().filter(|_| !self.has_memory()),
            summarised_by: self.summarised_by(),
            takeover: self.takeover().filter(|_| !self.has_memory()),
            compaction: self.compaction_rules(),
            first_retry: if self.socket_version().is_some() { FirstRetry::Silent } else { FirstRetry::Shown },
        }
    }

    /// How many tokens the server's last figure does not know, when the person says this next.
    pub(crate) fn measure(&self, input: &str, reasoning: ReasoningCounted) -> usize {
        match self.fit(Some(input)) {
            Some(fit) => usize::try_from(fit.estimate(self.conversation.transcript())).unwrap_or(usize::MAX),
            None => self.conversation.transcript().tokens_unreported(reasoning),
        }
    }

    /// What a turn with these inputs would send first. Nothing is sent or asked, and what the session is like afterwards
    /// is of no use but for reports.
    ///
    /// # Errors
    /// Why nothing would be sent.
    pub fn next_request(&mut self, inputs: &[UserInput], output_schema: Option<Value>) -> Result<TurnPreview, String> {
        let unasked = self.unasked(inputs);
        let prepared = self.prepare_input(inputs)?;
        self.begin_turn();
        let changed_files = self.requests.changed_files();
        let prepared = prepared.into_iter().chain(self.take_events()).collect();
        let settings = self.turn_settings(&TurnId::new(""));
        let turn = RunningTurn::new(settings, self.conversation.meter().clone(), &self.setup.pack);
        let mut rehearsal = Rehearsal { session: self, turn, inputs, warnings: warnings(prepared) };
        let first = rehearsal.turn.begin(inputs);
        let reached = rehearsal.run(first);
        let (due, warnings) = (rehearsal.turn.due(), std::mem::take(&mut rehearsal.warnings));
        let next = match reached {
            Reached::Answer => self.next_answer(output_schema)?,
            Reached::End(why) => return Err(why),
            Reached::Summary(summarising) => {
                let Rehearsal { turn, .. } = rehearsal;
                self.next_summary(*summarising, turn, inputs, output_schema)
            }
        };
        let due = due.filter(|_| next.purpose != NextPurpose::Answer);
        let report = Report { changed_files, ..next.report };
        Ok(TurnPreview { due, report, unasked, warnings: warnings.into_iter().chain(next.warnings).collect(), ..next })
    }

    /// The next request of the turn that runs, if the person says this meanwhile.
    ///
    /// # Errors
    /// Why nothing would be sent.
    pub(super) fn steered_request(&mut self, inputs: &[UserInput]) -> Result<TurnPreview, String> {
        let changed_files = self.requests.changed_files();
        if !inputs.is_empty() {
            self.record_message(inputs);
        }
        let next = self.next_answer(None)?;
        let report = Report { changed_files, ..next.report };
        Ok(TurnPreview { report, ..next })
    }

    /// The request for an answer, after what has to be remembered for it.
    fn next_answer(&mut self, output_schema: Option<Value>) -> Result<TurnPreview, String> {
        self.record_before_request();
        self.choose_apps();
        let frame = self.frame(output_schema);
        let mut reasons = Vec::new();
        if let Some(job) = self.memory_job(&frame, true) {
            match memory::remember_offline(&job) {
                Offline::Done(remembered) => {
                    if let Err(why) = self.remembered(*remembered) {
                        reasons.push(format!("nothing would be sent ({why}); this is the request without the memory"));
                    }
                }
                Offline::AsksForSummary(messages) => {
                    let (request, report) = self.memory_asker(Vec::new(), &TurnId::new("")).reported(&messages);
                    return Ok(TurnPreview::new(NextPurpose::MemorySummary, &request, report));
                }
                Offline::AsksForVectors(texts) => {
                    let asker = self.memory_asker(Vec::new(), &TurnId::new(""));
                    let (request, report) = asker.reported_vectors(&texts, &job.layout);
                    return Ok(TurnPreview::new(NextPurpose::MemoryVectors, &request, report));
                }
            }
        }
        let request = self.request(&frame);
        let report = self.report().ok_or("no request was made")?;
        Ok(TurnPreview { reasons, ..TurnPreview::new(NextPurpose::Answer, &request, report) })
    }

    /// The request for a summary, and the plan of the one behind it.
    fn next_summary(
        &mut self,
        summarising: Summarising,
        mut turn: RunningTurn,
        inputs: &[UserInput],
        output_schema: Option<Value>,
    ) -> TurnPreview {
        let Summarising { compaction, facts, asked } = summarising;
        drop(self.requests.take_changed_files());
        let tokens_max = self.summary_tokens_max(&facts);
        let (purpose, rebuilt) = match self.summarised_by() {
            SummarisedBy::Model => {
                self.note(&Item::text("assistant", UNKNOWN), &Origin::Model);
                (NextPurpose::Summary, self.rebuild(compaction, &facts))
            }
            SummarisedBy::Provider => {
                let sealed = Item::Compaction { encrypted_content: UNKNOWN.to_owned() };
                (NextPurpose::ProviderSummary, self.replace(compaction, vec![sealed], &facts))
            }
        };
        let wishes = turn.step(TurnEvent::Rebuilt(rebuilt));
        let mut rehearsal = Rehearsal { session: self, turn, inputs, warnings: Vec::new() };
        let reached = rehearsal.run(wishes);
        let warnings = rehearsal.warnings;
        let plan = match reached {
            Reached::Answer => {
                self.next_answer(output_schema).ok().and_then(|next| UnfinishedRequest::of(next, tokens_max))
            }
            Reached::Summary(_) | Reached::End(_) => None,
        };
        let SummaryRequest { request, mut report, .. } = asked;
        report.omissions.splice(0..0, self.notices.omissions().iter().cloned());
        TurnPreview { plan, warnings, ..TurnPreview::new(purpose, &request, report) }
    }

    /// How many tokens a summary has at most.
    fn summary_tokens_max(&self, facts: &Facts) -> Option<i64> {
        let is_by_window = self.setup.pack.layout.compaction.strategy == CompactionStrategy::Window;
        let of_layout = is_by_window.then(|| self.window_summary_tokens());
        let of_provider = self.setup.wire(None).output_tokens_max.and_then(|max| i64::try_from(max).ok());
        of_layout.or(of_provider).or_else(|| facts.settings.model.effective_window())
    }
}

impl Rehearsal<'_> {
    /// Does what the turn wishes, as far as no model has to be asked.
    fn run(&mut self, first: Vec<Wish>) -> Reached {
        let mut wishes: std::collections::VecDeque<Wish> = first.into();
        let mut failure = None;
        while let Some(wish) = wishes.pop_front() {
            let fact = match wish {
                Wish::AskModel => return Reached::Answer,
                Wish::Finish => return Reached::End(failure.unwrap_or_else(|| "the turn would end".to_owned())),
                Wish::Emit(EventMessage::Error { message, .. }) => {
                    failure.get_or_insert(message);
                    None
                }
                Wish::Measure(reasoning) => {
                    let unreported = self.session.measure(&input_text(self.inputs), reasoning);
                    Some(TurnEvent::Measured { unreported })
                }
                Wish::Compact(CompactionWish::Start(summariser)) => {
                    let compaction = self.session.compaction(Some(&input_text(self.inputs)));
                    let facts = self.session.summary_facts(summariser);
                    if let Some(error) = compaction.failure() {
                        Some(TurnEvent::WindowExceeded(error.clone()))
                    } else if !compaction.has_question() {
                        Some(TurnEvent::Rebuilt(self.session.rebuild(compaction, &facts)))
                    } else if let Some(asked) = self.session.summary_request(&compaction, &facts) {
                        return Reached::Summary(Box::new(Summarising { compaction, facts, asked }));
                    } else {
                        // A provider is not asked to summarise nothing.
                        Some(TurnEvent::Rebuilt(self.session.replace(compaction, Vec::new(), &facts)))
                    }
                }
                wish => {
                    self.record(wish);
                    None
                }
            };
            if let Some(fact) = fact {
                wishes.extend(self.turn.step(fact));
            }
        }
        Reached::End("the turn would wait for something".to_owned())
    }

    /// Records what the turn wants recorded. Nothing else matters before the first request.
    fn record(&mut self, wish: Wish) {
        match wish {
            Wish::RecordInput(inputs) if !inputs.is_empty() => {
                let events = self.session.record_input(&inputs);
                self.warnings.extend(warnings(events));
                let events = self.session.take_events();
                self.warnings.extend(warnings(events));
            }
            Wish::RecordSkills => self.session.record_skills(),
            Wish::RecordDraft(draft) => self.session.record_draft(&draft),
            Wish::Record(item, origin) => self.session.record(&item, &origin),
            _ => {}
        }
    }
}

impl TurnPreview {
    fn new(purpose: NextPurpose, request: &Request, report: Report) -> Self {
        let (request, due, plan) = (request.clone(), None, None);
        let (reasons, unasked, warnings) = (Vec::new(), Vec::new(), Vec::new());
        Self { purpose, request, report, due, plan, reasons, unasked, warnings }
    }

    /// The body in one piece. A long history is copied for it, so a report that needs no bytes does without.
    pub fn body(&self) -> Vec<u8> {
        self.request.body()
    }
}

impl UnfinishedRequest {
    /// A request that has the placeholder where the summary will be.
    fn of(next: TurnPreview, tokens_max: Option<i64>) -> Option<Self> {
        let TurnPreview { request, report, .. } = next;
        let body = request.body();
        let at = body.windows(UNKNOWN.len()).position(|window| window == UNKNOWN.as_bytes())?;
        let row = report.row_at(at)?;
        let hole = row.start..row.start + row.bytes;
        Some(Self { body, report, hole, tokens_max })
    }
}

fn warnings(events: Vec<EventMessage>) -> Vec<String> {
    let text = |event| match event {
        EventMessage::Warning { message } => Some(message),
        _ => None,
    };
    events.into_iter().filter_map(text).collect()
}
