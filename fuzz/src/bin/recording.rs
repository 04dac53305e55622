//! A damaged recording: what opens can be replayed. (With `cfg(fuzzing)` checksums are not compared.)
#![no_main]

use libfuzzer_sys::fuzz_target;
use recording::{Recording, Replay};
use std::io::Cursor;

/// Steps that are made of each; more of them say no more about the decoder.
const STEPS_MAX: usize = 20;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut recording) = Recording::read(Cursor::new(bytes)) else { return };
    let Ok(mut replay) = Replay::new(&recording) else { return };
    for step in recording.steps().expect("memory is read again").take(STEPS_MAX) {
        replay.step(step.expect("was decoded when it was opened"));
    }
});
