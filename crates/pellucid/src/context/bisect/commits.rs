//! The first commit whose request is bad. Nothing is checked out: every request is that of `now@REV`.

use std::collections::BTreeMap;

use pellucid_agent::own_git;
use pellucid_answers::bisect::AskedFinding;
use pellucid_answers::bisect::BisectEnd;
use pellucid_answers::bisect::BisectJudgement;
use pellucid_answers::bisect::BisectQuestion;
use pellucid_answers::bisect::PartState;
use pellucid_answers::bisect::first_bad;
use pellucid_answers::bisect::part_names;
use pellucid_answers::diff::RequestDiff;
use pellucid_answers::inspected::Inspected;
use pellucid_answers::lock::ContextLock;
use pellucid_answers::lock::FindingKind;
use pellucid_answers::lock::LockChoices;
use pellucid_answers::lock::LockPolicy;
use pellucid_answers::lock::MadeLock;
use pellucid_answers::lock::compare;
use pellucid_engine::report::Report;
use pellucid_git::history;
use pellucid_git::history::FirstParents;
use pellucid_git::history::FirstParentsError;
use pellucid_git::history::ListedCommit;
use serde_json::Value;
use serde_json::json;

use super::BisectAnswer;
use super::BisectStatus;
use super::command::JudgingCommand;
use crate::args::bisect::ContextBisectArgs;
use crate::args::bisect::FindingArg;
use crate::args::request::McpLists;
use crate::args::request::RequestArgs;
use crate::args::shared::Shared;
use crate::context::diff;
use crate::context::lock::LockedProject;
use crate::context::lock::LockedRequest;
use crate::context::lock::choices_now;
use crate::context::lock::no_lock;
use crate::inspected;
use crate::request;
use crate::request::RequestRefusal;
use crate::request::ShownRequest;
use crate::request::certain;
use crate::screen::name;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::style;
use crate::style::Paint;
use crate::style::counted;

/// How many characters of the id of a commit name its request.
const SHORT_ID: usize = 12;

/// Searches the commits between two revisions.
pub fn answer(shared: &Shared, args: &ContextBisectArgs) -> Result<BisectAnswer, RequestRefusal> {
    let (Some(good), Some(bad)) = (&args.good, &args.bad) else {
        return Err(RequestRefusal::usage("--good and --bad are missing".to_owned()));
    };
    let history = commits(shared, args, (good, bad))?;
    let mut search = CommitSearch {
        shared,
        args,
        question: AskedOfCommits::of(shared, args)?,
        history: &history,
        requests: BTreeMap::new(),
        n_assemblies: 0,
        skipped: Vec::new(),
    };
    let n = history.commits.len();
    let end = match n {
        0 => BisectEnd::EndsAgree { good: BisectJudgement::Good, bad: BisectJudgement::Good },
        _ => first_bad(n, &mut |position| search.judge(position))?,
    };
    Ok(search.answer(&end, (good, bad)))
}

fn commits(
    shared: &Shared,
    args: &ContextBisectArgs,
    (good, bad): (&str, &str),
) -> Result<FirstParents, RequestRefusal> {
    let start = Start::new(shared, &args.turn.start)?;
    let git = own_git::of(&start.config, &start.env);
    history::first_parents(&git, &start.config.folders.cwd, good, bad).map_err(|error| match error {
        FirstParentsError::NoRevision { .. } => RequestRefusal::usage(format!(
            "{error}\nhint: a revision is what `git rev-parse` takes: a commit, a branch, a tag"
        )),
        FirstParentsError::NoPath { .. } => RequestRefusal::usage(format!(
            "{error}\nhint: `git log --first-parent {bad}` lists the commits that --good can name"
        )),
        error => ProgramFailure::new(error.to_string()).into(),
    })
}

/// What is asked of the request of a commit.
enum AskedOfCommits {
    Question(BisectQuestion),
    /// Whether a part is that of the good end, which is not known yet.
    Part(String),
    Command(JudgingCommand),
    Lock(Box<AskedOfLock>),
}

/// Whether `context check` has a finding of a kind, with the lock of today.
struct AskedOfLock {
    kind: FindingKind,
    project: LockedProject,
    text: String,
    lock: ContextLock,
    policy: LockPolicy,
    choices: LockChoices,
}

impl AskedOfLock {
    fn new(shared: &Shared, args: &ContextBisectArgs, kind: FindingKind) -> Result<Self, RequestRefusal> {
        let project = LockedProject::find(shared, &args.turn.start)?;
        let Some(text) = project.read()? else {
            return Err(no_lock(&project));
        };
        let (lock, policy) = ContextLock::parse(&text).map_err(|error| RequestRefusal::unknown(error.to_string()))?;
        let choices = choices_now(&lock.choices, args.mcp == McpLists::Connect)?;
        Ok(Self { kind, project, text, lock, policy, choices })
    }

    fn is_bad(&self, made: &MadeLock) -> bool {
        compare(&self.lock, &self.policy, made, &self.text).has(self.kind)
    }
}

/// The request of a commit, and what it is judged by.
struct AssembledCommit {
    request: Inspected,
    report: Report,
    /// The lock that `context check` would make, where the question is about that.
    made: Option<MadeLock>,
}

impl AskedOfCommits {
    fn of(shared: &Shared, args: &ContextBisectArgs) -> Result<Self, RequestRefusal> {
        if let Some(command) = &args.run {
            return Ok(Self::Command(JudgingCommand::new(shared, &args.turn.start, command)?));
        }
        if let Some(part) = &args.part {
            return Ok(Self::Part(part.clone()));
        }
        if let Some(finding) = args.finding {
            let of_lock = |kind| Ok(Self::Lock(Box::new(AskedOfLock::new(shared, args, kind)?)));
            let of_report = |kind| Ok(Self::Question(BisectQuestion::Finding(kind)));
            return match finding {
                FindingArg::Truncated => of_report(AskedFinding::Truncated),
                FindingArg::Shadowed => of_report(AskedFinding::Shadowed),
                FindingArg::Hidden => of_report(AskedFinding::Hidden),
                FindingArg::Missing => of_report(AskedFinding::Missing),
                FindingArg::Duplicate => of_report(AskedFinding::Duplicate),
                FindingArg::Drift => of_lock(FindingKind::Drift),
                FindingArg::Added => of_lock(FindingKind::Added),
                FindingArg::Removed => of_lock(FindingKind::Removed),
                FindingArg::OverBudget => of_lock(FindingKind::OverBudget),
            };
        }
        let question = None
            .or_else(|| args.contains.clone().map(BisectQuestion::Contains))
            .or_else(|| args.lacks.clone().map(BisectQuestion::Lacks))
            .or_else(|| args.tokens_over.map(BisectQuestion::TokensOver));
        question.map(Self::Question).ok_or_else(|| RequestRefusal::usage("a question is missing".to_owned()))
    }
}

struct CommitSearch<'a> {
    shared: &'a Shared,
    args: &'a ContextBisectArgs,
    question: AskedOfCommits,
    history: &'a FirstParents,
    /// The requests that were judged, by the position of their commits.
    requests: BTreeMap<usize, Inspected>,
    n_assemblies: usize,
    skipped: Vec<usize>,
}

impl CommitSearch<'_> {
    /// The id of the commit at a position: 0 is the good end.
    fn id(&self, position: usize) -> &str {
        match position.checked_sub(1) {
            Some(number) => &self.history.commits[number].id,
            None => &self.history.from,
        }
    }

    fn judge(&mut self, position: usize) -> Result<BisectJudgement, RequestRefusal> {
        let is_end = position == 0 || position == self.history.commits.len();
        let judgement = match self.assembled(position) {
            Ok(assembled) => {
                let judgement = self.judgement(position, &assembled)?;
                self.requests.insert(position, assembled.request);
                judgement
            }
            Err(refusal) if is_end => return Err(refusal),
            Err(refusal) => {
                let id = short(self.id(position));
                style::line(&format!("warning: {id} is skipped, because it has no request: {}", refusal.text()));
                BisectJudgement::Skip
            }
        };
        if judgement == BisectJudgement::Skip {
            self.skipped.push(position);
        }
        Ok(judgement)
    }

    fn assembled(&mut self, position: usize) -> Result<AssembledCommit, RequestRefusal> {
        self.n_assemblies += 1;
        if let AskedOfCommits::Lock(asked) = &self.question {
            let AskedOfLock { project, choices, .. } = &**asked;
            let id = short(self.id(position));
            let LockedRequest { request, report, made } =
                project.request_at(self.shared, &self.args.turn, choices, Some(id))?;
            return Ok(AssembledCommit { request, report, made: Some(made) });
        }
        let (full, shown) = (format!("now@{}", self.id(position)), format!("now@{}", short(self.id(position))));
        let args = RequestArgs { word: Some(full), mcp: self.args.mcp, ..RequestArgs::default() };
        let ShownRequest::Coming(coming) = request::shown(self.shared, &self.args.turn, &args)? else {
            return Err(RequestRefusal::unknown(format!("{shown} is not a request to come")));
        };
        let reasons = coming.reasons.iter().filter(|reason| reason.is_about_content() && reason.kind != "revision");
        certain::tell(&reasons.cloned().collect::<Vec<_>>());
        let request = inspected::of_coming(&shown, &coming);
        Ok(AssembledCommit { request, report: coming.next.report, made: None })
    }

    fn judgement(&mut self, position: usize, commit: &AssembledCommit) -> Result<BisectJudgement, RequestRefusal> {
        let AssembledCommit { request, report, made } = commit;
        let of = |is_bad: bool| if is_bad { BisectJudgement::Bad } else { BisectJudgement::Good };
        let is_bad_end = position == self.history.commits.len();
        match &mut self.question {
            AskedOfCommits::Lock(asked) => Ok(of(made.as_ref().is_some_and(|made| asked.is_bad(made)))),
            AskedOfCommits::Command(command) => Ok(command.judge(&request.body().unwrap_or_default())?),
            AskedOfCommits::Part(part) => {
                let question = BisectQuestion::PartChanged { name: part.clone(), good: PartState::of(request, part) };
                self.question = AskedOfCommits::Question(question);
                Ok(BisectJudgement::Good)
            }
            AskedOfCommits::Question(question) => {
                if let BisectQuestion::PartChanged { name, good: PartState::Absent } = question
                    && is_bad_end
                    && PartState::of(request, name) == PartState::Absent
                {
                    let names: Vec<&str> = part_names(request).into_iter().collect();
                    let names = names.join(", ");
                    let why = format!("neither end has a part or file `{name}`\nhint: the parts are {names}");
                    return Err(RequestRefusal::usage(why));
                }
                Ok(of(question.is_bad(request, report)))
            }
        }
    }

    fn answer(&self, end: &BisectEnd, ends: (&str, &str)) -> BisectAnswer {
        let n = self.history.commits.len();
        let skipped: Vec<&str> = self.skipped.iter().map(|position| self.id(*position)).collect();
        let mut json = json!({
            "search": "commits", "commits": n, "assemblies": self.n_assemblies, "skipped": skipped,
        });
        let (status, text) = match end {
            BisectEnd::Found(position) => {
                let commit = &self.history.commits[position - 1];
                json["commit"] = commit_json(commit);
                (BisectStatus::Found, self.found_text(*position, commit, &mut json))
            }
            BisectEnd::EndsAgree { good, bad } => {
                json["good"] = good.as_str().into();
                json["bad"] = bad.as_str().into();
                let is_skipped = [good, bad].contains(&&BisectJudgement::Skip);
                let status = if is_skipped { BisectStatus::Unknown } else { BisectStatus::EndsAgree };
                (status, self.ends_text((*good, *bad), ends))
            }
            BisectEnd::OnlySkipped { good, bad } => {
                let between: Vec<&ListedCommit> = self.history.commits[*good..*bad].iter().collect();
                json["candidates"] = between.iter().map(|commit| commit_json(commit)).collect();
                let lines: String = between.iter().map(|commit| format!("  {}\n", commit_line(commit))).collect();
                let text = format!("only skipped commits remain; the first bad commit is one of:\n{lines}");
                (BisectStatus::Unknown, text)
            }
        };
        BisectAnswer { status, text, json }
    }

    fn found_text(&self, position: usize, commit: &ListedCommit, json: &mut Value) -> String {
        let assemblies = match self.n_assemblies {
            1 => "1 assembly".to_owned(),
            n => format!("{n} assemblies"),
        };
        let skipped = match self.skipped.len() {
            0 => String::new(),
            n => format!(", {n} skipped"),
        };
        let mut text = format!("first bad commit {}\n", commit.id);
        text += &format!("author's date    {}\n", commit.author_date);
        text += &format!("title            {}\n", name(&commit.title));
        if commit.parents.len() > 1 {
            text += &format!("merge            of {} parents; the diff is against the first\n", commit.parents.len());
        }
        text +=
            &format!("found with {assemblies} among {}{skipped}\n\n", counted(self.history.commits.len(), "commit"));
        if let (Some(before), Some(after)) = (self.requests.get(&(position - 1)), self.requests.get(&position)) {
            let diff = RequestDiff::of(before, after);
            text += &diff::diff_text(&diff, Paint::out());
            json["diff"] = diff.to_json();
        }
        text
    }

    fn ends_text(&self, judged: (BisectJudgement, BisectJudgement), (good, bad): (&str, &str)) -> String {
        if self.history.commits.is_empty() {
            return format!("{} and {} are the same commit\n", name(good), name(bad));
        }
        let complaint = match &self.question {
            AskedOfCommits::Command(command) if !command.complaint.is_empty() => {
                format!("the command wrote: {}\n", name(&command.complaint))
            }
            _ => String::new(),
        };
        let hint = match &self.question {
            AskedOfCommits::Question(question) => end_hint(question, judged, bad),
            _ => None,
        };
        let hint = hint.map_or_else(String::new, |hint| format!("hint: {hint}\n"));
        format!(
            "the ends do not differ as said: {} is {}, and {} is {}\n{complaint}{hint}",
            name(good),
            judged.0.as_str(),
            name(bad),
            judged.1.as_str()
        )
    }
}

/// What a person can do about ends that do not differ as said.
fn end_hint(question: &BisectQuestion, judged: (BisectJudgement, BisectJudgement), bad: &str) -> Option<String> {
    if judged == (BisectJudgement::Bad, BisectJudgement::Good) {
        return question.opposite().map(str::to_owned);
    }
    // A text that both requests have is often in a part that no commit changes.
    let (text, good_has_it) = question.text()?;
    let both = if good_has_it { BisectJudgement::Good } else { BisectJudgement::Bad };
    let command = format!("pellucid context why --text {text:?} now@{bad}");
    (judged == (both, both)).then(|| format!("both requests have the text; `{}` shows where", name(&command)))
}

fn short(id: &str) -> &str {
    id.get(..SHORT_ID).unwrap_or(id)
}

fn commit_line(commit: &ListedCommit) -> String {
    format!("{} {} {}", short(&commit.id), commit.author_date, name(&commit.title))
}

fn commit_json(commit: &ListedCommit) -> Value {
    json!({
        "id": commit.id,
        "parents": commit.parents,
        "author_date": commit.author_date,
        "title": commit.title,
    })
}
