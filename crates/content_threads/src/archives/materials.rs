//! Legacy materials of faces: assets in archives, and rows of a region here.

use super::parts::ArchiveParts;
use super::steps::ArchiveFailure;
use grid::capability::{MATERIALS_MAX, archived_material, material_document};
use ids::{Uuid, WorldId};
use std::collections::{BTreeMap, BTreeSet};

/// Outcome of the materials of an archive.
#[derive(Debug, Default)]
pub(super) struct LoadedMaterials {
    /// Materials that the region has now.
    pub(super) n_kept: u64,
    /// Documents that are no materials, and materials beyond the number that a region may have.
    pub(super) n_left_out: u64,
}

/// Collects the materials of an archive.
#[derive(Debug, Default)]
pub(super) struct MaterialLoader {
    values: BTreeMap<Uuid, Vec<u8>>,
    n_left_out: u64,
}

impl MaterialLoader {
    /// Takes a material by its document.
    pub(super) fn add(&mut self, id: Uuid, document: &[u8]) {
        let has_room = self.values.len() < MATERIALS_MAX as usize;
        match archived_material(document).filter(|_| has_room) {
            Some(value) => {
                self.values.entry(id).or_insert(value);
            }
            None => self.n_left_out += 1,
        }
    }

    /// Keeps the materials with a region, as far as it has room. They show with the faces that name them only.
    pub(super) fn keep(
        self,
        parts: &ArchiveParts,
        region: WorldId,
    ) -> Result<LoadedMaterials, ArchiveFailure> {
        let Self { values, mut n_left_out } = self;
        if values.is_empty() {
            return Ok(LoadedMaterials { n_kept: 0, n_left_out });
        }
        let there = parts.store.all_region_materials(region, MATERIALS_MAX)?;
        let there: BTreeSet<Uuid> = there.into_iter().map(|(id, _)| id).collect();
        let n_room = (MATERIALS_MAX as usize).saturating_sub(there.len());
        let n_all = values.len() as u64;
        let (known, new): (Vec<_>, Vec<_>) = values.into_iter().partition(|(id, _)| there.contains(id));
        let n_new = new.len();
        let new: Vec<(Uuid, Vec<u8>)> = new.into_iter().take(n_room).collect();
        let mut n_kept = known.len() as u64;
        // A user may have taken the room meanwhile.
        if parts.store.add_region_materials(region, &new, MATERIALS_MAX)? {
            n_kept += n_new.min(n_room) as u64;
        }
        n_left_out += n_all - n_kept;
        Ok(LoadedMaterials { n_kept, n_left_out })
    }
}

/// Documents of the materials of regions, by their ids.
pub(super) fn documents_of(
    parts: &ArchiveParts,
    regions: &[WorldId],
) -> Result<BTreeMap<Uuid, Vec<u8>>, ArchiveFailure> {
    let mut documents = BTreeMap::new();
    for region in regions {
        for (id, value) in parts.store.all_region_materials(*region, MATERIALS_MAX)? {
            if let Some(document) = material_document(id, &value) {
                documents.insert(id, document);
            }
        }
    }
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_material_is_left_out() {
        let mut loader = MaterialLoader::default();
        loader.add(Uuid::from_u128(1), b"<llsd><string>none</string></llsd>");
        loader.add(Uuid::from_u128(2), b"");
        assert_eq!((loader.values.len(), loader.n_left_out), (0, 2));
    }
}
