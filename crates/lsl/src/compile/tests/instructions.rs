//! Instructions of small sources.

use super::run::{compiled, handler};
use crate::Dialect::Sl;
use script::Kind;
use script::instruction::Op::{self, *};

/// Instructions of the last function: the handler.
fn instructions(declarations: &str, statements: &str) -> Vec<Op> {
    let program = compiled(&handler(declarations, statements), Sl).program;
    let function = program.functions().last().expect("a handler");
    function.code.iter().map(|instruction| instruction.op).collect()
}

#[test]
fn results_go_where_they_are_wanted() {
    for (declarations, statements, expected) in [
        ("", "", &[Return][..]),
        (
            "",
            "integer i; i = i + 1; i += 2; ++i; i--;",
            &[LoadInteger, AddSmall, AddSmall, AddSmall, AddSmall, Return],
        ),
        ("", "integer i; integer j = i * i;", &[LoadInteger, MultiplyInteger, Return]),
        ("", "float f; f = f * 2.0;", &[LoadFloat, LoadFloat, MultiplyFloat, RoundFloat, Return]),
        ("", "float f; float g = f;", &[LoadFloat, CopyFloat, Return]),
        ("", "vector v; v = v + <1, 2, 3>;", &[LoadVector, LoadVector, AddVector, Return]),
        ("", "float f; vector v = <f, 0, 1>;", &[LoadFloat, CopyFloat, LoadFloat, LoadFloat, Return]),
        ("", "vector v; v.x = v.y;", &[LoadVector, CopyFloat, Return]),
        ("", "string s; s = s + \"a\";", &[ClearReference, LoadReference, ConcatText, Return]),
        ("integer g;", "g = g + 1;", &[GetInteger, AddSmall, SetInteger, Return]),
        ("integer g;", "++g;", &[GetInteger, AddSmall, SetInteger, Return]),
        ("float g;", "g = 1.0;", &[LoadFloat, SetFloat, Return]),
        ("float g;", "g += 1.0;", &[GetFloat, LoadFloat, AddFloat, RoundFloat, SetFloat, Return]),
        ("string g;", "g += \"a\";", &[GetReference, LoadReference, ConcatText, PutReference, Return]),
        (
            "integer f(integer n) { return n; }",
            "integer i = f(f(1) + 2);",
            &[LoadInteger, Call, AddSmall, Call, Return],
        ),
        ("float f(float x) { return x; }", "f(1.5);", &[LoadFloat, Call, Return]),
        ("string f(string s) { return s; }", "f(\"a\");", &[LoadReference, Call, ClearReference, Return]),
        ("", "return;", &[Return]),
    ] {
        assert_eq!(instructions(declarations, statements), expected, "{statements}");
    }
}

#[test]
fn lists_grow_in_place() {
    for (declarations, statements, expected) in [
        ("", "list l; l += 1;", &[ClearReference, LoadInteger, PushInteger, Return][..]),
        ("", "list l; l = l + [1];", &[ClearReference, LoadInteger, PushInteger, Return]),
        ("", "list l; integer i; l += [i];", &[ClearReference, LoadInteger, PushInteger, Return]),
        (
            "",
            "list l; integer i; l += [i, i];",
            &[
                ClearReference,
                LoadInteger,
                ClearReference,
                PushInteger,
                PushInteger,
                AppendList,
                ClearReference,
                Return,
            ],
        ),
        ("", "list l = [1, 2];", &[LoadReference, Return]),
        ("list g;", "g += 1;", &[LoadInteger, TakeReference, PushInteger, PutReference, Return]),
        (
            "list g;",
            "g = llDeleteSubList(g, 0, 0);",
            &[TakeReference, LoadInteger, LoadInteger, CallImport, PutReference, Return],
        ),
        (
            "",
            "list l; l = llDeleteSubList(l, 0, 0);",
            &[ClearReference, MoveReference, LoadInteger, LoadInteger, CallImport, Return],
        ),
        (
            "",
            "list l; l = llDeleteSubList(l, 0, l != []);",
            &[ClearReference, CopyReference, LoadInteger, ClearReference, UnequalList, CallImport, Return],
        ),
        // No copy of the list stays in a register, or the next addition would copy all of it.
        (
            "list g;",
            "if (g == []) g += 1;",
            &[
                GetReference,
                ClearReference,
                EqualList,
                ClearReference,
                JumpIfNot,
                LoadInteger,
                TakeReference,
                PushInteger,
                PutReference,
                Return,
            ],
        ),
    ] {
        assert_eq!(instructions(declarations, statements), expected, "{statements}");
    }
}

#[test]
fn loops_have_one_jump_in_each_round() {
    for (statements, expected) in [
        (
            "integer i; while (i < 3) ++i;",
            &[LoadInteger, Jump, AddSmall, LoadInteger, LessInteger, JumpIf, Return][..],
        ),
        (
            "integer i; do ++i; while (i < 3);",
            &[LoadInteger, AddSmall, LoadInteger, LessInteger, JumpIf, Return],
        ),
        ("while (TRUE) ;", &[Jump]),
        ("integer i; for (i = 9; i; --i) ;", &[LoadInteger, LoadInteger, Jump, AddSmall, JumpIf, Return]),
        ("integer i; if (!i) ++i;", &[LoadInteger, JumpIf, AddSmall, Return]),
        ("integer i; if (i) ++i; else --i;", &[LoadInteger, JumpIfNot, AddSmall, Jump, AddSmall, Return]),
    ] {
        assert_eq!(instructions("", statements), expected, "{statements}");
    }
}

#[test]
fn registers_are_used_again() {
    let statements = "integer a = 1; a = (a * 2 + 3) * (a * 4 + 5); a = (a * 2 + 3) * (a * 4 + 5);
        { string s = \"a\"; llOwnerSay(s); } { string t = \"b\"; llOwnerSay(t); }";
    let program = compiled(&handler("", statements), Sl).program;
    let registers = &program.functions()[0].registers;
    let n_of = |kind| registers.iter().filter(|&&register| register == kind).count();
    // A variable, an operand that waits, and another in computation; a variable and an argument.
    assert!(n_of(Kind::Integer) <= 4, "{registers:?}");
    assert_eq!(n_of(Kind::Text), 2, "{registers:?}");
}
