//! Drawings of figures: bars and lines on logarithmic scales, as SVG that needs nothing else.
//!
//! The same figures give the same bytes. A drawing has its own background, so that it can be read on a light and on a dark page;
//! programs differ by colour and by the shape of their points.
//!
//! Not here: which figures are drawn (`charts`).

use std::fmt::Write as _;

use super::amount::shown;

/// The size of a drawing, and the place of the figures in it.
const WIDTH: f64 = 760.0;
const LEFT: f64 = 165.0;
const TOP: f64 = 56.0;
const PLOT_WIDTH: f64 = 485.0;
const PLOT_HEIGHT: f64 = 300.0;
const BAR: f64 = 28.0;

/// What a drawing without figures says.
pub const NOT_MEASURED: &str = "not measured yet";

const STYLE: &str = "<style>.p{fill:#fff;stroke:#d0d7de}.t{fill:#1f2328}.m{fill:#57606a}.g{stroke:#d8dee4}.a{stroke:#57606a}\
    @media (prefers-color-scheme:dark){.p{fill:#14191f;stroke:#30363d}.t{fill:#e6edf3}.m{fill:#9aa4af}.g{stroke:#2a3139}.a{stroke:#9aa4af}}</style>";

/// Colours that differ on both backgrounds; the first is ours.
const COLOURS: [&str; 10] =
    ["#0a9d8a", "#d9730d", "#b5379e", "#7a8b2a", "#3b82f6", "#c0504d", "#7c5cff", "#6b7280", "#a0762d", "#4d8f4d"];

/// A bar: the name beside it, its value, and the number of its colour.
#[derive(Debug, Clone)]
pub struct Bar {
    pub name: String,
    pub value: f64,
    pub colour: usize,
}

/// A line: its name, the number of its colour, and its points.
#[derive(Debug, Clone)]
pub struct Line {
    pub name: String,
    pub colour: usize,
    pub points: Vec<(f64, f64)>,
}

/// The texts around a drawing: title, axes and legend.
#[derive(Debug, Clone, Copy)]
pub struct Words<'a> {
    pub title: &'a str,
    /// What the horizontal axis counts; of bars, what their length is.
    pub across: &'a str,
    /// What the vertical axis counts.
    pub up: &'a str,
    /// The unit of the values.
    pub unit: &'a str,
}

/// Bars from the shortest to the longest.
pub fn bars(words: &Words<'_>, bars: &[Bar]) -> String {
    let mut bars: Vec<&Bar> = bars.iter().filter(|it| it.value > 0.0).collect();
    bars.sort_by(|a, b| a.value.total_cmp(&b.value).then_with(|| a.name.cmp(&b.name)));
    let height = TOP + BAR * bars.len() as f64 + 52.0;
    let mut svg = begun(words.title, height);
    if bars.is_empty() {
        return ended(svg, NOT_MEASURED, LEFT + PLOT_WIDTH / 2.0, TOP + 26.0);
    }
    let scale = Scale::around(bars.iter().map(|it| it.value), PLOT_WIDTH);
    let bottom = TOP + BAR * bars.len() as f64;
    for tick in scale.ticks() {
        let x = LEFT + scale.place(tick);
        let _ = writeln!(svg, "<line class=\"g\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>");
        let label = shown(tick, words.unit);
        let _ = writeln!(
            svg,
            "<text class=\"m\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            bottom + 18.0
        );
    }
    for (at, bar) in bars.iter().enumerate() {
        let top = TOP + BAR * at as f64;
        let width = scale.place(bar.value).max(2.0);
        let colour = COLOURS[bar.colour % COLOURS.len()];
        let (base, weight) = (top + 18.0, if bar.colour == 0 { " font-weight=\"bold\"" } else { "" });
        let _ = writeln!(
            svg,
            "<text class=\"t\" x=\"{:.1}\" y=\"{base:.1}\" text-anchor=\"end\"{weight}>{}</text>\n\
             <rect x=\"{LEFT}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" rx=\"3\" fill=\"{colour}\"/>\n\
             <text class=\"t\" x=\"{:.1}\" y=\"{base:.1}\"{weight}>{}</text>",
            LEFT - 10.0,
            escaped(&bar.name),
            top + 5.0,
            BAR - 10.0,
            LEFT + width + 6.0,
            shown(bar.value, words.unit),
        );
    }
    ended(svg, words.across, LEFT + PLOT_WIDTH / 2.0, bottom + 40.0)
}

/// Lines through points, with a legend beside them.
pub fn lines(words: &Words<'_>, lines: &[Line]) -> String {
    let lines: Vec<&Line> = lines.iter().filter(|it| !it.points.is_empty()).collect();
    if lines.is_empty() {
        return ended(begun(words.title, TOP + 52.0), NOT_MEASURED, LEFT + PLOT_WIDTH / 2.0, TOP + 26.0);
    }
    let points = || lines.iter().flat_map(|it| &it.points).filter(|it| it.0 > 0.0 && it.1 > 0.0);
    let (left, width) = (90.0, 500.0);
    let across = Scale::around(points().map(|it| it.0), width);
    let up = Scale::around(points().map(|it| it.1), PLOT_HEIGHT);
    let bottom = TOP + PLOT_HEIGHT;
    let mut svg = begun(words.title, bottom + 56.0);
    for tick in across.ticks() {
        let x = left + across.place(tick);
        let _ = writeln!(svg, "<line class=\"g\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\"/>");
        let label = shown(tick, "");
        let _ = writeln!(
            svg,
            "<text class=\"m\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            bottom + 18.0
        );
    }
    for tick in up.ticks() {
        let y = bottom - up.place(tick);
        let _ =
            writeln!(svg, "<line class=\"g\" x1=\"{left}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\"/>", left + width);
        let label = shown(tick, words.unit);
        let _ = writeln!(
            svg,
            "<text class=\"m\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            left - 8.0,
            y + 4.0
        );
    }
    let _ = writeln!(svg, "<text class=\"m\" x=\"{left}\" y=\"{:.1}\">{}</text>", TOP - 10.0, escaped(words.up));
    for (at, line) in lines.iter().enumerate() {
        let colour = COLOURS[line.colour % COLOURS.len()];
        let places: Vec<(f64, f64)> = line
            .points
            .iter()
            .filter(|it| it.0 > 0.0 && it.1 > 0.0)
            .map(|(x, y)| (left + across.place(*x), bottom - up.place(*y)))
            .collect();
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            path.join(" ")
        );
        for (x, y) in &places {
            svg.push_str(&point(line.colour, *x, *y));
        }
        let y = TOP + 12.0 + 22.0 * at as f64;
        svg.push_str(&point(line.colour, left + width + 18.0, y));
        let _ = writeln!(
            svg,
            "<text class=\"t\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            left + width + 30.0,
            y + 4.0,
            escaped(&line.name)
        );
    }
    ended(svg, words.across, left + width / 2.0, bottom + 42.0)
}

/// A point in the shape of its program.
fn point(colour: usize, x: f64, y: f64) -> String {
    let fill = COLOURS[colour % COLOURS.len()];
    match colour % 4 {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\" fill=\"{fill}\"/>\n"),
        1 => format!("<rect x=\"{:.1}\" y=\"{:.1}\" width=\"8\" height=\"8\" fill=\"{fill}\"/>\n", x - 4.0, y - 4.0),
        2 => format!("<path d=\"M{x:.1} {:.1}l5 9h-10z\" fill=\"{fill}\"/>\n", y - 5.5),
        _ => format!("<path d=\"M{x:.1} {:.1}l5.5 5.5-5.5 5.5-5.5-5.5z\" fill=\"{fill}\"/>\n", y - 5.5),
    }
}

fn begun(title: &str, height: f64) -> String {
    let title = escaped(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" font-family=\"system-ui, sans-serif\" \
         font-size=\"13\">\n<title>{title}</title>\n{STYLE}\n\
         <rect class=\"p\" x=\"0.5\" y=\"0.5\" width=\"{:.1}\" height=\"{:.1}\" rx=\"8\"/>\n\
         <text class=\"t\" x=\"20\" y=\"28\" font-size=\"15\" font-weight=\"bold\">{title}</text>\n",
        WIDTH - 1.0,
        height - 1.0,
    )
}

fn ended(mut svg: String, across: &str, x: f64, y: f64) -> String {
    let _ =
        writeln!(svg, "<text class=\"m\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>", escaped(across));
    svg + "</svg>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A logarithmic axis that begins and ends at powers of ten.
#[derive(Debug, Clone, Copy)]
struct Scale {
    first: i32,
    last: i32,
    length: f64,
}

impl Scale {
    fn around(values: impl Iterator<Item = f64>, length: f64) -> Self {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for value in values {
            (least, most) = (least.min(value), most.max(value));
        }
        if most <= 0.0 {
            return Self { first: 0, last: 1, length };
        }
        // A little room, so that a value at a power of ten is that power.
        let first = (least.log10() + 1e-9).floor() as i32;
        let last = (most.log10() - 1e-9).ceil() as i32;
        Self { first, last: last.max(first + 1), length }
    }

    fn place(self, value: f64) -> f64 {
        (value.log10() - f64::from(self.first)) / f64::from(self.last - self.first) * self.length
    }

    fn ticks(self) -> impl Iterator<Item = f64> {
        (self.first..=self.last).map(|power| 10_f64.powi(power))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: Words<'_> = Words { title: "a < b", across: "calls", up: "CPU", unit: "s" };

    fn bar(name: &str, value: f64, colour: usize) -> Bar {
        Bar { name: name.to_owned(), value, colour }
    }

    #[test]
    fn bars_are_sorted_and_have_their_amounts() {
        let svg = bars(&WORDS, &[bar("b", 0.3, 1), bar("ours", 0.003, 0), bar("none", 0.0, 2)]);
        let amounts = svg.lines().filter(|it| it.contains("y=\"74.0\">") || it.contains("y=\"102.0\">"));
        let amounts: Vec<&str> = amounts.map(|it| it.split(['>', '<']).nth(2).unwrap()).collect();
        assert_eq!(amounts, ["300 ms"]);
        assert!(svg.contains("font-weight=\"bold\">3 ms</text>"), "{svg}");
        assert!(svg.contains("<title>a &lt; b</title>") && !svg.contains(">none<"), "{svg}");
        assert!(svg.contains(">1 ms<") && svg.contains(">1 s<"), "{svg}");
    }

    #[test]
    fn ten_times_as_much_is_always_as_far() {
        let scale = Scale::around([0.001, 100.0].into_iter(), 500.0);
        let places: Vec<f64> = scale.ticks().map(|it| scale.place(it).round()).collect();
        assert_eq!(places, [0.0, 100.0, 200.0, 300.0, 400.0, 500.0]);
    }

    #[test]
    fn a_line_has_its_points_and_its_name() {
        let line = Line { name: "ours".to_owned(), colour: 0, points: vec![(10.0, 0.01), (1000.0, 1.0)] };
        let svg = lines(&WORDS, std::slice::from_ref(&line));
        assert!(svg.contains("<polyline points=\"90.0,356.0 590.0,56.0\""), "{svg}");
        // Two points, and one in the legend.
        assert_eq!(svg.matches("<circle").count(), 3);
        assert_eq!(svg, lines(&WORDS, &[line]));
    }
}
