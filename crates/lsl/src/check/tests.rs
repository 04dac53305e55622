//! Faults of names, types and paths, each beside the code that has none.

use super::*;

/// All faults of a source, as `LINE: TEXT`.
fn faults_in(source: &str, dialect: Dialect) -> Vec<String> {
    let checked = check(source, dialect);
    let lines = Lines::new(source);
    assert_eq!(checked.n_more, 0);
    checked.faults.iter().map(|found| format!("{}: {}", lines.line(found.span.start), found.fault)).collect()
}

fn faults(source: &str) -> Vec<String> {
    faults_in(source, Dialect::Sl)
}

/// Faults of statements in an event handler with variables of all types, all of which are used.
fn in_handler(statements: &str) -> Vec<String> {
    let source = format!(
        "integer i; float f; string s; key k; vector v; rotation r; list l; \
         nothing() {{ llOwnerSay((string)([i, f, s, k, v, r] + l)); }} \
         default {{ state_entry() {{ nothing();\n{statements} }} }}"
    );
    faults(&source)
}

const NONE: [&str; 0] = [];

#[test]
fn values_convert_where_second_life_converts_them() {
    for valid in [
        "f = i;",
        "s = k;",
        "k = s;",
        "k = \"\";",
        "v = <i, f, 1>;",
        "l = l + i;",
        "l = (list)v;",
        "i *= 2.0 * 0 + i;",
        "f += i;",
        "v %= v;",
        "v *= r;",
        "i = (l != []);",
        "s = (string)l;",
        "if (s == k) i = 1;",
        "i = llListen(0, s, k, s);",
        "i = (v == v);",
        "v.x = i;",
        "r.s++;",
        "print(i);",
    ] {
        let found: Vec<_> =
            in_handler(valid).into_iter().filter(|fault| !fault.contains("truncates")).collect();
        assert_eq!(found, NONE, "{valid}");
    }
    for (wrong, fault) in [
        ("i = f;", "`i` is of type integer, the value of type float"),
        ("s = i;", "`s` is of type string, the value of type integer"),
        ("v = <1, 2, s>;", "component 3 of this vector is of type string, not a number"),
        ("l = [1, l];", "a list cannot contain a list"),
        ("l = [nothing()];", "this call has no value"),
        ("s = s + k;", "there is no operator `string + key`"),
        ("i = !f;", "there is no operator `! float`"),
        ("i = -s;", "there is no operator `- string`"),
        ("v *= v;", "there is no operator `vector * vector`"),
        ("s++;", "there is no operator `++ string`"),
        ("i = (integer)v;", "vector cannot be cast to integer"),
        ("i = (integer)k;", "key cannot be cast to integer"),
        ("f = v.w;", "`v.w` does not exist: a vector has x, y and z"),
        ("f = v.s;", "`v.s` does not exist: a vector has x, y and z"),
        ("f = i.x;", "`i.x` does not exist: it is neither a vector nor a rotation"),
        ("f = ZERO_VECTOR.x;", "`ZERO_VECTOR.x` does not exist: a constant has no components"),
        ("PI = 3;", "`PI` is a constant"),
        ("TRUE++;", "`TRUE` is a constant"),
        ("llSay(s, s);", "argument 1 of `llSay` is `integer channel`, not string"),
        ("llSay(0);", "`llSay` takes 2 arguments, not 1"),
        ("nothing(1);", "`nothing` takes 0 arguments, not 1"),
        ("if (nothing()) ;", "this `if` does nothing"),
        ("while (nothing()) i = 1;", "this condition has no value"),
        ("return 1;", "an event handler returns no value"),
        ("return nothing();", "an event handler returns no value"),
        ("print(nothing());", "this call has no value"),
        ("j = 1;", "`j` is not declared; did you mean `f`?"),
        ("llSey(0, s);", "`llSey` is not declared; did you mean `llSay`?"),
        ("i();", "`i` is a variable, not a function"),
        ("i = nothing;", "`nothing` is a function, not a variable"),
        ("i = llSay;", "`llSay` is a function of the library, not a variable"),
        ("state i;", "`i` is a variable, not a state"),
        ("jump out;", "`out` is not declared"),
        ("if (i) integer q = 1;", "the declaration of `q` needs braces around it here"),
        ("osMax(1, 2);", "`osMax` is not declared; did you mean `llAsin`?"),
    ] {
        let found = in_handler(wrong);
        let expected = format!("2: {fault}");
        let unlike_variable = |found: &String| !found.starts_with("2: `j` is not declared");
        let matches = if wrong == "j = 1;" || wrong.starts_with("osMax") {
            found
                .iter()
                .any(|found| found.starts_with(&expected[..expected.find(';').unwrap_or(expected.len())]))
        } else {
            found.contains(&expected) && found.iter().all(unlike_variable)
        };
        assert!(matches, "{wrong}: {found:?}");
    }
}

#[test]
fn void_calls_may_be_returned_in_branches() {
    let source = "
f() { if (llFrand(1.0) > 0.5) return llOwnerSay(\"\");
    return llOwnerSay(\"\"); }
integer g() { return llOwnerSay(\"\"); }
integer h() { return; }
default { state_entry() { f(); g(); h();
    if (llFrand(1.0) > 0.5) return llOwnerSay(\"\"); } }";
    let expected = [
        "3: the function returns void, not void",
        "4: the function returns integer, not void",
        "5: the function returns integer, not void",
    ];
    assert_eq!(faults(source), expected);
}

#[test]
fn globals_are_declared_in_order_and_functions_before_all() {
    let source = "
string b = a;
string a = \"x\";
string c = c;
f() { g(); a = b + c; }
g() { f(); }
default { state_entry() { f(); string a = a; llOwnerSay(a); } }";
    let expected =
        ["2: `a` is not declared", "4: `c` is not declared", "7: `a` hides the declaration in line 3"];
    let found: Vec<_> =
        faults(source).iter().map(|fault| fault.split(';').next().unwrap_or("").to_owned()).collect();
    assert_eq!(found, expected);
}

#[test]
fn values_of_globals_are_simple() {
    for valid in
        ["float a = -PI;", "float a = 1;", "vector a = <1, -2, PI>;", "list a = [1, <0, 0, 0>, \"x\"];"]
    {
        assert_eq!(
            faults(&format!("{valid} default {{ timer() {{ llSay(0, (string)a); }} }}")),
            NONE,
            "{valid}"
        );
    }
    for wrong in [
        "integer a = 1 + 1;",
        "integer a = -TRUE;",
        "vector a = -ZERO_VECTOR;",
        "key a = llGetOwner();",
        "string a = (string)1;",
        "integer a = !TRUE;",
    ] {
        let source = format!("{wrong} default {{ timer() {{ llSay(0, (string)a); }} }}");
        assert_eq!(faults(&source), [format!("1: {}", Fault::GlobalValue)], "{wrong}");
        assert_eq!(faults_in(&source, Dialect::Opensim), NONE, "{wrong}");
    }
    let source = "vector v; float x = v.x; default { timer() { llSay(0, (string)x); } }";
    assert_eq!(faults(source), [format!("1: {}", Fault::GlobalValue)]);
}

#[test]
fn a_scope_has_one_declaration_of_a_name() {
    let source = "
integer test = 1;
test() { }
integer llSay = 1;
integer PI;
timer() { }
default {
    state_entry() {
        integer llOwnerSay = 1;
        integer test = llOwnerSay;
        { integer test = 2; llOwnerSay((string)test); }
        llOwnerSay((string)test);
        state test;
    }
    touch_start(integer n) { integer n = 1; llOwnerSay((string)n); integer changed = n; }
}
state test { state_entry() { integer timer; } }
state last { state_entry() { state default; } }";
    let expected = [
        "3: `test` is declared already, in line 2",
        "3: function `test` is never used",
        "4: `llSay` is a name of the library and cannot be declared",
        "4: variable `llSay` is never used",
        "5: `PI` is a name of the library and cannot be declared",
        "5: variable `PI` is never used",
        "6: `timer` is the name of an event",
        "6: function `timer` is never used",
        "10: `test` hides the declaration in line 2",
        "11: `test` hides the declaration in line 10",
        "13: `test` is a variable, not a state",
        "15: `n` hides the declaration in line 15",
        "15: `changed` is the name of an event",
        "15: variable `changed` is never used",
        "17: `test` is declared already, in line 2",
        "17: `timer` is the name of an event",
        "17: variable `timer` is never used",
        "18: state `last` is never used",
    ];
    let mut found = faults(source);
    found.retain(|fault| {
        fault != "17: state `test` is never used" && fault != "2: variable `test` is never used"
    });
    assert_eq!(found, expected);
}

#[test]
fn functions_return_on_all_paths() {
    let returns = |body: &str| {
        let source = format!("integer f() {{ {body} }} default {{ timer() {{ f(); }} }}");
        !faults(&source).iter().any(|fault| fault.contains("not all paths"))
    };
    assert!(returns("return 1;"));
    assert!(returns("if (llFrand(1.0) > 0.5) { return 1; } else return 2;"));
    assert!(returns(
        "if (llFrand(1.0) > 0.5) return 1; else if (llFrand(1.0) > 0.5) return 2; else { { return 3; } }"
    ));
    for wrong in [
        "",
        "return 1; { }",
        "return 1; ;",
        "if (llFrand(1.0) > 0.5) return 1;",
        "while (1) return 1;",
        "return 1; @x; jump x;",
    ] {
        assert!(!returns(wrong), "{wrong}");
    }
    let chain = "if (llFrand(1.0) > 0.5) return 1; else ".repeat(5_000);
    assert!(returns(&format!("{chain} return 2;")));
}

#[test]
fn handlers_are_like_their_events() {
    let source = "
default {
    state_entry(integer n) { }
    listen(integer channel, string name, key id) { }
    touch_start(string n) { }
    timer() { }
    timer() { }
    tuch_end(integer n) { }
    at_target(integer n, vector at, vector here) { }
}
state empty { }";
    let expected = [
        "3: event `state_entry` has 0 parameters, not 1",
        "4: event `listen` has 4 parameters, not 3",
        "5: parameter 1 of event `touch_start` is of type integer, not string",
        "7: state `default` has a handler of `timer` already, in line 6",
        "8: there is no event `tuch_end`; did you mean `touch_end`?",
        "11: state `empty` has no event handler",
        "11: state `empty` is never used",
    ];
    assert_eq!(faults(source), expected);
}

#[test]
fn states_change_in_handlers() {
    let source = "
f() { state other; }
g() { if (llFrand(1.0) > 0.5) { state other; } }
default { timer() { f(); g(); state default; } }
state other { timer() { } }";
    let expected = [
        "2: a function cannot change the state",
        "3: a change of state in a function may leave the stack damaged in Second Life",
        "4: a change to the current state only returns",
    ];
    assert_eq!(faults(source), expected);
}

#[test]
fn jumps_lead_to_the_last_label_of_a_name() {
    let source = "
default { timer() {
    jump a;
    if (llFrand(1.0) > 0.5) {
        @x; llSay(0, \"\"); jump x; }
    if (llFrand(1.0) > 0.5) {
        @x; llSay(0, \"\"); }
    @a;
    @unused;
} }";
    let expected = [
        "4: this statement is never reached",
        "5: this jump leads to the last label `x` of the function",
        "7: label `x` is there more than once in this function",
        "7: label `x` is never used",
        "9: label `unused` is never used",
    ];
    assert_eq!(faults(source), expected);
}

#[test]
fn code_that_hurts_is_warned_of() {
    for (code, warning) in [
        ("if (i = 1) i = 2;", "`=` assigns; `==` compares"),
        ("i == 1;", "`==` compares; `=` assigns"),
        ("i = (l == [1]);", "`==` and `!=` compare the lengths of lists only"),
        ("if (i) ; else { }", "this `if` does nothing"),
        ("for (; i; ) ;", "this loop has no body"),
        ("i *= 2.0;", "`integer *= float` truncates the result, and its value cannot be used"),
        (
            "llSetPrimitiveParams([]);",
            "`llSetPrimitiveParams` is deprecated; use `llSetLinkPrimitiveParamsFast`",
        ),
        ("llSetVehicleType(1);", "`llSetVehicleType` is not served yet"),
        ("return; i = 1;", "this statement is never reached"),
        ("integer unused = 1;", "variable `unused` is never used"),
        ("if (TRUE) i = 2;", "this condition is always true"),
        ("i = 1 / 0;", "division by zero stops the script"),
        ("i = 1 $ ;", "this character has no meaning here and is left out"),
    ] {
        let source = in_handler(code);
        assert_eq!(source, [format!("2: {warning}")], "{code}");
    }
    assert_eq!(in_handler("if ((i = 1)) i = 2; i = (l == []); i = ([] != l);"), NONE);
}

#[test]
fn dialects_differ_in_their_names() {
    let source = "default { timer() { llSay(0, (string)osMax(1.0, 2.0)); integer a = (integer)(string)1 + NPC; llSay(a, \"\"); } }";
    assert_eq!(faults_in(source, Dialect::Opensim), NONE);
    assert_eq!(check(source, Dialect::Sl).faults.len(), 3);
}

#[test]
fn errors_are_listed_before_warnings_once_the_list_is_full() {
    let warnings: String = (0..300).map(|n| format!("integer a{n};\n")).collect();
    let source = format!("{warnings} default {{ timer() {{ x = 1; }} }}");
    let checked = check(&source, Dialect::Sl);
    assert_eq!((checked.faults.len(), checked.n_more), (crate::FAULTS_MAX, 201));
    assert!(!checked.is_valid());
    let long = check(&" ".repeat(SOURCE_MAX + 1), Dialect::Sl);
    assert_eq!(long.faults[0].fault, Fault::TooLong { bytes: SOURCE_MAX + 1, max: SOURCE_MAX });
}

#[test]
fn constant_conditions_are_those_of_branches_and_of_loops_that_never_run() {
    let always = |truth| [format!("2: {}", Fault::ConstantCondition(truth))];
    for (code, truth) in [
        ("if (1) i = 2;", true),
        ("if (i) i = 2; else if (!TRUE) i = 3;", false),
        ("if ((1 + 2) * 3 == 9) i = 2;", true),
        ("if (\"a\" + \"b\" == \"abc\") i = 2;", false),
        ("if ([] != [1, 2]) i = 2;", true),
        ("if (\"\") i = 2;", false),
        (
            "if (NULL_KEY) i = 2;",
            Library::get().constant("NULL_KEY", Dialect::Sl).is_some_and(|one| one.ty == Type::String),
        ),
        ("if (ZERO_VECTOR) i = 2;", false),
        ("if (1 << 32 == 1) i = 2;", true),
        ("if (0.1 + 0.2 == 0.3) i = 2;", false),
        ("if ((string)12 == \"12\") i = 2;", true),
        ("if (PI > 3) i = 2;", true),
        ("while (FALSE) i = 2;", false),
        ("for (i = 1; FALSE; ++i) i = 2;", false),
        ("integer x; if (x) i = 2;", false),
        ("integer x = 3; if (x - 3) i = 2;", false),
        ("float x = 1; if (x == 1) i = 2;", true),
        ("vector x = <1, 2, 3>; if (x.y == 2) i = 2;", true),
        ("key x = \"a\"; if (x) i = 2;", false),
        ("if (-0x80000000 == 0x80000000) i = 2;", true),
    ] {
        assert_eq!(in_handler(code), always(truth), "{code}");
    }
    for code in [
        "while (TRUE) i = 2;",
        "for (; 1; ) i = 2;",
        "do i = 2; while (FALSE);",
        "if (i) i = 2;",
        "if (llGetOwner()) i = 2;",
        "if ((i = 1)) i = 2;",
        "integer x = 1; if (x) i = 2; x = i;",
        "integer x = 1; if (x) i = 2; x++;",
        "vector x; if (x) i = 2; x.y = 1;",
        "integer x = i; if (x) i = 2;",
        "jump end; integer x = 1; @end; if (x) i = 2;",
        "if (1 / 0.5 == (float)\"2\") i = 2;",
        "if (ZERO_ROTATION) i = 2;",
    ] {
        let found: Vec<_> =
            in_handler(code).into_iter().filter(|fault| !fault.contains("never reached")).collect();
        assert_eq!(found, NONE, "{code}");
    }
    let source = "default { timer() { if (0.1 + 0.2 == 0.3) llSay(0, \"\"); } }";
    assert_eq!(faults_in(source, Dialect::Opensim), ["1: this condition is always false"]);
    let source = "default { timer() { if (16777216.0 == 16777217.0) llSay(0, \"\"); } }";
    assert_eq!(faults_in(source, Dialect::Sl), ["1: this condition is always true"]);
    assert_eq!(faults_in(source, Dialect::Opensim), ["1: this condition is always false"]);
}

#[test]
fn division_by_zero_is_found_where_the_divisor_is_constant() {
    for code in [
        "i = i / 0;",
        "i %= 0;",
        "f /= 0.0;",
        "v = v / (1 - 1);",
        "i = 5 % (integer)0.5;",
        "float x = 1e-46; f = f / x;",
        "llOwnerSay((string)(1 / FALSE));",
    ] {
        assert_eq!(in_handler(code), ["2: division by zero stops the script"], "{code}");
    }
    for code in ["i = i / 1;", "v = v % ZERO_VECTOR;", "v /= r;", "i = i / i;"] {
        assert_eq!(in_handler(code), NONE, "{code}");
    }
    assert_eq!(in_handler("integer x; x = ; if (x) i = 2;").len(), 1, "the assignment counts");
    // What cannot be read, or is wrong, has no values.
    let found = in_handler("i = 1 / 0 +; s = 1 / 0;");
    assert_eq!(found.iter().filter(|fault| fault.contains("by zero")).count(), 1, "{found:?}");
}

#[test]
fn messages_show_long_names_in_part() {
    let name = "x".repeat(100_000);
    let source = format!("{name}() {{ {name}(1); {name} = 1; }} default {{ {name}() {{ }} }}");
    let found = faults(&source);
    assert!(!found.is_empty() && found.iter().all(|fault| fault.len() < 200), "{found:?}");
}

#[test]
fn no_shape_of_source_takes_long() {
    let handler = |body: &str| format!("default {{ timer() {{ {body} }} }}");
    let nest =
        |open: &str, n: usize, inside: &str| handler(&format!("{}{inside}{}", open.repeat(n), "}".repeat(n)));
    let long_names: String = (0..3_000).map(|n| format!("integer {n:a>150};")).collect();
    let unknown_names: String = (0..100).map(|n| format!("integer b{n} = {n:b>150};")).collect();
    for source in [
        handler(&"@a;".repeat(200_000)),
        handler(&"jump a;".repeat(100_000)),
        handler(&"return 1;".repeat(100_000)),
        handler(&"integer a;".repeat(80_000)),
        format!("default {{ {} }}", "timer() { }".repeat(80_000)),
        "\\\"".repeat(500_000),
        format!("\"{}", "\\\"".repeat(500_000)),
        "/*".repeat(500_000),
        handler(&"x".repeat(1_000_000)),
        // Uses in the innermost of many scopes, and many declarations of a name.
        nest("{", 250_000, &"a;b;".repeat(100_000)),
        nest("{integer a;", 50_000, &"a();".repeat(100_000)),
        // Many parameters, and calls without arguments.
        format!("f({}integer b) {{ {} }} default {{ }}", "integer a,".repeat(40_000), "f();".repeat(120_000)),
        // A fault at the end of each block.
        handler(&format!("{}{}", "if(a){".repeat(60_000), "}else=;".repeat(60_000))),
        // A long name in many faults.
        format!(
            "default {{ timer() {{ }} }} state {} {{ {} }}",
            "x".repeat(400_000),
            "timer(){}".repeat(50_000)
        ),
        // Unknown names that are like many known ones.
        format!("{long_names}{unknown_names} default {{ }}"),
        // Values that double, and those that are compared or cast again and again.
        handler(&format!(
            "string a=\"ab\";{}",
            "{string b=a+a;string a=b+b;".repeat(30_000) + &"}".repeat(30_000)
        )),
        handler(&format!("string a=\"{}\";{}", "a".repeat(400_000), "a==a;".repeat(100_000))),
        handler(&format!("list a=[{}b];{}", "1,".repeat(200_000), "(string)a;a+a;".repeat(40_000))),
        handler(&format!("string a={}b;", "\"a\"+".repeat(240_000))),
    ] {
        assert!(source.len() <= SOURCE_MAX, "{}", source.len());
        assert!(!check(&source, Dialect::Sl).faults.is_empty());
    }
}

/// Sources that nest as deep as they are long, each valid.
fn deep(n: usize) -> Vec<(&'static str, String)> {
    let handler = |body: &str| format!("f(integer a) {{ }} default {{ timer() {{ integer a; {body} }} }}");
    let twice = |open: &str, inside: &str, close: &str| {
        handler(&format!("{}{inside}{}", open.repeat(n), close.repeat(n)))
    };
    let value =
        |open: &str, close: &str| handler(&format!("a = {}1{}; f(a);", open.repeat(n), close.repeat(n)));
    vec![
        ("parentheses", value("(", ")")),
        ("minus", value("- ", "")),
        ("not and complement", value("!~", "")),
        ("casts", value("(integer)(", ")")),
        ("right sides", value("1 | (2 + ", ")")),
        ("left sides", value("(", " * 3)")),
        ("sums", value("1 + ", "")),
        ("assignments", value("a = ", "")),
        ("calls", value("llAbs(", ")")),
        ("lists in calls", value("llGetListLength([", "])")),
        ("components", value("(integer)llVecMag(<1, 2, ", ">)")),
        (
            "else if",
            format!("{} {}", handler("f(a);").trim_end_matches("} }"), "if (a == 1) f(1); else ".repeat(n))
                + "f(2); } }",
        ),
        ("if", handler(&format!("{} f(a);", "if (a) ".repeat(n)))),
        ("blocks", twice("{", "f(a);", "}")),
        ("while", handler(&format!("{} f(a);", "while (a) ".repeat(n)))),
        ("for", handler(&format!("{} f(a);", "for (; a; a++) ".repeat(n)))),
        ("do", twice("do ", "f(a);", " while (a);")),
        ("branches in blocks", twice("if (a) { ", "f(a);", " } else { f(1); }")),
    ]
}

#[test]
fn depth_takes_no_stack() {
    let check_all = || {
        for (name, source) in deep(20_000) {
            for dialect in [Dialect::Sl, Dialect::Opensim] {
                let found = check(&source, dialect);
                let errors: Vec<_> = (found.faults.iter())
                    .filter(|found| found.fault.severity() == Severity::Error)
                    .map(|found| found.fault.to_string())
                    .collect();
                assert_eq!(errors, NONE, "{name}");
                assert_eq!(Dialect::of_source(&source), Dialect::Sl);
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(check_all).expect("a thread");
    thread.join().expect("all of it is checked");
}

#[test]
fn depth_takes_a_time_in_proportion() {
    // Up to the longest source: a time that grew with the square of the depth would be minutes.
    for (name, source) in deep(35_000) {
        assert!(source.len() <= SOURCE_MAX, "{name}");
        assert!(check(&source, Dialect::Sl).is_valid(), "{name}");
    }
    for open in ["(", "-", "{", "[", "a=", "f(", "if(a)", "<", "do ", "1+(", "(integer)"] {
        let source = format!("default {{ timer() {{ {} }} }}", open.repeat(1_000_000 / open.len()));
        assert!(!check(&source, Dialect::Sl).is_valid(), "{open}");
    }
}
