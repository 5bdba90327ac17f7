//! The screens before a session: sign-in, trust, the list of sessions, the folder of a session.

use std::path::Path;
use std::path::PathBuf;

use jiff::Timestamp;
use pellucid_agent::login;
use pellucid_config::edit::Edit;
use pellucid_config::edit::ValueEdit;
use pellucid_protocol::secret::Secret;
use pellucid_store::sessions::LocalSessions;
use pellucid_store::sessions::Sessions;
use pellucid_tui::before::Asker;
use pellucid_tui::before::BeforeAnswer;
use pellucid_tui::lists::options::ListOption;
use pellucid_tui::picker::Picker;
use pellucid_tui::picker::PickerRow;
use pellucid_tui::text::palette::ColourDepth;
use serde_json::Value;

use crate::edits;
use crate::start::Opening;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::start::Which;
use crate::tui::ClientTarget;
use crate::tui::SessionChoice;
use crate::tui::entries;
use crate::tui::settings;
use crate::tui::unusable;

/// What the screens before a session did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// Nothing had to be asked.
    Ready,
    /// The configuration or the login changed.
    Changed,
    /// The person ended the program.
    Ended,
}

/// Asks for a login and for trust, if they are missing.
pub async fn screens(start: &Start) -> Result<Before, ProgramFailure> {
    let needs_login = needs_login(start);
    let trusted = needs_trust(start);
    if !needs_login && trusted.is_none() {
        return Ok(Before::Ready);
    }
    let mut asker = asker(start).await?;
    if needs_login && !sign_in(&mut asker, start).await? {
        asker.end().map_err(unusable)?;
        return Ok(Before::Ended);
    }
    let is_trusted = match &trusted {
        Some(folder) => ask_trust(&mut asker, start, folder).await?,
        None => true,
    };
    if !is_trusted {
        asker.end().map_err(unusable)?;
        return Ok(Before::Ended);
    }
    asker.end().map_err(unusable)?;
    Ok(Before::Changed)
}

async fn asker(start: &Start) -> Result<Asker, ProgramFailure> {
    if start.config.terminal.is_for_screen_reader {
        return Asker::in_lines().map_err(unusable);
    }
    let env = &start.env;
    let depth =
        ColourDepth::of(env.text("NO_COLOR").as_deref(), env.text("COLORTERM").as_deref(), env.text("TERM").as_deref());
    Asker::start(depth, settings::keymap(&start.config)).await.map_err(unusable)
}

/// Whether the provider wants an account's login and there is none.
fn needs_login(start: &Start) -> bool {
    let provider = &start.config.model.provider;
    !start.has_script()
        && provider.requires_openai_auth
        && provider.env_key.is_none()
        && provider.experimental_bearer_token.is_none()
        && login::session_key(&start.config, &start.env).is_none()
        && !matches!(login::stored(&start.config), Ok(Some(_)))
}

/// The folder that trust is asked for; absent if there is a decision, or permissions are given.
fn needs_trust(start: &Start) -> Option<PathBuf> {
    let config = &start.config;
    let is_given = start.has_permission_options()
        || config.value("approval_policy").is_some()
        || config.value("sandbox_mode").is_some();
    if config.permissions.trust.is_some() || is_given {
        return None;
    }
    Some(config.layers().trust_folder())
}

/// Asks for a login. False if the person ended the program.
async fn sign_in(asker: &mut Asker, start: &Start) -> Result<bool, ProgramFailure> {
    let mut said = "Sign in to use Pellucid with the models of this provider.";
    loop {
        let title = vec!["Welcome to Pellucid".into(), "".into(), said.to_owned().into()];
        let options = vec![
            ListOption::new("Sign in with an account, in the browser"),
            ListOption::new("Sign in with an account, by a device code"),
            ListOption::new("Give an API key"),
        ];
        match asker.choose(title, options).await.map_err(unusable)? {
            BeforeAnswer::Ended | BeforeAnswer::Dismissed => return Ok(false),
            BeforeAnswer::Chosen(2) => {
                let Some(key) = asker.secret("API key (it is not shown)").await.map_err(unusable)? else {
                    continue;
                };
                let key = key.trim();
                if key.is_empty() {
                    said = "A key cannot be empty.";
                    continue;
                }
                login::log_in(&start.config, &Secret::new(key))
                    .map_err(|error| ProgramFailure::new(format!("could not log in: {error}")))?;
                return Ok(true);
            }
            BeforeAnswer::Chosen(_) => said = "Pellucid cannot sign in with an account; give an API key instead.",
        }
    }
}

/// Asks whether a folder is trusted, and stores a yes. False if the person ended the program.
async fn ask_trust(asker: &mut Asker, start: &Start, folder: &Path) -> Result<bool, ProgramFailure> {
    let title = vec![
        format!("You are in {}", folder.display()).into(),
        "".into(),
        "Do you trust what is in this folder?".into(),
        "Its files instruct the model, and may mislead it.".into(),
    ];
    let options = vec![
        ListOption { keys: vec!['y'], ..ListOption::new("Yes, continue") },
        ListOption { keys: vec!['n'], ..ListOption::new("No, end") },
    ];
    match asker.choose(title, options).await.map_err(unusable)? {
        BeforeAnswer::Chosen(0) => {
            let level = ValueEdit::Replace(Value::from("trusted"));
            let edit = Edit::top("projects", level).under(&folder.to_string_lossy()).under("trust_level");
            edits::change(&start.config.folders.user_file, |_| vec![edit])?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// The session that the client begins with; a list is shown where none is named. Absent to end the program.
pub async fn target(start: &Start, target: ClientTarget) -> Result<Option<SessionChoice>, ProgramFailure> {
    let (which, everywhere, is_fork) = match target {
        ClientTarget::New => return Ok(Some(SessionChoice::New)),
        ClientTarget::Resumed { which, everywhere } => (which, everywhere, false),
        ClientTarget::Forked { which, everywhere } => (which, everywhere, true),
    };
    let which = match which {
        Some(which) => which,
        None => {
            let rows = entries::sessions(&start.config, start.provider_id(), everywhere).into_iter().map(row).collect();
            let title = if is_fork { "Fork an earlier session" } else { "Continue an earlier session" };
            let mut picker = Picker::new(title, everywhere);
            picker.loaded(rows);
            let mut asker = asker(start).await?;
            let picked = asker.pick(picker, Timestamp::now().as_second()).await.map_err(unusable)?;
            asker.end().map_err(unusable)?;
            match picked {
                None => return Ok(None),
                Some(id) if id.is_empty() => return Ok(Some(SessionChoice::New)),
                Some(id) => Which::Id(id),
            }
        }
    };
    Ok(Some(if is_fork { SessionChoice::Forked(which) } else { SessionChoice::Resumed(which) }))
}

fn row(entry: pellucid_tui::host::MenuEntry) -> PickerRow {
    let number = |key: &str| entry.detail.get(key).and_then(Value::as_i64).unwrap_or_default();
    let text = |key: &str| entry.detail.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    PickerRow {
        created: number("created"),
        updated: number("updated"),
        branch: text("branch"),
        folder: text("folder"),
        id: entry.id,
        title: entry.label,
    }
}

/// Asks which folder a stored session continues in, if its last one is another. Absent to stay in this one.
pub async fn folder(start: &Start, opening: &Opening, is_given: bool) -> Result<Option<PathBuf>, ProgramFailure> {
    let Some(file) = opening.file().filter(|_| !is_given) else {
        return Ok(None);
    };
    let cwd = &start.config.folders.cwd;
    let sessions = LocalSessions::new(&start.config.folders.home);
    let Ok(last) = sessions.summary(&file.meta.id).map(|summary| PathBuf::from(summary.cwd)) else {
        return Ok(None);
    };
    let is_same = last == *cwd || last.canonicalize().ok() == cwd.canonicalize().ok();
    if is_same || !last.is_dir() {
        return Ok(None);
    }
    let mut asker = asker(start).await?;
    let title = vec!["The session worked in another folder. Where does it continue?".into()];
    let options = vec![
        ListOption::new(format!("In its folder {}", last.display())),
        ListOption::new(format!("In this folder {}", cwd.display())),
    ];
    let answer = asker.choose(title, options).await.map_err(unusable)?;
    asker.end().map_err(unusable)?;
    match answer {
        BeforeAnswer::Chosen(0) | BeforeAnswer::Dismissed => Ok(Some(last)),
        BeforeAnswer::Chosen(_) => Ok(None),
        BeforeAnswer::Ended => Err(ProgramFailure::new("no folder was chosen, so the session was not opened")),
    }
}
