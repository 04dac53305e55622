//! Buffers of datagrams that left, kept for those to come, so that a busy circuit allocates nothing.

/// Buffers kept. A circuit that sends keeps a few in turn; more would only sit in the memory of thousands of
/// circuits.
const SPARE_MAX: usize = 4;

#[derive(Clone, Debug, Default)]
pub(crate) struct Spare {
    buffers: Vec<Vec<u8>>,
    was_used: bool,
}

impl Spare {
    /// An empty buffer.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.was_used = true;
        self.buffers.pop().unwrap_or_default()
    }

    pub(crate) fn put(&mut self, mut buffer: Vec<u8>) {
        if self.buffers.len() < SPARE_MAX {
            buffer.clear();
            self.buffers.push(buffer);
        }
    }

    /// Frees the buffers if none was needed since the last call: the circuit is at rest. Says whether it is.
    pub(crate) fn shed_if_unused(&mut self) -> bool {
        let was_used = std::mem::take(&mut self.was_used);
        if !was_used {
            self.buffers = Vec::new();
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
        spare.put(vec![1; 1200]);
        let buffer = spare.take();
        assert!(buffer.is_empty() && buffer.capacity() >= 1200);
    }

    #[test]
    fn buffers_are_bounded_and_freed_when_idle() {
        let mut spare = Spare::default();
        spare.take();
        for _ in 0..10 {
            spare.put(vec![1; 100]);
        }
        assert_eq!(spare.buffers.len(), SPARE_MAX);
        assert!(!spare.shed_if_unused(), "used since the last time");
        assert_eq!(spare.buffers.len(), SPARE_MAX);
        assert!(spare.shed_if_unused());
        assert!(spare.buffers.is_empty());
    }
}
