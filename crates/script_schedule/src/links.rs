//! Doubly linked lists of numbers, in one array: a number is in at most one list, and leaves it without a search.

/// Stands for no number.
const NONE: u32 = u32::MAX;

/// Neighbours of numbers in their lists.
#[derive(Clone, Debug)]
pub(crate) struct Links(Vec<Link>);

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    behind: u32,
}

/// A list: its ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    first: u32,
    last: u32,
}

impl Links {
    /// Without room for a number.
    pub(crate) const NONE: Self = Self(Vec::new());

    /// Makes room for the numbers below `n`.
    pub(crate) fn grow(&mut self, n: usize) {
        if self.0.len() < n {
            self.0.resize(n, Link { before: NONE, behind: NONE });
        }
    }

    /// The number behind another one in its list.
    pub(crate) fn behind(&self, number: u32) -> Option<u32> {
        some(self.at(number).behind)
    }

    fn at(&self, number: u32) -> Link {
        self.0[number as usize]
    }

    fn at_mut(&mut self, number: u32) -> &mut Link {
        &mut self.0[number as usize]
    }
}

impl List {
    /// Without a number.
    pub(crate) const EMPTY: Self = Self { first: NONE, last: NONE };

    pub(crate) const fn is_empty(self) -> bool {
        self.first == NONE
    }

    pub(crate) fn first(self) -> Option<u32> {
        some(self.first)
    }

    /// The numbers from the first to the last.
    pub(crate) fn iter(self, links: &Links) -> impl Iterator<Item = u32> {
        std::iter::successors(self.first(), move |&number| links.behind(number))
    }

    pub(crate) fn push_back(&mut self, links: &mut Links, number: u32) {
        self.insert(links, number, self.last, NONE);
    }

    pub(crate) fn push_front(&mut self, links: &mut Links, number: u32) {
        self.insert(links, number, NONE, self.first);
    }

    /// Inserts a number in front of another one, which is in the list.
    pub(crate) fn insert_before(&mut self, links: &mut Links, number: u32, behind: u32) {
        let before = links.at(behind).before;
        self.insert(links, number, before, behind);
    }

    fn insert(&mut self, links: &mut Links, number: u32, before: u32, behind: u32) {
        *links.at_mut(number) = Link { before, behind };
        match some(before) {
            Some(before) => links.at_mut(before).behind = number,
            None => self.first = number,
        }
        match some(behind) {
            Some(behind) => links.at_mut(behind).before = number,
            None => self.last = number,
        }
    }

    /// Removes a number that is in the list.
    pub(crate) fn remove(&mut self, links: &mut Links, number: u32) {
        let Link { before, behind } = links.at(number);
        match some(before) {
            Some(before) => links.at_mut(before).behind = behind,
            None => self.first = behind,
        }
        match some(behind) {
            Some(behind) => links.at_mut(behind).before = before,
            None => self.last = before,
        }
    }

    pub(crate) fn pop_front(&mut self, links: &mut Links) -> Option<u32> {
        let number = self.first()?;
        self.remove(links, number);
        Some(number)
    }
}

fn some(number: u32) -> Option<u32> {
    (number != NONE).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Two lists of one array do what two queues do.
        #[test]
        fn lists_are_queues(orders in prop::collection::vec((0..5_u8, 0..2_usize, 0..12_u32), 0..200)) {
            let mut links = Links::NONE;
            links.grow(12);
            let mut lists = [List::EMPTY; 2];
            let mut queues: [VecDeque<u32>; 2] = Default::default();
            for (order, of, number) in orders {
                let (list, queue) = (&mut lists[of], &queues[of]);
                let at = queue.iter().position(|&other| other == number);
                let is_free = queues.iter().all(|queue| !queue.contains(&number));
                let queue = &mut queues[of];
                match (order, at) {
                    (0, _) if is_free => {
                        list.push_back(&mut links, number);
                        queue.push_back(number);
                    }
                    (1, _) if is_free => {
                        list.push_front(&mut links, number);
                        queue.push_front(number);
                    }
                    (2, _) if is_free && !queue.is_empty() => {
                        let at = number as usize % queue.len();
                        list.insert_before(&mut links, number, queue[at]);
                        queue.insert(at, number);
                    }
                    (3, Some(at)) => {
                        list.remove(&mut links, number);
                        queue.remove(at);
                    }
                    (4, _) => prop_assert_eq!(list.pop_front(&mut links), queue.pop_front()),
                    _ => {}
                }
                for (list, queue) in lists.iter().zip(&queues) {
                    prop_assert!(list.iter(&links).eq(queue.iter().copied()));
                    prop_assert_eq!(list.is_empty(), queue.is_empty());
                }
            }
        }
    }
}
