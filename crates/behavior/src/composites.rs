//! A thought's way down a tree: each inner node's outcome, from those of its children.

use super::{
    mind::{Leaf, NONE},
    node::{LeafAction, Op, Tenths, TreeNode},
    think::{
        NodeOutcome::{self, Failure, Running, Success},
        Thought,
    },
};
use crate::senses::Stamp;

impl<R: FnMut() -> u32> Thought<'_, R> {
    /// From the root to the leaf that runs from now on.
    pub(super) fn run(&mut self) {
        let end = self.nodes.len() as u16;
        let mut outcome = self.in_order(0, end);
        // A behaviour that has come to its end begins again, at once if this thought ended the running node.
        if outcome != Running && std::mem::take(&mut self.may_go_on) {
            outcome = self.in_order(0, end);
        }
        if outcome != Running {
            self.mind.leaf = NONE;
        }
    }

    fn visit(&mut self, at: u16) -> NodeOutcome {
        self.visits += 1;
        let TreeNode { end, op } = self.nodes[usize::from(at)];
        match op {
            Op::Sequence | Op::Weight(_) | Op::From { .. } => self.in_order(at + 1, end),
            Op::Select => self.first_of(at + 1, end),
            Op::Parallel => self.at_once(at + 1, end),
            Op::Random { total } => self.one_of(at, end, total),
            Op::Schedule => self.on_time(at + 1, end),
            Op::When { conditions, any } => self.while_held(at, end, conditions, any),
            Op::Invert => match self.in_order(at + 1, end) {
                Success => Failure,
                Failure => Success,
                Running => Running,
            },
            Op::Try => match self.in_order(at + 1, end) {
                Running => Running,
                Success | Failure => Success,
            },
            Op::Repeat { times, timer } => self.again(at, end, times, timer),
            Op::Cooldown { span, timer } => self.not_too_often(at, end, span, timer),
            Op::Timeout { span, timer } => self.not_too_long(at, end, span, timer),
            Op::Chance { percent, every, timer } => self.by_chance(at, end, percent, every, timer),
            Op::Check { not, condition } => {
                let (holds, found) = self.evaluate(condition);
                if holds == not {
                    return Failure;
                }
                self.apply_match(found.filter(|_| !not));
                Success
            }
            Op::Do(action) => self.perform(at, action),
        }
    }

    /// True if the running leaf is this node or lies under it.
    fn is_resumed(&self, at: u16, end: u16) -> bool {
        (at..end).contains(&self.resumed)
    }

    /// Runs children in order from the running one.
    fn in_order(&mut self, first: u16, end: u16) -> NodeOutcome {
        let mut child = first;
        if self.is_resumed(first, end) {
            while self.end_of(child) <= self.resumed {
                child = self.end_of(child);
            }
        }
        while child < end {
            match self.visit(child) {
                Success => child = self.end_of(child),
                other => return other,
            }
        }
        Success
    }

    fn first_of(&mut self, first: u16, end: u16) -> NodeOutcome {
        let mut child = first;
        while child < end {
            match self.visit(child) {
                Failure => child = self.end_of(child),
                other => return other,
            }
        }
        Failure
    }

    fn at_once(&mut self, first: u16, end: u16) -> NodeOutcome {
        let mut child = first;
        let mut outcome = Success;
        while child < end {
            outcome = self.visit(child);
            child = self.end_of(child);
        }
        outcome
    }

    fn one_of(&mut self, at: u16, end: u16, total: u16) -> NodeOutcome {
        let mut child = at + 1;
        if self.is_resumed(at, end) {
            while self.end_of(child) <= self.resumed {
                child = self.end_of(child);
            }
            return self.visit(child);
        }
        let mut drawn = self.below(u32::from(total));
        loop {
            let next = self.end_of(child);
            let weight = if let Op::Weight(weight) = self.nodes[usize::from(child)].op { weight } else { 1 };
            if drawn < u32::from(weight) || next >= end {
                return self.visit(child);
            }
            drawn -= u32::from(weight);
            child = next;
        }
    }

    /// The last child that began today; before the first of the day, the last of yesterday.
    fn on_time(&mut self, first: u16, end: u16) -> NodeOutcome {
        let mut child = first;
        let mut begun = None;
        let mut last = first;
        while child < end {
            if let Op::From { minute } = self.nodes[usize::from(child)].op
                && minute <= self.senses.minute
            {
                begun = Some(child);
            }
            last = child;
            child = self.end_of(child);
        }
        self.visit(begun.unwrap_or(last))
    }

    /// Runs the nodes behind the conditions, as long as these hold.
    fn while_held(&mut self, at: u16, end: u16, conditions: u8, any: bool) -> NodeOutcome {
        let first = at + 1 + u16::from(conditions);
        let mut held = !any;
        let mut found = None;
        for child in at + 1..first {
            self.visits += 1;
            let Op::Check { not, condition } = self.nodes[usize::from(child)].op else { continue };
            let (holds, this) = self.evaluate(condition);
            held = holds != not;
            if held {
                found = found.or_else(|| this.filter(|_| !not));
            }
            if held == any {
                break;
            }
        }
        if !held {
            return Failure;
        }
        self.apply_match(found);
        self.in_order(first, end)
    }

    /// Another round after each success: in this thought if it ended the running node, else in the next.
    fn again(&mut self, at: u16, end: u16, times: u16, timer: u8) -> NodeOutcome {
        let before = *self.timer(timer);
        if !self.is_resumed(at, end) {
            *self.timer(timer) = 0;
        }
        loop {
            match self.in_order(at + 1, end) {
                Running => return Running,
                Failure => {
                    *self.timer(timer) = before;
                    return Failure;
                }
                Success => {}
            }
            let rounds = *self.timer(timer) + 1;
            if times > 0 && rounds >= u32::from(times) {
                *self.timer(timer) = before;
                return Success;
            }
            *self.timer(timer) = rounds;
            if !std::mem::take(&mut self.may_go_on) {
                self.mind.leaf = at;
                return Running;
            }
        }
    }

    /// A node that fails at once has not been begun.
    fn not_too_often(&mut self, at: u16, end: u16, span: Tenths, timer: u8) -> NodeOutcome {
        if self.is_resumed(at, end) {
            return self.in_order(at + 1, end);
        }
        if *self.timer(timer) != 0 {
            return Failure;
        }
        let outcome = self.in_order(at + 1, end);
        if outcome != Failure {
            *self.timer(timer) = self.due_in(span.ms());
        }
        outcome
    }

    fn not_too_long(&mut self, at: u16, end: u16, span: Tenths, timer: u8) -> NodeOutcome {
        let before = *self.timer(timer);
        if !self.is_resumed(at, end) {
            *self.timer(timer) = self.due_in(span.ms());
        } else if self.now.has_reached(Stamp(before)) {
            self.resumed = NONE;
            self.may_go_on = true;
            return Failure;
        }
        let outcome = self.in_order(at + 1, end);
        if outcome != Running {
            *self.timer(timer) = before;
        }
        outcome
    }

    fn by_chance(&mut self, at: u16, end: u16, percent: u8, every: Tenths, timer: u8) -> NodeOutcome {
        if !self.is_resumed(at, end) {
            if *self.timer(timer) != 0 {
                return Failure;
            }
            *self.timer(timer) = self.due_in(every.ms());
            if self.below(100) >= u32::from(percent) {
                return Failure;
            }
        }
        self.in_order(at + 1, end)
    }

    fn perform(&mut self, at: u16, action: LeafAction) -> NodeOutcome {
        let is_new = at != self.resumed;
        let leg = self.mind.state.leg;
        let mut leaf =
            if is_new { Leaf { since: self.now, leg, ..Leaf::default() } } else { self.mind.state };
        let outcome = self.act(action, &mut leaf);
        if outcome == Running {
            (self.mind.leaf, self.mind.state) = (at, leaf);
        } else if !is_new {
            self.resumed = NONE;
            self.may_go_on = true;
        }
        outcome
    }

    fn end_of(&self, at: u16) -> u16 {
        self.nodes[usize::from(at)].end
    }
}
