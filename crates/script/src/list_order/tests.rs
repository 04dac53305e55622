use super::*;
use crate::{Key, Rotation};
use Dialect::{OpenSim, Sl};
use proptest::prelude::*;

const ID: &str = "01234567-89ab-cdef-0123-456789abcdef";

fn list(elements: &[Element]) -> List {
    elements.to_vec().into()
}

fn numbers(numbers: &[i32]) -> List {
    numbers.iter().map(|&number| number.into()).collect()
}

fn texts(texts: &str) -> List {
    texts.split(' ').map(Element::from).collect()
}

#[test]
fn lists_are_sorted_by_strides() {
    for (source, stride, index, ascending, descending) in [
        (&[3, 1, 2][..], 1, 0, &[1, 2, 3][..], &[3, 2, 1][..]),
        (&[3, 1, 2], 0, 0, &[1, 2, 3], &[3, 2, 1]),
        (&[3, 1, 2], -5, 0, &[1, 2, 3], &[3, 2, 1]),
        (&[3, 10, 1, 30, 2, 20], 2, 0, &[1, 30, 2, 20, 3, 10], &[3, 10, 2, 20, 1, 30]),
        (&[3, 10, 1, 30, 2, 20], 2, 1, &[3, 10, 2, 20, 1, 30], &[1, 30, 2, 20, 3, 10]),
        (&[3, 10, 1, 30, 2, 20], 2, -1, &[3, 10, 2, 20, 1, 30], &[1, 30, 2, 20, 3, 10]),
        (&[3, 1, 2], 2, 0, &[3, 1, 2], &[3, 1, 2]),
        (&[3, 1, 2], 1, 1, &[], &[]),
        (&[3, 1, 2], 1, -2, &[], &[]),
        (&[], 2, 0, &[], &[]),
        // Equal elements keep their order.
        (&[1, 10, 0, 5, 1, 7], 2, 0, &[0, 5, 1, 10, 1, 7], &[1, 10, 1, 7, 0, 5]),
    ] {
        assert_eq!(
            sort(numbers(source), stride, index, true),
            numbers(ascending),
            "{source:?} {stride} {index}"
        );
        assert_eq!(
            sort(numbers(source), stride, index, false),
            numbers(descending),
            "{source:?} {stride} {index}"
        );
    }
}

#[test]
fn each_type_is_sorted_among_its_places() {
    let mixed = list(&[3.into(), "b".into(), 1.into(), "a".into(), 0.5.into(), 2.into()]);
    let sorted = list(&[1.into(), "a".into(), 2.into(), "b".into(), 0.5.into(), 3.into()]);
    assert_eq!(sort(mixed.clone(), 1, 0, true), sorted);
    let sorted = list(&[3.into(), "b".into(), 2.into(), "a".into(), 0.5.into(), 1.into()]);
    assert_eq!(sort(mixed, 1, 0, false), sorted);
}

#[test]
fn every_type_has_an_order() {
    assert_eq!(sort(texts("b B a ä Z"), 1, 0, true), texts("B Z a b ä"));
    let (long, short) = (Vector::new(0.0, 3.0, 0.0), Vector::new(2.0, 0.0, 0.0));
    assert_eq!(sort(list(&[long.into(), short.into()]), 1, 0, true), list(&[short.into(), long.into()]));
    let keys = |one: &str, other: &str| list(&[Key::from(one).into(), Key::from(other).into()]);
    assert_eq!(sort(keys("x", ID), 1, 0, true), keys(ID, "x"));
    let rotations = list(&[Rotation::new(9.0, 0.0, 0.0, 0.0).into(), Rotation::ZERO.into()]);
    assert_eq!(sort(rotations.clone(), 1, 0, true), rotations);
    let floats = [f64::NAN, 1.0, f64::NEG_INFINITY, -0.0, 0.0].map(Element::from);
    let sorted = sort(list(&floats), 1, 0, true);
    assert_eq!(sorted.string(-1, Sl).as_str(), "NaN");
    assert_eq!(sorted.string(1, Sl).as_str(), "-0.000000", "zeros keep their order");
}

#[test]
fn elements_are_found_with_their_types() {
    let source = list(&[1.into(), 1.0.into(), "1".into(), Key::from(ID).into(), "1".into(), f64::NAN.into()]);
    for (test, sl, opensim) in [
        (list(&[1.into()]), 0, 0),
        (list(&[1.0.into()]), 1, 1),
        (list(&["1".into()]), 2, 2),
        (list(&[ID.into()]), -1, 3),
        (list(&[Key::from(ID).into()]), 3, 3),
        (list(&[Key::from("1").into()]), -1, 2),
        (list(&[f64::NAN.into()]), 5, 5),
        (list(&[1.0.into(), "1".into()]), 1, 1),
        (list(&["1".into(), 1.0.into()]), -1, -1),
        (list(&[]), 0, 0),
        (list(&[f64::NAN.into(), 1.into()]), -1, -1),
    ] {
        assert_eq!(find(&source, &test, Sl), sl, "{test:?}");
        assert_eq!(find(&source, &test, OpenSim), opensim, "{test:?}");
    }
    let empty = List::default();
    assert_eq!((find(&empty, &empty, Sl), find(&empty, &empty, OpenSim)), (0, -1));
    assert_eq!((find(&empty, &source, Sl), find(&empty, &source, OpenSim)), (-1, -1));
    let vector = list(&[Vector::new(f64::NAN, 0.0, 0.0).into()]);
    assert_eq!(find(&vector, &vector, Sl), -1, "NaN is not found in vectors");
}

#[test]
fn instances_are_found_from_both_ends() {
    let source = numbers(&[5, 1, 5, 2, 5]);
    for (instance, expected) in
        [(0, 0), (1, 2), (2, 4), (3, -1), (-1, 4), (-2, 2), (-3, 0), (-4, -1), (i32::MIN, -1)]
    {
        assert_eq!(find_next(&source, &numbers(&[5]), instance, Sl), expected, "{instance}");
    }
}

#[test]
fn strides_are_searched_within_a_range() {
    let source = numbers(&[1, 1, 2, 1, 1, 2]);
    for (test, start, end, stride, expected) in [
        (&[1][..], 0, -1, 2, 0),
        (&[2], 0, -1, 2, 2),
        (&[2], 3, -1, 2, 5),
        (&[2], 3, -1, 3, -1),
        (&[1, 2], 0, -1, 1, 1),
        (&[1, 2], 2, -1, 1, 4),
        (&[1, 2], 2, 4, 1, -1),
        (&[1], -2, -1, 1, 4),
        (&[1], 0, 100, 1, 0),
        (&[1], 100, 101, 1, -1),
        (&[1], -100, -1, 1, -1),
        (&[1], 3, 2, 1, -1),
        (&[1], 0, -1, 0, -1),
        (&[1], 0, -1, -1, -1),
        (&[1, 1, 2, 1, 1, 2, 3], 0, -1, 1, -1),
    ] {
        let found = find_strided(&source, &numbers(test), start, end, stride, 0, Sl);
        assert_eq!(found, expected, "{test:?} {start} {end} {stride}");
    }
}

#[test]
fn strides_are_shuffled_by_draws() {
    let source = || numbers(&[0, 1, 2, 3, 4, 5]);
    assert_eq!(randomize(source(), 2, |_| 0), numbers(&[2, 3, 4, 5, 0, 1]));
    assert_eq!(randomize(source(), 1, |bound| bound - 1), source(), "each swapped with itself");
    assert_eq!(randomize(source(), 4, |_| 0), source(), "not a multiple");
    let mut bounds = Vec::new();
    let _list = randomize(source(), 0, |bound| {
        bounds.push(bound);
        0
    });
    assert_eq!(bounds, [6, 5, 4, 3, 2]);
}

#[test]
fn statistics_are_those_of_the_numbers() {
    let source = list(&[1.into(), 4.0.into(), "99".into(), 2.into(), Vector::ZERO.into(), 5.0.into()]);
    for (operation, sl, opensim) in [
        (0, 4.0, 4.0),
        (1, 1.0, 1.0),
        (2, 5.0, 5.0),
        (3, 3.0, 3.0),
        (4, 3.0, 3.0),
        (5, 1.825_741_9, 1.825_741_858_350_553_8),
        (6, 12.0, 12.0),
        (7, 46.0, 46.0),
        (8, 4.0, 4.0),
        (9, 2.514_866_8, 2.514_866_859_365_870_6),
        (100, 0.0, 2.051_282_051_282_051),
        (10, 0.0, 0.0),
        (-1, 0.0, 0.0),
    ] {
        let (sl_is, opensim_is) =
            (statistics(operation, &source, Sl), statistics(operation, &source, OpenSim));
        assert!((sl_is - sl).abs() < 1e-6, "{operation}: {sl_is}");
        assert!((opensim_is - opensim).abs() < 1e-14, "{operation}: {opensim_is}");
        assert_eq!(sl_is, Sl.float(sl_is), "{operation} is stored");
    }
    for operation in 0..10 {
        assert_eq!(statistics(operation, &texts("1 2"), Sl), 0.0, "no numbers");
    }
    assert_eq!(statistics(5, &numbers(&[7]), Sl), 0.0);
    assert_eq!(statistics(4, &numbers(&[9, 1, 5]), Sl), 5.0);
    assert_eq!(statistics(9, &numbers(&[1, 0]), Sl), 0.0);
    assert_eq!(statistics(9, &numbers(&[1, -1]), OpenSim), 0.0);
}

#[test]
fn repetitive_lists_are_searched_in_time() {
    // Compared place by place, this would be a billion comparisons.
    let zeros = |n: usize| std::iter::repeat_n(Element::from(0), n);
    let source: List = zeros(60_000).chain([1.into()]).collect();
    let test: List = zeros(30_000).chain([1.into()]).collect();
    assert_eq!(find(&source, &test, OpenSim), 30_000);
    let absent: List = [1.into()].into_iter().chain(zeros(30_000)).collect();
    assert_eq!(find(&source, &absent, OpenSim), -1);
}

proptest! {
    /// Against a search place by place.
    #[test]
    fn found_places_are_those_of_a_plain_search(
        source in prop::collection::vec(0..2_i32, 0..12),
        test in prop::collection::vec(0..2_i32, 1..4),
        stride in 1..4_usize,
        start in 0..4_usize,
        instance in -4..4_i32,
    ) {
        let places = (start..source.len()).filter(|at| source[*at..].starts_with(&test));
        let last = source.len().checked_sub(test.len());
        let at_stride: Vec<usize> = if instance >= 0 {
            places.filter(|at| (at - start) % stride == 0).collect()
        } else {
            places.rev().filter(|at| (last.expect("a place") - at) % stride == 0).collect()
        };
        let n = if instance >= 0 { instance as usize } else { instance.unsigned_abs() as usize - 1 };
        let expected = at_stride.get(n).map_or(-1, |at| *at as i32);
        let (source, test) = (numbers(&source), numbers(&test));
        prop_assert_eq!(find_strided(&source, &test, start as i32, -1, stride as i32, instance, Sl), expected);
    }

    /// Against the exchange sort of the reference for numbers in ascending and descending order.
    #[test]
    fn sorted_numbers_are_those_of_an_exchange_sort(source in prop::collection::vec(-9..9_i32, 0..20)) {
        let mut expected = source.clone();
        for n in 0..expected.len() {
            for m in n + 1..expected.len() {
                if expected[n] > expected[m] {
                    expected.swap(n, m);
                }
            }
        }
        prop_assert_eq!(sort(numbers(&source), 1, 0, true), numbers(&expected));
        expected.reverse();
        prop_assert_eq!(sort(numbers(&source), 1, 0, false), numbers(&expected));
    }
}
