//! Objects that a capture speaks of, in words: name, owner and place.

use crate::serve::instances::Owners;
use gateway::places::Places;
use glam::Vec3;
use ids::{AgentId, LocalId};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use telemetry::recorder::{Arg, Capture};

/// Objects that are looked up for one capture. Those with the longest slices come first: a culprit is among them.
const OBJECTS_MAX: usize = 64;

/// The objects with the longest slices, the longest first.
pub(super) fn longest(capture: &Capture) -> Vec<LocalId> {
    let is_of_object =
        |scope: u16| capture.scopes.get(usize::from(scope)).is_some_and(|scope| scope.arg == Arg::Object);
    let mut took: BTreeMap<u64, u64> = BTreeMap::new();
    for thread in &capture.threads {
        let done = thread.slices.iter().map(|slice| (slice.scope, slice.arg, slice.took_ns()));
        let open = thread
            .open
            .iter()
            .map(|open| (open.scope, open.arg, capture.end_ns.saturating_sub(open.begin_ns)));
        for (_, object, took_ns) in done.chain(open).filter(|&(scope, ..)| is_of_object(scope)) {
            let longest = took.entry(object).or_default();
            *longest = took_ns.max(*longest);
        }
    }
    let mut objects: Vec<(u64, u64)> = took.into_iter().collect();
    objects.sort_by_key(|&(object, took_ns)| (Reverse(took_ns), object));
    let ids = objects.into_iter().filter_map(|(object, _)| u32::try_from(object).ok());
    ids.take(OBJECTS_MAX).map(LocalId).collect()
}

/// A prim as clients are shown it.
#[derive(Clone, Debug, PartialEq)]
struct ShownPrim {
    name: Arc<str>,
    owner: AgentId,
    /// Metres from the region's corner.
    position: Vec3,
    region: String,
}

/// Each of the objects in words. One that is gone has none.
pub(super) fn described(places: &Places, owners: &Owners, ids: &[LocalId]) -> Vec<(LocalId, String)> {
    let shown: Vec<(LocalId, ShownPrim)> =
        ids.iter().filter_map(|&id| Some((id, shown(places, id)?))).collect();
    let names = owners.names(shown.iter().map(|(_, prim)| prim.owner));
    let words =
        |(id, prim): (LocalId, ShownPrim)| (id, in_words(&prim, names.get(&prim.owner).map(|name| &**name)));
    shown.into_iter().map(words).collect()
}

/// Local ids are those of one region each.
fn shown(places: &Places, id: LocalId) -> Option<ShownPrim> {
    places.iter().find_map(|place| {
        let replica = place.scene.feed.current();
        let objects = replica.objects();
        let entry = objects.get(id)?;
        Some(ShownPrim {
            name: Arc::clone(&entry.body.names.name),
            owner: entry.body.ownership.owner,
            position: objects.motion_in_region(entry).position,
            region: place.name().to_owned(),
        })
    })
}

/// `"Lamp" of Ada Lovelace at 128, 64, 25 in Harbour`.
fn in_words(prim: &ShownPrim, owner: Option<&str>) -> String {
    let ShownPrim { name, position: Vec3 { x, y, z }, region, .. } = prim;
    let owner = owner.map_or_else(|| prim.owner.0.to_string(), str::to_owned);
    format!("{name:?} of {owner} at {x:.0}, {y:.0}, {z:.0} in {region}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Uuid;
    use telemetry::recorder::{OpenScope, ScopeInfo, ScopeKind, Slice, ThreadRecord};

    #[test]
    fn the_objects_of_the_longest_slices_are_found() {
        let scope =
            |name: &str, arg| ScopeInfo { name: name.into(), arg, kind: ScopeKind::Scope, limit_ns: None };
        let slice = |scope, took_ns, arg| Slice { scope, begin_ns: 0, end_ns: took_ns, arg, depth: 0 };
        let many = (1_000..1_100).map(|object| slice(0, 1, object));
        let thread = ThreadRecord {
            slices: [slice(0, 40, 7), slice(0, 2, 8), slice(0, 90, 8), slice(1, 500, 9)]
                .into_iter()
                .chain(many)
                .collect(),
            open: vec![OpenScope { scope: 0, begin_ns: 30, arg: 6 }],
            ..ThreadRecord::default()
        };
        let capture = Capture {
            end_ns: 100,
            scopes: vec![scope("world.edit", Arg::Object), scope("shard.client", Arg::Client)],
            threads: vec![thread],
            ..Capture::default()
        };
        let found = longest(&capture);
        assert_eq!(found[..4], [8, 6, 7, 1_000].map(LocalId));
        assert_eq!(found.len(), OBJECTS_MAX);
    }

    #[test]
    fn an_object_is_told_with_its_owner_and_its_place() {
        let prim = ShownPrim {
            name: "Lamp \"A\"".into(),
            owner: AgentId(Uuid::from_u128(9)),
            position: Vec3::new(128.4, 63.6, 25.0),
            region: "Harbour".into(),
        };
        assert_eq!(
            in_words(&prim, Some("Ada Lovelace")),
            r#""Lamp \"A\"" of Ada Lovelace at 128, 64, 25 in Harbour"#
        );
        assert!(in_words(&prim, None).contains(" of 00000000-0000-0000-0000-000000000009 at "));
    }
}
