//! A person's input as one message.
//!
//! Texts stay texts. A picture stands between two tags; one that could not be loaded becomes a
//! sentence that says so. Skills and mentions add nothing here.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use pellucid_protocol::input::UserInput;

use crate::facts::LoadedImage;
use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::pack::Pack;
use crate::template::Place;
use crate::template::Shape;
use crate::transcript::Draft;
use crate::transcript::DraftPart;

const UNREADABLE: &str = "images/unreadable.md";
const INVALID: &str = "images/invalid.md";
const UNSUPPORTED: &str = "images/unsupported.md";

/// The templates used here.
pub(crate) const TEMPLATES: &[(&str, Shape)] = &[
    (UNREADABLE, Shape::with(&[Place::must("{path}"), Place::must("{error}")])),
    (INVALID, Shape::with(&[Place::must("{path}"), Place::must("{error}")])),
    (UNSUPPORTED, Shape::with(&[Place::must("{path}"), Place::must("{mime}")])),
];

/// Pictures on disk, by the path that the input gives.
pub type Images = BTreeMap<PathBuf, LoadedImage>;

/// Makes the message.
pub fn user_message(pack: &Pack, inputs: &[UserInput], images: &Images) -> Draft {
    let mut parts = Vec::new();
    let mut n_images = 0;
    for input in inputs {
        match input {
            UserInput::Text { text, .. } => parts.push(text_part(Origin::User, text)),
            UserInput::Image { image_url } => {
                n_images += 1;
                push_image(&mut parts, "<image>", image_url, Origin::User);
            }
            UserInput::LocalImage { path } => {
                n_images += 1;
                push_local_image(&mut parts, pack, path, images.get(path), n_images);
            }
            UserInput::Skill { .. } | UserInput::Mention { .. } => {}
        }
    }
    Draft { part: "user".into(), role: "user", parts }
}

fn push_local_image(parts: &mut Vec<DraftPart>, pack: &Pack, path: &Path, image: Option<&LoadedImage>, n: usize) {
    let shown = path.to_string_lossy();
    let problem = |file: &str, place: &'static str, what: String| {
        let values = [
            ("{path}", vec![Fragment::fact("image path", shown.as_ref())]),
            (place, vec![Fragment::fact("image problem", what)]),
        ];
        DraftPart::Text(pack.template(file).render(&values))
    };
    match image {
        Some(LoadedImage::Ready { data_url }) => {
            let origin = Origin::File { path: shown.as_ref().into(), range: 0..0, size: 0 };
            push_image(parts, &format!("<image name=[Image #{n}]>"), data_url, origin);
        }
        Some(LoadedImage::Unreadable { error }) => parts.push(problem(UNREADABLE, "{error}", error.clone())),
        Some(LoadedImage::Invalid { error }) => parts.push(problem(INVALID, "{error}", error.clone())),
        Some(LoadedImage::NotAnImage { mime: Some(mime) }) => {
            parts.push(problem(UNREADABLE, "{error}", format!("unsupported MIME type `{mime}`")));
        }
        Some(LoadedImage::NotAnImage { mime: None }) => {
            parts.push(problem(UNREADABLE, "{error}", "unsupported MIME type (unknown)".to_owned()));
        }
        Some(LoadedImage::Unsupported { mime }) => parts.push(problem(UNSUPPORTED, "{mime}", mime.clone())),
        None => parts.push(problem(UNREADABLE, "{error}", "it was not loaded".to_owned())),
    }
}

fn push_image(parts: &mut Vec<DraftPart>, tag: &str, url: &str, origin: Origin) {
    parts.push(text_part(Origin::Layout, tag));
    parts.push(DraftPart::Image(Fragment { origin, text: url.to_owned() }));
    parts.push(text_part(Origin::Layout, "</image>"));
}

fn text_part(origin: Origin, text: &str) -> DraftPart {
    DraftPart::Text(vec![Fragment { origin, text: text.to_owned() }])
}
