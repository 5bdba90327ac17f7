//! Likeness of texts, by vectors, some of which are known already.
//!
//! There are two ways of it. The first compares by the dot product, forgets the vectors of
//! questions, and holds fresh vectors before known ones, which decides between equals. The second
//! compares by the angle, keeps every vector, asks for none twice, and holds known ones first.

use std::collections::BTreeMap;

use super::Stop;
use super::ask::Answers;
use super::ask::VectorLifetime;

/// Known vectors, by text.
pub type KnownVectors = BTreeMap<String, Vec<f32>>;

/// The measure that compares vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The dot product of the vectors.
    First,
    /// Cosine of the angle.
    Second,
}

/// Texts with their vectors, in the order that decides between equals.
#[derive(Debug)]
pub struct VectorIndex<'a> {
    way: Way,
    known: &'a KnownVectors,
    documents: Vec<Document>,
    fresh: KnownVectors,
}

#[derive(Debug)]
struct Document {
    /// The index of the text in the given order.
    place: usize,
    text: String,
    vector: Vec<f32>,
}

/// A text and how like it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// The index of the text in the given order.
    pub place: usize,
    /// The text that was compared.
    pub text: String,
    /// The similarity; higher is more similar.
    pub score: f64,
}

impl<'a> VectorIndex<'a> {
    /// Texts that can be asked about. The inner error says why there are no vectors.
    pub fn new(
        way: Way,
        known: &'a KnownVectors,
        texts: &[String],
        answers: &mut Answers<'_>,
    ) -> Result<Result<Self, String>, Stop> {
        let mut wanted: Vec<String> = Vec::new();
        for text in texts.iter().filter(|text| !known.contains_key(*text)) {
            if way == Way::First || !wanted.contains(text) {
                wanted.push(text.clone());
            }
        }
        let vectors = match answers.vectors(wanted.clone(), VectorLifetime::Kept)? {
            Ok(vectors) => vectors,
            Err(error) => return Ok(Err(error)),
        };
        let fresh: KnownVectors = wanted.into_iter().zip(vectors).collect();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (place, text) in texts.iter().enumerate() {
            let (vector, is_known) = match known.get(text) {
                Some(vector) => (vector, true),
                None => (&fresh[text], false),
            };
            let document = Document { place, text: text.clone(), vector: vector.clone() };
            let is_first = is_known == (way == Way::Second);
            if is_first { before.push(document) } else { after.push(document) }
        }
        before.extend(after);
        Ok(Ok(Self { way, known, documents: before, fresh }))
    }

    /// Vectors of questions, asked for where they are not known.
    pub fn queries(
        &mut self,
        texts: &[String],
        answers: &mut Answers<'_>,
    ) -> Result<Result<Vec<Vec<f32>>, String>, Stop> {
        if self.way == Way::First {
            return answers.vectors(texts.to_vec(), VectorLifetime::Once);
        }
        let mut wanted: Vec<String> = Vec::new();
        for text in texts {
            if !self.known.contains_key(text) && !self.fresh.contains_key(text) && !wanted.contains(text) {
                wanted.push(text.clone());
            }
        }
        match answers.vectors(wanted.clone(), VectorLifetime::Kept)? {
            Ok(vectors) => self.fresh.extend(wanted.into_iter().zip(vectors)),
            Err(error) => return Ok(Err(error)),
        }
        let vector = |text: &String| self.known.get(text).or_else(|| self.fresh.get(text)).cloned();
        Ok(Ok(texts.iter().filter_map(vector).collect()))
    }

    /// How like every text is to a vector, in the order that decides between equals.
    pub fn scores(&self, query: &[f32]) -> Vec<Scored> {
        let score = |document: &Document| Scored {
            place: document.place,
            text: document.text.clone(),
            score: match self.way {
                Way::First => dot(query, &document.vector),
                Way::Second => cosine(query, &document.vector),
            },
        };
        self.documents.iter().map(score).collect()
    }

    /// How like every text is to several vectors of different weight, the most like first.
    pub fn ranked(&self, queries: &[(Vec<f32>, f64)]) -> Vec<Scored> {
        let mut total: Vec<Scored> = Vec::new();
        for (query, weight) in queries {
            let scores = self.scores(query);
            if total.is_empty() {
                total = scores.iter().map(|scored| Scored { score: 0.0, ..scored.clone() }).collect();
            }
            for (sum, scored) in total.iter_mut().zip(scores) {
                sum.score += scored.score * weight;
            }
        }
        descending(&mut total);
        total
    }

    /// The vectors that were not known before.
    pub fn fresh(&self) -> &KnownVectors {
        &self.fresh
    }
}

/// Sorts by score, the highest first; equal scores keep their order.
pub fn descending(scored: &mut [Scored]) {
    scored.sort_by(|a, b| b.score.total_cmp(&a.score));
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let length = |vector: &[f32]| dot(vector, vector).sqrt();
    let lengths = length(a) * length(b);
    if lengths == 0.0 { 0.0 } else { dot(a, b) / lengths }
}
