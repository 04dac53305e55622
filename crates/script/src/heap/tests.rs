use super::*;
use crate::value::{Element, Rotation, Vector};
use proptest::prelude::*;

fn text(text: &str) -> Object {
    Object::Text(text.into())
}

fn list(n: i32) -> Object {
    Object::List((0..n).map(Element::from).collect())
}

#[test]
fn objects_live_as_long_as_their_references() {
    let mut heap = Heap::new(1_000);
    let first = heap.insert(text("abc")).expect("room");
    let second = heap.insert(list(2)).expect("room");
    assert_eq!(heap.used(), 24 + List::BASE_BYTES + 32);
    heap.retain(first).expect("a count");
    heap.release(first);
    assert_eq!(heap.get(first), &text("abc"));
    heap.release(first);
    assert_eq!((heap.used(), heap.n_objects()), (List::BASE_BYTES + 32, 1));
    let third = heap.insert(Object::Key(Key::NULL)).expect("room");
    assert_eq!(third, first, "a free slot is used again");
    heap.release(second);
    heap.release(third);
    assert_eq!((heap.used(), heap.n_objects()), (0, 0));
}

#[test]
fn the_limit_is_a_collision_that_changes_nothing() {
    let mut heap = Heap::new(40);
    let kept = heap.insert(text("abc")).expect("room");
    assert_eq!(heap.insert(text("")), Err(RunError::StackHeapCollision), "18 of 16");
    assert_eq!((heap.used(), heap.n_objects(), heap.room()), (24, 1, 16));
    assert_eq!(heap.set_limit(23), Err(RunError::StackHeapCollision));
    heap.set_limit(42).expect("enough");
    heap.insert(text("")).expect("exactly");
    assert_eq!(heap.room(), 0);
    assert_eq!(heap.get(kept), &text("abc"));
    assert_eq!(RunError::StackHeapCollision.to_string(), "Stack-Heap Collision");
}

#[test]
fn lists_with_one_reference_are_changed_in_place() {
    let mut heap = Heap::new(10_000);
    let unique = heap.insert(list(100)).expect("room");
    let place = |heap: &Heap, of| match heap.get(of) {
        Object::List(list) => list.as_slice().as_ptr(),
        _ => panic!("a list"),
    };
    let before = place(&heap, unique);
    let Object::List(taken) = heap.take(unique) else { panic!("a list") };
    let unique = heap.insert(Object::List(taken)).expect("room");
    assert_eq!(place(&heap, unique), before, "the same allocation");
    heap.retain(unique).expect("a count");
    let Object::List(copy) = heap.take(unique) else { panic!("a list") };
    assert_ne!(copy.as_slice().as_ptr(), before, "a copy");
    assert_eq!(heap.count(unique), 1);
}

#[test]
#[should_panic(expected = "a reference to a released object")]
fn released_references_are_a_fault() {
    let mut heap = Heap::new(100);
    let gone = heap.insert(text("")).expect("room");
    let _kept = heap.insert(text("")).expect("room");
    heap.release(gone);
    let _object = heap.get(gone);
}

/// Fills a heap with objects of one kind up to its limit. At sizes at which arrays have just grown, physical memory is compared with its bound.
fn fill(object: &Object) {
    let mut heap = Heap::new(64 << 10);
    while heap.insert(object.clone()).is_ok() {
        if !(heap.n_objects() - 1).is_power_of_two() && heap.n_objects() > 2 {
            continue;
        }
        let bound = FOOTPRINT_BASE + FOOTPRINT_FACTOR * heap.used();
        assert!(
            heap.footprint() <= bound,
            "{} > {bound} for {} of {object:.60?}",
            heap.footprint(),
            heap.n_objects()
        );
    }
}

#[test]
fn physical_memory_is_a_bounded_multiple_of_logical_memory() {
    let elements = |element: Element, n: usize| Object::List(std::iter::repeat_n(element, n).collect());
    let key = "01234567-89AB-CDEF-0123-456789ABCDEF";
    for object in [
        text(""),
        text("a"),
        text("😀"),
        text(&"😀".repeat(300)),
        list(0),
        list(1),
        Object::Key(Key::NULL),
        Object::Key(Key::from(key)),
        elements(Element::from(""), 1),
        elements(Element::from(Rotation::ZERO), 1),
        elements(Element::from(1), 1_000),
        elements(Element::from(""), 1_000),
        elements(Element::from("😀"), 1_000),
        elements(Element::from(Vector::ZERO), 1_000),
        elements(Element::from(Rotation::ZERO), 1_000),
        elements(Element::from(Key::from(key)), 100),
    ] {
        fill(&object);
    }
}

#[test]
fn a_list_that_has_been_long_keeps_no_memory() {
    let mut heap = Heap::new(64 << 10);
    let Object::List(mut long) = list(3_000) else { panic!("a list") };
    long = long.without(1, -1);
    heap.insert(Object::List(long)).expect("room");
    assert!(heap.footprint() < 1_000, "{}", heap.footprint());
}

#[test]
fn a_slot_takes_40_bytes() {
    assert!(size_of::<HeapSlot>() <= 40, "{}", size_of::<HeapSlot>());
}

/// Pushed one by one, so that the list has spare capacity when it is inserted.
#[test]
fn growing_lists_are_within_the_bound() {
    for n in [1, 3, 5, 17, 1_025, 2_049] {
        let mut list = List::default();
        for _ in 0..n {
            list.push(Element::from(""));
        }
        let mut heap = Heap::new(64 << 10);
        heap.insert(Object::List(list)).expect("room");
        let bound = FOOTPRINT_BASE + FOOTPRINT_FACTOR * heap.used();
        assert!(heap.footprint() <= bound, "{} > {bound} for {n}", heap.footprint());
    }
}

#[test]
fn the_array_shrinks_when_its_end_is_free() {
    let mut heap = Heap::new(1 << 20);
    let all: Vec<Ref> = (0..5_000).map(|_| heap.insert(text("")).expect("room")).collect();
    let full = heap.footprint();
    for &of in all.iter().skip(1).step_by(2).chain(all.iter().skip(2).step_by(2)) {
        heap.release(of);
    }
    assert_eq!(heap.n_objects(), 1);
    assert!(heap.footprint() < full / 100, "{} of {full}", heap.footprint());
}

proptest! {
    /// Against a model: a table of objects with counts.
    #[test]
    fn a_heap_is_a_table_of_counted_objects(acts in prop::collection::vec((0_u8..4, 0_usize..64), 1..400)) {
        let mut heap = Heap::new(4_096);
        let mut model: Vec<(Ref, Object)> = Vec::new();
        let mut peak = 0;
        for (act, n) in acts {
            match act {
                0 | 1 => {
                    let object = if act == 0 { text(&"x".repeat(n)) } else { list(n as i32) };
                    if let Ok(of) = heap.insert(object.clone()) {
                        model.push((of, object));
                    }
                }
                2 if !model.is_empty() => {
                    let (of, object) = model[n % model.len()].clone();
                    heap.retain(of).expect("a count");
                    model.push((of, object));
                }
                _ if !model.is_empty() => {
                    let (of, object) = model.swap_remove(n % model.len());
                    if n % 2 == 0 {
                        heap.release(of);
                    } else {
                        prop_assert_eq!(heap.take(of), object);
                    }
                }
                _ => {}
            }
            let mut objects: Vec<(Ref, &Object)> = model.iter().map(|(of, object)| (*of, object)).collect();
            objects.sort_by_key(|(of, _)| *of);
            let references = objects.len();
            objects.dedup_by_key(|(of, _)| *of);
            prop_assert_eq!(heap.n_objects(), objects.len());
            prop_assert_eq!(heap.used(), objects.iter().map(|(_, object)| object.bytes()).sum::<usize>());
            let counts = objects.iter().map(|(of, _)| heap.count(*of) as usize).sum::<usize>();
            prop_assert_eq!(counts, references);
            for (of, object) in &model {
                prop_assert_eq!(heap.get(*of), object);
            }
            peak = if model.is_empty() { 0 } else { peak.max(heap.used()) };
            let bound = FOOTPRINT_BASE + FOOTPRINT_FACTOR * peak;
            prop_assert!(heap.footprint() <= bound, "{} > {bound}", heap.footprint());
        }
    }
}
