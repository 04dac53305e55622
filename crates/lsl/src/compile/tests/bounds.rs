//! Depth, size and slices.

use super::run::{DIALECTS, Notes, compiled, handler, instance, library, refused, run_by, value};
use crate::Dialect::{self, Sl};
use crate::{SOURCE_MAX, Severity, compile};
use script::instance::{Instance, Scratch, SliceEnd};
use std::fmt::Write as _;
use std::sync::Arc;
use std::thread;

/// Compiles a source with little stack: the first error, if it is refused.
fn with_little_stack(source: String) -> Option<String> {
    let small = thread::Builder::new().stack_size(256 << 10);
    let compile = move || {
        let checked = compile(&source, Sl, &library()).err()?;
        let mut errors = checked.faults.iter().filter(|found| found.fault.severity() == Severity::Error);
        errors.next().map(|found| found.fault.to_string())
    };
    small.spawn(compile).expect("a thread").join().expect("no overflow")
}

#[test]
fn depth_takes_no_stack() {
    const HALF: usize = SOURCE_MAX / 2 - 1_000;
    let nested = |open: &str, inner: &str, close: &str, n: usize| {
        handler(
            "integer i; list l; integer f(integer n) { return n; }",
            &format!("i = {}{inner}{};", open.repeat(n), close.repeat(n)),
        )
    };
    let statements = |open: &str, inner: &str, close: &str, n: usize| {
        handler("integer i;", &format!("{}{inner}{}", open.repeat(n), close.repeat(n)))
    };
    for source in [
        nested("(", "i", ")", HALF),
        nested("~", "i", "", HALF),
        nested("-(", "i", ")", HALF / 2),
        nested("i + (", "i", ")", HALF / 4),
        nested("i = ", "i", "", HALF / 4),
        nested("", "i", " + i", HALF / 4),
        nested("", "f(i)", " + f(i)", 20_000),
        nested("f(", "i", ")", 20_000),
        nested("(l != [", "i", "])", 20_000),
        nested("(integer)((string)(", "i", "))", HALF / 20),
        statements("{", "i = 1;", "}", HALF),
        statements("if (i) ", "i = 1;", "", HALF / 8),
        statements("if (i) i = 1; else ", "i = 2;", "", HALF / 10),
        statements("while (i) ", "i = 1;", "", HALF / 8),
        statements("do ", "i = 1;", " while (i);", HALF / 12),
        statements("for (;i;) ", "i = 1;", "", HALF / 8),
    ] {
        let start: String = source.chars().skip(60).take(60).collect();
        assert_eq!(with_little_stack(source), None, "{start}");
    }
}

#[test]
fn values_at_depth_are_those_without() {
    for dialect in DIALECTS {
        let expression = format!("{}i{}", "1 - 2 * (".repeat(500), ")".repeat(500));
        let expected = (0..500).fold(3_i32, |value, _| 1_i32.wrapping_sub(value.wrapping_mul(2)));
        assert_eq!(value("", "integer i = 3;", &expression, dialect), expected.to_string());
    }
}

#[test]
fn programs_beyond_the_limits_are_refused_by_name() {
    let variables = (0..22_000).fold(String::new(), |mut all, n| {
        let _ = write!(all, "vector v{n};");
        all
    });
    let too_many = |part: &str, why: &str| format!("the program is too large: `{part}`: {why}");
    let faults = refused(&handler("", &variables), Sl);
    assert!(faults.contains(&too_many("default.state_entry", "too many cells")), "{:?}", faults.last());
    let faults = refused(&handler(&variables, ""), Sl);
    assert!(faults.contains(&too_many("globals", "too many cells")), "{:?}", faults.last());
    let states = (0..66_000).fold(String::new(), |mut all, n| {
        let _ = write!(all, "f{n}(){{}}");
        all
    });
    let faults = refused(&handler(&states, ""), Sl);
    assert!(faults.contains(&too_many("functions", "too many of them")), "{:?}", faults.last());
    let parameters: Vec<String> = (0..22_000).map(|n| format!("vector v{n}")).collect();
    let faults = refused(&handler(&format!("f({}) {{ }}", parameters.join(", ")), ""), Sl);
    assert!(faults.contains(&too_many("parameters", "too many of them")), "{:?}", faults.last());
}

const BUSY: &str = "list log; string text; integer total;
    integer square(integer n) { integer i; integer sum; for (i = 0; i < n; ++i) sum += n; return sum; }
    list numbers(integer n) { list all; while (n) all += n--; return all; }
    float mean(list l) { float sum; integer i = llGetListLength(l); while (i--) sum += llList2Float(l, i); return sum / (l != []); }
    default {
        state_entry() {
            vector v = <1, 2, 3>;
            total = square(3) + square(4) * square(total = square(2)) - (total += square(1));
            v = <square(2), square(3), mean(numbers(9))> * (1.0 + square(2));
            text = (string)square(5) + \"-\" + (string)mean(numbers(4)) + text;
            log = numbers(3) + [square(2), llToUpper(text + \"x\"), v] + log;
            llSleep(square(2));
            @again;
            log = llListReplaceList(log, [square(total)], 0, 0) + square(6);
            if (llGetListLength(log) < 12) jump again;
            llOwnerSay((string)log + text + (string)total);
            state other;
        }
    }
    state other { state_entry() { llOwnerSay(llDumpList2String(llListSort(log, 1, TRUE), \",\")); } }";

/// A script that is interrupted as often as possible, and becomes bytes each time, says the same as one that is not interrupted.
#[test]
fn interrupted_scripts_continue_in_the_middle_of_an_expression() {
    for dialect in DIALECTS {
        let run = |fuel| {
            let (mut script, mut notes) = (instance(BUSY, dialect), Notes::default());
            assert_eq!(run_by(&mut script, &mut notes, fuel), None);
            (notes.said, script.memory_used(), script.n_objects())
        };
        let whole = run(1_000_000_000);
        assert_eq!(whole.0.len(), 3, "{:?}", whole.0);
        for fuel in [1, 7, 100] {
            assert_eq!(run(fuel), whole, "{fuel}");
        }
        let program = Arc::new(compiled(BUSY, dialect).program);
        let mut script = Instance::new(Arc::clone(&program), 1 << 20, 1);
        let (mut notes, mut scratch, mut tick, mut n_interrupted) =
            (Notes::default(), Scratch::default(), 0, 0);
        loop {
            let end = script.run(&mut scratch, &mut notes, tick, 1).end;
            match end {
                SliceEnd::Sleeps(until) => tick = until,
                SliceEnd::Idle => break,
                SliceEnd::Done | SliceEnd::Spent => {}
                SliceEnd::Failed(failure) => panic!("{failure:?}"),
            }
            n_interrupted += u32::from(script.is_interrupted());
            script = Instance::from_bytes(&script.to_bytes(), Arc::clone(&program)).expect("a state");
        }
        assert!(n_interrupted > 100, "{n_interrupted}");
        assert_eq!((notes.said, script.memory_used(), script.n_objects()), whole);
    }
}

/// The time of an addition does not grow with the list.
#[test]
fn fuel_of_a_growing_list_is_linear() {
    let fuel = |n: u32, dialect: Dialect| {
        let statements =
            format!("integer i; for (; i < {n}; ++i) {{ if (g == []) print(g); g += i; l = l + [i]; }}");
        let source = handler("list g;", &format!("list l; {statements} llOwnerSay((string)(l != g));"));
        let mut instance = instance(&source, dialect);
        let (mut notes, mut scratch) = (Notes::default(), Scratch::default());
        let slice = instance.run(&mut scratch, &mut notes, 0, u64::from(u32::MAX));
        assert_eq!(slice.end, SliceEnd::Done);
        assert_eq!(notes.said.last().map(String::as_str), Some("0"));
        slice.fuel
    };
    for dialect in DIALECTS {
        let (short, long) = (fuel(1_000, dialect), fuel(10_000, dialect));
        assert!(long < 11 * short, "{short} {long}");
    }
}
