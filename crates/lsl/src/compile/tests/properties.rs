//! Properties of functions of values, for random arguments.

use super::solo::lines;
use crate::Dialect;
use proptest::prelude::*;

/// A text as a literal.
fn literal(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn lines_of(statements: &str, dialect: Dialect) -> Vec<String> {
    lines(&format!("default {{ state_entry() {{ {statements} }} }}"), dialect)
}

fn dialects() -> impl Strategy<Value = Dialect> {
    prop_oneof![Just(Dialect::Sl), Just(Dialect::Opensim)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Codings are undone by their counterparts.
    #[test]
    fn codings_return(text in "[ -~äß€]{0,40}", dialect in dialects()) {
        let statements = format!(
            "string s = {}; llOwnerSay(llUnescapeURL(llEscapeURL(s))); llOwnerSay(llBase64ToString(llStringToBase64(s)));
             llOwnerSay(llXorBase64(llXorBase64(llStringToBase64(s), \"a2V5\"), \"a2V5\"));
             llOwnerSay(llInsertString(llGetSubString(s, 5, -1), 0, llGetSubString(s, 0, 4)));",
            literal(&text)
        );
        let said = lines_of(&statements, dialect);
        let coded = lines_of(&format!("llOwnerSay(llStringToBase64({}));", literal(&text)), dialect);
        prop_assert_eq!(&said[0], &text);
        prop_assert_eq!(&said[1], &text);
        prop_assert_eq!(&said[2], &coded[0]);
        if text.chars().count() > 5 {
            prop_assert_eq!(&said[3], &text);
        }
    }

    /// Lists are sorted as Rust sorts them, and found where they are.
    #[test]
    fn lists_are_sorted_and_found(numbers in prop::collection::vec(-50..50_i32, 1..30), at in 0..30_usize, dialect in dialects()) {
        let at = at % numbers.len();
        let joined = |numbers: &[i32]| numbers.iter().map(i32::to_string).collect::<Vec<_>>().join(", ");
        let statements = format!(
            "list l = [{}]; llOwnerSay(llList2CSV(llListSort(l, 1, TRUE))); llOwnerSay(llList2CSV(llListSort(l, 1, FALSE)));
             llOwnerSay((string)llListFindList(l, [{}])); llOwnerSay((string)((integer)llListStatistics(LIST_STAT_SUM, l)));",
            joined(&numbers), numbers[at]
        );
        let said = lines_of(&statements, dialect);
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        prop_assert_eq!(&said[0], &joined(&sorted));
        sorted.reverse();
        prop_assert_eq!(&said[1], &joined(&sorted));
        let first = numbers.iter().position(|number| *number == numbers[at]).expect("it is there");
        prop_assert_eq!(&said[2], &first.to_string());
        prop_assert_eq!(&said[3], &numbers.iter().sum::<i32>().to_string());
    }

    /// Texts survive JSON.
    #[test]
    fn texts_survive_json(text in "[ a-zA-Z0-9{}:,äß€-]{1,30}", dialect in dialects()) {
        // A text that looks like a number, a structure or a constant is one in JSON.
        let text = format!("t{text}t");
        let statements = format!(
            "string s = {}; string json = llList2Json(JSON_OBJECT, [\"k\", s]); llOwnerSay(llJsonGetValue(json, [\"k\"]));
             llOwnerSay(llList2String(llJson2List(json), 1)); llOwnerSay(llJsonGetValue(llJsonSetValue(\"{{}}\", [\"k\"], s), [\"k\"]));",
            literal(&text)
        );
        let said = lines_of(&statements, dialect);
        for line in &said {
            prop_assert_eq!(line, &text);
        }
    }
}
