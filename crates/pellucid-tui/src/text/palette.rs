//! The colours that a terminal can show and a person can read on its background.
//!
//! Cyan is for what can be chosen or pressed and for code, green for added and success, red for removed and failure,
//! magenta for modes. Text has the terminal's foreground, secondary text is dim. Where the background is known and colours
//! are exact, each accent is made darker or lighter until it can be read; otherwise the terminal's named colours are used,
//! which its owner has chosen for its background.

use ratatui_core::style::Color;
use ratatui_core::style::Modifier;
use ratatui_core::style::Style;

/// The least contrast of an accent, by the measure of WCAG 2.
pub const CONTRAST: f64 = 4.5;

/// A colour as a terminal reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

/// How many colours a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColourDepth {
    /// No colours; bold, dim and italic remain.
    None,
    /// The sixteen named ones.
    Named,
    /// Those, and 240 fixed ones.
    Fixed,
    /// Any colour, by its three parts.
    Exact,
}

impl ColourDepth {
    /// Decides by the variables `NO_COLOR`, `COLORTERM` and `TERM`.
    pub fn of(no_color: Option<&str>, colorterm: Option<&str>, term: Option<&str>) -> Self {
        if no_color.is_some_and(|it| !it.is_empty()) {
            return Self::None;
        }
        let (colorterm, term) = (colorterm.unwrap_or_default(), term.unwrap_or_default());
        match (colorterm, term) {
            ("truecolor" | "24bit", _) => Self::Exact,
            (_, "" | "dumb") => Self::None,
            (_, term) if term.ends_with("-direct") => Self::Exact,
            (_, term) if term.contains("256color") => Self::Fixed,
            (_, term) if term.contains("mono") || term.starts_with("vt1") || term.starts_with("vt2") => Self::None,
            _ => Self::Named,
        }
    }
}

/// The styles of the client on one terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette {
    accent: Option<Color>,
    added: Option<Color>,
    removed: Option<Color>,
    mode: Option<Color>,
    ground: Option<Color>,
}

const CYAN: Rgb = Rgb(0, 190, 200);
const GREEN: Rgb = Rgb(60, 180, 75);
const RED: Rgb = Rgb(225, 70, 70);
const MAGENTA: Rgb = Rgb(200, 90, 200);

impl Palette {
    /// The styles for a terminal; `background` is its answer, if it answered.
    pub fn new(depth: ColourDepth, background: Option<Rgb>) -> Self {
        let ground = background.map(over).map(|ground| match depth {
            ColourDepth::Fixed => fixed(nearest(ground, |_| true)),
            _ => ground,
        });
        let tone = |hue: Rgb, named: Color| match (depth, background, ground) {
            (ColourDepth::None, _, _) => None,
            (ColourDepth::Exact, Some(background), Some(ground)) => Some(exact(readable(hue, background, ground))),
            (ColourDepth::Fixed, Some(background), Some(ground)) => Some(readable_fixed(hue, background, ground)),
            _ => Some(named),
        };
        Self {
            accent: tone(CYAN, Color::Cyan),
            added: tone(GREEN, Color::Green),
            removed: tone(RED, Color::Red),
            mode: tone(MAGENTA, Color::Magenta),
            ground: match depth {
                ColourDepth::Exact => ground.map(exact),
                ColourDepth::Fixed => ground.map(|ground| Color::Indexed(nearest(ground, |_| true))),
                ColourDepth::None | ColourDepth::Named => None,
            },
        }
    }

    /// The styles of a terminal without colours.
    pub fn plain() -> Self {
        Self::new(ColourDepth::None, None)
    }

    /// What can be chosen or pressed, and code.
    pub fn accent(&self) -> Style {
        coloured(self.accent)
    }

    /// What was added, and success.
    pub fn added(&self) -> Style {
        coloured(self.added)
    }

    /// What was removed, and failure.
    pub fn removed(&self) -> Style {
        coloured(self.removed)
    }

    /// The mode that is on.
    pub fn mode(&self) -> Style {
        coloured(self.mode)
    }

    /// What may be skipped.
    pub fn dim(&self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// What is said with weight.
    pub fn bold(&self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// The ground of what the user said, of the composer and of plans. No colour if the background is not known.
    pub fn ground(&self) -> Style {
        self.ground.map_or(Style::new(), |ground| Style::new().bg(ground))
    }
}

fn coloured(colour: Option<Color>) -> Style {
    colour.map_or(Style::new(), |colour| Style::new().fg(colour))
}

fn exact(Rgb(red, green, blue): Rgb) -> Color {
    Color::Rgb(red, green, blue)
}

/// Whether a background is light: its luma is above 128.
pub fn is_light(Rgb(red, green, blue): Rgb) -> bool {
    299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue) > 128_000
}

/// The ground over a background: 12 % white over a dark one, 4 % black over a light one.
fn over(background: Rgb) -> Rgb {
    if is_light(background) {
        mixed(background, Rgb(0, 0, 0), 0.04)
    } else {
        mixed(background, Rgb(255, 255, 255), 0.12)
    }
}

fn mixed(one: Rgb, other: Rgb, share: f64) -> Rgb {
    let mix = |one: u8, other: u8| (f64::from(one) * (1.0 - share) + f64::from(other) * share).round() as u8;
    Rgb(mix(one.0, other.0), mix(one.1, other.1), mix(one.2, other.2))
}

/// The hue, made darker or lighter in small steps until it can be read on both.
fn readable(hue: Rgb, background: Rgb, ground: Rgb) -> Rgb {
    let steps = (0..=50).map(|step| f64::from(step) / 50.0);
    let towards = |end: Rgb| steps.clone().map(move |share| mixed(hue, end, share));
    let is_readable = |tone: &Rgb| contrast(*tone, background) >= CONTRAST && contrast(*tone, ground) >= CONTRAST;
    let (near, far) = if is_light(background) { (0, 255) } else { (255, 0) };
    let end = |value: u8| Rgb(value, value, value);
    towards(end(near)).chain(towards(end(far))).find(is_readable).unwrap_or(end(near))
}

fn readable_fixed(hue: Rgb, background: Rgb, ground: Rgb) -> Color {
    let tone = readable(hue, background, ground);
    let is_readable = |it: Rgb| contrast(it, background) >= CONTRAST && contrast(it, ground) >= CONTRAST;
    let of_hue = |it: Rgb| hue_of(it) == hue_of(hue) && is_readable(it);
    let has_hue = (16..=255).any(|index| of_hue(fixed(index)));
    Color::Indexed(if has_hue { nearest(tone, of_hue) } else { nearest(tone, is_readable) })
}

/// Which parts make the hue of a colour: those above the middle of all parts.
fn hue_of(Rgb(red, green, blue): Rgb) -> [bool; 3] {
    let middle = u16::from(red.max(green).max(blue)) + u16::from(red.min(green).min(blue));
    [red, green, blue].map(|part| 2 * u16::from(part) > middle)
}

/// The contrast of two colours by WCAG 2: 1 to 21.
pub fn contrast(one: Rgb, other: Rgb) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn luminance(Rgb(red, green, blue): Rgb) -> f64 {
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

fn linear(value: u8) -> f64 {
    let value = f64::from(value) / 255.0;
    if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}

/// The nearest of the fixed colours 16 to 255, by distance in Lab, among those that are accepted; among all if none is.
fn nearest(wanted: Rgb, is_accepted: impl Fn(Rgb) -> bool) -> u8 {
    let lab_wanted = lab(wanted);
    let distance = |index: u8| {
        let (one, other) = (lab(fixed(index)), lab_wanted);
        (one.0 - other.0).powi(2) + (one.1 - other.1).powi(2) + (one.2 - other.2).powi(2)
    };
    let best = |candidates: &mut dyn Iterator<Item = u8>| {
        candidates.min_by(|one, other| distance(*one).total_cmp(&distance(*other)))
    };
    best(&mut (16..=255).filter(|index| is_accepted(fixed(*index)))).or_else(|| best(&mut (16..=255))).unwrap_or(16)
}

/// One of the 240 fixed colours: a cube of six steps for each part, then 24 greys.
fn fixed(index: u8) -> Rgb {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    if index >= 232 {
        let grey = 8 + 10 * (index - 232);
        return Rgb(grey, grey, grey);
    }
    let place = usize::from(index.saturating_sub(16));
    Rgb(STEPS[place / 36 % 6], STEPS[place / 6 % 6], STEPS[place % 6])
}

fn lab(Rgb(red, green, blue): Rgb) -> (f64, f64, f64) {
    let (red, green, blue) = (linear(red), linear(green), linear(blue));
    let x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047;
    let y = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    let z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883;
    let bend = |value: f64| if value > 0.008_856 { value.cbrt() } else { 7.787 * value + 16.0 / 116.0 };
    let (x, y, z) = (bend(x), bend(y), bend(z));
    (116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKGROUNDS: [(&str, Rgb); 6] = [
        ("white", Rgb(255, 255, 255)),
        ("black", Rgb(0, 0, 0)),
        ("Solarized light", Rgb(0xfd, 0xf6, 0xe3)),
        ("Solarized dark", Rgb(0x00, 0x2b, 0x36)),
        ("near black", Rgb(0x10, 0x10, 0x10)),
        ("a middle grey", Rgb(0x80, 0x80, 0x80)),
    ];

    fn rgb(colour: Option<Color>) -> Option<Rgb> {
        match colour? {
            Color::Rgb(red, green, blue) => Some(Rgb(red, green, blue)),
            Color::Indexed(index) if index >= 16 => Some(fixed(index)),
            _ => None,
        }
    }

    fn accents(palette: &Palette) -> [Style; 4] {
        [palette.accent(), palette.added(), palette.removed(), palette.mode()]
    }

    #[test]
    fn every_accent_can_be_read_on_every_background_and_on_its_ground() {
        for (name, background) in BACKGROUNDS {
            for depth in [ColourDepth::Exact, ColourDepth::Fixed] {
                let palette = Palette::new(depth, Some(background));
                let ground = rgb(palette.ground().bg).unwrap();
                for (accent, on) in accents(&palette).iter().flat_map(|it| [(it, background), (it, ground)]) {
                    let seen = contrast(rgb(accent.fg).unwrap(), on);
                    assert!(seen >= CONTRAST, "{name}, {depth:?}, {accent:?} on {on:?}: {seen:.2}");
                }
            }
        }
    }

    /// A person must be able to call each accent by its name: parts that make the hue are above the middle of all parts, the
    /// others below. On a grey of middle lightness only black and white can be read, so there is no hue.
    #[test]
    fn accents_keep_their_hues() {
        for (name, background) in BACKGROUNDS.into_iter().filter(|(name, _)| *name != "a middle grey") {
            for depth in [ColourDepth::Exact, ColourDepth::Fixed] {
                let hues = accents(&Palette::new(depth, Some(background))).map(|it| rgb(it.fg).unwrap());
                let expected = [[false, true, true], [false, true, false], [true, false, false], [true, false, true]];
                assert_eq!(hues.map(hue_of), expected, "{name}, {depth:?}: {hues:?}");
            }
        }
    }

    #[track_caller]
    fn check_ground(depth: ColourDepth, background: Option<Rgb>, expected: Option<Color>) {
        assert_eq!(Palette::new(depth, background).ground().bg, expected);
    }

    #[test]
    fn the_ground_is_a_little_lighter_or_darker_than_the_background() {
        check_ground(ColourDepth::Exact, Some(Rgb(0, 0, 0)), Some(Color::Rgb(31, 31, 31)));
        check_ground(ColourDepth::Exact, Some(Rgb(255, 255, 255)), Some(Color::Rgb(245, 245, 245)));
        check_ground(ColourDepth::Fixed, Some(Rgb(0, 0, 0)), Some(Color::Indexed(234)));
        check_ground(ColourDepth::Fixed, Some(Rgb(255, 255, 255)), Some(Color::Indexed(255)));
        check_ground(ColourDepth::Named, Some(Rgb(0, 0, 0)), None);
        check_ground(ColourDepth::Exact, None, None);
    }

    #[test]
    fn without_colours_no_style_has_one() {
        let palette = Palette::new(ColourDepth::None, Some(Rgb(0, 0, 0)));
        for style in accents(&palette).into_iter().chain([palette.dim(), palette.bold(), palette.ground()]) {
            assert_eq!((style.fg, style.bg), (None, None));
        }
        assert_eq!(palette.dim().add_modifier, Modifier::DIM);
    }

    #[test]
    fn an_unknown_background_gets_the_named_colours() {
        let palette = Palette::new(ColourDepth::Exact, None);
        assert_eq!(
            accents(&palette).map(|it| it.fg),
            [Color::Cyan, Color::Green, Color::Red, Color::Magenta].map(Some)
        );
    }

    #[track_caller]
    fn check_depth(no_color: Option<&str>, colorterm: Option<&str>, term: &str, expected: ColourDepth) {
        assert_eq!(ColourDepth::of(no_color, colorterm, Some(term)), expected);
    }

    #[test]
    fn depth_by_variables() {
        check_depth(Some("1"), Some("truecolor"), "xterm-256color", ColourDepth::None);
        check_depth(Some(""), Some("truecolor"), "xterm", ColourDepth::Exact);
        check_depth(None, Some("24bit"), "xterm", ColourDepth::Exact);
        check_depth(None, None, "xterm-256color", ColourDepth::Fixed);
        check_depth(None, None, "xterm-direct", ColourDepth::Exact);
        check_depth(None, None, "xterm", ColourDepth::Named);
        check_depth(None, None, "dumb", ColourDepth::None);
        assert_eq!(ColourDepth::of(None, None, None), ColourDepth::None);
    }
}
