//! Cost of instructions.
//!
//! `cargo bench -p script` runs loops of a million rounds; `cargo test` runs the same with a few, so that it keeps working. The weights of
//! instructions are nanoseconds of the calibration machine: `ns/fuel` shows how far they are off here. Nothing is asserted.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and prints"
)]

use script::builder::{Code, Register};
use script::call::Call;
use script::instance::{Scratch, SliceEnd};
use script::instruction::Op;
use script::{
    Dialect, EventKind, Host, Instance, Kind, Library, Outcome, Program, ProgramBuilder, Value, Vector,
};
use std::sync::Arc;
use std::time::Instant;

struct Nothing;

impl Host for Nothing {
    fn call(&mut self, _: u16, _: &mut Call<'_>) -> Outcome {
        Outcome::Done(None)
    }

    fn end_state(&mut self) {}

    fn reset(&mut self) {}
}

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let n = if full { 1_000_000 } else { 100 };
    println!("{:<24} {:>10} {:>10} {:>10}", "loop of", "ns/round", "ns/instr.", "ns/fuel");
    measure("integer arithmetic", n, |code, counter| {
        let (a, b) = (code.register(Kind::Integer), code.register(Kind::Integer));
        code.op(Op::AddInteger, [a, a, counter]);
        code.op(Op::MultiplyInteger, [b, a, counter]);
        code.op(Op::XorInteger, [a, a, b]);
        code.op(Op::LessInteger, [b, a, counter]);
        4
    });
    measure("float arithmetic", n, |code, counter| {
        let (a, b) = (code.register(Kind::Float), code.register(Kind::Float));
        code.op(Op::IntegerToFloat, [a, counter]);
        code.op(Op::AddFloat, [b, b, a]);
        code.op(Op::MultiplyFloat, [b, b, b]);
        code.op(Op::RoundFloat, [b, a]);
        4
    });
    measure("vector arithmetic", n, |code, _| {
        let (a, b) = (code.register(Kind::Vector), code.register(Kind::Vector));
        code.load(a, Vector::new(1.0, 2.0, 3.0).into());
        code.op(Op::AddVector, [b, b, a]);
        code.op(Op::CrossVector, [b, b, a]);
        3
    });
    measure("list append", n, |code, counter| {
        let list = code.register(Kind::List);
        // 1,000 elements, then a new list.
        let (mask, rest) = (code.register(Kind::Integer), code.register(Kind::Integer));
        code.load(mask, 1_023.into());
        code.op(Op::AndInteger, [rest, counter, mask]);
        let keep = code.label();
        code.jump_if(rest, keep);
        code.op(Op::ClearReference, [list]);
        code.bind(keep);
        code.op(Op::PushInteger, [list, counter]);
        4
    });
    measure("string append", n / 10, |code, counter| {
        let (text, part) = (code.register(Kind::Text), code.register(Kind::Text));
        let (mask, rest) = (code.register(Kind::Integer), code.register(Kind::Integer));
        code.load(mask, 63.into());
        code.op(Op::AndInteger, [rest, counter, mask]);
        let keep = code.label();
        code.jump_if(rest, keep);
        code.op(Op::ClearReference, [text]);
        code.bind(keep);
        code.load(part, "x".into());
        code.op(Op::ConcatText, [text, text, part]);
        5
    });
    measure("integer as string", n / 10, |code, counter| {
        let text = code.register(Kind::Text);
        code.op(Op::IntegerToText, [text, counter]);
        1
    });
    measure("library: llFloor", n, |code, counter| {
        let row = code.row(&[Kind::Float]);
        let to = code.register(Kind::Integer);
        code.op(Op::IntegerToFloat, [row[0], counter]);
        code.call_library("llFloor", &row, Some(to));
        2
    });
    measure_calls(n);
    measure_events(n / 10);
}

/// Runs a loop. `body` returns the number of instructions in it.
fn measure(name: &str, n: i32, body: impl FnOnce(&mut Code<'_>, Register) -> u32) {
    let mut program = ProgramBuilder::new([0; 32], Dialect::Sl);
    let state = program.state("default");
    let handler = program.handler(state, EventKind::STATE_ENTRY);
    let mut code = program.code(handler);
    let n_body = looped(&mut code, n, body);
    code.finish();
    run(name, n, n_body + 2, program.finish(&Library::new(&[])).expect("a program that fits"));
}

fn looped(code: &mut Code<'_>, n: i32, body: impl FnOnce(&mut Code<'_>, Register) -> u32) -> u32 {
    let counter = code.register(Kind::Integer);
    code.load(counter, n.into());
    let again = code.label();
    code.bind(again);
    let n_body = body(code, counter);
    code.add_small(counter, counter, -1);
    code.jump_if(counter, again);
    code.op(Op::Return, []);
    n_body
}

fn measure_calls(n: i32) {
    let mut program = ProgramBuilder::new([0; 32], Dialect::Sl);
    let function = program.function("f", &[Kind::Integer, Kind::Text], Some(Kind::Integer));
    let mut code = program.code(function);
    let parameter = code.parameters()[0];
    code.op(Op::ReturnValue, [parameter]);
    code.finish();
    let state = program.state("default");
    let handler = program.handler(state, EventKind::STATE_ENTRY);
    let mut code = program.code(handler);
    let n_body = looped(&mut code, n, |code, counter| {
        let row = code.row(&[Kind::Integer, Kind::Text]);
        let to = code.register(Kind::Integer);
        code.copy(row[0], counter);
        code.load(row[1], "text".into());
        code.call(function, &row, Some(to));
        4
    });
    code.finish();
    run("call", n, n_body + 2, program.finish(&Library::new(&[])).expect("a program that fits"));
}

/// Of several runs the fastest one counts: others of the machine have disturbed the rest.
const N_RUNS: usize = 7;

fn run(name: &str, n: i32, n_instructions: u32, program: Program) {
    let program = Arc::new(program);
    let runs = (0..N_RUNS).map(|_| run_once(name, &program));
    let (ns, fuel) = runs.min_by(|left, right| left.0.total_cmp(&right.0)).expect("several runs");
    let rounds = f64::from(n);
    println!(
        "{name:<24} {:>10.1} {:>10.2} {:>10.2}",
        ns / rounds,
        ns / rounds / f64::from(n_instructions),
        ns / fuel
    );
}

/// Nanoseconds and fuel.
fn run_once(name: &str, program: &Arc<Program>) -> (f64, f64) {
    let mut script = Instance::new(Arc::clone(program), 64 << 10, 1);
    let mut scratch = Scratch::default();
    let mut fuel = 0;
    let began = Instant::now();
    loop {
        let slice = script.run(&mut scratch, &mut Nothing, 0, 100_000);
        fuel += slice.fuel;
        match slice.end {
            SliceEnd::Spent => {}
            SliceEnd::Done => return (began.elapsed().as_nanos() as f64, fuel as f64),
            end => panic!("{name}: {end:?}"),
        }
    }
}

/// Timer events that count, and states as bytes.
fn measure_events(n: i32) {
    let mut program = ProgramBuilder::new([0; 32], Dialect::Sl);
    let count = program.global(0.into());
    let text = program.global("text".into());
    let state = program.state("default");
    let handler = program.handler(state, EventKind::TIMER);
    let mut code = program.code(handler);
    let (integer, string) = (code.register(Kind::Integer), code.register(Kind::Text));
    code.get(integer, count);
    code.add_small(integer, integer, 1);
    code.set(count, integer);
    code.op(Op::IntegerToText, [string, integer]);
    code.put(text, string);
    code.op(Op::Return, []);
    code.finish();
    let program = Arc::new(program.finish(&Library::new(&[])).expect("a program that fits"));
    let mut script = Instance::new(Arc::clone(&program), 64 << 10, 1);
    let mut scratch = Scratch::default();
    let began = Instant::now();
    for tick in 0..n as u64 {
        script.push(script::Event::new(EventKind::TIMER, Vec::<Value>::new()));
        script.run(&mut scratch, &mut Nothing, tick, 100_000);
    }
    println!("{:<24} {:>10.1}", "event", began.elapsed().as_nanos() as f64 / f64::from(n));
    let began = Instant::now();
    let n_bytes: usize = (0..n).map(|_| script.to_bytes().len()).sum();
    println!(
        "{:<24} {:>10.1}   {} bytes",
        "state as bytes",
        began.elapsed().as_nanos() as f64 / f64::from(n),
        n_bytes / n.max(1) as usize
    );
    let bytes = script.to_bytes();
    let began = Instant::now();
    for _ in 0..n {
        Instance::from_bytes(&bytes, Arc::clone(&program)).expect("a state that fits");
    }
    println!("{:<24} {:>10.1}", "state from bytes", began.elapsed().as_nanos() as f64 / f64::from(n));
    println!("bytes of an instance: {}", size_of::<Instance>());
}
