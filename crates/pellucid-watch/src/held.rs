//! How many bytes wait to be forwarded and recorded. All connections share one limit, so that memory is bounded no matter what the
//! command and the upstream server do.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

/// How many bytes may be held at once.
pub const HELD_BYTES_MAX: usize = 1 << 30;

/// The limit that connections share.
#[derive(Debug, Clone)]
pub struct HeldLimit {
    max: usize,
    held: Arc<AtomicUsize>,
}

/// Bytes that are held as long as this value lives.
#[derive(Debug)]
pub struct HeldBytes {
    limit: HeldLimit,
    n: usize,
}

impl HeldLimit {
    /// A limit of so many bytes.
    pub fn new(max: usize) -> Self {
        Self { max, held: Arc::default() }
    }

    /// No bytes yet.
    pub fn none(&self) -> HeldBytes {
        HeldBytes { limit: self.clone(), n: 0 }
    }
}

impl HeldBytes {
    /// No bytes yet, under the same limit.
    pub fn none(&self) -> Self {
        self.limit.none()
    }

    /// Adds bytes; gives `false`, and adds none, if that is over the limit.
    #[must_use]
    pub fn add(&mut self, n: usize) -> bool {
        let max = self.limit.max;
        let add = |held: usize| held.checked_add(n).filter(|held| *held <= max);
        let is_added = self.limit.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok();
        if is_added {
            self.n += n;
        }
        is_added
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.limit.held.fetch_sub(self.n, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_as_long_as_they_are_held() {
        let limit = HeldLimit::new(10);
        let (mut one, mut two) = (limit.none(), limit.none());
        assert!(one.add(6) && two.add(4) && !two.add(1) && !one.add(usize::MAX));
        drop(one);
        assert!(two.add(6) && !two.add(1));
    }
}
