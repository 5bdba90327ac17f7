//! The attempts: what each does, where it means something, and how it is seen to be real.
//!
//! A new attempt is a row in one of the files below: a name, a sentence, and a function that makes the
//! attempt in a [`Trial`]. What changed outside is looked at afterwards, for all of them.
//!
//! Not here: running them (`suite`).

mod agent_git;
mod allow_rules;
mod approve;
mod first_time;
mod home;
mod instructions;
mod nodes;
mod not_offered;
mod patch_names;
mod patch_race;
mod roots;
mod sessions;
mod trust;

use crate::trial::Backend;
use crate::trial::Trial;

/// How an attempt went, apart from what is outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tried {
    /// Whether it got out is to be seen outside.
    Look,
    /// It got out, and this shows it.
    Out(String),
    /// It cannot be made here.
    Skipped(String),
}

impl Tried {
    /// It got out if this is so.
    pub fn out_if(is_so: bool, proof: &str) -> Self {
        if is_so { Self::Out(proof.to_owned()) } else { Self::Look }
    }
}

type Run = Box<dyn Fn(&Trial) -> Tried + Send + Sync>;

/// How an attempt is seen to be real.
pub enum Control {
    /// It gets out where commands are not confined.
    Free,
    /// Something that a person might do in the same place gets out.
    ByHand(Run),
    /// The attempt cannot be repeated: the agent itself prevents it. An earlier version of the program allowed it
    /// once.
    Earlier,
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Free => "Free",
            Self::ByHand(_) => "ByHand",
            Self::Earlier => "Earlier",
        })
    }
}

/// One attempt to leave the sandbox or to reach a secret.
pub struct Attempt {
    /// The name in the table and on the command line.
    pub name: String,
    /// What it does, for people.
    pub what: String,
    /// On which backends it means something.
    pub on: &'static [Backend],
    /// Where it runs when there is little time.
    pub quick: Backend,
    /// Gaps, by their ids in `doctor`, through which it may continue a backend.
    pub gaps: Vec<(Backend, &'static str)>,
    /// How it is seen to be real.
    pub control: Control,
    /// The function that makes the attempt and says how it ended.
    pub run: Run,
}

impl std::fmt::Debug for Attempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attempt").field("name", &self.name).finish_non_exhaustive()
    }
}

/// An attempt that gets out where commands are not confined.
pub fn attempt(
    name: impl Into<String>,
    what: impl Into<String>,
    run: impl Fn(&Trial) -> Tried + Send + Sync + 'static,
) -> Attempt {
    Attempt {
        name: name.into(),
        what: what.into(),
        on: &Backend::ALL,
        quick: Backend::Namespaces,
        gaps: Vec::new(),
        control: Control::Free,
        run: Box::new(run),
    }
}

impl Attempt {
    /// The agent itself must refuse, so that nothing shows the attempt but what the program once did.
    pub fn earlier(mut self) -> Self {
        self.control = Control::Earlier;
        self
    }

    /// What a person does in the same place shows it.
    pub fn by_hand(mut self, run: impl Fn(&Trial) -> Tried + Send + Sync + 'static) -> Self {
        self.control = Control::ByHand(Box::new(run));
        self
    }

    /// It means something on these backends only.
    pub fn only_on(mut self, backends: &'static [Backend]) -> Self {
        self.on = backends;
        self.quick = backends[0];
        self
    }

    /// Sets the backend of the quick run, for an attempt that shows more there or takes less time.
    pub fn quick_on(mut self, backend: Backend) -> Self {
        self.quick = backend;
        self
    }

    /// On this backend it may go through a gap, if `doctor` names that.
    pub fn gap(mut self, backend: Backend, id: &'static str) -> Self {
        self.gaps.push((backend, id));
        self
    }
}

/// All attempts, grouped by what they try to reach.
pub fn groups() -> Vec<(&'static str, Vec<Attempt>)> {
    vec![
        ("Patches: folders and files swapped while they are written", patch_race::attempts()),
        ("Patches: names that lead out or that are protected", patch_names::attempts()),
        ("The agent's own git", agent_git::attempts()),
        ("Rules that allow", allow_rules::attempts()),
        ("Settings, rules and skills of a project, made for the first time", first_time::attempts()),
        ("Roots that become something else", roots::attempts()),
        ("The home folder below a writable root", home::attempts()),
        ("Trust that is borrowed", trust::attempts()),
        ("Approve, then swap", approve::attempts()),
        ("Pipes and devices where the agent reads", nodes::attempts()),
        ("Tools that were not offered", not_offered::attempts()),
        ("Instruction files that are something else", instructions::attempts()),
        ("Session files and locks", sessions::attempts()),
    ]
}
