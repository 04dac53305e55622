//! Costs in a capture: time by scope, by world, by client and by thread.

use super::kernel::KernelFigures;
use super::nest::{ScopeSpan, spans};
use super::{label, scope_name};
use crate::recorder::{Arg, Capture, ThreadRecord};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Time of one scope, world or client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostRow {
    /// Name of the scope, world or client: `world.movement`, `Harbour`, `Ada Resident`.
    pub name: String,
    /// Number of slices.
    pub count: u64,
    /// Sum of their durations, scopes inside included.
    pub total_ns: u64,
    /// Sum of their durations, scopes inside excluded.
    pub self_ns: u64,
    /// The longest slice.
    pub max_ns: u64,
    /// The scope's limit per slice, if it has one.
    pub limit_ns: Option<u64>,
}

/// Time of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadCost {
    /// Name of the thread.
    pub name: String,
    /// The kernel's id of it.
    pub tid: u32,
    /// Time in scopes.
    pub busy_ns: u64,
    /// The kernel's figures, if they were sampled.
    pub kernel: Option<KernelFigures>,
}

/// Costs of a capture in descending order: scopes by their own time, worlds and clients by their total, threads by busy time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureCosts {
    /// By scope.
    pub systems: Vec<CostRow>,
    /// By world: total of the scopes with a world as argument.
    pub worlds: Vec<CostRow>,
    /// By client: total of the scopes with a client or session as argument.
    pub clients: Vec<CostRow>,
    /// By thread.
    pub threads: Vec<ThreadCost>,
}

impl CaptureCosts {
    /// Costs of a whole capture.
    #[must_use]
    pub fn of(capture: &Capture) -> Self {
        let mut tally = CostTally::new(capture, capture.begin_ns);
        let mut threads = Vec::new();
        for thread in &capture.threads {
            let spans = spans(thread, capture.end_ns);
            tally.add(&spans);
            threads.push(thread_cost(capture, thread, &spans));
        }
        threads.sort_by_key(|thread| Reverse(thread.busy_ns));
        Self { threads, ..tally.costs() }
    }

    /// Costs of one span and the spans inside of it.
    pub(crate) fn inside(capture: &Capture, spans: &[ScopeSpan], root: usize) -> Self {
        let end = subtree_end(spans, root);
        let mut subtree = spans[root..end].to_vec();
        for span in &mut subtree {
            span.parent = span.parent.and_then(|parent| parent.checked_sub(root));
        }
        let mut tally = CostTally::new(capture, 0);
        tally.add(&subtree);
        tally.costs()
    }
}

/// Index after the last span inside of `root`: parents precede their children, so those are contiguous.
pub(crate) fn subtree_end(spans: &[ScopeSpan], root: usize) -> usize {
    let after = spans[root + 1..].iter().position(|span| span.parent.is_none_or(|parent| parent < root));
    after.map_or(spans.len(), |n| root + 1 + n)
}

fn thread_cost(capture: &Capture, thread: &ThreadRecord, spans: &[ScopeSpan]) -> ThreadCost {
    ThreadCost {
        name: thread.name.clone(),
        tid: thread.tid,
        busy_ns: busy_ns(spans, capture.begin_ns, capture.end_ns),
        kernel: KernelFigures::around(thread, capture.begin_ns, capture.end_ns),
    }
}

/// Time from `begin_ns` to `end_ns` that was spent in scopes.
pub(crate) fn busy_ns(spans: &[ScopeSpan], begin_ns: u64, end_ns: u64) -> u64 {
    let outermost = spans.iter().filter(|span| span.parent.is_none());
    outermost.map(|span| span.end_ns.min(end_ns).saturating_sub(span.begin_ns.max(begin_ns))).sum()
}

/// Accumulates costs over threads.
struct CostTally<'a> {
    capture: &'a Capture,
    begin_ns: u64,
    systems: BTreeMap<u16, CostRow>,
    worlds: BTreeMap<u64, CostRow>,
    clients: BTreeMap<u64, CostRow>,
}

impl<'a> CostTally<'a> {
    fn new(capture: &'a Capture, begin_ns: u64) -> Self {
        Self {
            capture,
            begin_ns,
            systems: BTreeMap::new(),
            worlds: BTreeMap::new(),
            clients: BTreeMap::new(),
        }
    }

    fn arg(&self, span: &ScopeSpan) -> Arg {
        self.capture.scopes.get(usize::from(span.scope)).map_or(Arg::None, |scope| scope.arg)
    }

    /// Adds a thread's spans. A span inside of another one of the same scope, world or client adds no total: it is part
    /// of that one's total already.
    fn add(&mut self, spans: &[ScopeSpan]) {
        for span in spans {
            let around = |same: &dyn Fn(&ScopeSpan) -> bool| {
                std::iter::successors(span.parent, |&parent| spans[parent].parent)
                    .any(|parent| same(&spans[parent]))
            };
            let repeated = around(&|other| other.scope == span.scope);
            add(self.systems.entry(span.scope).or_default(), span, self.begin_ns, repeated);
            let arg = self.arg(span);
            let of = match arg {
                Arg::World => &mut self.worlds,
                Arg::Client | Arg::Session => &mut self.clients,
                Arg::None | Arg::Bytes | Arg::Count | Arg::Port | Arg::Object => continue,
            };
            let repeated = around(&|other| {
                let scope = self.capture.scopes.get(usize::from(other.scope));
                let same_kind = scope.is_some_and(|scope| (scope.arg == Arg::World) == (arg == Arg::World));
                same_kind && scope.is_some_and(|scope| names_subject(scope.arg)) && other.arg == span.arg
            });
            add(of.entry(span.arg).or_default(), span, self.begin_ns, repeated);
        }
    }

    fn costs(self) -> CaptureCosts {
        let capture = self.capture;
        let of = |costs: BTreeMap<u64, CostRow>, arg: Arg| {
            let named = costs.into_iter().map(|(number, cost)| {
                let name = label(capture, arg, number).map_or_else(|| number.to_string(), str::to_owned);
                CostRow { name, ..cost }
            });
            let mut costs: Vec<CostRow> = named.collect();
            costs.sort_by_key(|cost| Reverse(cost.total_ns));
            costs
        };
        let mut systems: Vec<CostRow> = self
            .systems
            .into_iter()
            .map(|(scope, cost)| CostRow {
                name: scope_name(capture, scope).to_owned(),
                limit_ns: capture.scopes.get(usize::from(scope)).and_then(|scope| scope.limit_ns),
                ..cost
            })
            .collect();
        systems.sort_by_key(|cost| Reverse(cost.self_ns));
        CaptureCosts {
            systems,
            worlds: of(self.worlds, Arg::World),
            clients: of(self.clients, Arg::Client),
            threads: Vec::new(),
        }
    }
}

const fn names_subject(arg: Arg) -> bool {
    matches!(arg, Arg::World | Arg::Client | Arg::Session)
}

fn add(cost: &mut CostRow, span: &ScopeSpan, begin_ns: u64, repeated: bool) {
    let took_ns = span.end_ns.saturating_sub(span.begin_ns.max(begin_ns));
    cost.self_ns += span.self_ns.min(took_ns);
    if !repeated {
        cost.count += 1;
        cost.total_ns += took_ns;
        cost.max_ns = cost.max_ns.max(span.took_ns());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captures::testing::{self, BEGIN, CLIENT, FRAME, MS, SEND, TURN, ThreadBuilder};

    fn find<'a>(costs: &'a [CostRow], name: &str) -> &'a CostRow {
        costs.iter().find(|cost| cost.name == name).unwrap_or_else(|| panic!("no {name} in {costs:?}"))
    }

    #[test]
    fn scopes_are_charged_with_their_own_time_and_all_of_it() {
        let costs = CaptureCosts::of(&testing::slow_movement());
        let frame = find(&costs.systems, "world.frame");
        assert_eq!((frame.count, frame.total_ns, frame.self_ns), (20, 108 * MS, 10 * MS));
        assert_eq!((frame.max_ns, frame.limit_ns), (41 * MS + MS / 2, None));
        let movement = find(&costs.systems, "world.movement");
        assert_eq!((movement.count, movement.total_ns, movement.self_ns), (20, 78 * MS, 78 * MS));
        assert_eq!(movement.limit_ns, Some(20 * MS));
        assert_eq!(costs.systems[0].name, "world.movement", "the dearest comes first");
    }

    #[test]
    fn worlds_and_clients_are_charged_under_their_names() {
        let costs = CaptureCosts::of(&testing::slow_movement());
        assert_eq!(find(&costs.worlds, "Harbour").total_ns, 108 * MS);
        let (ada, other) = (find(&costs.clients, "Ada Resident"), find(&costs.clients, "18"));
        assert_eq!((ada.count, ada.total_ns, ada.self_ns), (20, 4 * MS, 3 * MS));
        assert_eq!((other.count, other.total_ns), (20, 2 * MS));
    }

    #[test]
    fn nested_slices_of_one_scope_or_client_are_not_counted_twice() {
        let mut capture = testing::empty();
        let mut thread = ThreadBuilder::new("shard-0", 1);
        thread.slice(CLIENT, 0, 1_000, 17, 0);
        thread.slice(SEND, 100, 800, 1, 1);
        thread.slice(CLIENT, 200, 500, 17, 2);
        capture.threads = vec![thread.done()];
        let costs = CaptureCosts::of(&capture);
        let client = find(&costs.systems, "shard.client");
        assert_eq!((client.count, client.total_ns, client.self_ns), (1, MS, 700_000));
        assert_eq!(find(&costs.clients, "Ada Resident").total_ns, MS);
    }

    #[test]
    fn slices_that_began_before_the_window_count_from_its_beginning() {
        let mut capture = testing::empty();
        let mut thread = ThreadBuilder::new("world-0", 1);
        thread.slice(FRAME, 0, 10_000, 0, 0);
        capture.threads = vec![thread.done()];
        capture.begin_ns = BEGIN + 4 * MS;
        let costs = CaptureCosts::of(&capture);
        assert_eq!(find(&costs.systems, "world.frame").total_ns, 6 * MS);
        assert_eq!(costs.threads[0].busy_ns, 6 * MS);
    }

    #[test]
    fn threads_are_sorted_by_their_busy_time() {
        let mut capture = testing::slow_movement();
        let mut idle = ThreadBuilder::new("hub", 5);
        idle.slice(TURN, 0, 1, 0, 0);
        capture.threads.insert(0, idle.done());
        let names: Vec<String> =
            CaptureCosts::of(&capture).threads.into_iter().map(|thread| thread.name).collect();
        assert_eq!(names, ["world-0", "shard-0", "hub"]);
    }

    #[test]
    fn the_inside_of_one_span_is_charged_alone() {
        let capture = testing::slow_movement();
        let spans = spans(&capture.threads[1], capture.end_ns);
        let slow = spans.iter().rposition(|span| span.scope == FRAME).unwrap();
        let costs = CaptureCosts::inside(&capture, &spans, slow);
        assert_eq!(find(&costs.systems, "world.movement").total_ns, 40 * MS);
        assert_eq!(find(&costs.systems, "world.frame").self_ns, MS / 2);
    }
}
