//! The title of the terminal's window: what the client does, and for which session.

use super::App;
use super::manner::TitlePart;
use crate::text::clean;
use crate::text::width::shortened;

/// A longer part of the title is cut.
const PART_COLUMNS: usize = 40;

impl App {
    /// The title of the window now; absent if none is to be set.
    pub fn title(&self) -> Option<String> {
        let parts = self.settings.manner.title.iter().filter_map(|part| self.title_part(*part));
        let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        (!parts.is_empty()).then(|| parts.join(" · "))
    }

    fn title_part(&self, part: TitlePart) -> Option<String> {
        let session = self.session.configured.as_ref();
        let folder = || session?.cwd.file_name().map(|name| name.to_string_lossy().into_owned());
        let text = match part {
            TitlePart::State if self.asking.is_open() => Some("needs you".to_owned()),
            TitlePart::State if self.session.is_working() => Some("working".to_owned()),
            TitlePart::State => Some("pellucid".to_owned()),
            TitlePart::Name => self.session.name.clone().or_else(folder),
            TitlePart::Folder => folder(),
            TitlePart::Branch => self.settings.around.branch.clone(),
            TitlePart::Model => session.map(|session| session.model.clone()),
        };
        // A name may have been chosen by a program, and must not end the sequence that sets the title.
        text.map(|text| shortened(&clean::line(&text), PART_COLUMNS))
    }
}
