//! The table of scopes is per process, so filling it needs a process of its own.

use std::time::Duration;
use telemetry::recorder::{Recorder, RecorderConfig, Scope};

#[test]
fn a_full_table_of_scopes_is_counted_and_the_rest_goes_on() {
    const PLACES: usize = 512;
    let recorder = Recorder::start(RecorderConfig::default()).unwrap();
    recorder.thread("worker").install();
    for n in 0..PLACES + 3 {
        let name: &'static str = Box::leak(format!("scope-{n}").into_boxed_str());
        let scope: &'static Scope = Box::leak(Box::new(Scope::new(name)));
        drop(scope.enter(n as u64));
        drop(scope.enter(n as u64));
    }
    let capture = recorder.capture(Duration::MAX);
    assert_eq!(capture.scopes.len(), PLACES);
    let slices = &capture.threads[0].slices;
    assert_eq!(slices.len(), 2 * PLACES);
    assert!(
        slices
            .iter()
            .all(|slice| capture.scopes[slice.scope as usize].name == format!("scope-{}", slice.arg))
    );
    let counters = recorder.counters();
    assert_eq!((counters.scopes_refused, counters.events_lost), (3, 6));
}
