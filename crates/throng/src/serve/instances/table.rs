//! Which instances there are, what each is doing, by which numbers worlds and clients know them, and how many there may be.
//!
//! Of an instance that is parked this is all that is in memory. Whoever changes what an instance does takes its [`State`] out
//! ([`Table::take`]) and puts another one in when that is done, so that two never work on the same one.

use super::entry::{Active, Entry, Reverted, State, Work};
use super::ledger::Ledger;
use gateway::places::{Land, Portal, Scene};
use ids::{AgentId, Instant, Uuid, WorldId};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use store::{Instance, Listed};
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
    pub(in crate::serve) name: Arc<str>,
    pub(in crate::serve) land: Arc<Land>,
    pub(in crate::serve) portals: Arc<[Portal]>,
    /// Who lives there.
    pub(in crate::serve) cast: Option<Arc<Cast>>,
    /// The file that says so.
    pub(in crate::serve) script: Option<PathBuf>,
    /// Avatars of users that may be in one at once.
    pub(in crate::serve) max_avatars: u32,
    /// Steps a second.
    pub(in crate::serve) hz: u32,
}

/// What a world is made of.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    pub(super) id: Uuid,
    pub(super) scene: Arc<Scene>,
    /// The template's, or what the instance has gone back to.
    pub(super) cast: Option<Arc<Cast>>,
    pub(super) reverted_from: Option<u64>,
}

/// An instance to be made.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) id: Uuid,
    pub(super) template: String,
    /// Without one it is called as its template.
    pub(super) name: Option<String>,
    pub(super) owner: Option<AgentId>,
    /// Seconds since 1970.
    pub(super) created_s: i64,
}

/// Why the table does not have what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(in crate::serve) enum TableRefusal {
    #[error("There is no template {wanted:?}; there are: {known}.")]
    NoTemplate { wanted: String, known: String },
    #[error("There is no template {0:?} any more; it stays parked until there is one again.")]
    TemplateGone(Arc<str>),
    #[error("There is no instance {0}.")]
    NoInstance(Uuid),
    #[error("That world has ended.")]
    Gone,
    #[error("There are {0} instances already, and no more are allowed (`instances.max`).")]
    Full(usize),
    #[error(
        "There are {0} instances in use already, and no more are allowed (`instances.active_max`). Please try again later."
    )]
    ActiveFull(usize),
    #[error("That user has an instance of this template already.")]
    Owned,
    #[error("All local ids for instances are taken: those that there are have too many boxes.")]
    LocalIds,
    #[error("There is another instance {0} already.")]
    Taken(Uuid),
    #[error("{0}")]
    Trouble(Arc<str>),
    #[error("A name has 1 to {NAME_BYTES_MAX} bytes and no control characters.")]
    Name,
}

/// How many instances there may be.
#[derive(Clone, Copy, Debug)]
pub(in crate::serve) struct Limits {
    /// In all.
    pub(in crate::serve) max: usize,
    /// In memory.
    pub(in crate::serve) active_max: usize,
}

/// All instances of a node.
#[derive(Debug)]
pub(in crate::serve) struct Table {
    templates: Vec<Template>,
    by_world: BTreeMap<WorldId, Entry>,
    by_id: BTreeMap<Uuid, WorldId>,
    /// Those in memory, with their local ids: in the pool, on the way there, and on the way out.
    in_memory: BTreeMap<WorldId, Range<u32>>,
    limits: Limits,
    next_world: u32,
    next_local_id: u32,
    /// Since the server began.
    admissions_ended: u64,
}

impl Table {
    /// None yet. Their worlds are numbered from `first_world`.
    pub(in crate::serve) const fn new(templates: Vec<Template>, limits: Limits, first_world: u32) -> Self {
        Self {
            templates,
            by_world: BTreeMap::new(),
            by_id: BTreeMap::new(),
            in_memory: BTreeMap::new(),
            limits,
            next_world: first_world,
            next_local_id: FIRST_LOCAL_ID,
            admissions_ended: 0,
        }
    }

    /// Those that were there before the server began, parked, however many there are.
    pub(in crate::serve) fn load(&mut self, list: Vec<Listed>) {
        for Listed { instance, trouble } in list {
            let Instance { id, template, name, owner, created_s } = instance;
            let known = self.templates.iter().find(|one| one.name.eq_ignore_ascii_case(&template));
            let template = known.map_or_else(|| template.into(), |known| Arc::clone(&known.name));
            let entry = self
                .enter(Wanted { id, template: String::new(), name: Some(name), owner, created_s }, template);
            entry.state = State::Parked;
            entry.trouble = trouble.map(Arc::from);
        }
    }

    /// Makes room for one and says that it is being made.
    pub(super) fn add(&mut self, wanted: Wanted) -> Result<&Entry, TableRefusal> {
        let template = Arc::clone(&self.template(&wanted.template)?.name);
        let name = wanted.name.as_deref().unwrap_or(&template);
        if !(1..=NAME_BYTES_MAX).contains(&name.len()) || name.chars().any(char::is_control) {
            return Err(TableRefusal::Name);
        }
        // First: who asks again for one's own is not told that there is one.
        if self.by_id.contains_key(&wanted.id) {
            return Err(TableRefusal::Taken(wanted.id));
        }
        if wanted.owner.is_some_and(|owner| self.of_owner(owner, &template).is_some()) {
            return Err(TableRefusal::Owned);
        }
        if self.by_world.len() >= self.limits.max {
            return Err(TableRefusal::Full(self.limits.max));
        }
        Ok(self.enter(wanted, template))
    }

    fn enter(&mut self, wanted: Wanted, template: Arc<str>) -> &mut Entry {
        let Wanted { id, name, owner, created_s, .. } = wanted;
        let name = name.filter(|name| **name != *template).map_or_else(|| Arc::clone(&template), Arc::from);
        let world = WorldId(self.next_world);
        self.next_world += 1;
        self.by_id.insert(id, world);
        let state = State::Busy(Work::Making);
        let entry = Entry {
            id,
            world,
            template,
            name,
            owner,
            created_s,
            trouble: None,
            misfit: None,
            reverted: None,
            state,
            since: Instant::ZERO,
            ledger_at_work: None,
        };
        self.by_world.entry(world).or_insert(entry)
    }

    /// What a world of an instance is made of, with local ids that no other one has. From here on it counts as one in memory.
    pub(super) fn seat(&mut self, world: WorldId) -> Result<Seat, TableRefusal> {
        let entry = self.by_world.get(&world).expect("whoever works on an instance keeps it in the table");
        let (id, name, reverted) = (entry.id, entry.name.to_string(), entry.reverted.clone());
        let found = self.template(&entry.template).cloned();
        let template = found.map_err(|_| TableRefusal::TemplateGone(Arc::clone(&entry.template)))?;
        if self.in_memory.len() >= self.limits.active_max {
            return Err(TableRefusal::ActiveFull(self.limits.active_max));
        }
        let n_ids = template.land.scenery.len() as u32 + AVATAR_IDS.max(4 * template.max_avatars);
        let local_ids = self.take_local_ids(n_ids).ok_or(TableRefusal::LocalIds)?;
        self.in_memory.insert(world, local_ids.clone());
        let Template { land, portals, cast, max_avatars, hz, .. } = template;
        let scene = Arc::new(Scene::instance(world, name, max_avatars, hz, local_ids, land, portals));
        let (reverted_from, former) = reverted.map(|Reverted { from, to }| (from, to)).unzip();
        Ok(Seat { id, scene, cast: former.or(cast), reverted_from })
    }

    /// What instances are made from.
    pub(super) fn templates(&self) -> &[Template] {
        &self.templates
    }

    /// The one with this name.
    pub(super) fn template(&self, name: &str) -> Result<&Template, TableRefusal> {
        let found = self.templates.iter().find(|one| one.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            let known: Vec<&str> = self.templates.iter().map(|one| &*one.name).collect();
            TableRefusal::NoTemplate { wanted: name.to_owned(), known: known.join(", ") }
        })
    }

    pub(super) fn template_mut(&mut self, name: &str) -> Option<&mut Template> {
        self.templates.iter_mut().find(|one| one.name.eq_ignore_ascii_case(name))
    }

    /// A template's instances, those that are being made included.
    pub(super) fn of_template(&mut self, name: &str) -> impl Iterator<Item = &mut Entry> {
        self.by_world.values_mut().filter(move |entry| entry.template.eq_ignore_ascii_case(name))
    }

    /// Whether somebody parks an instance just now.
    pub(super) fn is_parking(&self) -> bool {
        let is_parking = |entry: &Entry| matches!(entry.state, State::Busy(Work::Parking));
        self.in_memory.keys().filter_map(|world| self.by_world.get(world)).any(is_parking)
    }

    /// Admissions that have ended since the server began.
    pub(super) const fn admissions_ended(&self) -> u64 {
        self.admissions_ended
    }

    /// Counts an admission that ends now; its number.
    pub(super) const fn end_admission(&mut self) -> u64 {
        self.admissions_ended += 1;
        self.admissions_ended
    }

    /// Takes out what an instance does, to do something else with it; none when somebody is at that already, a visitor is being admitted,
    /// or there is none.
    pub(super) fn take(&mut self, world: WorldId, work: Work) -> Option<State> {
        let entry = self.by_world.get_mut(&world)?;
        let is_admitting = entry.active_mut().is_some_and(|active| active.admissions > 0);
        if is_admitting || matches!(entry.state, State::Busy(_)) {
            return None;
        }
        entry.ledger_at_work = entry.active_mut().map(|active| Arc::clone(&active.ledger));
        Some(std::mem::replace(&mut entry.state, State::Busy(work)))
    }

    /// Ends what was begun by [`Self::take`] or [`Self::add`]. What comes back is to be dropped when the table is not locked any more.
    pub(super) fn put(&mut self, world: WorldId, state: State) -> Option<Arc<Ledger>> {
        if matches!(state, State::Parked) {
            self.in_memory.remove(&world);
        }
        let entry = self.by_world.get_mut(&world)?;
        entry.state = state;
        entry.ledger_at_work.take()
    }

    /// Notes the time at which an instance's state began.
    pub(super) fn set_since(&mut self, world: WorldId, since: Instant) {
        if let Some(entry) = self.by_world.get_mut(&world) {
            entry.since = since;
        }
    }

    /// Says why nothing can be made of an instance's state.
    pub(super) fn set_trouble(&mut self, world: WorldId, trouble: &str) {
        if let Some(entry) = self.by_world.get_mut(&world) {
            entry.trouble = Some(trouble.into());
        }
    }

    /// Says why no world can be made of an instance's state with this cast. Of no interest once the template has another one.
    pub(super) fn set_misfit(&mut self, world: WorldId, cast: Option<&Arc<Cast>>, why: &Arc<str>) {
        let Some(entry) = self.by_world.get_mut(&world) else { return };
        let template = self.templates.iter().find(|one| one.name.eq_ignore_ascii_case(&entry.template));
        let now = template.and_then(|template| template.cast.as_ref());
        let reverted_to = entry.reverted.as_ref().map(|reverted| &reverted.to);
        if reverted_to.or(now).map(Arc::as_ptr) == cast.map(Arc::as_ptr) {
            entry.misfit = Some(Arc::clone(why));
        }
    }

    /// Says to what the world of an instance has gone back that is about to be parked. Of no interest once the template's files say
    /// something else than what it gave up.
    pub(super) fn note_reverted(&mut self, world: WorldId, reverted: Reverted) {
        let Some(entry) = self.by_world.get_mut(&world) else { return };
        let template = self.templates.iter().find(|one| one.name.eq_ignore_ascii_case(&entry.template));
        let cast = template.and_then(|template| template.cast.as_ref());
        entry.reverted = cast.filter(|cast| cast.fingerprint() == reverted.from).map(|_| reverted);
    }

    /// Forgets an instance; likewise.
    pub(super) fn remove(&mut self, world: WorldId) -> Option<Arc<Ledger>> {
        self.in_memory.remove(&world);
        let entry = self.by_world.remove(&world)?;
        self.by_id.remove(&entry.id);
        entry.ledger_at_work
    }

    pub(super) fn get(&self, id: Uuid) -> Result<&Entry, TableRefusal> {
        self.by_id.get(&id).and_then(|world| self.by_world.get(world)).ok_or(TableRefusal::NoInstance(id))
    }

    pub(super) fn of_world(&self, world: WorldId) -> Option<&Entry> {
        self.by_world.get(&world)
    }

    pub(super) fn entry_mut(&mut self, world: WorldId) -> Option<&mut Entry> {
        self.by_world.get_mut(&world)
    }

    /// A user's own instance of a template.
    pub(super) fn of_owner(&self, owner: AgentId, template: &str) -> Option<&Entry> {
        self.iter().find(|entry| entry.is_of(owner, template))
    }

    /// In order of their making.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.by_world.values()
    }

    /// How many there are, and how many of these are in memory.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.by_world.len(), self.in_memory.len())
    }

    /// Looks at those in the pool, of which there are few among all.
    pub(super) fn for_each_active(&mut self, mut look: impl FnMut(WorldId, Uuid, &mut Active)) {
        for world in self.in_memory.keys() {
            let Some(entry) = self.by_world.get_mut(world) else { continue };
            let id = entry.id;
            if let Some(active) = entry.active_mut() {
                look(*world, id, active);
            }
        }
    }

    /// Local ids that no instance has. The numbers go round, so that those of an instance that has ended rest for as long as
    /// it goes: half a million instances of usual size, where clients remember an id for a minute. None when no gap is so long.
    fn take_local_ids(&mut self, n: u32) -> Option<Range<u32>> {
        let mut taken: Vec<&Range<u32>> = self.in_memory.values().collect();
        taken.sort_unstable_by_key(|ids| ids.start);
        let gap_from = |from: u32| {
            let first = taken.iter().fold(from, |first, ids| {
                let is_in_the_way =
                    ids.end > first && first.checked_add(n).is_some_and(|end| ids.start < end);
                if is_in_the_way { ids.end } else { first }
            });
            first.checked_add(n).map(|end| first..end)
        };
        let found = gap_from(self.next_local_id).or_else(|| gap_from(FIRST_LOCAL_ID))?;
        self.next_local_id = found.end;
        Some(found)
    }
}

#[cfg(test)]
mod tests;
