//! Objects that a request is about: by owner, by parcel, by place.

use super::answers::RegionRefusal;
use super::shared::Regions;
use glam::Vec3;
use ids::{AgentId, LocalId, WorldId};
use link::ParcelNumber;
use region_threads::parcels::ParcelMap;
use replicate::objects::{ObjectEntry, ObjectReplica};
use std::collections::BTreeMap;

/// Conditions, all of which hold for the root of a linkset.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectFilter {
    owner: Option<AgentId>,
    parcel: Option<(ParcelNumber, ParcelMap)>,
    /// Centre and radius, metres.
    within: Option<(Vec3, f32)>,
}

/// Conditions as they are asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AskedFilter {
    /// "First Last", or the id of an account.
    pub(super) owner: Option<String>,
    pub(super) parcel: Option<u16>,
    /// Centre and radius, metres.
    pub(super) within: Option<[f32; 4]>,
}

impl AskedFilter {
    /// True without a condition: all objects of the region.
    pub(super) const fn is_empty(&self) -> bool {
        self.owner.is_none() && self.parcel.is_none() && self.within.is_none()
    }

    /// The filter for a region. Waits for the database.
    pub(super) fn resolve(&self, regions: &Regions, world: WorldId) -> Result<ObjectFilter, RegionRefusal> {
        let owner = self.owner.as_deref().map(|owner| regions.user(owner)).transpose()?;
        let parcel = self.parcel.map(|number| parcel(regions, world, ParcelNumber(number))).transpose()?;
        let within = self.within.map(sphere).transpose()?;
        Ok(ObjectFilter { owner, parcel, within })
    }
}

fn parcel(
    regions: &Regions,
    world: WorldId,
    number: ParcelNumber,
) -> Result<(ParcelNumber, ParcelMap), RegionRefusal> {
    let map = regions.parcels.of(world);
    let map = map.ok_or_else(|| RegionRefusal::absent("This region is not divided into parcels."))?;
    if map.has(number) {
        Ok((number, map))
    } else {
        Err(RegionRefusal::absent(format!("There is no parcel {}.", number.0)))
    }
}

fn sphere([x, y, z, radius_m]: [f32; 4]) -> Result<(Vec3, f32), RegionRefusal> {
    let centre = Vec3::new(x, y, z);
    if centre.is_finite() && radius_m.is_finite() && radius_m >= 0.0 {
        Ok((centre, radius_m))
    } else {
        Err(RegionRefusal::bad(
            "`within` is a place and a radius: four finite numbers, the last not negative.",
        ))
    }
}

/// Parses `X,Y,Z,R`.
pub(super) fn parse_within(text: &str) -> Result<[f32; 4], RegionRefusal> {
    let numbers: Option<Vec<f32>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    numbers
        .and_then(|numbers| numbers.try_into().ok())
        .ok_or_else(|| RegionRefusal::bad("`within` is four numbers: X,Y,Z,R."))
}

impl ObjectFilter {
    /// True for an object that meets all conditions. Worn objects never do.
    fn matches(&self, entry: &ObjectEntry) -> bool {
        let Self { owner, parcel, within } = self;
        let place = entry.position;
        entry.prim.parent == LocalId(0)
            && owner.is_none_or(|owner| entry.body.ownership.owner == owner)
            && within.is_none_or(|(centre, radius_m)| centre.distance(place) <= radius_m)
            && parcel.as_ref().is_none_or(|(number, map)| map.at(place.x, place.y) == Some(*number))
    }
}

/// Objects that meet a filter, a part of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FoundObjects {
    /// Roots, in the order of their local ids, with the numbers of their linksets' prims.
    pub(super) roots: Vec<(LocalId, usize)>,
    /// Objects that meet the filter in all.
    pub(super) n_matching: usize,
    /// The last local id of this part, if more follow.
    pub(super) next: Option<LocalId>,
}

/// Finds up to `limit` objects behind the local id `after`. Walks all prims of the region, some milliseconds for 100,000.
pub(super) fn find(
    objects: &ObjectReplica,
    filter: &ObjectFilter,
    after: Option<LocalId>,
    limit: usize,
) -> FoundObjects {
    let mut n_matching = 0;
    let mut roots: Vec<LocalId> = Vec::new();
    let mut has_more = false;
    for (id, entry) in objects.entries() {
        if !filter.matches(entry) {
            continue;
        }
        n_matching += 1;
        if after.is_some_and(|after| id <= after) {
            continue;
        }
        if roots.len() < limit {
            roots.push(id);
        } else {
            has_more = true;
        }
    }
    let next = roots.last().copied().filter(|_| has_more);
    let mut n_prims: BTreeMap<LocalId, usize> = roots.into_iter().map(|id| (id, 1)).collect();
    for (_, entry) in objects.entries() {
        if let Some(n) = n_prims.get_mut(&entry.prim.parent) {
            *n += 1;
        }
    }
    FoundObjects { roots: n_prims.into_iter().collect(), n_matching, next }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Uuid;
    use link::{
        Estate, Frame, LandChange, LandState, Motion, ObjectChange, ObjectMask, Parcel, PrimMotion,
        SquareSet, VersionedBody,
    };
    use prim::{Body, Shape};
    use region_threads::parcels::ParcelMaps;
    use replicate::scenery::SceneryReplica;
    use replicate::{EncodedFrame, Encoder, Intake, Publisher, Replica};
    use std::sync::Arc;
    use std::time::Duration;

    const WORLD: WorldId = WorldId(1);
    const ADA: AgentId = AgentId(Uuid::from_u128(0xada));
    const EVE: AgentId = AgentId(Uuid::from_u128(0xe0e));

    const fn id(n: u32) -> LocalId {
        LocalId((1 << 20) + n)
    }

    /// A linkset of two prims of Ada's at (10, 10), one that an avatar wears, and prims of Eve's at (100, 10) and (200, 10).
    fn region() -> Arc<Replica> {
        let prims = [
            (1, ADA, 10.0, LocalId(0), 0),
            (2, ADA, 1.0, id(1), 1),
            (3, ADA, 0.0, LocalId(7), 0),
            (4, EVE, 100.0, LocalId(0), 0),
            (5, EVE, 200.0, LocalId(0), 0),
        ];
        let set = |(n, owner, x, parent, link_number): (u32, AgentId, f32, LocalId, u8)| {
            let body = Body::new(Uuid::from_u128(n.into()), Shape::BOX, Arc::from([0; 47]), owner, 0);
            let motion = Motion { position: Vec3::new(x, 10.0, 30.0), ..Motion::default() };
            ObjectChange::Set {
                id: id(n),
                motion: PrimMotion { motion, parent, link_number, ..PrimMotion::NONE },
                body: VersionedBody { version: 1, body: Arc::new(body) },
                mask: ObjectMask::CREATED,
            }
        };
        let frame = Frame { world: WORLD, objects: prims.map(set).into(), ..Frame::empty() };
        let mut encoder = Encoder::new(Duration::from_millis(50));
        let mut publisher = Publisher::new(Replica::new(WORLD, 256.0, SceneryReplica::default()));
        let mut encoded = EncodedFrame::default();
        assert_eq!(encoder.encode(&frame, &mut encoded), Intake::Ready);
        drop(publisher.publish(encoded));
        Arc::clone(publisher.current())
    }

    /// Western half: parcel 2; eastern half: parcel 1.
    fn halves() -> ParcelMap {
        let estate = Estate::new("Hills", None, 20.0);
        let state = LandState::of_one_parcel(256, Uuid::from_u128(8), estate, 7);
        let west = SquareSet::of((0..64).flat_map(|y| (0..32).map(move |x| (x, y)))).expect("squares");
        let number = ParcelNumber(2);
        let parcel = Parcel::new(number, Uuid::from_u128(9), None, 7);
        let land = vec![
            LandChange::Whole(state),
            LandChange::Parcel(Arc::new(parcel)),
            LandChange::Squares(number, west),
        ];
        let maps = ParcelMaps::new([WORLD].into_iter());
        maps.follow(&Frame { world: WORLD, land, ..Frame::empty() });
        maps.of(WORLD).expect("it has land")
    }

    #[test]
    fn objects_meet_all_conditions_of_a_filter_and_worn_ones_none() {
        let replica = region();
        let roots = |filter: &ObjectFilter| find(replica.objects(), filter, None, 10).roots;
        let any = ObjectFilter::default();
        assert_eq!(roots(&any), [(id(1), 2), (id(4), 1), (id(5), 1)]);
        let of_eve = ObjectFilter { owner: Some(EVE), ..any.clone() };
        assert_eq!(roots(&of_eve), [(id(4), 1), (id(5), 1)]);
        let near = ObjectFilter { within: Some((Vec3::new(103.0, 10.0, 34.0), 5.0)), ..of_eve.clone() };
        assert_eq!(roots(&near), [(id(4), 1)]);
        let farther = ObjectFilter { within: Some((Vec3::new(103.0, 10.0, 34.0), 4.9)), ..of_eve };
        assert!(roots(&farther).is_empty());
        let west = ObjectFilter { parcel: Some((ParcelNumber(2), halves())), ..any.clone() };
        assert_eq!(roots(&west), [(id(1), 2), (id(4), 1)]);
        let east = ObjectFilter { parcel: Some((ParcelNumber(1), halves())), owner: Some(ADA), ..any };
        assert!(roots(&east).is_empty());
    }

    #[test]
    fn a_list_is_found_in_parts() {
        let replica = region();
        let part = |after, limit| find(replica.objects(), &ObjectFilter::default(), after, limit);
        let first = part(None, 2);
        assert_eq!(
            (first.roots, first.n_matching, first.next),
            (vec![(id(1), 2), (id(4), 1)], 3, Some(id(4)))
        );
        let second = part(first.next, 2);
        assert_eq!((second.roots, second.n_matching, second.next), (vec![(id(5), 1)], 3, None));
        assert_eq!(part(None, 3).next, None);
        assert!(part(Some(id(9)), 3).roots.is_empty());
    }

    #[test]
    fn a_place_and_a_radius_are_four_finite_numbers() {
        assert_eq!(parse_within("1, 2,-3.5,4").expect("four numbers"), [1.0, 2.0, -3.5, 4.0]);
        for wrong in ["", "1,2,3", "1,2,3,4,5", "1,2,x,4", "1;2;3;4"] {
            assert!(parse_within(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(sphere([1.0, 2.0, 3.0, 0.0]).expect("a sphere"), (Vec3::new(1.0, 2.0, 3.0), 0.0));
        for wrong in [[f32::NAN, 0.0, 0.0, 1.0], [0.0, 0.0, f32::INFINITY, 1.0], [0.0, 0.0, 0.0, -1.0]] {
            assert!(sphere(wrong).is_err(), "{wrong:?}");
        }
    }
}
