//! Lists: their elements, their pieces, and reads of single elements.
//!
//! Functions that change a list take it by value. A list with one reference, taken out of its heap, is changed in place.

use crate::convert::{
    element_to_string, float_to_integer, string_to_float, string_to_integer, string_to_vector,
};
use crate::dialect::Dialect;
use crate::error::RunError;
use crate::heap::ALLOCATION_BYTES;
use crate::key::{Key, is_id};
use crate::string::Text;
use crate::sub_range::{SubRange, clamp, place, resolve};
use crate::value::{Element, Rotation, Type, Vector};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct List {
    elements: Vec<Element>,
    /// Sum of the elements' logical memory.
    bytes: usize,
}

impl List {
    /// Logical memory of an empty list, the same as that of a number.
    pub const BASE_BYTES: usize = Element::NUMBER_BYTES;

    /// Number of elements (`llGetListLength`).
    #[must_use]
    pub const fn len(&self) -> usize {
        self.elements.len()
    }

    /// True if it has no elements. As a condition a list is true if it has some.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Its elements.
    #[must_use]
    pub fn as_slice(&self) -> &[Element] {
        &self.elements
    }

    /// Its elements, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Element> {
        self.elements.iter()
    }

    /// The elements themselves.
    #[must_use]
    pub fn into_vec(self) -> Vec<Element> {
        self.elements
    }

    /// Logical memory that it counts for: its own and that of all elements.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        Self::BASE_BYTES + self.bytes
    }

    /// Appends an element.
    pub fn push(&mut self, element: Element) {
        self.bytes += element.bytes();
        self.elements.push(element);
    }

    /// Appends an element, if the list is not larger than `room` afterwards.
    pub(crate) fn push_within(&mut self, room: usize, element: Element) -> Result<(), RunError> {
        if self.bytes() + element.bytes() > room {
            return Err(RunError::StackHeapCollision);
        }
        self.push(element);
        Ok(())
    }

    /// `left == right` of lists: equal lengths.
    #[must_use]
    pub const fn has_length_of(&self, other: &Self) -> bool {
        self.len() == other.len()
    }

    /// `left != right` of lists: the difference of their lengths.
    #[must_use]
    pub const fn length_difference(&self, other: &Self) -> i32 {
        self.len() as i32 - other.len() as i32
    }

    /// `left + right` of lists.
    ///
    /// # Errors
    ///
    /// [`RunError::StackHeapCollision`] if the sum is larger than `room`, before memory is taken for it.
    pub fn concat(mut self, other: Self, room: usize) -> Result<Self, RunError> {
        if self.bytes() + other.bytes > room {
            return Err(RunError::StackHeapCollision);
        }
        self.bytes += other.bytes;
        self.elements.extend(other.elements);
        Ok(self)
    }

    /// `llList2List`: a range of elements. If `start` lies behind `end`, all but those between them.
    #[must_use]
    pub fn sub_list(self, start: i32, end: i32) -> Self {
        match SubRange::new(start, end, self.len()) {
            SubRange::Inside(range) => self.kept(range),
            SubRange::Outside(range) => self.cut(range),
        }
    }

    /// `llDeleteSubList`: all elements but those of a range. If `start` lies behind `end`, those between them remain.
    #[must_use]
    pub fn without(self, start: i32, end: i32) -> Self {
        match SubRange::new(start, end, self.len()) {
            SubRange::Inside(range) => self.cut(range),
            SubRange::Outside(range) => self.kept(range),
        }
    }

    /// `llListInsertList`: other elements in front of an index, which is negative from the end.
    #[must_use]
    pub fn insert_list(mut self, other: Self, index: i32) -> Self {
        let at = clamp(resolve(index, self.len()), self.len());
        self.bytes += other.bytes;
        drop(self.elements.splice(at..at, other.elements));
        self
    }

    /// `llListReplaceList`: other elements instead of a range. If `start` lies behind `end`, the elements between them remain, and the others are appended.
    /// If `start` lies in front of the list, the range is deleted without replacement.
    #[must_use]
    pub fn replace_list(mut self, other: Self, start: i32, end: i32) -> Self {
        let length = self.len();
        let other = if resolve(start, length) < 0 { Self::default() } else { other };
        match SubRange::new(start, end, length) {
            SubRange::Inside(range) => {
                self.bytes += other.bytes;
                self.bytes -= self.elements[range.clone()].iter().map(Element::bytes).sum::<usize>();
                drop(self.elements.splice(range, other.elements));
                self
            }
            SubRange::Outside(range) => {
                let mut kept = self.kept(range);
                kept.bytes += other.bytes;
                kept.elements.extend(other.elements);
                kept
            }
        }
    }

    /// `llList2ListStrided`: each element of a range whose index is a multiple of the stride. If `start` lies behind `end`, the range is the whole list.
    #[must_use]
    pub fn strided(self, start: i32, end: i32, stride: i32) -> Self {
        let length = self.len();
        let stride = stride.unsigned_abs().max(1) as usize;
        let (first, last) = (resolve(start, length), resolve(end, length));
        let range = if first > last { 0..length } else { clamp(first, length)..clamp(last + 1, length) };
        let at_stride = |(index, _): &(usize, Element)| range.contains(index) && index.is_multiple_of(stride);
        self.elements.into_iter().enumerate().filter(at_stride).map(|(_, element)| element).collect()
    }

    /// `llList2ListSlice`: of a range as of `llList2List`, one element of each stride, negative from the stride's end.
    #[must_use]
    pub fn slice(self, start: i32, end: i32, stride: i32, index: i32) -> Self {
        let Some(stride) = usize::try_from(stride).ok().filter(|&stride| stride > 0) else {
            return Self::default();
        };
        let Some(index) = place(index, stride) else { return Self::default() };
        self.sub_list(start, end).elements.into_iter().skip(index).step_by(stride).collect()
    }

    /// The element of an index, negative from the end.
    #[must_use]
    pub fn get(&self, index: i32) -> Option<&Element> {
        place(index, self.len()).map(|place| &self.elements[place])
    }

    /// `llGetListEntryType`: the number of the element's type, 0 beside the list. In `opensim` strings and keys are the same, and the form of an id
    /// decides.
    #[must_use]
    pub fn entry_type(&self, index: i32, dialect: Dialect) -> i32 {
        let Some(element) = self.get(index) else { return 0 };
        let kind = match (dialect, element) {
            (Dialect::OpenSim, Element::Text(text)) if is_id(text.as_str()) => Type::Key,
            (Dialect::OpenSim, Element::Key(key)) if key.id().is_none() => Type::Text,
            (_, element) => element.kind(),
        };
        kind as i32
    }

    /// `llList2Integer`: 0 beside the list, for vectors, rotations, and keys in `sl`.
    #[must_use]
    pub fn integer(&self, index: i32, dialect: Dialect) -> i32 {
        match self.get(index) {
            Some(Element::Integer(value)) => *value,
            Some(Element::Float(value)) => float_to_integer(*value, dialect),
            Some(Element::Text(text)) => string_to_integer(text.as_str()),
            Some(Element::Key(key)) if dialect == Dialect::OpenSim => key.with_str(string_to_integer),
            _ => 0,
        }
    }

    /// `llList2Float`: 0 beside the list, for vectors, rotations, and keys in `sl`.
    #[must_use]
    pub fn float(&self, index: i32, dialect: Dialect) -> f64 {
        match self.get(index) {
            Some(Element::Integer(value)) => dialect.float(f64::from(*value)),
            Some(Element::Float(value)) => *value,
            Some(Element::Text(text)) => string_to_float(text.as_str(), dialect),
            Some(Element::Key(key)) if dialect == Dialect::OpenSim => {
                key.with_str(|text| string_to_float(text, dialect))
            }
            _ => 0.0,
        }
    }

    /// `llList2String`: the empty string beside the list.
    #[must_use]
    pub fn string(&self, index: i32, dialect: Dialect) -> Text {
        self.get(index).map_or_else(Text::default, |element| element_to_string(element, dialect))
    }

    /// `llList2Key`: the empty key beside the list, and for elements of other types.
    #[must_use]
    pub fn key(&self, index: i32) -> Key {
        match self.get(index) {
            Some(Element::Key(key)) => key.clone(),
            Some(Element::Text(text)) => Key::from(text.clone()),
            _ => Key::from(""),
        }
    }

    /// `llList2Vector`: zero beside the list, and for other types; `opensim` casts strings.
    #[must_use]
    pub fn vector(&self, index: i32, dialect: Dialect) -> Vector {
        match self.get(index) {
            Some(Element::Vector(value)) => *value,
            Some(Element::Text(text)) if dialect == Dialect::OpenSim => {
                string_to_vector(text.as_str(), dialect)
            }
            _ => Vector::ZERO,
        }
    }

    /// `llList2Rot`: no rotation beside the list, and for other types; `opensim` casts strings.
    #[must_use]
    pub fn rotation(&self, index: i32, dialect: Dialect) -> Rotation {
        match self.get(index) {
            Some(Element::Rotation(value)) => **value,
            Some(Element::Text(text)) if dialect == Dialect::OpenSim => {
                crate::convert::string_to_rotation(text.as_str(), dialect)
            }
            _ => Rotation::ZERO,
        }
    }

    /// Returns memory that the elements do not need.
    pub(crate) fn trim(&mut self) {
        if self.elements.capacity() > self.elements.len() * 2 {
            self.elements.shrink_to_fit();
        }
    }

    /// Physical memory behind its own bytes.
    pub(crate) fn footprint(&self) -> usize {
        let elements = self.elements.capacity() * size_of::<Element>() + ALLOCATION_BYTES;
        elements + self.elements.iter().map(Element::footprint).sum::<usize>()
    }

    fn kept(mut self, range: std::ops::Range<usize>) -> Self {
        self.elements.truncate(range.end);
        drop(self.elements.drain(..range.start));
        Self::from(self.elements)
    }

    fn cut(mut self, range: std::ops::Range<usize>) -> Self {
        self.bytes -= self.elements.drain(range).map(|element| element.bytes()).sum::<usize>();
        self
    }
}

impl From<Vec<Element>> for List {
    fn from(elements: Vec<Element>) -> Self {
        let bytes = elements.iter().map(Element::bytes).sum();
        Self { elements, bytes }
    }
}

impl FromIterator<Element> for List {
    fn from_iter<I: IntoIterator<Item = Element>>(elements: I) -> Self {
        Self::from(Vec::from_iter(elements))
    }
}

impl<'a> IntoIterator for &'a List {
    type Item = &'a Element;
    type IntoIter = std::slice::Iter<'a, Element>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.elements.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Element>::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
#[path = "list/tests.rs"]
mod tests;
