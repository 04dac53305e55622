//! Each function of values, called from a source: expressions with their values in `sl` and in `opensim`.

use super::solo::value;
use crate::Dialect;
use script::library::pure_functions;

type Case = (&'static str, &'static str, &'static str);

const ID: &str = "01234567-89ab-cdef-0123-456789abcdef";

const NUMBERS: &[Case] = &[
    ("llAbs(-4)", "4", "4"),
    ("llFabs(-2.5)", "2.500000", "2.500000"),
    ("llFloor(-1.5)", "-2", "-2"),
    ("llCeil(-1.5)", "-1", "-1"),
    ("llRound(2.5)", "3", "3"),
    ("llPow(2.0, 10.0)", "1024.000000", "1024.000000"),
    ("llSqrt(2.25)", "1.500000", "1.500000"),
    ("llLog(1.0)", "0.000000", "0.000000"),
    ("llLog10(1000.0)", "3.000000", "3.000000"),
    ("llSin(PI_BY_TWO)", "1.000000", "1.000000"),
    ("llCos(0.0)", "1.000000", "1.000000"),
    ("llTan(0.0)", "0.000000", "0.000000"),
    ("llAsin(1.0)", "1.570796", "1.570796"),
    ("llAcos(1.0)", "0.000000", "0.000000"),
    ("llAtan2(1.0, 0.0)", "1.570796", "1.570796"),
    ("llAtan2(1, 0)", "1.570796", "1.570796"),
    ("llModPow(3, 4, 5)", "1", "1"),
    ("llFrand(0.0)", "0.000000", "0.000000"),
    ("llFrand(1.0) < 1.0", "1", "1"),
    ("llFrand(1.0) == llFrand(1.0)", "0", "0"),
    ("llsRGB2Linear(<0.0, 0.5, 1.0>)", "<0.00000, 0.21404, 1.00000>", "<0.000000, 0.214041, 1.000000>"),
    ("llLinear2sRGB(<0.0, 0.5, 1.0>)", "<0.00000, 0.73536, 1.00000>", "<0.000000, 0.735357, 1.000000>"),
    ("llVecMag(<3.0, 4.0, 0.0>)", "5.000000", "5.000000"),
    ("llVecDist(<1.0, 1.0, 1.0>, <4.0, 5.0, 1.0>)", "5.000000", "5.000000"),
    ("llVecNorm(<0.0, 3.0, 4.0>)", "<0.00000, 0.60000, 0.80000>", "<0.000000, 0.600000, 0.800000>"),
];

const ROTATIONS: &[Case] = &[
    (
        "llEuler2Rot(<0.0, 0.0, PI_BY_TWO>)",
        "<0.00000, 0.00000, 0.70711, 0.70711>",
        "<0.000000, 0.000000, 0.707107, 0.707107>",
    ),
    (
        "llRot2Euler(<0.0, 0.0, 0.70711, 0.70711>)",
        "<0.00000, 0.00000, 1.57080>",
        "<0.000000, 0.000000, 1.570796>",
    ),
    (
        "llAxes2Rot(<1.0, 0.0, 0.0>, <0.0, 1.0, 0.0>, <0.0, 0.0, 1.0>)",
        "<0.00000, 0.00000, 0.00000, 1.00000>",
        "<0.000000, 0.000000, 0.000000, 1.000000>",
    ),
    (
        "llAxisAngle2Rot(<0.0, 0.0, 1.0>, PI_BY_TWO)",
        "<0.00000, 0.00000, 0.70711, 0.70711>",
        "<0.000000, 0.000000, 0.707107, 0.707107>",
    ),
    ("llRot2Axis(<0.0, 0.0, 1.0, 0.0>)", "<0.00000, 0.00000, 1.00000>", "<0.000000, 0.000000, 1.000000>"),
    ("llRot2Angle(<0.0, 0.0, 1.0, 0.0>)", "3.141593", "3.141593"),
    ("llAngleBetween(ZERO_ROTATION, <0.0, 0.0, 1.0, 0.0>)", "3.141593", "3.141593"),
    ("llRot2Fwd(ZERO_ROTATION)", "<1.00000, 0.00000, 0.00000>", "<1.000000, 0.000000, 0.000000>"),
    ("llRot2Left(ZERO_ROTATION)", "<0.00000, 1.00000, 0.00000>", "<0.000000, 1.000000, 0.000000>"),
    ("llRot2Up(ZERO_ROTATION)", "<0.00000, 0.00000, 1.00000>", "<0.000000, 0.000000, 1.000000>"),
    (
        "llRotBetween(<1.0, 0.0, 0.0>, <0.0, 1.0, 0.0>)",
        "<0.00000, 0.00000, 0.70711, 0.70711>",
        "<0.000000, 0.000000, 0.707107, 0.707107>",
    ),
];

const TEXTS: &[Case] = &[
    ("llStringLength(\"äb\")", "2", "2"),
    ("llGetSubString(\"hello\", 1, -2)", "ell", "ell"),
    ("llDeleteSubString(\"hello\", 1, -2)", "ho", "ho"),
    ("llInsertString(\"ho\", 1, \"ell\")", "hello", "hello"),
    ("llInsertString(\"abc\", -1, \"x\")", "xabc", "abxc"),
    ("llSubStringIndex(\"hello\", \"l\")", "2", "2"),
    ("llSubStringIndex(\"\", \"\")", "0", "-1"),
    ("llReplaceSubString(\"aaa\", \"a\", \"b\", -2)", "abb", "abb"),
    ("llToUpper(\"aß\")", "Aß", "Aß"),
    ("llToLower(\"ÄB\")", "äb", "äb"),
    ("llStringTrim(\"  a \", STRING_TRIM)", "a", "a"),
    ("llChar(8364)", "€", "€"),
    ("llOrd(\"€\", 0)", "8364", "8364"),
    ("llEscapeURL(\"a b~\")", "a%20b%7E", "a%20b~"),
    ("llUnescapeURL(\"a%20b\")", "a b", "a b"),
    ("llUnescapeURL(\"%zz\")", "", "%zz"),
    ("llStringToBase64(\"hello\")", "aGVsbG8=", "aGVsbG8="),
    ("llBase64ToString(\"aGVsbG8=\")", "hello", "hello"),
    ("llBase64ToString(\"aGVsbG8\")", "hello", ""),
    ("llIntegerToBase64(1)", "AAAAAQ==", "AAAAAQ=="),
    ("llBase64ToInteger(\"AAAAAQ==\")", "1", "1"),
    ("llXorBase64(\"AAAA\", \"AQID\")", "AQID", "AQID"),
    ("llXorBase64(\"AQIDBA==\", \"/w==\")", "/v38+w==", "/v38+w=="),
    ("llXorBase64StringsCorrect(\"AAAA\", \"AQID\")", "AQID", "AQID"),
    ("llXorBase64Strings(\"AAAA\", \"AQID\")", "AQID", "AQID"),
    ("llXorBase64Strings(\"QQ==\", \"AAAA\")", "QQ==", "QQ=="),
    ("llXorBase64Strings(\"//8=\", \"/B\")", "A+D=", "A+D="),
    ("llXorBase64Strings(\"AAAA\", \"\")", "AAAA", "AAAA"),
    ("llMD5String(\"a\", 0)", "1311656a4fbf190b4e6e29841876fae2", "1311656a4fbf190b4e6e29841876fae2"),
    (
        "llSHA1String(\"abc\")",
        "a9993e364706816aba3e25717850c26c9cd0d89d",
        "a9993e364706816aba3e25717850c26c9cd0d89d",
    ),
    (
        "llSHA256String(\"abc\")",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    ),
    (
        "llComputeHash(\"abc\", \"md5\")",
        "900150983cd24fb0d6963f7d28e17f72",
        "900150983cd24fb0d6963f7d28e17f72",
    ),
    (
        "llHMAC(\"key\", \"message\", \"sha256\")",
        "bp7ym3X//Ft6uuUn1Y/a2y/kLnIZARl2kXNDBl9Y7Uo=",
        "bp7ym3X//Ft6uuUn1Y/a2y/kLnIZARl2kXNDBl9Y7Uo=",
    ),
    ("llHash(\"abc\")", "807794786", "807794786"),
];

const LISTS: &[Case] = &[
    ("llGetListLength([1, 2])", "2", "2"),
    ("llList2Integer([1.9], 0)", "1", "1"),
    ("llList2Float([\"2.5\"], 0)", "2.500000", "2.500000"),
    ("llList2String([1, 2.5], -1)", "2.500000", "2.500000"),
    ("llList2Key([\"k\"], 0)", "k", "k"),
    ("llList2Vector([\"<1, 2, 3>\"], 0)", "<0.00000, 0.00000, 0.00000>", "<1.000000, 2.000000, 3.000000>"),
    (
        "llList2Rot([<1.0, 0.0, 0.0, 0.5>], 0)",
        "<1.00000, 0.00000, 0.00000, 0.50000>",
        "<1.000000, 0.000000, 0.000000, 0.500000>",
    ),
    ("llGetListEntryType([1.0], 0)", "2", "2"),
    ("llGetListEntryType([\"01234567-89ab-cdef-0123-456789abcdef\"], 0)", "3", "4"),
    ("llList2List([1, 2, 3, 4], 1, 2)", "23", "23"),
    ("llDeleteSubList([1, 2, 3, 4], 1, 2)", "14", "14"),
    ("llListInsertList([1, 4], [2, 3], 1)", "1234", "1234"),
    ("llListReplaceList([1, 9, 9], [2, 3], 1, 2)", "123", "123"),
    ("llList2ListStrided([1, 2, 3, 4], 0, -1, 2)", "13", "13"),
    ("llList2ListSlice([1, 2, 3, 4], 0, -1, 2, 1)", "24", "24"),
    ("llListSort([3, 1, 2], 1, TRUE)", "123", "123"),
    ("llListSortStrided([2, \"b\", 1, \"a\"], 2, 0, TRUE)", "1a2b", "1a2b"),
    ("llListFindList([1, 2, 3], [2, 3])", "1", "1"),
    ("llListFindList([(key)\"a\"], [\"a\"])", "-1", "0"),
    ("llListFindListNext([1, 2, 1], [1], -1)", "2", "2"),
    ("llListFindStrided([1, 2, 3, 2], [3], 0, -1, 2)", "2", "2"),
    ("llGetListLength(llListRandomize([1, 2, 3], 1))", "3", "3"),
    ("llListStatistics(LIST_STAT_MEAN, [1, 2, 3])", "2.000000", "2.000000"),
    ("llListStatistics(100, [1.0, 2.0])", "0.000000", "1.333333"),
    ("llDumpList2String([1, 2.5, \"a\"], \"-\")", "1-2.500000-a", "1-2.500000-a"),
    ("llList2CSV([1, \"a\"])", "1, a", "1, a"),
    ("llDumpList2String(llCSV2List(\"a, b\"), \"|\")", "a|b", "a|b"),
    ("llDumpList2String(llParseString2List(\"a,b;c\", [\",\"], [\";\"]), \"|\")", "a|b|;|c", "a|b|;|c"),
    ("llDumpList2String(llParseStringKeepNulls(\"a,,b\", [\",\"], []), \"|\")", "a||b", "a||b"),
];

const JSON: &[Case] = &[
    ("llJsonGetValue(\"{\\\"a\\\":[1,2]}\", [\"a\", 1])", "2", "2"),
    ("llJsonGetValue(\"[1]\", [7]) == JSON_INVALID", "1", "1"),
    ("llJsonValueType(\"[1]\", []) == JSON_ARRAY", "1", "1"),
    ("llDumpList2String(llJson2List(\"[1,\\\"x\\\"]\"), \"|\")", "1|x", "1|x"),
    ("llList2Json(JSON_ARRAY, [1, \"x\"])", "[1,\"x\"]", "[1,\"x\"]"),
    ("llJsonSetValue(\"[]\", [0], \"1\")", "[1]", "[1]"),
];

const SCRIPT: &[Case] = &[
    ("llGetUsedMemory() > 0", "1", "1"),
    ("llGetUsedMemory() + llGetFreeMemory() == llGetMemoryLimit()", "1", "1"),
    ("llGetMemoryLimit()", "65536", "65536"),
    ("llSetMemoryLimit(16384)", "1", "1"),
    ("llSetMemoryLimit(1)", "0", "0"),
    ("llSetMemoryLimit(-1)", "0", "0"),
    ("llStringLength(llGenerateKey())", "36", "36"),
    ("llGenerateKey() == llGenerateKey()", "0", "0"),
    ("llGetSubString(llGenerateKey(), 14, 14)", "4", "4"),
];

/// These exist in `opensim` only.
const OPENSIM: &[(&str, &str)] = &[
    ("osMax(1.0, 2.5)", "2.500000"),
    ("osMin(1.0, 2.5)", "1.000000"),
    ("osMax(1, 2)", "2.000000"),
    ("osRound(1.25, 1)", "1.300000"),
    ("osAngleBetween(<1.0, 0.0, 0.0>, <0.0, 1.0, 0.0>)", "1.570796"),
    ("osApproxEquals(<1.0, 0.0, 0.0>, <1.05, 0.0, 0.0>, 0.1)", "1"),
    ("osApproxEquals(<1.0, 0.0, 0.0>, <1.05, 0.0, 0.0>, 0.01)", "0"),
    ("osIsNotValidNumber(1.0)", "0"),
    ("osSlerp(ZERO_ROTATION, <0.0, 0.0, 1.0, 0.0>, 0.5)", "<0.000000, 0.000000, 0.707107, 0.707107>"),
    ("osTemperature2sRGB(1000.0)", "<1.000000, 0.040100, 0.000000>"),
    ("osVecMagSquare(<1.0, 2.0, 2.0>)", "9.000000"),
    ("osVecDistSquare(<1.0, 0.0, 0.0>, <4.0, 4.0, 0.0>)", "25.000000"),
    ("osIsUUID(NULL_KEY)", "1"),
    ("osIsUUID(\"door\")", "0"),
    ("osFormatString(\"{1} of {0,4}\", [\"a\", 2])", "2 of    a"),
    ("llDumpList2String(osMatchString(\"a1b2\", \"[0-9]\", 0), \"|\")", "1|1|2|3"),
    ("osRegexIsMatch(\"door 12\", \"[0-9]+\")", "1"),
    ("osRegexIsMatch(\"door\", \"(\")", "0"),
    ("osReplaceString(\"a-b-c\", \"-\", \"+\", 1, 2)", "a-b+c"),
    ("osStringStartsWith(\"Abc\", \"ab\", TRUE)", "1"),
    ("osStringEndsWith(\"abC\", \"bc\", FALSE)", "0"),
    ("osStringIndexOf(\"abcabc\", \"CA\", TRUE)", "2"),
    ("osStringLastIndexOf(\"abcabc\", \"b\", 0, 0, FALSE)", "4"),
    ("osStringRemove(\"abcd\", 1, 2)", "ad"),
    ("osStringReplace(\"a.b\", \".\", \"-\")", "a-b"),
    ("osStringSubString(\"abcd\", 1, 2)", "bc"),
    ("osUnixTimeToTimestamp(0)", "1970-01-01T00:00:00.0000000Z"),
    ("osSHA256(\"abc\")", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ("osListFindListNext([1, 2, 1], [1], 0, -1, 1)", "2"),
    ("osOldList2ListStrided([0, 1, 2, 3], 0, -1, 2)", "02"),
];

fn check(cases: &[Case]) {
    for &(expression, sl, opensim) in cases {
        assert_eq!(value(expression, Dialect::Sl), sl, "{expression}");
        assert_eq!(value(expression, Dialect::Opensim), opensim, "{expression}");
    }
}

#[test]
fn functions_of_numbers() {
    check(NUMBERS);
    check(ROTATIONS);
}

#[test]
fn functions_of_texts() {
    check(TEXTS);
}

#[test]
fn functions_of_lists_and_json() {
    check(LISTS);
    check(JSON);
    assert_eq!(value(&format!("osIsUUID(\"{ID}\")"), Dialect::Opensim), "1");
}

#[test]
fn functions_of_the_script_itself() {
    check(SCRIPT);
}

#[test]
fn functions_of_opensimulator() {
    for &(expression, expected) in OPENSIM {
        assert_eq!(value(expression, Dialect::Opensim), expected, "{expression}");
    }
}

#[test]
fn each_function_of_values_is_called_by_a_test() {
    let tables = [NUMBERS, ROTATIONS, TEXTS, LISTS, JSON, SCRIPT].concat();
    let expressions = tables.iter().map(|(expression, ..)| *expression);
    let expressions: Vec<&str> =
        expressions.chain(OPENSIM.iter().map(|(expression, _)| *expression)).collect();
    for pure in pure_functions() {
        let call = format!("{}(", pure.function.name());
        assert!(expressions.iter().any(|expression| expression.contains(&call)), "{call}");
    }
}
