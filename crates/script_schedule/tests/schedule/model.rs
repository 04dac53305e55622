//! Scripts that only use fuel and time, with their schedule.

use ids::{AgentId, LocalId, Uuid};
use script_schedule::{
    FuelBudget, Home, InstanceNumber, Next, ScriptFigures, ScriptSchedule, SliceResult, SliceStart,
};
use std::collections::BTreeMap;

/// Work of a script.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A handler without an end.
    Endless,
    /// Events without an end, each of some fuel.
    Busy(u64),
    /// A timer and the fuel of its handler.
    Timer { period: u64, fuel: u64 },
    /// A handler that sleeps after some fuel, again and again.
    Sleeper { ticks: u64, fuel: u64 },
    /// A handler that sends an event to another script.
    Relay { to: u32, fuel: u64 },
}

/// A script.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    kind: Kind,
    /// Tick of the timer or of the end of the sleep.
    due: u64,
    /// Events that wait.
    pub(crate) n_events: u32,
    /// Fuel left of the handler under way.
    left: u64,
    /// Ticks at which handlers began.
    pub(crate) begun: Vec<u64>,
}

/// A world of scripts.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) schedule: ScriptSchedule,
    pub(crate) scripts: BTreeMap<InstanceNumber, Script>,
    pub(crate) budget: FuelBudget,
    /// Slices with their ends.
    pub(crate) turns: Vec<(SliceStart, SliceResult)>,
}

impl Script {
    pub(crate) fn new(kind: Kind, tick: u64) -> Self {
        let due = match kind {
            Kind::Timer { period, .. } => tick + period,
            _ => tick,
        };
        Self { kind, due, n_events: 0, left: 0, begun: Vec::new() }
    }

    /// Runs a slice. Returns its fuel, and the number of handlers that have ended.
    fn run(&mut self, tick: u64, fuel: u64) -> (u64, u32) {
        let of_handler = match self.kind {
            Kind::Endless => u64::MAX,
            Kind::Busy(fuel)
            | Kind::Timer { fuel, .. }
            | Kind::Sleeper { fuel, .. }
            | Kind::Relay { fuel, .. } => fuel,
        };
        if let Kind::Timer { period, .. } = self.kind
            && self.due <= tick
        {
            self.due += ((tick - self.due) / period + 1) * period;
            self.n_events = 1;
        }
        if self.left == 0 {
            match self.kind {
                Kind::Timer { .. } | Kind::Relay { .. } if self.n_events == 0 => return (0, 0),
                Kind::Sleeper { .. } if self.due > tick => return (0, 0),
                Kind::Timer { .. } | Kind::Relay { .. } => self.n_events -= 1,
                _ => {}
            }
            self.left = of_handler;
            self.begun.push(tick);
        }
        let used = self.left.min(fuel);
        if self.kind != Kind::Endless {
            self.left -= used;
        }
        if let Kind::Sleeper { ticks, .. } = self.kind
            && self.left == 0
        {
            self.due = tick + ticks;
        }
        (used, u32::from(self.left == 0))
    }

    /// Its activity after a slice.
    pub(crate) fn next(&self, tick: u64) -> Next {
        match self.kind {
            _ if self.left > 0 => Next::Spent,
            Kind::Endless | Kind::Busy(_) => Next::Ready,
            Kind::Timer { .. } if self.n_events > 0 || self.due <= tick => Next::Ready,
            Kind::Timer { .. } | Kind::Sleeper { .. } => Next::At(self.due),
            Kind::Relay { .. } if self.n_events > 0 => Next::Ready,
            Kind::Relay { .. } => Next::Waits,
        }
    }
}

pub(crate) fn owner(n: u32) -> AgentId {
    AgentId(Uuid::from_u128(u128::from(n)))
}

impl Model {
    pub(crate) fn new(budget: FuelBudget) -> Self {
        let schedule = ScriptSchedule::new(0);
        Self { schedule, scripts: BTreeMap::new(), budget, turns: Vec::new() }
    }

    /// Adds a script to a linkset of its own.
    pub(crate) fn add(&mut self, of: u32, tick: u64, kind: Kind) -> InstanceNumber {
        let script = Script::new(kind, tick);
        let home = Home { linkset: LocalId(self.scripts.len() as u32), order: 0, owner: owner(of) };
        let number = self.schedule.add(home, script.next(tick)).expect("a number");
        self.scripts.insert(number, script);
        number
    }

    /// An event for a script, from a command.
    pub(crate) fn send(&mut self, to: InstanceNumber) {
        if let Some(script) = self.scripts.get_mut(&to) {
            script.n_events += 1;
            self.schedule.wake(to);
        }
    }

    /// Runs a tick that has begun.
    pub(crate) fn run(&mut self) -> ScriptFigures {
        let Self { schedule, scripts, budget, turns } = self;
        turns.clear();
        schedule.run(*budget, |schedule, turn| {
            let script = scripts.get_mut(&turn.instance).expect("a script");
            let (fuel, n_events) = script.run(turn.tick, turn.fuel);
            if let Kind::Relay { to, .. } = script.kind
                && n_events > 0
                && let Some(target) = scripts.get_mut(&InstanceNumber(to))
            {
                target.n_events += 1;
                schedule.wake(InstanceNumber(to));
            }
            let slice = SliceResult { fuel, n_events, next: scripts[&turn.instance].next(turn.tick) };
            turns.push((turn, slice));
            slice
        })
    }

    /// Runs a tick without commands.
    pub(crate) fn tick(&mut self, tick: u64) -> ScriptFigures {
        self.schedule.begin_tick(tick);
        self.run()
    }

    /// Fuel of the last tick's slices that a condition holds for.
    pub(crate) fn fuel_of(&self, is_counted: impl Fn(&SliceStart) -> bool) -> u64 {
        self.turns.iter().filter(|(turn, _)| is_counted(turn)).map(|(_, slice)| slice.fuel).sum()
    }
}
