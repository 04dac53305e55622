//! A script for the targets of programs and states, and the host that it calls.

use script::builder::ProgramBuilder;
use script::call::Call;
use script::heap::{FOOTPRINT_BASE, FOOTPRINT_FACTOR};
use script::instance::Scratch;
use script::instruction::Op;
use script::library::{Signature, Work};
use script::{Dialect, Event, EventKind, Host, Instance, Kind, Library, Outcome, Program, Value, Vector};
use std::sync::{Arc, LazyLock};

/// Logical memory of the script.
pub const MEMORY: usize = 64 << 10;

/// Physical memory that does not grow with the script: spare cells and frames, and the box of an interrupted handler.
const SPARE_BYTES: usize = 1_024;

const WORK: Work = Work::Flat(10);

static FUNCTIONS: &[Signature] = &[
    Signature { name: "llOwnerSay", parameters: &[Kind::Text], result: None, work: WORK },
    Signature { name: "llSleep", parameters: &[Kind::Float], result: None, work: WORK },
    Signature { name: "llResetScript", parameters: &[], result: None, work: WORK },
    Signature { name: "llGetWord", parameters: &[Kind::Integer], result: Some(Kind::Text), work: WORK },
];

pub static LIBRARY: LazyLock<Library> = LazyLock::new(|| Library::new(FUNCTIONS));

pub static PROGRAM: LazyLock<Arc<Program>> = LazyLock::new(|| Arc::new(program()));

/// A world without effects.
pub struct World;

impl Host for World {
    fn call(&mut self, function: u16, call: &mut Call<'_>) -> Outcome {
        match FUNCTIONS[usize::from(function)].name {
            "llOwnerSay" => Outcome::Done(None),
            "llSleep" => Outcome::Sleep { result: None, ticks: call.float() as u64 },
            "llResetScript" => Outcome::Reset,
            _ => Outcome::value("word"),
        }
    }

    fn end_state(&mut self) {}

    fn reset(&mut self) {}
}

/// Two states whose handlers count in a global list, print it in a function that calls itself, and sleep.
fn program() -> Program {
    let mut program = ProgramBuilder::new([0; 32], Dialect::Sl);
    let count = program.global(0.into());
    let list = program.global(Value::zero(Kind::List));
    let name = program.global("name".into());
    let place = program.global(Vector::ZERO.into());
    let join = program.function("join", &[Kind::List, Kind::Integer], Some(Kind::Text));
    let mut code = program.code(join);
    let parameters = code.parameters();
    let (all, depth) = (parameters[0], parameters[1]);
    let (text, end) = (code.register(Kind::Text), code.label());
    let row = code.row(&[Kind::List, Kind::Integer]);
    code.op(Op::ListToText, [text, all]);
    code.jump_if_not(depth, end);
    code.op(Op::CopyReference, [row[0], all]);
    code.op(Op::PushInteger, [row[0], depth]);
    code.add_small(row[1], depth, -1);
    code.call(join, &row, Some(text));
    code.bind(end);
    code.op(Op::ReturnValue, [text]);
    code.finish();
    let states = ["default", "other"].map(|name| program.state(name));
    let link_message = EventKind::named("link_message").expect("an event");
    for n in 0..states.len() {
        for event in [EventKind::STATE_ENTRY, EventKind::STATE_EXIT, EventKind::TIMER, link_message] {
            let handler = program.handler(states[n], event);
            let mut code = program.code(handler);
            let (all, number) = (code.register(Kind::List), code.register(Kind::Integer));
            code.get(number, count);
            code.add_small(number, number, 1);
            code.set(count, number);
            code.take(all, list);
            code.op(Op::PushInteger, [all, number]);
            let vector = code.register(Kind::Vector);
            code.get(vector, place);
            code.op(Op::PushVector, [all, vector]);
            code.put(list, all);
            let row = code.row(&[Kind::List, Kind::Integer]);
            code.get(row[0], list);
            code.load(row[1], 5.into());
            let text = code.row(&[Kind::Text]);
            code.call(join, &row, Some(text[0]));
            code.set(name, text[0]);
            code.call_library("llOwnerSay", &text, None);
            let ticks = code.row(&[Kind::Float]);
            code.load(ticks[0], 2.0.into());
            code.call_library("llSleep", &ticks, None);
            if event == EventKind::TIMER {
                code.change_state(states[1 - n]);
            }
            code.op(Op::Return, []);
            code.finish();
        }
    }
    program.finish(&LIBRARY).expect("a program that fits")
}

/// One event of each kind.
pub fn events() -> impl Iterator<Item = Event> {
    EventKind::all().map(|kind| {
        let arguments = kind.parameters().iter().map(|&kind| Value::zero(kind)).collect();
        Event::new(kind, arguments)
    })
}

/// Runs a script for a while: its memory is bounded, and its bytes are those of the same script.
pub fn run(mut script: Instance, memory_max: usize) {
    let mut scratch = Scratch::default();
    for tick in 0..40 {
        script.run(&mut scratch, &mut World, tick, 1_000);
        if tick % 8 == 0 {
            for event in events() {
                script.push(event);
            }
        }
        assert!(script.memory_used() <= memory_max);
        assert!(script.footprint() <= FOOTPRINT_BASE + FOOTPRINT_FACTOR * memory_max + SPARE_BYTES);
    }
    let bytes = script.to_bytes();
    let back = Instance::from_bytes(&bytes, Arc::clone(script.program()));
    assert_eq!(back.expect("a state that was written just now").to_bytes(), bytes);
}

/// Bytes with changes of three bytes each: place and value.
pub fn changed(mut bytes: Vec<u8>, changes: &[u8]) -> Vec<u8> {
    for change in changes.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % bytes.len();
        bytes[at] = change[2];
    }
    bytes
}
