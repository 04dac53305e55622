//! Damaged programs of scripts: one that passes the check runs, and is written as it was read. An input is such a program, and also a list of changes
//! to a good one. (With `cfg(fuzzing)` checksums are not compared.)
#![no_main]

#[path = "../script_sample.rs"]
mod script_sample;

use libfuzzer_sys::fuzz_target;
use script::{Instance, Program};
use script_sample::{LIBRARY, MEMORY, PROGRAM, changed, run};
use std::sync::Arc;

fn read(bytes: &[u8]) {
    let Ok(program) = Program::from_bytes(bytes, &LIBRARY) else { return };
    let written = program.to_bytes();
    let again = Program::from_bytes(&written, &LIBRARY).expect("a program that was written just now");
    assert_eq!(again.to_bytes(), written);
    run(Instance::new(Arc::new(program), MEMORY, 1), MEMORY);
}

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    read(&changed(PROGRAM.to_bytes(), bytes));
});
