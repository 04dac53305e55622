//! Values of the shared worlds, found by world id without a search.

use ids::WorldId;
use link::SHARED_WORLDS_MAX;

/// A map from ids of shared worlds to values, in the order of insertion. A lookup takes two loads: a shard does one for each run of commands
/// to the same world.
#[derive(Clone, Debug)]
pub struct WorldMap<T> {
    entries: Vec<(WorldId, T)>,
    /// By world id: index of the entry plus 1, or 0 without an entry.
    index: Vec<u16>,
}

impl<T> Default for WorldMap<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), index: Vec::new() }
    }
}

impl<T> WorldMap<T> {
    /// The value of a world; `None` for a world without an entry.
    pub fn get(&self, world: WorldId) -> Option<&T> {
        let index = self.index_of(world)?;
        Some(&self.entries[index].1)
    }

    /// The value of a world; `None` for a world without an entry.
    pub fn get_mut(&mut self, world: WorldId) -> Option<&mut T> {
        let index = self.index_of(world)?;
        Some(&mut self.entries[index].1)
    }

    /// All entries, in the order of insertion.
    pub fn iter(&self) -> impl Iterator<Item = (WorldId, &T)> {
        self.entries.iter().map(|(world, value)| (*world, value))
    }

    /// All entries, in the order of insertion.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (WorldId, &mut T)> {
        self.entries.iter_mut().map(|(world, value)| (*world, value))
    }

    /// All values, in the order of insertion.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|(_, value)| value)
    }

    /// All values, in the order of insertion.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    /// All values, in the order of insertion.
    pub fn into_values(self) -> impl Iterator<Item = T> {
        self.entries.into_iter().map(|(_, value)| value)
    }

    fn index_of(&self, world: WorldId) -> Option<usize> {
        let entry = *self.index.get(world.0 as usize)?;
        usize::from(entry).checked_sub(1)
    }
}

impl<T> FromIterator<(WorldId, T)> for WorldMap<T> {
    /// # Panics
    /// If an id occurs twice, or is above [`SHARED_WORLDS_MAX`].
    fn from_iter<I: IntoIterator<Item = (WorldId, T)>>(entries: I) -> Self {
        let entries: Vec<(WorldId, T)> = entries.into_iter().collect();
        let last = entries.iter().map(|(world, _)| world.0).max();
        assert!(last.is_none_or(|last| last <= SHARED_WORLDS_MAX), "only shared worlds are numbered densely");
        let mut index = vec![0; last.map_or(0, |last| last as usize + 1)];
        for ((world, _), n) in entries.iter().zip(1..) {
            let former = std::mem::replace(&mut index[world.0 as usize], n);
            assert_eq!(former, 0, "world {} has one entry", world.0);
        }
        Self { entries, index }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_number_and_listed_as_inserted() {
        let mut map: WorldMap<char> =
            [(7, 'a'), (2, 'b')].map(|(n, value)| (WorldId(n), value)).into_iter().collect();
        assert_eq!([7, 2].map(|n| map.get(WorldId(n)).copied()), [Some('a'), Some('b')]);
        assert_eq!([0, 1, 3, 8, u32::MAX].map(|n| map.get(WorldId(n))), [None; 5]);
        *map.get_mut(WorldId(2)).expect("it is there") = 'c';
        assert_eq!(map.iter().collect::<Vec<_>>(), [(WorldId(7), &'a'), (WorldId(2), &'c')]);
        assert_eq!(map.values().collect::<String>(), "ac");
    }

    #[test]
    #[should_panic(expected = "has one entry")]
    fn a_world_has_one_entry() {
        let _: WorldMap<()> = [(WorldId(2), ()), (WorldId(2), ())].into_iter().collect();
    }
}
