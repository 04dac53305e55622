//! Small scripts that run from text to words, with the same words in both dialects.

use super::solo::lines;
use crate::Dialect;

/// A script: declarations, statements of `state_entry`, the words.
type Source = (&'static str, &'static str, &'static [&'static str]);

const NUMBERS: &[Source] = &[
    (
        "integer gcd(integer a, integer b) { while (b) { integer t = a % b; a = b; b = t; } return a; }",
        "print(gcd(1071, 462)); print(gcd(17, 5)); print(gcd(0, 7));",
        &["21", "1", "7"],
    ),
    (
        "integer fib(integer n) { if (n < 2) return n; return fib(n - 1) + fib(n - 2); }",
        "print(fib(0)); print(fib(15));",
        &["0", "610"],
    ),
    (
        "",
        "list sieve; integer i; for (i = 2; i < 30; ++i) { integer p = TRUE; integer k;
            for (k = 0; k < llGetListLength(sieve); ++k) if (i % llList2Integer(sieve, k) == 0) p = FALSE;
            if (p) sieve += i; } llOwnerSay(llDumpList2String(sieve, \" \"));",
        &["2 3 5 7 11 13 17 19 23 29"],
    ),
    (
        "integer steps(integer n) { integer s; while (n != 1) { if (n % 2) n = 3 * n + 1; else n /= 2; ++s; } return s; }",
        "print(steps(27)); print(steps(1));",
        &["111", "0"],
    ),
    (
        "",
        "integer i; for (i = 1; i <= 15; ++i) { string s; if (i % 3 == 0) s += \"Fizz\"; if (i % 5 == 0) s += \"Buzz\";
            if (s == \"\") s = (string)i; if (i > 9) llOwnerSay(s); }",
        &["Buzz", "11", "Fizz", "13", "14", "FizzBuzz"],
    ),
    (
        "string hex(integer n) { string s; do { s = llGetSubString(\"0123456789abcdef\", n & 15, n & 15) + s; n = (n >> 4) & 0xFFFFFFF; } while (n); return s; }",
        "print(hex(0)); print(hex(48879)); print(hex(-1)); print((integer)(\"0x\" + hex(48879)));",
        &["0", "beef", "ffffffff", "48879"],
    ),
    (
        "integer power(integer b, integer e) { integer r = 1; while (e) { if (e & 1) r *= b; b *= b; e = e >> 1; } return r; }",
        "print(power(3, 13)); print(power(2, 31)); print(power(7, 0));",
        &["1594323", "-2147483648", "1"],
    ),
    (
        "integer isqrt(integer n) { integer x = n; integer y = (x + 1) / 2; while (y < x) { x = y; y = (x + n / x) / 2; } return x; }",
        "print(isqrt(1000000)); print(isqrt(99)); print((integer)llSqrt(99.0));",
        &["1000", "9", "9"],
    ),
    (
        "",
        "vector place = <10.0, 0.0, 0.0>; rotation turn = llEuler2Rot(<0.0, 0.0, PI_BY_TWO>); integer i;
            for (i = 0; i < 4; ++i) place = place * turn; print(llRound(place.x)); print(llRound(llVecMag(place)));",
        &["10", "10"],
    ),
    (
        "integer popcount(integer n) { integer c; while (n) { n = n & (n - 1); ++c; } return c; }",
        "print(popcount(255)); print(popcount(-1)); print(popcount(0));",
        &["8", "32", "0"],
    ),
];

const TEXTS: &[Source] = &[
    (
        "string reversed(string s) { integer i = llStringLength(s); string r; while (i) { --i; r += llGetSubString(s, i, i); } return r; }",
        "llOwnerSay(reversed(\"läuft\")); llOwnerSay(reversed(\"\"));",
        &["tfuäl", ""],
    ),
    (
        "string shifted(string s, integer by) { string r; integer i; for (i = 0; i < llStringLength(s); ++i) { integer c = llOrd(s, i);
            if (c >= 97 && c <= 122) c = 97 + (c - 97 + by + 26) % 26; r += llChar(c); } return r; }",
        "llOwnerSay(shifted(\"hello, world\", 3)); llOwnerSay(shifted(shifted(\"hello\", 3), -3));",
        &["khoor, zruog", "hello"],
    ),
    (
        "string roman(integer n) { list l = [1000, \"M\", 900, \"CM\", 500, \"D\", 400, \"CD\", 100, \"C\", 90, \"XC\", 50, \"L\", 40, \"XL\", 10, \"X\", 9, \"IX\", 5, \"V\", 4, \"IV\", 1, \"I\"];
            string s; integer i; for (i = 0; i < 26; i += 2) while (n >= llList2Integer(l, i)) { s += llList2String(l, i + 1); n -= llList2Integer(l, i); } return s; }",
        "llOwnerSay(roman(2009)); llOwnerSay(roman(1994)); llOwnerSay(roman(4));",
        &["MMIX", "MCMXCIV", "IV"],
    ),
    (
        "",
        "list words = llParseString2List(\"the cat and the dog and the bird\", [\" \"], []); list seen; integer i;
            for (i = 0; i < llGetListLength(words); ++i) { string w = llList2String(words, i); integer at = llListFindList(seen, [w]);
                if (at < 0) seen += [w, 1]; else seen = llListReplaceList(seen, [llList2Integer(seen, at + 1) + 1], at + 1, at + 1); }
            llOwnerSay(llList2CSV(llListSort(seen, 2, TRUE)));",
        &["and, 2, bird, 1, cat, 1, dog, 1, the, 3"],
    ),
    (
        "integer mirrored(string s) { s = llToLower(llDumpList2String(llParseString2List(s, [\" \", \",\"], []), \"\")); integer n = llStringLength(s); integer i;
            for (i = 0; i < n / 2; ++i) if (llGetSubString(s, i, i) != llGetSubString(s, n - 1 - i, n - 1 - i)) return FALSE; return TRUE; }",
        "print(mirrored(\"A man, a plan, a canal, Panama\")); print(mirrored(\"door\"));",
        &["1", "0"],
    ),
    (
        "integer distance(string a, string b) { integer n = llStringLength(b); list row; integer i; integer j; for (j = 0; j <= n; ++j) row += j;
            for (i = 1; i <= llStringLength(a); ++i) { list next = [i]; for (j = 1; j <= n; ++j) {
                integer cost = llList2Integer(row, j - 1) + (llGetSubString(a, i - 1, i - 1) != llGetSubString(b, j - 1, j - 1));
                integer least = llList2Integer(row, j) + 1; if (llList2Integer(next, j - 1) + 1 < least) least = llList2Integer(next, j - 1) + 1;
                if (cost < least) least = cost; next += least; } row = next; } return llList2Integer(row, n); }",
        "print(distance(\"kitten\", \"sitting\")); print(distance(\"\", \"abc\")); print(distance(\"same\", \"same\"));",
        &["3", "3", "0"],
    ),
    (
        "",
        "string s = \"grün & blau = 100%\"; llOwnerSay(llEscapeURL(s)); llOwnerSay(llUnescapeURL(llEscapeURL(s))); llOwnerSay(llBase64ToString(llStringToBase64(s)));",
        &["gr%C3%BCn%20%26%20blau%20%3D%20100%25", "grün & blau = 100%", "grün & blau = 100%"],
    ),
    (
        "string padded(string s, integer n) { while (llStringLength(s) < n) s = \" \" + s; return s; }",
        "llOwnerSay(\"[\" + padded(\"7\", 3) + \"]\"); llOwnerSay(\"[\" + padded(\"1234\", 3) + \"]\");",
        &["[  7]", "[1234]"],
    ),
    (
        "string field(string s, string name) { list l = llParseStringKeepNulls(s, [\"=\", \";\"], []); integer at = llListFindList(l, [name]); if (at < 0) return \"?\"; return llList2String(l, at + 1); }",
        "llOwnerSay(field(\"door=open;lamp=;sky=blue\", \"sky\")); llOwnerSay(field(\"door=open;lamp=\", \"lamp\")); llOwnerSay(field(\"\", \"x\"));",
        &["blue", "", "?"],
    ),
];

const STRUCTURES: &[Source] = &[
    (
        "list sorted(list l) { integer n = llGetListLength(l); integer i; integer j; for (i = 0; i < n; ++i) for (j = 0; j < n - 1 - i; ++j) {
            integer a = llList2Integer(l, j); integer b = llList2Integer(l, j + 1); if (a > b) l = llListReplaceList(l, [b, a], j, j + 1); } return l; }",
        "list l = [5, 3, 9, -1, 3, 0]; llOwnerSay(llList2CSV(sorted(l))); llOwnerSay(llList2CSV(llListSort(l, 1, TRUE))); llOwnerSay(llList2CSV(l));",
        &["-1, 0, 3, 3, 5, 9", "-1, 0, 3, 3, 5, 9", "5, 3, 9, -1, 3, 0"],
    ),
    (
        "",
        "string json = llList2Json(JSON_OBJECT, [\"name\", \"lamp\", \"on\", JSON_TRUE, \"sizes\", llList2Json(JSON_ARRAY, [1, 2, 3])]);
            json = llJsonSetValue(json, [\"sizes\", 1], \"20\"); json = llJsonSetValue(json, [\"sizes\", JSON_APPEND], \"4\");
            llOwnerSay(llJsonGetValue(json, [\"name\"])); llOwnerSay(llJsonGetValue(json, [\"sizes\"])); print(llJsonValueType(json, [\"on\"]) == JSON_TRUE);
            json = llJsonSetValue(json, [\"name\"], JSON_DELETE); print(llJsonValueType(json, [\"name\"]) == JSON_INVALID);",
        &["lamp", "[1,20,3,4]", "1", "1"],
    ),
    (
        "list queue; push(integer n) { queue += n; } integer pop() { integer n = llList2Integer(queue, 0); queue = llDeleteSubList(queue, 0, 0); return n; }",
        "push(1); push(2); print(pop()); push(3); print(pop()); print(pop()); print(llGetListLength(queue));",
        &["1", "2", "3", "0"],
    ),
    (
        "integer hanoi(integer n, string a, string b, string c) { if (n == 0) return 0; integer m = hanoi(n - 1, a, c, b); return m + 1 + hanoi(n - 1, c, b, a); }",
        "print(hanoi(6, \"a\", \"b\", \"c\"));",
        &["63"],
    ),
    (
        "list transposed(list m, integer width) { list r; integer i; for (i = 0; i < width; ++i) r += llList2ListStrided(llList2List(m, i, -1), 0, -1, width); return r; }",
        "llOwnerSay(llList2CSV(transposed([1, 2, 3, 4, 5, 6], 3)));",
        &["1, 4, 2, 5, 3, 6"],
    ),
    (
        "integer calls; integer note(integer n) { ++calls; return n; }",
        "if (note(0) && note(1)) print(\"never\"); print(calls); if (note(1) || note(0)) print(calls);",
        &["2", "4"],
    ),
    (
        "",
        "integer i; @again; ++i; if (i < 5) jump again; print(i); jump out; print(\"never\"); @out; print(\"end\");",
        &["5", "end"],
    ),
    (
        "list unique(list l) { list r; integer i = -llGetListLength(l); while (i) { list one = llList2List(l, i, i); if (llListFindList(r, one) < 0) r += one; ++i; } return r; }",
        "llOwnerSay(llList2CSV(unique([3, 1, 3, \"1\", 1, 2]))); llOwnerSay(llList2CSV(unique([])));",
        &["3, 1, 1, 2", ""],
    ),
    (
        "string hash; mix(string s) { hash = llSHA256String(hash + s); }",
        "mix(\"a\"); mix(\"b\"); print(hash == llSHA256String(llSHA256String(\"a\") + \"b\")); print(llStringLength(hash));",
        &["1", "64"],
    ),
    (
        "integer total(list l) { return (integer)llListStatistics(LIST_STAT_SUM, l); }",
        "list l; integer i; for (i = 1; i <= 100; ++i) l += i; print(total(l)); print((integer)llListStatistics(LIST_STAT_MAX, l)); print(total(llListRandomize(l, 1)));",
        &["5050", "100", "5050"],
    ),
];

fn source(declarations: &str, statements: &str) -> String {
    format!("{declarations}\ndefault {{ state_entry() {{ {statements} }} }}")
}

fn check(sources: &[Source]) {
    for (declarations, statements, expected) in sources {
        for dialect in [Dialect::Sl, Dialect::Opensim] {
            assert_eq!(
                lines(&source(declarations, statements), dialect),
                *expected,
                "{declarations} {statements}"
            );
        }
    }
}

#[test]
fn scripts_of_numbers() {
    check(NUMBERS);
}

#[test]
fn scripts_of_texts() {
    check(TEXTS);
}

#[test]
fn scripts_of_lists_and_statements() {
    check(STRUCTURES);
}

#[test]
fn states_change_and_scripts_begin_anew_without_a_world() {
    let source = "integer n = 3;
        default { state_entry() { llOwnerSay(\"default \" + (string)n); --n; llSleep(0.5); state other; } state_exit() { llOwnerSay(\"exit\"); } }
        state other { state_entry() { llOwnerSay(\"other \" + (string)n); if (n > 1) state default; } }";
    let expected = ["default 3", "exit", "other 2", "default 2", "exit", "other 1"];
    for dialect in [Dialect::Sl, Dialect::Opensim] {
        assert_eq!(lines(source, dialect), expected);
    }
}
