//! Skills of a session: where they may lie, and the texts of those that an input asks for.

use std::path::Path;
use std::path::PathBuf;

use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_config::layers::LayerSource;
use pellucid_engine::skills::Skill;
use pellucid_engine::skills::SkillOwner;
use pellucid_engine::skills::Skills;
use pellucid_engine::skills::Switch;
use pellucid_engine::skills::inject;
use pellucid_engine::skills::select::Selecting;
use pellucid_engine::skills::select::select;
use pellucid_engine::skills::variables;
use pellucid_engine::skills::variables::NeededVariable;
use pellucid_engine::transcript::Draft;
use pellucid_protocol::input::UserInput;
use pellucid_workspace::skills;
use pellucid_workspace::skills::SkillPlaces;
use pellucid_workspace::skills::SkillSearch;

use crate::revision::ProjectAt;

/// How skills are searched under a configuration. Layers of a project without a decision on trust count too: a skill
/// is text, and the list shows its folder. Layers of a project that the user does not trust do not count.
pub fn search(config: &Config, env: &Env) -> SkillSearch {
    search_and_left_out(config, env).0
}

/// The same, with the folders of skills that are there and left out.
pub(crate) fn search_and_left_out(config: &Config, env: &Env) -> (SkillSearch, Vec<PathBuf>) {
    let layers = config.layers();
    let folders = |source| {
        let layers = layers.iter().filter(move |layer| layer.source == source);
        layers.filter_map(|layer| layer.folder()).map(ToOwned::to_owned)
    };
    let mut project_configs: Vec<_> = folders(LayerSource::Project).collect();
    project_configs.reverse();
    let places = SkillPlaces {
        project_configs,
        home: config.folders.home.clone(),
        user_home: env.user_home(),
        system_config: folders(LayerSource::System).next(),
        project_root: config.folders.project_root.clone(),
        cwd: config.folders.cwd.clone(),
        extra: Vec::new(),
    };
    let switches = config.tools.skills.iter().map(|switch| {
        let to = if switch.enabled { Switch::On } else { Switch::Off };
        (switch.path.clone(), to)
    });
    let mut search = SkillSearch::new(&places, switches.collect());
    let of_name = |(name, is_on): &(String, bool)| (name.clone(), if *is_on { Switch::On } else { Switch::Off });
    search.names = config.tools.skill_names.iter().map(of_name).collect();
    if !layers.is_untrusted() {
        return (search, Vec::new());
    }
    let of_project = search.roots.extract_if(.., |root| root.scope == SkillOwner::Repo);
    let left_out = of_project.map(|root| root.path).filter(|folder| folder.is_dir()).collect();
    (search, left_out)
}

/// What an input brings in.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// A message for each skill that it asks for.
    pub messages: Vec<Draft>,
    /// What a person should hear of those that cannot be read.
    pub warnings: Vec<String>,
}

/// Reads the skills that an input asks for, those of the project as a revision has them where one is looked at.
pub(crate) fn wanted(
    skills: &Skills,
    inputs: &[UserInput],
    selecting: &Selecting<'_>,
    project_at: Option<&ProjectAt>,
) -> Wanted {
    let mut wanted = Wanted::default();
    for skill in select(skills, inputs, selecting) {
        let place = |at: &ProjectAt| at.place(Path::new(&skill.path)).to_string_lossy().into_owned();
        let placed = project_at.map(|at| Skill { path: place(at), ..skill.clone() });
        match skills::read(placed.as_ref().unwrap_or(skill)) {
            Ok(text) => wanted.messages.push(inject::message(skill, text)),
            Err(error) => {
                wanted.warnings.push(format!("failed to load skill {} at {}: {error}", skill.name, skill.path));
            }
        }
    }
    wanted
}

/// The variables that the skills of an input need.
pub(crate) fn variables(skills: &Skills, inputs: &[UserInput], selecting: &Selecting<'_>) -> Vec<NeededVariable> {
    variables::needed(select(skills, inputs, selecting))
}
