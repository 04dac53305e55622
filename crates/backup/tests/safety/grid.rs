//! A data directory with accounts, inventories, assets, a region with objects and land, and an object that is held.

use crate::driver::TestDriver;
use assets::content_path;
use backup::{
    BackupDir, BackupError, BackupReport, BackupSource, FilesMode, RegionToVerify, RestoreError,
    RestoreOrder, RestoreReport, Verification, VerifyOrder, back_up, restore, verify,
};
use ids::{AgentId, Epoch, HeldKey, LocalId, SessionKey, Ticket, Uuid, WorldId};
use keeper::region_file::{self, LandToWrite, RegionAbout};
use keeper::{NewLand, RegionIds, WornObject};
use link::{
    DerezKind, Estate, HeldObject, LandState, ObjectPage, PrimMotion, RestingIds, StoredLand, StoredObjects,
    Terrain, VersionedBody, kept_object_ids, shared_local_ids, temporary_object_ids,
};
use prim::{Body, Shape};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{
    AssetHash, AssetRow, Folder, HeldChange, HeldRow, InventoryChange, InventoryLimits, Item, NewAccount,
    NewWorn, PasswordHash, Permissions, RegionChanges, Sale, Store, StoreUrl, StoredAppearance, TableDigest,
    WearOutcome,
};
use tempfile::TempDir;

pub(crate) const REGION: WorldId = WorldId(1);
pub(crate) const ADA: AgentId = AgentId(Uuid::from_u128(0xADA));
/// An asset of the program's own.
pub(crate) const OWN: Uuid = Uuid::from_u128(0x1111);
const ROOT: Uuid = Uuid::from_u128(0xF0);
/// Texts of the rows of an avatar.
pub(crate) const TOUCH_OF_HAT: &str = "touch of the hat";
pub(crate) const TEXTURES_OF_ADA: &str = "textures of Ada";

pub(crate) struct Grid {
    folder: TempDir,
    regions: Vec<RegionToVerify>,
}

pub(crate) fn terrain() -> Arc<Terrain> {
    Arc::new(Terrain::flat(256, 21.0))
}

fn ids() -> RegionIds {
    let all = shared_local_ids(REGION);
    RegionIds { kept: kept_object_ids(&all), temporary: temporary_object_ids(&all) }
}

/// Bytes of the n-th asset, no two alike and none a part of another.
pub(crate) fn bytes_of(n: u32) -> Vec<u8> {
    format!("content {n:08}, ").into_bytes().repeat(1 + n as usize % 50)
}

impl Grid {
    /// An empty one.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let estate = Estate::new("Hills", None, 20.0);
        let land = NewLand { terrain: terrain(), estate, now_s: 1_800_000_000 };
        let regions = vec![RegionToVerify { world: REGION, name: "Harbour".into(), land: Some(land) }];
        let grid = Self { folder, regions };
        drop(grid.store());
        fs::create_dir(grid.assets()).unwrap();
        grid
    }

    /// One with something of every kind: three prims, of which two are a linkset; Ada with four items of three assets and the program's own.
    pub(crate) fn full() -> Self {
        let grid = Self::empty();
        grid.add_assets(0..3);
        grid.add_account(ADA, "Ada", &[(1, asset(0)), (2, asset(1)), (3, asset(2)), (4, OWN)]);
        grid.add_region(3);
        grid
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn database(&self) -> PathBuf {
        StoreUrl::path_in_directory(self.path())
    }

    pub(crate) fn url(&self) -> StoreUrl {
        StoreUrl::of_directory(self.path())
    }

    pub(crate) fn store(&self) -> Store {
        Store::open(&self.url()).unwrap()
    }

    pub(crate) fn assets(&self) -> PathBuf {
        self.path().join("assets")
    }

    /// Directory of the backups in these tests.
    pub(crate) fn backups(&self) -> PathBuf {
        self.path().join("backups")
    }

    pub(crate) fn add_assets(&self, numbers: Range<u32>) {
        let rows: Vec<AssetRow> = numbers.map(|n| self.add_file(n, None)).collect();
        self.store().add_assets(&rows).unwrap();
    }

    /// Writes the file of an asset; its row.
    pub(crate) fn add_file(&self, n: u32, used_s: Option<i64>) -> AssetRow {
        let bytes = bytes_of(n);
        let hash = AssetHash::of(&bytes);
        let path = content_path(&self.assets(), hash);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &bytes).unwrap();
        AssetRow {
            id: asset(n),
            hash,
            kind: 0,
            length: bytes.len() as u32,
            creator: ADA,
            created_s: 0,
            origin: "test".into(),
            used_s,
        }
    }

    pub(crate) fn file_of(&self, n: u32) -> PathBuf {
        content_path(&self.assets(), AssetHash::of(&bytes_of(n)))
    }

    /// An account with items, each with its asset.
    pub(crate) fn add_account(&self, agent: AgentId, first: &str, items: &[(u128, Uuid)]) {
        let items = items.iter().map(|&(id, asset)| item(id, asset)).collect();
        self.add_account_with(agent, first, vec![root()], items);
    }

    pub(crate) fn add_account_with(
        &self,
        agent: AgentId,
        first: &str,
        folders: Vec<Folder>,
        items: Vec<Item>,
    ) {
        let new = NewAccount {
            agent,
            first: first.into(),
            last: "Lovelace".into(),
            password_hash: PasswordHash("$argon2id$…".into()),
            created_s: 0,
            folders,
            items,
        };
        self.store().create_account(&new).unwrap();
    }

    /// A region with prims, of which the second is a part of the first.
    pub(crate) fn add_region(&self, n_prims: u32) {
        let changes = region_rows(n_prims);
        self.store().save_region(REGION, &changes).unwrap();
    }

    /// Lets Ada wear a prim as item 5, with an appearance.
    pub(crate) fn add_avatar(&self) {
        let store = self.store();
        let new = Item { asset_type: 6, ..item(5, OWN) };
        let change = InventoryChange::CreateItem(new.clone());
        let made = store.change_inventory(ADA, &[change], &InventoryLimits::default()).unwrap();
        assert!(made[0].is_ok(), "{made:?}");
        let mut body = Body::new(Uuid::from_u128(0x4A7), Shape::BOX, Arc::default(), ADA, 1 << 50);
        body.names.touch = TOUCH_OF_HAT.into();
        let prim = (PrimMotion::NONE, VersionedBody { version: 1, body: Arc::new(body) });
        let (folder, transaction, is_worn) = (Uuid::nil(), Uuid::nil(), true);
        let (by, kind, linksets) = (SessionKey::NODE, DerezKind::Take, vec![vec![prim]]);
        let object = HeldObject { owner: ADA, by, kind, folder, transaction, is_worn, linksets };
        let (point, revision, object) = (5, 1, Arc::new(object));
        let hat = WornObject { owner: ADA, item: new.id, point, revision, is_ahead: false, object };
        let new = NewWorn { item: new, point, revision, value: hat.row().value };
        assert_eq!(store.wear(ADA, &[new], 9).unwrap(), [WearOutcome::Worn]);
        let (texture_entry, visual_params) = (TEXTURES_OF_ADA.into(), vec![7; 218]);
        let look = StoredAppearance { height_m: 1.75, texture_entry, visual_params, bakes: Vec::new() };
        store.save_appearances(&[(ADA, look)]).unwrap();
    }

    pub(crate) fn order<'a>(&'a self, url: &'a StoreUrl, assets: &'a Path, is_deep: bool) -> VerifyOrder<'a> {
        VerifyOrder { database: url, assets, regions: &self.regions, is_own_asset: &is_own, is_deep }
    }

    pub(crate) fn verify(&self, is_deep: bool) -> Verification {
        self.verify_at(&self.url(), &self.assets(), is_deep)
    }

    pub(crate) fn verify_at(&self, url: &StoreUrl, assets: &Path, is_deep: bool) -> Verification {
        verify(&self.order(url, assets, is_deep), &mut TestDriver::at(7)).unwrap()
    }

    pub(crate) fn open_backups(&self) -> BackupDir {
        BackupDir::open(&self.backups(), "a test").unwrap()
    }

    pub(crate) fn back_up(&self, now_s: i64, keep: u32) -> BackupReport {
        self.back_up_with(keep, &mut TestDriver::at(now_s)).unwrap()
    }

    pub(crate) fn back_up_with(
        &self,
        keep: u32,
        driver: &mut TestDriver<'_>,
    ) -> Result<BackupReport, BackupError> {
        let (url, assets) = (self.url(), self.assets());
        let source = BackupSource {
            database: &url,
            assets: &assets,
            regions: &self.regions,
            is_own_asset: &is_own,
            build: "test",
        };
        back_up(&self.open_backups(), &source, keep, driver)
    }

    /// Restores a backup into a new directory.
    pub(crate) fn restore(&self, name: Option<&str>) -> (TempDir, Result<RestoreReport, RestoreError>) {
        let target = tempfile::tempdir().unwrap();
        let (from, data) = (self.backups(), target.path().join("data"));
        let assets = Path::new("assets");
        let order = RestoreOrder { from: &from, name, data: &data, assets, mode: FilesMode::Copy };
        let report = restore(&order, "a test", &mut TestDriver::at(9));
        (target, report)
    }

    pub(crate) fn digests(&self) -> Vec<TableDigest> {
        store::read_back(&self.url()).unwrap()
    }
}

fn is_own(id: Uuid) -> bool {
    id == OWN
}

/// The first folder of an inventory.
pub(crate) fn root() -> Folder {
    let (name, parent) = ("My Inventory".into(), Uuid::nil());
    Folder { id: ROOT, parent, name, type_default: 8, version: 1 }
}

pub(crate) fn asset(n: u32) -> Uuid {
    Uuid::from_u128(0xA55E_7000 + u128::from(n))
}

pub(crate) fn item(id: u128, asset: Uuid) -> Item {
    Item {
        id: Uuid::from_u128(id),
        folder: ROOT,
        asset,
        asset_type: 0,
        inventory_type: 0,
        name: format!("Item {id}"),
        description: String::new(),
        flags: 0,
        created_s: 0,
        permissions: Permissions {
            creator: ADA.0,
            last_owner: ADA.0,
            group: Uuid::nil(),
            group_owned: false,
            base: 0,
            owner: 0,
            group_mask: 0,
            everyone: 0,
            next_owner: 0,
        },
        sale: Sale::default(),
    }
}

/// The texts of the n-th prim: in its body and in its state.
pub(crate) fn texts_of(n: u32) -> (String, String) {
    (format!("touch of prim {n:06}"), format!("name of prim {n:06}"))
}

fn region_rows(n_prims: u32) -> RegionChanges {
    let ids = ids();
    let first = LocalId(ids.kept.start);
    let mut pages: Vec<ObjectPage> = Vec::new();
    for n in 0..n_prims {
        let id = LocalId(first.0 + n);
        if pages.last().is_none_or(|page| page.first != link::page_of(id)) {
            pages.push(ObjectPage::empty(id));
        }
        let page = pages.last_mut().unwrap();
        let texture = Arc::new(link::plain_texture(7));
        let mut body = Body::new(Uuid::from_u128(0x9000 + u128::from(n)), Shape::BOX, texture, ADA, 1 << 50);
        let (touch, name) = texts_of(n);
        (body.names.touch, body.names.name) = (touch.into(), name.into());
        let parent = if n == 1 { first } else { LocalId(0) };
        let place = PrimMotion { parent, link_number: u8::from(n == 1), ..PrimMotion::NONE };
        let at = link::index_in_page(id);
        Arc::make_mut(&mut page.motions)[at] = place;
        Arc::make_mut(&mut page.bodies)[at] = Some(VersionedBody { version: 1, body: Arc::new(body) });
    }
    let kept = RestingIds { n_used: n_prims, resting: Vec::new() };
    let objects = StoredObjects { pages, kept, ..StoredObjects::default() };
    let estate = Estate::new("Name of the estate", Some(ADA), 20.0);
    let land = StoredLand::new(LandState::of_one_parcel(256, Uuid::from_u128(0x9A), estate, 0), 0);
    let about = RegionAbout { name: "Harbour".into(), size_m: 256, ..RegionAbout::default() };
    let (mut file, terrain) = (Vec::new(), terrain());
    let land = LandToWrite { land: &land, described: &terrain };
    region_file::write(&mut file, &about, &objects, Some(land), &ids).unwrap();
    let file = region_file::read(&mut &file[..], &ids.kept).unwrap();
    let mut changes = file.rows(&ids, Uuid::from_u128(0xCACE), &terrain);
    changes.row.name = "Harbour".into();
    (changes.row.epoch, changes.row.sequence, changes.row.ticket) = (Epoch(3), 77, Ticket(5));
    changes
}

/// An object of Ada's that is held, with a value that means nothing.
pub(crate) fn held(ticket: u32) -> (Ticket, HeldChange) {
    let row = HeldRow {
        key: HeldKey { region: REGION, ticket: Ticket(ticket) },
        owner: ADA,
        kind: 0,
        by: SessionKey::NODE,
        held_s: 0,
        value: b"value of the held object".to_vec().into(),
    };
    (Ticket(ticket), HeldChange::Insert(row))
}
