//! Assets that an archive has to have: those that its parts name, those that these name, and so on.

use archive::check::{Certainty, VIEWERS_OWN, each_mention};
use archive::file::{ArchiveLimits, ArchiveReader, FileError, NextEntry};
use archive::oar::{OarPath, OarSection};
use archive::object::{ReferenceRole, SceneGroup, read_object};
use archive::xml::XmlLimits;
use archive::{ArchivedAsset, ArchivedKind, read_asset_path};
use assets::AssetKind;
use ids::Uuid;
use std::collections::{HashMap, VecDeque};
use std::io::Read;

/// Different assets that are followed. Further ones are not.
const NAMED_MAX: usize = 1_000_000;

/// An asset that is named and not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingAsset {
    /// Its id.
    pub id: Uuid,
    /// Something that names it.
    pub named_by: Box<str>,
}

/// Assets that were named, those that were looked at, and those that are missing.
#[derive(Debug, Default)]
pub struct AssetClosure {
    named: HashMap<Uuid, Named>,
    waiting: VecDeque<Uuid>,
    is_cut: bool,
}

#[derive(Debug)]
struct Named {
    certainty: Certainty,
    by: Box<str>,
    is_missing: bool,
}

impl AssetClosure {
    /// Notes that something names an asset. The null id, and those that every viewer has, are none.
    pub fn name(&mut self, asset: Uuid, certainty: Certainty, by: &str) {
        if asset.is_nil() || VIEWERS_OWN.contains(&asset.as_u128()) {
            return;
        }
        if let Some(named) = self.named.get_mut(&asset) {
            if named.certainty < certainty {
                (named.certainty, named.by) = (certainty, by.into());
            }
            return;
        }
        if self.named.len() >= NAMED_MAX {
            self.is_cut = true;
            return;
        }
        self.named.insert(asset, Named { certainty, by: by.into(), is_missing: false });
        self.waiting.push_back(asset);
    }

    /// Notes the assets of a linkset.
    pub fn name_group(&mut self, group: &SceneGroup, by: &str) {
        let references = group.references();
        // Old files have the content of legacy materials in the part itself, and no asset for their ids.
        let is_own = |role: &ReferenceRole| matches!(role, ReferenceRole::MaterialTexture);
        let has_own = references.iter().any(|reference| is_own(&reference.role));
        for reference in references {
            let is_perhaps = has_own && matches!(reference.role, ReferenceRole::FaceMaterial(_));
            let certainty = if is_perhaps { Certainty::Possible } else { Certainty::Certain };
            self.name(reference.asset, certainty, by);
        }
    }

    /// Notes the ids in an environment, which may be those of textures and settings.
    pub fn name_environment(&mut self, environment: &str, by: &str) {
        let kind = ArchivedKind::from(AssetKind::Settings);
        each_mention(kind, environment.as_bytes(), &mut |id, certainty| self.name(id, certainty, by));
    }

    /// Notes what the bytes of an asset name.
    pub fn follow(&mut self, asset: Uuid, kind: ArchivedKind, bytes: &[u8]) {
        let by = format!("{kind} {asset}");
        if kind.stored() == Some(AssetKind::Object) {
            if let Ok(read) = read_object(bytes, &XmlLimits::OBJECT) {
                read.object.groups().for_each(|group| self.name_group(group, &by));
            }
            return;
        }
        each_mention(kind, bytes, &mut |id, certainty| self.name(id, certainty, &by));
    }

    /// True for an asset that was named.
    #[must_use]
    pub fn has(&self, asset: Uuid) -> bool {
        self.named.contains_key(&asset)
    }

    /// The next asset that was not looked at.
    pub fn poll_asset(&mut self) -> Option<Uuid> {
        self.waiting.pop_front()
    }

    /// Assets that wait to be looked at.
    #[must_use]
    pub fn n_waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Notes that an asset is not there.
    pub fn note_missing(&mut self, asset: Uuid) {
        if let Some(named) = self.named.get_mut(&asset) {
            named.is_missing = true;
        }
    }

    /// Assets that are certainly named and not there, by their ids.
    #[must_use]
    pub fn missing(&self) -> Vec<MissingAsset> {
        let is_missing = |named: &Named| named.is_missing && named.certainty == Certainty::Certain;
        let missing = self.named.iter().filter(|(_, named)| is_missing(named));
        let mut missing: Vec<MissingAsset> =
            missing.map(|(id, named)| MissingAsset { id: *id, named_by: named.by.clone() }).collect();
        missing.sort_unstable_by_key(|asset| asset.id);
        missing
    }

    /// True if more assets are named than are followed.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }
}

/// Passes each asset of an archive of either sort to `take`, with memory for one. Files among assets whose names begin with no id are passed over.
///
/// # Errors
/// [`FileError`], or that of `take`.
pub fn each_asset<E: From<FileError>>(
    input: impl Read,
    limits: ArchiveLimits,
    take: &mut dyn FnMut(ArchivedAsset) -> Result<(), E>,
) -> Result<(), E> {
    let mut entries = ArchiveReader::open(input, limits)?;
    while let Some(next) = entries.next_entry()? {
        let NextEntry::Entry(entry) = next else { continue };
        let place = OarPath::read(&entry.path);
        if entry.is_folder || place.section != OarSection::Asset {
            continue;
        }
        let Ok((id, kind)) = read_asset_path(place.path) else { continue };
        let mut bytes = Vec::new();
        entries.read_content(&mut bytes)?;
        take(ArchivedAsset { id, kind, bytes })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::asset_path;
    use archive::file::ArchiveWriter;

    fn id(n: u128) -> Uuid {
        Uuid::from_u128(n << 96 | n)
    }

    fn notecard() -> ArchivedKind {
        ArchivedKind::from(AssetKind::Notecard)
    }

    /// A notecard with these items, and another id in its text.
    fn card(items: &[u128], text: u128) -> String {
        let items: String = items.iter().map(|&n| format!("asset_id\t{}\n", id(n))).collect();
        format!("Linden text version 2\n{items}Text length 36\n{}\n", id(text))
    }

    #[test]
    fn assets_are_followed_through_others_once() {
        let mut closure = AssetClosure::default();
        closure.name(id(1), Certainty::Certain, "lamp");
        closure.name(id(1), Certainty::Certain, "chair");
        closure.name(Uuid::nil(), Certainty::Certain, "chair");
        closure.name(Uuid::from_u128(VIEWERS_OWN[0]), Certainty::Certain, "chair");
        assert_eq!((closure.poll_asset(), closure.poll_asset()), (Some(id(1)), None));
        closure.follow(id(1), notecard(), card(&[1, 2, 3], 4).as_bytes());
        let found: Vec<Uuid> = std::iter::from_fn(|| closure.poll_asset()).collect();
        assert_eq!(found, [id(2), id(3), id(4)], "and not the first one again");
        assert!(closure.has(id(1)) && closure.has(id(4)) && !closure.has(id(5)));
        [2, 4].iter().for_each(|&n| closure.note_missing(id(n)));
        let missing = closure.missing();
        assert_eq!(missing.len(), 1, "an id in a text may be that of anything");
        assert_eq!((missing[0].id, &*missing[0].named_by), (id(2), &*format!("notecard {}", id(1))));
        closure.name(id(4), Certainty::Certain, "table");
        assert_eq!(closure.missing().len(), 2);
        assert_eq!((closure.poll_asset(), closure.is_cut()), (None, false));
    }

    #[test]
    fn assets_of_both_sorts_of_archives_are_passed_one_by_one() {
        let mut writer = ArchiveWriter::plain(Vec::new());
        for (path, content) in [
            ("archive.xml", "<archive/>".to_owned()),
            (&*asset_path(id(1), notecard()), card(&[], 1)),
            ("assets/no-id.txt", String::new()),
            ("assets/89556747-24cb-43ed-920b-47caed15465f_unknown.kind", "x".to_owned()),
        ] {
            writer.append(path, content.as_bytes()).unwrap();
        }
        let file = writer.finish().unwrap();
        let mut found = Vec::new();
        let mut take = |asset: ArchivedAsset| {
            found.push((asset.id, asset.kind, asset.bytes.len()));
            Ok::<(), FileError>(())
        };
        each_asset(&file[..], ArchiveLimits::default(), &mut take).unwrap();
        let other = Uuid::from_u128(VIEWERS_OWN[0]);
        assert_eq!(found, [(id(1), Some(notecard()), card(&[], 1).len()), (other, None, 1)]);
        let mut ignore = |_| Ok::<(), FileError>(());
        assert!(each_asset(&b"no archive"[..], ArchiveLimits::default(), &mut ignore).is_err());
    }
}
