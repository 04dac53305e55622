//! Orders that create, remove and rename regions, and the differences between the regions that run and those that the next start has.
//!
//! An order edits the configuration file ([`super::configured`]). Before anything is written, the new configuration is checked as at the start of a server: its
//! values, and the names under which content is stored. Content is deleted by an order of its own, of a region that neither runs nor is configured.

use super::RegionChanges;
use super::changes::{
    ChangeKind, ChangeRow, ChangeState, ChangedReply, ChangesReply, CreateBody, LeftRow, TerrainName,
};
use super::configured::{Pending, PresentFile, free_number, free_place, no_region, numbered, pending};
use crate::config::{Config, RegionEdit, RegionSection, TerrainShape};
use crate::configured::{grounds, is_new, keeper_config, new_land};
use grid_api::regions::RegionRefusal;
use ids::{Uuid, WorldId};
use keeper::{Keeper, is_saved_as};
use std::collections::BTreeSet;
use store::{LandKind, RegionContent, StoreError};

/// Pending changes, and content of regions that are not configured.
pub(super) fn listed(regions: &RegionChanges) -> Result<ChangesReply, RegionRefusal> {
    let desk = &regions.configured;
    let present = desk.path().map(|_| desk.present());
    let (configured, problem) = match present {
        Some(Ok(present)) => (numbered(&present.config), None),
        Some(Err(why)) => (desk.running().to_vec(), Some(why.to_string())),
        None => (desk.running().to_vec(), None),
    };
    let change = |pending: Pending<'_>| {
        let (change, former) = match pending {
            Pending::Create(_) => (ChangeKind::Create, None),
            Pending::Remove(_) => (ChangeKind::Remove, None),
            Pending::Rename(former, _) => (ChangeKind::Rename, Some(former.name.clone())),
            Pending::Change(_) => (ChangeKind::Change, None),
        };
        let RegionSection { name, id, x, y, size_m, .. } = pending.region();
        ChangeRow {
            name: name.clone(),
            former_name: former,
            change,
            state: ChangeState::PendingRestart,
            number: *id,
            x: *x,
            y: *y,
            size_m: *size_m,
        }
    };
    let left = |RegionContent { region, name, n_objects }: RegionContent| LeftRow {
        name,
        number: region.0,
        objects: n_objects,
    };
    Ok(ChangesReply {
        file: desk.path().map(|path| path.display().to_string()),
        problem,
        changes: pending(desk.running(), &configured).into_iter().map(change).collect(),
        not_configured: left_contents(regions, &configured)?.into_iter().map(left).collect(),
    })
}

/// Adds a region to the file.
pub(super) fn created(regions: &RegionChanges, order: CreateBody) -> Result<ChangedReply, RegionRefusal> {
    let desk = &regions.configured;
    let _turn = desk.begin()?;
    let present = desk.present()?;
    let configured = numbered(&present.config);
    let usual = RegionSection::default();
    let size_m = order.size_m.unwrap_or(usual.size_m);
    let place = match (order.x, order.y) {
        (Some(x), Some(y)) => Some((x, y)),
        (None, None) => free_place(&configured),
        (Some(_), None) | (None, Some(_)) => {
            return Err(RegionRefusal::bad("A position has both x and y."));
        }
    };
    let (x, y) = place.ok_or_else(|| {
        RegionRefusal::conflict("No place is free to the east of the other regions: state x and y.")
    })?;
    let owner = order.owner.as_deref().map(|owner| owner_name(regions, owner)).transpose()?;
    let region = RegionSection {
        id: number_for(regions, &order.name, &configured)?,
        name: order.name,
        x,
        y,
        size_m,
        terrain: match order.terrain {
            Some(TerrainName::Hills) => TerrainShape::Hills,
            Some(TerrainName::Flat) => TerrainShape::Flat,
            None => usual.terrain,
        },
        seed: order.seed.unwrap_or(usual.seed),
        water_m: order.water_m.unwrap_or(usual.water_m),
        estate_owner: owner.unwrap_or_default(),
        ..usual
    };
    let number = WorldId(region.id);
    let edit = RegionEdit::Add(Box::new(region));
    let after = carry_out(regions, &present, &edit, |after| check_content(regions, after, number))?;
    reply(regions, ChangeKind::Create, None, number, &after)
}

/// Removes a region from the file.
pub(super) fn removed(regions: &RegionChanges, name: &str) -> Result<ChangedReply, RegionRefusal> {
    let desk = &regions.configured;
    let _turn = desk.begin()?;
    let present = desk.present()?;
    let configured = numbered(&present.config);
    let Some(index) = position(&configured, name) else {
        return Err(not_configured(regions, name, &configured)?);
    };
    if configured.len() == 1 {
        let why = format!(
            "Nothing was changed: {} is the only region, and a grid needs one to log in to.",
            configured[index].name
        );
        return Err(RegionRefusal::conflict(why));
    }
    let gone = &configured[index];
    let after = carry_out(regions, &present, &RegionEdit::Remove(index), |_| Ok(()))?;
    let state = state_of(regions, gone.id, &after);
    let objects = regions.running.store.count_region_objects(WorldId(gone.id)).map_err(unread)?;
    tracing::info!(region = gone.name, number = gone.id, "removed from the configuration");
    Ok(ChangedReply {
        region: Some(gone.name.clone()),
        former_name: None,
        change: ChangeKind::Remove,
        state,
        number: gone.id,
        x: Some(gone.x),
        y: Some(gone.y),
        size_m: Some(gone.size_m),
        objects,
    })
}

/// Deletes the content of a region that neither runs nor is configured.
pub(super) fn content_deleted(regions: &RegionChanges, name: &str) -> Result<ChangedReply, RegionRefusal> {
    let desk = &regions.configured;
    let _turn = desk.begin()?;
    let configured = match desk.path() {
        Some(_) => numbered(&desk.present()?.config),
        None => desk.running().to_vec(),
    };
    if let Some(index) = position(&configured, name) {
        let why = format!(
            "Nothing was deleted: {} is configured. Remove it without deleting its content and restart the server; its content can be deleted then.",
            configured[index].name
        );
        return Err(RegionRefusal::conflict(why));
    }
    if let Some(index) = position(desk.running(), name) {
        let why = format!(
            "Nothing was deleted: {} runs until the server restarts. Its content can be deleted then.",
            desk.running()[index].name
        );
        return Err(RegionRefusal::conflict(why));
    }
    let left = left_contents(regions, &configured)?;
    let RegionContent { region, name, .. } = match &named(&left, name)[..] {
        [] => return Err(not_configured(regions, name, &configured)?),
        [one] => (*one).clone(),
        several => return Err(ambiguous(name, several)),
    };
    let objects = regions.running.store.delete_region_content(region).map_err(|error| {
        RegionRefusal::unavailable(format!("The content cannot be deleted just now: {error}."))
    })?;
    tracing::warn!(region = name, number = region.0, objects, "the content of a region is deleted");
    Ok(ChangedReply {
        region: name,
        former_name: None,
        change: ChangeKind::DeleteContent,
        state: ChangeState::Done,
        number: region.0,
        x: None,
        y: None,
        size_m: None,
        objects,
    })
}

/// Gives a region another name in the file.
pub(super) fn renamed(
    regions: &RegionChanges,
    name: &str,
    to: String,
) -> Result<ChangedReply, RegionRefusal> {
    let desk = &regions.configured;
    let _turn = desk.begin()?;
    let present = desk.present()?;
    let configured = numbered(&present.config);
    let Some(index) = position(&configured, name) else {
        return Err(not_configured(regions, name, &configured)?);
    };
    let number = WorldId(configured[index].id);
    let saved = regions.running.store.region_row(number).map_err(unread)?.map(|row| row.name);
    let saved = saved.filter(|saved| !saved.is_empty());
    let running = desk.running().iter().find(|one| one.id == number.0).map(|one| one.name.clone());
    if let (Some(saved), Some(running)) = (&saved, &running)
        && !saved.eq_ignore_ascii_case(running)
    {
        let why =
            format!("Nothing was changed: {running} is not saved under its present name yet. Try again.");
        return Err(RegionRefusal::unavailable(why));
    }
    // A region that runs is saved under its name until the restart.
    let former = running.or(saved).filter(|former| !former.eq_ignore_ascii_case(&to));
    let edit = RegionEdit::Rename { index, to, former };
    let after = carry_out(regions, &present, &edit, |_| Ok(()))?;
    reply(regions, ChangeKind::Rename, Some(configured[index].name.clone()), number, &after)
}

/// Makes a change of the file, unless a server would not start with it.
fn carry_out(
    regions: &RegionChanges,
    present: &PresentFile,
    edit: &RegionEdit,
    check: impl FnOnce(&Config) -> Result<(), RegionRefusal>,
) -> Result<Config, RegionRefusal> {
    let (text, after) = regions.configured.changed(present, edit)?;
    check_names(regions, &after)?;
    check(&after)?;
    present.replace(&text)?;
    Ok(after)
}

/// Refuses a configuration that has content of another region under a number, as the start of a server does.
fn check_names(regions: &RegionChanges, after: &Config) -> Result<(), RegionRefusal> {
    for (index, region) in after.region.iter().enumerate() {
        let number = region.world(index);
        let row = regions.running.store.region_row(number).map_err(unread)?;
        let former = Some(region.former_name.trim()).filter(|former| !former.is_empty());
        if let Some(row) = row.filter(|row| !is_saved_as(&row.name, &region.name, former)) {
            let why = format!(
                "Nothing was changed: {} has the number {}, under which the content of {:?} is stored.",
                region.name, number.0, row.name
            );
            return Err(RegionRefusal::conflict(why));
        }
    }
    Ok(())
}

/// Refuses a region that would lose parts of the content that is stored under its number, such as parcels of a larger one.
fn check_content(regions: &RegionChanges, after: &Config, number: WorldId) -> Result<(), RegionRefusal> {
    let stored = regions.running.store.read_region(number).map_err(unread)?;
    if is_new(&stored) {
        return Ok(());
    }
    let found = after.region.iter().enumerate().find(|(index, region)| region.world(*index) == number);
    let (_, region) = found.expect("the region was just added");
    let alone = Config { region: vec![region.clone()], ..after.clone() };
    let (ground, _) = grounds(&alone).swap_remove(0);
    let now_s = regions.running.unix_start_s;
    let land = new_land(region, &ground.terrain, None, now_s);
    let keeper = keeper_config(after, (number, region), land, now_s);
    let n_parcels = stored.land.iter().filter(|(key, _)| key.kind == LandKind::Parcel).count();
    let why = match Keeper::load(&keeper, &stored, Uuid::nil()) {
        Err(error) => error.to_string(),
        Ok((_, loaded)) => match loaded.damaged_land.first() {
            Some(damaged) => format!("{}: {}", damaged.key, damaged.why),
            // Parcels of a smaller region leave squares, of which a parcel is made.
            None if n_parcels > 0 && loaded.land.state.parcels.len() > n_parcels => {
                "its parcels leave squares of the region".to_owned()
            }
            None => return Ok(()),
        },
    };
    Err(RegionRefusal::conflict(format!(
        "Nothing was changed: content is stored for {}, and it does not fit into a region of {} m ({why}). State the size that it had.",
        region.name, region.size_m
    )))
}

/// The number of a new region: that of the content which is stored under its name, or one that nothing has.
fn number_for(
    regions: &RegionChanges,
    name: &str,
    configured: &[RegionSection],
) -> Result<u32, RegionRefusal> {
    let running = regions.configured.running();
    let is_configured = |number: u32| configured.iter().any(|one| one.id == number);
    let taken_back = running.iter().find(|one| one.name.eq_ignore_ascii_case(name) && !is_configured(one.id));
    if let Some(region) = taken_back {
        return Ok(region.id);
    }
    let contents = regions.running.store.region_contents().map_err(unread)?;
    let is_known = |number: u32| is_configured(number) || running.iter().any(|one| one.id == number);
    let is_left = |content: &&RegionContent| has_name(content, name) && !is_known(content.region.0);
    let left: Vec<&RegionContent> = contents.iter().filter(is_left).collect();
    match &left[..] {
        [] => {}
        [one] => return Ok(one.region.0),
        several => return Err(ambiguous(name, several)),
    }
    let of_held = regions.running.store.regions_of_held().map_err(unread)?;
    let stored = contents.iter().map(|content| content.region).chain(of_held).map(|number| number.0);
    let known = configured.iter().chain(running).map(|one| one.id);
    free_number(&stored.chain(known).collect::<BTreeSet<u32>>())
        .ok_or_else(|| RegionRefusal::conflict("Nothing was changed: all numbers of regions are taken."))
}

/// Stored content of regions that are neither configured nor running.
fn left_contents(
    regions: &RegionChanges,
    configured: &[RegionSection],
) -> Result<Vec<RegionContent>, RegionRefusal> {
    let known: BTreeSet<u32> =
        configured.iter().chain(regions.configured.running()).map(|one| one.id).collect();
    let mut contents = regions.running.store.region_contents().map_err(unread)?;
    contents.retain(|content| !known.contains(&content.region.0));
    Ok(contents)
}

/// Those with this name, or else the one with this number.
fn named<'a>(left: &'a [RegionContent], name: &str) -> Vec<&'a RegionContent> {
    let found: Vec<&RegionContent> = left.iter().filter(|content| has_name(content, name)).collect();
    if found.is_empty()
        && let Ok(number) = name.parse::<u32>()
    {
        return left.iter().filter(|content| content.region.0 == number).collect();
    }
    found
}

fn has_name(content: &RegionContent, name: &str) -> bool {
    content.name.as_ref().is_some_and(|stored| stored.eq_ignore_ascii_case(name))
}

/// The refusal of a name that no configured region has.
fn not_configured(
    regions: &RegionChanges,
    name: &str,
    configured: &[RegionSection],
) -> Result<RegionRefusal, RegionRefusal> {
    let running = regions.configured.running();
    if let Some(index) = position(running, name) {
        let why = format!(
            "{} is not in the configuration file any more: it runs until the server restarts.",
            running[index].name
        );
        return Ok(RegionRefusal::conflict(why));
    }
    let left = left_contents(regions, configured)?;
    if let Some(content) = named(&left, name).first() {
        let why = format!(
            "{name} is not configured. Its {} stored objects, under the number {}, stay unless `delete_content` (`--delete-content`) is stated.",
            content.n_objects, content.region.0
        );
        return Ok(RegionRefusal::conflict(why));
    }
    let of_left = left.iter().filter_map(|content| content.name.as_deref());
    let known: Vec<&str> = configured.iter().map(|one| &*one.name).chain(of_left).collect();
    Ok(no_region(name, &known))
}

fn ambiguous(name: &str, several: &[&RegionContent]) -> RegionRefusal {
    let numbers: Vec<String> = several.iter().map(|content| content.region.0.to_string()).collect();
    RegionRefusal::conflict(format!(
        "Content of several regions called {name:?} is stored, under the numbers {}: state one of these, in the configuration file as `id`.",
        numbers.join(", ")
    ))
}

/// Index of the region with this name, in any capitals.
fn position(regions: &[RegionSection], name: &str) -> Option<usize> {
    regions.iter().position(|one| one.name.eq_ignore_ascii_case(name))
}

/// First and last name of an account, as the configuration names owners.
fn owner_name(regions: &RegionChanges, text: &str) -> Result<String, RegionRefusal> {
    let agent = regions.running.account(text)?;
    let names = regions.running.owners.names(std::iter::once(agent));
    let name = names.get(&agent).map(|name| name.to_string());
    name.ok_or_else(|| {
        RegionRefusal::unavailable(format!("The name of {text:?} cannot be looked up just now."))
    })
}

fn state_of(regions: &RegionChanges, number: u32, after: &Config) -> ChangeState {
    let configured = numbered(after);
    let is_pending = |one: &Pending<'_>| one.region().id == number;
    let is_pending = pending(regions.configured.running(), &configured).iter().any(is_pending);
    if is_pending { ChangeState::PendingRestart } else { ChangeState::Done }
}

/// The answer about a region that the file has.
fn reply(
    regions: &RegionChanges,
    change: ChangeKind,
    former_name: Option<String>,
    number: WorldId,
    after: &Config,
) -> Result<ChangedReply, RegionRefusal> {
    let configured = numbered(after);
    let region = configured.iter().find(|one| one.id == number.0).expect("the file has the region");
    let objects = regions.running.store.count_region_objects(number).map_err(unread)?;
    tracing::info!(region = region.name, number = number.0, ?change, "a change of the configuration");
    Ok(ChangedReply {
        region: Some(region.name.clone()),
        former_name,
        change,
        state: state_of(regions, number.0, after),
        number: number.0,
        x: Some(region.x),
        y: Some(region.y),
        size_m: Some(region.size_m),
        objects,
    })
}

fn unread(error: StoreError) -> RegionRefusal {
    RegionRefusal::unavailable(format!("The stored regions cannot be read just now: {error}."))
}
