//! Order of evaluation, cell by cell.

use super::run::{DIALECTS, handler, said, value};

/// Functions that note their argument and return it.
const TRACE: &str = "string trace;
    integer t(integer n) { trace += (string)n; return n; }
    float u(integer n) { trace += (string)n; return n; }
    string w(string x) { trace += x; return x; }
    list ls(integer n) { trace += (string)n; return [n]; }
    vector v3(integer n) { trace += (string)n; return <n, n, n>; }
    none(integer a, string b, float c) { trace += \"!\"; }
    integer i; float f; list l; vector v;";

#[test]
fn the_right_operand_comes_first_and_lists_go_from_left_to_right() {
    for (expression, order) in [
        ("t(1) + t(2)", "21"),
        ("t(1) - t(2) - t(3)", "321"),
        ("t(1) + t(2) * t(3)", "321"),
        ("(t(1) + t(2)) * t(3)", "321"),
        ("t(1) / t(2)", "21"),
        ("t(1) % t(2)", "21"),
        ("t(1) & t(2) | t(3) ^ t(4)", "4321"),
        ("t(1) << t(2) >> t(3)", "321"),
        ("t(1) == t(2)", "21"),
        ("t(1) < t(2)", "21"),
        ("t(1) > t(2)", "21"),
        ("t(1) >= t(2)", "21"),
        ("t(0) && t(1)", "10"),
        ("t(1) || t(0)", "01"),
        ("t(1) || t(2) && t(3)", "321"),
        ("t(1) + u(2)", "21"),
        ("u(1) > t(2)", "21"),
        ("u(1) * v3(2)", "21"),
        ("v3(1) * u(2)", "21"),
        ("v3(1) % v3(2)", "21"),
        ("w(\"1\") + w(\"2\") + w(\"3\")", "321"),
        ("w(\"1\") == w(\"2\")", "21"),
        ("ls(1) + ls(2)", "21"),
        ("ls(1) + t(2)", "21"),
        ("t(1) + ls(2)", "21"),
        ("ls(1) + [t(2)]", "21"),
        ("ls(1) + [t(2), t(3)] + t(4)", "4231"),
        ("ls(1) != ls(2)", "21"),
        ("[t(1), t(2), t(3)]", "123"),
        ("[t(1) + t(2), t(3)]", "213"),
        ("<t(1), t(2), t(3)>", "123"),
        ("<t(1), u(2), t(3), u(4)>", "1234"),
        ("none(t(1), w(\"2\"), t(3))", "123!"),
        ("none(t(1) + t(2), w(\"3\"), u(4))", "2134!"),
        ("i = t(1) + (i = t(2))", "21"),
        ("i += t(1) - t(2)", "21"),
        ("l = ls(1) + (l = ls(2))", "21"),
        ("l += [t(1), t(2)]", "12"),
        ("l = l + [t(1)]", "1"),
        ("f *= t(1) + u(2)", "21"),
        ("v.x = t(1) + (v.y = t(2))", "21"),
        ("-t(1) + ~t(2)", "21"),
        ("(string)t(1) + (string)t(2)", "21"),
        ("print(t(1) + t(2))", "21"),
        ("llListen(t(1), w(\"2\"), w(\"3\"), w(\"4\"))", "1234"),
    ] {
        for dialect in DIALECTS {
            let said = said(&handler(TRACE, &format!("{expression}; llOwnerSay(trace);")), dialect);
            assert_eq!(said.last().map(String::as_str), Some(order), "{expression}");
        }
    }
}

/// Operands that wait have the value that they had when they were evaluated.
#[test]
fn assignments_do_not_change_operands_that_were_evaluated_before() {
    const GLOBALS: &str = "integer g = 5; string gs = \"a\"; list gl = [1]; vector gv = <1, 2, 3>;
        integer set(integer n) { g = n; return 1; }
        integer local(integer i) { i = 100; return i; }";
    const LOCALS: &str = "float f = 1.0; integer i = 5; string s = \"a\"; list l = [1];
        vector v = <1, 2, 3>; rotation r = <1, 2, 3, 4>;";
    for (expression, expected) in [
        ("(f = 2.0) + f", "3.000000"),
        ("f + (f = 2.0)", "4.000000"),
        ("((f = 2.0)) + ((f))", "3.000000"),
        ("i++ + i", "10"),
        ("i + i++", "11"),
        ("i++ + i++", "11"),
        ("++i * i", "30"),
        ("i * ++i", "36"),
        ("i-- - --i", "0"),
        ("i = (i = 3) + i", "8"),
        ("i += (i = 3)", "6"),
        ("i -= i++", "1"),
        ("(i = 1) + (i = 2)", "3"),
        ("-i + (i = 2)", "0"),
        ("(i == 5) + (i = 2)", "2"),
        ("i = i = 7", "7"),
        ("(v.x = 9.0) + v.x", "10.000000"),
        ("v.x + (v.x = 9.0)", "18.000000"),
        ("(v = <4, 5, 6>) * v", "32.000000"),
        ("v = <v.z, v.x, v.y>", "<3.00000, 1.00000, 2.00000>"),
        ("v = <(v.y = 7.0), v.y, 0>", "<7.00000, 7.00000, 0.00000>"),
        ("r = <r.s, r.x, r.y, r.z>", "<4.00000, 1.00000, 2.00000, 3.00000>"),
        ("s + (s = \"b\")", "bb"),
        ("(s = \"b\") + s", "ba"),
        ("s = s + s", "aa"),
        ("s += s += \"c\"", "acac"),
        ("(string)((l = [7, 8]) + l)", "781"),
        ("(string)(l + (l = [7, 8]))", "7878"),
        ("(string)(l = (l = []) + l + [2])", "12"),
        ("(string)(l = l + l)", "11"),
        ("(string)(l += l)", "11"),
        ("(string)((l += [2]) + l)", "121"),
        ("g + set(7)", "8"),
        ("set(7) + g", "6"),
        ("(g = 3) + g", "8"),
        ("g++ + g", "10"),
        ("gs + (gs = \"b\")", "bb"),
        ("(gs = \"b\") + gs", "ba"),
        ("(string)(gl += gl)", "11"),
        ("(string)(gl = gl + gl + [2])", "112"),
        ("(string)((gl = [7]) + gl)", "71"),
        ("(gv.x = 9.0) + gv.x", "10.000000"),
        ("gv = <gv.z, gv.x, gv.y>", "<3.00000, 1.00000, 2.00000>"),
        ("local(i) + i", "105"),
        ("i + local(i)", "105"),
    ] {
        for dialect in DIALECTS {
            let found = value(GLOBALS, LOCALS, expression, dialect);
            assert_eq!(without_decimals(&found), without_decimals(expected), "{expression}");
        }
    }
}

/// Vectors have 5 decimals in one dialect, 6 in the other.
fn without_decimals(text: &str) -> String {
    text.replace(".000000", "").replace(".00000", "")
}
