//! Strings, keys, lists, casts and conditions, cell by cell.

use super::run::{DIALECTS, handler, said, value};
use crate::Dialect::{Opensim, Sl};

const ID: &str = "0123abcd-0000-1111-2222-333344445555";

#[test]
fn texts_and_keys_compare_by_their_characters() {
    let locals = format!(
        "string s = \"a\"; string t = \"b\"; key k = \"a\"; key id = \"{ID}\"; string upper = \"{}\"; string empty;",
        ID.to_uppercase()
    );
    for (expression, expected) in [
        ("s + t", "ab"),
        ("s + t + s", "aba"),
        ("s + empty", "a"),
        ("s += t", "ab"),
        ("\"x\" + \"y\" + s", "xya"),
        ("s == t", "0"),
        ("s == \"a\"", "1"),
        ("s != t", "1"),
        ("s != \"a\"", "0"),
        ("s != \"aaaa\"", "1"),
        ("k == \"a\"", "1"),
        ("\"a\" == k", "1"),
        ("s == k", "1"),
        ("k != t", "1"),
        ("id == id", "1"),
        ("id != k", "1"),
        ("id == upper", "0"),
        ("id", ID),
        ("s = id", ID),
        ("k = s", "a"),
        ("k = \"x\" + s", "xa"),
        ("(string)id + s", "0123abcd-0000-1111-2222-333344445555a"),
        ("llKey2Name(s)", "name of a"),
        ("llKey2Name(\"x\")", "name of x"),
        ("llKey2Name(id)", "name of 0123abcd-0000-1111-2222-333344445555"),
        ("llStringLength(k)", "1"),
    ] {
        for dialect in DIALECTS {
            assert_eq!(value("", &locals, expression, dialect), expected, "{expression}");
        }
    }
}

#[test]
fn lists_are_built_joined_and_compared_by_length() {
    const LOCALS: &str = "list l = [1, 2]; list m = [3]; list none; integer i = 4; float f = 0.5;
        string s = \"s\"; key k = \"k\"; vector v = <1, 2, 3>; rotation r = <1, 2, 3, 4>;";
    for (expression, expected) in [
        ("l + m", "123"),
        ("m + l", "312"),
        ("l + i", "124"),
        ("i + l", "412"),
        ("l + s + i", "12s4"),
        ("s + l", "s12"),
        ("[i] + s", "4s"),
        ("[] + i + [] + s", "4s"),
        ("none + none", ""),
        ("[i, s, k, f]", "4sk0.500000"),
        ("[v]", "<1.000000, 2.000000, 3.000000>"),
        ("[] + r", "<1.000000, 2.000000, 3.000000, 4.000000>"),
        ("v + [i]", "<1.000000, 2.000000, 3.000000>4"),
        ("[1, 2] + [3]", "123"),
        ("l += 3", "123"),
        ("l += [3, 4]", "1234"),
        ("l += none", "12"),
        ("l += []", "12"),
        ("l += [[] == none]", "121"),
        ("l = l + 3", "123"),
        ("l = (l) + (m)", "123"),
        ("l = m + l", "312"),
        ("l = [0] + l", "012"),
        ("(list)i + (list)s", "4s"),
        ("(list)l", "12"),
        ("l == m", "0"),
        ("l == [3, 4]", "1"),
        ("l != m", "1"),
        ("none != l", "-2"),
        ("l != []", "2"),
        ("l != [5, 6]", "0"),
        ("l == []", "0"),
        ("none == []", "1"),
        ("llGetListLength(l + m)", "3"),
        ("llList2String(l + s, 2)", "s"),
        ("l = llDeleteSubList(l, 0, 0)", "2"),
        ("l = llListReplaceList(l, [i, i], 0, 0)", "442"),
        ("l = llListReplaceList(l, l, 0, 0)", "122"),
        ("l = llListReplaceList(l, [llList2Integer(l, 1)], 0, 0)", "22"),
        ("m = llListReplaceList(l, m, 0, 0)", "32"),
        ("llDumpList2String(l, \"+\")", "1+2"),
    ] {
        for dialect in DIALECTS {
            assert_eq!(value("", LOCALS, expression, dialect), expected, "{expression}");
            let globals = LOCALS.replace("; ", ";\n");
            assert_eq!(value(&globals, "", expression, dialect), expected, "{expression}");
        }
    }
}

#[test]
fn a_list_given_to_a_call_is_there_for_all_that_reads_it() {
    const GLOBALS: &str = "list g = [1, 2, 3];
        integer length() { return g != []; }
        list with(list l, integer n) { return l + n + (g != []); }
        list change(list l) { l += [9]; return l; }";
    for (statements, expected) in [
        ("g = llDeleteSubList(g, 0, length() - 2);", "3"),
        ("g = llDeleteSubList(g, 0, (g != []) - 2);", "3"),
        ("g = with(g, 7);", "12373"),
        ("g = with(g, g != []);", "12333"),
        ("g = change(g);", "1239"),
        ("list l = g; l = change(l); g = l + g;", "1239123"),
        ("list l = g; l = change(l = [4]); g = l;", "49"),
        ("list l = g; l = with(l, l != []); g = l;", "12333"),
        ("list l = g; list m = l; l = llDeleteSubList(l, 0, 0); g = l + m;", "23123"),
        ("g = llListSort(llDeleteSubList(g, 0, 0) + g, 1, TRUE);", "12233"),
    ] {
        for dialect in DIALECTS {
            assert_eq!(value(GLOBALS, statements, "g", dialect), expected, "{statements}");
        }
    }
}

#[test]
fn casts_have_the_results_of_their_dialect() {
    const LOCALS: &str = "integer i = -5; float f = 2.75; string s = \" 0x1F!\"; vector v = <1, 2, 3>;
        rotation r = <1, 2, 3, 4>; key k = \"k\"; list l = [1, 2.5, \"x\"];
        string vs = \"<1, 2.5, 3>\"; string rs = \"<1, 2, 3, 4>\"; string fs = \"1.5e2x\";";
    for (expression, sl, opensim) in [
        ("(string)i", "-5", "-5"),
        ("(string)f", "2.750000", "2.750000"),
        ("(string)v", "<1.00000, 2.00000, 3.00000>", "<1.000000, 2.000000, 3.000000>"),
        ("(string)r", "<1.00000, 2.00000, 3.00000, 4.00000>", "<1.000000, 2.000000, 3.000000, 4.000000>"),
        ("(string)[v]", "<1.000000, 2.000000, 3.000000>", "<1.000000, 2.000000, 3.000000>"),
        ("(string)k", "k", "k"),
        ("(string)l", "12.500000x", "12.500000x"),
        ("(string)s", " 0x1F!", " 0x1F!"),
        ("(integer)f", "2", "2"),
        ("(integer)s", "31", "31"),
        ("(integer)\"4294967296\"", "-1", "-1"),
        ("(float)fs", "150.000000", "150.000000"),
        ("(float)i", "-5.000000", "-5.000000"),
        ("(vector)vs", "<1.00000, 2.50000, 3.00000>", "<1.000000, 2.500000, 3.000000>"),
        ("(vector)s", "<0.00000, 0.00000, 0.00000>", "<0.000000, 0.000000, 0.000000>"),
        ("(key)s", " 0x1F!", " 0x1F!"),
        ("(vector)v * (float)f", "<2.75000, 5.50000, 8.25000>", "<2.750000, 5.500000, 8.250000>"),
        ("(rotation)rs", "<1.00000, 2.00000, 3.00000, 4.00000>", "<1.000000, 2.000000, 3.000000, 4.000000>"),
    ] {
        assert_eq!(value("", LOCALS, expression, Sl), sl, "{expression}");
        assert_eq!(value("", LOCALS, expression, Opensim), opensim, "{expression} (opensim)");
    }
}

#[test]
fn conditions_follow_the_type() {
    let values = [
        ("integer", "0", false),
        ("integer", "-1", true),
        ("float", "0.0", false),
        ("float", "0.1", true),
        ("string", "\"\"", false),
        ("string", "\"0\"", true),
        ("key", "\"\"", false),
        ("key", "\"x\"", false),
        ("key", "\"00000000-0000-0000-0000-000000000000\"", false),
        ("key", "\"0123abcd-0000-1111-2222-333344445555\"", true),
        ("list", "[]", false),
        ("list", "[0]", true),
        ("vector", "<0, 0, 0>", false),
        ("vector", "<0, 0, 1>", true),
        ("rotation", "ZERO_ROTATION", false),
        ("rotation", "<0, 0, 1, 1>", true),
    ];
    const SAYS: &str = "llOwnerSay(\"true\"); else llOwnerSay(\"false\");";
    for (ty, literal, is_true) in values {
        for dialect in DIALECTS {
            let expected = if is_true { "true" } else { "false" };
            let local = format!("{ty} x = {literal}; if (x) {SAYS}");
            assert_eq!(said(&handler("", &local), dialect), [expected], "{local}");
            let global = format!("if (x) {SAYS}");
            let declaration = format!("{ty} x = {literal};");
            assert_eq!(said(&handler(&declaration, &global), dialect), [expected], "{ty} {literal}");
            if ty != "key" {
                let constant = format!("if ({literal}) {SAYS}");
                assert_eq!(said(&handler("", &constant), dialect), [expected], "{constant}");
            }
            let times = usize::from(is_true);
            for (statements, n) in [
                (format!("{ty} x = {literal}; while (x) {{ llOwnerSay(\"\"); return; }}"), times),
                (format!("{ty} x = {literal}; for (; x;) {{ llOwnerSay(\"\"); return; }}"), times),
                (
                    format!(
                        "{ty} x = {literal}; integer n; do {{ llOwnerSay(\"\"); if (n++) return; }} while (x);"
                    ),
                    1 + times,
                ),
            ] {
                assert_eq!(said(&handler("", &statements), dialect).len(), n, "{statements}");
            }
        }
    }
}
