//! Statements: branches, loops, jumps, functions.

use super::run::{DIALECTS, handler, outcome, said, value};

#[test]
fn branches_and_loops_run_as_often_as_they_should() {
    for (statements, expected) in [
        ("if (i == 1) s = \"a\"; else s = \"b\";", "a"),
        ("if (i != 1) s = \"a\"; else s = \"b\";", "b"),
        ("if (!(i == 1)) s = \"a\"; else if (!!i) s = \"b\"; else s = \"c\";", "b"),
        ("if (i == 2) s = \"a\";", ""),
        ("(5); ((i)); -2; (1 + 2); [1]; ([1] + [2]); <1, 2, 3>; (PI); ((s = \"a\"));", "a"),
        ("if (TRUE) s = \"a\"; else s = \"b\";", "a"),
        ("if (FALSE) s = \"a\"; else s = \"b\";", "b"),
        ("while (i < 4) { s += (string)i; ++i; }", "123"),
        ("while (i++ < 4) s += (string)i;", "234"),
        ("while (FALSE) s = \"a\";", ""),
        ("do { s += (string)i; } while (++i < 4);", "123"),
        ("do s += \"a\"; while (FALSE);", "a"),
        ("for (i = 0; i < 3; ++i) s += (string)i;", "012"),
        ("integer j; for (i = 0, j = 9; i < j; i += 3, --j) s += (string)i + (string)j;", "093867"),
        ("for (; i < 3;) s += (string)i++;", "12"),
        ("for (i = 0; i < 3; ++i) { integer j; for (; j < i; ++j) s += (string)i + (string)j; }", "102021"),
        ("for (i = 0; TRUE; ++i) { if (i == 2) jump out; s += (string)i; } @out;", "01"),
        ("while (TRUE) { if (++i > 3) jump out; s += (string)i; } @out; s += \"!\";", "23!"),
        ("@again; s += (string)i; if (++i < 4) jump again;", "123"),
        ("jump over; s = \"a\"; @over; s += \"b\";", "b"),
        ("{ jump in; } { s = \"a\"; @in; s += \"b\"; }", "b"),
        ("{ { @deep; s += (string)i; } if (i++ < 3) jump deep; }", "123"),
        ("jump last; { @last; s += \"a\"; jump end; } { @last; s += \"b\"; } @end;", "b"),
        ("{ integer x = 5; s += (string)x; } { integer y; s += (string)y; }", "50"),
        ("for (i = 0; i < 2; ++i) { integer x; s += (string)x; x = 7; }", "00"),
        ("for (i = 0; i < 2; ++i) { list x; x += i; s += (string)x; }", "01"),
        ("for (i = 0; i < 2; ++i) { string x = s; s = x + (string)i; }", "01"),
        ("integer x = i + 1; { integer x = x + 1; s += (string)x; } s += (string)x;", "32"),
    ] {
        for dialect in DIALECTS {
            let found = value("", &format!("integer i = 1; string s; {statements}"), "s", dialect);
            assert_eq!(found, expected, "{statements}");
        }
    }
}

/// A jump leaves out the declaration of a variable, which then has the default value of its type, whatever was in registers before.
#[test]
fn variables_without_their_declaration_have_default_values() {
    let statements =
        "{ integer i = 1; float f = 2.0; string s = \"s\"; vector v = <1, 2, 3>; list l = [i, f, s, v];
            llOwnerSay((string)l); }
        jump over;
        integer i = 1; float f = 2.0; string s = \"s\"; key k = \"k\"; vector v = <1, 2, 3>;
        rotation r = <1, 2, 3, 4>; list l = [1];
        @over;
        llOwnerSay((string)([i, f, s, k, v, r] + l));";
    let expected = [
        "12.000000s<1.000000, 2.000000, 3.000000>",
        "00.000000<0.000000, 0.000000, 0.000000><0.000000, 0.000000, 0.000000, 1.000000>",
    ];
    for dialect in DIALECTS {
        assert_eq!(said(&handler("", statements), dialect), expected);
    }
}

#[test]
fn functions_take_and_return_values_of_all_types() {
    const FUNCTIONS: &str = "integer add(integer a, integer b) { return a + b; }
        float half(float x) { return x / 2.0; }
        string twice(string s) { return s + s; }
        key same(key k) { return k; }
        vector turned(vector v) { return <v.y, v.x, v.z>; }
        rotation reversed(rotation r) { return <-r.x, -r.y, -r.z, r.s>; }
        list pair(list l, integer n) { return [n] + l + n; }
        integer many(integer a, string b, vector c, list d, float e, rotation f, key g) {
            return a + llStringLength(b) + (integer)c.z + (d != []) + (integer)e + (integer)f.s + llStringLength(g);
        }
        integer early(integer n) { if (n > 1) { return 1; } else { while (n < 1) { if (n == -1) return 2; ++n; } } return 3; }
        nothing(string s) { if (s == \"\") return; llOwnerSay(s); }";
    for (expression, expected) in [
        ("add(add(1, 2), add(3, 4))", "10"),
        ("half(3)", "1.500000"),
        ("twice(twice(\"a\"))", "aaaa"),
        ("same(\"k\")", "k"),
        ("turned(<1, 2, 3>) == <2, 1, 3>", "1"),
        ("reversed(<1, 2, 3, 4>) == <-1, -2, -3, 4>", "1"),
        ("pair([1], 2) + pair([], 3)", "21233"),
        ("many(1, \"xy\", <1, 2, 3>, [1, 2, 3, 4], 5, <1, 2, 3, 6>, \"1234567\")", "28"),
        ("[early(2), early(-2), early(1)]", "123"),
    ] {
        for dialect in DIALECTS {
            assert_eq!(value(FUNCTIONS, "", expression, dialect), expected, "{expression}");
        }
    }
    for dialect in DIALECTS {
        let statements = "nothing(\"\"); nothing(\"a\"); if (TRUE) return nothing(\"b\"); nothing(\"c\");";
        assert_eq!(said(&handler(FUNCTIONS, statements), dialect), ["a", "b"]);
    }
}

#[test]
fn functions_call_themselves_and_each_other() {
    const FUNCTIONS: &str = "integer factorial(integer n) { if (n < 2) return 1; return n * factorial(n - 1); }
        integer fibonacci(integer n) { if (n < 2) return n; return fibonacci(n - 1) + fibonacci(n - 2); }
        integer even(integer n) { if (n == 0) return TRUE; return odd(n - 1); }
        integer odd(integer n) { if (n == 0) return FALSE; return even(n - 1); }
        string spelled(integer n) { string digit = (string)(n % 10); if (n > 9) return spelled(n / 10) + digit; return digit; }
        list down(integer n) { if (n == 0) return []; return [n] + down(n - 1); }
        integer endless(integer n) { return endless(n + 1) + 1; }";
    for (expression, expected) in [
        ("factorial(10)", "3628800"),
        ("fibonacci(15)", "610"),
        ("even(101)", "0"),
        ("spelled(90210)", "90210"),
        ("down(5)", "54321"),
    ] {
        for dialect in DIALECTS {
            assert_eq!(value(FUNCTIONS, "", expression, dialect), expected, "{expression}");
        }
    }
    for dialect in DIALECTS {
        let (said, failure) = outcome(&handler(FUNCTIONS, "llOwnerSay((string)endless(0));"), dialect);
        assert_eq!(said, [""; 0]);
        assert_eq!(failure.map(|failure| failure.error.to_string()).as_deref(), Some("Stack-Heap Collision"));
    }
}

#[test]
fn printed_values_go_to_the_host() {
    for dialect in DIALECTS {
        let statements =
            "integer i = 1; print(i); print(<1, 2, 3> * 2 * <1, 0, 0>); print([i, \"a\"]); print(\"key\");";
        let expected = ["print 1", "print 2.000000", "print 1a", "print key"];
        assert_eq!(said(&handler("", statements), dialect), expected);
    }
}
