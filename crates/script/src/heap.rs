//! The memory of one script: strings, keys and lists by index, with reference counts, within a limit.
//!
//! Lists contain no lists, so that no value refers to itself, counts are exact and there is no garbage collection. Logical memory depends on the values
//! alone, never on the machine: an object counts once, however many references it has, and a list counts each of its elements in full.
//!
//! # Physical memory
//!
//! [`Heap::footprint`] ≤ [`FOOTPRINT_BASE`] + [`FOOTPRINT_FACTOR`] × the highest logical memory since the heap was last empty. The worst case are
//! empty strings: 18 logical bytes for two slots of 40 (one in use, one that a growing array has spare) and an allocation of 32. A heap cannot be
//! defragmented, since indexes are in variables and frames; its array shrinks when its last slots become free.

use crate::error::RunError;
use crate::key::Key;
use crate::list::List;
use crate::string::Text;
use crate::value::Element;
use serde::{Deserialize, Serialize};

/// Physical bytes at most for each logical byte at the peak.
pub const FOOTPRINT_FACTOR: usize = 7;

/// Physical bytes beside these: slots that a heap keeps without need.
pub const FOOTPRINT_BASE: usize = SPARE_SLOTS * size_of::<HeapSlot>();

/// Bytes that an allocation costs beside its content: the allocator's header and rounding.
pub(crate) const ALLOCATION_BYTES: usize = 16;

/// Slots that a heap keeps without need.
const SPARE_SLOTS: usize = 16;

/// An object of a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ref(u32);

impl Ref {
    /// The index in the heap's array.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.0
    }

    /// The object at an index of the heap's array.
    pub(crate) const fn from_index(index: u32) -> Self {
        Self(index)
    }
}

/// An object: a value that does not fit into a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Object {
    /// A string.
    Text(Text),
    /// A key.
    Key(Key),
    /// A list.
    List(List),
}

impl Object {
    /// Logical memory that it counts for.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.bytes(),
            Self::Key(key) => key.bytes(),
            Self::List(list) => list.bytes(),
        }
    }

    fn footprint(&self) -> usize {
        match self {
            Self::Text(text) => text.footprint(),
            Self::Key(key) => key.footprint(),
            Self::List(list) => list.footprint(),
        }
    }
}

/// Place of an object in the array, or one for the next.
#[derive(Clone, Debug)]
enum HeapSlot {
    Used {
        count: u32,
        object: Object,
    },
    /// Neighbours in the chain of free slots, so that any of them leaves it at once when the array shrinks.
    Free {
        before: u32,
        after: u32,
    },
}

/// No slot.
const NONE: u32 = u32::MAX;

/// The objects of one script.
#[derive(Clone, Debug)]
pub struct Heap {
    slots: Vec<HeapSlot>,
    /// The first slot of the chain.
    free: u32,
    n_objects: u32,
    used: usize,
    limit: usize,
}

impl Heap {
    /// An empty heap with a limit of logical memory, in bytes.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self { slots: Vec::new(), free: NONE, n_objects: 0, used: 0, limit }
    }

    /// Logical memory in use.
    #[must_use]
    pub const fn used(&self) -> usize {
        self.used
    }

    /// Logical memory up to the limit.
    #[must_use]
    pub const fn room(&self) -> usize {
        self.limit.saturating_sub(self.used)
    }

    /// The limit of logical memory.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// Sets the limit, unless more is in use.
    ///
    /// # Errors
    ///
    /// [`RunError::StackHeapCollision`]; the limit remains.
    pub const fn set_limit(&mut self, limit: usize) -> Result<(), RunError> {
        if limit < self.used {
            return Err(RunError::StackHeapCollision);
        }
        self.limit = limit;
        Ok(())
    }

    /// Counts memory that is not in objects: code, variables, call frames.
    ///
    /// # Errors
    ///
    /// [`RunError::StackHeapCollision`] if it does not fit; nothing is counted.
    pub const fn reserve(&mut self, bytes: usize) -> Result<(), RunError> {
        if bytes > self.room() {
            return Err(RunError::StackHeapCollision);
        }
        self.used += bytes;
        Ok(())
    }

    /// Counts less memory that is not in objects.
    pub const fn unreserve(&mut self, bytes: usize) {
        self.used -= bytes;
    }

    /// Number of objects.
    #[must_use]
    pub const fn n_objects(&self) -> usize {
        self.n_objects as usize
    }

    /// Adds an object, with one reference.
    ///
    /// # Errors
    ///
    /// [`RunError::StackHeapCollision`] if it does not fit; the heap is as before.
    pub fn insert(&mut self, mut object: Object) -> Result<Ref, RunError> {
        let bytes = object.bytes();
        if bytes > self.room() {
            return Err(RunError::StackHeapCollision);
        }
        if let Object::List(list) = &mut object {
            list.trim();
        }
        self.used += bytes;
        self.n_objects += 1;
        let slot = HeapSlot::Used { count: 1, object };
        if self.free == NONE {
            let index = u32::try_from(self.slots.len())
                .expect("each object counts, so that a limit of memory bounds them");
            self.slots.push(slot);
            return Ok(Ref(index));
        }
        let index = self.free;
        self.unchain(index);
        self.slots[index as usize] = slot;
        Ok(Ref(index))
    }

    /// The object of a reference.
    ///
    /// # Panics
    ///
    /// If there is none: the reference was released.
    #[must_use]
    pub fn get(&self, of: Ref) -> &Object {
        match &self.slots[of.0 as usize] {
            HeapSlot::Used { object, .. } => object,
            HeapSlot::Free { .. } => panic!("a reference to a released object"),
        }
    }

    /// Number of references to an object.
    #[must_use]
    pub fn count(&self, of: Ref) -> u32 {
        match &self.slots[of.0 as usize] {
            HeapSlot::Used { count, .. } => *count,
            HeapSlot::Free { .. } => 0,
        }
    }

    /// Adds a reference to an object.
    ///
    /// # Errors
    ///
    /// [`RunError::StackHeapCollision`] at 2³² references.
    pub fn retain(&mut self, of: Ref) -> Result<(), RunError> {
        let count = self.count_mut(of);
        *count = count.checked_add(1).ok_or(RunError::StackHeapCollision)?;
        Ok(())
    }

    /// Removes a reference, and the object with its last one.
    pub fn release(&mut self, of: Ref) {
        let count = self.count_mut(of);
        *count -= 1;
        if *count == 0 {
            drop(self.remove(of));
        }
    }

    /// Releases a reference and returns its object: itself with the last reference, a copy otherwise. An object that is changed
    /// and inserted again was thus changed in place.
    #[must_use]
    pub fn take(&mut self, of: Ref) -> Object {
        let count = self.count_mut(of);
        *count -= 1;
        if *count == 0 { self.remove(of) } else { self.get(of).clone() }
    }

    /// Appends an element to a list in place. Returns the element if the list has other references, or is no list.
    ///
    /// # Errors
    ///
    /// [`RunError::StackHeapCollision`] if the element does not fit; the list is as before.
    pub(crate) fn push_in_place(&mut self, of: Ref, element: Element) -> Result<Option<Element>, RunError> {
        let room = self.room();
        let HeapSlot::Used { count: 1, object: Object::List(list) } = &mut self.slots[of.0 as usize] else {
            return Ok(Some(element));
        };
        let bytes = element.bytes();
        if bytes > room {
            return Err(RunError::StackHeapCollision);
        }
        list.push(element);
        self.used += bytes;
        Ok(None)
    }

    /// Physical memory: array, content, and an estimate of the allocator's costs. Shared strings count everywhere.
    #[must_use]
    pub fn footprint(&self) -> usize {
        let objects = self.slots.iter().map(|slot| match slot {
            HeapSlot::Used { object, .. } => object.footprint(),
            HeapSlot::Free { .. } => 0,
        });
        self.slots.capacity() * size_of::<HeapSlot>() + objects.sum::<usize>()
    }

    fn count_mut(&mut self, of: Ref) -> &mut u32 {
        match &mut self.slots[of.0 as usize] {
            HeapSlot::Used { count, .. } => count,
            HeapSlot::Free { .. } => panic!("a reference to a released object"),
        }
    }

    /// Takes an object without references out.
    fn remove(&mut self, of: Ref) -> Object {
        let slot = std::mem::replace(
            &mut self.slots[of.0 as usize],
            HeapSlot::Free { before: NONE, after: self.free },
        );
        let HeapSlot::Used { object, .. } = slot else { panic!("a reference to a released object") };
        if self.free != NONE {
            self.set_before(self.free, of.0);
        }
        self.free = of.0;
        self.used -= object.bytes();
        self.n_objects -= 1;
        self.shrink();
        object
    }

    /// Removes free slots from the end of the array, and returns memory if more than half of it is unused.
    fn shrink(&mut self) {
        while let Some(HeapSlot::Free { .. }) = self.slots.last() {
            let index = u32::try_from(self.slots.len() - 1).expect("indexes have 32 bits");
            self.unchain(index);
            self.slots.pop();
        }
        if self.slots.capacity() > SPARE_SLOTS.max(self.slots.len() * 4) {
            self.slots.shrink_to(SPARE_SLOTS.max(self.slots.len() * 2));
        }
    }

    /// Takes a slot out of the chain of free ones.
    fn unchain(&mut self, index: u32) {
        let HeapSlot::Free { before, after } = self.slots[index as usize] else {
            panic!("a used slot among the free")
        };
        if before == NONE {
            self.free = after;
        } else {
            let HeapSlot::Free { after: next, .. } = &mut self.slots[before as usize] else {
                panic!("a used slot among the free")
            };
            *next = after;
        }
        if after != NONE {
            self.set_before(after, before);
        }
    }

    fn set_before(&mut self, index: u32, to: u32) {
        let HeapSlot::Free { before, .. } = &mut self.slots[index as usize] else {
            panic!("a used slot among the free")
        };
        *before = to;
    }
}

#[cfg(test)]
#[path = "heap/tests.rs"]
mod tests;
