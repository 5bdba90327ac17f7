//! A person's input as one message.
//!
//! Texts stay texts. An image is between two tags; an image that could not be loaded becomes a sentence with the
//! reason. Skills and mentions add nothing here.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use pellucid_protocol::input::UserInput;

use crate::facts::LoadedImage;
use crate::file_version::FileVersion;
use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::pack::Pack;
use crate::server_input::GivenParts;
use crate::template::Shape;
use crate::template::TemplatePlace;
use crate::transcript::Draft;
use crate::transcript::DraftPart;

const UNREADABLE: &str = "images/unreadable.md";
const INVALID: &str = "images/invalid.md";
const UNSUPPORTED: &str = "images/unsupported.md";

/// The templates used here.
pub(crate) const TEMPLATES: &[(&str, Shape)] = &[
    (UNREADABLE, Shape::with(&[TemplatePlace::must("{path}"), TemplatePlace::must("{error}")])),
    (INVALID, Shape::with(&[TemplatePlace::must("{path}"), TemplatePlace::must("{error}")])),
    (UNSUPPORTED, Shape::with(&[TemplatePlace::must("{path}"), TemplatePlace::must("{mime}")])),
];

/// Images on disk, by the path in the input.
pub type Images = BTreeMap<PathBuf, LoadedImage>;

/// Makes the user's message from its inputs. `given` knows which of them MCP servers gave.
pub fn user_message(pack: &Pack, inputs: &[UserInput], images: &Images, given: &GivenParts) -> Draft {
    let mut parts = Vec::new();
    let mut n_images = 0;
    for input in inputs {
        match input {
            UserInput::Text { text, .. } => parts.push(text_part(given.origin(text), text)),
            UserInput::Image { image_url } => {
                n_images += 1;
                let image = Fragment { origin: given.origin(image_url), text: image_url.clone() };
                push_image(&mut parts, "<image>", image);
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

/// An image that a tool loads, as a separate message without tags.
pub fn image_message(pack: &Pack, path: &Path, image: &LoadedImage) -> Draft {
    Draft { part: "picture".into(), role: "user", parts: vec![image_part(pack, path, image)] }
}

/// The image, or a sentence with the reason why it could not be loaded.
fn image_part(pack: &Pack, path: &Path, image: &LoadedImage) -> DraftPart {
    let (template, place, what) = match image {
        LoadedImage::Ready { data_url, sha256 } => {
            let path = path.to_string_lossy();
            let path = FileVersion::new(&path, Some(*sha256));
            let origin = Origin::File { path, range: 0..0, size: 0 };
            return DraftPart::Image(Fragment { origin, text: data_url.clone() });
        }
        LoadedImage::Unreadable { error } => (UNREADABLE, "{error}", error.clone()),
        LoadedImage::Invalid { error } => (INVALID, "{error}", error.clone()),
        LoadedImage::NotAnImage { mime: Some(mime), .. } => {
            (UNREADABLE, "{error}", format!("unsupported MIME type `{mime}`"))
        }
        LoadedImage::NotAnImage { mime: None, .. } => {
            (UNREADABLE, "{error}", "unsupported MIME type (unknown)".to_owned())
        }
        LoadedImage::Unsupported { mime, .. } => (UNSUPPORTED, "{mime}", mime.clone()),
    };
    let values = [
        ("{path}", vec![Fragment::fact("image path", path.to_string_lossy().as_ref())]),
        (place, vec![Fragment::fact("image problem", what)]),
    ];
    DraftPart::Text(pack.template(template).render(&values))
}

fn push_local_image(parts: &mut Vec<DraftPart>, pack: &Pack, path: &Path, image: Option<&LoadedImage>, n: usize) {
    let not_loaded = || LoadedImage::Unreadable { error: "it was not loaded".to_owned() };
    match image_part(pack, path, image.unwrap_or(&not_loaded())) {
        DraftPart::Image(image) => push_image(parts, &format!("<image name=[Image #{n}]>"), image),
        problem => parts.push(problem),
    }
}

fn push_image(parts: &mut Vec<DraftPart>, tag: &str, image: Fragment) {
    parts.push(text_part(Origin::Layout, tag));
    parts.push(DraftPart::Image(image));
    parts.push(text_part(Origin::Layout, "</image>"));
}

fn text_part(origin: Origin, text: &str) -> DraftPart {
    DraftPart::Text(vec![Fragment { origin, text: text.to_owned() }])
}

#[cfg(test)]
mod tests;
