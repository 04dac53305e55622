//! Pool of buffers of sent datagrams, so that a busy circuit allocates nothing.

/// Bytes of a small buffer at most: all that a circuit sends reliably all the time fits, such as animations and the looks of simple
/// avatars.
const SMALL: usize = 512;

/// Small buffers kept: a circuit that sends has a few in turn. More would only sit in the memory of thousands of circuits.
const SMALL_MAX: usize = 8;

/// Large buffers kept: names and appearances take one now and then. Terrain takes many at once, and then none ever again.
const LARGE_MAX: usize = 1;

#[derive(Clone, Debug, Default)]
pub(crate) struct Spare {
    small: Vec<Vec<u8>>,
    large: Vec<Vec<u8>>,
    was_used: bool,
}

impl Spare {
    /// An empty buffer for about `len` bytes.
    pub(crate) fn take_buffer(&mut self, len: usize) -> Vec<u8> {
        self.was_used = true;
        let kept = if len <= SMALL { &mut self.small } else { &mut self.large };
        let mut buffer = kept.pop().unwrap_or_default();
        // Exactly: growth by doubling would make it no small buffer any more.
        buffer.reserve_exact(len);
        buffer
    }

    pub(crate) fn return_buffer(&mut self, mut buffer: Vec<u8>) {
        let (kept, most) = match buffer.capacity() {
            0 => return,
            1..=SMALL => (&mut self.small, SMALL_MAX),
            _ => (&mut self.large, LARGE_MAX),
        };
        if kept.len() < most {
            buffer.clear();
            kept.push(buffer);
        }
    }

    /// Frees the buffers if none was needed since the last call: the circuit is at rest. Says whether it is.
    pub(crate) fn shed_if_unused(&mut self) -> bool {
        let was_used = std::mem::take(&mut self.was_used);
        if !was_used {
            (self.small, self.large) = (Vec::new(), Vec::new());
        }
        !was_used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_empty_with_its_memory() {
        let mut spare = Spare::default();
        spare.return_buffer(vec![1; 1200]);
        spare.return_buffer(vec![1; 100]);
        let (small, large) = (spare.take_buffer(60), spare.take_buffer(1000));
        assert!(small.is_empty() && (100..=SMALL).contains(&small.capacity()));
        assert!(large.is_empty() && large.capacity() >= 1200);
    }

    #[test]
    fn buffers_are_bounded_and_freed_when_idle() {
        let mut spare = Spare::default();
        spare.take_buffer(100);
        for _ in 0..20 {
            spare.return_buffer(vec![1; 100]);
            spare.return_buffer(vec![1; 1200]);
            // Left by an expired perishable packet.
            spare.return_buffer(Vec::new());
        }
        assert_eq!((spare.small.len(), spare.large.len()), (SMALL_MAX, LARGE_MAX));
        assert!(!spare.shed_if_unused(), "used since the last time");
        assert_eq!((spare.small.len(), spare.large.len()), (SMALL_MAX, LARGE_MAX));
        assert!(spare.shed_if_unused());
        assert!(spare.small.is_empty() && spare.large.is_empty());
    }
}
