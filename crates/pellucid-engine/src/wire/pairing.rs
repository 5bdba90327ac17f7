//! Calls and outputs, brought together.
//!
//! The Responses format pairs them by id wherever they are. The other formats want the outputs of a message's calls
//! directly after it: items in between move after the outputs, calls without an output get one, and outputs without a
//! call are left out.
//!
//! Pairs are looked for among the items that came between two requests. A call is never without
//! its output when a request is made, so nothing that was sent has to move later.

use std::collections::BTreeMap;
use std::collections::VecDeque;

use super::piece::Piece;
use crate::transcript::CallId;

/// The next item or group of calls.
#[derive(Debug)]
pub(crate) enum Step {
    /// An item that is neither call nor output.
    Item(Piece),
    /// Calls of one message, then their outputs in the order of the calls.
    Calls {
        /// The calls, and what the model said between them that belongs to the same message.
        calls: Vec<Piece>,
        /// The outputs, in the order of the calls.
        outputs: Vec<Piece>,
    },
    /// An output that answers no call.
    Orphan(Piece),
}

/// Brings calls and outputs together. `joins` returns whether an item may be between two calls of one message,
/// `missing` makes an output for a call that has none.
pub(crate) fn pair(pieces: Vec<Piece>, joins: fn(&Piece) -> bool, missing: impl FnMut(&CallId) -> Piece) -> Vec<Step> {
    let (pieces, mut answers) = with_all_outputs(pieces, missing);
    let mut steps = Vec::new();
    let mut pieces: Vec<Option<Piece>> = pieces.into_iter().map(Some).collect();
    for n in 0..pieces.len() {
        let Some(piece) = pieces[n].take() else {
            continue;
        };
        if piece.is_output() {
            steps.push(Step::Orphan(piece));
        } else if piece.is_call() {
            let last = last_call(&pieces, n, joins);
            let mut calls = vec![piece];
            calls.extend(pieces[n + 1..=last].iter_mut().filter_map(Option::take));
            let answers = (n..=last).filter_map(|call| answers.remove(&call));
            let outputs = answers.filter_map(|answer| pieces[answer].take()).collect();
            steps.push(Step::Calls { calls, outputs });
        } else {
            steps.push(Step::Item(piece));
        }
    }
    steps
}

/// Inserts an output after every call that has none, and returns which output answers which call.
fn with_all_outputs(
    pieces: Vec<Piece>,
    mut missing: impl FnMut(&CallId) -> Piece,
) -> (Vec<Piece>, BTreeMap<usize, usize>) {
    let found = answers(&pieces);
    let calls: BTreeMap<usize, usize> = found.iter().map(|(&call, &output)| (output, call)).collect();
    let (mut whole, mut answers) = (Vec::with_capacity(pieces.len()), BTreeMap::new());
    let mut places = Vec::with_capacity(pieces.len());
    for (n, piece) in pieces.into_iter().enumerate() {
        let lacks = piece.is_call() && !found.contains_key(&n);
        let output = piece.call_id.as_ref().filter(|_| lacks).map(&mut missing);
        places.push(whole.len());
        whole.push(piece);
        if let Some(output) = output {
            answers.insert(places[n], whole.len());
            whole.push(output);
        } else if let Some(call) = calls.get(&n) {
            answers.insert(places[*call], places[n]);
        }
    }
    (whole, answers)
}

/// Which output answers which call: the first one after it with its id that answers no other.
fn answers(pieces: &[Piece]) -> BTreeMap<usize, usize> {
    let mut open: BTreeMap<&CallId, VecDeque<usize>> = BTreeMap::new();
    let mut answers = BTreeMap::new();
    for (n, piece) in pieces.iter().enumerate() {
        let Some(call_id) = &piece.call_id else {
            continue;
        };
        if !piece.is_output() {
            open.entry(call_id).or_default().push_back(n);
        } else if let Some(call) = open.get_mut(call_id).and_then(VecDeque::pop_front) {
            answers.insert(call, n);
        }
    }
    answers
}

/// The last call that belongs to the message of this one.
fn last_call(pieces: &[Option<Piece>], first: usize, joins: fn(&Piece) -> bool) -> usize {
    let mut last = first;
    for (n, piece) in pieces.iter().enumerate().skip(first + 1) {
        match piece {
            Some(piece) if piece.is_call() => last = n,
            Some(piece) if joins(piece) => {}
            _ => break,
        }
    }
    last
}
