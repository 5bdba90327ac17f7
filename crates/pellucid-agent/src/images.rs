//! Loads the pictures that an input names.

use pellucid_engine::user_message::Images;
use pellucid_protocol::input::UserInput;
use pellucid_workspace::images::load_image;

/// Loads every picture on disk. Relative paths are those of this process, as they were typed.
pub fn load(inputs: &[UserInput]) -> Images {
    let paths = inputs.iter().filter_map(|input| match input {
        UserInput::LocalImage { path } => Some(path),
        _ => None,
    });
    paths.map(|path| (path.clone(), load_image(path))).collect()
}
