//! What a pack and the configuration do around turns, beside the layout itself.
//!
//! A habit is one such thing: standing instructions before a person's message, instruction files that join or change,
//! messages that are said again, a memory of what left the window. A session holds a list of them and does not know which
//! there are. Each habit keeps its own state, lets the engine decide, and answers with effects that the session carries
//! out.
//!
//! A new habit is a file that implements [`Habit`] and a line in [`Habits::of`].

use std::fmt::Debug;

use pellucid_engine::documents::change::NewText;
use pellucid_engine::file_states::FileStates;
use pellucid_engine::fragment::Omission;
use pellucid_engine::fragment::Origin;
use pellucid_engine::reinject::account::StandingAccount;
use pellucid_engine::reinject::again::Again;
use pellucid_engine::report::Report;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::Transcript;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;

use crate::again::Schedule;
use crate::documents::Documents;
use crate::memory::Memory;
use crate::session::Setup;
use crate::standing::Standing;

/// Something that is done around turns. A habit implements the hooks that it needs.
pub(crate) trait Habit: Debug + Send + Sync {
    /// A copy with its own state, for a session that is only looked at.
    fn copied(&self) -> Box<dyn Habit>;

    /// Looks at a person's input before anything is recorded. An error refuses the input.
    fn prepare(&mut self, _setup: &mut Setup, _input: &ComingInput<'_>) -> Result<Prepared, String> {
        Ok(Prepared::default())
    }

    /// Notes something that happened. Facts may be read again here.
    fn note(&mut self, _setup: &mut Setup, _happened: &Happened<'_>) {}

    /// What the habit adds to the conversation at this moment.
    fn due(&mut self, _setup: &mut Setup, _moment: &Moment) -> Vec<Effect> {
        Vec::new()
    }

    /// Puts something before a person's message.
    fn wrap(&mut self, _inputs: &[UserInput], draft: Draft) -> Wrapped {
        Wrapped { draft, said_before: Vec::new(), injected: Vec::new() }
    }

    /// Adds the files that the next request is made from. `known` has their earlier states, the newest first.
    fn add_files(&self, _now: &mut FileStates, _known: &[&FileStates]) {}

    /// Adds to the report of the last request.
    fn report(&self, _report: &mut Report) {}

    /// The memory, if the habit is the one that decides what requests show of the conversation.
    fn memory(&self) -> Option<&Memory> {
        None
    }

    /// The same to be changed.
    fn memory_mut(&mut self) -> Option<&mut Memory> {
        None
    }
}

/// Input that a person gave and that is not recorded yet.
#[derive(Debug)]
pub(crate) struct ComingInput<'a> {
    pub inputs: &'a [UserInput],
    /// Which share of the window the last request took, where the server said so.
    pub occupancy: Option<f64>,
}

/// What a habit found when it looked at input.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    /// Warnings that the person sees.
    pub warnings: Vec<String>,
    /// What the model does not see of the texts before the input.
    pub omissions: Vec<Omission>,
}

/// A person's message with what habits put before it.
#[derive(Debug)]
pub(crate) struct Wrapped {
    pub draft: Draft,
    /// What of it the model has read before.
    pub said_before: Vec<Again>,
    /// What became of the files before the message.
    pub injected: Vec<StandingAccount>,
}

/// Something that happened in a session.
#[derive(Debug)]
pub(crate) enum Happened<'a> {
    /// A turn begins, and nothing of it is recorded yet.
    TurnBegins,
    /// All messages of the layout were recorded again.
    ContextRecorded,
    /// A message joined the conversation.
    Drafted(&'a Draft),
    /// An item joined the conversation.
    Recorded(&'a Item, &'a Origin),
    /// The session begins with a history that comes from here.
    Restored(&'a Transcript, Origin),
    /// Another history, which comes from here, took the place of the one so far.
    Replaced(&'a Transcript, Origin),
    /// The model calls a tool.
    Called(&'a ToolCall),
    /// A summary replaced the history, and the messages of the layout were recorded with it.
    Shortened,
    /// The last turns were removed.
    RolledBack {
        /// The number of turns that were removed.
        n_turns: usize,
        /// The number of items that are left.
        n_items: usize,
    },
    /// The input of a turn was sent.
    TurnSent,
}

/// When a habit may add to the conversation.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Moment {
    /// A turn has begun and changes of settings are recorded.
    TurnBegan {
        /// Whether the text of a changed file is in the messages of the layout above.
        text: NewText,
        /// The number of items so far.
        n_items: usize,
    },
    /// A request is made next.
    BeforeRequest {
        /// The number of items so far.
        n_items: usize,
    },
}

/// What a habit has a session do. Effects are carried out in their order.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Records a message of the conversation.
    Record(Draft),
    /// Writes down that the next message was said before.
    SayAgain(Again),
    /// Adds something that the model does not see, with a warning.
    Omit(Omission),
    /// Sends an event to clients that ask for events about the context.
    Report(Box<EventMessage>),
}

/// The habits of a session, in the order in which they are asked.
#[derive(Debug, Default)]
pub(crate) struct Habits(Vec<Box<dyn Habit>>);

impl Habits {
    /// The habits that the pack and the configuration ask for.
    pub(crate) fn of(setup: &mut Setup) -> Self {
        // Warnings are collected in this order.
        let standing = Standing::of(setup);
        let memory = Memory::of(setup);
        let again = Schedule::of(setup);
        let documents = Documents::of(setup);
        let mut habits = Self::default();
        habits.add(documents);
        habits.add(again);
        habits.add(standing);
        habits.add(memory);
        habits
    }

    fn add(&mut self, habit: Option<impl Habit + 'static>) {
        self.0.extend(habit.map(|habit| Box::new(habit) as Box<dyn Habit>));
    }

    /// The same habits with their own state, for a session that is only looked at.
    pub(crate) fn copied(&self) -> Self {
        Self(self.0.iter().map(|habit| habit.copied()).collect())
    }

    /// Has all habits look at a person's input.
    ///
    /// # Errors
    /// A habit refuses the input.
    pub(crate) fn prepare(&mut self, setup: &mut Setup, input: &ComingInput<'_>) -> Result<Prepared, String> {
        let mut all = Prepared::default();
        for habit in &mut self.0 {
            let Prepared { warnings, omissions } = habit.prepare(setup, input)?;
            all.warnings.extend(warnings);
            all.omissions.extend(omissions);
        }
        Ok(all)
    }

    /// Has all habits note something that happened.
    pub(crate) fn note(&mut self, setup: &mut Setup, happened: &Happened<'_>) {
        for habit in &mut self.0 {
            habit.note(setup, happened);
        }
    }

    /// What all habits add to the conversation at this moment.
    pub(crate) fn due(&mut self, setup: &mut Setup, moment: &Moment) -> Vec<Effect> {
        self.0.iter_mut().flat_map(|habit| habit.due(setup, moment)).collect()
    }

    /// Puts what habits have before a person's message.
    pub(crate) fn wrap(&mut self, inputs: &[UserInput], mut draft: Draft) -> Wrapped {
        let (mut said_before, mut injected) = (Vec::new(), Vec::new());
        for habit in &mut self.0 {
            let wrapped = habit.wrap(inputs, draft);
            draft = wrapped.draft;
            said_before.extend(wrapped.said_before);
            injected.extend(wrapped.injected);
        }
        Wrapped { draft, said_before, injected }
    }

    /// Adds the files that the next request is made from.
    pub(crate) fn add_files(&self, now: &mut FileStates, known: &[&FileStates]) {
        for habit in &self.0 {
            habit.add_files(now, known);
        }
    }

    /// Adds to the report of the last request.
    pub(crate) fn report(&self, report: &mut Report) {
        for habit in &self.0 {
            habit.report(report);
        }
    }

    /// The memory that decides what requests show of the conversation, if there is one.
    pub(crate) fn memory(&self) -> Option<&Memory> {
        self.0.iter().find_map(|habit| habit.memory())
    }

    /// The same to be changed.
    pub(crate) fn memory_mut(&mut self) -> Option<&mut Memory> {
        self.0.iter_mut().find_map(|habit| habit.memory_mut())
    }
}
