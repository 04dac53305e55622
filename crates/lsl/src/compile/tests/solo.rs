//! Sources that run without a world: functions of values, and words.

use crate::{Dialect, compile};
use script::library::Library;
use script::solo::{Solo, SoloEnd};
use std::sync::{Arc, LazyLock};

static LIBRARY: LazyLock<Library> = LazyLock::new(Solo::library);

const MEMORY: usize = 64 << 10;
const FUEL: u64 = 100_000_000;

/// The words of a script that comes to rest, and that calls no function of a world.
pub(super) fn lines(source: &str, dialect: Dialect) -> Vec<String> {
    let compiled = compile(source, dialect, &LIBRARY);
    let compiled = compiled.unwrap_or_else(|checked| panic!("{:?}\n{source}", checked.faults));
    let (solo, end) = Solo::run(Arc::new(compiled.program), MEMORY, 1, FUEL);
    assert_eq!(end, SoloEnd::Rest, "{source}");
    assert!(solo.refused.is_empty(), "{source}: {:?}", solo.refused);
    solo.lines
}

/// The value of an expression, as a string.
pub(super) fn value(expression: &str, dialect: Dialect) -> String {
    let source = format!("default {{ state_entry() {{ llOwnerSay((string)({expression})); }} }}");
    let mut lines = lines(&source, dialect);
    assert_eq!(lines.len(), 1, "{expression}");
    lines.remove(0)
}
