//! Damaged states of scripts: one that is restored runs. An input is such a state, and also a number of slices, behind which a good state is taken, with a
//! list of changes to it. (With `cfg(fuzzing)` checksums are not compared.)
#![no_main]

#[path = "../script_sample.rs"]
mod script_sample;

use libfuzzer_sys::fuzz_target;
use script::Instance;
use script::instance::{MEMORY_MAX, Scratch};
use script::state::program_hash;
use script_sample::{MEMORY, PROGRAM, World, changed, events, run};
use std::sync::Arc;

/// Fuel of a slice: handlers are interrupted in all of their parts.
const FUEL: u64 = 50;

fn restore(bytes: &[u8]) {
    let _ = program_hash(bytes);
    if let Ok(script) = Instance::from_bytes(bytes, Arc::clone(&*PROGRAM)) {
        run(script, MEMORY_MAX);
    }
}

fuzz_target!(|bytes: &[u8]| {
    restore(bytes);
    let Some((&n_slices, changes)) = bytes.split_first() else { return };
    let mut script = Instance::new(Arc::clone(&*PROGRAM), MEMORY, 1);
    events().for_each(|event| {
        script.push(event);
    });
    for tick in 0..u64::from(n_slices) {
        script.run(&mut Scratch::default(), &mut World, tick, FUEL);
    }
    restore(&changed(script.to_bytes(), changes));
});
