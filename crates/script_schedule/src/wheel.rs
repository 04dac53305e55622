//! A timing wheel: instances by the tick at which time makes them ready.
//!
//! Eleven levels have 64 lists each. A due tick belongs to the level of the highest group of six bits in which it differs from the current tick, and there to the list of
//! its own six bits. So the lists of the lowest level have one tick each, and those of a level lie behind all of the levels below. Setting and removing take constant time;
//! an instance moves down a level at most ten times before it is due. Ticks that pass without a due one cost nothing: lists that have none are found by
//! a bit.

use crate::links::{Links, List};

/// Bits of a tick that a level looks at.
const LEVEL_BITS: usize = 6;
const LISTS: usize = 1 << LEVEL_BITS;
const LEVELS: usize = 64_usize.div_ceil(LEVEL_BITS);

/// Instances that wait for a tick.
#[derive(Clone, Debug)]
pub(crate) struct Wheel {
    /// The current tick. All due ones are behind it.
    now: u64,
    levels: Box<[WheelLevel; LEVELS]>,
    /// Due ticks of the instances in the lists, by their numbers.
    due: Vec<u64>,
    n: usize,
    earliest: Earliest,
    n_moves: u64,
}

#[derive(Clone, Copy, Debug)]
struct WheelLevel {
    /// A bit for each list that is not empty.
    occupied: u64,
    lists: [List; LISTS],
}

/// The earliest due tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Earliest {
    /// None without instances.
    Known(Option<u64>),
    /// It was removed or has passed. The next one is looked for when it is asked for.
    Unknown,
}

impl Wheel {
    /// An empty wheel.
    pub(crate) fn new(now: u64) -> Self {
        let level = WheelLevel { occupied: 0, lists: [List::EMPTY; LISTS] };
        Self {
            now,
            levels: Box::new([level; LEVELS]),
            due: Vec::new(),
            n: 0,
            earliest: Earliest::Known(None),
            n_moves: 0,
        }
    }

    /// Makes room for the numbers below `n`.
    pub(crate) fn grow(&mut self, n: usize) {
        if self.due.len() < n {
            self.due.resize(n, 0);
        }
    }

    /// The tick of an instance that is in the wheel.
    pub(crate) fn due(&self, number: u32) -> u64 {
        self.due[number as usize]
    }

    /// Number of instances that were moved to another level or taken out since the beginning.
    pub(crate) const fn n_moves(&self) -> u64 {
        self.n_moves
    }

    /// Has an instance come at a tick behind the current one.
    pub(crate) fn set(&mut self, links: &mut Links, number: u32, due: u64) {
        debug_assert!(due > self.now, "tick {due} is not behind {}", self.now);
        self.due[number as usize] = due;
        self.put(links, number);
        self.n += 1;
        if let Earliest::Known(earliest) = self.earliest {
            self.earliest = Earliest::Known(Some(earliest.map_or(due, |earliest| earliest.min(due))));
        }
    }

    /// Removes an instance that is in the wheel.
    pub(crate) fn remove(&mut self, links: &mut Links, number: u32) {
        let due = self.due(number);
        let (level, list) = place(self.now, due);
        let level = &mut self.levels[level];
        level.lists[list].remove(links, number);
        if level.lists[list].is_empty() {
            level.occupied &= !(1 << list);
        }
        self.n -= 1;
        self.forget(|earliest| earliest == due);
    }

    /// The earliest due tick.
    pub(crate) fn earliest(&mut self, links: &Links) -> Option<u64> {
        if self.earliest == Earliest::Unknown {
            self.earliest = Earliest::Known(self.look_for_earliest(links));
        }
        match self.earliest {
            Earliest::Known(earliest) => earliest,
            Earliest::Unknown => None,
        }
    }

    /// Advances to a tick, and moves the instances that are due at it to `due`, in the order of their numbers.
    ///
    /// # Panics
    ///
    /// If an instance was due before.
    pub(crate) fn advance(&mut self, links: &mut Links, tick: u64, due: &mut Vec<u32>) {
        let n_before = due.len();
        while let Some((level, list)) = self.first() {
            let begins = self.beginning(level, list);
            if begins > tick {
                break;
            }
            self.now = begins;
            self.levels[level].occupied &= !(1 << list);
            let mut numbers = std::mem::replace(&mut self.levels[level].lists[list], List::EMPTY);
            while let Some(number) = numbers.pop_front(links) {
                self.n_moves += 1;
                if self.due(number) > begins {
                    self.put(links, number);
                } else {
                    assert!(
                        begins == tick,
                        "script {number} was due at {begins}, in idle ticks before {tick}"
                    );
                    self.n -= 1;
                    due.push(number);
                }
            }
        }
        self.now = tick;
        due[n_before..].sort_unstable();
        self.forget(|earliest| earliest <= tick);
    }

    fn put(&mut self, links: &mut Links, number: u32) {
        let (level, list) = place(self.now, self.due(number));
        let level = &mut self.levels[level];
        level.occupied |= 1 << list;
        level.lists[list].push_back(links, number);
    }

    /// The first list that is not empty: all others have later ticks.
    fn first(&self) -> Option<(usize, usize)> {
        let level = self.levels.iter().position(|level| level.occupied != 0)?;
        Some((level, self.levels[level].occupied.trailing_zeros() as usize))
    }

    /// The first tick of a list.
    const fn beginning(&self, level: usize, list: usize) -> u64 {
        let shift = level * LEVEL_BITS;
        // The highest level has the highest bits; there are none above.
        let above = match self.now.checked_shr((shift + LEVEL_BITS) as u32) {
            Some(above) => above << LEVEL_BITS,
            None => 0,
        };
        (above | list as u64) << shift
    }

    fn look_for_earliest(&self, links: &Links) -> Option<u64> {
        let (level, list) = self.first()?;
        self.levels[level].lists[list].iter(links).map(|number| self.due(number)).min()
    }

    /// After instances have left: the earliest tick is unknown if it was that of one of them.
    fn forget(&mut self, has_left: impl Fn(u64) -> bool) {
        match self.earliest {
            _ if self.n == 0 => self.earliest = Earliest::Known(None),
            Earliest::Known(Some(earliest)) if has_left(earliest) => self.earliest = Earliest::Unknown,
            Earliest::Known(_) | Earliest::Unknown => {}
        }
    }
}

/// Level and list of a due tick. They stay the same while the current tick has not reached the list.
const fn place(now: u64, due: u64) -> (usize, usize) {
    let highest = ((now ^ due) | 1).ilog2() as usize;
    let level = highest / LEVEL_BITS;
    (level, (due >> (level * LEVEL_BITS)) as usize % LISTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const N: u32 = 40;

    fn wheel(now: u64) -> (Wheel, Links) {
        let (mut wheel, mut links) = (Wheel::new(now), Links::NONE);
        wheel.grow(N as usize);
        links.grow(N as usize);
        (wheel, links)
    }

    #[test]
    fn ticks_of_all_sizes_are_exact() {
        let (mut wheel, mut links) = wheel(7);
        let ticks: Vec<u64> = (3..64).step_by(3).map(|bit| 1_u64 << bit).chain([u64::MAX]).collect();
        for (number, &tick) in (0..).zip(&ticks) {
            wheel.set(&mut links, number, tick);
        }
        for (number, &tick) in (0..).zip(&ticks) {
            assert_eq!(wheel.earliest(&links), Some(tick));
            let mut due = Vec::new();
            wheel.advance(&mut links, tick - 1, &mut due);
            assert!(due.is_empty(), "before {tick}");
            wheel.advance(&mut links, tick, &mut due);
            assert_eq!(due, [number]);
        }
        assert_eq!(wheel.earliest(&links), None);
        assert!(wheel.n_moves() <= (ticks.len() * LEVELS) as u64);
    }

    #[test]
    fn what_is_due_together_comes_in_the_order_of_numbers() {
        let (mut wheel, mut links) = wheel(0);
        for number in [30, 2, 17, 9] {
            wheel.set(&mut links, number, 5_000);
        }
        wheel.remove(&mut links, 17);
        let mut due = Vec::new();
        wheel.advance(&mut links, 4_999, &mut due);
        wheel.set(&mut links, 5, 5_000);
        wheel.advance(&mut links, 5_000, &mut due);
        assert_eq!(due, [2, 5, 9, 30]);
    }

    #[test]
    #[should_panic(expected = "was due at 70, in idle ticks before 80")]
    fn a_due_tick_is_not_passed() {
        let (mut wheel, mut links) = wheel(0);
        wheel.set(&mut links, 1, 70);
        wheel.advance(&mut links, 80, &mut Vec::new());
    }

    proptest! {
        #[test]
        fn a_wheel_is_a_sorted_map(
            now in prop_oneof![Just(0), 0..100_000_u64, Just(u64::MAX - 500_000)],
            orders in prop::collection::vec((0..N, 0..20_u32, any::<u64>()), 1..200),
        ) {
            let (mut wheel, mut links) = wheel(now);
            let mut now = now;
            let mut map = BTreeMap::new();
            let mut due = Vec::new();
            for (number, bits, random) in orders {
                if map.remove(&number).is_some() {
                    wheel.remove(&mut links, number);
                } else {
                    let tick = now.saturating_add(1 + random % (1_u64 << bits)).max(now + 1);
                    wheel.set(&mut links, number, tick);
                    map.insert(number, tick);
                }
                prop_assert_eq!(wheel.earliest(&links), map.values().copied().min());
                if random % 3 > 0 {
                    continue;
                }
                // To the next due tick, or as far as none is.
                let tick = map.values().copied().min().unwrap_or(now + 1).min(now + 1 + random % 1_000);
                now = tick;
                due.clear();
                wheel.advance(&mut links, tick, &mut due);
                let expected: Vec<u32> =
                    map.iter().filter(|(_, due)| **due == tick).map(|(number, _)| *number).collect();
                prop_assert_eq!(&due, &expected);
                map.retain(|_, due| *due > tick);
            }
        }
    }
}
