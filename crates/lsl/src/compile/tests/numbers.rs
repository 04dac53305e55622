//! Integers and floats, cell by cell.

use super::run::{DIALECTS, error, value};
use crate::Dialect::{Opensim, Sl};

const INTEGERS: &str = "integer max = 2147483647; integer min = -2147483648; integer n = 7; integer z = 0;";

#[test]
fn integers_wrap_and_truncate() {
    for (expression, expected) in [
        ("max + 1", "-2147483648"),
        ("min - 1", "2147483647"),
        ("max * 2", "-2"),
        ("-min", "-2147483648"),
        ("min / -1", "-2147483648"),
        ("min % -1", "0"),
        ("-n / 2", "-3"),
        ("-n % 3", "-1"),
        ("n % -3", "1"),
        ("1 << (n + 26)", "2"),
        ("n << 32", "7"),
        ("-8 >> (n - 6)", "-4"),
        ("min >> 31", "-1"),
        ("n & 3", "3"),
        ("n | 8", "15"),
        ("n ^ 2", "5"),
        ("~n", "-8"),
        ("!n", "0"),
        ("!z", "1"),
        ("n && z", "0"),
        ("n && 2", "1"),
        ("z || z", "0"),
        ("z || -1", "1"),
        ("n == 7", "1"),
        ("n != 7", "0"),
        ("n < 7", "0"),
        ("n <= 7", "1"),
        ("n > 6", "1"),
        ("n >= 8", "0"),
        ("n + 32767", "32774"),
        ("n + 32768", "32775"),
        ("n - 32768", "-32761"),
        ("n - 32769", "-32762"),
        ("n - -32768", "32775"),
        ("40000 + n", "40007"),
        ("3 - n", "-4"),
        ("n++ + z", "7"),
        ("--n", "6"),
        ("n -= 3", "4"),
        ("n *= n", "49"),
        ("n /= 2", "3"),
        ("n %= 4", "3"),
        ("0x7FFFFFFF + n", "-2147483642"),
        ("2147483647 + 1", "-2147483648"),
        ("1 + 2 * 3 - -4", "11"),
    ] {
        for dialect in DIALECTS {
            assert_eq!(value("", INTEGERS, expression, dialect), expected, "{expression}");
        }
    }
}

#[test]
fn division_by_zero_stops_the_script() {
    let statements = "integer z = 0; float f = 0.0; integer n = 1; float g = 1.0; vector v = <1, 2, 3>;";
    for expression in [
        "n / z", "n % z", "g / f", "n / f", "g / z", "f / f", "v / f", "v / z", "n /= z", "g /= f", "1 / 0",
        "1.0 / 0",
    ] {
        for dialect in DIALECTS {
            assert_eq!(error(statements, expression, dialect), "Math error", "{expression}");
        }
    }
}

/// 16777217 is the first integer that float32 does not have.
#[test]
fn floats_are_rounded_where_they_are_stored_in_sl() {
    const GLOBALS: &str = "float gf = 16777216.0; vector gv; rotation gr;
        integer is(float x, integer n) { return x == n; }
        float back(integer n) { return n; }
        float sum(float x) { return x + 1.0; }";
    const LOCALS: &str = "integer n = 16777217; float f = 16777216.0; vector v; rotation r; float other;";
    for (expression, sl, opensim) in [
        // Intermediate results are doubles.
        ("n * 1.0 == n", "1", "1"),
        ("f + 1.0 == n", "1", "1"),
        ("(float)n == n", "1", "1"),
        ("f + 1.0 > f", "1", "1"),
        ("(f + 1.0) * 2.0 == 33554434", "1", "1"),
        // Constants.
        ("16777217.0 == n", "0", "1"),
        ("0.1 + 0.2 == 0.3", "0", "0"),
        // An assignment to a local variable yields the double.
        ("(f = n) == n", "1", "1"),
        ("(f = n * 1.0) == n", "1", "1"),
        ("(f += 1.0) == n", "1", "1"),
        ("(other = f = n) == n", "1", "1"),
        ("++f == n", "1", "1"),
        ("f++ == 16777216", "1", "1"),
        ("(f = n) * 0.0 + f == n", "0", "0"),
        ("(f = f + 1.0) - f", "1.000000", "1.000000"),
        // The variable has float32.
        ("f * (integer)((f = n) - n + 1.0) == n", "0", "1"),
        // An assignment to a global variable or a component yields float32.
        ("(gf = n) == n", "0", "1"),
        ("(gf += 1.0) == n", "0", "1"),
        ("++gf == n", "0", "1"),
        ("gf++ == 16777216", "1", "1"),
        ("(v.x = n) == n", "0", "1"),
        ("(v.x = n * 1.0) == n", "0", "1"),
        ("(gv.y = n) == n", "0", "1"),
        ("(r.s = n) == n", "0", "1"),
        ("(gr.z = n) == n", "0", "1"),
        // Parameters, results, elements, components.
        ("is(n, n)", "0", "1"),
        ("is(f + 1.0, n)", "0", "1"),
        ("back(n) == n", "0", "1"),
        ("sum(f) == n", "0", "1"),
        ("llList2Float([n * 1.0], 0) == n", "0", "1"),
        ("llList2Float([] + f + (f + 1.0), 1) == n", "0", "1"),
        ("<f + 1.0, 0, 0> * <1, 0, 0> == n", "0", "1"),
        ("<n, 0, 0> == <16777216, 0, 0>", "1", "0"),
        // To an integer through float32.
        ("(integer)(f + 1.0)", "16777216", "16777217"),
        ("(integer)1e10", "-2147483648", "-2147483648"),
        ("(integer)-1.9", "-1", "-1"),
        // As text.
        ("16777216.0", "16777220.000000", "16777216.000000"),
        ("f + 1.0", "16777220.000000", "16777217.000000"),
        ("1.0 / 3.0", "0.333333", "0.333333"),
        ("-f", "-16777220.000000", "-16777216.000000"),
    ] {
        assert_eq!(value(GLOBALS, LOCALS, expression, Sl), sl, "{expression}");
        assert_eq!(value(GLOBALS, LOCALS, expression, Opensim), opensim, "{expression} (opensim)");
    }
}

#[test]
fn integers_times_floats_are_truncated_and_have_no_value() {
    for dialect in DIALECTS {
        for (before, factor, after) in [("7", "1.5", "10"), ("-7", "1.5", "-10"), ("3", "0.0", "0")] {
            let statements = format!("integer i = {before}; i *= {factor}; (i *= 1.0);");
            assert_eq!(value("", &statements, "i", dialect), after);
            let statements = format!("g = {before}; g *= {factor};");
            assert_eq!(value("integer g;", &statements, "g", dialect), after);
        }
        for used in ["i *= 1.5", "1 + (i *= 1.5)", "[i *= 1.5]"] {
            let found = error("integer i = 7;", used, dialect);
            assert_eq!(found, "Value of an assignment that has none", "{used}");
        }
    }
}

#[test]
fn vectors_and_rotations_have_their_operators() {
    const LOCALS: &str = "vector v = <1, 2, 3>; vector w = <4, 5, 6>; float f = 2.0; integer i = 2;
        rotation r = <0, 0, 0.70710678, 0.70710678>; rotation q = <1, 2, 3, 4>;";
    for (expression, expected) in [
        ("v + w", "<5, 7, 9>"),
        ("v - w", "<-3, -3, -3>"),
        ("v * w", "32"),
        ("v % w", "<-3, 6, -3>"),
        ("v * f", "<2, 4, 6>"),
        ("f * v", "<2, 4, 6>"),
        ("v * i", "<2, 4, 6>"),
        ("i * v", "<2, 4, 6>"),
        ("w / f", "<2, 2.5, 3>"),
        ("w / i", "<2, 2.5, 3>"),
        ("-v", "<-1, -2, -3>"),
        ("v * r", "<-2, 1, 3>"),
        ("v / r", "<2, -1, 3>"),
        ("q + q", "<2, 4, 6, 8>"),
        ("q - q", "<0, 0, 0, 0>"),
        ("-q", "<-1, -2, -3, -4>"),
        ("q * ZERO_ROTATION", "<1, 2, 3, 4>"),
        ("q / ZERO_ROTATION", "<1, 2, 3, 4>"),
        ("v == <1, 2, 3>", "1"),
        ("v != w", "1"),
        ("q == q", "1"),
        ("q != q", "0"),
        ("v += w", "<5, 7, 9>"),
        ("v -= w", "<-3, -3, -3>"),
        ("v *= f", "<2, 4, 6>"),
        ("v *= i", "<2, 4, 6>"),
        ("v *= r", "<-2, 1, 3>"),
        ("w /= f", "<2, 2.5, 3>"),
        ("v %= w", "<-3, 6, -3>"),
        ("q *= ZERO_ROTATION", "<1, 2, 3, 4>"),
        ("v.x + v.y * v.z", "7"),
        ("q.x + q.s", "5"),
        ("v.z++ + v.z", "6"),
        ("++v.z", "4"),
        ("v.y = i", "2"),
        ("v.y *= 3", "6"),
        ("q.s -= 1", "3"),
        ("-<1, 2, 3> + ZERO_VECTOR", "<-1, -2, -3>"),
        ("<i, f, 1> + v", "<3, 4, 4>"),
    ] {
        for dialect in DIALECTS {
            assert_eq!(short(&value("", LOCALS, expression, dialect)), expected, "{expression}");
            // The same of a global variable.
            let globals = LOCALS.replace(';', ";\n");
            assert_eq!(short(&value(&globals, "", expression, dialect)), expected, "{expression}");
        }
    }
}

/// Numbers without the zeros at their ends: their number depends on the dialect.
fn short(text: &str) -> String {
    let is_end = |c: char| matches!(c, ',' | '>');
    let pieces = text.split_inclusive(is_end).map(|piece| {
        let (number, end) =
            piece.strip_suffix(is_end).map_or((piece, ""), |number| (number, &piece[number.len()..]));
        let number =
            if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
        format!("{number}{end}")
    });
    pieces.collect::<String>().replace("-0,", "0,").replace("-0>", "0>")
}
