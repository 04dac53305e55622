//! Checks of behaviours: circles, unreachable nodes, and branches that may not take time.
//!
//! Each node is classified: it can succeed, it can fail, it takes time. One that can do neither of the first two runs without end, and
//! hides all behind it in a sequence; one that cannot fail hides all below it in a `select`.

use super::{
    fault::BehaviorFault,
    node::{LeafAction, Op},
    tree::{NodeForm, Tree},
};
use outline::FileReport;

/// A behaviour as it was read.
#[derive(Debug)]
pub(super) struct Definition<'a> {
    pub(super) name: &'a str,
    /// The file's place in the set, from 0.
    pub(super) file: usize,
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) body: Vec<Tree>,
}

/// Possible outcomes of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Traits {
    succeeds: bool,
    fails: bool,
    takes_time: bool,
}

/// Neither is known: nothing follows from it.
const UNKNOWN: Traits = Traits { succeeds: true, fails: true, takes_time: false };

/// Finds circles of `use`: all behaviours, each behind those that it uses, and whether there is a circle.
pub(super) fn order(
    definitions: &[Definition<'_>],
    mut report: impl FnMut(&Definition<'_>, &Tree, BehaviorFault),
) -> (Vec<usize>, bool) {
    let mut search = ReachabilitySearch {
        definitions,
        states: vec![VisitState::New; definitions.len()],
        ..ReachabilitySearch::default()
    };
    for index in 0..definitions.len() {
        search.visit(index, &mut report);
    }
    (search.order, search.has_circle)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum VisitState {
    New,
    /// On the way from where the search began.
    Open,
    Done,
}

#[derive(Debug, Default)]
struct ReachabilitySearch<'d, 'a> {
    definitions: &'d [Definition<'a>],
    states: Vec<VisitState>,
    way: Vec<usize>,
    order: Vec<usize>,
    has_circle: bool,
}

impl ReachabilitySearch<'_, '_> {
    /// As deep on the stack as there are behaviours.
    fn visit(&mut self, index: usize, report: &mut impl FnMut(&Definition<'_>, &Tree, BehaviorFault)) {
        if self.states[index] != VisitState::New {
            return;
        }
        self.states[index] = VisitState::Open;
        self.way.push(index);
        let definition = &self.definitions[index];
        let mut uses = Vec::new();
        collect_uses(&definition.body, &mut uses);
        for (tree, used) in uses {
            if self.states[used] == VisitState::Open {
                let from = self.way.iter().position(|&open| open == used).unwrap_or(0);
                let circle = self.way[from..].iter().chain([&used]);
                let names: Vec<&str> = circle.map(|&open| self.definitions[open].name).collect();
                report(definition, tree, BehaviorFault::Cycle { path: names.join(" → ") });
                self.has_circle = true;
            }
            self.visit(used, report);
        }
        self.way.pop();
        self.states[index] = VisitState::Done;
        self.order.push(index);
    }
}

fn collect_uses<'t>(trees: &'t [Tree], uses: &mut Vec<(&'t Tree, usize)>) {
    for tree in trees {
        if let NodeForm::Use(used) = tree.part {
            uses.push((tree, usize::from(used)));
        }
        collect_uses(&tree.children, uses);
    }
}

/// Behaviours that these lead to, themselves among them.
pub(super) fn used_from(definitions: &[Definition<'_>], entries: &[usize]) -> Vec<bool> {
    let mut is_used = vec![false; definitions.len()];
    let mut open = entries.to_vec();
    while let Some(index) = open.pop() {
        if !std::mem::replace(&mut is_used[index], true) {
            let mut uses = Vec::new();
            collect_uses(&definitions[index].body, &mut uses);
            open.extend(uses.into_iter().map(|(_, used)| used));
        }
    }
    is_used
}

/// Checks the nodes of one behaviour; `known` has the traits of those that it uses.
pub(super) fn check_body(
    body: &[Tree],
    known: &[Option<Traits>],
    report: &mut FileReport<'_, BehaviorFault>,
) -> Traits {
    BodyCheck { known, report }.in_order(body)
}

struct BodyCheck<'k, 'r, 'f> {
    known: &'k [Option<Traits>],
    report: &'r mut FileReport<'f, BehaviorFault>,
}

impl BodyCheck<'_, '_, '_> {
    fn in_order(&mut self, trees: &[Tree]) -> Traits {
        let mut all = Traits { succeeds: true, fails: false, takes_time: false };
        for (index, tree) in trees.iter().enumerate() {
            let traits = self.tree(tree);
            if !all.succeeds {
                continue;
            }
            all = Traits {
                succeeds: traits.succeeds,
                fails: all.fails || traits.fails,
                takes_time: all.takes_time || traits.takes_time,
            };
            if let (false, Some(next)) = (traits.succeeds, trees.get(index + 1)) {
                let why = if traits.fails { "never succeeds" } else { "goes on for ever" };
                self.never_reached(tree, next, why);
            }
        }
        all
    }

    fn first_of(&mut self, trees: &[Tree]) -> Traits {
        let mut any = Traits { succeeds: false, fails: true, takes_time: false };
        for (index, tree) in trees.iter().enumerate() {
            let traits = self.tree(tree);
            if !any.fails {
                continue;
            }
            any = Traits {
                succeeds: any.succeeds || traits.succeeds,
                fails: traits.fails,
                takes_time: any.takes_time || traits.takes_time,
            };
            if let (false, Some(next)) = (traits.fails, trees.get(index + 1)) {
                let why = if traits.succeeds { "never fails" } else { "goes on for ever" };
                self.never_reached(tree, next, why);
            }
        }
        any
    }

    fn one_of(&mut self, trees: &[Tree]) -> Traits {
        trees.iter().map(|tree| self.tree(tree)).fold(
            Traits { succeeds: false, fails: false, takes_time: false },
            |any, traits| Traits {
                succeeds: any.succeeds || traits.succeeds,
                fails: any.fails || traits.fails,
                takes_time: any.takes_time || traits.takes_time,
            },
        )
    }

    fn at_once(&mut self, trees: &[Tree]) -> Traits {
        let Some((last, others)) = trees.split_last() else { return UNKNOWN };
        for tree in others {
            if self.tree(tree).takes_time {
                let fault = BehaviorFault::TakesTime { node: tree.part.word().to_owned() };
                self.report.add(tree.line, tree.column, fault);
            }
        }
        self.tree(last)
    }

    fn tree(&mut self, tree: &Tree) -> Traits {
        let children = &tree.children;
        let op = match tree.part {
            NodeForm::Op(op) => op,
            NodeForm::Use(used) => {
                return self.known.get(usize::from(used)).copied().flatten().unwrap_or(UNKNOWN);
            }
            NodeForm::Broken => {
                self.in_order(children);
                return UNKNOWN;
            }
        };
        match op {
            Op::Sequence | Op::Weight(_) | Op::From { .. } => self.in_order(children),
            Op::When { .. } | Op::Cooldown { .. } | Op::Chance { .. } | Op::Timeout { .. } => {
                Traits { fails: true, ..self.in_order(children) }
            }
            Op::Select => self.first_of(children),
            Op::Parallel => self.at_once(children),
            Op::Random { .. } => self.one_of(children),
            Op::Schedule => {
                self.times_rise(children);
                self.one_of(children)
            }
            Op::Invert => {
                let Traits { succeeds, fails, takes_time } = self.in_order(children);
                Traits { succeeds: fails, fails: succeeds, takes_time }
            }
            Op::Try => {
                let Traits { succeeds, fails, takes_time } = self.in_order(children);
                Traits { succeeds: succeeds || fails, fails: false, takes_time }
            }
            Op::Repeat { times, .. } => {
                let once = self.in_order(children);
                Traits { succeeds: once.succeeds && times > 0, takes_time: true, ..once }
            }
            Op::Check { .. } => UNKNOWN,
            Op::Do(action) => action.traits(),
        }
    }

    fn times_rise(&mut self, trees: &[Tree]) {
        let mut last = None;
        for tree in trees {
            let NodeForm::Op(Op::From { minute }) = tree.part else { continue };
            if last.is_some_and(|last| minute <= last) {
                self.report.add(tree.line, tree.column, BehaviorFault::UnsortedTimes);
            }
            last = Some(minute);
        }
    }

    fn never_reached(&mut self, tree: &Tree, next: &Tree, why: &'static str) {
        let fault = BehaviorFault::NeverReached { node: tree.part.word().to_owned(), why };
        self.report.add(next.line, next.column, fault);
    }
}

impl LeafAction {
    const fn traits(self) -> Traits {
        let (succeeds, fails, takes_time) = match self {
            Self::Wander { lasting, .. } | Self::Guard { lasting, .. } => (lasting.0 > 0, false, true),
            Self::Patrol { lasting, once, .. } => (lasting.0 > 0 || once, false, true),
            Self::Sit { lasting, .. } | Self::Work { lasting, .. } => (lasting.0 > 0, true, true),
            Self::Follow { .. } => (false, true, true),
            Self::Flee { .. }
            | Self::Chase { .. }
            | Self::Attack { .. }
            | Self::Gather { .. }
            | Self::Deliver { .. }
            | Self::Talk { .. }
            | Self::Go { .. } => (true, true, true),
            Self::Wait { .. } => (true, false, true),
            Self::Play { lasting, .. } => (true, false, lasting.0 > 0),
            Self::Say { .. } | Self::Face { .. } | Self::Sound { .. } | Self::Forget => (true, false, false),
        };
        Traits { succeeds, fails, takes_time }
    }
}
