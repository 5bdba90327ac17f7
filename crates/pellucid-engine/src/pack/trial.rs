//! A trial of what a pack computes: every template and condition over sample facts, so that an error is found by
//! `pack check` and not by the first session that meets it.

use pellucid_protocol::model::ModelInfo;
use pellucid_protocol::settings::PromptMode;
use pellucid_script::Program;
use pellucid_script::ScriptError;
use serde_json::json;

use super::LAYOUT;
use super::Pack;
use super::PackError;
use super::computing;
use super::position;
use crate::bootstrap::BootstrapFile;
use crate::bootstrap::ContextFile;
use crate::bootstrap::LoadedFiles;
use crate::computed;
use crate::computed::Looking;
use crate::facts::Document;
use crate::facts::Facts;
use crate::facts::MachineFacts;
use crate::facts::Memory;
use crate::skills::Skill;
use crate::skills::SkillOwner;
use crate::skills::Skills;
use crate::skills::Switch;

impl Pack {
    /// Every error that a template, a value or a condition of the pack has over sample facts.
    pub fn trial(&self) -> Vec<PackError> {
        let mut errors = Vec::new();
        for facts in samples() {
            let looking = Looking { pack: self, facts: &facts };
            for part in self.layout.slots.iter().flat_map(|slot| &slot.parts) {
                let Some(file) = part.file.as_deref() else { continue };
                // A closed gate means that the template is not for these facts.
                let slot = self.layout.slots.iter().find(|slot| slot.parts.contains(part));
                let gates = slot.into_iter().flat_map(|slot| &slot.gates).chain(&part.gates);
                if gates.into_iter().all(|gate| gate.is_open(self, &facts)) {
                    errors.extend(computed::render(file, looking).err().map(in_template));
                }
            }
            for condition in computing::conditions(&self.layout) {
                errors.extend(computed::holds(condition, looking).err().map(|error| self.in_layout(condition, &error)));
            }
        }
        let mut known: Vec<PackError> = Vec::new();
        for error in errors {
            if !known.contains(&error) {
                known.push(error);
            }
        }
        known
    }

    /// An error of a condition, at the place where the layout has the condition.
    fn in_layout(&self, condition: &Program, error: &ScriptError) -> PackError {
        let text = self.shelf.get(LAYOUT).map(|file| file.text.clone()).unwrap_or_default();
        let (line, column) = position(&text, text.find(condition.source()).unwrap_or_default());
        let message = format!("`{}`: {}{FOUND}", condition.source(), error.message);
        PackError::Syntax { file: self.layout_file().to_string(), line, column, message }
    }
}

/// What is said after the error of a trial.
const FOUND: &str = " (found with sample facts)";

fn in_template(error: ScriptError) -> PackError {
    let ScriptError { file, line, column, message } = error;
    PackError::Syntax { file, line, column, message: message + FOUND }
}

/// Facts with nothing in them, and facts with something for everything, in each mode.
fn samples() -> Vec<Facts> {
    let model: Result<ModelInfo, _> = serde_json::from_value(json!({
        "slug": "sample", "display_name": "sample", "shell_type": "default", "visibility": "list",
        "truncation_policy": { "mode": "tokens", "limit": 10_000 },
    }));
    let Ok(model) = model else { return Vec::new() };
    let plain = Facts::plain("/project", model);
    let mut rich = plain.clone();
    rich.settings.model.context_window = Some(100_000);
    rich.settings.writable_roots = vec!["/project".to_owned()];
    rich.world.home_document = Some(Document::whole("/user/AGENTS.md", "Be brief.\n"));
    rich.world.project_documents = vec![
        Document::whole("/project/AGENTS.md", "Run the tests.\n"),
        Document::whole("/project/part/AGENTS.md", "Mind the gap.\n"),
    ];
    let summary = Document::whole("/user/memories/summary.md", "The roof was mended.\n");
    rich.world.memory = Some(Memory { folder: "/user/memories".to_owned(), summary });
    let skill = Skill {
        name: "mend".to_owned(),
        description: "Mends <things> & more.".to_owned(),
        short_description: None,
        allowed_tools: Vec::new(),
        path: "/user/skills/mend/SKILL.md".to_owned(),
        scope: SkillOwner::User,
        switch: Switch::On,
        metadata: None,
    };
    rich.world.skills = Skills::new(vec![skill], Vec::new());
    let file = |name: &str| BootstrapFile::read(name, &format!("/project/{name}"), b"Words of the file.\n");
    let files = [file("AGENTS.md"), file("SOUL.md"), BootstrapFile::missing("USER.md", "/project/USER.md")];
    let placed = files.iter().map(|file| ContextFile::new(&file.path, file.content.as_deref().unwrap_or("missing")));
    rich.system.files = LoadedFiles { placed: placed.collect(), read: files.to_vec(), limits: None };
    rich.system.surroundings.machine = MachineFacts {
        name: "depot".to_owned(),
        os: "Debian 12".to_owned(),
        arch: "x86_64".to_owned(),
        time_zone: "Europe/Berlin".to_owned(),
    };
    rich.system.surroundings.repository = Some("/project".to_owned());
    rich.system.surroundings.provider = Some("openai".to_owned());
    let in_mode = |facts: &Facts, mode: PromptMode| {
        let mut facts = facts.clone();
        facts.system.prompt_mode = mode;
        facts
    };
    PromptMode::ALL.iter().flat_map(|mode| [in_mode(&plain, *mode), in_mode(&rich, *mode)]).collect()
}
