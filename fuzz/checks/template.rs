//! Any text is a template or is refused, and what is rendered is the text with its places filled.

use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::concat;
use pellucid_engine::template::Shape;
use pellucid_engine::template::Template;
use pellucid_engine::template::TemplatePlace;
use pellucid_engine::template::Trim;

const SHAPES: [Shape; 4] = [
    Shape::VERBATIM,
    Shape::with(&[TemplatePlace::may("{{ text }}"), TemplatePlace::may("{root}")]),
    Shape { trim: Trim::Newline, places: &[TemplatePlace::must("{{ text }}")] },
    Shape { trim: Trim::End, places: &[TemplatePlace::may("{root}")] },
];

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    for shape in &SHAPES {
        let Ok(template) = Template::parse(&"any.md".into(), shape, text) else {
            continue;
        };
        // Each place is filled with itself, so nothing but the end may differ.
        let fill = |place: &TemplatePlace| (place.mark, vec![Fragment::fact("place", place.mark)]);
        let values: Vec<_> = shape.places.iter().map(fill).collect();
        let rendered = concat(&template.render(&values));
        let expected = match shape.trim {
            Trim::Keep => text,
            Trim::End => text.trim_end(),
            Trim::Newline => text.strip_suffix('\n').unwrap_or(text),
        };
        assert_eq!(rendered, expected);
    }
}
