//! What is put into the conversation beside the model's own items: a person's message with its images and skills,
//! notices about tools, and images that a tool read.

use super::*;

impl Session {
    /// Records what a person said, and the skills that it asks for. Gives what a person should hear
    /// of skills that cannot be read.
    pub fn record_input(&mut self, inputs: &[UserInput]) -> Vec<EventMessage> {
        let wanted = if select::may_select(inputs) { self.wanted_skills(inputs) } else { Wanted::default() };
        self.record_message(inputs);
        self.skills = wanted.messages;
        wanted.warnings.into_iter().map(|message| EventMessage::Warning { message }).collect()
    }

    /// Records what a person said, and nothing else.
    pub(crate) fn record_message(&mut self, inputs: &[UserInput]) {
        let images = images::load(inputs);
        for (path, image) in &images {
            self.omissions.extend(unseen::not_seen(path, image));
        }
        let mut draft = user_message(&self.setup.pack, inputs, &images);
        if let Some(standing) = &mut self.standing {
            let again = standing.again();
            draft = standing.wrap(inputs, draft);
            if let Some(again) = again {
                self.note_again(&again);
            }
        }
        self.record_draft(&draft);
    }

    /// Records the skills that the last input asked for.
    pub fn record_skills(&mut self) {
        for message in std::mem::take(&mut self.skills) {
            self.record_draft(&message);
        }
    }

    /// The skills that an input asks for. After the first turn they are looked for again, because
    /// they may have come or gone since.
    fn wanted_skills(&self, inputs: &[UserInput]) -> Wanted {
        let same_name = self.setup.pack.layout.skills.same_name;
        let Gathered { facts, skill_search, .. } = &self.setup.gathered;
        if self.last.is_some() {
            skills::wanted(&skill_search.load(), inputs, same_name, None)
        } else {
            skills::wanted(&facts.skills, inputs, same_name, self.setup.sources.project_at.as_deref())
        }
    }

    /// Records a notice to the model about how it uses its tools.
    pub(crate) fn record_notice(&mut self, notice: &Notice) {
        let pack = &self.setup.pack;
        let draft = match notice {
            Notice::PatchThroughShell { tool } => notice::patch_through_shell(pack, tool),
            Notice::PrefixSaved { prefix } => notice::prefix_saved(prefix),
            Notice::ManyTerminals { n, max } => notice::many_terminals(pack, *n, *max),
        };
        self.record_draft(&draft);
        if let Notice::PrefixSaved { prefix } = notice {
            self.setup.gathered.allow(prefix);
        }
    }

    /// A message that holds an image and nothing else.
    pub(crate) fn picture(&mut self, path: &Path) -> Draft {
        let image = load_image(path);
        self.omissions.extend(unseen::not_seen(path, &image));
        picture_message(&self.setup.pack, path, &image)
    }
}
