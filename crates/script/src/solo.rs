//! A script without a world: functions of values, and what it says as text. For tests, and for scripts that are tried out.
//!
//! Time is virtual: a sleep takes none. All other functions of a world answer that they are unavailable.

use crate::call::Call;
use crate::host::{Host, Outcome};
use crate::instance::{Failure, Instance, Scratch, SliceEnd};
use crate::library::Library;
use crate::program::Program;
use crate::table::Function;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Ticks of a second.
pub const TICKS_PER_S: u64 = 20;

/// Bytes of all lines that a script may say. Further lines are counted.
pub const LINES_MAX: usize = 1 << 20;

/// Bytes of a line beside its text.
const LINE_BYTES: usize = 32;

/// Fuel of a slice.
const SLICE_FUEL: u64 = 100_000;

/// The functions of the host, by number.
const FUNCTIONS: [&str; 4] = ["print", "llOwnerSay", "llSleep", "llResetScript"];

/// The host of a script without a world.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Solo {
    /// The lines that the script has said and printed.
    pub lines: Vec<String>,
    /// Lines beyond [`LINES_MAX`].
    pub n_more: usize,
    /// Functions without a world that it has called.
    pub refused: BTreeSet<&'static str>,
    /// The script's time, in ticks.
    pub tick: u64,
    n_bytes: usize,
}

/// End of a script without a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoloEnd {
    /// It waits for events.
    Rest,
    /// It has stopped.
    Failed(Failure),
    /// It has used its fuel.
    Spent,
}

impl Solo {
    /// The library for programs that run here.
    #[must_use]
    pub fn library() -> Library {
        Library::whole(&FUNCTIONS)
    }

    /// Runs a script from its beginning until it rests, stops, or has used its fuel. `memory` is the limit of its logical memory.
    #[must_use]
    pub fn run(program: Arc<Program>, memory: usize, seed: u64, fuel: u64) -> (Self, SoloEnd) {
        let mut solo = Self::default();
        let end = solo.proceed(&mut Instance::new(program, memory, seed), fuel);
        (solo, end)
    }

    /// Runs an instance on.
    pub fn proceed(&mut self, instance: &mut Instance, fuel: u64) -> SoloEnd {
        let mut scratch = Scratch::default();
        let mut left = fuel;
        while left > 0 {
            let tick = self.tick;
            let slice = instance.run(&mut scratch, self, tick, left.min(SLICE_FUEL));
            // A slice without fuel, such as a sleep, comes to an end, too.
            left = left.saturating_sub(slice.fuel.max(1));
            match slice.end {
                SliceEnd::Done | SliceEnd::Spent => {}
                SliceEnd::Sleeps(until) => self.tick = until,
                SliceEnd::Idle => return SoloEnd::Rest,
                SliceEnd::Failed(failure) => return SoloEnd::Failed(failure),
            }
        }
        SoloEnd::Spent
    }

    fn say(&mut self, line: &str) {
        self.n_bytes = self.n_bytes.saturating_add(line.len() + LINE_BYTES);
        if self.n_bytes > LINES_MAX {
            self.n_more += 1;
        } else {
            self.lines.push(line.to_owned());
        }
    }
}

impl Host for Solo {
    fn call(&mut self, function: u16, call: &mut Call<'_>) -> Outcome {
        match function {
            0 | 1 => self.say(call.text().as_str()),
            2 => {
                let ticks = (call.float() * TICKS_PER_S as f64).ceil() as u64;
                return Outcome::Sleep { result: None, ticks };
            }
            _ => return Outcome::Reset,
        }
        Outcome::Done(None)
    }

    fn refuse(&mut self, function: &'static Function, _call: &mut Call<'_>) -> Outcome {
        self.refused.insert(function.name());
        Outcome::Done(function.answer.clone())
    }

    /// There is nothing that could be harmed.
    fn allows(&self, _function: &'static Function) -> bool {
        true
    }

    fn end_state(&mut self) {}

    fn reset(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{Code, ProgramBuilder};
    use crate::dialect::Dialect;
    use crate::event::EventKind;
    use crate::instruction::Op;
    use crate::kind::Kind;

    fn entry(code: impl FnOnce(&mut Code<'_>)) -> Arc<Program> {
        let mut program = ProgramBuilder::new([7; 32], Dialect::OpenSim);
        let state = program.state("default");
        let handler = program.handler(state, EventKind::STATE_ENTRY);
        let mut entry = program.code(handler);
        code(&mut entry);
        entry.op(Op::Return, []);
        entry.finish();
        Arc::new(program.finish(&Solo::library()).expect("a program that fits"))
    }

    fn say(code: &mut Code<'_>, function: &str, text: &str) {
        let row = code.row(&[Kind::Text]);
        code.load(row[0], text.into());
        code.call_library(function, &row, None);
        code.release_row(&row);
    }

    #[test]
    fn words_are_collected_and_sleeps_take_virtual_time() {
        let program = entry(|code| {
            say(code, "llOwnerSay", "one");
            let row = code.row(&[Kind::Float]);
            code.load(row[0], 2.5.into());
            code.call_library("llSleep", &row, None);
            say(code, "print", "two");
        });
        let (solo, end) = Solo::run(program, 64 << 10, 1, 1_000_000);
        assert_eq!(end, SoloEnd::Rest);
        assert_eq!(
            (&solo.lines[..], solo.tick, solo.n_more),
            (&["one".to_owned(), "two".to_owned()][..], 50, 0)
        );
        assert!(solo.refused.is_empty());
    }

    #[test]
    fn functions_of_worlds_are_unavailable_and_named() {
        let program = entry(|code| {
            let owner = code.register(Kind::Key);
            code.call_library("llGetOwner", &[], Some(owner));
            let row = code.row(&[Kind::Text]);
            code.op(Op::KeyToText, [row[0], owner]);
            code.call_library("llOwnerSay", &row, None);
        });
        let (solo, end) = Solo::run(program, 64 << 10, 1, 1_000_000);
        assert_eq!(
            (end, &solo.lines[..]),
            (SoloEnd::Rest, &["00000000-0000-0000-0000-000000000000".to_owned()][..])
        );
        assert_eq!(solo.refused.into_iter().collect::<Vec<_>>(), ["llGetOwner"]);
    }

    #[test]
    fn endless_scripts_use_up_their_fuel_and_say_no_more_than_fits() {
        let program = entry(|code| {
            say(code, "print", &"x".repeat(1_000));
            code.call_library("llResetScript", &[], None);
        });
        let (solo, end) = Solo::run(program, 64 << 10, 1, 10_000_000);
        assert_eq!(end, SoloEnd::Spent);
        assert_eq!(solo.lines.len(), LINES_MAX / (1_000 + LINE_BYTES));
        assert!(solo.n_more > 0);
    }
}
