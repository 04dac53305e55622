//! Compilation and runs of scripts for tests, with a host that notes what a script says.

use crate::{Compiled, Dialect, compile};
use script::call::Call;
use script::instance::{Failure, Instance, Scratch, SliceEnd};
use script::library::{Signature, Work};
use script::{Host, Kind, Library, Outcome};
use std::sync::Arc;

const WORK: Work = Work::Flat(10);

/// Functions of the host.
static FUNCTIONS: &[Signature] = &[
    Signature { name: "llOwnerSay", parameters: &[Kind::Text], result: None, work: WORK },
    Signature { name: "print", parameters: &[Kind::Text], result: None, work: WORK },
    Signature { name: "llSleep", parameters: &[Kind::Float], result: None, work: WORK },
    Signature { name: "llResetScript", parameters: &[], result: None, work: WORK },
    Signature { name: "llKey2Name", parameters: &[Kind::Key], result: Some(Kind::Text), work: WORK },
    Signature {
        name: "llListen",
        parameters: &[Kind::Integer, Kind::Text, Kind::Key, Kind::Text],
        result: Some(Kind::Integer),
        work: WORK,
    },
];

pub(super) const DIALECTS: [Dialect; 2] = [Dialect::Sl, Dialect::Opensim];

/// Words of a script.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Notes {
    pub(super) said: Vec<String>,
}

impl Host for Notes {
    fn call(&mut self, function: u16, call: &mut Call<'_>) -> Outcome {
        match FUNCTIONS[usize::from(function)].name {
            "llOwnerSay" => self.said.push(call.text().as_str().to_owned()),
            "print" => self.said.push(format!("print {}", call.text())),
            "llSleep" => return Outcome::Sleep { result: None, ticks: call.float() as u64 },
            "llResetScript" => return Outcome::Reset,
            "llKey2Name" => return Outcome::value(format!("name of {}", call.key()).as_str()),
            "llListen" => {
                let (channel, name, id, text) = (call.integer(), call.text(), call.key(), call.text());
                self.said.push(format!("{channel} {name} {id} {text}"));
                return Outcome::value(7);
            }
            other => panic!("{other}"),
        }
        Outcome::Done(None)
    }

    fn end_state(&mut self) {
        self.said.push("(state ends)".to_owned());
    }

    fn reset(&mut self) {
        self.said.push("(reset)".to_owned());
    }
}

pub(super) fn library() -> Library {
    Library::new(FUNCTIONS)
}

pub(super) fn compiled(source: &str, dialect: Dialect) -> Compiled {
    compile(source, dialect, &library()).unwrap_or_else(|checked| {
        let faults = checked.faults.iter().map(|found| {
            let at = checked.location(source, found.span);
            format!("{}:{}: {}\n", at.line, at.column, found.fault)
        });
        panic!("{}\n{source}", faults.collect::<String>())
    })
}

/// The faults with which a source is refused.
pub(super) fn refused(source: &str, dialect: Dialect) -> Vec<String> {
    let checked = compile(source, dialect, &library()).expect_err("a fault");
    checked.faults.iter().map(|found| found.fault.to_string()).collect()
}

pub(super) fn instance(source: &str, dialect: Dialect) -> Instance {
    Instance::new(Arc::new(compiled(source, dialect).program), 1 << 20, 1)
}

/// Runs a script, slice by slice, until it has nothing to do. Sleeps take no time.
pub(super) fn run_by(instance: &mut Instance, notes: &mut Notes, fuel: u64) -> Option<Failure> {
    let mut scratch = Scratch::default();
    let mut tick = 0;
    for _ in 0..1_000_000 {
        match instance.run(&mut scratch, notes, tick, fuel).end {
            SliceEnd::Done | SliceEnd::Spent => {}
            SliceEnd::Sleeps(until) => tick = until,
            SliceEnd::Idle => return None,
            SliceEnd::Failed(failure) => return Some(failure),
        }
    }
    panic!("a script without an end")
}

/// The words of a script, and the error with which it stops.
pub(super) fn outcome(source: &str, dialect: Dialect) -> (Vec<String>, Option<Failure>) {
    let mut notes = Notes::default();
    let failure = run_by(&mut instance(source, dialect), &mut notes, 100_000);
    (notes.said, failure)
}

/// The words of a script that ends without an error.
pub(super) fn said(source: &str, dialect: Dialect) -> Vec<String> {
    let (said, failure) = outcome(source, dialect);
    assert_eq!(failure, None, "{source}");
    said
}

/// A script with declarations and a handler.
pub(super) fn handler(declarations: &str, statements: &str) -> String {
    format!("{declarations}\ndefault {{ state_entry() {{ {statements} }} }}")
}

/// The value of an expression behind statements, as a string.
pub(super) fn value(declarations: &str, statements: &str, expression: &str, dialect: Dialect) -> String {
    let statements = format!("{statements} llOwnerSay((string)({expression}));");
    let said = said(&handler(declarations, &statements), dialect);
    let [value] = &said[..] else { panic!("{expression}: {said:?}") };
    value.clone()
}

/// The error of an expression behind statements.
pub(super) fn error(statements: &str, expression: &str, dialect: Dialect) -> String {
    let statements = format!("{statements} llOwnerSay((string)({expression}));");
    let (said, failure) = outcome(&handler("", &statements), dialect);
    assert_eq!(said, [""; 0], "{expression}");
    failure.unwrap_or_else(|| panic!("{expression}: no error")).error.to_string()
}
