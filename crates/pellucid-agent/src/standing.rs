//! Standing instructions: texts that a pack puts before a person's message, in some turns or in all.
//!
//! The engine decides when. This file reads the texts, keeps the state beside the session's file and passes warnings on.

use std::path::Path;

use pellucid_config::config::StandingSettings;
use pellucid_engine::digest::Digest;
use pellucid_engine::file_states::FilePurpose;
use pellucid_engine::file_states::FileStates;
use pellucid_engine::file_version::FileVersion;
use pellucid_engine::fragment::Omission;
use pellucid_engine::pack::Pack;
use pellucid_engine::reinject::Blocked;
use pellucid_engine::reinject::Injection;
use pellucid_engine::reinject::Level;
use pellucid_engine::reinject::ReinjectState;
use pellucid_engine::reinject::StandingNotice;
use pellucid_engine::reinject::account::StandingAccount;
use pellucid_engine::reinject::again::Again;
use pellucid_engine::reinject::envelope;
use pellucid_engine::reinject::envelope::EnvelopeInput;
use pellucid_engine::reinject::envelope::EnvelopeOutput;
use pellucid_engine::reinject::files::HashedText;
use pellucid_engine::reinject::files::InjectionInput;
use pellucid_engine::reinject::layout::ReinjectLayout;
use pellucid_engine::reinject::parts::PartTexts;
use pellucid_engine::reinject::phases::PhasePrompt;
use pellucid_engine::reinject::settings::ReinjectOverrides;
use pellucid_engine::reinject::settings::ReinjectSettings;
use pellucid_engine::reinject::skill_words;
use pellucid_engine::report::Report;
use pellucid_engine::tokens::tokens_of_bytes;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::DraftPart;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::input::UserInput;
use pellucid_store::recorder;
use pellucid_workspace::standing_files::Instructions;
use pellucid_workspace::standing_files::StandingFiles;
use pellucid_workspace::standing_files::StandingSources;
use serde_json::Value;

use crate::gather::FactSources;
use crate::habits::ComingInput;
use crate::habits::Habit;
use crate::habits::Happened;
use crate::habits::Prepared;
use crate::habits::Wrapped;
use crate::phases::Phases;
use crate::session::Setup;

/// The name under which the state is kept beside the session's file.
const SIDE: &str = "reinject";

/// The standing instructions of a session.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    settings: ReinjectSettings,
    state: ReinjectState,
    files: StandingFiles,
    /// How many skills are guessed from an input; absent if the layout has no skills.
    skills_guessed: Option<usize>,
    words: PartTexts,
    envelope: envelope::EnvelopeTexts,
    /// The phase that holds since the last look at the settings; absent if no setting names one that the pack has.
    phase: Option<PhasePrompt>,
    /// What was said last of settings of the phase that have no effect.
    phase_problems: Vec<String>,
    /// The name of the client that runs the session.
    client: String,
    /// What goes before the next input.
    due: Option<Injection>,
    /// What became of the files of that injection.
    accounts: Vec<StandingAccount>,
    /// What the model does not see of the files that were read last.
    omissions: Vec<Omission>,
    /// The files that were read for the next input, if they were needed.
    files_read: Option<Vec<FileVersion>>,
}

impl Standing {
    /// The standing instructions of a session whose pack has some. A phase that the pack does not have gives a warning:
    /// the instructions and rules are sent without its prompt.
    pub(crate) fn of(setup: &mut Setup) -> Option<Self> {
        let cwd = setup.gathered.facts.settings.cwd.clone();
        let state = setup.side.get(SIDE);
        let (phase, problems) = phase_of(&setup.pack, &setup.phases);
        setup.notices.extend(problems.iter().map(|message| EventMessage::Warning { message: message.clone() }));
        let (layout, overrides, warnings) = configured(&setup.pack, &setup.sources.config.prompt.reinject);
        setup.notices.extend(warnings.into_iter().map(|message| EventMessage::Warning { message }));
        let mut standing = layout.map(|layout| {
            let client = &setup.identity.name;
            Self::new(&setup.pack, &setup.sources, cwd.as_ref(), state, client, &layout, &overrides)
        });
        if let Some(standing) = &mut standing {
            (standing.phase, standing.phase_problems) = (phase, problems);
        }
        standing
    }

    fn new(
        pack: &Pack,
        sources: &FactSources,
        cwd: &Path,
        state: Option<&Value>,
        client: &str,
        layout: &ReinjectLayout,
        configured: &ReinjectOverrides,
    ) -> Self {
        let env = |name: &str| sources.env.text(name);
        let prefixes = layout.env.as_deref().unwrap_or_default();
        let settings = layout.settings(ReinjectOverrides::from_env(prefixes, &env).or(configured));
        let instructions = match (&layout.instructions, &layout.assets_dir) {
            (None, _) => Instructions::None,
            (Some(file), Some(folder)) => Instructions::File(cwd.join(folder).join(file)),
            (Some(file), None) => {
                let template = pack.template(file);
                Instructions::Text(HashedText::in_pack(template.file(), &template.written()))
            }
        };
        let states = layout.files.state.as_ref().and_then(|state| env(state.env.as_deref()?));
        let file_sources = StandingSources {
            layout: layout.clone(),
            instructions,
            states: states.map(Into::into),
            now: recorder::now,
        };
        tracing::info!("{}", settings.line());
        Self {
            state: state.and_then(|state| serde_json::from_value(state.clone()).ok()).unwrap_or_default(),
            files: StandingFiles::new(file_sources, cwd),
            skills_guessed: layout.skills.as_ref().map(|skills| skills.guessed),
            words: PartTexts::of(pack, &settings),
            envelope: envelope::EnvelopeTexts::of(pack, layout),
            phase: None,
            phase_problems: Vec::new(),
            settings,
            client: client.to_owned(),
            due: None,
            accounts: Vec::new(),
            omissions: Vec::new(),
            files_read: None,
        }
    }

    /// Decides what goes before the next input. Returns warnings for the person.
    fn decide(&mut self, inputs: &[UserInput], cwd: &Path, occupancy: Option<f64>) -> Result<Vec<String>, Blocked> {
        if self.files.set_workspace(cwd) {
            let path = self.files.workspace().to_string_lossy().into_owned();
            log(&[self.state.switch_workspace(&path)]);
        }
        let is_needed = self.state.needs_files(&self.settings, occupancy);
        let files = if is_needed { self.files.read() } else { InjectionInput::default() };
        self.files_read = is_needed.then(|| files.on_disk().cloned().collect());
        self.omissions = files.omissions(SIDE);
        if let Some(n_guessed) = self.skills_guessed {
            self.request_skills(inputs, &files, n_guessed);
        }
        let decision = self.state.decide(&self.settings, &files, &self.words, occupancy);
        log(&decision.notices);
        self.due = decision.injection?;
        let account = |due: &Injection| StandingAccount::of(due, &files, self.state.turn_count, &self.client);
        self.accounts = self.due.as_ref().map(account).unwrap_or_default();
        let is_warning = |notice: &&StandingNotice| matches!(notice.level(), Level::Warn | Level::Error);
        Ok(decision.notices.iter().filter(is_warning).map(StandingNotice::text).collect())
    }

    /// Looks at the settings of the phase, which clients may have changed. Returns warnings that the person has not seen.
    fn look_at_phase(&mut self, pack: &Pack, phases: &Phases, cwd: &Path) -> Vec<String> {
        if phases.names().names.is_empty() {
            return Vec::new();
        }
        phases.enter(cwd);
        let (phase, problems) = phase_of(pack, phases);
        self.phase = phase;
        let seen = std::mem::replace(&mut self.phase_problems, problems);
        self.phase_problems.iter().filter(|problem| !seen.contains(problem)).cloned().collect()
    }

    fn request_skills(&mut self, inputs: &[UserInput], files: &InjectionInput, n_guessed: usize) {
        let mut names = Vec::new();
        for input in inputs {
            if let UserInput::Text { text, .. } = input {
                names.extend(skill_words::named(text));
                names.extend(skill_words::guessed(text, &files.skills, n_guessed));
            }
        }
        self.state.request_skills(&names);
    }

    /// The text that is due, if the model has read it before.
    fn again(&self) -> Option<Again> {
        let injection = self.due.as_ref().filter(|injection| injection.reason != "initial")?;
        let text = injection.text();
        Some(Again {
            part: SIDE.into(),
            reason: injection.reason.clone(),
            sha256: Digest::of([text.as_bytes()]).to_string(),
            tokens: tokens_of_bytes(text.len()),
        })
    }

    fn kept(&self) -> Value {
        serde_json::to_value(&self.state).unwrap_or_default()
    }
}

impl Habit for Standing {
    fn copied(&self) -> Box<dyn Habit> {
        Box::new(self.clone())
    }

    fn prepare(&mut self, setup: &mut Setup, input: &ComingInput<'_>) -> Result<Prepared, String> {
        let decided = self.decide(input.inputs, setup.gathered.facts.settings.cwd.as_ref(), input.occupancy);
        if decided.is_err() {
            // The number of failures counts, also when the input is refused.
            setup.keep(SIDE, self.kept());
        }
        let mut warnings = decided.map_err(|blocked| blocked.message)?;
        let cwd = setup.gathered.facts.settings.cwd.clone();
        warnings.extend(self.look_at_phase(&setup.pack, &setup.phases, cwd.as_ref()));
        Ok(Prepared { warnings, omissions: self.omissions.clone() })
    }

    fn note(&mut self, setup: &mut Setup, happened: &Happened<'_>) {
        if let Happened::TurnSent = happened {
            self.state.complete_turn();
            setup.keep(SIDE, self.kept());
        }
    }

    fn wrap(&mut self, inputs: &[UserInput], draft: Draft) -> Wrapped {
        let said_before = self.again().into_iter().collect();
        let mut injected = std::mem::take(&mut self.accounts);
        let of_phase = |prompt| StandingAccount::of_phase(prompt, self.state.turn_count, &self.client);
        injected.extend(self.phase.as_ref().map(of_phase));
        let texts = self.due.take().map(|injection| injection.fragments());
        let Draft { part, role, mut parts } = draft;
        let said = match (inputs, parts.as_mut_slice()) {
            ([UserInput::Text { .. }], [DraftPart::Text(fragments)]) if fragments.len() == 1 => {
                EnvelopeInput::Text(fragments.remove(0))
            }
            _ => EnvelopeInput::Items(parts),
        };
        let phase = self.phase.as_ref().map(|prompt| prompt.text.clone());
        let sent = envelope::wrap(texts, &self.envelope, phase, said);
        let parts = match sent {
            EnvelopeOutput::Text(fragments) => vec![DraftPart::Text(fragments)],
            EnvelopeOutput::Items { texts, items } => texts.into_iter().map(DraftPart::Text).chain(items).collect(),
        };
        Wrapped { draft: Draft { part, role, parts }, said_before, injected }
    }

    fn report(&self, report: &mut Report) {
        report.phase = self.phase.as_ref().map(|prompt| prompt.phase.clone());
    }

    fn add_files(&self, now: &mut FileStates, known: &[&FileStates]) {
        match &self.files_read {
            Some(files) => files.iter().for_each(|file| now.add(FilePurpose::Standing, file)),
            // Texts that are not due were not read, and did not disappear either.
            None => known.iter().for_each(|states| now.carry(FilePurpose::Standing, states)),
        }
    }
}

/// The standing texts of the pack with what the configuration says of them, and warnings about values without a meaning.
fn configured(pack: &Pack, given: &StandingSettings) -> (Option<ReinjectLayout>, ReinjectOverrides, Vec<String>) {
    let mut layout = pack.layout.reinject.as_ref().map(ReinjectLayout::chosen);
    if let Some(rules) = &given.rules {
        layout.get_or_insert_default().rules = Some(vec![rules.clone()]);
    }
    let mut warnings = Vec::new();
    if layout.is_none() && *given != StandingSettings::default() {
        warnings.push(format!(
            "reinject: the pack `{}` has no standing texts; name a file of the workspace with `reinject.rules`",
            pack.name
        ));
    }
    let mut at_least_one = |key: &str, turns: Option<f64>| {
        let usable = turns.filter(|turns| *turns >= 1.0);
        if let (Some(turns), None) = (turns, usable) {
            warnings.push(format!("{key}: {turns} is not used, because it is below 1; the pack's value holds"));
        }
        usable
    };
    let turns = at_least_one("reinject.turns", given.turns);
    let rules_turns = at_least_one("reinject.rules_turns", given.rules_turns);
    let is_share = |share: &f64| (0.0..=1.0).contains(share);
    let thresholds = given.thresholds.clone().filter(|shares| shares.iter().all(is_share));
    if given.thresholds.is_some() && thresholds.is_none() {
        warnings.push(
            "reinject.thresholds: not used, because a share is not between 0 and 1; the pack's value holds".to_owned(),
        );
    }
    let overrides =
        ReinjectOverrides { enabled: given.enabled, turns, rules_turns, trigger: given.trigger, thresholds };
    (layout, overrides, warnings)
}

/// The prompt of the phase that the settings choose, and why settings have no effect.
fn phase_of(pack: &Pack, phases: &Phases) -> (Option<PhasePrompt>, Vec<String>) {
    let (settings, mut problems) = phases.settings();
    let prompt = settings
        .chosen()
        .and_then(|phase| PhasePrompt::of(pack, &phase).map_err(|error| problems.push(error.to_string())).ok());
    (prompt, problems)
}

/// Writes what a decision says to the log, each line at its level.
fn log(notices: &[StandingNotice]) {
    for notice in notices {
        let (code, text) = (notice.code(), notice.text());
        match notice.level() {
            Level::Error => tracing::error!(code, "{text}"),
            Level::Warn => tracing::warn!(code, "{text}"),
            Level::Info => tracing::info!("{text}"),
        }
    }
}
