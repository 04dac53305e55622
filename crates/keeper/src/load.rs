//! Loads the objects of a region from its rows, with a reason for each missing object. `load_land` reads the land.

use crate::linksets::{Mended, mend};
use crate::load_land::DamagedLand;
use crate::rows::{
    Interned, PlacedPrim, PrimState, RegionState, RowError, Versions, content_of, join, read_body,
    read_region, read_state,
};
use ids::{LocalId, Uuid, WorldId};
use link::{
    ObjectPage, PrimMotion, RestingIds, StoredLand, StoredObjects, StoredTransfers, VersionedBody,
    index_in_page, page_of,
};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use store::{LandKey, ObjectDamage, ObjectPart, RowAside, StoredRegion};

/// State of a region for the start of its world.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedRegion {
    /// Objects; a world with these local ids accepts them.
    pub objects: StoredObjects,
    /// Land; a world with the described ground accepts it.
    pub land: StoredLand,
    /// Id of the clients' caches.
    pub cache_id: Uuid,
    /// Objects that are missing because of damage, in the order of their local ids. Their rows are still stored; the first batch moves them aside.
    pub damaged: Vec<DamagedObject>,
    /// Number of prims whose place in a linkset has changed because other prims are missing.
    pub n_mended: usize,
    /// Rows of the land that are replaced because of damage, in the order of their keys. They remain stored like the rows of damaged objects.
    pub damaged_land: Vec<DamagedLand>,
}

/// An unreadable object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedObject {
    /// Local id of the object.
    pub id: LocalId,
    /// Name of the object, if it is readable.
    pub name: Option<Arc<str>>,
    /// Description of the damage.
    pub why: String,
}

/// Reasons for which a region does not start.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Rows of another build. The region does not start: without these objects it would differ from the stored region.
    #[error("object {} was written by another build: {why}", .id.0)]
    OtherBuild {
        /// The object.
        id: LocalId,
        /// The reason.
        why: RowError,
    },
    /// The region's own row was written by another build.
    #[error("the region was written by another build: {0}")]
    OtherRegion(RowError),
    /// A row of the land was written by another build.
    #[error("{key} was written by another build: {why}")]
    OtherLand {
        /// Its key.
        key: LandKey,
        /// The reason.
        why: RowError,
    },
    /// The rows under the region's number belong to another region.
    #[error("number {number} has the content of region {found:?}")]
    OtherName {
        /// The number.
        number: u32,
        /// Name of the region that was saved.
        found: String,
    },
}

/// Local ids of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionIds {
    /// Range for stored objects.
    pub kept: Range<u32>,
    /// Range for temporary objects.
    pub temporary: Range<u32>,
}

/// Hashes of an object's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowContents {
    pub(crate) body: u64,
    pub(crate) state: u64,
}

/// Objects of a region, as decoded from its rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoadedObjects {
    pub(crate) objects: StoredObjects,
    pub(crate) cache_id: Uuid,
    pub(crate) damaged: Vec<DamagedObject>,
    pub(crate) n_mended: usize,
}

/// Objects of a region, with the information that the keeper needs.
pub(crate) struct Loading {
    pub(crate) region: LoadedObjects,
    /// Stored objects of the region in the order of their local ids, each with the hashes of its rows; `None` for damaged objects.
    pub(crate) rows: Vec<(LocalId, Option<(VersionedBody, RowContents)>)>,
    pub(crate) state: RegionState,
}

/// Decodes the objects of a region. `fresh` becomes the id of the clients' caches if the region has no readable row.
pub(crate) fn load(ids: &RegionIds, stored: &StoredRegion, fresh: Uuid) -> Result<Loading, LoadError> {
    let mut reader = Reader {
        ids,
        interned: Interned::default(),
        prims: Vec::new(),
        rows: Vec::new(),
        lost: BTreeMap::new(),
        damaged: Vec::new(),
    };
    reader.read_all(stored)?;
    let Reader { mut prims, mut rows, lost, mut damaged, .. } = reader;
    let Mended { lost, n_changed, .. } = mend(&mut prims, lost);
    for (id, why) in lost {
        let at = rows.binary_search_by_key(&id, |(id, _)| *id).expect("a lost prim had rows");
        let name = rows[at].1.take().map(|(versioned, _)| Arc::clone(&versioned.body.names.name));
        damaged.push(DamagedObject { id, name, why: why.to_owned() });
    }
    damaged.sort_by_key(|object| object.id);
    let (cache_id, state) = match &stored.row {
        Some(row) => match read_region(&row.state, &ids.kept, &ids.temporary) {
            Ok(state) => (row.cache_id, state),
            Err(why) if why.is_damage() => (row.cache_id, RegionState::default()),
            Err(why) => return Err(LoadError::OtherRegion(why)),
        },
        None => (fresh, RegionState::default()),
    };
    let RegionState { now_ns, kept, temporary } = state;
    let kept = unused(kept, &ids.kept, &prims, now_ns);
    let temporary = unused(temporary, &ids.temporary, &[], now_ns);
    let state = RegionState { now_ns, kept: kept.clone(), temporary: temporary.clone() };
    // A region assigns no ticket twice, even if its row is lost.
    let last = stored.row.as_ref().map_or(stored.last_held, |row| row.ticket);
    let transfers = StoredTransfers { last, ..StoredTransfers::default() };
    let pages = pages_of(prims);
    let objects = StoredObjects { pages, kept, temporary, now_ns, transfers, ..StoredObjects::default() };
    Ok(Loading { region: LoadedObjects { objects, cache_id, damaged, n_mended: n_changed }, rows, state })
}

/// Damaged rows, which the first batch of a region moves aside and replaces in one transaction. Until then each start finds the same damage and loads
/// the same region.
pub(crate) fn rows_aside(
    region: WorldId,
    stored: &StoredRegion,
    damaged: &[DamagedObject],
    damaged_land: &[DamagedLand],
) -> Vec<RowAside> {
    let whole = |part, object, why: &str, value: &[u8]| {
        let damage = ObjectDamage { region, object, part, why: why.to_owned() };
        RowAside { damage, value: Some(value.to_vec()) }
    };
    let damages = stored.damages.iter();
    let mut rows: Vec<RowAside> =
        damages.map(|damage| RowAside { damage: damage.clone(), value: None }).collect();
    for (part, values) in [(ObjectPart::Body, &stored.bodies), (ObjectPart::State, &stored.states)] {
        for (id, value) in values.iter() {
            if let Ok(at) = damaged.binary_search_by_key(&id, |object| object.id) {
                rows.push(whole(part, id, &damaged[at].why, value));
            }
        }
    }
    for (key, value) in stored.land.iter() {
        if let Some(land) = damaged_land.iter().find(|land| land.key == key) {
            rows.push(whole(ObjectPart::Land, LocalId(key.code()), &land.why, value));
        }
    }
    rows
}

struct Reader<'a> {
    ids: &'a RegionIds,
    interned: Interned,
    prims: Vec<PlacedPrim>,
    rows: Vec<(LocalId, Option<(VersionedBody, RowContents)>)>,
    /// Positions of unreadable objects, as far as the positions are readable.
    lost: BTreeMap<LocalId, PrimMotion>,
    damaged: Vec<DamagedObject>,
}

impl Reader<'_> {
    fn read_all(&mut self, stored: &StoredRegion) -> Result<(), LoadError> {
        let (mut bodies, mut states) = (stored.bodies.iter().peekable(), stored.states.iter().peekable());
        loop {
            let order = match (bodies.peek(), states.peek()) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((body, _)), Some((state, _))) => body.cmp(state),
            };
            let body = if order.is_le() { bodies.next() } else { None };
            let state = if order.is_ge() { states.next() } else { None };
            let id = body.or(state).expect("one of them is there").0;
            self.read(id, body.map(|(_, value)| value), state.map(|(_, value)| value))?;
        }
    }

    fn read(&mut self, id: LocalId, body: Option<&[u8]>, state: Option<&[u8]>) -> Result<(), LoadError> {
        let other_build =
            |why: RowError| if why.is_damage() { Ok(why) } else { Err(LoadError::OtherBuild { id, why }) };
        let of_state =
            state.map(|value| read_state(value, &self.ids.kept, Versions::Recent, &mut self.interned));
        let of_body = body.map(|value| read_body(value, Versions::Recent, &mut self.interned));
        let (state_fields, why) = match of_state {
            Some(Ok(fields)) => (Some(fields), None),
            Some(Err(why)) => (None, Some(other_build(why)?.to_string())),
            None => (None, Some("its state is missing".to_owned())),
        };
        let (body_fields, why) = match of_body {
            Some(Ok(fields)) => (Some(fields), why),
            Some(Err(other)) => {
                let other = other_build(other)?.to_string();
                (None, why.or(Some(other)))
            }
            None => (None, why.or_else(|| Some("its body is missing".to_owned()))),
        };
        let place = state_fields.as_ref().map(|fields| fields.motion);
        let name = state_fields.as_ref().map(|fields| Arc::clone(&fields.name));
        let whole = match (body_fields, state_fields) {
            (Some(body), Some(state)) => self.place(id, body, state).map_err(|why| why.to_string()),
            _ => Err(why.expect("one of the two cannot be read")),
        };
        match whole {
            Ok(prim) => {
                let contents = |value: Option<&[u8]>| value.map_or(0, content_of);
                let contents = RowContents { body: contents(body), state: contents(state) };
                self.rows.push((id, Some((prim.body.clone(), contents))));
                self.prims.push(prim);
            }
            Err(why) => {
                self.rows.push((id, None));
                self.lost.extend(place.map(|place| (id, place)));
                self.damaged.push(DamagedObject { id, name, why });
            }
        }
        Ok(())
    }

    fn place(&self, id: LocalId, body: prim::Body, state: PrimState) -> Result<PlacedPrim, RowError> {
        if !self.ids.kept.contains(&id.0) {
            return Err(RowError::Foreign);
        }
        let (motion, body) = join(body, state)?;
        Ok(PlacedPrim { id, motion, body })
    }
}

/// Resting ids of a range, made consistent with the prims, because the region's row may be lost: no id in use rests, no id rests twice, and no id was
/// freed in the future.
fn unused(ids: RestingIds, range: &Range<u32>, prims: &[PlacedPrim], now_ns: u64) -> RestingIds {
    let RestingIds { n_used, resting } = ids;
    let n_used = prims.last().map_or(n_used, |prim| n_used.max(prim.id.0 - range.start + 1));
    let is_used =
        |place: u32| prims.binary_search_by_key(&LocalId(range.start + place), |prim| prim.id).is_ok();
    let mut seen = BTreeSet::new();
    let is_free = |&(place, _): &(u32, u64)| place < n_used && !is_used(place) && seen.insert(place);
    let resting = resting.into_iter().filter(is_free).map(|(place, freed_ns)| (place, freed_ns.min(now_ns)));
    RestingIds { n_used, resting: resting.collect() }
}

/// Builds pages from prims in the order of their local ids.
pub(crate) fn pages_of(prims: Vec<PlacedPrim>) -> Vec<ObjectPage> {
    let mut pages: Vec<ObjectPage> = Vec::new();
    for PlacedPrim { id, motion, body } in prims {
        if pages.last().is_none_or(|page| page.first != page_of(id)) {
            pages.push(ObjectPage::empty(id));
        }
        let page = pages.last_mut().expect("just pushed");
        let (motions, bodies) = (Arc::get_mut(&mut page.motions), Arc::get_mut(&mut page.bodies));
        let (motions, bodies) = motions.zip(bodies).expect("shared with nothing yet");
        motions[index_in_page(id)] = motion;
        bodies[index_in_page(id)] = Some(body);
    }
    pages
}

#[cfg(test)]
mod tests;
