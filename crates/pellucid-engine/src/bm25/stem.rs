//! The stem of an English word, by the rules of Porter's second stemmer as Snowball published it before 2020: words that
//! differ only in their endings (`creates`, `creating`, `created`) have the same stem.
//!
//! Not here: words of other languages, which stay as they are.

/// Words whose stem follows no rule.
const IRREGULAR: [(&str, &str); 18] = [
    ("skis", "ski"),
    ("skies", "sky"),
    ("dying", "die"),
    ("lying", "lie"),
    ("tying", "tie"),
    ("idly", "idl"),
    ("gently", "gentl"),
    ("ugly", "ugli"),
    ("early", "earli"),
    ("only", "onli"),
    ("singly", "singl"),
    ("sky", "sky"),
    ("news", "news"),
    ("howe", "howe"),
    ("atlas", "atlas"),
    ("cosmos", "cosmos"),
    ("bias", "bias"),
    ("andes", "andes"),
];

/// Words that stay as they are once their `s` is gone.
const FINISHED: [&str; 8] = ["inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"];

/// Beginnings after which the first region begins.
const FIXED_BEGINNINGS: [&str; 3] = ["gener", "commun", "arsen"];

/// Endings that the first region loses in the second step, and what takes their place.
const SECOND: [(&str, &str); 24] = [
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("abli", "able"),
    ("entli", "ent"),
    ("izer", "ize"),
    ("ization", "ize"),
    ("ational", "ate"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("aliti", "al"),
    ("alli", "al"),
    ("fulness", "ful"),
    ("ousli", "ous"),
    ("ousness", "ous"),
    ("iveness", "ive"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("bli", "ble"),
    ("ogi", "og"),
    ("fulli", "ful"),
    ("lessli", "less"),
    ("li", ""),
];

/// The same for the third step.
const THIRD: [(&str, &str); 9] = [
    ("tional", "tion"),
    ("ational", "ate"),
    ("alize", "al"),
    ("icate", "ic"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
    ("ative", ""),
];

/// Endings that the second region loses in the fourth step.
const FOURTH: [(&str, &str); 18] = [
    ("al", ""),
    ("ance", ""),
    ("ence", ""),
    ("er", ""),
    ("ic", ""),
    ("able", ""),
    ("ible", ""),
    ("ant", ""),
    ("ement", ""),
    ("ment", ""),
    ("ent", ""),
    ("ism", ""),
    ("ate", ""),
    ("iti", ""),
    ("ous", ""),
    ("ive", ""),
    ("ize", ""),
    ("ion", ""),
];

/// The stem of a word in lower case.
pub(super) fn stem(word: &str) -> String {
    if let Some((_, stem)) = IRREGULAR.iter().find(|(irregular, _)| *irregular == word) {
        return (*stem).to_owned();
    }
    if word.len() < 3 || !word.is_ascii() {
        return word.to_owned();
    }
    let mut word = Word::new(word);
    word.lose_plural();
    if !FINISHED.iter().any(|it| it.as_bytes() == word.letters) {
        word.lose_past();
        word.soften_y();
        word.exchange(&SECOND, word.first);
        word.exchange(&THIRD, word.first);
        word.exchange(&FOURTH, word.second);
        word.lose_last();
    }
    word.letters.into_iter().map(|letter| char::from(letter).to_ascii_lowercase()).collect()
}

struct Word {
    /// The letters, with `Y` for a `y` that is a consonant.
    letters: Vec<u8>,
    /// Where the first region begins.
    first: usize,
    /// Where the second region begins.
    second: usize,
}

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

impl Word {
    fn new(word: &str) -> Self {
        let mut letters = word.strip_prefix('\'').unwrap_or(word).as_bytes().to_vec();
        for at in 0..letters.len() {
            if letters[at] == b'y' && (at == 0 || is_vowel(letters[at - 1])) {
                letters[at] = b'Y';
            }
        }
        let fixed = FIXED_BEGINNINGS.iter().find(|it| letters.starts_with(it.as_bytes()));
        let first = fixed.map_or_else(|| region(&letters, 0), |it| it.len());
        let second = region(&letters, first);
        Self { letters, first, second }
    }

    fn ends(&self, ending: &str) -> bool {
        self.letters.ends_with(ending.as_bytes())
    }

    /// The length of the word without its last letters.
    fn before(&self, ending: &str) -> usize {
        self.letters.len() - ending.len()
    }

    fn put(&mut self, at: usize, ending: &str) {
        self.letters.truncate(at);
        self.letters.extend_from_slice(ending.as_bytes());
    }

    fn has_vowel(&self, upto: usize) -> bool {
        self.letters[..upto].iter().any(|letter| is_vowel(*letter))
    }

    /// Removes the ending of a genitive, then that of a plural.
    fn lose_plural(&mut self) {
        if let Some(ending) = ["'s'", "'s", "'"].into_iter().find(|it| self.ends(it)) {
            self.letters.truncate(self.before(ending));
        }
        if self.ends("sses") {
            self.put(self.before("es"), "");
        } else if self.ends("ied") || self.ends("ies") {
            let at = self.before("ies");
            self.put(at, if at >= 2 { "i" } else { "ie" });
        } else if self.ends("s") && !self.ends("us") && !self.ends("ss") {
            let at = self.before("s");
            if at > 0 && self.has_vowel(at - 1) {
                self.put(at, "");
            }
        }
    }

    /// Removes the endings of past and present participles, and repairs what is left.
    fn lose_past(&mut self) {
        if let Some(ending) = ["eedly", "eed"].into_iter().find(|it| self.ends(it)) {
            let at = self.before(ending);
            if at >= self.first {
                self.put(at, "ee");
            }
            return;
        }
        let Some(ending) = ["ingly", "edly", "ing", "ed"].into_iter().find(|it| self.ends(it)) else { return };
        let at = self.before(ending);
        if !self.has_vowel(at) {
            return;
        }
        self.letters.truncate(at);
        let is_double = ["bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"].iter().any(|it| self.ends(it));
        if ["at", "bl", "iz"].iter().any(|it| self.ends(it)) {
            self.put(at, "e");
        } else if is_double {
            self.letters.truncate(at - 1);
        } else if at == self.first && self.ends_short(at) {
            self.put(at, "e");
        }
    }

    /// Whether the letters before a place end in a short syllable.
    fn ends_short(&self, upto: usize) -> bool {
        match &self.letters[..upto] {
            [.., a, b, c] if !is_vowel(*a) && is_vowel(*b) => !is_vowel(*c) && !matches!(c, b'w' | b'x' | b'Y'),
            [a, b] => is_vowel(*a) && !is_vowel(*b),
            _ => false,
        }
    }

    /// Writes `i` for a `y` at the end that follows a consonant.
    fn soften_y(&mut self) {
        if let [_, .., before, b'y' | b'Y'] = self.letters[..]
            && !is_vowel(before)
        {
            let at = self.letters.len() - 1;
            self.letters[at] = b'i';
        }
    }

    /// Exchanges the longest ending of a list that the word has, if the ending is in a region.
    fn exchange(&mut self, endings: &[(&str, &str)], region: usize) {
        let fitting = endings.iter().filter(|(ending, _)| self.ends(ending));
        let Some((ending, other)) = fitting.max_by_key(|(ending, _)| ending.len()) else { return };
        let at = self.before(ending);
        let follows = |letters: &[u8]| at > 0 && letters.contains(&self.letters[at - 1]);
        let is_allowed = match *ending {
            "ogi" => follows(b"l"),
            "li" => follows(b"cdeghkmnrt"),
            "ion" => follows(b"st"),
            "ative" => at >= self.second,
            _ => true,
        };
        if at >= region && is_allowed {
            self.put(at, other);
        }
    }

    /// Removes an `e` at the end, or the second of two `l`.
    fn lose_last(&mut self) {
        let Some(at) = self.letters.len().checked_sub(1) else { return };
        let is_lost = match self.letters[at] {
            b'e' => at >= self.second || (at >= self.first && !self.ends_short(at)),
            b'l' => at >= self.second && at > 0 && self.letters[at - 1] == b'l',
            _ => false,
        };
        if is_lost {
            self.letters.truncate(at);
        }
    }
}

/// Where a region begins: behind the first consonant that follows a vowel.
fn region(letters: &[u8], from: usize) -> usize {
    let vowel = letters[from..].iter().position(|letter| is_vowel(*letter));
    let Some(vowel) = vowel.map(|at| from + at) else { return letters.len() };
    let consonant = letters[vowel..].iter().position(|letter| !is_vowel(*letter));
    consonant.map_or(letters.len(), |at| vowel + at + 1)
}
