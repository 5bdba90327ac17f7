//! Loads the images that an input names.

use pellucid_engine::user_message::Images;
use pellucid_protocol::input::UserInput;
use pellucid_workspace::images::load_image;

/// Loads every image on disk. Relative paths start at the folder of this process, where the user typed them.
pub fn load(inputs: &[UserInput]) -> Images {
    let paths = inputs.iter().filter_map(|input| match input {
        UserInput::LocalImage { path } => Some(path),
        _ => None,
    });
    paths.map(|path| (path.clone(), load_image(path))).collect()
}
