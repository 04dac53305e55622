//! From trees to flat nodes: used behaviours are inserted, timers are assigned.

use super::{
    DEPTH_MAX, NODES_MAX, TIMERS_MAX,
    check::Definition,
    fault::BehaviorFault,
    node::{LeafAction, Op, People, Predicate, TreeNode},
    set::NoticedKinds,
    tree::{NodeForm, Tree},
};
use crate::senses::{KindSet, SoundKind, SoundSet};
use outline::TextFault;

/// A behaviour, put together.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) nodes: Vec<TreeNode>,
    /// Timers with a meaning of their own for as long as an NPC has this behaviour, the first ones. Nested ones have the last.
    pub(super) n_timers: u8,
    pub(super) interest: NoticedKinds,
}

/// Puts a behaviour together. `masks` are the kinds that numbers in the nodes stand for.
pub(super) fn compile(
    definitions: &[Definition<'_>],
    index: usize,
    masks: &[KindSet],
) -> Result<Compiled, BehaviorFault> {
    let mut builder = Builder { definitions, nodes: Vec::new(), n_timers: 0, nested_max: 0 };
    builder.body(&definitions[index].body, 0, 0)?;
    let mut interest = NoticedKinds::default();
    for node in &builder.nodes {
        interest.add(node.op, masks);
    }
    Ok(Compiled { nodes: builder.nodes, n_timers: builder.n_timers, interest })
}

struct Builder<'d, 'a> {
    definitions: &'d [Definition<'a>],
    nodes: Vec<TreeNode>,
    n_timers: u8,
    /// Most nested timers on any way.
    nested_max: u8,
}

impl Builder<'_, '_> {
    fn body(&mut self, trees: &[Tree], depth: usize, nested: u8) -> Result<(), BehaviorFault> {
        trees.iter().try_for_each(|tree| self.tree(tree, depth, nested))
    }

    fn tree(&mut self, tree: &Tree, depth: usize, nested: u8) -> Result<(), BehaviorFault> {
        let mut op = match tree.part {
            NodeForm::Op(op) => op,
            NodeForm::Use(used) => return self.used(usize::from(used), depth, nested),
            NodeForm::Broken => unreachable!("a set with a problem is not put together"),
        };
        let mut nested = nested;
        match &mut op {
            Op::Random { total } => *total = tree.children.iter().map(weight).sum(),
            Op::Cooldown { timer, .. }
            | Op::Chance { timer, .. }
            | Op::Do(LeafAction::Attack { timer, .. }) => *timer = self.timer()?,
            // Of timers that do not enclose each other only one runs at a time, so that all of a level share one.
            Op::Repeat { timer, .. } | Op::Timeout { timer, .. } => {
                nested += 1;
                self.nested_max = self.nested_max.max(nested);
                self.check_timers()?;
                *timer = TIMERS_MAX as u8 - nested;
            }
            _ => {}
        }
        let at = self.begin(op, depth)?;
        for child in &tree.children {
            if matches!(op, Op::Random { .. }) && !matches!(child.part, NodeForm::Op(Op::Weight(_))) {
                let weighted = self.begin(Op::Weight(1), depth + 1)?;
                self.tree(child, depth + 2, nested)?;
                self.end(weighted);
            } else {
                self.tree(child, depth + 1, nested)?;
            }
        }
        self.end(at);
        Ok(())
    }

    /// Puts another behaviour here. It is one node to those around it.
    fn used(&mut self, used: usize, depth: usize, nested: u8) -> Result<(), BehaviorFault> {
        let body = &self.definitions[used].body;
        if let [only] = body.as_slice() {
            return self.tree(only, depth, nested);
        }
        let at = self.begin(Op::Sequence, depth)?;
        self.body(body, depth + 1, nested)?;
        self.end(at);
        Ok(())
    }

    fn begin(&mut self, op: Op, depth: usize) -> Result<usize, BehaviorFault> {
        if depth >= DEPTH_MAX {
            return Err(TextFault::TooDeep { max: DEPTH_MAX }.into());
        }
        if self.nodes.len() >= NODES_MAX {
            return Err(TextFault::TooMany {
                what: "nodes in this behaviour with all that it uses",
                max: NODES_MAX,
            }
            .into());
        }
        self.nodes.push(TreeNode { end: 0, op });
        Ok(self.nodes.len() - 1)
    }

    fn end(&mut self, at: usize) {
        self.nodes[at].end = self.nodes.len() as u16;
    }

    fn timer(&mut self) -> Result<u8, BehaviorFault> {
        self.n_timers += 1;
        self.check_timers()?;
        Ok(self.n_timers - 1)
    }

    fn check_timers(&self) -> Result<(), BehaviorFault> {
        if usize::from(self.n_timers + self.nested_max) > TIMERS_MAX {
            return Err(TextFault::TooMany {
                what: "timers in this behaviour with all that it uses (one for each `cooldown`, `chance` and `attack`, and one \
                       for each level of nested `repeat` and `timeout`)",
                max: TIMERS_MAX,
            }
            .into());
        }
        Ok(())
    }
}

fn weight(tree: &Tree) -> u16 {
    if let NodeForm::Op(Op::Weight(weight)) = tree.part { weight } else { 1 }
}

impl NoticedKinds {
    fn add(&mut self, op: Op, masks: &[KindSet]) {
        match op {
            Op::Check { condition: Predicate::Sees { whom, .. }, .. }
            | Op::Do(LeafAction::Flee { from: whom, .. }) => match whom {
                People::Anyone => self.kinds = KindSet::ALL,
                People::Enemy => self.enemies = true,
                People::Friend => self.friends = true,
                // The target is looked for anyway.
                People::Target => {}
                People::Kinds(number) => self.kinds = self.kinds.or(masks[usize::from(number)]),
            },
            Op::Check { condition: Predicate::Hears { sound, .. }, .. } => {
                self.sounds.0 |= SoundSet::only(SoundKind(sound)).0;
            }
            _ => {}
        }
    }
}
