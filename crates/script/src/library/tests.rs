use super::*;
use crate::Dialect;
use crate::instance::Instance;
use crate::key::Key;
use crate::list::List;
use crate::testing::host::{FUNCTIONS, said};
use crate::testing::sample::{entry, say};
use crate::value::{Element, Rotation, Vector};
use std::collections::BTreeSet;

/// Answer of a function.
fn answer(name: &str, result: Kind, arguments: Vec<Value>) -> (String, Instance) {
    let program = entry(Dialect::Sl, |code| {
        let kinds: Vec<Kind> = arguments.iter().map(Value::kind).collect();
        let row = code.row(&kinds);
        for (register, value) in row.iter().zip(arguments) {
            code.load(*register, value);
        }
        let to = code.register(result);
        code.call_library(name, &row, Some(to));
        say(code, to);
    });
    let (mut said, instance) = said(program);
    assert_eq!(instance.failure(), None, "{name}");
    (said.pop().expect("an answer"), instance)
}

#[test]
fn functions_have_names_of_their_own() {
    let names: BTreeSet<&str> = pure_functions().map(|pure| pure.function.name()).collect();
    assert_eq!(names.len(), pure_functions().count());
    assert!(names.len() > 90, "{}", names.len());
    let library = Library::new(FUNCTIONS);
    assert!(library.find("llAbs", &[Kind::Integer]).is_some());
    assert!(library.find("llAbs", &[Kind::Float]).is_none());
    assert!(library.find("llOwnerSay", &[Kind::Text]).is_some());
    assert!(library.find("llNothing", &[]).is_none());
}

/// Each function reads the arguments that its signature names, and answers with its kind.
#[test]
fn functions_keep_to_their_signatures() {
    for pure in pure_functions() {
        let Signature { name, parameters, result, .. } = pure.function.signature;
        let zeros = parameters.iter().map(|&kind| Value::zero(kind)).collect();
        let (_, instance) = answer(name, result.expect("all have a result"), zeros);
        assert_eq!(instance.n_objects(), 0, "{name}");
    }
}

#[test]
fn functions_answer() {
    use Kind::{Float, Integer, Text, Vector as Arrow};
    let list = |elements: Vec<Element>| Value::from(List::from(elements));
    let numbers = || list(vec![3.into(), 1.into(), 2.into()]);
    let cases: Vec<(&str, Kind, Vec<Value>, &str)> = vec![
        ("llAbs", Integer, vec![(-4).into()], "4"),
        ("llPow", Float, vec![2.0.into(), 3.0.into()], "8.000000"),
        ("llAtan2", Float, vec![0.0.into(), 1.0.into()], "0.000000"),
        ("llModPow", Integer, vec![2.into(), 10.into(), 1_000.into()], "24"),
        ("llVecDist", Float, vec![Vector::ZERO.into(), Vector::new(3.0, 4.0, 0.0).into()], "5.000000"),
        ("llRot2Fwd", Arrow, vec![Rotation::ZERO.into()], "<1.00000, 0.00000, 0.00000>"),
        ("llGetSubString", Text, vec!["hello".into(), 1.into(), 2.into()], "el"),
        ("llInsertString", Text, vec!["ho".into(), 1.into(), "ell".into()], "hello"),
        ("llSubStringIndex", Integer, vec!["hello".into(), "l".into()], "2"),
        ("llReplaceSubString", Text, vec!["aba".into(), "a".into(), "c".into(), 1.into()], "cba"),
        ("llToUpper", Text, vec!["abc".into()], "ABC"),
        ("llStringTrim", Text, vec![" a ".into(), 3.into()], "a"),
        ("llStringLength", Integer, vec!["äb".into()], "2"),
        ("llChar", Text, vec![65.into()], "A"),
        ("llOrd", Integer, vec!["AB".into(), (-1).into()], "66"),
        ("llBase64ToInteger", Integer, vec!["AAAAAQ==".into()], "1"),
        ("llComputeHash", Text, vec!["".into(), "nothing".into()], ""),
        ("llGetListLength", Integer, vec![numbers()], "3"),
        ("llListSort", Kind::List, vec![numbers(), 1.into(), 1.into()], "123"),
        ("llListSortStrided", Kind::List, vec![numbers(), 1.into(), 0.into(), 0.into()], "321"),
        ("llListFindList", Integer, vec![numbers(), list(vec![2.into()])], "2"),
        ("llListInsertList", Kind::List, vec![numbers(), list(vec![9.into()]), 1.into()], "3912"),
        ("llListReplaceList", Kind::List, vec![numbers(), list(vec![]), 0.into(), 1.into()], "2"),
        ("llDeleteSubList", Kind::List, vec![numbers(), 0.into(), 0.into()], "12"),
        ("llList2String", Text, vec![numbers(), (-1).into()], "2"),
        ("llList2Key", Kind::Key, vec![list(vec![Key::from("k").into()]), 0.into()], "k"),
        ("llListStatistics", Float, vec![4.into(), numbers()], "2.000000"),
        ("llDumpList2String", Text, vec![numbers(), "-".into()], "3-1-2"),
        ("llCSV2List", Kind::List, vec!["a, b".into()], "ab"),
        (
            "llParseString2List",
            Kind::List,
            vec!["a,b;c".into(), list(vec![",".into()]), list(vec![";".into()])],
            "ab;c",
        ),
        ("llJsonGetValue", Text, vec!["{\"a\":2}".into(), list(vec!["a".into()])], "2"),
        ("llJsonSetValue", Text, vec!["[]".into(), list(vec![0.into()]), "1".into()], "[1]"),
    ];
    for (name, result, arguments, expected) in cases {
        assert_eq!(answer(name, result, arguments).0, expected, "{name}");
    }
}

/// Fuel of a call.
fn fuel(name: &str, result: Kind, arguments: Vec<Value>) -> u64 {
    let program = entry(Dialect::Sl, |code| {
        let kinds: Vec<Kind> = arguments.iter().map(Value::kind).collect();
        let row = code.row(&kinds);
        for (register, value) in row.iter().zip(arguments) {
            code.load(*register, value);
        }
        let to = code.register(result);
        code.call_library(name, &row, Some(to));
    });
    let mut script = Instance::new(std::sync::Arc::new(program), 1 << 20, 1);
    let mut notes = crate::testing::host::Notes::default();
    script.run(&mut crate::instance::Scratch::default(), &mut notes, 0, u64::MAX).fuel
}

/// A nanosecond for each character that is looked at.
#[test]
fn reads_take_fuel_by_what_they_read() {
    let n = 20_000;
    let spaces = || Value::from(" ".repeat(n).as_str());
    let in_list = || Value::from(List::from(vec![" ".repeat(n).as_str().into()]));
    let number = |element: Element| Value::from(List::from(vec![element]));
    for (name, result, arguments, expected) in [
        ("llHash", Kind::Integer, vec![spaces()], n as u64),
        ("llSubStringIndex", Kind::Integer, vec![spaces(), "x".into()], n as u64),
        ("llList2Integer", Kind::Integer, vec![in_list(), 0.into()], n as u64),
        ("llList2Float", Kind::Float, vec![in_list(), 0.into()], n as u64),
        ("llList2Integer", Kind::Integer, vec![number(1.into()), 0.into()], 10),
        ("llList2String", Kind::Text, vec![number(0.5.into()), 0.into()], 250),
        ("llList2String", Kind::Text, vec![number(Rotation::ZERO.into()), 0.into()], 800),
    ] {
        let fuel = fuel(name, result, arguments);
        assert!(fuel >= expected && fuel < expected * 2 + 300, "{name}: {fuel}, not {expected}");
    }
}

#[test]
fn longer_arguments_take_more_fuel() {
    let fuel = |n: usize| {
        let program = entry(Dialect::Sl, |code| {
            let row = code.row(&[Kind::Text]);
            code.load(row[0], "x".repeat(n).as_str().into());
            let to = code.register(Kind::Text);
            code.call_library("llToUpper", &row, Some(to));
        });
        let mut script = Instance::new(std::sync::Arc::new(program), 64 << 10, 1);
        let mut notes = crate::testing::host::Notes::default();
        script.run(&mut crate::instance::Scratch::default(), &mut notes, 0, 1_000_000).fuel
    };
    assert!(fuel(10_000) > 20 * fuel(100), "{} {}", fuel(10_000), fuel(100));
}

/// Each function of values in the table is bound to what carries it out, and no other.
#[test]
fn bindings_are_those_of_the_table() {
    let in_table = table::functions().iter().filter(|function| function.service == Service::Pure);
    let in_table: BTreeSet<&str> = in_table.map(Function::name).collect();
    let bound = [numbers::BINDINGS, text::BINDINGS, list::BINDINGS, memory::BINDINGS, opensim::BINDINGS];
    let bound: Vec<&str> = bound.into_iter().flatten().map(|binding| binding.name).collect();
    assert_eq!(bound.len(), in_table.len(), "a function is bound twice, or not in the table");
    assert_eq!(bound.into_iter().collect::<BTreeSet<_>>(), in_table);
}

#[test]
fn a_whole_library_has_all_functions() {
    let library = Library::whole(&["llSay", "print", "llLinkPlaySound"]);
    let say = library.find("llSay", &[Kind::Integer, Kind::Text]).expect("a function of the host");
    assert_eq!((say.name, say.result), ("llSay", None));
    // Both forms of a name have one number.
    for parameters in [
        &[Kind::Integer, Kind::Text, Kind::Float][..],
        &[Kind::Integer, Kind::Text, Kind::Float, Kind::Integer],
    ] {
        let import =
            Import { name: "llLinkPlaySound".to_owned(), parameters: parameters.to_vec(), result: None };
        assert!(matches!(library.resolve(&import), Some(Target::Host(2, _))), "{parameters:?}");
    }
    for (name, is_served) in [
        ("llAbs", true),
        ("llSay", true),
        ("print", true),
        ("llShout", false),
        ("osMax", true),
        ("llNo", false),
    ] {
        assert_eq!(library.serves(name), is_served, "{name}");
    }
    for function in table::functions() {
        let Signature { name, parameters, .. } = function.signature;
        assert_eq!(library.find(name, parameters).map(|found| found.result), Some(function.signature.result));
    }
}

#[test]
#[should_panic(expected = "llNo is no function")]
fn a_host_names_functions_of_the_table() {
    let _ = Library::whole(&["llNo"]);
}
