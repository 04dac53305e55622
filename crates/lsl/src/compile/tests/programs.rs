//! States, values of global variables, places, hashes and refusals.

use super::run::{
    DIALECTS, Notes, compiled, handler, instance, library, outcome, refused, run_by, said, value,
};
use crate::Dialect::{Opensim, Sl};
use crate::{COMPILER_VERSION, compile, program_hash};
use script::{Event, EventKind, Library};

#[test]
fn global_variables_begin_with_their_values() {
    const GLOBALS: &str = "integer i = -5; integer other = i; float f = i; float none; string s = \"s\"; key k = s;
        string id = k; vector v = <i, 2, f>; rotation r = <1, -2.5, i, PI>; rotation zero; vector empty;
        list l = [i, 0.1, s, k, v, ZERO_ROTATION, NULL_KEY]; list m = l; float negative = -PI; integer top = 0xFFFFFFFF;";
    for (expression, expected) in [
        ("other", "-5"),
        ("f", "-5.000000"),
        ("none", "0.000000"),
        ("s + (string)k + id", "sss"),
        ("[v]", "<-5.000000, 2.000000, -5.000000>"),
        ("[r]", "<1.000000, -2.500000, -5.000000, 3.141593>"),
        ("[zero]", "<0.000000, 0.000000, 0.000000, 1.000000>"),
        ("[empty]", "<0.000000, 0.000000, 0.000000>"),
        ("llGetListLength(m)", "7"),
        ("llList2String(m, 3)", "s"),
        ("llList2String(m, 1)", "0.100000"),
        ("negative", "-3.141593"),
        ("top", "-1"),
    ] {
        for dialect in DIALECTS {
            assert_eq!(value(GLOBALS, "", expression, dialect), expected, "{expression}");
        }
    }
}

#[test]
fn opensim_computes_values_of_global_variables_when_the_script_starts() {
    const GLOBALS: &str = "integer twice(integer n) { altered = 9; return n * 2; }
        integer static = 1 + 2;
        integer called = llAbs(-3) + static;
        integer behind = called * 2;
        integer altered = 5;
        integer own = twice(behind);
        list l = [own, called] + \"x\";
        vector v = <1, 2, 3> * 2;";
    let source = format!(
        "{GLOBALS} default {{
            state_entry() {{ llOwnerSay((string)([static, called, behind, altered, own, v] + l)); altered = 0; state other; }}
        }}
        state other {{
            state_entry() {{ if (own) {{ own = 0; state back; }} }}
        }}
        state back {{
            state_entry() {{ llOwnerSay((string)altered); state third; }}
        }}
        state third {{ state_entry() {{ if (static == 3) {{ static = 4; state default; }} }} }}"
    );
    let all = "36129 24<2.000000, 4.000000, 6.000000>246x".replace(' ', "");
    let again = "46120 0<2.000000, 4.000000, 6.000000>246x".replace(' ', "");
    let without_states: Vec<String> = said(&source, Opensim)
        .iter()
        .filter(|line| !line.starts_with('('))
        .map(|line| line.replace(' ', ""))
        .collect();
    assert_eq!(without_states[..2], [all, "0".to_owned()]);
    assert_eq!(without_states[2], again);
    // A first state without `state_entry` has one for this alone.
    let source = "integer a = llAbs(-3); default { timer() { llOwnerSay((string)a); } }";
    let mut instance = instance(source, Opensim);
    let mut notes = Notes::default();
    assert!(instance.push(Event::new(EventKind::TIMER, Vec::new())));
    assert_eq!(run_by(&mut instance, &mut notes, 1), None);
    assert_eq!(notes.said, ["3"]);
}

#[test]
fn states_end_and_begin() {
    let source = "integer n;
        say(string s) { llOwnerSay(s + (string)n); }
        leave() { if (n > 0) state other; }
        default {
            state_entry() { say(\"entry\"); ++n; state default; say(\"never\"); }
            state_exit() { say(\"exit\"); state other; }
            timer() { leave(); say(\"never\"); }
        }
        state other {
            state_entry() { say(\"other\"); if (++n < 3) { state default; } }
            state_exit() { say(\"back\"); }
            timer() { llResetScript(); say(\"never\"); }
        }";
    for dialect in DIALECTS {
        let mut instance = instance(source, dialect);
        let mut notes = Notes::default();
        let timer = || Event::new(EventKind::TIMER, Vec::new());
        assert_eq!(run_by(&mut instance, &mut notes, 1_000), None);
        assert_eq!(notes.said, ["entry0"], "a change to the current state returns");
        for expected in [
            &["exit1", "(state ends)", "other1", "back2", "(state ends)", "entry2"][..],
            &["exit3", "(state ends)", "other3"],
            &["(reset)", "entry0"],
        ] {
            notes.said.clear();
            assert!(instance.push(timer()));
            assert_eq!(run_by(&mut instance, &mut notes, 1_000), None);
            assert_eq!(notes.said, expected);
        }
    }
}

#[test]
fn handlers_have_the_arguments_of_their_events() {
    let source = "default {
            touch_start(integer n) { llOwnerSay((string)n); }
            listen(integer channel, string name, key id, string text) {
                name += text; channel += 1; llOwnerSay((string)[channel, name, id, text]);
            }
        }";
    for dialect in DIALECTS {
        let mut instance = instance(source, dialect);
        let mut notes = Notes::default();
        let event = |name, arguments| Event::new(EventKind::named(name).expect("an event"), arguments);
        assert!(instance.push(event("touch_start", vec![3.into()])));
        let heard = vec![(-1).into(), "a".into(), script::Key::from("k").into(), "b".into()];
        assert!(instance.push(event("listen", heard)));
        assert_eq!(run_by(&mut instance, &mut notes, 1_000), None);
        assert_eq!(notes.said, ["3", "0abkb"]);
    }
}

#[test]
fn errors_have_the_place_of_their_expression() {
    let source = "integer z;\ninteger f(integer n)\n{\n    return 2 + n / z;\n}\ndefault\n{\n    state_entry()\n    {\n        llOwnerSay(\"ä\" + (string)f(1));\n    }\n}\n";
    for dialect in DIALECTS {
        let (_, failure) = outcome(source, dialect);
        let failure = failure.expect("an error");
        let place = failure.place.expect("a line map");
        assert_eq!((place.line, place.column), (4, 16));
        assert_eq!(failure.event, EventKind::STATE_ENTRY);
        let program = compiled(source, dialect).program;
        assert_eq!(program.functions()[usize::from(failure.function)].name, "f");
        for function in program.functions() {
            assert!(function.place(0).is_some(), "{}", function.name);
        }
    }
}

#[test]
fn programs_are_named_by_source_dialect_and_version() {
    let source = handler("", "llOwnerSay(\"a\");");
    let program = compiled(&source, Sl).program;
    assert_eq!(program.hash(), program_hash(&source, Sl));
    assert_eq!(program.dialect(), script::Dialect::Sl);
    assert_eq!(compiled(&source, Opensim).program.dialect(), script::Dialect::OpenSim);
    assert_ne!(program_hash(&source, Sl), program_hash(&source, Opensim));
    assert_ne!(program_hash(&source, Sl), program_hash(&format!("{source} "), Sl));
    assert_ne!(COMPILER_VERSION, 0);
    let bytes = program.to_bytes();
    let read = script::Program::from_bytes(&bytes, &library()).expect("a program");
    assert_eq!(read.hash(), program.hash());
    assert_eq!(bytes, compiled(&source, Sl).program.to_bytes(), "the same program each time");
}

#[test]
fn warnings_come_with_the_program_and_errors_instead_of_it() {
    let compiled = compiled(&handler("", "integer unused; if (TRUE) llOwnerSay(\"\");"), Sl);
    let warnings: Vec<String> = compiled.checked.faults.iter().map(|found| found.fault.to_string()).collect();
    assert_eq!(warnings, ["variable `unused` is never used", "this condition is always true"]);
    assert_eq!(refused("default { }", Sl), ["state `default` has no event handler"]);
    let without_host =
        compile(&handler("", "llOwnerSay(\"\"); llSleep(1); llAbs(1);"), Sl, &Library::new(&[]));
    let faults = without_host.expect_err("functions of a host").faults;
    let faults: Vec<String> = faults.iter().map(|found| found.fault.to_string()).collect();
    assert_eq!(
        faults,
        ["this server has no `llOwnerSay` with these types", "this server has no `llSleep` with these types"]
    );
}
