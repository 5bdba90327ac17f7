//! What a client sends in a prompt, as input of a turn: values in, values out.
//!
//! Text and links to files are one text. An embedded file is a separate text, fenced, below its address; so it has a
//! separate row in reports.

use std::path::Path;
use std::path::PathBuf;

use agent_client_protocol::v1::schema::ContentBlock;
use agent_client_protocol::v1::schema::EmbeddedResourceResource;
use agent_client_protocol::v1::schema::Error;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pellucid_engine::server_input::fenced;
use pellucid_protocol::input::UserInput;

use crate::wire::invalid;

/// The input of a turn.
///
/// # Errors
/// If a part cannot be sent to a model, or there is no part.
pub fn input(prompt: &[ContentBlock], cwd: &Path) -> Result<Vec<UserInput>, Error> {
    let (mut inputs, mut text) = (Vec::new(), String::new());
    for (n, block) in prompt.iter().enumerate() {
        let wrong = |why: &str| invalid(format!("session/prompt: part {n} {why}"));
        match block {
            ContentBlock::Text(said) => text.push_str(&said.text),
            ContentBlock::ResourceLink(link) => {
                if !text.is_empty() && !text.ends_with(char::is_whitespace) {
                    text.push(' ');
                }
                text.push_str(&mention(&link.uri, cwd));
            }
            ContentBlock::Image(image) => {
                flush(&mut text, &mut inputs);
                inputs.push(picture(&image.mime_type, &image.data).map_err(|why| wrong(&why))?);
            }
            ContentBlock::Resource(embedded) => {
                flush(&mut text, &mut inputs);
                inputs.push(match &embedded.resource {
                    EmbeddedResourceResource::TextResourceContents(file) => {
                        UserInput::text(fenced(&mention(&file.uri, cwd), &file.text))
                    }
                    EmbeddedResourceResource::BlobResourceContents(file) => {
                        let mime = file.mime_type.as_deref().unwrap_or("no type");
                        picture(mime, &file.blob).map_err(|why| wrong(&why))?
                    }
                    _ => return Err(wrong("is an embedded resource of an unknown kind")),
                });
            }
            ContentBlock::Audio(_) => return Err(wrong("is audio, which is not supported")),
            _ => return Err(wrong("is of an unknown kind")),
        }
    }
    flush(&mut text, &mut inputs);
    if inputs.is_empty() { Err(invalid("session/prompt: the prompt is empty")) } else { Ok(inputs) }
}

fn flush(text: &mut String, inputs: &mut Vec<UserInput>) {
    if !text.trim().is_empty() {
        inputs.push(UserInput::text(std::mem::take(text)));
    }
    text.clear();
}

fn picture(mime: &str, data: &str) -> Result<UserInput, String> {
    if !mime.starts_with("image/") {
        return Err(format!("is binary data of {mime}, not an image"));
    }
    match STANDARD.decode(data) {
        Ok(_) => Ok(UserInput::Image { image_url: format!("data:{mime};base64,{data}") }),
        Err(_) => Err("is an image that is not in base64".to_owned()),
    }
}

/// A file's path, relative to the working directory if the file is below it; other addresses stay as they are.
fn mention(uri: &str, cwd: &Path) -> String {
    let Some(path) = file_of(uri) else {
        return uri.to_owned();
    };
    let shown = path.strip_prefix(cwd).unwrap_or(&path);
    shown.display().to_string()
}

/// The path of a `file:` address, without its fragment.
pub fn file_of(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    let path = path.strip_prefix("localhost").unwrap_or(path);
    let path = path.split(['#', '?']).next().unwrap_or_default();
    path.starts_with('/').then(|| PathBuf::from(unescaped(path)))
}

/// A text whose escaped bytes are written out.
fn unescaped(text: &str) -> String {
    let (bytes, mut plain, mut at) = (text.as_bytes(), Vec::with_capacity(text.len()), 0);
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                plain.push(byte);
                at += 3;
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use serde_json::Value;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(prompt: Value, expected: &Expect) {
        let prompt: Vec<ContentBlock> = serde_json::from_value(prompt).unwrap();
        let shown = match input(&prompt, Path::new("/work")) {
            Ok(inputs) => inputs.iter().map(|it| format!("{}\n", serde_json::to_string(it).unwrap())).collect(),
            Err(error) => format!("{} {}", i32::from(error.code), error.message),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn texts_and_links_are_one_text() {
        let link = json!({"type": "resource_link", "name": "a", "uri": "file:///work/a%20b/c.rs#L3"});
        let other = json!({"type": "resource_link", "name": "x", "uri": "https://x.test/"});
        check(
            json!([{"type": "text", "text": "See"}, link, {"type": "text", "text": " and "}, other]),
            &expect![[r#"
                {"type":"text","text":"See a b/c.rs and https://x.test/","text_elements":[]}
            "#]],
        );
    }

    #[test]
    fn embedded_files_and_images_are_parts() {
        let file = json!({"uri": "file:///else/n.md", "text": "a ``` b"});
        check(
            json!([
                {"type": "text", "text": "See "},
                {"type": "resource", "resource": file},
                {"type": "image", "mimeType": "image/png", "data": "AA=="},
            ]),
            &expect![[r#"
                {"type":"text","text":"See ","text_elements":[]}
                {"type":"text","text":"/else/n.md\n````\na ``` b\n````","text_elements":[]}
                {"type":"image","image_url":"data:image/png;base64,AA=="}
            "#]],
        );
    }

    #[test]
    fn what_cannot_be_sent_is_named() {
        check(json!([]), &expect!["-32602 session/prompt: the prompt is empty"]);
        check(json!([{"type": "text", "text": " "}]), &expect!["-32602 session/prompt: the prompt is empty"]);
        check(
            json!([{"type": "text", "text": "a"}, {"type": "audio", "mimeType": "audio/wav", "data": ""}]),
            &expect!["-32602 session/prompt: part 1 is audio, which is not supported"],
        );
        check(
            json!([{"type": "image", "mimeType": "image/png", "data": "!"}]),
            &expect!["-32602 session/prompt: part 0 is an image that is not in base64"],
        );
        check(
            json!([{"type": "resource", "resource": {"uri": "file:///a", "blob": "AA==", "mimeType": "application/pdf"}}]),
            &expect!["-32602 session/prompt: part 0 is binary data of application/pdf, not an image"],
        );
    }
}
