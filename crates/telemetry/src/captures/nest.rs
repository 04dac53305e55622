//! A thread's slices as a tree, with the own time of each.
//!
//! A capture is read while its threads continue, so slices may be missing. The result is nested nevertheless: a child ends no
//! later than its parent, and siblings do not overlap.

use crate::recorder::{Slice, ThreadRecord};

/// A slice, or a scope that was still open, with its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScopeSpan {
    /// Index in [`Capture::scopes`](crate::recorder::Capture::scopes).
    pub(crate) scope: u16,
    pub(crate) begin_ns: u64,
    /// End; for an open scope, the end of the capture.
    pub(crate) end_ns: u64,
    /// True for a scope that had not ended.
    pub(crate) open: bool,
    pub(crate) arg: u64,
    /// Index of the span around it.
    pub(crate) parent: Option<usize>,
    /// Duration less the durations of the spans directly inside of it.
    pub(crate) self_ns: u64,
}

impl ScopeSpan {
    pub(crate) const fn took_ns(&self) -> u64 {
        self.end_ns - self.begin_ns
    }
}

/// A thread's spans in order of their begins, parents before their children.
pub(crate) fn spans(thread: &ThreadRecord, end_ns: u64) -> Vec<ScopeSpan> {
    let open = thread.open.iter().zip(0..).map(|(open, depth)| {
        let end_ns = end_ns.max(open.begin_ns);
        let slice = Slice { scope: open.scope, begin_ns: open.begin_ns, end_ns, arg: open.arg, depth };
        (slice, true)
    });
    let mut all: Vec<(Slice, bool)> = thread.slices.iter().map(|&slice| (slice, false)).chain(open).collect();
    // A parent and its first child may begin in the same nanosecond.
    all.sort_by_key(|(slice, _)| (slice.begin_ns, slice.depth));

    let mut spans: Vec<ScopeSpan> = Vec::with_capacity(all.len());
    // Stack of the spans around the next one, with their depths.
    let mut around: Vec<(usize, u8)> = Vec::new();
    for (slice, open) in all {
        let is_over =
            |&(index, depth): &(usize, u8)| depth >= slice.depth || spans[index].end_ns < slice.begin_ns;
        while around.last().is_some_and(is_over) {
            around.pop();
        }
        let parent = around.last().map(|&(index, _)| index);
        let before = spans.last().map_or(0, |span: &ScopeSpan| span.begin_ns);
        let mut begin_ns = slice.begin_ns.max(before);
        let mut end_ns = slice.end_ns.max(begin_ns);
        if let Some(parent) = parent {
            end_ns = end_ns.min(spans[parent].end_ns);
            begin_ns = begin_ns.min(end_ns);
            let parent: &mut ScopeSpan = &mut spans[parent];
            parent.self_ns = parent.self_ns.saturating_sub(end_ns - begin_ns);
        }
        around.push((spans.len(), slice.depth));
        let self_ns = end_ns - begin_ns;
        spans.push(ScopeSpan { scope: slice.scope, begin_ns, end_ns, open, arg: slice.arg, parent, self_ns });
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::OpenScope;

    fn slice(begin_ns: u64, end_ns: u64, depth: u8) -> Slice {
        Slice { scope: 0, begin_ns, end_ns, arg: 0, depth }
    }

    fn thread(slices: &[Slice], open: &[OpenScope]) -> ThreadRecord {
        ThreadRecord { slices: slices.to_vec(), open: open.to_vec(), ..ThreadRecord::default() }
    }

    fn parents(spans: &[ScopeSpan]) -> Vec<Option<usize>> {
        spans.iter().map(|span| span.parent).collect()
    }

    #[test]
    fn children_lie_in_the_span_that_is_around_them() {
        let thread = thread(
            &[slice(0, 100, 0), slice(0, 40, 1), slice(10, 20, 2), slice(40, 60, 1), slice(100, 120, 0)],
            &[],
        );
        let spans = spans(&thread, 200);
        assert_eq!(parents(&spans), [None, Some(0), Some(1), Some(0), None]);
        let own: Vec<u64> = spans.iter().map(|span| span.self_ns).collect();
        assert_eq!(own, [40, 30, 10, 20, 20]);
    }

    #[test]
    fn open_scopes_enclose_their_ended_slices_and_last_until_the_end() {
        let open =
            [OpenScope { scope: 0, begin_ns: 5, arg: 0 }, OpenScope { scope: 0, begin_ns: 30, arg: 0 }];
        let spans = spans(&thread(&[slice(10, 20, 1), slice(35, 40, 2)], &open), 50);
        assert_eq!(parents(&spans), [None, Some(0), Some(0), Some(2)]);
        assert_eq!((spans[0].end_ns, spans[0].open), (50, true));
        assert_eq!((spans[2].end_ns, spans[2].self_ns), (50, 15));
    }

    #[test]
    fn a_child_whose_parent_was_lost_belongs_to_the_slice_around_both() {
        let spans = spans(&thread(&[slice(0, 100, 0), slice(10, 20, 2), slice(200, 210, 1)], &[]), 300);
        assert_eq!(parents(&spans), [None, Some(0), None]);
    }

    #[test]
    fn a_slice_that_overlaps_its_parents_end_is_cut() {
        let spans = spans(&thread(&[slice(0, 100, 0), slice(90, 130, 1)], &[]), 300);
        assert_eq!((spans[1].begin_ns, spans[1].end_ns), (90, 100));
        assert_eq!(spans[0].self_ns, 90);
    }
}
