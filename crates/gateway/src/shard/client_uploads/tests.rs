//! Files under way, their memory, and requests that wait for them.

use super::*;
use grid::inventory::InventoryRequest;
use proptest::prelude::*;
use wire::messages::CreateInventoryItem;

const ADA: AgentId = AgentId(Uuid::from_u128(1));
const ROOM: usize = 100_000;
/// The bit that marks the last part of a file.
const LAST: u32 = 1 << 31;

struct Fixture {
    uploads: ClientUploads,
    room: UploadRoom,
}

fn asset(n: u64) -> Uuid {
    Uuid::from_u64_pair(n, n)
}

fn head(n: u64) -> FileHead {
    FileHead { asset: asset(n), kind: AssetKind::Notecard, is_temporary: true }
}

fn request(n: u32) -> Box<InventoryTask> {
    let mut request = CreateInventoryItem::default();
    request.inventory_block.callback_id = n;
    Box::new(request.into())
}

fn at_s(s: u64) -> Instant {
    Instant(s * 1_000_000_000)
}

impl Fixture {
    fn new() -> Self {
        Self { uploads: ClientUploads::new(ADA), room: UploadRoom::new(2 * ROOM) }
    }

    fn begin(&mut self, n: u64, s: u64) -> Option<FileHead> {
        self.uploads.begin(at_s(s), head(n), ROOM, &mut self.room)
    }

    /// Sends a part; the first one states the length.
    fn part(&mut self, n: u64, packet: u32, length: Option<u32>, data: &[u8], s: u64) -> Option<PartTaken> {
        let length = length.map(u32::to_le_bytes);
        let data = [length.as_ref().map_or(&[][..], |length| &length[..]), data].concat();
        let taken = self.uploads.take_part(at_s(s), n, packet, &data, &mut self.room);
        taken.map(|(found, taken)| {
            assert_eq!(found, head(n));
            taken
        })
    }

    fn send(&mut self, n: u64, s: u64) {
        self.begin(n, s);
        let taken = self.part(n, LAST, Some(3), b"abc", s);
        assert_eq!(taken, Some(PartTaken::Whole(b"abc".to_vec())));
    }

    fn poll(&mut self, s: u64) -> Option<u32> {
        self.uploads.poll_held(at_s(s)).map(|request| match *request {
            InventoryTask::Change(InventoryRequest::CreateItem(m)) => m.inventory_block.callback_id,
            other => panic!("{other:?}"),
        })
    }

    fn hold(&mut self, n: u32, awaited: &[u64], s: u64) -> bool {
        let awaited = awaited.iter().map(|&n| asset(n)).collect();
        self.uploads.hold(at_s(s), request(n), awaited).is_none()
    }
}

#[test]
fn a_file_keeps_its_memory_until_the_store_has_it() {
    let mut f = Fixture::new();
    f.begin(1, 0);
    assert_eq!(f.room.held(), 0);
    assert_eq!(f.part(1, 0, Some(5), b"ab", 0), Some(PartTaken::More));
    assert_eq!(f.room.held(), 5);
    assert_eq!(f.part(1, 1 | LAST, None, b"cde", 0), Some(PartTaken::Whole(b"abcde".to_vec())));
    assert_eq!(f.part(1, 1 | LAST, None, b"cde", 0), None);
    assert!(f.uploads.has_come(1) && f.uploads.is_known(asset(1)) && f.uploads.is_idle());
    assert_eq!(f.room.held(), 5);
    assert_eq!(f.uploads.finish(asset(1), &mut f.room), Some(head(1)));
    assert_eq!((f.room.held(), f.uploads.finish(asset(1), &mut f.room)), (0, None));
    assert!(f.uploads.has_come(1) && !f.uploads.is_known(asset(1)));
}

#[test]
fn an_unfit_file_ends_and_gives_its_memory_back() {
    let mut f = Fixture::new();
    for (n, (length, data, why)) in
        [(4, &b"abcde"[..], PartTaken::Unfit), (ROOM as u32 + 1, &b""[..], PartTaken::TooLong)]
            .into_iter()
            .enumerate()
    {
        let n = n as u64;
        f.begin(n, 0);
        assert_eq!(f.part(n, 0, Some(length), data, 0), Some(why));
        assert!(!f.uploads.has_come(n) && !f.uploads.is_known(asset(n)));
        assert_eq!(f.room.held(), 0);
    }
    f.begin(8, 0);
    assert_eq!(f.part(8, 0, Some(ROOM as u32), b"", 0), Some(PartTaken::More));
    f.begin(9, 0);
    assert_eq!(f.part(9, 0, Some(1), b"", 0), Some(PartTaken::NoRoom));
    assert_eq!(f.uploads.abort(8, &mut f.room), Some(head(8)));
    assert_eq!((f.room.held(), f.uploads.abort(8, &mut f.room)), (0, None));
}

#[test]
fn the_oldest_file_ends_for_one_too_many() {
    let mut f = Fixture::new();
    for n in 0..FILES_MAX as u64 {
        assert_eq!(f.begin(n, 0), None);
    }
    assert_eq!(f.begin(99, 1), Some(head(0)));
    assert_eq!(f.uploads.files.len(), FILES_MAX);
}

#[test]
fn a_silent_file_and_an_endless_one_end() {
    let mut f = Fixture::new();
    f.begin(1, 0);
    f.begin(2, 0);
    for s in [50, 100, 150, 200, 250, 299] {
        assert_eq!(f.part(2, 7, None, b"", s), Some(PartTaken::Early));
    }
    assert_eq!(f.uploads.expire(at_s(59), &mut f.room), None);
    assert_eq!(f.uploads.expire(at_s(60), &mut f.room), Some(head(1)));
    assert_eq!(f.uploads.expire(at_s(299), &mut f.room), None);
    assert_eq!(f.uploads.expire(at_s(300), &mut f.room), Some(head(2)));
    assert!(f.uploads.is_idle());
}

#[test]
fn a_request_waits_for_its_file_in_either_order() {
    let mut f = Fixture::new();
    // Behind the file.
    f.send(1, 0);
    assert!(!f.hold(1, &[1], 0), "it need not wait");
    // While it is under way.
    f.begin(2, 0);
    assert!(f.hold(2, &[2], 0));
    assert_eq!(f.poll(100), None);
    assert_eq!(f.part(2, LAST, Some(1), b"a", 100), Some(PartTaken::Whole(b"a".to_vec())));
    assert_eq!((f.poll(100), f.poll(100)), (Some(2), None));
    // Before it.
    assert!(f.hold(3, &[3, 1], 200));
    assert_eq!(f.poll(200), None);
    f.send(3, 201);
    assert_eq!(f.poll(201), Some(3));
    // Without one.
    assert!(f.hold(4, &[4], 300));
    assert_eq!((f.poll(307), f.poll(308)), (None, Some(4)));
    // A failed upload.
    f.begin(5, 400);
    assert!(f.hold(5, &[5], 400));
    f.uploads.abort(5, &mut f.room);
    assert_eq!(f.poll(400), Some(5));
}

#[test]
fn requests_are_held_in_order_and_no_more_than_a_number() {
    let mut f = Fixture::new();
    f.begin(1, 0);
    for n in 0..REQUESTS_HELD_MAX as u32 {
        assert!(f.hold(n, &[1], 0));
    }
    assert!(!f.hold(99, &[1], 0));
    f.uploads.abort(1, &mut f.room);
    let polled: Vec<u32> = std::iter::from_fn(|| f.poll(0)).collect();
    assert_eq!(polled, (0..REQUESTS_HELD_MAX as u32).collect::<Vec<_>>());
}

#[test]
fn a_client_that_goes_gives_everything_back() {
    let mut f = Fixture::new();
    f.send(1, 0);
    f.begin(2, 0);
    assert_eq!(f.part(2, 0, Some(9), b"", 0), Some(PartTaken::More));
    assert!(f.hold(7, &[2], 0));
    assert_eq!(f.room.held(), 12);
    assert!(f.uploads.take_held().is_some() && f.uploads.take_held().is_none());
    assert_eq!((f.uploads.clear(&mut f.room), f.room.held()), (1, 0));
}

proptest! {
    #[test]
    fn memory_is_what_files_have_taken(acts in prop::collection::vec((0_u8..6, 0_u64..6, any::<bool>()), 0..200)) {
        let mut f = Fixture::new();
        for (s, (act, n, is_last)) in (0..).zip(acts) {
            match act {
                0 => {
                    if !f.uploads.is_known(asset(n)) {
                        f.begin(n, s);
                    }
                }
                1 => {
                    f.part(n, if is_last { LAST } else { 0 }, Some(4), b"ab", s);
                }
                2 => {
                    f.part(n, 1 | if is_last { LAST } else { 0 }, None, b"cd", s);
                }
                3 => {
                    f.uploads.abort(n, &mut f.room);
                }
                4 => {
                    f.uploads.finish(asset(n), &mut f.room);
                }
                _ => {
                    f.hold(0, &[n], s);
                    f.uploads.expire(at_s(s), &mut f.room);
                }
            }
            let under_way: usize = f.uploads.files.iter().map(|file| file.file.room()).sum();
            let storing: usize = f.uploads.storing.iter().map(|(_, bytes)| bytes).sum();
            prop_assert_eq!(f.room.held(), under_way + storing);
            prop_assert!(f.uploads.held.len() <= REQUESTS_HELD_MAX && f.uploads.ended.len() <= ENDED_MAX);
        }
        f.uploads.clear(&mut f.room);
        prop_assert_eq!(f.room.held(), 0);
    }
}
