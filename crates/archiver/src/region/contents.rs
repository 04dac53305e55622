//! Objects and terrain of an archive's region, read for a load.

use super::linksets::LinksetConverter;
use archive::file::FileError;
use archive::oar::{OarContent, OarReader, TerrainHeights};
use archive::object::read_object;
use archive::xml::XmlLimits;
use link::{INSERT_PRIMS_MAX, InsertedLinkset};
use std::io::Read;

/// Reads the objects of one region of an archive, one portion after the other.
#[derive(Debug)]
pub struct RegionContents<R: Read> {
    reader: OarReader<R>,
    directory: Option<Box<str>>,
    /// Entries with objects that are still to come.
    n_documents: u64,
    /// Linksets of the next portion.
    waiting: Vec<InsertedLinkset>,
    n_waiting: usize,
}

impl<R: Read> RegionContents<R> {
    /// Begins behind a plan: `n_documents` entries of the folder have objects. Reading ends with the last of them.
    #[must_use]
    pub fn new(reader: OarReader<R>, directory: Option<&str>, n_documents: u64) -> Self {
        let directory = directory.map(Into::into);
        Self { reader, directory, n_documents, waiting: Vec::new(), n_waiting: 0 }
    }

    /// Linksets for one command to a world, without those for which `skips` is true of the id of their root in the archive; none at the end.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn next_portion(
        &mut self,
        converter: &mut LinksetConverter<'_>,
        skips: &dyn Fn(ids::Uuid) -> bool,
    ) -> Result<Option<Vec<InsertedLinkset>>, FileError> {
        loop {
            if self.n_waiting >= INSERT_PRIMS_MAX {
                return Ok(Some(self.take_portion()));
            }
            if self.n_documents == 0 {
                return Ok(self.take_rest());
            }
            let Some(part) = self.reader.next_part()? else { return Ok(self.take_rest()) };
            if part.region != self.directory {
                continue;
            }
            let OarContent::Object(bytes) = part.content else { continue };
            // An unreadable one is in the report of the check.
            let Ok(read) = read_object(&bytes, &XmlLimits::OBJECT) else { continue };
            self.n_documents -= 1;
            for member in read.object.into_groups() {
                if !skips(member.group.root.body.id) {
                    self.add(converter.convert(member.group));
                }
            }
        }
    }

    fn add(&mut self, linksets: Vec<InsertedLinkset>) {
        self.n_waiting += linksets.iter().map(|linkset| linkset.prims.len()).sum::<usize>();
        self.waiting.extend(linksets);
    }

    fn take_rest(&mut self) -> Option<Vec<InsertedLinkset>> {
        (!self.waiting.is_empty()).then(|| self.take_portion())
    }

    /// As many linksets as one command takes, at least one.
    fn take_portion(&mut self) -> Vec<InsertedLinkset> {
        let (mut n_linksets, mut n_prims) = (0, 0);
        for linkset in &self.waiting {
            if n_linksets > 0 && n_prims + linkset.prims.len() > INSERT_PRIMS_MAX {
                break;
            }
            n_linksets += 1;
            n_prims += linkset.prims.len();
        }
        self.n_waiting -= n_prims;
        self.waiting.drain(..n_linksets).collect()
    }
}

/// Reads on to the terrain of a region of an archive; none if it has none that can be read.
///
/// # Errors
/// [`FileError`].
pub fn read_terrain<R: Read>(
    reader: &mut OarReader<R>,
    directory: Option<&str>,
) -> Result<Option<TerrainHeights>, FileError> {
    while let Some(part) = reader.next_part()? {
        if let (true, OarContent::Terrain(terrain)) = (part.region.as_deref() == directory, part.content) {
            return Ok(Some(terrain));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::super::placing::{Placing, PlacingOptions};
    use super::*;
    use crate::testing::*;
    use crate::{AccountRules, IdRule, RenewedIds};
    use archive::file::{ArchiveLimits, ArchiveWriter};
    use archive::oar::{OarControl, OarWriter, RegionSize};
    use archive::object::{WriteOptions, write_group};
    use glam::Vec3;

    fn archive_of(sizes: &[usize]) -> Vec<u8> {
        let size = RegionSize { width_m: 256, depth_m: 256 };
        let control = OarControl::single(id(1), size, 7);
        let mut writer = OarWriter::begin(ArchiveWriter::plain(Vec::new()), &control).unwrap();
        writer.part(&other_file()).unwrap();
        let mut next = 1_u128;
        for &n_parts in sizes {
            let root = part(next, Vec3::new(10.0, 10.0, 20.0));
            let others = (1..n_parts as u128).map(|n| part(next + n, Vec3::X)).collect();
            let document = write_group(&group(root, others), &WriteOptions::default());
            writer.object(None, ("Box", [10.0, 10.0, 20.0], id(next)), &document).unwrap();
            next += n_parts as u128;
        }
        let terrain = TerrainHeights { width: 256, depth: 256, heights: vec![21.0; 65_536] };
        writer.terrain(None, "Harbour", &terrain).unwrap();
        writer.finish().unwrap()
    }

    fn other_file() -> archive::oar::OarPart {
        let content = OarContent::Other(b"<SceneObjectGroup/>".to_vec());
        archive::oar::OarPart { path: "notes.txt".into(), region: None, content }
    }

    fn portions(file: &[u8], n_documents: u64) -> Vec<Vec<usize>> {
        let accounts = AccountRules { is_known: &|_| true, default_user: agent(1) };
        let placing = Placing::new(PlacingOptions::default(), (256, 256), 256);
        let ids = RenewedIds::new(IdRule::Renew, [1; 32]);
        let mut converter = LinksetConverter::new(placing, accounts, ids, None);
        let reader = OarReader::open(file, ArchiveLimits::default()).unwrap();
        let mut contents = RegionContents::new(reader, None, n_documents);
        let mut all = Vec::new();
        while let Some(portion) = contents.next_portion(&mut converter, &|root| root == id(1)).unwrap() {
            all.push(portion.iter().map(|linkset| linkset.prims.len()).collect());
        }
        all
    }

    #[test]
    fn a_portion_is_as_large_as_a_command_may_be() {
        // The first one is skipped.
        let file = archive_of(&[3, 200, 56, 1, 256, 300, 1]);
        let expected = vec![vec![200, 56], vec![1], vec![256], vec![256], vec![44, 1]];
        assert_eq!(portions(&file, 7), expected);
        assert_eq!(portions(&file, 2), vec![vec![200]], "the rest is not read");
        assert_eq!(portions(&file, 0), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn a_terrain_is_that_of_its_region() {
        let file = archive_of(&[3, 200]);
        let mut reader = OarReader::open(&file[..], ArchiveLimits::default()).unwrap();
        let terrain = read_terrain(&mut reader, None).unwrap().expect("it has one");
        assert_eq!((terrain.width, terrain.heights[9]), (256, 21.0));
        let mut reader = OarReader::open(&file[..], ArchiveLimits::default()).unwrap();
        assert_eq!(read_terrain(&mut reader, Some("1_1_Other")).unwrap(), None);
    }

    #[test]
    fn damage_in_the_middle_is_an_error() {
        let file = archive_of(&[1, 200, 100]);
        let cut = &file[..file.len() / 2];
        let reader = OarReader::open(cut, ArchiveLimits::default()).unwrap();
        let accounts = AccountRules { is_known: &|_| true, default_user: agent(1) };
        let placing = Placing::new(PlacingOptions::default(), (256, 256), 256);
        let ids = RenewedIds::new(IdRule::Keep, [1; 32]);
        let mut converter = LinksetConverter::new(placing, accounts, ids, None);
        let mut contents = RegionContents::new(reader, None, 3);
        let mut read = std::iter::from_fn(|| contents.next_portion(&mut converter, &|_| false).transpose());
        assert!(read.any(|portion| portion.is_err()));
    }
}
