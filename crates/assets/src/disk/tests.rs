use super::*;
use crate::AddAssetError;
use crate::testing::{FaultyFolder, asset};
use crate::writer::rows_of;
use std::sync::atomic::AtomicI64;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

struct Fixture {
    folder: FaultyFolder,
    store: Arc<Store>,
    now_s: Arc<AtomicI64>,
    assets: DiskAssets,
    writer: Option<JoinHandle<()>>,
}

const TEMPORARY_S: i64 = 1_000;

impl Fixture {
    fn new() -> Self {
        Self::with_cache(1 << 20)
    }

    fn with_cache(cache_bytes: u64) -> Self {
        let (folder, store) = (FaultyFolder::new(), Arc::new(Store::open_in_memory().unwrap()));
        let now_s = Arc::new(AtomicI64::new(100));
        let clock = Arc::clone(&now_s);
        let config = DiskAssetsConfig {
            cache_bytes,
            temporary_s: TEMPORARY_S,
            unix_s: Arc::new(move || clock.load(Ordering::Relaxed)),
        };
        let (assets, writer) = DiskAssets::with_files(Arc::clone(&store), folder.files(), config);
        let writer = Some(std::thread::Builder::new().spawn(move || writer.run(|| ())).unwrap());
        Self { folder, store, now_s, assets, writer }
    }

    fn add(&self, new: NewAsset) -> Result<Uuid, AddAssetError> {
        let (outcome, received) = channel();
        self.assets.add(new, Box::new(move |result| outcome.send(result).unwrap()));
        received.recv().unwrap()
    }

    fn bytes(&self, id: u128) -> Option<Vec<u8>> {
        self.assets.read(Uuid::from_u128(id)).unwrap().map(|asset| asset.bytes.to_vec())
    }

    fn forget_cached(&self) {
        self.assets.shared.cache.clear();
    }

    fn end(&mut self) {
        self.assets.end();
        if let Some(writer) = self.writer.take() {
            writer.join().unwrap();
        }
    }

    fn count(&self, counter: impl Fn(&AssetCounters) -> &AtomicU64) -> u64 {
        counter(self.assets.counters()).load(Ordering::Relaxed)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.end();
    }
}

#[test]
fn an_asset_is_read_from_memory_and_from_the_disk() {
    let fixture = Fixture::new();
    let id = Uuid::from_u128(1);
    assert_eq!(fixture.add(asset(1, b"one")), Ok(id));
    let cached = fixture.assets.cached(id).expect("a new asset is in memory");
    fixture.forget_cached();
    assert_eq!(fixture.assets.cached(id), None);
    assert_eq!(fixture.assets.read(id).unwrap(), Some(cached.clone()));
    assert_eq!(fixture.assets.cached(id), Some(cached));
    assert_eq!(fixture.bytes(2), None);
    let counts = (fixture.count(|c| &c.hits), fixture.count(|c| &c.misses), fixture.count(|c| &c.unknown));
    assert_eq!(counts, (2, 1, 1));
}

#[test]
fn the_cache_is_bounded_in_bytes() {
    let fixture = Fixture::with_cache(64 * 1_024);
    for id in 0..50 {
        let bytes = vec![id as u8; 8 * 1_024];
        fixture.add(asset(id, &bytes)).unwrap();
        assert_eq!(fixture.bytes(id), Some(bytes));
    }
    assert!(fixture.assets.cache_bytes() <= 64 * 1_024);
    assert_eq!(fixture.bytes(0).map(|bytes| bytes.len()), Some(8 * 1_024), "from the disk");
}

#[test]
fn damage_is_found_by_the_next_read_and_healed_by_the_same_bytes() {
    let fixture = Fixture::new();
    fixture.add(asset(1, b"one")).unwrap();
    fixture.add(asset(2, b"two")).unwrap();
    fixture.forget_cached();
    fixture.folder.damage(b"one");
    std::fs::remove_file(fixture.folder.path_of(AssetHash::of(b"two"))).unwrap();
    for id in [1, 2, 1, 2] {
        assert_eq!(fixture.bytes(id), None);
    }
    assert_eq!((fixture.count(|c| &c.quarantined), fixture.count(|c| &c.damaged)), (2, 4));
    let evidence = |id| fixture.store.asset(Uuid::from_u128(id)).unwrap().unwrap().damage.unwrap();
    assert!(evidence(1).contains("have the hash"), "{}", evidence(1));
    assert!(evidence(2).contains("missing"), "{}", evidence(2));
    fixture.add(asset(3, b"one")).unwrap();
    assert_eq!(fixture.bytes(1).as_deref(), Some(&b"one"[..]));
    assert_eq!(fixture.bytes(2), None);
}

#[test]
fn a_file_that_was_restored_is_verified_again_and_ends_the_quarantine() {
    let fixture = Fixture::new();
    let hash = AssetHash::of(b"one");
    fixture.add(asset(1, b"one")).unwrap();
    fixture.forget_cached();
    fixture.folder.damage(b"one");
    let verified = || fixture.assets.verify_again(hash).unwrap();
    assert!(verified().unwrap_err().contains("have the hash"), "a damaged one is found");
    assert!(verified().is_err(), "and stays damaged");
    assert_eq!((fixture.count(|c| &c.quarantined), fixture.bytes(1)), (1, None));
    std::fs::write(fixture.folder.path_of(hash), b"one").unwrap();
    assert_eq!(fixture.bytes(1), None, "the quarantine lasts until it is verified");
    assert_eq!(verified(), Ok(()));
    assert_eq!(fixture.bytes(1).as_deref(), Some(&b"one"[..]));
    let unknown = AssetHash::of(b"unknown");
    assert!(fixture.assets.verify_again(unknown).unwrap().is_err());
    assert_eq!(fixture.count(|c| &c.quarantined), 1, "it is no asset's");
}

#[test]
fn contents_of_others_are_on_the_disk_before_their_assets_and_are_written_once() {
    let fixture = Fixture::new();
    let hash = AssetHash::of;
    let keep = |contents: &[&[u8]]| {
        let contents = contents.iter().map(|bytes| (hash(bytes), bytes.to_vec())).collect();
        fixture.assets.keep_contents(contents)
    };
    let costs = || (fixture.count(|c| &c.written), fixture.count(|c| &c.syncs));
    fixture.add(asset(1, b"one")).unwrap();
    keep(&[]).unwrap();
    keep(&[b"one"]).unwrap();
    assert_eq!(costs(), (1, 1), "it was there");
    keep(&[b"two", b"one", b"two", b"three"]).unwrap();
    assert_eq!(costs(), (3, 2));
    for bytes in [&b"two"[..], b"three"] {
        assert_eq!(std::fs::read(fixture.folder.path_of(hash(bytes))).unwrap(), bytes);
    }
    fixture.folder.damage(b"one");
    fixture.forget_cached();
    assert_eq!(fixture.bytes(1), None);
    keep(&[b"one"]).unwrap();
    assert_eq!(std::fs::read(fixture.folder.path_of(hash(b"one"))).unwrap(), b"one", "it was damaged");
    fixture.folder.is_sync_failing.store(true, Ordering::Relaxed);
    assert!(matches!(keep(&[b"four"]), Err(ReadAssetError::Files(FilesError::Sync(_)))));
}

#[test]
fn temporary_assets_stay_while_they_are_used() {
    let fixture = Fixture::new();
    let temporary = |id, bytes| NewAsset { is_temporary: true, ..asset(id, bytes) };
    fixture.add(temporary(1, b"worn")).unwrap();
    fixture.add(temporary(2, b"forgotten")).unwrap();
    fixture.add(asset(3, b"lasting")).unwrap();
    fixture.now_s.store(100 + TEMPORARY_S, Ordering::Relaxed);
    assert!(fixture.bytes(1).is_some());
    fixture.assets.keep_temporary().unwrap();
    fixture.now_s.store(101 + TEMPORARY_S, Ordering::Relaxed);
    fixture.assets.keep_temporary().unwrap();
    // The queue is worked off in order.
    fixture.add(asset(4, b"behind")).unwrap();
    fixture.forget_cached();
    assert_eq!([1, 2, 3].map(|id| fixture.bytes(id).is_some()), [true, false, true]);
    assert_eq!(fixture.count(|c| &c.removed), 1);
}

#[test]
fn bytes_that_a_transaction_is_about_to_name_outlive_their_temporary_asset() {
    let fixture = Fixture::new();
    let (id, hash) = (Uuid::from_u128(1), AssetHash::of(b"one"));
    let temporary = |id, bytes| NewAsset { is_temporary: true, ..asset(id, bytes) };
    let keep = |bytes: &[u8]| fixture.assets.keep_contents(vec![(AssetHash::of(bytes), bytes.to_vec())]);
    let expire_at = |now_s| {
        fixture.now_s.store(now_s, Ordering::Relaxed);
        fixture.assets.keep_temporary().unwrap();
        // The queue is worked off in order.
        fixture.add(asset(4, b"behind")).unwrap();
    };
    fixture.add(temporary(1, b"one")).unwrap();
    fixture.add(temporary(3, b"two")).unwrap();
    fixture.now_s.store(100 + TEMPORARY_S, Ordering::Relaxed);
    keep(b"one").unwrap();
    expire_at(101 + TEMPORARY_S);
    assert_eq!(fixture.store.asset(id).unwrap(), None, "it has expired");
    let rows = rows_of(&NewAssets { assets: vec![asset(2, b"one")], item: None }, &[hash], 0);
    fixture.store.add_uploads(&[rows]).unwrap();
    assert_eq!(fixture.bytes(2).as_deref(), Some(&b"one"[..]));
    assert!(!fixture.folder.path_of(AssetHash::of(b"two")).exists(), "nothing was about to name these");
    // A transaction that has not come after ten minutes does not come.
    fixture.add(temporary(5, b"three")).unwrap();
    keep(b"three").unwrap();
    expire_at(200 + 2 * TEMPORARY_S);
    assert!(!fixture.folder.path_of(AssetHash::of(b"three")).exists());
}

#[test]
fn a_lasting_asset_does_not_become_temporary() {
    let fixture = Fixture::new();
    fixture.add(asset(1, b"one")).unwrap();
    fixture.add(NewAsset { is_temporary: true, ..asset(1, b"one") }).unwrap();
    let is_temporary = || fixture.assets.read(Uuid::from_u128(1)).unwrap().unwrap().is_temporary;
    assert!(!is_temporary());
    fixture.forget_cached();
    assert!(!is_temporary());
}

#[test]
fn writes_queued_at_the_end_are_stored() {
    let mut fixture = Fixture::new();
    let (outcome, received) = channel();
    for id in 0..100_u128 {
        let outcome = outcome.clone();
        let done = move |result| outcome.send(result).unwrap();
        fixture.assets.add(asset(id, &id.to_le_bytes()), Box::new(done));
    }
    fixture.end();
    drop(outcome);
    assert_eq!(received.iter().filter(Result::is_ok).count(), 100);
    assert_eq!(fixture.store.asset_counts().unwrap()[0].assets, 100);
    assert_eq!(fixture.add(asset(100, b"late")), Err(AddAssetError::Ended));
}

#[test]
fn a_scrubber_passes_all_contents_and_finds_each_damaged_one_once() {
    let fixture = Fixture::new();
    for id in 0..40_u128 {
        fixture.add(asset(id, &id.to_le_bytes())).unwrap();
    }
    for id in [3_u128, 30] {
        fixture.folder.damage(&id.to_le_bytes());
    }
    let mut scrubber = Scrubber::default();
    let mut positions = Vec::new();
    while scrubber.findings().passes < 2 {
        fixture.assets.scrub(&mut scrubber, 16).unwrap();
        positions.push(scrubber.position());
    }
    let findings = scrubber.findings();
    assert_eq!((findings.damaged, findings.verified, findings.unreadable), (2, 38 + 38, 0));
    assert!(positions[0] > 0.1 && positions[1] > positions[0] && positions[2].abs() < 1e-9, "{positions:?}");
    assert_eq!(fixture.count(|c| &c.quarantined), 2);
    fixture.forget_cached();
    assert_eq!((fixture.bytes(3), fixture.bytes(4)), (None, Some(4_u128.to_le_bytes().to_vec())));
}
