//! Standing texts of a session: read, decided about and put before what a person says.
//!
//! The engine decides; this reads the files, keeps the state beside the session's file and tells
//! people what they should hear.

use std::path::Path;

use pellucid_engine::digest::Digest;
use pellucid_engine::file_version::FileVersion;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::Omission;
use pellucid_engine::pack::Pack;
use pellucid_engine::reinject::Blocked;
use pellucid_engine::reinject::Injection;
use pellucid_engine::reinject::Level;
use pellucid_engine::reinject::LogLine;
use pellucid_engine::reinject::State;
use pellucid_engine::reinject::Words;
use pellucid_engine::reinject::again::Again;
use pellucid_engine::reinject::envelope;
use pellucid_engine::reinject::envelope::Beside;
use pellucid_engine::reinject::envelope::Said;
use pellucid_engine::reinject::envelope::Sent;
use pellucid_engine::reinject::files::Files;
use pellucid_engine::reinject::files::Text;
use pellucid_engine::reinject::settings::Given;
use pellucid_engine::reinject::settings::Settings;
use pellucid_engine::reinject::settings::Variant;
use pellucid_engine::reinject::skill_words;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::DraftPart;
use pellucid_engine::truncate::tokens_of_bytes;
use pellucid_protocol::input::UserInput;
use pellucid_store::recorder;
use pellucid_workspace::standing_files::Instructions;
use pellucid_workspace::standing_files::Sources as FileSources;
use pellucid_workspace::standing_files::StandingFiles;
use serde_json::Value;

use crate::gather::Sources;

/// Where the state is kept.
pub(crate) const SIDE: &str = "reinject";

/// The channel whose variables count.
const CHANNEL: &str = "CLI";

/// Standing texts of a session.
#[derive(Debug)]
pub(crate) struct Standing {
    settings: Settings,
    state: State,
    files: StandingFiles,
    words: Words,
    envelope: envelope::Words,
    phase: Option<Vec<Fragment>>,
    /// What goes before the next input.
    due: Option<Injection>,
    /// What the model does not see of the files that were read last.
    omissions: Vec<Omission>,
    /// The files that were read for the next input, if they were needed.
    files_read: Option<Vec<FileVersion>>,
}

impl Standing {
    /// Those of a pack that has some.
    ///
    /// # Errors
    /// A phase that the pack has no prompt for.
    pub(crate) fn new(
        pack: &Pack,
        sources: &Sources,
        cwd: &Path,
        state: Option<&Value>,
    ) -> Result<Option<Self>, String> {
        let phase = sources.config.prompt.phase.as_deref();
        let Some(layout) = &pack.layout.reinject else {
            return match phase {
                None => Ok(None),
                Some(phase) => Err(format!("phase `{phase}`: the pack `{}` has no prompts for phases", pack.name)),
            };
        };
        let phase = match phase {
            None => None,
            Some(phase) => {
                let known: Vec<&str> = layout.phases.keys().map(String::as_str).collect();
                let unknown = || format!("phase `{phase}`: the pack `{}` knows {}", pack.name, known.join(", "));
                Some(pack.template(layout.phases.get(phase).ok_or_else(unknown)?).text())
            }
        };
        let env = |name: &str| sources.env.text(name);
        let settings = layout.settings(Given::from_env(Some(CHANNEL), &env));
        let instructions = match (&layout.instructions, &layout.assets_dir) {
            (None, _) => Instructions::None,
            (Some(file), Some(folder)) => Instructions::File(cwd.join(folder).join(file)),
            (Some(file), None) => {
                let template = pack.template(file);
                Instructions::Text(Text::in_pack(template.file(), &template.written()))
            }
        };
        let file_sources = FileSources {
            variant: settings.variant,
            instructions,
            rules: layout.rules.clone(),
            ads_state: env("ADS_STATE_DIR").map(Into::into),
            now: recorder::now,
        };
        tracing::info!("{}", settings.line());
        Ok(Some(Self {
            state: state.and_then(|state| serde_json::from_value(state.clone()).ok()).unwrap_or_default(),
            files: StandingFiles::new(file_sources, cwd),
            words: Words::of(pack),
            envelope: envelope::Words::of(pack),
            phase,
            settings,
            due: None,
            omissions: Vec::new(),
            files_read: None,
        }))
    }

    /// Decides what goes before the next input. Gives what a person should hear.
    ///
    /// # Errors
    /// Why the input must not be sent.
    pub(crate) fn prepare(
        &mut self,
        inputs: &[UserInput],
        cwd: &Path,
        occupancy: Option<f64>,
    ) -> Result<Vec<String>, Blocked> {
        if self.files.set_workspace(cwd) {
            let path = self.files.workspace().to_string_lossy().into_owned();
            let line = self.state.switch_workspace(&self.settings, &path);
            log(line.as_slice());
        }
        let is_needed = self.state.needs_files(&self.settings);
        let files = if is_needed { self.files.read() } else { Files::default() };
        self.files_read = is_needed.then(|| files.on_disk().cloned().collect());
        self.omissions = files.omissions(SIDE);
        if self.settings.variant == Variant::Current {
            self.request_skills(inputs, &files);
        }
        let decision = self.state.decide(&self.settings, &files, &self.words, occupancy);
        log(&decision.log);
        self.due = decision.injection?;
        let is_worth_telling = |line: &&LogLine| matches!(line.level, Level::Warn | Level::Error);
        let told = decision.log.iter().filter(is_worth_telling);
        Ok(told.map(|line| line.text.trim_start_matches("[SystemPrompt] ").to_owned()).collect())
    }

    /// What the model does not see of the files that were read for the next input, or not as it is.
    pub(crate) fn omissions(&self) -> &[Omission] {
        &self.omissions
    }

    /// The files on disk that were read for the next input; absent if none were needed.
    pub(crate) fn files_read(&self) -> Option<&[FileVersion]> {
        self.files_read.as_deref()
    }

    fn request_skills(&mut self, inputs: &[UserInput], files: &Files) {
        let mut names = Vec::new();
        for input in inputs {
            if let UserInput::Text { text, .. } = input {
                names.extend(skill_words::named(text));
                names.extend(skill_words::guessed(text, &files.skills));
            }
        }
        self.state.request_skills(&names);
    }

    /// What is due, if it was said before.
    pub(crate) fn again(&self) -> Option<Again> {
        let injection = self.due.as_ref().filter(|injection| injection.reason != "initial")?;
        let text = injection.text();
        Some(Again {
            part: SIDE.into(),
            reason: injection.reason.clone(),
            sha256: Digest::of([text.as_bytes()]).to_string(),
            tokens: tokens_of_bytes(text.len()),
        })
    }

    /// Puts what is due before a message.
    pub(crate) fn wrap(&mut self, inputs: &[UserInput], draft: Draft) -> Draft {
        let injected = self.due.take().map(|injection| injection.fragments());
        let Draft { part, role, mut parts } = draft;
        let said = match (inputs, parts.as_mut_slice()) {
            ([UserInput::Text { .. }], [DraftPart::Text(fragments)]) if fragments.len() == 1 => {
                Said::Text(fragments.remove(0))
            }
            _ => Said::Items(parts),
        };
        let sent = match self.settings.variant {
            Variant::Current => envelope::wrap_current(injected, &self.envelope, Beside::Nothing, said).sent,
            Variant::Design | Variant::Initial => envelope::wrap(injected, self.phase.clone(), said),
        };
        let parts = match sent {
            Sent::Text(fragments) => vec![DraftPart::Text(fragments)],
            Sent::Items { texts, items } => texts.into_iter().map(DraftPart::Text).chain(items).collect(),
        };
        Draft { part, role, parts }
    }

    /// Notes that an input was sent.
    pub(crate) fn complete_turn(&mut self) {
        self.state.complete_turn();
    }

    /// What is to be kept.
    pub(crate) fn kept(&self) -> Value {
        serde_json::to_value(&self.state).unwrap_or_default()
    }
}

/// Writes lines to the log, each as loud as it is.
fn log(lines: &[LogLine]) {
    for line in lines {
        match line.level {
            Level::Error => tracing::error!(code = line.code, "{}", line.text),
            Level::Warn => tracing::warn!(code = line.code, "{}", line.text),
            Level::Info => tracing::info!("{}", line.text),
            Level::Debug => tracing::debug!("{}", line.text),
        }
    }
}
