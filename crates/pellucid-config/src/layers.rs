//! The layers of the configuration: reading and merging them.
//!
//! From weak to strong: system, user, project folders from the root down, flags, managed. The layers of a project that
//! the user does not trust are kept but disabled. Of a trusted project, some values apply only once they are accepted
//! (`guard`).
//!
//! Not here: profiles, which are not layers (`reader`), and what the values mean (`load`).

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use pellucid_protocol::settings::TrustLevel;

use crate::accepted::Accepted;
use crate::check::Problem;
use crate::error::ConfigError;
use crate::error::LocatedError;
use crate::error::line_at;
use crate::files;
use crate::guard;
use crate::guard::Acceptance;
use crate::guard::Guarded;
use crate::load::LoadOptions;
use crate::load::ProjectLayers;
use crate::overrides;
use crate::paths;
use crate::project;
use crate::project::Decision;
use crate::project::Project;
use crate::value::Table;
use crate::value::Value;
use crate::value::ValuePlace;
use crate::value::segments;
use crate::verify;

/// The name of the configuration file in a home or project folder.
pub const FILE_NAME: &str = "config.toml";

const DEFAULT_ROOT_MARKER: &str = ".git";

/// Where a layer comes from, from weak to strong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayerSource {
    /// The configuration file of the machine.
    System,
    /// The user's configuration file.
    User,
    /// The configuration file of a project folder.
    Project,
    /// The command line, or the client that started the session.
    Flags,
    /// The role of an agent that another agent started.
    Role,
    /// The administrator's managed configuration.
    Managed,
}

/// One layer of the configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Where the layer comes from.
    pub source: LayerSource,
    /// The layer's file, whether it exists or not.
    pub file: Option<PathBuf>,
    /// The layer's values, with absolute paths.
    pub table: Table,
    /// Why the layer is disabled; `None` if it applies.
    pub disabled: Option<String>,
    trust: Trust,
    /// The layer's values that apply once they are accepted, if a project's layer has any.
    guarded: Option<Guarded>,
    text: String,
}

/// Whether files in a layer's folder may widen what commands may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The files may widen it.
    Given,
    /// The files belong to a project that the user has not declared trusted.
    NotGiven,
}

/// A place for people: a file and a line, or the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Where the layer comes from.
    pub source: LayerSource,
    /// The file of the layer, if it has one.
    pub file: Option<PathBuf>,
    /// The line in the file, counted from 1.
    pub line: Option<usize>,
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{}:{line}", file.display()),
            (Some(file), None) => write!(f, "{}", file.display()),
            (None, _) => f.write_str("the command line"),
        }
    }
}

impl Layer {
    /// Whether the layer's values apply.
    pub fn is_enabled(&self) -> bool {
        self.disabled.is_none()
    }

    /// Whether the layer's folder is trusted. A project without a configuration file is not disabled, but that does not
    /// make it trusted.
    pub fn trust(&self) -> Trust {
        self.trust
    }

    /// The layer's values that apply once they are accepted. `None` if all apply, or none do.
    pub fn guarded(&self) -> Option<&Guarded> {
        self.guarded.as_ref().filter(|_| self.is_enabled())
    }

    /// The layer's values that apply.
    pub fn counting(&self) -> Cow<'_, Table> {
        if !self.is_enabled() {
            return Cow::Owned(Table::default());
        }
        if self.source != LayerSource::Project && self.guarded.is_none() {
            return Cow::Borrowed(&self.table);
        }
        let guard::Parts { mut free, guarded } = guard::parts(&self.table);
        if self.guarded.as_ref().is_some_and(|guarded| guarded.standing == Acceptance::Accepted) {
            free.overlay(&guarded);
        }
        Cow::Owned(free)
    }

    /// The folder of the layer's file.
    pub fn folder(&self) -> Option<&Path> {
        self.file.as_deref()?.parent()
    }

    /// A place of this layer for people.
    pub fn location(&self, place: ValuePlace) -> Location {
        let line = (!self.text.is_empty()).then(|| line_at(&self.text, place.start).0);
        Location { source: self.source, file: self.file.clone(), line }
    }

    fn located(&self, place: ValuePlace, message: String) -> Option<LocatedError> {
        let file = self.file.as_deref().filter(|_| !self.text.is_empty())?;
        Some(LocatedError::new(file, &self.text, &(place.start..place.end), message))
    }
}

/// All layers, and their merged values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Layers {
    layers: Vec<Layer>,
    merged: Table,
    project: Project,
    cwd: PathBuf,
    root_markers: Vec<String>,
    accepted_problem: Option<String>,
}

impl Layers {
    /// The layers, weak ones first, disabled ones too.
    pub fn iter(&self) -> impl Iterator<Item = &Layer> {
        self.layers.iter()
    }

    /// The merged values of all enabled layers.
    pub fn merged(&self) -> &Table {
        &self.merged
    }

    /// The value of a dotted path, without regard to profiles.
    pub fn get(&self, path: &str) -> Option<&Value> {
        self.merged.at(segments(path))
    }

    /// The top folder of the project.
    pub fn project_root(&self) -> &Path {
        self.project.root()
    }

    /// Whether the command line, or the client that started the session, sets a key.
    pub fn is_typed(&self, path: &str) -> bool {
        let typed = self.layers.iter().filter(|layer| layer.source == LayerSource::Flags);
        typed.into_iter().any(|layer| layer.table.at(segments(path)).is_some())
    }

    /// The top folder of the project that contains a folder, by the markers of this configuration.
    pub fn project_root_of(&self, folder: &Path) -> PathBuf {
        Project::new(folder, &self.root_markers).root().to_owned()
    }

    /// The nearest folder with a `.git` entry, if it is known for sure.
    pub fn work_tree(&self) -> Option<&Path> {
        self.project.work_tree()
    }

    /// The user's decision about the project.
    pub(crate) fn trust(&self) -> Option<TrustLevel> {
        self.project.trust(&self.merged)
    }

    /// The folder that a decision about trust is stored for: the main repository's, or the working directory.
    pub fn trust_folder(&self) -> PathBuf {
        self.project.trust_folder()
    }

    /// Whether the user has declared the project untrusted. No decision does not count as untrusted.
    pub fn is_untrusted(&self) -> bool {
        self.project.trust_in(&self.cwd, &self.merged).level == Some(TrustLevel::Untrusted)
    }

    /// Why the accepted values could not be read, if a layer needed them.
    pub fn accepted_problem(&self) -> Option<&str> {
        self.accepted_problem.as_deref()
    }

    /// The names by which a project's top folder is recognised.
    pub fn root_markers(&self) -> &[String] {
        &self.root_markers
    }

    /// The layer of the user's configuration file.
    pub fn user(&self) -> Option<&Layer> {
        self.layers.iter().find(|layer| layer.source == LayerSource::User)
    }

    /// The layer that contains a place.
    pub fn layer_of(&self, place: ValuePlace) -> Option<&Layer> {
        self.layers.get(place.layer)
    }

    /// Checks that every value is of the kind that its key accepts. Whether profiles, providers and files that are
    /// named exist is not checked.
    ///
    /// # Errors
    ///
    /// The first wrong value.
    pub fn verify(&self) -> Result<(), ConfigError> {
        verify::check(&self.merged).map_err(|problem| self.error(problem))
    }

    /// Converts a problem to the error that shows its place, if it is in a file.
    pub(crate) fn error(&self, problem: Problem) -> ConfigError {
        let Problem { message, key, place } = problem;
        match self.layer_of(place).and_then(|layer| layer.located(place, message.clone())) {
            Some(located) => ConfigError::Located(Box::new(located)),
            None => ConfigError::Value { message, key },
        }
    }

    fn merge(&mut self) {
        let mut merged = Table::default();
        for layer in &self.layers {
            merged.overlay(&layer.counting());
        }
        self.merged = merged;
    }
}

pub(crate) fn read(options: &LoadOptions) -> Result<Layers, ConfigError> {
    let user_home = options.env.user_home();
    let mut reader = LayerReader { layers: Layers::default(), options, user_home, accepted: None };
    reader.file(LayerSource::System, &options.system.config)?;
    reader.file(LayerSource::User, &options.home.join(FILE_NAME))?;
    // The flags are needed to find the project, though they are stronger than its layers.
    let flags = overrides::to_table(&options.overrides, 0);
    reader.project(&flags)?;
    reader.flags(flags);
    if let Some(role) = &options.role_file {
        reader.role_file(role)?;
    }
    reader.file(LayerSource::Managed, &options.system.managed_config)?;
    reader.layers.merge();
    Ok(reader.layers)
}

struct LayerReader<'o> {
    layers: Layers,
    options: &'o LoadOptions,
    user_home: Option<PathBuf>,
    /// Cache: read when a layer first needs acceptance.
    accepted: Option<Accepted>,
}

impl LayerReader<'_> {
    fn file(&mut self, source: LayerSource, path: &Path) -> Result<(), ConfigError> {
        match read_file(path)? {
            Some(text) => self.text(source, path, text),
            None => {
                self.push(source, Some(path.to_owned()), Table::default(), String::new());
                Ok(())
            }
        }
    }

    /// Reads the file of a role, which must exist. A role file in the project is guarded like the project's other
    /// files, even if the user's file names it.
    fn role_file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let Read { text, real } = read_located(path)?.ok_or_else(|| ConfigError::Unreadable {
            what: "config file",
            path: path.to_owned(),
            source: io::ErrorKind::NotFound.into(),
        })?;
        let table = self.parse(path, &text).map_err(ConfigError::Located)?;
        let root = self.layers.project_root().canonicalize();
        let is_of_project = root.is_ok_and(|root| real.starts_with(root)) && !self.is_in_home(&real);
        let guarded = if is_of_project { self.guarded(real, &table) } else { None };
        self.push(LayerSource::Role, Some(path.to_owned()), table, text);
        if let Some(layer) = self.layers.layers.last_mut() {
            layer.guarded = guarded;
        }
        Ok(())
    }

    /// The values of a project's document that apply once they are accepted, and whether they are.
    fn guarded(&mut self, file: PathBuf, table: &Table) -> Option<Guarded> {
        let guarded = guard::parts(table).guarded;
        if guarded.is_empty() {
            return None;
        }
        let accepted = self.accepted.get_or_insert_with(|| {
            Accepted::read(&self.options.home).unwrap_or_else(|error| {
                self.layers.accepted_problem = Some(error.to_string());
                Accepted::default()
            })
        });
        let digest = guard::digest(&guarded);
        let standing = accepted.standing(&file, &digest);
        Some(Guarded { file, values: guard::values(&guarded), digest, standing })
    }

    fn is_in_home(&self, path: &Path) -> bool {
        self.options.home.canonicalize().is_ok_and(|home| path.starts_with(home))
    }

    fn text(&mut self, source: LayerSource, path: &Path, text: String) -> Result<(), ConfigError> {
        let table = self.parse(path, &text).map_err(ConfigError::Located)?;
        self.push(source, Some(path.to_owned()), table, text);
        Ok(())
    }

    fn parse(&self, path: &Path, text: &str) -> Result<Table, Box<LocatedError>> {
        Table::parse(text, self.layers.layers.len())
            .map_err(|fault| Box::new(LocatedError::new(path, text, &fault.span, fault.message)))
    }

    fn flags(&mut self, mut flags: Table) {
        let place = ValuePlace { layer: self.layers.layers.len(), ..ValuePlace::default() };
        for entry in flags.iter_mut() {
            entry.place = place;
            entry.value.move_to(place);
        }
        self.push(LayerSource::Flags, None, flags, String::new());
    }

    fn push(&mut self, source: LayerSource, file: Option<PathBuf>, mut table: Table, text: String) {
        let base = file.as_deref().and_then(Path::parent).unwrap_or(&self.options.cwd);
        paths::resolve(&mut table, base, self.user_home.as_deref());
        self.layers.layers.push(Layer {
            source,
            file,
            table,
            disabled: None,
            trust: Trust::Given,
            guarded: None,
            text,
        });
    }

    fn project(&mut self, flags: &Table) -> Result<(), ConfigError> {
        self.layers.merge();
        let mut known = std::mem::take(&mut self.layers.merged);
        known.overlay(flags);

        let markers = root_markers(&known);
        let project = Project::new(&self.options.cwd, &markers);
        let folders = match self.options.project {
            ProjectLayers::Read => project.folders(),
            ProjectLayers::Skip => Vec::new(),
        };
        for folder in folders {
            if !folder.has_folder(project::FOLDER) {
                continue;
            }
            let config_folder = folder.path.join(project::FOLDER);
            if !self.is_home(&config_folder) {
                self.project_file(&config_folder.join(FILE_NAME), &project.trust_in(folder.path, &known))?;
            }
        }
        self.layers.project = project;
        self.layers.cwd.clone_from(&self.options.cwd);
        self.layers.root_markers = markers;
        Ok(())
    }

    fn is_home(&self, folder: &Path) -> bool {
        let home = self.options.home.as_path();
        folder == home || folder.canonicalize().is_ok_and(|folder| home.canonicalize().is_ok_and(|home| folder == home))
    }

    fn project_file(&mut self, path: &Path, decision: &Decision) -> Result<(), ConfigError> {
        let trusted = decision.level == Some(TrustLevel::Trusted);
        let read = match read_located(path) {
            Ok(read) => read,
            Err(error) if trusted => return Err(error),
            Err(_) => None,
        };
        let disabled = read.is_some() && !trusted;
        let Read { text, real } = read.unwrap_or_default();
        let table = match self.parse(path, &text) {
            Ok(table) => table,
            Err(located) if trusted => return Err(ConfigError::Project { located }),
            Err(_) => Table::default(),
        };
        // The digest is of the bytes that are used: the file is not read a second time.
        let guarded = if trusted { self.guarded(real, &table) } else { None };
        self.push(LayerSource::Project, Some(path.to_owned()), table, text);
        if let Some(layer) = self.layers.layers.last_mut() {
            layer.guarded = guarded;
            layer.trust = if trusted { Trust::Given } else { Trust::NotGiven };
            layer.disabled = disabled.then(|| reason(decision, &self.options.home.join(FILE_NAME)));
        }
        Ok(())
    }
}

/// Why the layer of a project is disabled, and how to enable it.
fn reason(decision: &Decision, user_file: &Path) -> String {
    let (key, file) = (decision.key.display(), user_file.display());
    match decision.level {
        Some(_) => format!(
            "{key} is marked as untrusted in {file}; set `trust_level = \"trusted\"` under `[projects.\"{key}\"]` there to use this file"
        ),
        None => format!(
            "{key} has no trust level; set `trust_level = \"trusted\"` under `[projects.\"{key}\"]` in {file} to use this file"
        ),
    }
}

fn root_markers(table: &Table) -> Vec<String> {
    // A value of the wrong kind is reported when the merged document is checked.
    match table.get("project_root_markers").and_then(Value::as_list) {
        Some(markers) => markers.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        None => vec![DEFAULT_ROOT_MARKER.to_owned()],
    }
}

/// A file's text, and its path with all links resolved.
#[derive(Default)]
struct Read {
    text: String,
    real: PathBuf,
}

fn read_located(path: &Path) -> Result<Option<Read>, ConfigError> {
    let read = pellucid_files::LocatedFile::open(path).and_then(|found| {
        let real = found.real.clone();
        Ok(Read { text: found.read_text(pellucid_files::TEXT_BYTES_MAX)?, real })
    });
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Unreadable { what: "config file", path: path.to_owned(), source }),
    }
}

fn read_file(path: &Path) -> Result<Option<String>, ConfigError> {
    match files::read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Unreadable { what: "config file", path: path.to_owned(), source }),
    }
}
