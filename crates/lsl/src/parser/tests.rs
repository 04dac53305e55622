//! Precedence, forms of statements, and recovery.

use super::*;
use crate::operators::{BinaryOp, UnaryOp};

/// The value of a variable as nested lists, or the faults.
fn shape(expression: &str, dialect: Dialect) -> String {
    let source = format!("default {{ state_entry() {{ x = {expression}; }} }}");
    let mut faults = Faults::default();
    let script = parse(&source, dialect, &mut faults);
    if let Some(found) = faults.list.first() {
        return found.fault.to_string();
    }
    let Some(StmtKind::Expr(root)) = script.stmts.first().map(|stmt| stmt.kind) else {
        panic!("no expression")
    };
    let ExprKind::Assign(None, _, value) = script.expr(root).kind else { panic!("no assignment") };
    write(&script, value)
}

fn write(script: &Script, id: ExprId) -> String {
    let all = |list: &[ExprId]| list.iter().map(|&id| write(script, id)).collect::<Vec<_>>().join(" ");
    let place = |place: crate::syntax::Place| {
        let component = place.component.map_or(String::new(), |name| format!(".{}", script.name(name)));
        format!("{}{component}", script.name(place.variable))
    };
    match &script.expr(id).kind {
        ExprKind::Integer(value) => value.to_string(),
        ExprKind::Float(value) => format!("{value:?}"),
        ExprKind::Text(index) => format!("{:?}", script.texts[*index as usize]),
        ExprKind::Place(at) => place(*at),
        ExprKind::List(list) => format!("[{}]", all(script.expr_list(*list))),
        ExprKind::Vector(parts) => format!("<{}>", all(parts)),
        ExprKind::Rotation(parts) => format!("<{}>", all(parts)),
        ExprKind::Unary(op, value) => {
            let op = match op {
                UnaryOp::Negate => "-",
                UnaryOp::Not => "!",
                UnaryOp::BitNot => "~",
            };
            format!("({op} {})", write(script, *value))
        }
        ExprKind::Binary(op, left, right) => format!("({} {})", op.as_str(), all(&[*left, *right])),
        ExprKind::Assign(op, at, value) => {
            format!("({}= {} {})", op.map_or("", BinaryOp::as_str), place(*at), write(script, *value))
        }
        ExprKind::PreAdd(at, by) => format!("(pre{by:+} {})", place(*at)),
        ExprKind::PostAdd(at, by) => format!("(post{by:+} {})", place(*at)),
        ExprKind::Cast(ty, value) => format!("({ty} {})", write(script, *value)),
        ExprKind::Call(name, list) => format!("{}({})", script.name(*name), all(script.expr_list(*list))),
        ExprKind::Print(value) => format!("(print {})", write(script, *value)),
        ExprKind::Paren(inner) => write(script, *inner),
    }
}

#[test]
fn operators_bind_by_precedence() {
    for (source, expected) in [
        ("1 + 2 * 3", "(+ 1 (* 2 3))"),
        ("1 - 2 - 3", "(- (- 1 2) 3)"),
        ("a || b && c || d", "(|| (&& (|| a b) c) d)"),
        ("a | b ^ c & d == e < f << g + h * i", "(| a (^ b (& c (== d (< e (<< f (+ g (* h i))))))))"),
        ("!a == b", "(== (! a) b)"),
        ("-a * b", "(* (- a) b)"),
        ("-1 - -1", "(- -1 -1)"),
        ("~-a", "(~ (- a))"),
        ("a = b = c + 1", "(= a (= b (+ c 1)))"),
        ("a + b = c + 1", "(+ a (= b (+ c 1)))"),
        ("a && b += c || d", "(&& a (+= b (|| c d)))"),
        ("i-=-i---i", "(-= i (- (- (post-1 i)) i))"),
        ("++a.x + b++", "(+ (pre+1 a.x) (post+1 b))"),
        ("(string)a + b", "(+ (string a) b)"),
        ("(string)-1 + (string)-a", "(+ (string -1) (string (- a)))"),
        ("(string)a++", "(string (post+1 a))"),
        ("(integer)f(1, \"a\", [])", "(integer f(1 \"a\" []))"),
        ("(a + b) * c", "(* (+ a b) c)"),
        ("print(a)", "(print a)"),
    ] {
        assert_eq!(shape(source, Dialect::Sl), expected, "{source}");
    }
}

#[test]
fn a_vector_ends_where_second_life_ends_it() {
    for (source, expected) in [
        ("<1, 2, 3>", "<1 2 3>"),
        ("<1, 2, 3, 4>", "<1 2 3 4>"),
        ("<1, 2, 3> - <a, b, c>", "(- <1 2 3> <a b c>)"),
        ("<1, 2, 3 > -a", "(- <1 2 3> a)"),
        ("<1, 2, a > b>", "<1 2 (> a b)>"),
        ("<1, 2, a > (b)>", "<1 2 (> a b)>"),
        ("<a > b, 2, 3>", "<(> a b) 2 3>"),
        ("<1, 2, (a | b)>", "<1 2 (| a b)>"),
        ("<1, 2, 3 + 4 * 5>", "<1 2 (+ 3 (* 4 5))>"),
        ("<1, 2, 3> * 2.0", "(* <1 2 3> 2.0)"),
        ("< <1, 2, 3> * a, 2, 3>", "<(* <1 2 3> a) 2 3>"),
        ("<1, 2, a | b>", "expected an expression, found `;`"),
        ("<1, 2, a == b>", "expected an expression, found `;`"),
        ("<1, 2>", "expected an expression, found `;`"),
    ] {
        assert_eq!(shape(source, Dialect::Sl), expected, "{source}");
    }
}

#[test]
fn casts_take_what_their_dialect_takes() {
    for source in ["(string)!a", "(string)-(a)", "(integer)(string)a", "(string)++a", "(string)~a"] {
        let fault = Fault::CastNeedsParens.to_string();
        assert_eq!(shape(source, Dialect::Sl), fault, "{source}");
        assert_ne!(shape(source, Dialect::Opensim), fault, "{source}");
    }
    assert_eq!(shape("(integer)(string)a + 1", Dialect::Opensim), "(+ (integer (string a)) 1)");
}

/// All faults of a source, as `LINE: TEXT`.
fn faults(source: &str) -> Vec<String> {
    let mut faults = Faults::default();
    parse(source, Dialect::Sl, &mut faults);
    let lines = crate::lines::Lines::new(source);
    faults.list.iter().map(|found| format!("{}: {}", lines.line(found.span.start), found.fault)).collect()
}

#[test]
fn all_forms_of_statements_are_read() {
    let source = "
        integer a; vector v = <1, 2, 3>;
        f() { ; return; }
        integer g(integer x, list y) { return x; }
        default {
            state_entry() {
                integer i;
                for (i = 0, a = 1; i < 3; ++i, a++) g(i, []);
                for (; 1;) { }
                while (a) a = 0;
                do { a = 1; } while (a < 1);
                if (a) f(); else if (i) { f(); } else ;
                jump end;
                { string s = \"x\"; }
                @end;
                state other;
            }
            touch_start(integer n) { state default; }
        }
        state other { timer() { } }";
    assert_eq!(faults(source), [""; 0]);
}

#[test]
fn reading_goes_on_behind_each_fault() {
    let source = "string a = ;
integer b = 1;
f( { }
g() { a = ; b = 2; if (b { b = 3; } b = ; }
default {
    state_entry() { < ; }
    5;
    timer() { llSay(0, ; { ] } }
}
state x { timer() { } } ;";
    let expected = [
        "1: expected an expression, found `;`",
        "3: expected a parameter's type, found `{`",
        "4: expected an expression, found `;`",
        "4: expected `)`, found `{`",
        "4: expected an expression, found `;`",
        "6: expected an expression, found `;`",
        "7: expected an event handler or `}`, found an integer",
        "8: expected an expression, found `;`",
        "8: expected an expression, found `]`",
        "10: expected a state, found `;`",
    ];
    assert_eq!(faults(source), expected);
}

#[test]
fn missing_braces_and_states_are_named() {
    assert_eq!(faults("integer a;"), ["1: the script has no state `default`"]);
    assert_eq!(
        faults("default { timer() { a = 1;\nstate x { timer() { } }"),
        ["2: expected `;`, found `{`", "2: expected `}`, found the end of the script"]
    );
    assert_eq!(
        faults("default { timer() { } "),
        ["1: expected an event handler or `}`, found the end of the script"]
    );
    assert_eq!(
        faults("default { timer() { } }\ndefault { touch(integer n) { } } state x { timer() { = } }"),
        ["2: expected a state, found `default`", "2: expected an expression, found `=`"]
    );
}

#[test]
fn faults_are_found_at_any_depth() {
    let within = |inside: &str| format!("default {{ timer() {{ x = {inside}; }} }}");
    for (source, fault) in [
        (within(&"-(".repeat(10_000)), "1: expected an expression, found `;`"),
        (within(&"a = ".repeat(10_000)), "1: expected an expression, found `;`"),
        (within(&"[".repeat(10_000)), "1: expected an expression, found `;`"),
        (within(&format!("{}1", "(".repeat(10_000))), "1: expected `)` or an operator, found `;`"),
        (
            format!("default {{ timer() {{ {}", "{".repeat(10_000)),
            "1: expected `}`, found the end of the script",
        ),
        (
            format!("default {{ timer() {{ {} }} }}", "if (a) while (b) do ".repeat(10_000)),
            "1: expected an expression, found `}`",
        ),
    ] {
        assert_eq!(faults(&source), [fault]);
    }
}

#[test]
fn each_fault_in_a_nest_of_blocks_is_found_once() {
    let levels = 40;
    let source = format!(
        "default {{ timer() {{ {} ; {} }} }}",
        "if (a) { ".repeat(levels),
        "} else = ; b = 1;".repeat(levels)
    );
    let expected = vec!["1: expected an expression, found `=`"; levels];
    assert_eq!(faults(&source), expected);
}

#[test]
fn an_else_belongs_to_the_nearest_if() {
    let source = "default { timer() { if (1) if (2) ; else while (3) if (4) ; else ; else ; } }";
    let mut faults = Faults::default();
    let script = parse(source, Dialect::Sl, &mut faults);
    let condition = |stmt: &Stmt| match stmt.kind {
        StmtKind::If { condition, otherwise, .. } => {
            let ExprKind::Integer(number) = script.expr(condition).kind else { panic!("no number") };
            Some((number, otherwise.is_some()))
        }
        _ => None,
    };
    let ifs: Vec<_> = script.stmts.iter().filter_map(condition).collect();
    assert_eq!((ifs, faults.list.len()), (vec![(4, true), (2, true), (1, true)], 0));
}

proptest::proptest! {
    #[test]
    fn no_text_is_too_much(source in "[a-z<>(){}\\[\\];,=+\\-*/\"\\\\ \n.0-9@!~|&^%]{0,200}") {
        let mut faults = Faults::default();
        parse(&source, Dialect::Sl, &mut faults);
    }

    #[test]
    fn no_row_of_tokens_is_too_much(
        words in proptest::collection::vec(proptest::sample::select(vec![
            "default", "state", "x", "{", "}", "(", ")", ";", "integer", "if", "else", "for", "<", ">", ",", "=", "+",
            "1", "\"a\"", "[", "]", "return", "jump", "@", "do", "while", ".", "++", "-", "timer",
        ]), 0..80),
    ) {
        let source = words.join(" ");
        let mut faults = Faults::default();
        parse(&source, Dialect::Opensim, &mut faults);
    }
}
