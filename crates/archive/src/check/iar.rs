//! Check of an inventory's archive.

use super::ledger::{Naming, Referrer};
use super::mentions::Certainty;
use super::report::ArchiveReport;
use super::tally::CheckTally;
use super::walk::{EntryCheck, check_entries};
use super::{CheckConfig, CheckError, ITEM_BYTES, PRIM_BYTES};
use crate::file::{ArchiveEntry, ArchiveReader, FileError};
use crate::iar::{
    ArchivedItem, ArchivedProfile, FOLDER_METADATA, INVENTORY, IarControl, LINK_TO_FOLDER, NodeLocation,
    PROFILES, read_location,
};
use crate::kind::{ASSETS, ArchivedKind};
use crate::oar::CONTROL;
use assets::AssetKind;
use ids::Uuid;
use std::collections::HashSet;
use std::io::Read;

/// Nodes whose ids are noted. Further ones are counted only.
const NODES_MAX: usize = 1_000_000;

/// Checks the archive of an inventory. A file that cannot be read to its end is checked as far as it can, and has an unreadable part.
///
/// # Errors
/// [`CheckError`] if there is no such archive.
pub fn check_iar(input: impl Read, config: &CheckConfig<'_>) -> Result<ArchiveReport, CheckError> {
    let entries = ArchiveReader::open(input, config.limits)?;
    let mut check = IarCheck::new(config);
    check_entries(entries, &mut check)?;
    check.finish()
}

struct IarCheck<'a> {
    tally: CheckTally<'a>,
    has_control: bool,
    /// Hashes of the paths of folders, which together may have as many bytes as the squares of all paths.
    folders: HashSet<[u8; 32]>,
    nodes: HashSet<Uuid>,
    /// Links with their targets.
    links: Vec<(Box<str>, Uuid)>,
    /// Ids of links.
    link_ids: HashSet<Uuid>,
    n_content_items: u64,
}

impl<'a> EntryCheck<'a> for IarCheck<'a> {
    fn tally(&mut self) -> &mut CheckTally<'a> {
        &mut self.tally
    }

    fn entry(
        &mut self,
        entry: &ArchiveEntry,
        entries: &mut ArchiveReader<impl Read>,
        content: &mut Vec<u8>,
    ) -> Result<(), FileError> {
        let path = &*entry.path;
        self.tally.has_parts |= path == CONTROL || path.starts_with(INVENTORY) || path.starts_with(ASSETS);
        if entry.is_folder {
            if path.starts_with(INVENTORY) {
                match read_location(path, true) {
                    Ok(location) => self.folders(path, &location),
                    Err(why) => self.tally.report.add_unreadable(path, why),
                }
            }
            return Ok(());
        }
        entries.read_content(content)?;
        self.file(path, content);
        Ok(())
    }
}

impl<'a> IarCheck<'a> {
    fn new(config: &'a CheckConfig<'a>) -> Self {
        Self {
            tally: CheckTally::new(config),
            has_control: false,
            folders: HashSet::new(),
            nodes: HashSet::new(),
            links: Vec::new(),
            link_ids: HashSet::new(),
            n_content_items: 0,
        }
    }

    fn file(&mut self, path: &str, content: &[u8]) {
        if path == CONTROL {
            match IarControl::read(content) {
                Ok(read) => {
                    self.has_control = true;
                    self.tally.report.version = Some(self.tally.noted(path, read).version);
                }
                Err(why) => self.tally.report.add_unreadable(path, why),
            }
        } else if path.starts_with(INVENTORY) && !path.ends_with(FOLDER_METADATA) {
            self.item(path, content);
        } else if path.starts_with(ASSETS) {
            let counts = self.tally.asset(path, path, content);
            let report = &mut self.tally.report;
            report.n_objects += counts.n_groups;
            report.n_prims += counts.n_prims;
            report.n_scripts += counts.n_scripts;
            self.n_content_items += counts.n_items;
        } else if path.starts_with(PROFILES) {
            match ArchivedProfile::read(content) {
                Ok(read) => {
                    self.tally.noted(path, read);
                }
                Err(why) => self.tally.report.add_unreadable(path, why),
            }
        } else {
            self.tally.report.add_remark(path, "a file of another program, which is not loaded");
        }
    }

    /// Notes folders, from the outermost one on. `path` is that of the innermost one, or of an item in it.
    fn folders(&mut self, path: &str, location: &NodeLocation) {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]).skip(1);
        for (end, folder) in ends.zip(&location.folders) {
            let hash = *blake3::hash(&path.as_bytes()[..end]).as_bytes();
            if self.folders.len() < NODES_MAX && self.folders.insert(hash) {
                self.note_id(path, folder.id);
            }
        }
    }

    /// Notes the id of a node, which other nodes do not have.
    fn note_id(&mut self, path: &str, id: Uuid) {
        if !id.is_nil() && self.nodes.len() < NODES_MAX && !self.nodes.insert(id) {
            self.tally.report.add_remark(path, format_args!("another folder or item has the id {id}"));
        }
    }

    fn item(&mut self, path: &str, content: &[u8]) {
        let location = match read_location(path, false) {
            Ok(location) => location,
            Err(why) => return self.tally.report.add_unreadable(path, why),
        };
        let item = match ArchivedItem::read(content) {
            Ok(read) => self.tally.noted(path, read),
            Err(why) => return self.tally.report.add_unreadable(path, why),
        };
        self.folders(path, &location);
        self.note_id(path, item.id);
        if item.is_link() {
            self.tally.report.inventory.n_links += 1;
            if self.links.len() < NODES_MAX {
                self.links.push((path.into(), item.asset));
                self.link_ids.insert(item.id);
            }
            if item.asset_type == LINK_TO_FOLDER && location.folders.iter().any(|it| it.id == item.asset) {
                self.tally.report.add_remark(path, "the link leads to a folder that it lies in");
            }
            return;
        }
        self.tally.report.inventory.n_items += 1;
        self.tally.report.n_scripts += u64::from(item.asset_type == i32::from(AssetKind::Script.number()));
        self.tally.accounts.add_owner(item.owner);
        if let Some(creator) = item.creator_account() {
            self.tally.accounts.add_creator(creator, item.creator_data.as_deref());
        }
        let kind = i8::try_from(item.asset_type).ok().and_then(ArchivedKind::from_number);
        let naming = Naming { certainty: Certainty::Certain, kind, is_shown: false };
        self.tally.assets.name(&mut Referrer::new(path), item.asset, naming);
    }

    fn finish(mut self) -> Result<ArchiveReport, CheckError> {
        if !self.tally.has_parts {
            return Err(CheckError::OtherArchive("an inventory"));
        }
        let report = &mut self.tally.report;
        if !self.has_control {
            report.add_unreadable("archive.xml", "there is no control file that can be read");
        }
        for (path, target) in &self.links {
            let why = match (self.nodes.contains(target), self.link_ids.contains(target)) {
                (true, false) => continue,
                (true, true) => "which is another link",
                (false, _) => "which is not in the archive",
            };
            report.inventory.n_broken_links += 1;
            report.add_remark(path, format_args!("the link leads to {target}, {why}"));
        }
        report.inventory.n_folders = self.folders.len() as u64;
        report.memory_bytes = report.n_prims * PRIM_BYTES + self.n_content_items * ITEM_BYTES;
        Ok(self.tally.finish())
    }
}
