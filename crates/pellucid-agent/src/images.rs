//! Loads the pictures that an input names.

use std::path::Path;

use pellucid_engine::user_message::Images;
use pellucid_protocol::input::UserInput;
use pellucid_workspace::images::load_image;

/// Loads every picture on disk; relative paths are looked for in the working directory.
pub fn load(inputs: &[UserInput], cwd: &Path) -> Images {
    let paths = inputs.iter().filter_map(|input| match input {
        UserInput::LocalImage { path } => Some(path),
        _ => None,
    });
    paths.map(|path| (path.clone(), load_image(&cwd.join(path)))).collect()
}
