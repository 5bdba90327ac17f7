//! What a person is asked before a command runs, a patch is applied or an MCP server continues, and the answers.
//!
//! Requests are asked about in the order in which they came.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use pellucid_engine::elicitation;
use pellucid_engine::visible::visible;
use pellucid_protocol::approval::ApplyPatchApprovalRequest;
use pellucid_protocol::approval::ExecApprovalRequest;
use pellucid_protocol::approval::ReviewDecision;
use pellucid_protocol::elicitation::ElicitationAction;
use pellucid_protocol::elicitation::ElicitationRequest;
use pellucid_protocol::operation::Operation;
use ratatui_core::text::Line;
use serde_json::Value;

use crate::lists::options::Appeared;
use crate::lists::options::ListOption;
use crate::lists::options::ListOutcome;
use crate::lists::options::OptionList;

/// A request that waits for a person.
#[derive(Debug, Clone, PartialEq)]
pub enum ApprovalRequest {
    /// May this command run?
    Command(Box<ExecApprovalRequest>),
    /// May this patch be applied?
    Patch(Box<ApplyPatchApprovalRequest>),
    /// Does an MCP server get what it asks for?
    Server(Box<ElicitationRequest>),
}

/// An answer of a person, ready to be submitted and to be shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// What was asked.
    pub request: ApprovalRequest,
    /// What was decided.
    pub decision: ReviewDecision,
}

impl ApprovalRequest {
    /// The possible answers, each with its decision.
    fn answers(&self) -> Vec<(ListOption, ReviewDecision)> {
        let refuse = (ListOption::new("No, and say what to do instead").key('n', "esc"), ReviewDecision::Abort);
        match self {
            Self::Command(request) if request.network_approval_context.is_some() => vec![
                (ListOption::new("Yes, this time").key('y', "y"), ReviewDecision::Approved),
                (ListOption::new("Yes, for this session").key('a', "a"), ReviewDecision::ApprovedForSession),
                refuse,
            ],
            Self::Command(request) => {
                let mut answers = vec![(ListOption::new("Yes, run it").key('y', "y"), ReviewDecision::Approved)];
                let prefix = request.proposed_execpolicy_amendment.as_ref().filter(|prefix| is_one_line(prefix));
                if let Some(prefix) = prefix {
                    let shown = visible(&prefix.join(" ")).into_owned();
                    let label =
                        format!("Yes, and do not ask again, in any session, for commands that begin with `{shown}`");
                    let decision =
                        ReviewDecision::ApprovedExecpolicyAmendment { proposed_execpolicy_amendment: prefix.clone() };
                    answers.push((ListOption::new(label).key('p', "p"), decision));
                }
                answers.push(refuse);
                answers
            }
            Self::Patch(_) => vec![
                (ListOption::new("Yes, make these changes").key('y', "y"), ReviewDecision::Approved),
                (
                    ListOption::new("Yes, and do not ask again for these files in this session").key('a', "a"),
                    ReviewDecision::ApprovedForSession,
                ),
                refuse,
            ],
            Self::Server(request) => {
                let has_form = !elicitation::questions(&request.schema).is_empty();
                let yes = match &request.url {
                    Some(_) => "Yes, open this address",
                    None if has_form => "Yes, and answer its questions",
                    None => "Yes",
                };
                vec![
                    (ListOption::new(yes).key('y', "y"), ReviewDecision::Approved),
                    (ListOption::new("No").key('n', "n"), ReviewDecision::Denied),
                    (ListOption::new("Leave it without an answer").key('c', "esc"), ReviewDecision::Abort),
                ]
            }
        }
    }

    /// What is asked once more before every command of a program is allowed, with the possible answers.
    fn confirmation(program: &str, allowed: ReviewDecision) -> (Vec<Line<'static>>, Vec<(ListOption, ReviewDecision)>) {
        let program = visible(program);
        let title = vec![
            shown(&format!("Every command of {program} would run without a question and outside the sandbox,")),
            Line::raw("whatever its arguments, in every project, until you remove the rule."),
        ];
        let every = format!("Yes, allow every command of {program}");
        let answers = vec![
            (ListOption::new("Run only this command").key('y', "y"), ReviewDecision::Approved),
            (ListOption::new(every).key('p', "p"), allowed),
            (ListOption::new("No, and say what to do instead").key('n', "esc"), ReviewDecision::Abort),
        ];
        (title, answers)
    }

    /// The question and what it is about, without a diff. Characters that a terminal does not show are made visible:
    /// what is approved must be what is read.
    fn title(&self) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        match self {
            Self::Command(request) => {
                match &request.network_approval_context {
                    Some(network) => lines.push(shown(&format!("May this command reach {}?", network.host))),
                    None => lines.push(Line::raw("May this command run?")),
                }
                lines.extend(reason_line(request.reason.as_deref()));
                lines.push(Line::default());
                let command = command_text(&request.command);
                let mut rows = command.lines();
                lines.push(shown(&format!("  $ {}", rows.next().unwrap_or_default())));
                lines.extend(rows.map(|row| shown(&format!("    {row}"))));
            }
            Self::Patch(request) => {
                lines.push(Line::raw("May these changes be made?"));
                lines.extend(reason_line(request.reason.as_deref()));
                if let Some(root) = &request.grant_root {
                    lines.push(shown(&format!("Folder that becomes writable: {}", root.display())));
                }
                lines.push(Line::default());
                lines.extend(request.changes.keys().map(|path| shown(&format!("  {}", path.display()))));
            }
            Self::Server(request) => {
                lines.push(shown(&format!("The MCP server {} asks:", request.server_name)));
                lines.push(Line::default());
                lines.extend(request.message.lines().map(|row| shown(&format!("  {row}"))));
                if let Some(url) = &request.url {
                    lines.push(Line::default());
                    lines.push(shown(&format!("It wants an address of {} opened:", host_of(url))));
                    lines.push(shown(&format!("  {url}")));
                }
            }
        }
        lines
    }

    /// The operation that submits a decision.
    pub fn operation(&self, decision: ReviewDecision) -> Operation {
        match self {
            Self::Command(request) => Operation::ExecApproval {
                id: request.approval_id.clone().unwrap_or_else(|| request.call_id.clone()),
                // An answer without a turn has the model learn of a saved rule behind the output of the command.
                turn_id: None,
                decision,
            },
            Self::Patch(request) => Operation::PatchApproval { id: request.call_id.clone(), decision },
            Self::Server(request) => {
                let action = match decision {
                    ReviewDecision::Denied => ElicitationAction::Decline,
                    ReviewDecision::Abort => ElicitationAction::Cancel,
                    ReviewDecision::Approved
                    | ReviewDecision::ApprovedForSession
                    | ReviewDecision::ApprovedExecpolicyAmendment { .. } => ElicitationAction::Accept,
                };
                resolve(request, action, None)
            }
        }
    }
}

/// The operation that answers an MCP server.
pub fn resolve(request: &ElicitationRequest, decision: ElicitationAction, content: Option<Value>) -> Operation {
    let (server_name, request_id) = (request.server_name.clone(), request.id.clone());
    Operation::ResolveElicitation { server_name, request_id, decision, content }
}

/// The host of an address, without a name and a password that may precede it.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    rest.rsplit('@').next().unwrap_or_default()
}

fn shown(text: &str) -> Line<'static> {
    Line::raw(visible(text).into_owned())
}

fn reason_line(reason: Option<&str>) -> Option<Line<'static>> {
    reason.filter(|reason| !reason.trim().is_empty()).map(|reason| shown(&format!("Reason: {}", reason.trim())))
}

fn is_one_line(prefix: &[String]) -> bool {
    !prefix.is_empty() && prefix.iter().all(|word| !word.contains(['\n', '\r']))
}

/// A command as a person would type it: the script of a shell that only runs one, else the words.
pub fn command_text(command: &[String]) -> String {
    match command {
        [shell, flag, script] if is_shell(shell) && matches!(flag.as_str(), "-c" | "-lc") => script.clone(),
        words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    }
}

fn is_shell(program: &str) -> bool {
    let name = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    matches!(name, "bash" | "zsh" | "sh")
}

/// A word as a shell needs it.
fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_./:=@%+,".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The program of which a decision allows every command from now on.
fn program_allowed(decision: &ReviewDecision) -> Option<&str> {
    match decision {
        ReviewDecision::ApprovedExecpolicyAmendment { proposed_execpolicy_amendment: prefix } => {
            match prefix.as_slice() {
                [program] => Some(program),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A request that is asked about.
#[derive(Debug)]
struct OpenApproval {
    request: ApprovalRequest,
    list: OptionList,
    /// The decision of each option of the list.
    decisions: Vec<ReviewDecision>,
    /// Whether the list asks once more.
    is_confirmation: bool,
}

impl OpenApproval {
    fn new(request: ApprovalRequest, now: Duration) -> Self {
        let (options, decisions) = request.answers().into_iter().unzip();
        let list = OptionList::new(request.title(), options, Appeared::ByItself(now));
        Self { request, list, decisions, is_confirmation: false }
    }

    /// Asks once more if a decision allows every command of a program. Returns whether it does.
    fn asks_again(&mut self, decision: &ReviewDecision) -> bool {
        let Some(program) = program_allowed(decision).filter(|_| !self.is_confirmation) else {
            return false;
        };
        let (title, answers) = ApprovalRequest::confirmation(program, decision.clone());
        let (options, decisions) = answers.into_iter().unzip();
        self.list = OptionList::new(title, options, Appeared::Opened);
        self.decisions = decisions;
        self.is_confirmation = true;
        true
    }
}

/// The requests that wait, the oldest of them open as a list.
#[derive(Debug, Default)]
pub struct Approvals {
    open: Option<OpenApproval>,
    waiting: VecDeque<ApprovalRequest>,
}

impl Approvals {
    /// Adds a request; it is opened if no other is.
    pub fn ask(&mut self, request: ApprovalRequest, now: Duration) {
        self.waiting.push_back(request);
        self.open_next(now);
    }

    fn open_next(&mut self, now: Duration) {
        if self.open.is_some() {
            return;
        }
        if let Some(request) = self.waiting.pop_front() {
            self.open = Some(OpenApproval::new(request, now));
        }
    }

    /// The request that is asked about, with its list.
    pub fn open(&self) -> Option<(&ApprovalRequest, &OptionList)> {
        self.open.as_ref().map(|open| (&open.request, &open.list))
    }

    /// The list that keys go to.
    pub fn list_mut(&mut self) -> Option<&mut OptionList> {
        self.open.as_mut().map(|open| &mut open.list)
    }

    /// Takes what a key did to the list. Returns the answer if the list was answered; the next request is opened. Before every
    /// command of a program is allowed, another list asks once more.
    ///
    /// A refusal ends the turn, and with Ctrl-C the requests that wait are forgotten: the turn asks for nothing any more.
    pub fn outcome(&mut self, outcome: ListOutcome, now: Duration) -> Option<Answered> {
        let open = self.open.as_mut()?;
        let decision = match outcome {
            ListOutcome::Chosen(chosen) => {
                let decision = open.decisions.get(chosen)?.clone();
                if open.asks_again(&decision) {
                    return None;
                }
                decision
            }
            ListOutcome::Cancelled => ReviewDecision::Abort,
            ListOutcome::Aborted => {
                self.waiting.clear();
                ReviewDecision::Abort
            }
            ListOutcome::Open
            | ListOutcome::Whole
            | ListOutcome::Explain
            | ListOutcome::Blanks
            | ListOutcome::Amend
            | ListOutcome::Note
            | ListOutcome::Draft(_) => return None,
        };
        self.close(decision, now)
    }

    /// Refuses the open request; the turn continues.
    pub fn refuse(&mut self, now: Duration) -> Option<Answered> {
        self.close(ReviewDecision::Denied, now)
    }

    fn close(&mut self, decision: ReviewDecision, now: Duration) -> Option<Answered> {
        let OpenApproval { request, .. } = self.open.take()?;
        self.open_next(now);
        Some(Answered { request, decision })
    }

    /// Forgets the questions of an MCP server, because its call has ended. Returns whether one was open.
    pub fn forget_server(&mut self, server: &str, now: Duration) -> bool {
        let is_of_server =
            |it: &ApprovalRequest| matches!(it, ApprovalRequest::Server(request) if request.server_name == server);
        self.waiting.retain(|request| !is_of_server(request));
        let was_open = self.open.as_ref().is_some_and(|open| is_of_server(&open.request));
        if was_open {
            self.open = None;
            self.open_next(now);
        }
        was_open
    }

    /// Forgets every request, because their turn ended.
    pub fn forget(&mut self) {
        self.open = None;
        self.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_protocol::approval::NetworkApprovalContext;
    use pellucid_protocol::approval::NetworkProtocol;
    use pellucid_protocol::change::FileChange;
    use pellucid_protocol::elicitation::ElicitationId;
    use pellucid_protocol::id::TurnId;
    use serde_json::json;

    use super::*;
    use crate::composer::drawing::PartStyles;

    fn command(script: &str) -> ExecApprovalRequest {
        ExecApprovalRequest {
            call_id: "call-1".to_owned(),
            approval_id: None,
            turn_id: TurnId::new("turn-1"),
            command: ["bash", "-lc", script].map(str::to_owned).to_vec(),
            cwd: PathBuf::from("/project"),
            reason: None,
            network_approval_context: None,
            proposed_execpolicy_amendment: None,
            parsed_cmd: Vec::new(),
            explanation: Vec::new(),
        }
    }

    /// Checks the list, and the decision of each option.
    #[track_caller]
    fn check_asked(request: &ApprovalRequest, expected: &Expect) {
        let mut approvals = Approvals::default();
        approvals.ask(request.clone(), Duration::ZERO);
        let drawn = approvals.open().unwrap().1.draw(70, 30, &PartStyles::default());
        let mut text: String = drawn.lines.iter().map(|line| format!("{}\n", line.to_string().trim_end())).collect();
        for chosen in 0..request.answers().len() {
            let mut approvals = Approvals::default();
            approvals.ask(request.clone(), Duration::ZERO);
            let answered = approvals.outcome(ListOutcome::Chosen(chosen), Duration::ZERO).unwrap();
            text += &format!("{}: {:?}\n", chosen + 1, answered.request.operation(answered.decision));
        }
        expected.assert_eq(&text);
    }

    #[test]
    fn a_command_can_be_run_allowed_by_prefix_or_refused() {
        let mut request = command("git push\norigin");
        request.reason = Some("needs the network".to_owned());
        request.proposed_execpolicy_amendment = Some(vec!["git".to_owned(), "push".to_owned()]);
        check_asked(
            &ApprovalRequest::Command(Box::new(request)),
            &expect![[r#"
            May this command run?
            Reason: needs the network

              $ git push
                origin

            › 1. Yes, run it (y)
              2. Yes, and do not ask again, in any session, for commands that
                 begin with `git push` (p)
              3. No, and say what to do instead (esc)
            1: ExecApproval { id: "call-1", turn_id: None, decision: Approved }
            2: ExecApproval { id: "call-1", turn_id: None, decision: ApprovedExecpolicyAmendment { proposed_execpolicy_amendment: ["git", "push"] } }
            3: ExecApproval { id: "call-1", turn_id: None, decision: Abort }
        "#]],
        );
    }

    #[test]
    fn a_whole_program_is_allowed_only_after_another_question() {
        let mut request = command("make");
        let prefix = vec!["make".to_owned()];
        request.proposed_execpolicy_amendment = Some(prefix.clone());
        let allowed = ReviewDecision::ApprovedExecpolicyAmendment { proposed_execpolicy_amendment: prefix };
        for (second, decision) in [ReviewDecision::Approved, allowed, ReviewDecision::Abort].into_iter().enumerate() {
            let mut approvals = Approvals::default();
            approvals.ask(ApprovalRequest::Command(Box::new(request.clone())), Duration::ZERO);
            assert_eq!(approvals.outcome(ListOutcome::Chosen(1), Duration::ZERO), None);
            let drawn = approvals.open().unwrap().1.draw(90, 30, &PartStyles::default());
            let text: String = drawn.lines.iter().map(|line| format!("{}\n", line.to_string().trim_end())).collect();
            expect![[r#"
                Every command of make would run without a question and outside the sandbox,
                whatever its arguments, in every project, until you remove the rule.

                › 1. Run only this command (y)
                  2. Yes, allow every command of make (p)
                  3. No, and say what to do instead (esc)
            "#]]
            .assert_eq(&text);
            let answered = approvals.outcome(ListOutcome::Chosen(second), Duration::ZERO).unwrap();
            assert_eq!(answered.decision, decision);
        }
    }

    #[test]
    fn hidden_characters_of_a_command_are_shown() {
        let request = command("rm a\u{202e}txt\u{1b}[2K");
        let request = ApprovalRequest::Command(Box::new(request));
        assert_eq!(request.title()[2].to_string(), r"  $ rm a\u{202e}txt\u{1b}[2K");
    }

    #[test]
    fn a_prefix_of_several_lines_is_not_offered() {
        let mut request = command("python3");
        request.proposed_execpolicy_amendment = Some(vec!["python3".to_owned(), "a\nb".to_owned()]);
        check_asked(
            &ApprovalRequest::Command(Box::new(request)),
            &expect![[r#"
            May this command run?

              $ python3

            › 1. Yes, run it (y)
              2. No, and say what to do instead (esc)
            1: ExecApproval { id: "call-1", turn_id: None, decision: Approved }
            2: ExecApproval { id: "call-1", turn_id: None, decision: Abort }
        "#]],
        );
    }

    #[test]
    fn a_host_can_be_reached_once_or_for_the_session() {
        let mut request = command("curl example.com");
        let protocol = NetworkProtocol::Https;
        request.network_approval_context = Some(NetworkApprovalContext { host: "example.com".to_owned(), protocol });
        check_asked(
            &ApprovalRequest::Command(Box::new(request)),
            &expect![[r#"
            May this command reach example.com?

              $ curl example.com

            › 1. Yes, this time (y)
              2. Yes, for this session (a)
              3. No, and say what to do instead (esc)
            1: ExecApproval { id: "call-1", turn_id: None, decision: Approved }
            2: ExecApproval { id: "call-1", turn_id: None, decision: ApprovedForSession }
            3: ExecApproval { id: "call-1", turn_id: None, decision: Abort }
        "#]],
        );
    }

    #[test]
    fn a_patch_can_be_made_for_the_session_or_refused() {
        let change = FileChange::Add { content: "x\n".to_owned() };
        let request = ApplyPatchApprovalRequest {
            call_id: "call-2".to_owned(),
            turn_id: TurnId::new("turn-1"),
            changes: BTreeMap::from([(PathBuf::from("/project/a.txt"), change)]),
            reason: None,
            grant_root: None,
            explanation: Vec::new(),
        };
        check_asked(
            &ApprovalRequest::Patch(Box::new(request)),
            &expect![[r#"
            May these changes be made?

              /project/a.txt

            › 1. Yes, make these changes (y)
              2. Yes, and do not ask again for these files in this session (a)
              3. No, and say what to do instead (esc)
            1: PatchApproval { id: "call-2", decision: Approved }
            2: PatchApproval { id: "call-2", decision: ApprovedForSession }
            3: PatchApproval { id: "call-2", decision: Abort }
        "#]],
        );
    }

    fn asked(approvals: &Approvals) -> Option<String> {
        match approvals.open()?.0 {
            ApprovalRequest::Command(request) => Some(command_text(&request.command)),
            ApprovalRequest::Patch(_) | ApprovalRequest::Server(_) => None,
        }
    }

    fn server(id: &str, schema: Value) -> ApprovalRequest {
        ApprovalRequest::Server(Box::new(ElicitationRequest {
            server_name: "asker".to_owned(),
            id: ElicitationId::Text(id.to_owned()),
            message: "May I go on?\nIt takes \u{202e}long.".to_owned(),
            schema,
            url: None,
        }))
    }

    #[test]
    fn a_server_is_accepted_declined_or_left_without_an_answer() {
        check_asked(
            &server("e1", json!({"type": "object", "properties": {}})),
            &expect![[r#"
            The MCP server asker asks:

              May I go on?
              It takes \u{202e}long.

            › 1. Yes (y)
              2. No (n)
              3. Leave it without an answer (esc)
            1: ResolveElicitation { server_name: "asker", request_id: Text("e1"), decision: Accept, content: None }
            2: ResolveElicitation { server_name: "asker", request_id: Text("e1"), decision: Decline, content: None }
            3: ResolveElicitation { server_name: "asker", request_id: Text("e1"), decision: Cancel, content: None }
        "#]],
        );
    }

    #[test]
    fn a_server_with_a_form_says_that_it_has_questions() {
        let request = server("e1", json!({"type": "object", "properties": {"name": {"type": "string"}}}));
        assert_eq!(request.answers()[0].0.label, "Yes, and answer its questions");
    }

    #[test]
    fn questions_of_a_server_end_with_its_call() {
        let mut approvals = Approvals::default();
        for request in [server("e1", json!({})), server("e2", json!({}))] {
            approvals.ask(request, Duration::ZERO);
        }
        approvals.ask(ApprovalRequest::Command(Box::new(command("one"))), Duration::ZERO);
        assert!(!approvals.forget_server("other", Duration::ZERO));
        assert!(approvals.forget_server("asker", Duration::ZERO));
        assert_eq!(asked(&approvals).as_deref(), Some("one"));
    }

    #[test]
    fn the_oldest_request_is_asked_first_and_an_abort_forgets_the_others() {
        let mut approvals = Approvals::default();
        for script in ["one", "two", "three"] {
            approvals.ask(ApprovalRequest::Command(Box::new(command(script))), Duration::ZERO);
        }
        assert_eq!(asked(&approvals).as_deref(), Some("one"));
        approvals.outcome(ListOutcome::Chosen(0), Duration::ZERO);
        assert_eq!(asked(&approvals).as_deref(), Some("two"));
        let answered = approvals.outcome(ListOutcome::Aborted, Duration::ZERO).unwrap();
        assert_eq!(answered.decision, ReviewDecision::Abort);
        assert_eq!(asked(&approvals), None);
    }

    #[test]
    fn a_command_is_shown_as_it_would_be_typed() {
        let words = |words: &[&str]| command_text(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(words(&["/bin/bash", "-lc", "ls | wc"]), "ls | wc");
        assert_eq!(words(&["echo", "a b", "it's", ""]), r"echo 'a b' 'it'\''s' ''");
        assert_eq!(words(&["bash", "-x", "y"]), "bash -x y");
    }
}
