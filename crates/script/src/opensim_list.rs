//! Functions of lists that only OpenSimulator has.

use crate::dialect::Dialect;
use crate::list::List;
use crate::list_order;
use crate::sub_range::resolve;

/// `osListFindListNext`: the index of an instance of `test`, counted from 0, or from −1 backwards, among those that begin from `start` to `end`. −1
/// if there is none. A negative `end` also bounds the end of the instance. Without `test` each element is an instance.
#[must_use]
pub fn find_next(list: &List, test: &List, start: i32, end: i32, instance: i32) -> i32 {
    let (length, n_tested) = (list.len(), test.len());
    if length == 0 {
        return if n_tested == 0 { 0 } else { -1 };
    }
    if n_tested == 0 {
        let at = resolve(instance, length);
        return if (0..length as i64).contains(&at) { at as i32 } else { -1 };
    }
    let last = match end {
        0.. => (i64::from(end) + n_tested as i64 - 1).min(length as i64 - 1),
        _ => resolve(end, length),
    };
    // Lists are far shorter than 2³¹ elements. A negative end would count anew from the end of the list.
    let Some(last) = i32::try_from(last).ok().filter(|&last| last >= 0) else { return -1 };
    list_order::find_strided(list, test, start, last, 1, instance, Dialect::OpenSim)
}

/// `osOldList2ListStrided`: every `stride`-th element of the list, from its first on, of those that lie from `start` to `end`; outside of these if `start`
/// lies behind `end`. With a negative stride from the last on, backwards.
#[must_use]
pub fn old_strided(list: &List, start: i32, end: i32, stride: i32) -> List {
    let elements = list.as_slice();
    let length = elements.len();
    let place = |index: i32| resolve(index, length).min(length as i64);
    let (start, end) = (place(start), place(end));
    let step = stride.unsigned_abs().max(1) as usize;
    if start == end {
        let at = usize::try_from(start).ok().filter(|at| at.is_multiple_of(step));
        return at.and_then(|at| elements.get(at)).cloned().into_iter().collect();
    }
    let is_within = |at: usize| {
        let at = at as i64;
        if start < end { (start..=end).contains(&at) } else { at <= end || at >= start }
    };
    let places = 0..length;
    if stride < 0 {
        places.rev().step_by(step).filter(|&at| is_within(at)).map(|at| elements[at].clone()).collect()
    } else {
        places.step_by(step).filter(|&at| is_within(at)).map(|at| elements[at].clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(numbers: &[i32]) -> List {
        numbers.iter().map(|&number| number.into()).collect()
    }

    #[test]
    fn instances_are_counted_within_their_range() {
        let list = numbers(&[1, 2, 1, 2, 1]);
        for (test, start, end, instance, expected) in [
            (&[1, 2][..], 0, -1, 0, 0),
            (&[1, 2], 0, -1, 1, 2),
            (&[1, 2], 0, -1, 2, -1),
            (&[1, 2], 0, -1, -1, 2),
            (&[1, 2], 0, -1, -2, 0),
            (&[1, 2], 1, -1, 0, 2),
            (&[1, 2], 0, 2, -1, 2),
            (&[1, 2], 0, -3, -1, 0),
            (&[1, 2], 0, 1, -1, 0),
            (&[1, 2], 0, i32::MAX, -1, 2),
            (&[1], -1, -1, 0, 4),
            (&[1], 9, -1, 0, -1),
            (&[1], 0, -9, 0, -1),
            (&[], 0, -1, 3, 3),
            (&[], 0, -1, -1, 4),
            (&[], 0, -1, 5, -1),
            (&[1, 2, 1, 2, 1, 2], 0, -1, 0, -1),
        ] {
            let found = find_next(&list, &numbers(test), start, end, instance);
            assert_eq!(found, expected, "{test:?} {start} {end} {instance}");
        }
        assert_eq!(find_next(&numbers(&[]), &numbers(&[]), 0, -1, 0), 0);
        assert_eq!(find_next(&numbers(&[]), &numbers(&[1]), 0, -1, 0), -1);
    }

    #[test]
    fn strides_begin_at_the_ends_of_the_list() {
        let list = numbers(&[0, 1, 2, 3, 4, 5]);
        for (start, end, stride, expected) in [
            (0, -1, 2, &[0, 2, 4][..]),
            (1, -1, 2, &[2, 4]),
            (0, -1, -2, &[5, 3, 1]),
            (0, -1, 0, &[0, 1, 2, 3, 4, 5]),
            (4, 1, 1, &[0, 1, 4, 5]),
            (2, 2, 2, &[2]),
            (3, 3, 2, &[]),
            (9, 9, 1, &[]),
            (-9, 1, 1, &[0, 1]),
            (0, -1, i32::MIN, &[5]),
        ] {
            assert_eq!(old_strided(&list, start, end, stride), numbers(expected), "{start} {end} {stride}");
        }
    }
}
