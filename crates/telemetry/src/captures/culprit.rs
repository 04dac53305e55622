//! The culprit: the scope that made another one slow.
//!
//! The search descends from the scope that exceeded its limit: at each step to the scope inside with most of the blame,
//! until a scope has most of its blame itself. Blame of a scope = its time − its median time in other slices of the same
//! kind, if the capture has enough of those: a system that takes half of every frame did not make this frame slow. Without
//! a median, or when the slice took less than 4/3 of it, blame = its whole time.

use super::kernel::ThreadActivity;
use super::nest::ScopeSpan;
use super::{about, scope_name};
use crate::recorder::{Arg, Capture, Overrun, ScopeKind};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Other slices of the same kind needed for a median.
const USUAL_MIN: usize = 5;

/// The scope to blame, with its times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Culprit {
    /// The scope's name.
    pub scope: String,
    /// Its argument in words: `client 17 (Ada Resident)`. `None` for several slices.
    pub about: Option<String>,
    /// The world that it worked for, if there is one.
    pub world: Option<String>,
    /// Number of slices; 1 for a single one.
    pub count: u64,
    /// Their duration.
    pub took_ns: u64,
    /// Part of it outside of scopes inside.
    pub self_ns: u64,
    /// Median of their duration at this place in other slices of the parent, if the capture has enough of those.
    pub usual_ns: Option<u64>,
    /// Names of the scopes around it, the one that exceeded its limit first.
    pub within: Vec<String>,
    /// Main activity of the thread meanwhile.
    pub doing: ThreadActivity,
}

/// Result of the search: a span, or several spans of one scope inside of a span.
pub(crate) struct LocatedCulprit {
    pub(crate) culprit: Culprit,
    /// Index of its thread.
    pub(crate) thread: usize,
    /// The span that exceeded its limit, among the spans of its thread.
    pub(crate) root: usize,
    /// Median duration of that one.
    pub(crate) root_usual_ns: Option<u64>,
}

/// Finds the culprit of `overrun`. `threads` holds the spans of each thread of the capture; `thread` is the index of the
/// overrun's own. `None` when its slice is not in the capture any more.
pub(crate) fn find(
    capture: &Capture,
    threads: &[Vec<ScopeSpan>],
    thread: usize,
    overrun: &Overrun,
) -> Option<LocatedCulprit> {
    if !threads.iter().flatten().any(|span| span.scope == overrun.scope) {
        return find_in_its_stead(capture, threads, overrun);
    }
    let spans = &threads[thread];
    let same = |span: &ScopeSpan| span.scope == overrun.scope && span.arg == overrun.arg && !span.open;
    let candidates = (0..spans.len()).filter(|&index| same(&spans[index]));
    // The recorded end is exact, but a child of the same scope may end in the same nanosecond.
    let root = candidates.min_by_key(|&index| {
        (spans[index].end_ns.abs_diff(overrun.at_ns), spans[index].took_ns().abs_diff(overrun.took_ns))
    })?;
    if spans[root].end_ns.abs_diff(overrun.at_ns) > overrun.took_ns {
        return None;
    }
    let search = CulpritSearch { capture, threads, thread, children: children(spans) };
    let root_usual_ns = search.usual(root).map(|usual| usual.took_ns);
    Some(LocatedCulprit { culprit: search.descend(root), thread, root, root_usual_ns })
}

/// Substitute for an overrun without a slice ([`Scope::check_duration`](crate::recorder::Scope::check_duration)): a frame that began late, or has
/// not ended. The root is the frame of any thread with the largest overlap with that time: the frame that others waited for,
/// or the noted one itself.
fn find_in_its_stead(
    capture: &Capture,
    threads: &[Vec<ScopeSpan>],
    overrun: &Overrun,
) -> Option<LocatedCulprit> {
    let kind = |scope: u16| capture.scopes.get(usize::from(scope)).map(|scope| scope.kind);
    if kind(overrun.scope) != Some(ScopeKind::Frame) {
        return None;
    }
    let begin_ns = overrun.at_ns.saturating_sub(overrun.took_ns);
    let overlap =
        |span: &ScopeSpan| span.end_ns.min(overrun.at_ns).saturating_sub(span.begin_ns.max(begin_ns));
    let spans = threads
        .iter()
        .enumerate()
        .flat_map(|(thread, spans)| spans.iter().enumerate().map(move |(root, span)| (thread, root, span)));
    let frames = spans.filter(|(.., span)| kind(span.scope) == Some(ScopeKind::Frame) && overlap(span) > 0);
    let (thread, root, _) =
        frames.max_by_key(|&(thread, root, span)| (overlap(span), Reverse((thread, root))))?;
    let search = CulpritSearch { capture, threads, thread, children: children(&threads[thread]) };
    Some(LocatedCulprit { culprit: search.descend(root), thread, root, root_usual_ns: None })
}

/// Indices of the spans directly inside of each span.
fn children(spans: &[ScopeSpan]) -> Vec<Vec<usize>> {
    let mut children = vec![Vec::new(); spans.len()];
    for (index, span) in spans.iter().enumerate() {
        if let Some(parent) = span.parent {
            children[parent].push(index);
        }
    }
    children
}

struct CulpritSearch<'a> {
    capture: &'a Capture,
    threads: &'a [Vec<ScopeSpan>],
    thread: usize,
    children: Vec<Vec<usize>>,
}

/// Medians over the other slices of a scope, and over the scopes directly inside of them.
struct Usual {
    took_ns: u64,
    self_ns: u64,
    /// By scope: sum over all slices of that scope inside of one slice.
    inside_ns: BTreeMap<u16, u64>,
}

impl CulpritSearch<'_> {
    fn spans(&self) -> &[ScopeSpan] {
        &self.threads[self.thread]
    }

    fn descend(&self, root: usize) -> Culprit {
        let mut at = root;
        let mut within = Vec::new();
        loop {
            let span = &self.spans()[at];
            let usual = self.usual(at);
            let mut groups: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
            for &child in &self.children[at] {
                groups.entry(self.spans()[child].scope).or_default().push(child);
            }
            let took_ns =
                |group: &[usize]| -> u64 { group.iter().map(|&child| self.spans()[child].took_ns()).sum() };
            // Compare only a slice that took more than 4/3 of the median: below that the difference says nothing.
            let compared = usual.as_ref().filter(|usual| span.took_ns() / 4 * 3 > usual.took_ns);
            let expected =
                |scope| compared.and_then(|usual| usual.inside_ns.get(scope)).copied().unwrap_or(0);
            let own_blame = span.self_ns.saturating_sub(compared.map_or(0, |usual| usual.self_ns));
            let blames: Vec<(u64, u16)> = groups
                .iter()
                .map(|(scope, group)| (took_ns(group).saturating_sub(expected(scope)), *scope))
                .collect();
            let all = own_blame + blames.iter().map(|&(blame, _)| blame).sum::<u64>();
            // With equal blame the lowest scope number, so that the answer is deterministic.
            let worst = blames.into_iter().max_by_key(|&(blame, scope)| (blame, Reverse(scope)));
            let Some((_, scope)) = worst.filter(|&(blame, _)| blame > own_blame && blame * 2 >= all) else {
                return self.culprit(at, usual.map(|usual| usual.took_ns), within);
            };
            within.push(scope_name(self.capture, span.scope).to_owned());
            let group = &groups[&scope];
            let longest =
                *group.iter().max_by_key(|&&child| self.spans()[child].took_ns()).expect("not empty");
            if self.spans()[longest].took_ns() * 2 < took_ns(group) {
                let usual_ns = usual.map(|usual| usual.inside_ns.get(&scope).copied().unwrap_or_default());
                return self.many(scope, group, usual_ns, within);
            }
            at = longest;
        }
    }

    /// A culprit of one span.
    fn culprit(&self, index: usize, usual_ns: Option<u64>, within: Vec<String>) -> Culprit {
        let span = &self.spans()[index];
        Culprit {
            scope: scope_name(self.capture, span.scope).to_owned(),
            about: about(self.capture, self.arg(span), span.arg),
            world: self.world(self.thread, index).and_then(|world| about(self.capture, Arg::World, world)),
            count: 1,
            took_ns: span.took_ns(),
            self_ns: span.self_ns,
            usual_ns,
            within,
            doing: ThreadActivity::Unknown,
        }
    }

    /// A culprit of several spans of one scope, none of which has half of their time.
    fn many(&self, scope: u16, group: &[usize], usual_ns: Option<u64>, within: Vec<String>) -> Culprit {
        let spans = self.spans();
        Culprit {
            scope: scope_name(self.capture, scope).to_owned(),
            about: None,
            world: self.world(self.thread, group[0]).and_then(|world| about(self.capture, Arg::World, world)),
            count: group.len() as u64,
            took_ns: group.iter().map(|&child| spans[child].took_ns()).sum(),
            self_ns: group.iter().map(|&child| spans[child].self_ns).sum(),
            usual_ns,
            within,
            doing: ThreadActivity::Unknown,
        }
    }

    fn arg(&self, span: &ScopeSpan) -> Arg {
        self.capture.scopes.get(usize::from(span.scope)).map_or(Arg::None, |scope| scope.arg)
    }

    /// The world in the argument of this span, or of the nearest one around it.
    fn world(&self, thread: usize, index: usize) -> Option<u64> {
        let spans = &self.threads[thread];
        std::iter::successors(Some(index), |&index| spans[index].parent)
            .find(|&index| self.arg(&spans[index]) == Arg::World)
            .map(|index| spans[index].arg)
    }

    /// Medians of other slices of this scope on all threads. A world is compared only with itself: another one may be a
    /// hundred times as large.
    fn usual(&self, index: usize) -> Option<Usual> {
        let this = &self.spans()[index];
        let world = self.world(self.thread, index);
        let (mut took, mut own) = (Vec::new(), Vec::new());
        let mut inside: BTreeMap<u16, Vec<u64>> = BTreeMap::new();
        for (thread, spans) in self.threads.iter().enumerate() {
            // Sums inside of the spans of this kind. Parents precede their children.
            let mut sums: BTreeMap<usize, BTreeMap<u16, u64>> = BTreeMap::new();
            for (other, span) in spans.iter().enumerate() {
                if let Some(sums) = span.parent.and_then(|parent| sums.get_mut(&parent)) {
                    *sums.entry(span.scope).or_default() += span.took_ns();
                }
                let itself = thread == self.thread && other == index;
                if span.scope == this.scope && !span.open && !itself && self.world(thread, other) == world {
                    took.push(span.took_ns());
                    own.push(span.self_ns);
                    sums.insert(other, BTreeMap::new());
                }
            }
            for (scope, sum) in sums.into_values().flatten() {
                inside.entry(scope).or_default().push(sum);
            }
        }
        let n = took.len();
        (n >= USUAL_MIN).then(|| Usual {
            took_ns: median(took, n),
            self_ns: median(own, n),
            inside_ns: inside.into_iter().map(|(scope, sums)| (scope, median(sums, n))).collect(),
        })
    }
}

/// The median of `n` values; those absent from `values` are zero.
fn median(mut values: Vec<u64>, n: usize) -> u64 {
    values.sort_unstable();
    let zeros = n - values.len();
    (n / 2).checked_sub(zeros).map_or(0, |middle| values[middle])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captures::CaptureCause;
    use crate::captures::nest::spans;
    use crate::captures::testing::{self, CLIENT, FRAME, MOVEMENT, MS, SEND, TELL, TURN, ThreadBuilder};
    use crate::recorder::{ScopeInfo, Slice};

    /// The culprit of this slice of the only thread.
    fn culprit_of(thread: ThreadBuilder, slow: Slice) -> Culprit {
        let mut capture = testing::empty();
        capture.threads = vec![thread.done()];
        let CaptureCause::Overrun(overrun) = testing::overrun(&capture, 1, slow, 1) else { unreachable!() };
        let threads = vec![spans(&capture.threads[0], capture.end_ns)];
        find(&capture, &threads, 0, &overrun).unwrap().culprit
    }

    #[test]
    fn a_frame_whose_one_system_is_slow_names_the_system() {
        let mut thread = ThreadBuilder::new("world-0", 1);
        for n in 0..10 {
            thread.frame(n * 50_000, 2_000, 1_000);
        }
        let slow = thread.frame(500_000, 2_000, 70_000);
        let culprit = culprit_of(thread, slow);
        assert_eq!((culprit.scope.as_str(), culprit.count), ("world.frame.tell", 1));
        assert_eq!((culprit.took_ns, culprit.usual_ns), (70 * MS, Some(MS)));
        assert_eq!(culprit.world.as_deref(), Some("world Harbour"));
        assert_eq!(culprit.within, ["world.frame"]);
    }

    #[test]
    fn a_usual_cost_is_not_the_culprit_of_a_single_slow_frame() {
        let mut thread = ThreadBuilder::new("world-0", 1);
        for n in 0..10 {
            thread.frame(n * 50_000, 35_000, 1_000);
        }
        let slow = thread.frame(500_000, 36_000, 25_000);
        assert_eq!(culprit_of(thread, slow).scope, "world.frame.tell");
    }

    #[test]
    fn the_culprit_of_an_always_slow_frame_is_its_largest_part() {
        let mut thread = ThreadBuilder::new("world-0", 1);
        for n in 0..10 {
            thread.frame(n * 100_000, 60_000, 1_000);
        }
        let slow = thread.frame(1_000_000, 61_000, 1_000);
        assert_eq!(culprit_of(thread, slow).scope, "world.movement");
    }

    #[test]
    fn time_that_no_scope_inside_accounts_for_is_the_scope_s_own() {
        let mut thread = ThreadBuilder::new("world-0", 1);
        let slow = thread.slice(FRAME, 0, 80_000, 0, 0);
        thread.slice(MOVEMENT, 0, 2_000, 0, 1);
        thread.slice(TELL, 2_000, 1_000, 0, 1);
        let culprit = culprit_of(thread, slow);
        assert_eq!((culprit.scope.as_str(), culprit.self_ns), ("world.frame", 77 * MS));
        assert!(culprit.within.is_empty());
    }

    #[test]
    fn without_anything_to_compare_with_the_dearest_is_to_blame() {
        let mut thread = ThreadBuilder::new("world-0", 1);
        let slow = thread.frame(0, 40_000, 20_000);
        let culprit = culprit_of(thread, slow);
        assert_eq!((culprit.scope.as_str(), culprit.usual_ns), ("world.movement", None));
    }

    #[test]
    fn one_client_among_many_is_named() {
        let mut thread = ThreadBuilder::new("shard-0", 1);
        let slow = thread.slice(TURN, 0, 60_000, 0, 0);
        for n in 0..20 {
            thread.slice(CLIENT, n * 100, 100, n + 1, 1);
        }
        thread.slice(CLIENT, 2_000, 50_000, 17, 1);
        thread.slice(SEND, 3_000, 1_000, 1, 2);
        let culprit = culprit_of(thread, slow);
        assert_eq!(culprit.about.as_deref(), Some("client 17 (Ada Resident)"));
        assert_eq!((culprit.scope.as_str(), culprit.self_ns), ("shard.client", 49 * MS));
    }

    #[test]
    fn a_slow_edit_is_named_by_its_object() {
        let mut capture = testing::empty();
        let edit = u16::try_from(capture.scopes.len()).expect("a few scopes");
        let (arg, kind) = (Arg::Object, ScopeKind::Scope);
        capture.scopes.push(ScopeInfo { name: "world.edit".into(), arg, kind, limit_ns: None });
        capture.labels.insert((Arg::Object, 9), "\"Lamp\" of Ada Resident at 8, 9, 21 in Harbour".into());
        let mut thread = ThreadBuilder::new("world-0", 1);
        let slow = thread.frame(0, 70_000, 1_000);
        thread.slice(edit, 100, 200, 8, 2);
        thread.slice(edit, 1_000, 60_000, 9, 2);
        capture.threads = vec![thread.done()];
        let CaptureCause::Overrun(overrun) = testing::overrun(&capture, 1, slow, 1) else { unreachable!() };
        let threads = vec![spans(&capture.threads[0], capture.end_ns)];
        let culprit = find(&capture, &threads, 0, &overrun).unwrap().culprit;
        assert_eq!(
            culprit.about.as_deref(),
            Some("object 9 (\"Lamp\" of Ada Resident at 8, 9, 21 in Harbour)")
        );
        assert_eq!(culprit.within, ["world.frame", "world.movement"]);
    }

    #[test]
    fn many_that_are_slow_together_are_named_together() {
        let mut thread = ThreadBuilder::new("shard-0", 1);
        for n in 0..6 {
            thread.slice(TURN, n * 1_000, 300, 0, 0);
            thread.slice(CLIENT, n * 1_000, 200, 1, 1);
        }
        let slow = thread.slice(TURN, 10_000, 60_000, 0, 0);
        for n in 0..300 {
            thread.slice(CLIENT, 10_000 + n * 190, 190, n, 1);
        }
        let culprit = culprit_of(thread, slow);
        assert_eq!((culprit.scope.as_str(), culprit.count), ("shard.client", 300));
        assert_eq!((culprit.took_ns, culprit.usual_ns), (57 * MS, Some(MS / 5)));
        assert_eq!(culprit.about, None);
    }

    #[test]
    fn worlds_are_compared_with_themselves() {
        let mut thread = ThreadBuilder::new("world-0", 1);
        for n in 0..10 {
            // World 1 is huge and always takes 45 ms; world 0 takes 1.5 ms.
            thread.slice(FRAME, n * 50_000, 45_000, 1, 0);
            thread.slice(MOVEMENT, n * 50_000, 44_000, 0, 1);
            thread.frame(n * 50_000 + 46_000, 1_000, 500);
        }
        let slow = thread.frame(500_000, 41_000, 500);
        let culprit = culprit_of(thread, slow);
        assert_eq!((culprit.scope.as_str(), culprit.usual_ns), ("world.movement", Some(MS)));
    }

    #[test]
    fn a_slice_that_has_left_the_capture_has_no_culprit() {
        let capture = testing::empty();
        let CaptureCause::Overrun(overrun) = testing::overrun_of_slow_movement() else { unreachable!() };
        assert!(find(&capture, &[Vec::new()], 0, &overrun).is_none());
    }

    #[test]
    fn the_median_counts_absent_slices_as_zero() {
        assert_eq!(median(vec![5, 1, 3], 3), 3);
        assert_eq!(median(vec![9], 5), 0);
        assert_eq!(median(vec![9, 8, 7], 5), 7);
        assert_eq!(median(Vec::new(), 4), 0);
    }
}
