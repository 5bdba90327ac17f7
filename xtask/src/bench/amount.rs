//! Figures as people read them: three digits, in the unit that fits.
//!
//! Not here: which figures.

/// A value with its unit.
pub fn shown(value: f64, unit: &str) -> String {
    let (value, unit) = match unit {
        "s" if value.abs() >= 1.0 => (value, " s"),
        "s" if value.abs() >= 0.000_995 => (value * 1e3, " ms"),
        "s" if value == 0.0 => (0.0, " ms"),
        "s" => (value * 1e6, " µs"),
        "MB" if value >= 1000.0 => (value / 1000.0, " GB"),
        "MB" => (value, " MB"),
        "kB" if value >= 1000.0 => (value / 1000.0, " MB"),
        "kB" => (value, " kB"),
        "/s" => (value, " a second"),
        _ => (value, ""),
    };
    format!("{}{unit}", digits(value))
}

/// Three digits, with a comma for thousands.
pub fn digits(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if size < 9.995 {
        let text = format!("{value:.2}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    if size < 99.95 {
        let text = format!("{value:.1}");
        return text.trim_end_matches(".0").to_owned();
    }
    let whole = format!("{size:.0}");
    let mut text = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_three_digits_and_a_fitting_unit() {
        let cases = [
            (0.000_012_3, "s", "12.3 µs"),
            (0.004, "s", "4 ms"),
            (0.0591, "s", "59.1 ms"),
            (30.84, "s", "30.8 s"),
            (93.6, "MB", "93.6 MB"),
            (1234.0, "MB", "1.23 GB"),
            (263.4, "kB", "263 kB"),
            (20_123.0, "/s", "20,123 a second"),
            (0.0, "count", "0"),
            (-0.0012, "s", "-1.2 ms"),
        ];
        for (value, unit, expected) in cases {
            assert_eq!(shown(value, unit), expected);
        }
    }
}
