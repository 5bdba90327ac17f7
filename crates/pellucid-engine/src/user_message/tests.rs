//! Texts, images and what is said of images that could not be loaded.

use expect_test::Expect;
use expect_test::expect;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;

use super::*;
use crate::digest::Digest;

fn pack() -> Pack {
    Pack::builtin("codex").unwrap()
}

fn text(text: &str) -> UserInput {
    UserInput::Text { text: text.to_owned(), text_elements: Vec::new() }
}

fn local(path: &str) -> UserInput {
    UserInput::LocalImage { path: path.into() }
}

/// The parts of a message, each with where it came from.
fn shown(draft: &Draft) -> String {
    let line = |part: &DraftPart| match part {
        DraftPart::Text(fragments) => {
            let origins: Vec<&str> = fragments.iter().map(|it| it.origin.kind()).collect();
            format!("text {:?} from {}", crate::fragment::concat(fragments), origins.join(", "))
        }
        DraftPart::Image(image) => {
            format!("image {:?} from {} {}", image.text, image.origin.kind(), image.origin.detail())
        }
    };
    let lines: Vec<String> = draft.parts.iter().map(line).collect();
    format!("{} {}\n{}", draft.part, draft.role, lines.join("\n"))
}

#[track_caller]
fn check_message(inputs: &[UserInput], images: &Images, expected: &Expect) {
    expected.assert_eq(&shown(&user_message(&pack(), inputs, images, &GivenParts::default())));
}

fn every_image() -> Images {
    let error = || "it is broken".to_owned();
    let all = [
        (
            "ready.png",
            LoadedImage::Ready { data_url: "data:image/png;base64,AA".into(), sha256: Digest::of([b"x".as_slice()]) },
        ),
        ("locked.png", LoadedImage::Unreadable { error: error() }),
        ("torn.png", LoadedImage::Invalid { error: error() }),
        ("notes.txt", LoadedImage::NotAnImage { mime: Some("text/plain".into()), error: error() }),
        ("blob", LoadedImage::NotAnImage { mime: None, error: error() }),
        ("odd.tiff", LoadedImage::Unsupported { mime: "image/tiff".into(), error: error() }),
    ];
    all.into_iter().map(|(path, image)| (PathBuf::from(path), image)).collect()
}

#[test]
fn texts_stay_texts_and_what_is_no_text_adds_nothing() {
    let mention = UserInput::Mention { name: "m".to_owned(), path: "app://m".to_owned() };
    let skill = UserInput::Skill { name: "s".to_owned(), path: "/s/SKILL.md".into() };
    check_message(
        &[text("one"), mention, skill, text(""), text("two\n")],
        &Images::new(),
        &expect![[r#"
        user user
        text "one" from user
        text "" from user
        text "two\n" from user"#]],
    );
    check_message(
        &[],
        &Images::new(),
        &expect![[r#"
        user user
    "#]],
    );
}

#[test]
fn an_image_stands_between_tags_and_is_numbered_with_all_others() {
    let web = UserInput::Image { image_url: "https://example.com/a.png".to_owned() };
    check_message(
        &[web.clone(), local("ready.png"), text("and"), web, local("ready.png")],
        &every_image(),
        &expect![[r#"
        user user
        text "<image>" from layout
        image "https://example.com/a.png" from user 
        text "</image>" from layout
        text "<image name=[Image #2]>" from layout
        image "data:image/png;base64,AA" from file ready.png
        text "</image>" from layout
        text "and" from user
        text "<image>" from layout
        image "https://example.com/a.png" from user 
        text "</image>" from layout
        text "<image name=[Image #4]>" from layout
        image "data:image/png;base64,AA" from file ready.png
        text "</image>" from layout"#]],
    );
}

#[test]
fn each_reason_why_an_image_is_not_there_is_said() {
    let inputs: Vec<UserInput> =
        ["locked.png", "torn.png", "notes.txt", "blob", "odd.tiff", "never.png"].map(local).into();
    check_message(
        &inputs,
        &every_image(),
        &expect![[r#"
        user user
        text "Pellucid could not read the local image at `locked.png`: it is broken" from pack, fact, pack, fact
        text "Image located at `torn.png` is invalid: it is broken" from pack, fact, pack, fact
        text "Pellucid could not read the local image at `notes.txt`: unsupported MIME type `text/plain`" from pack, fact, pack, fact
        text "Pellucid could not read the local image at `blob`: unsupported MIME type (unknown)" from pack, fact, pack, fact
        text "Pellucid cannot attach image at `odd.tiff`: unsupported image format `image/tiff`." from pack, fact, pack, fact, pack
        text "Pellucid could not read the local image at `never.png`: it was not loaded" from pack, fact, pack, fact"#]],
    );
}

#[test]
fn an_image_of_a_tool_has_no_tags() {
    let images = every_image();
    let lines: Vec<String> = images.iter().map(|(path, image)| shown(&image_message(&pack(), path, image))).collect();
    expect![[r#"
        picture user
        text "Pellucid could not read the local image at `blob`: unsupported MIME type (unknown)" from pack, fact, pack, fact
        picture user
        text "Pellucid could not read the local image at `locked.png`: it is broken" from pack, fact, pack, fact
        picture user
        text "Pellucid could not read the local image at `notes.txt`: unsupported MIME type `text/plain`" from pack, fact, pack, fact
        picture user
        text "Pellucid cannot attach image at `odd.tiff`: unsupported image format `image/tiff`." from pack, fact, pack, fact, pack
        picture user
        image "data:image/png;base64,AA" from file ready.png
        picture user
        text "Image located at `torn.png` is invalid: it is broken" from pack, fact, pack, fact"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn a_message_is_an_item_of_its_parts_in_order() {
    let draft = user_message(&pack(), &[text("one"), local("ready.png")], &every_image(), &GivenParts::default());
    let Item::Message { role, content, .. } = draft.item() else { panic!("it is a message") };
    let kinds: Vec<&str> = content
        .iter()
        .map(|part| match part {
            ContentPart::InputText { .. } => "text",
            ContentPart::InputImage { .. } => "image",
            ContentPart::OutputText { .. } => "output",
        })
        .collect();
    assert_eq!((role.as_str(), kinds), ("user", vec!["text", "text", "image", "text"]));
}
