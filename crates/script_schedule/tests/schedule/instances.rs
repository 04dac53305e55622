//! Scripts of the machine.

use crate::model::owner;
use ids::LocalId;
use script::call::Call;
use script::instance::{Scratch, SliceEnd};
use script::instruction::Op;
use script::library::{Signature, Work};
use script::{Dialect, EventKind, Host, Instance, Kind, Library, Outcome, Program, ProgramBuilder};
use script_schedule::{FuelBudget, Home, InstanceNumber, Next, ScriptFigures, ScriptSchedule, SliceResult};
use std::sync::Arc;

const WORK: Work = Work::Flat(10);

static FUNCTIONS: &[Signature] = &[
    Signature { name: "llOwnerSay", parameters: &[], result: None, work: WORK },
    Signature { name: "llSetTimerEvent", parameters: &[Kind::Float], result: None, work: WORK },
    Signature { name: "llSleep", parameters: &[Kind::Float], result: None, work: WORK },
];

/// Notes the ticks at which scripts speak. Times are in ticks.
#[derive(Default)]
struct Notes {
    number: u32,
    tick: u64,
    said: Vec<(u32, u64)>,
}

impl Host for Notes {
    fn call(&mut self, function: u16, call: &mut Call<'_>) -> Outcome {
        match FUNCTIONS[usize::from(function)].name {
            "llSetTimerEvent" => {
                let period = call.float() as u64;
                call.clock().set_timer(period, self.tick);
                Outcome::Done(None)
            }
            "llSleep" => Outcome::Sleep { result: None, ticks: call.float() as u64 },
            _ => {
                self.said.push((self.number, self.tick));
                Outcome::Done(None)
            }
        }
    }

    fn end_state(&mut self) {}

    fn reset(&mut self) {}
}

/// Speaks at a timer of 5 ticks.
fn timer() -> Program {
    let mut program = ProgramBuilder::new([1; 32], Dialect::Sl);
    let state = program.state("default");
    let handler = program.handler(state, EventKind::STATE_ENTRY);
    let mut code = program.code(handler);
    let row = code.row(&[Kind::Float]);
    code.load(row[0], 5.0.into());
    code.call_library("llSetTimerEvent", &row, None);
    code.op(Op::Return, []);
    code.finish();
    let handler = program.handler(state, EventKind::TIMER);
    let mut code = program.code(handler);
    code.call_library("llOwnerSay", &[], None);
    code.op(Op::Return, []);
    code.finish();
    program.finish(&Library::new(FUNCTIONS)).expect("a program that fits")
}

/// Speaks and sleeps for 7 ticks, again and again, in one handler.
fn sleeper() -> Program {
    looped(|code| {
        code.call_library("llOwnerSay", &[], None);
        let row = code.row(&[Kind::Float]);
        code.load(row[0], 7.0.into());
        code.call_library("llSleep", &row, None);
    })
}

/// Counts without an end.
fn endless() -> Program {
    looped(|code| {
        let counter = code.register(Kind::Integer);
        code.add_small(counter, counter, 1);
    })
}

fn looped(body: impl FnOnce(&mut script::builder::Code<'_>)) -> Program {
    let mut program = ProgramBuilder::new([2; 32], Dialect::Sl);
    let state = program.state("default");
    let handler = program.handler(state, EventKind::STATE_ENTRY);
    let mut code = program.code(handler);
    let again = code.label();
    code.bind(again);
    body(&mut code);
    code.jump(again);
    code.finish();
    program.finish(&Library::new(FUNCTIONS)).expect("a program that fits")
}

struct World {
    schedule: ScriptSchedule,
    instances: Vec<Instance>,
    notes: Notes,
    scratch: Scratch,
}

impl World {
    fn new(programs: impl IntoIterator<Item = Program>) -> Self {
        let mut schedule = ScriptSchedule::new(0);
        let mut instances = Vec::new();
        for (n, program) in (0..).zip(programs) {
            let home = Home { linkset: LocalId(n), order: 0, owner: owner(n) };
            schedule.add(home, Next::Ready).expect("a number");
            instances.push(Instance::new(Arc::new(program), 64 << 10, u64::from(n)));
        }
        Self { schedule, instances, notes: Notes::default(), scratch: Scratch::default() }
    }

    /// Steps from tick to tick with work. Returns their number, and the figures of all.
    fn run_to(&mut self, last: u64) -> (u64, ScriptFigures) {
        let Self { schedule, instances, notes, scratch } = self;
        let budget = FuelBudget { fuel_per_tick: 200_000, slice_fuel: 20_000 };
        let (mut n_steps, mut sum) = (0, ScriptFigures::default());
        while let Some(tick) = schedule.quiet_until().filter(|&tick| tick <= last) {
            schedule.begin_tick(tick);
            sum += schedule.run(budget, |_, turn| {
                let InstanceNumber(number) = turn.instance;
                let instance = &mut instances[number as usize];
                (notes.number, notes.tick) = (number, turn.tick);
                let slice = instance.run(scratch, notes, turn.tick, turn.fuel);
                let next = match slice.end {
                    SliceEnd::Failed(_) => Next::Stopped,
                    SliceEnd::Spent => Next::Spent,
                    _ if instance.is_ready(turn.tick) => Next::Ready,
                    _ => instance.next_due().map_or(Next::Waits, Next::At),
                };
                let n_events = u32::from(slice.end == SliceEnd::Done);
                SliceResult { fuel: slice.fuel, n_events, next }
            });
            n_steps += 1;
        }
        (n_steps, sum)
    }

    fn said_by(&self, number: u32) -> Vec<u64> {
        self.notes.said.iter().filter(|(by, _)| *by == number).map(|(_, tick)| *tick).collect()
    }
}

#[test]
fn timers_and_sleeps_of_the_machine_are_exact_beside_endless_scripts() {
    let mut world = World::new([timer(), sleeper(), endless(), endless()]);
    let (n_steps, sum) = world.run_to(200);
    assert_eq!(world.said_by(0), (6..=200).step_by(5).collect::<Vec<u64>>());
    assert_eq!(world.said_by(1), (1..=200).step_by(7).collect::<Vec<u64>>());
    assert_eq!((n_steps, sum.n_late), (200, 0));
    assert!((199 * 200_000..201 * 200_000).contains(&sum.fuel), "{}", sum.fuel);
    let top = world.schedule.top_scripts(2);
    let numbers: Vec<u32> = top.iter().map(|(number, _)| number.0).collect();
    assert!(numbers == [2, 3] || numbers == [3, 2], "{top:?}");
}

#[test]
fn a_world_of_waiting_scripts_is_stepped_when_one_is_due() {
    let mut world = World::new([timer(), sleeper()]);
    let (n_steps, sum) = world.run_to(200);
    let ticks = (1..=200).filter(|tick| (tick - 1) % 5 == 0 || (tick - 1) % 7 == 0).count();
    assert_eq!(n_steps, ticks as u64);
    assert_eq!((world.said_by(0).len(), world.said_by(1).len()), (39, 29));
    // Of the handlers only those of the first script have ended.
    assert_eq!(sum.n_events, 40);
}
