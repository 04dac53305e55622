//! Last places, homes and appearances on their way to the database, and the health of the media.
//!
//! No thread and no clock: the `store` thread of the server keeps the hub's records here, writes it, and probes the media on a
//! schedule.

use ids::AgentId;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::{Location, Store, StoreError, StoredAppearance};

/// Places of each kind that wait for a database that refuses them.
const UNWRITTEN_MAX: usize = 65_536;
/// The same of appearances, which take up to 3 KiB each.
const APPEARANCES_MAX: usize = 4_096;

/// Places that are not written yet: of each account the newest last place, the newest home, and the newest appearance beside them.
#[derive(Debug, Default)]
pub struct PendingPlaces {
    last: BTreeMap<AgentId, Location>,
    homes: BTreeMap<AgentId, Location>,
    appearances: BTreeMap<AgentId, StoredAppearance>,
    dropped: usize,
}

impl PendingPlaces {
    /// Keeps an account's last place until it is written.
    pub fn keep_last(&mut self, agent: AgentId, place: Location) {
        self.dropped += usize::from(!keep(&mut self.last, UNWRITTEN_MAX, agent, place));
    }

    /// Keeps an account's home until it is written.
    pub fn keep_home(&mut self, agent: AgentId, home: Location) {
        self.dropped += usize::from(!keep(&mut self.homes, UNWRITTEN_MAX, agent, home));
    }

    /// Keeps the appearance of an account's avatar until it is written.
    pub fn keep_appearance(&mut self, agent: AgentId, appearance: StoredAppearance) {
        self.dropped += usize::from(!keep(&mut self.appearances, APPEARANCES_MAX, agent, appearance));
    }

    /// Places and appearances that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.last.len() + self.homes.len() + self.appearances.len()
    }

    /// True if none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Places that are lost if the server ends now: those that wait, and those that found no room.
    #[must_use]
    pub fn unwritten(&self) -> usize {
        self.len() + self.dropped
    }

    /// Writes the waiting ones. A failed one keeps waiting.
    ///
    /// # Errors
    /// The store's error of the first failure.
    pub fn write(&mut self, store: &Store) -> Result<(), StoreError> {
        while let Some((agent, home)) = self.homes.first_key_value() {
            store.save_home(*agent, home.clone())?;
            self.homes.pop_first();
        }
        let all: Vec<(AgentId, Location)> =
            self.last.iter().map(|(agent, place)| (*agent, place.clone())).collect();
        store.save_last_locations(&all)?;
        self.last.clear();
        if !self.appearances.is_empty() {
            let all: Vec<(AgentId, StoredAppearance)> =
                self.appearances.iter().map(|(agent, look)| (*agent, look.clone())).collect();
            store.save_appearances(&all)?;
            self.appearances.clear();
        }
        Ok(())
    }
}

/// False when there is no room: the table is bounded while writes fail.
fn keep<T>(kept: &mut BTreeMap<AgentId, T>, max: usize, agent: AgentId, newest: T) -> bool {
    let has_room = kept.len() < max || kept.contains_key(&agent);
    if has_room {
        kept.insert(agent, newest);
    }
    has_room
}

/// Destinations of places.
#[derive(Clone, Copy, Debug)]
pub enum Medium {
    /// The database.
    Database,
    /// The disk of the data directory.
    Disk,
}

/// Health of the media, by the latest write or probe of each.
#[derive(Debug, Default)]
pub struct MediaHealth {
    troubles: Mutex<[Option<String>; 2]>,
}

impl MediaHealth {
    /// Notes the outcome of a write or of a probe. A change is logged.
    pub fn record_outcome<E: std::error::Error>(&self, medium: Medium, written: Result<(), E>) {
        let trouble = written.err().map(|error| {
            let cause = error.source().map_or_else(String::new, |cause| format!(": {cause}"));
            let what = match medium {
                Medium::Database => "The database does not keep last places and homes",
                Medium::Disk => "The data directory's disk does not take a file",
            };
            format!("{what}: {error}{cause}.")
        });
        let mut troubles = self.troubles();
        let known = &mut troubles[medium as usize];
        match (&*known, &trouble) {
            (None, Some(trouble)) => tracing::error!(trouble, "not kept"),
            (Some(_), None) => tracing::info!(?medium, "kept again"),
            _ => {}
        }
        *known = trouble;
    }

    /// A sentence for the operator, while a medium refuses writes.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.troubles().iter().flatten().next().cloned()
    }

    fn troubles(&self) -> MutexGuard<'_, [Option<String>; 2]> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::password::Cost;
    use crate::users::Users;
    use std::io;
    use uuid::Uuid;

    fn spot(x: f32) -> Location {
        Location {
            region: "Harbour".into(),
            handle: ids::RegionHandle::from_grid(1_000, 1_000),
            position: glam::Vec3::new(x, 0.0, 0.0),
            look_at: glam::Vec3::X,
        }
    }

    #[test]
    fn the_newest_place_of_an_account_is_written_and_no_longer_waits() {
        let store = Store::open_in_memory().unwrap();
        let cost = Cost { memory_kib: 64, passes: 1 };
        let ada = Users::new(&store, cost).add("Ada", "Lovelace", "secret", 0).unwrap();
        let mut pending = PendingPlaces::default();
        for x in [1.0, 2.0] {
            pending.keep_last(ada, spot(x));
            pending.keep_home(ada, spot(10.0 * x));
        }
        assert_eq!((pending.len(), pending.unwritten()), (2, 2));
        pending.write(&store).unwrap();
        assert!(pending.is_empty());
        let account = store.account(ada).unwrap().unwrap();
        let x_of = |place: Option<Location>| place.unwrap().position.x;
        assert_eq!((x_of(account.last_location), x_of(account.home)), (2.0, 20.0));
    }

    #[test]
    fn the_newest_appearance_of_an_account_is_written() {
        let store = Store::open_in_memory().unwrap();
        let cost = Cost { memory_kib: 64, passes: 1 };
        let ada = Users::new(&store, cost).add("Ada", "Lovelace", "secret", 0).unwrap();
        let look = |height_m| StoredAppearance {
            height_m,
            texture_entry: vec![1, 2],
            visual_params: vec![3; 218],
            bakes: Vec::new(),
        };
        let mut pending = PendingPlaces::default();
        for height_m in [1.5, 1.75] {
            pending.keep_appearance(ada, look(height_m));
        }
        assert_eq!(pending.len(), 1);
        pending.write(&store).unwrap();
        assert!(pending.is_empty());
        assert_eq!(store.appearance(ada).unwrap(), Some(Ok(look(1.75))));
    }

    #[test]
    fn places_beyond_the_bound_are_lost_and_counted() {
        let mut pending = PendingPlaces::default();
        let agent = |n: usize| AgentId(Uuid::from_u128(n as u128 + 1));
        for n in 0..UNWRITTEN_MAX + 3 {
            pending.keep_last(agent(n), spot(0.0));
        }
        pending.keep_last(agent(0), spot(1.0));
        assert_eq!((pending.len(), pending.unwritten()), (UNWRITTEN_MAX, UNWRITTEN_MAX + 3));
    }

    #[test]
    fn a_refusal_is_reported_until_the_medium_takes_a_write_again() {
        let health = MediaHealth::default();
        assert_eq!(health.trouble(), None);
        health.record_outcome(Medium::Disk, Err(io::Error::from(io::ErrorKind::StorageFull)));
        let trouble = health.trouble().expect("the disk is full");
        assert!(trouble.starts_with("The data directory's disk does not take a file"), "{trouble}");
        health.record_outcome(Medium::Database, Ok::<(), io::Error>(()));
        assert!(health.trouble().is_some(), "the disk is still full");
        health.record_outcome(Medium::Disk, Ok::<(), io::Error>(()));
        assert_eq!(health.trouble(), None);
    }
}
