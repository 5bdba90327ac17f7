//! What the model does not see of images and standing texts, or not as it is.

use pellucid_engine::facts::LoadedImage;
use pellucid_engine::fragment::Why;

use super::*;

/// What is said when nothing is sent because something would be lost.
pub(super) const STRICT: &str = "with --strict-context nothing is sent then";

/// An image that the model is not shown.
pub(super) fn not_seen(path: &Path, image: &LoadedImage) -> Option<Omission> {
    let error = image.problem()?.to_owned();
    Some(Omission { slot: "user".into(), what: path.to_string_lossy().into_owned(), why: Why::Unusable { error } })
}

/// What the model does not see, on one line.
pub(super) fn omission_text(omission: &Omission) -> String {
    format!("{}: {}", omission.what, why_text(&omission.why))
}

impl Session {
    /// Refuses input if the model would not see every text before it unchanged.
    pub fn refuse_losses(&mut self) {
        self.is_strict = true;
    }

    /// Notes something that the model does not see, and says so to people.
    pub(super) fn note_omission(&mut self, omission: Omission) {
        self.told.push(EventMessage::Warning { message: omission_text(&omission) });
        self.omissions.push(omission);
    }

    /// Notes what the standing texts for the next input lack. Gives what people should hear.
    ///
    /// # Errors
    /// Something would be lost, and that was forbidden.
    pub(super) fn note_standing(&mut self) -> Result<Vec<String>, String> {
        let now = self.standing.iter().flat_map(Standing::omissions);
        let new: Vec<Omission> = now.filter(|omission| !self.omissions.contains(omission)).cloned().collect();
        let lost = new.iter().filter(|omission| omission.why.is_loss());
        let lost: Vec<String> = lost.map(omission_text).collect();
        if self.is_strict && !lost.is_empty() {
            return Err(format!("{}; {STRICT}", lost.join("; ")));
        }
        self.omissions.extend(new);
        Ok(lost)
    }
}
