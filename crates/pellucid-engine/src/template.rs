//! Templates: text files with named places.
//!
//! Each template declares its placeholders, spelled as in the file (`{root}`, `{{ text }}`). Loading is strict: a `{{
//! name }}` that is not declared, or a missing placeholder that carries content, is an error with file and line.
//! Rendering cannot fail, and every byte of the result keeps its origin.

use crate::file_version::FileVersion;
use crate::fragment::Fragment;
use crate::pack::PackError;

/// A place in a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TemplatePlace {
    /// The spelling in the file.
    pub mark: &'static str,
    /// Whether a file without it is refused, because content would be lost.
    pub need: Need,
}

impl TemplatePlace {
    /// A place that a text may do without.
    pub const fn may(mark: &'static str) -> Self {
        Self { mark, need: Need::May }
    }

    /// A place that carries content.
    pub const fn must(mark: &'static str) -> Self {
        Self { mark, need: Need::Must }
    }
}

/// Whether a place must be in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The placeholder carries content, so it has to be in the file.
    Must,
    /// A text may do without.
    May,
}

/// How the end of a file is trimmed when it is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trim {
    /// The end is kept.
    Keep,
    /// White space at the end is removed.
    End,
    /// One newline is removed.
    Newline,
}

/// The requirements of code on a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// How the end of the file is trimmed.
    pub trim: Trim,
    /// The placeholders that code fills.
    pub places: &'static [TemplatePlace],
}

impl Shape {
    /// A text without placeholders: braces in it mean nothing.
    pub const VERBATIM: Self = Self { trim: Trim::Keep, places: &[] };

    /// A text with these places, its end kept.
    pub const fn with(places: &'static [TemplatePlace]) -> Self {
        Self { trim: Trim::Keep, places }
    }
}

/// A template that was read and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    file: FileVersion,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Place(&'static str),
}

impl Template {
    /// Reads the text of `file` according to its shape.
    ///
    /// # Errors
    /// An undeclared `{{ name }}`, or a missing place that must be there.
    pub fn parse(file: &FileVersion, shape: &Shape, text: &str) -> Result<Self, PackError> {
        let text = match shape.trim {
            Trim::Keep => text,
            Trim::End => text.trim_end(),
            Trim::Newline => text.strip_suffix('\n').unwrap_or(text),
        };
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((at, place)) = first_place(rest, shape.places) {
            push_text(&mut pieces, file, shape, text, &rest[..at])?;
            pieces.push(Piece::Place(place.mark));
            rest = &rest[at + place.mark.len()..];
        }
        push_text(&mut pieces, file, shape, text, rest)?;
        for place in shape.places {
            if place.need == Need::Must && !pieces.contains(&Piece::Place(place.mark)) {
                return Err(PackError::MissingPlace { file: file.to_string(), place: place.mark.to_owned() });
            }
        }
        Ok(Self { file: file.clone(), pieces })
    }

    /// Fills the places. A place without a value is left empty.
    pub fn render(&self, values: &[(&str, Vec<Fragment>)]) -> Vec<Fragment> {
        let mut fragments = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => fragments.push(Fragment::pack(&self.file, text.as_str())),
                Piece::Place(mark) => {
                    if let Some((_, value)) = values.iter().find(|(name, _)| name == mark) {
                        fragments.extend(value.iter().cloned());
                    }
                }
            }
        }
        fragments
    }

    /// Whether the text has a place.
    pub(crate) fn has_place(&self, mark: &str) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Place(known) if *known == mark))
    }

    /// The file it was read from.
    pub fn file(&self) -> &FileVersion {
        &self.file
    }

    /// The text with its places as they are written.
    pub fn written(&self) -> String {
        let written = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Place(mark) => (*mark).to_owned(),
        };
        self.pieces.iter().map(written).collect()
    }

    /// The text of a template without places.
    pub fn text(&self) -> Vec<Fragment> {
        self.render(&[])
    }
}

/// Looks for places that are not among these, in the text of a template that nothing fills yet.
///
/// # Errors
/// The first undeclared `{{ name }}`.
pub(crate) fn check_places(file: &str, places: &[&str], text: &str) -> Result<(), PackError> {
    let mut rest = text.to_owned();
    for place in places {
        rest = rest.replace(place, &" ".repeat(place.len()));
    }
    let Some(at) = unknown_place(&rest) else {
        return Ok(());
    };
    let end = rest[at..].find("}}").map_or(rest.len(), |end| at + end + 2);
    Err(PackError::UnknownPlace {
        file: file.to_owned(),
        line: rest[..at].matches('\n').count() + 1,
        place: rest[at..end].to_owned(),
        known: places.iter().map(|place| (*place).to_owned()).collect(),
    })
}

fn first_place<'a>(text: &str, places: &'a [TemplatePlace]) -> Option<(usize, &'a TemplatePlace)> {
    places.iter().filter_map(|place| text.find(place.mark).map(|at| (at, place))).min_by_key(|(at, _)| *at)
}

fn push_text(pieces: &mut Vec<Piece>, file: &str, shape: &Shape, whole: &str, text: &str) -> Result<(), PackError> {
    if !shape.places.is_empty()
        && let Some(at) = unknown_place(text)
    {
        let offset = text.as_ptr().addr() - whole.as_ptr().addr() + at;
        let end = text[at..].find("}}").map_or(text.len(), |end| at + end + 2);
        return Err(PackError::UnknownPlace {
            file: file.to_owned(),
            line: whole[..offset].matches('\n').count() + 1,
            place: text[at..end].to_owned(),
            known: shape.places.iter().map(|place| place.mark.to_owned()).collect(),
        });
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text.to_owned()));
    }
    Ok(())
}

/// Finds `{{ name }}` with any spacing, where the name is a word.
fn unknown_place(text: &str) -> Option<usize> {
    text.match_indices("{{").find_map(|(at, _)| {
        let inside = &text[at + 2..];
        let name = inside[..inside.find("}}")?].trim();
        let is_word = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        is_word.then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;
    use crate::fragment::concat;

    const SHAPE: Shape =
        Shape { trim: Trim::Newline, places: &[TemplatePlace::must("{{ name }}"), TemplatePlace::may("{mood}")] };

    #[track_caller]
    fn check_template(text: &str, expected: &Expect) {
        let actual = match Template::parse(&"greeting.md".into(), &SHAPE, text) {
            Ok(template) => concat(&template.render(&[
                ("{{ name }}", vec![Fragment::fact("name", "Ada")]),
                ("{mood}", vec![Fragment::fact("mood", "calm")]),
            ])),
            Err(error) => format!("error: {error}"),
        };
        expected.assert_eq(&actual);
    }

    #[test]
    fn fills_every_place_and_leaves_other_braces_alone() {
        check_template("{{ name }} is {mood}, {{ name }}! {json: 1}\n", &expect!["Ada is calm, Ada! {json: 1}"]);
    }

    #[test]
    fn an_unknown_place_is_refused_with_its_line() {
        check_template(
            "{{ name }}\nis {{nmae}}\n",
            &expect!["error: greeting.md:2: unknown variable `{{nmae}}`; known here: `{{ name }}`, `{mood}`"],
        );
    }

    #[test]
    fn a_missing_place_that_carries_content_is_refused() {
        check_template(
            "nobody\n",
            &expect!["error: greeting.md: variable `{{ name }}` is missing, its content would be lost"],
        );
    }

    #[test]
    fn the_end_of_a_file_is_kept_trimmed_or_loses_one_newline() {
        let text = |trim, text: &str| {
            let shape = Shape { trim, places: &[] };
            concat(&Template::parse(&"f".into(), &shape, text).unwrap().text())
        };
        let ends = |trim| ["a \n\n", "a\n", "a", ""].map(|it| text(trim, it));
        assert_eq!(ends(Trim::Keep), ["a \n\n", "a\n", "a", ""]);
        assert_eq!(ends(Trim::Newline), ["a \n", "a", "a", ""]);
        assert_eq!(ends(Trim::End), ["a", "a", "a", ""]);
    }

    #[test]
    fn a_text_without_places_is_used_as_it_is() {
        let text = "{{ any }} {{thing}} {x} }} {{";
        let template = Template::parse(&"f".into(), &Shape::VERBATIM, text).unwrap();
        assert_eq!((concat(&template.text()), template.written()), (text.to_owned(), text.to_owned()));
        assert_eq!(&**template.file(), "f");
    }

    #[test]
    fn every_byte_keeps_its_origin_and_a_place_without_a_value_is_empty() {
        let template = Template::parse(&"greeting.md".into(), &SHAPE, "Hello {{ name }}, {mood}.\n").unwrap();
        let rendered = template.render(&[("{{ name }}", vec![Fragment::layout("A"), Fragment::fact("f", "da")])]);
        let shown: Vec<(&str, &str)> = rendered.iter().map(|it| (it.origin.kind(), it.text.as_str())).collect();
        assert_eq!(shown, [("pack", "Hello "), ("layout", "A"), ("fact", "da"), ("pack", ", "), ("pack", ".")]);
        assert_eq!(template.written(), "Hello {{ name }}, {mood}.");
        let twice = Template::parse(&"f".into(), &SHAPE, "{{ name }}{{ name }}").unwrap();
        assert_eq!(concat(&twice.render(&[("{{ name }}", vec![Fragment::layout("x")])])), "xx");
    }

    #[test]
    fn what_is_filled_in_is_never_read_as_a_place() {
        let template = Template::parse(&"f".into(), &SHAPE, "{{ name }} {mood}").unwrap();
        let value = || vec![Fragment::layout("{mood} {{ name }} {{ other }}")];
        assert_eq!(
            concat(&template.render(&[("{{ name }}", value()), ("{mood}", vec![Fragment::layout("calm")])])),
            "{mood} {{ name }} {{ other }} calm"
        );
    }

    #[test]
    fn places_of_a_text_that_nothing_fills_yet_are_looked_for() {
        let check = |text: &str| check_places("f.md", &["{{ a }}"], text).map_err(|error| error.to_string());
        assert_eq!(check("x {{ a }} {b} {{ }} {{ not a word }}"), Ok(()));
        assert_eq!(check("\n\n{{ b }}"), Err("f.md:3: unknown variable `{{ b }}`; known here: `{{ a }}`".to_owned()));
        assert_eq!(check("{{a}}"), Err("f.md:1: unknown variable `{{a}}`; known here: `{{ a }}`".to_owned()));
        assert_eq!(check("{{ open"), Ok(()));
    }
}
