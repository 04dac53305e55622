use super::*;
use Dialect::{OpenSim, Sl};
use proptest::prelude::*;

const ID: &str = "01234567-89ab-cdef-0123-456789abcdef";

fn list(numbers: &[i32]) -> List {
    numbers.iter().map(|&number| number.into()).collect()
}

/// One element of each type, and numbers in text.
fn mixed() -> List {
    List::from(vec![
        7.into(),
        2.9.into(),
        "12.5 apples".into(),
        Key::from(ID).into(),
        Vector::new(1.0, 2.0, 3.0).into(),
        Rotation::new(0.0, 1.0, 0.0, 0.0).into(),
        ID.into(),
        Key::from("apples").into(),
        "<4, 5, 6>".into(),
        "<4, 5, 6, 7>".into(),
    ])
}

#[test]
fn comparisons_are_those_of_lengths() {
    for (left, right, equal, difference) in [
        (&[][..], &[][..], true, 0),
        (&[1, 2], &[3, 4], true, 0),
        (&[1, 2, 3], &[1], false, 2),
        (&[1], &[1, 2, 3], false, -2),
    ] {
        assert_eq!(list(left).has_length_of(&list(right)), equal);
        assert_eq!(list(left).length_difference(&list(right)), difference);
    }
}

#[test]
fn sums_beyond_the_room_are_a_collision() {
    let sum = |room| list(&[1, 2]).concat(list(&[3]), room);
    assert_eq!(sum(List::BASE_BYTES + 48), Ok(list(&[1, 2, 3])));
    assert_eq!(sum(List::BASE_BYTES + 47), Err(RunError::StackHeapCollision));
}

#[test]
fn ranges_are_kept_or_deleted() {
    let all = || list(&[0, 1, 2, 3]);
    for (start, end, kept, rest) in [
        (0, -1, &[0, 1, 2, 3][..], &[][..]),
        (1, 2, &[1, 2], &[0, 3]),
        (-3, -2, &[1, 2], &[0, 3]),
        (2, 9, &[2, 3], &[0, 1]),
        (7, 9, &[], &[0, 1, 2, 3]),
        (-9, -8, &[], &[0, 1, 2, 3]),
        (-9, 0, &[0], &[1, 2, 3]),
        (3, 0, &[0, 3], &[1, 2]),
        (2, 1, &[0, 1, 2, 3], &[]),
        (1, -9, &[1, 2, 3], &[0]),
        (9, 1, &[0, 1], &[2, 3]),
    ] {
        assert_eq!(all().sub_list(start, end), list(kept), "llList2List {start} {end}");
        assert_eq!(all().without(start, end), list(rest), "llDeleteSubList {start} {end}");
    }
    assert_eq!(list(&[]).sub_list(0, -1), list(&[]));
    assert_eq!(list(&[]).without(0, 0), list(&[]));
}

#[test]
fn lists_are_inserted_in_front_of_an_index() {
    for (index, expected) in [
        (0, [9, 0, 1, 2]),
        (1, [0, 9, 1, 2]),
        (3, [0, 1, 2, 9]),
        (100, [0, 1, 2, 9]),
        (-1, [0, 1, 9, 2]),
        (-3, [9, 0, 1, 2]),
        (-100, [9, 0, 1, 2]),
    ] {
        assert_eq!(list(&[0, 1, 2]).insert_list(list(&[9]), index), list(&expected), "{index}");
    }
}

#[test]
fn ranges_are_replaced() {
    for (start, end, expected) in [
        (1, 2, &[0, 8, 9, 3][..]),
        (0, -1, &[8, 9]),
        (-1, -1, &[0, 1, 2, 8, 9]),
        (-4, 0, &[8, 9, 1, 2, 3]),
        (4, 4, &[0, 1, 2, 3, 8, 9]),
        (10, 20, &[0, 1, 2, 3, 8, 9]),
        // In front of the list: a deletion.
        (-5, -5, &[0, 1, 2, 3]),
        (-5, -4, &[1, 2, 3]),
        (-5, -7, &[]),
        // Inverted: what lies between remains.
        (3, 0, &[1, 2, 8, 9]),
        (2, 1, &[8, 9]),
    ] {
        let replaced = list(&[0, 1, 2, 3]).replace_list(list(&[8, 9]), start, end);
        assert_eq!(replaced, list(expected), "{start} {end}");
    }
}

#[test]
fn strides_begin_at_multiples() {
    for (start, end, stride, expected) in [
        (0, -1, 2, &[0, 2, 4][..]),
        (1, -1, 2, &[2, 4]),
        (0, 3, 3, &[0, 3]),
        (1, 2, 3, &[]),
        (0, -1, 0, &[0, 1, 2, 3, 4, 5]),
        (0, -1, -2, &[0, 2, 4]),
        (4, 1, 2, &[0, 2, 4]),
        (-2, -1, 2, &[4]),
        (-100, 1, 2, &[0]),
        (0, -1, i32::MIN, &[0]),
    ] {
        assert_eq!(
            list(&[0, 1, 2, 3, 4, 5]).strided(start, end, stride),
            list(expected),
            "{start} {end} {stride}"
        );
    }
}

#[test]
fn slices_take_one_of_each_stride() {
    for (start, end, stride, index, expected) in [
        (0, -1, 2, 0, &[0, 2, 4][..]),
        (0, -1, 2, 1, &[1, 3, 5]),
        (0, -1, 2, -1, &[1, 3, 5]),
        (0, -1, 3, -3, &[0, 3]),
        (1, -1, 2, 0, &[1, 3, 5]),
        (4, 1, 2, 0, &[0, 4]),
        (0, -1, 0, 0, &[]),
        (0, -1, -1, 0, &[]),
        (0, -1, 2, 2, &[]),
        (0, -1, 2, -3, &[]),
    ] {
        let slice = list(&[0, 1, 2, 3, 4, 5]).slice(start, end, stride, index);
        assert_eq!(slice, list(expected), "{start} {end} {stride} {index}");
    }
}

#[test]
fn elements_are_read_as_each_type() {
    let list = mixed();
    let id = |dialect| list.string(3, dialect).as_str().to_owned();
    for (index, sl, opensim) in [
        (0, (1, 7, 7.0), (1, 7, 7.0)),
        (1, (2, 2, 2.9), (2, 2, 2.9)),
        (2, (3, 12, 12.5), (3, 12, 12.5)),
        // The key begins with 01234567.
        (3, (4, 0, 0.0), (4, 1_234_567, 1_234_567.0)),
        (4, (5, 0, 0.0), (5, 0, 0.0)),
        (5, (6, 0, 0.0), (6, 0, 0.0)),
        (6, (3, 1_234_567, 1_234_567.0), (4, 1_234_567, 1_234_567.0)),
        (7, (4, 0, 0.0), (3, 0, 0.0)),
        (-10, (1, 7, 7.0), (1, 7, 7.0)),
        (10, (0, 0, 0.0), (0, 0, 0.0)),
        (-11, (0, 0, 0.0), (0, 0, 0.0)),
    ] {
        for (dialect, expected) in [(Sl, sl), (OpenSim, opensim)] {
            let read =
                (list.entry_type(index, dialect), list.integer(index, dialect), list.float(index, dialect));
            assert_eq!(read, expected, "{index} {dialect:?}");
        }
    }
    assert_eq!((id(Sl), id(OpenSim)), (ID.to_owned(), ID.to_owned()));
}

#[test]
fn strings_keys_vectors_and_rotations_are_read() {
    let list = mixed();
    assert_eq!(list.string(1, Sl).as_str(), "2.900000");
    assert_eq!(list.string(4, Sl).as_str(), "<1.000000, 2.000000, 3.000000>");
    assert_eq!(list.string(99, Sl).as_str(), "");
    for (index, expected) in [(0, ""), (2, "12.5 apples"), (3, ID), (4, ""), (6, ID), (99, "")] {
        assert_eq!(list.key(index), Key::from(expected), "{index}");
    }
    let (vector, rotation) = (Vector::new(4.0, 5.0, 6.0), Rotation::new(4.0, 5.0, 6.0, 7.0));
    for dialect in [Sl, OpenSim] {
        assert_eq!(list.vector(4, dialect), Vector::new(1.0, 2.0, 3.0));
        assert_eq!(list.rotation(5, dialect), Rotation::new(0.0, 1.0, 0.0, 0.0));
        assert_eq!((list.vector(5, dialect), list.rotation(4, dialect)), (Vector::ZERO, Rotation::ZERO));
    }
    assert_eq!((list.vector(8, Sl), list.rotation(9, Sl)), (Vector::ZERO, Rotation::ZERO));
    assert_eq!((list.vector(8, OpenSim), list.rotation(9, OpenSim)), (vector, rotation));
}

/// Elements with different logical memory.
fn elements() -> impl Strategy<Value = Vec<Element>> {
    let element = prop_oneof![
        any::<i32>().prop_map(Element::from),
        "[a-\u{e4}]{0,6}".prop_map(|text| Element::from(&*text)),
        Just(Element::from(Vector::ZERO)),
        Just(Element::from(Rotation::ZERO)),
    ];
    prop::collection::vec(element, 0..12)
}

proptest! {
    /// The memory that functions account for is the sum of the elements, and pieces add up.
    #[test]
    fn memory_is_the_sum_of_the_elements(
        left in elements(), right in elements(), start in -15..15_i32, end in -15..15_i32, stride in -3..5_i32,
    ) {
        let (left, right) = (List::from(left), List::from(right));
        let kept = left.clone().sub_list(start, end);
        let rest = left.clone().without(start, end);
        prop_assert_eq!(kept.len() + rest.len(), left.len());
        let lists = [
            left.clone().concat(right.clone(), usize::MAX).expect("room"),
            left.clone().insert_list(right.clone(), start),
            left.clone().replace_list(right, start, end),
            left.clone().strided(start, end, stride),
            left.slice(start, end, stride, 0),
            kept,
            rest,
        ];
        for list in lists {
            prop_assert_eq!(List::from(list.as_slice().to_vec()).bytes(), list.bytes());
        }
    }
}
