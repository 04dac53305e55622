//! A region as a part of an archive: settings, parcels, terrain, objects, in the order of OpenSimulator. Assets follow behind all regions.

use super::ground::heights_of;
use super::parcels::ParcelRules;
use super::placing::{Placing, PlacingOptions};
use super::scene::{group_of, is_exportable};
use super::settings::{environment_text, ground_assets, settings_of};
use super::written_parcels::archived_parcel;
use crate::accounts::AccountRules;
use crate::closure::AssetClosure;
use archive::check::Certainty;
use archive::file::ArchiveWriteError;
use archive::oar::{ArchivedParcel, ArchivedSettings, OarWriter};
use archive::object::{SceneGroup, WriteOptions, XmlForm, write_group};
use ids::{AgentId, Uuid};
use link::{Environment, PlacedLinkset, StoredLand, Terrain};
use prim::{ContentItem, Contents, Mask, Ownership};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::sync::Arc;

/// A region to be written, all of it as of one frame.
#[derive(Clone, Copy, Debug)]
pub struct RegionToWrite<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its folder in an archive of several regions.
    pub directory: Option<&'a str>,
    /// Its linksets, each with the root first.
    pub linksets: &'a [PlacedLinkset],
    /// Parcels and estate.
    pub land: &'a StoredLand,
    /// Its present ground.
    pub ground: &'a Terrain,
    /// Documents from which settings and parcels were loaded, by the ids of the parcels; the null id is that of the settings.
    pub documents: &'a BTreeMap<Uuid, Vec<u8>>,
}

/// Options of a save.
#[derive(Clone, Copy)]
pub struct RegionWriteOptions<'a> {
    /// Address of this grid. With it creators have their home and name, so that another grid shows them.
    pub home: Option<&'a str>,
    /// First and last name of an account of this grid.
    pub name_of: &'a dyn Fn(AgentId) -> Option<String>,
    /// Owners are left out, for archives that are given to others.
    pub is_published: bool,
    /// Only objects that the estate's owner may give away with these rights.
    pub rights: Mask,
}

impl fmt::Debug for RegionWriteOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { home, is_published, rights, .. } = self;
        f.debug_struct("RegionWriteOptions")
            .field("home", home)
            .field("is_published", is_published)
            .field("rights", rights)
            .finish_non_exhaustive()
    }
}

/// Figures of a region that was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegionWritten {
    /// Objects.
    pub n_objects: u64,
    /// Their prims.
    pub n_prims: u64,
    /// Objects that the rights have left out.
    pub n_left_out: u64,
    /// Parcels.
    pub n_parcels: u64,
}

/// Writes a region, and notes the assets that it names. `progress` gets the number of objects so far and the bytes of the last one, and may end the work.
///
/// # Errors
/// [`ArchiveWriteError`], or that of `progress`; the archive is not whole then.
pub fn write_region<W: Write, E: From<ArchiveWriteError>>(
    writer: &mut OarWriter<W>,
    region: &RegionToWrite<'_>,
    options: &RegionWriteOptions<'_>,
    closure: &mut AssetClosure,
    progress: &mut dyn FnMut(u64, u64) -> Result<(), E>,
) -> Result<RegionWritten, E> {
    let n_parcels = write_land(writer, region, options, closure)?;
    let mut written = RegionWritten { n_parcels, ..RegionWritten::default() };
    let creator = |agent: AgentId| Some(format!("{};{}", options.home?, (options.name_of)(agent)?));
    let creators = options.home.map(|_| &creator as &dyn Fn(AgentId) -> Option<String>);
    let xml = WriteOptions { form: XmlForm::Xml2, creators };
    let estate_owner = region.land.state.estate.owner;
    for prims in region.linksets {
        if options.rights != Mask::NONE && !is_exportable(prims, estate_owner, options.rights) {
            written.n_left_out += 1;
            continue;
        }
        let Some(mut group) = group_of(prims) else { continue };
        if options.is_published {
            leave_owners_out(&mut group);
        }
        let root = &group.root;
        let (name, id, at) = (&*root.body.names.name, root.body.id, root.place.position.to_array());
        closure.name_group(&group, &format!("object {id} {name:?}"));
        let document = write_group(&group, &xml);
        writer.object(region.directory, (name, at, id), &document)?;
        written.n_objects += 1;
        written.n_prims += group.others.len() as u64 + 1;
        progress(written.n_objects, document.len() as u64)?;
    }
    Ok(written)
}

/// Writes settings, parcels and terrain; returns the number of parcels.
fn write_land<W: Write>(
    writer: &mut OarWriter<W>,
    region: &RegionToWrite<'_>,
    options: &RegionWriteOptions<'_>,
    closure: &mut AssetClosure,
) -> Result<u64, ArchiveWriteError> {
    let RegionToWrite { name, directory, land, ground, documents, .. } = *region;
    let estate = &land.state.estate;
    let source = documents.get(&Uuid::nil());
    let source = source.and_then(|document| ArchivedSettings::read(document).ok()).map(|read| read.value);
    writer.settings(directory, name, &settings_of(estate, source))?;
    name_land(land, closure);
    let size_m = ground.size_m();
    let rules = ParcelRules {
        placing: Placing::new(PlacingOptions::default(), (size_m, size_m), size_m),
        accounts: AccountRules { is_known: &|_| true, default_user: AgentId(Uuid::nil()) },
        estate_owner: estate.owner,
        region_m: size_m,
        now_s: 0,
    };
    for parcel in &land.state.parcels {
        let source = documents.get(&parcel.id);
        let source = source.and_then(|document| ArchivedParcel::read(document).ok()).map(|read| read.value);
        let mut archived = archived_parcel(parcel, &land.state.squares, source, &rules);
        if options.is_published {
            archived.owner = Uuid::nil();
        }
        writer.parcel(directory, &archived)?;
    }
    writer.terrain(directory, name, &heights_of(ground))?;
    Ok(land.state.parcels.len() as u64)
}

/// Notes the assets that settings and parcels of a region name.
pub fn name_land(land: &StoredLand, closure: &mut AssetClosure) {
    let estate = &land.state.estate;
    ground_assets(&estate.textures).for_each(|id| closure.name(id, Certainty::Certain, "ground"));
    name_environment(estate.environment.as_ref(), "settings", closure);
    for parcel in &land.state.parcels {
        let by = format!("parcel {}", parcel.id);
        for id in [parcel.settings.snapshot, parcel.settings.media.texture] {
            closure.name(id, Certainty::Certain, &by);
        }
        name_environment(parcel.environment.as_ref(), &by, closure);
    }
}

fn name_environment(environment: Option<&Environment>, by: &str, closure: &mut AssetClosure) {
    if let Some(text) = environment.and_then(environment_text) {
        closure.name_environment(&text, by);
    }
}

/// Takes the owners out of an object and of the items in it.
fn leave_owners_out(group: &mut SceneGroup) {
    let without = |ownership: &Ownership| Ownership {
        owner: AgentId(Uuid::nil()),
        last_owner: AgentId(Uuid::nil()),
        ..*ownership
    };
    for part in std::iter::once(&mut group.root).chain(&mut group.others) {
        let body = Arc::make_mut(&mut part.body);
        body.ownership = Arc::new(without(&body.ownership));
        if let Some(contents) = &mut body.contents {
            let item = |item: &Arc<ContentItem>| {
                Arc::new(ContentItem { ownership: without(&item.ownership), ..ContentItem::clone(item) })
            };
            let items = contents.items.iter().map(item).collect();
            *contents = Arc::new(Contents { serial: contents.serial, items });
        }
    }
}

#[cfg(test)]
mod tests;
