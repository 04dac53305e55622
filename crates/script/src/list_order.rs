//! Lists: order, search, statistics, chance.

use crate::dialect::Dialect;
use crate::list::List;
use crate::sub_range::{place, resolve};
use crate::value::{Element, Type, Vector};
use std::cmp::Ordering;

/// `llListSort` and `llListSortStrided`: strides in the order of one of their elements.
///
/// Elements of different types are not compared: each type is sorted among the places that it has. Vectors are compared by length, rotations not at all,
/// NaN is the largest float. Equal elements keep their order. A list that is no multiple of its stride is not sorted; an index beside the stride has no
/// strides.
#[must_use]
pub fn sort(list: List, stride: i32, index: i32, is_ascending: bool) -> List {
    let stride = usize::try_from(stride).unwrap_or(1).max(1);
    let Some(index) = place(index, stride) else { return List::default() };
    if !list.len().is_multiple_of(stride) {
        return list;
    }
    let strides: Vec<&[Element]> = list.as_slice().chunks(stride).collect();
    let kinds: Vec<Type> = strides.iter().map(|stride| stride[index].kind()).collect();
    let mut sorted: Vec<&[Element]> = strides.clone();
    for kind in [Type::Integer, Type::Float, Type::Text, Type::Key, Type::Vector] {
        let mut alike: Vec<&[Element]> = strides
            .iter()
            .zip(&kinds)
            .filter(|(_, other)| **other == kind)
            .map(|(stride, _)| *stride)
            .collect();
        alike.sort_by(|left, right| {
            let order = compare(&left[index], &right[index]);
            if is_ascending { order } else { order.reverse() }
        });
        let places = kinds.iter().enumerate().filter(|(_, other)| **other == kind);
        for ((place, _), stride) in places.zip(alike) {
            sorted[place] = stride;
        }
    }
    sorted.concat().into()
}

/// Order of two elements of one type.
fn compare(left: &Element, right: &Element) -> Ordering {
    match (left, right) {
        (Element::Integer(left), Element::Integer(right)) => left.cmp(right),
        (Element::Float(left), Element::Float(right)) => compare_floats(*left, *right),
        (Element::Text(left), Element::Text(right)) => left.as_str().cmp(right.as_str()),
        (Element::Key(left), Element::Key(right)) => left.compare(right),
        (Element::Vector(left), Element::Vector(right)) => compare_floats(square(*left), square(*right)),
        _ => Ordering::Equal,
    }
}

/// Order of floats with NaN behind all others, and both zeros equal.
fn compare_floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

fn square(vector: Vector) -> f64 {
    crate::arith::dot(vector, vector)
}

/// `llListFindList`: the first index at which all elements of `test` stand; −1 if there is none.
#[must_use]
pub fn find(list: &List, test: &List, dialect: Dialect) -> i32 {
    if dialect == Dialect::OpenSim && list.is_empty() {
        return -1;
    }
    find_strided(list, test, 0, -1, 1, 0, dialect)
}

/// `llListFindListNext`: the index of an instance, counted from 0, or from −1 backwards.
#[must_use]
pub fn find_next(list: &List, test: &List, instance: i32, dialect: Dialect) -> i32 {
    find_strided(list, test, 0, -1, 1, instance, dialect)
}

/// `llListFindStrided` with an instance: the index of all elements of `test`, in steps of `stride` from `start` on, up to `end`. Types have to be
/// equal, but for strings and keys in `opensim`. NaN is found as a float.
#[must_use]
pub fn find_strided(
    list: &List,
    test: &List,
    start: i32,
    end: i32,
    stride: i32,
    instance: i32,
    dialect: Dialect,
) -> i32 {
    let (length, n_tested) = (list.len(), test.len());
    if length == 0 && n_tested == 0 {
        return 0;
    }
    let (first, last) = (place(start, length), resolve(end, length).min(length as i64 - 1));
    let (Some(first), Ok(last), Ok(stride)) = (first, usize::try_from(last), usize::try_from(stride)) else {
        return -1;
    };
    if n_tested > length || first > last {
        return -1;
    }
    if n_tested == 0 {
        return 0;
    }
    // The elements of the last place have to lie in the range, too.
    let Some(last) = (last + 1).checked_sub(n_tested).filter(|&last| stride > 0 && first <= last) else {
        return -1;
    };
    let range = &list.as_slice()[first..last + n_tested];
    let found = occurrences(range, test.as_slice(), dialect).into_iter().map(|at| first + at);
    let nth = instance.unsigned_abs() as usize;
    let found = if instance >= 0 {
        found.filter(|at| (at - first).is_multiple_of(stride)).nth(nth)
    } else {
        found.rev().filter(|at| (last - at).is_multiple_of(stride)).nth(nth - 1)
    };
    found.map_or(-1, |at| at as i32)
}

/// All places of a pattern, by the method of Knuth, Morris and Pratt: a list within itself would cost the square of its length.
fn occurrences(elements: &[Element], pattern: &[Element], dialect: Dialect) -> Vec<usize> {
    let is_next = |matched: usize, element: &Element| {
        pattern.get(matched).is_some_and(|next| is_same(next, element, dialect))
    };
    // For each beginning of the pattern: the longest shorter one that is its end.
    let mut shorter = vec![0; pattern.len() + 1];
    let advance = |shorter: &[usize], mut matched: usize, element: &Element| {
        while matched > 0 && !is_next(matched, element) {
            matched = shorter[matched];
        }
        matched + usize::from(is_next(matched, element))
    };
    for n in 1..pattern.len() {
        shorter[n + 1] = advance(&shorter, shorter[n], &pattern[n]);
    }
    let mut matched = 0;
    let mut places = Vec::new();
    for (n, element) in elements.iter().enumerate() {
        matched = advance(&shorter, matched, element);
        if matched == pattern.len() {
            places.push(n + 1 - pattern.len());
        }
    }
    places
}

fn is_same(left: &Element, right: &Element, dialect: Dialect) -> bool {
    match (left, right) {
        (Element::Float(left), Element::Float(right)) => left == right || left.is_nan() && right.is_nan(),
        (Element::Text(text), Element::Key(key)) | (Element::Key(key), Element::Text(text)) => {
            dialect == Dialect::OpenSim && key.is_text(text)
        }
        _ => left == right,
    }
}

/// `llListRandomize`: strides in a random order. `below` draws a number below its argument. A list that is no multiple of its stride remains.
#[must_use]
pub fn randomize(list: List, stride: i32, mut below: impl FnMut(u32) -> u32) -> List {
    let stride = usize::try_from(stride).unwrap_or(1).max(1);
    if !list.len().is_multiple_of(stride) {
        return list;
    }
    let mut strides: Vec<&[Element]> = list.as_slice().chunks(stride).collect();
    for n in (1..strides.len()).rev() {
        let other = below(u32::try_from(n + 1).expect("a list has less than 2³² strides"));
        strides.swap(n, other as usize);
    }
    strides.concat().into()
}

/// `llListStatistics`: one of the `LIST_STAT_` operations on the numbers of a list, 0 without numbers or for another operation. NaN is the largest number.
#[must_use]
pub fn statistics(operation: i32, list: &List, dialect: Dialect) -> f64 {
    let numbers: Vec<f64> = list
        .iter()
        .filter_map(|element| match element {
            Element::Integer(value) => Some(f64::from(*value)),
            Element::Float(value) => Some(*value),
            _ => None,
        })
        .collect();
    if numbers.is_empty() {
        return 0.0;
    }
    let n = numbers.len() as f64;
    let mean = || numbers.iter().sum::<f64>() / n;
    let mut sorted = numbers.clone();
    sorted.sort_by(|left, right| compare_floats(*left, *right));
    let (min, max) = (sorted[0], sorted[sorted.len() - 1]);
    let result = match operation {
        0 => max - min,
        1 => min,
        2 => max,
        3 => mean(),
        4 => (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0,
        5 => deviation(&numbers),
        6 => numbers.iter().sum(),
        7 => numbers.iter().map(|number| number * number).sum(),
        8 => n,
        9 if min > 0.0 => libm::exp(numbers.iter().map(|&number| libm::log(number)).sum::<f64>() / n),
        100 if dialect == Dialect::OpenSim => n / numbers.iter().map(|number| 1.0 / number).sum::<f64>(),
        _ => 0.0,
    };
    dialect.float(result)
}

/// The standard deviation of a sample, by Welford's method: the squares of large numbers would cancel all digits.
fn deviation(numbers: &[f64]) -> f64 {
    if numbers.len() < 2 {
        return 0.0;
    }
    let (mut mean, mut squares, mut n) = (0.0, 0.0, 0.0);
    for number in numbers {
        n += 1.0;
        let difference = number - mean;
        mean += difference / n;
        squares += difference * (number - mean);
    }
    libm::sqrt(squares / (n - 1.0))
}

#[cfg(test)]
#[path = "list_order/tests.rs"]
mod tests;
