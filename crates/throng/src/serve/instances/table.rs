//! Which instances there are, by which numbers worlds and clients know them, and how many there may be.

use gateway::places::{Land, Portal, Scene};
use ids::{AgentId, Instant, Uuid, WorldId};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use thiserror::Error;
use world::Cast;

/// Local ids of instances begin here; those below belong to the worlds that lie at a place.
const FIRST_LOCAL_ID: u32 = 1 << 31;
/// Local ids for the avatars of an instance. They are used in turn, so that one comes again after so many arrivals.
const AVATAR_IDS: u32 = 4_096;
/// Bytes of a name, as far as messages carry it.
const NAME_BYTES_MAX: usize = 63;

/// What instances are made from.
#[derive(Clone, Debug)]
pub(in crate::serve) struct Template {
    pub(in crate::serve) name: String,
    pub(in crate::serve) land: Arc<Land>,
    pub(in crate::serve) portals: Arc<[Portal]>,
    /// Who lives there.
    pub(in crate::serve) cast: Option<Arc<Cast>>,
    /// Avatars of users that may be in one at once.
    pub(in crate::serve) max_avatars: u32,
}

/// One instance.
#[derive(Clone, Debug)]
pub(in crate::serve) struct Entry {
    pub(in crate::serve) id: Uuid,
    pub(in crate::serve) template: String,
    /// Whose own it is.
    pub(in crate::serve) owner: Option<AgentId>,
    pub(in crate::serve) scene: Arc<Scene>,
    pub(in crate::serve) cast: Option<Arc<Cast>>,
    pub(in crate::serve) local_ids: Range<u32>,
    pub(in crate::serve) created_at: Instant,
}

impl Entry {
    fn is_of(&self, owner: AgentId, template: &str) -> bool {
        self.owner == Some(owner) && self.template.eq_ignore_ascii_case(template)
    }
}

/// Why the table does not have what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(in crate::serve) enum TableRefusal {
    #[error("There is no template {wanted:?}; there are: {known}.")]
    NoTemplate { wanted: String, known: String },
    #[error("There is no instance {0}.")]
    NoInstance(Uuid),
    #[error("There are {0} instances already, and no more are allowed (`instances.max`).")]
    Full(usize),
    #[error("That user has an instance of this template already.")]
    Owned,
    #[error("A name has 1 to {NAME_BYTES_MAX} bytes and no control characters.")]
    Name,
}

/// All instances of a node.
#[derive(Debug)]
pub(in crate::serve) struct Table {
    templates: Vec<Template>,
    by_world: BTreeMap<WorldId, Entry>,
    by_id: BTreeMap<Uuid, WorldId>,
    max: usize,
    next_world: u32,
    next_local_id: u32,
}

impl Table {
    /// None yet, and `max` at once. Their worlds are numbered from `first_world`.
    pub(in crate::serve) const fn new(templates: Vec<Template>, max: usize, first_world: u32) -> Self {
        Self {
            templates,
            by_world: BTreeMap::new(),
            by_id: BTreeMap::new(),
            max,
            next_world: first_world,
            next_local_id: FIRST_LOCAL_ID,
        }
    }

    /// Takes numbers for one. Without a name it is called as its template. Nobody finds it until it is open.
    pub(super) fn add(
        &mut self,
        id: Uuid,
        template: &str,
        name: Option<String>,
        owner: Option<AgentId>,
        now: Instant,
    ) -> Result<Entry, TableRefusal> {
        let Some(template) = self.templates.iter().find(|one| one.name.eq_ignore_ascii_case(template)) else {
            let known: Vec<&str> = self.templates.iter().map(|one| one.name.as_str()).collect();
            let known = known.join(", ");
            return Err(TableRefusal::NoTemplate { wanted: template.to_owned(), known });
        };
        let name = name.unwrap_or_else(|| template.name.clone());
        if !(1..=NAME_BYTES_MAX).contains(&name.len()) || name.chars().any(char::is_control) {
            return Err(TableRefusal::Name);
        }
        if owner.is_some_and(|owner| self.by_world.values().any(|entry| entry.is_of(owner, &template.name))) {
            return Err(TableRefusal::Owned);
        }
        if self.by_world.len() >= self.max {
            return Err(TableRefusal::Full(self.max));
        }
        let template = template.clone();
        let world = WorldId(self.next_world);
        self.next_world += 1;
        let n_ids = template.land.scenery.len() as u32 + AVATAR_IDS.max(4 * template.max_avatars);
        let local_ids = self.take_local_ids(n_ids);
        let Template { name: template, land, portals, cast, max_avatars } = template;
        let scene = Arc::new(Scene::instance(world, name, max_avatars, land, portals));
        let entry = Entry { id, template, owner, scene, cast, local_ids, created_at: now };
        self.by_world.insert(world, entry.clone());
        Ok(entry)
    }

    /// Commands for its world find it from here on: so do those who ask for it.
    pub(super) fn open(&mut self, entry: &Entry) {
        self.by_id.insert(entry.id, entry.scene.world);
    }

    /// Gives the numbers back of one that was not opened.
    pub(super) fn forget(&mut self, entry: &Entry) {
        self.by_world.remove(&entry.scene.world);
    }

    pub(super) fn get(&self, id: Uuid) -> Result<&Entry, TableRefusal> {
        let entry = self.by_id.get(&id).and_then(|world| self.by_world.get(world));
        entry.ok_or(TableRefusal::NoInstance(id))
    }

    /// A user's own instance of a template.
    pub(super) fn of_owner(&self, owner: AgentId, template: &str) -> Option<&Entry> {
        self.iter().find(|entry| entry.is_of(owner, template))
    }

    pub(super) fn remove(&mut self, id: Uuid) -> Option<Entry> {
        let world = self.by_id.remove(&id)?;
        self.by_world.remove(&world)
    }

    /// In order of their making.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.by_world.values().filter(|entry| self.by_id.contains_key(&entry.id))
    }

    /// Local ids that no instance has. The numbers go round, so that those of an instance that has ended rest for as long as
    /// it goes: half a million instances of usual size, where clients remember an id for a minute.
    fn take_local_ids(&mut self, n: u32) -> Range<u32> {
        loop {
            let first = self.next_local_id;
            let Some(end) = first.checked_add(n) else {
                self.next_local_id = FIRST_LOCAL_ID;
                continue;
            };
            let in_the_way = self
                .by_world
                .values()
                .map(|entry| &entry.local_ids)
                .filter(|taken| taken.start < end && first < taken.end)
                .map(|taken| taken.end)
                .max();
            match in_the_way {
                Some(behind) => self.next_local_id = behind,
                None => {
                    self.next_local_id = end;
                    return first..end;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::Terrain;

    fn table(max: usize) -> Table {
        let land = Land::new(Arc::new(Terrain::flat(256, 22.0)), Arc::default(), 20.0);
        let template = Template {
            name: "Cave".into(),
            land: Arc::new(land),
            portals: Arc::default(),
            cast: None,
            max_avatars: 8,
        };
        Table::new(vec![template], max, 2)
    }

    fn add(table: &mut Table, n: u128) -> Result<Entry, TableRefusal> {
        let entry = table.add(Uuid::from_u128(n), "cave", None, None, Instant::ZERO)?;
        table.open(&entry);
        Ok(entry)
    }

    #[test]
    fn worlds_are_numbered_for_ever_and_local_ids_never_shared() {
        let mut table = table(100);
        let entries: Vec<Entry> = (0..100).map(|n| add(&mut table, n).expect("room")).collect();
        for (n, entry) in (2..).zip(&entries) {
            assert_eq!(entry.scene.world, WorldId(n));
            assert!(entry.local_ids.start >= FIRST_LOCAL_ID);
        }
        table.remove(Uuid::from_u128(7)).expect("it is there");
        let next = add(&mut table, 100).expect("room again");
        assert_eq!(next.scene.world, WorldId(102));
        let mut ids: Vec<Range<u32>> = table.iter().map(|entry| entry.local_ids.clone()).collect();
        ids.sort_by_key(|ids| ids.start);
        assert!(ids.windows(2).all(|two| two[0].end <= two[1].start));
    }

    #[test]
    fn a_user_has_one_instance_of_a_template() {
        let mut table = table(10);
        let (ada, ben) = (AgentId(Uuid::from_u128(1)), AgentId(Uuid::from_u128(2)));
        let own = |table: &mut Table, n, owner| {
            table.add(Uuid::from_u128(n), "Cave", None, Some(owner), Instant::ZERO)
        };
        let hers = own(&mut table, 1, ada).expect("room");
        own(&mut table, 2, ben).expect("room");
        // Also while it is being made.
        assert_eq!(own(&mut table, 3, ada).map(|_| ()), Err(TableRefusal::Owned));
        table.open(&hers);
        assert_eq!(own(&mut table, 3, ada).map(|_| ()), Err(TableRefusal::Owned));
        assert_eq!(table.of_owner(ada, "cave").map(|entry| entry.id), Some(hers.id));
        assert!(table.of_owner(ada, "Castle").is_none());
        table.remove(hers.id).expect("it is there");
        assert!(table.of_owner(ada, "Cave").is_none());
    }

    #[test]
    fn what_is_being_made_is_found_by_nobody_and_has_its_room() {
        let mut table = table(1);
        let id = Uuid::from_u128(1);
        let entry = table.add(id, "cave", None, None, Instant::ZERO).expect("room");
        assert!(table.get(id).is_err() && table.remove(id).is_none() && table.iter().next().is_none());
        assert_eq!(add(&mut table, 2).map(|_| ()), Err(TableRefusal::Full(1)));
        table.forget(&entry);
        let entry = add(&mut table, 2).expect("room again");
        assert_eq!(table.get(entry.id).map(|found| found.scene.world), Ok(entry.scene.world));
    }

    #[test]
    fn local_ids_go_round_past_those_in_use() {
        let mut table = table(10);
        let first = add(&mut table, 0).expect("room");
        table.next_local_id = u32::MAX - 10;
        let next = add(&mut table, 1).expect("room");
        assert_eq!(next.local_ids.start, first.local_ids.end);
    }

    #[test]
    fn what_is_not_there_or_too_much_is_refused_with_what_there_is() {
        let mut table = table(1);
        let wrong = table.add(Uuid::from_u128(1), "Castle", None, None, Instant::ZERO);
        let refusal = TableRefusal::NoTemplate { wanted: "Castle".into(), known: "Cave".into() };
        assert_eq!(wrong.map(|_| ()), Err(refusal));
        for name in ["", "a\u{7}", &"x".repeat(64)] {
            let named = table.add(Uuid::from_u128(1), "Cave", Some(name.into()), None, Instant::ZERO);
            assert_eq!(named.map(|_| ()), Err(TableRefusal::Name), "{name:?}");
        }
        add(&mut table, 1).expect("room");
        assert_eq!(add(&mut table, 2).map(|_| ()), Err(TableRefusal::Full(1)));
        assert_eq!(
            table.get(Uuid::from_u128(2)).map(|_| ()),
            Err(TableRefusal::NoInstance(Uuid::from_u128(2)))
        );
        assert!(table.remove(Uuid::from_u128(2)).is_none());
    }
}
