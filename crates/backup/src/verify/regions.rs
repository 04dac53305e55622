//! Regions with their objects and their land, and the objects that are held outside of them.

use super::flaws::{FlawKind, StoredFlaw, StoredPart};
use super::row_check::{ROWS_AT_ONCE, RowCheck};
use super::{RegionToVerify, VerifyError};
use ids::{AgentId, HeldKey, LocalId, Ticket, Uuid, WorldId};
use keeper::{FlawedObject, RegionCheck, RegionIds, check_held, check_region};
use link::{ObjectPage, SHARED_WORLDS_MAX, kept_object_ids, shared_local_ids, temporary_object_ids};
use prim::Body;
use std::collections::{BTreeMap, BTreeSet};
use store::{HeldEntry, LandKey, ObjectDamage, ObjectPart, StoredRegion};

/// Content items of prims whose assets are looked for at once.
const ITEMS_AT_ONCE: usize = 500;

/// Regions by their numbers: names, and the last tickets of those with a readable row.
type Regions = BTreeMap<u32, (String, Option<Ticket>)>;

/// An item of a prim with its place.
pub(super) struct PrimItem {
    owner: AgentId,
    item: Uuid,
    asset: Uuid,
    name: String,
}

/// Looks through all regions, and through the objects that are held.
pub(super) fn check_regions(check: &mut RowCheck<'_, '_, '_>) -> Result<(), VerifyError> {
    let mut regions = Regions::new();
    for RegionToVerify { world, name, .. } in check.order.regions {
        regions.insert(world.0, (name.clone(), None));
    }
    let rows = check.view.regions()?;
    let mut numbers: BTreeSet<u32> = check.view.regions_with_rows()?;
    for found in rows {
        let WorldId(number) = found.region;
        numbers.insert(number);
        let known = regions.entry(number).or_default();
        if let Some(row) = found.row {
            if !row.name.is_empty() {
                known.0 = row.name;
            }
            known.1 = Some(row.ticket);
        }
    }
    for number in numbers {
        if (1..=SHARED_WORLDS_MAX).contains(&number) {
            let name = regions.get(&number).map(|(name, _)| name.clone()).unwrap_or_default();
            check.check_one(WorldId(number), &name)?;
        } else {
            let why = "no region has this number";
            check.note(StoredFlaw::new(FlawKind::Damaged, StoredPart::Region, number, "", why));
        }
    }
    check.check_held(&regions)
}

impl RowCheck<'_, '_, '_> {
    fn check_one(&mut self, world: WorldId, name: &str) -> Result<(), VerifyError> {
        let damaged =
            |why: String| StoredFlaw::new(FlawKind::Damaged, StoredPart::Region, world.0, name, why);
        let stored = match self.view.region(world) {
            Ok(stored) => stored,
            Err(why) if why.is_damage() => {
                self.note(damaged("pages with its rows are damaged".to_owned()));
                return self.advance(0, 0);
            }
            Err(why) => return Err(why.into()),
        };
        let all = shared_local_ids(world);
        let ids = RegionIds { kept: kept_object_ids(&all), temporary: temporary_object_ids(&all) };
        let regions = self.order.regions;
        let configured = regions.iter().find(|region| region.world == world);
        let land = configured.and_then(|region| region.land.as_ref());
        match check_region(&ids, &stored, land) {
            Ok(found) => self.note_region(world, name, &stored, &found)?,
            Err(why) => self.note(damaged(why.to_string())),
        }
        let StoredRegion { bodies, states, land, .. } = &stored;
        let bytes = bodies.n_bytes() + states.n_bytes() + land.n_bytes();
        self.advance(bodies.len() + states.len() + land.len(), bytes as u64)
    }

    fn note_region(
        &mut self,
        world: WorldId,
        name: &str,
        stored: &StoredRegion,
        found: &RegionCheck,
    ) -> Result<(), VerifyError> {
        let (kind, part) = (FlawKind::Damaged, StoredPart::Region);
        if stored.row.is_none() && !stored.damages.iter().any(|damage| damage.part == ObjectPart::Region) {
            let why = "it has objects or land, and no row of its own";
            self.note(StoredFlaw::new(FlawKind::Missing, part, world.0, name, why));
        }
        for damage in &stored.damages {
            if let Some(flaw) = flaw_of_row(world, name, damage) {
                self.note(flaw);
            }
        }
        for flaw in flaws_of_objects(world, stored, &found.damaged) {
            self.note(flaw);
        }
        if found.n_mended > 0 {
            let why = format!("{} prims are in linksets of which others are missing", found.n_mended);
            self.note(StoredFlaw::new(kind, part, world.0, name, why));
        }
        for land in &found.damaged_land {
            let id = format!("{} of region {}", land.key, world.0);
            let name = land.name.as_deref().unwrap_or_default();
            self.note(StoredFlaw::new(kind, StoredPart::Land, id, name, land.why.as_str()));
        }
        let prims = found.objects.pages.iter().flat_map(ObjectPage::prims);
        let mut items = Vec::new();
        let mut n_prims = found.damaged.len() as u64;
        for (_, _, versioned) in prims {
            n_prims += 1;
            push_items(&mut items, &versioned.body);
            if items.len() >= ITEMS_AT_ONCE {
                self.check_prim_items(&mut items)?;
            }
        }
        self.findings.objects += n_prims;
        self.check_prim_items(&mut items)
    }

    /// Notes items of prims whose assets do not exist.
    pub(super) fn check_prim_items(&mut self, items: &mut Vec<PrimItem>) -> Result<(), VerifyError> {
        self.findings.items += items.len() as u64;
        let ids: Vec<Uuid> = items.iter().map(|item| item.asset).collect();
        let hashes = self.view.asset_hashes(&ids)?;
        for (PrimItem { owner, item, asset, name }, hash) in items.drain(..).zip(hashes) {
            if hash.is_none() {
                self.note_lost_asset(asset, |why| {
                    StoredFlaw::new(FlawKind::Missing, StoredPart::Item, item, name, why).of(Some(owner))
                });
            }
        }
        Ok(())
    }

    fn check_held(&mut self, regions: &Regions) -> Result<(), VerifyError> {
        let mut after = None;
        loop {
            let page = self.view.held_after(after, ROWS_AT_ONCE)?;
            for damage in &page.damages {
                let id = HeldKey { region: damage.region, ticket: Ticket(damage.object.0) };
                let why = damage.why.as_str();
                self.note(StoredFlaw::new(FlawKind::Damaged, StoredPart::Held, id, "", why));
            }
            let mut bytes = 0;
            for entry in &page.entries {
                bytes += entry.row.value.len() as u64;
                self.check_held_row(entry, regions)?;
            }
            self.advance(page.entries.len(), bytes)?;
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    fn check_held_row(&mut self, entry: &HeldEntry, regions: &Regions) -> Result<(), VerifyError> {
        let HeldEntry { row, taken_by } = entry;
        let HeldKey { region, ticket } = row.key;
        let mut note = |name: &str, why: String| {
            let flaw = StoredFlaw::new(FlawKind::Damaged, StoredPart::Held, row.key, name, why);
            self.findings.faults.note(flaw.of(Some(row.owner)));
        };
        let bodies = match check_held(row) {
            Ok(bodies) => bodies,
            Err(why) => {
                note("", why.to_string());
                Vec::new()
            }
        };
        let name = bodies.first().map_or("", |root| &*root.names.name);
        match regions.get(&region.0) {
            Some((_, Some(last))) if *last < ticket => {
                note(name, format!("its ticket is above the last one of its region, {}", last.0));
            }
            _ => {}
        }
        if let Some(WorldId(taker)) = taken_by.filter(|taker| !regions.contains_key(&taker.0)) {
            note(name, format!("region {taker}, which has taken it, does not exist"));
        }
        self.findings.objects += bodies.len() as u64;
        let mut items = Vec::new();
        bodies.iter().for_each(|body| push_items(&mut items, body));
        self.check_prim_items(&mut items)
    }
}

/// Adds the items of a prim.
pub(super) fn push_items(items: &mut Vec<PrimItem>, body: &Body) {
    for item in body.contents.iter().flat_map(|contents| &contents.items) {
        items.push(PrimItem {
            owner: body.ownership.owner,
            item: item.id,
            asset: item.asset,
            name: format!("{} in {}", item.name, body.names.name),
        });
    }
}

/// The fault of a row whose checksum does not match, except for rows of objects.
fn flaw_of_row(world: WorldId, name: &str, damage: &ObjectDamage) -> Option<StoredFlaw> {
    let (part, id) = match damage.part {
        ObjectPart::Region => (StoredPart::Region, world.0.to_string()),
        ObjectPart::Land => {
            let key = LandKey::of_code(damage.object.0).map(|key| key.to_string());
            (StoredPart::Land, format!("{} of region {}", key.unwrap_or_default(), world.0))
        }
        ObjectPart::Body | ObjectPart::State | ObjectPart::HeldObject => return None,
    };
    Some(StoredFlaw::new(FlawKind::Damaged, part, id, name, damage.why.as_str()))
}

/// One fault for each object of which a row is damaged, or that cannot be read.
fn flaws_of_objects(world: WorldId, stored: &StoredRegion, unread: &[FlawedObject]) -> Vec<StoredFlaw> {
    let mut reasons: BTreeMap<LocalId, Vec<String>> = BTreeMap::new();
    let rows = stored.damages.iter();
    for damage in rows.filter(|damage| matches!(damage.part, ObjectPart::Body | ObjectPart::State)) {
        let why = format!("{}: {}", damage.part.as_str(), damage.why);
        reasons.entry(damage.object).or_default().push(why);
    }
    // Of an object with a damaged row, the other one is there, and the lack of the first one is no news.
    let known: BTreeMap<LocalId, &FlawedObject> =
        unread.iter().map(|flawed| (flawed.object.id, flawed)).collect();
    for (id, flawed) in &known {
        reasons.entry(*id).or_insert_with(|| vec![flawed.object.why.clone()]);
    }
    let flaw = |(id, why): (LocalId, Vec<String>)| {
        let flawed = known.get(&id);
        let name = flawed.and_then(|flawed| flawed.object.name.as_deref()).unwrap_or_default();
        let place = format!("{} of region {}", id.0, world.0);
        let flaw = StoredFlaw::new(FlawKind::Damaged, StoredPart::Object, place, name, why.join(", "));
        flaw.of(flawed.and_then(|flawed| flawed.owner))
    };
    reasons.into_iter().map(flaw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use keeper::DamagedObject;

    #[test]
    fn an_object_is_named_once_with_all_its_reasons() {
        let damage = |part, object: u32, why: &str| ObjectDamage {
            region: WorldId(1),
            object: LocalId(object),
            part,
            why: why.into(),
        };
        let stored = StoredRegion {
            damages: vec![
                damage(ObjectPart::Region, 0, "torn"),
                damage(ObjectPart::Body, 9, "torn"),
                damage(ObjectPart::State, 9, "torn, too"),
                damage(ObjectPart::Body, 7, "torn"),
                damage(ObjectPart::Land, LandKey::new(store::LandKind::Parcel, 3).code(), "torn"),
            ],
            ..StoredRegion::default()
        };
        let ada = AgentId(Uuid::from_u128(5));
        let unread = |id, name: Option<&str>, why: &str, owner| FlawedObject {
            object: DamagedObject { id: LocalId(id), name: name.map(Into::into), why: why.into() },
            owner,
        };
        let unread = [
            unread(7, Some("Lamp"), "its body is missing", None),
            unread(8, None, "it means nothing", Some(ada)),
        ];
        let flaws = flaws_of_objects(WorldId(1), &stored, &unread);
        let lines: Vec<String> = flaws.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "damaged object 7 of region 1 \"Lamp\": body: torn".to_owned(),
                format!("damaged object 8 of region 1 of {}: it means nothing", ada.0),
                "damaged object 9 of region 1: body: torn, state: torn, too".to_owned(),
            ]
        );
        let rows = stored.damages.iter().filter_map(|damage| flaw_of_row(WorldId(1), "Harbour", damage));
        let rows: Vec<String> = rows.map(|flaw| flaw.to_string()).collect();
        assert_eq!(
            rows,
            ["damaged region 1 \"Harbour\": torn", "damaged land parcel 3 of region 1 \"Harbour\": torn",]
        );
    }
}
