//! No id has two owners, and none comes again before its rest has ended.

use super::*;
use ids::Instant;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;

const SPACE: LocalIdSpace = LocalIdSpace { first: 1_000, end: 1_410, block: 100 };
const N_BLOCKS: usize = 4;

fn at(s: u64) -> Instant {
    Instant::from_millis(1_000 * s)
}

#[test]
fn the_blocks_of_a_grid_are_2_047_and_lie_in_the_upper_half() {
    let mut dealer = BlockDealer::new(LocalIdSpace::INSTANCES);
    let blocks: Vec<Range<u32>> = std::iter::from_fn(|| dealer.deal(at(0))).collect();
    assert_eq!((blocks.len(), blocks[0].start), (2_047, 1 << 31));
    assert!(blocks.windows(2).all(|two| two[0].end == two[1].start && two[0].len() == 1 << 20));
}

#[test]
fn a_returned_block_rests_for_a_minute() {
    let mut dealer = BlockDealer::new(LocalIdSpace { end: 1_100, ..SPACE });
    let block = dealer.deal(at(0)).unwrap();
    dealer.take_back(at(10), &block);
    assert_eq!(dealer.deal(at(69)), None);
    assert_eq!(dealer.deal(at(70)), Some(block));
}

#[test]
#[should_panic(expected = "only a dealt block")]
fn a_block_is_returned_once() {
    let mut dealer = BlockDealer::new(SPACE);
    let block = dealer.deal(at(0)).unwrap();
    dealer.take_back(at(0), &block);
    dealer.take_back(at(0), &block);
}

#[test]
fn a_host_asks_for_another_block_only_when_its_own_have_no_gap() {
    let mut pool = LocalIdPool::new(SPACE);
    let first = pool.allocate(at(0), 60).unwrap();
    assert_eq!(pool.allocate(at(0), 60).unwrap(), 1_100..1_160, "the rest of a block is too short");
    assert_eq!(pool.allocate(at(0), 40).unwrap(), 1_060..1_100);
    pool.release(at(0), &first);
    assert_eq!(pool.allocate(at(59), 60).unwrap(), 1_200..1_260, "it rests");
    assert_eq!(pool.allocate(at(60), 60), Some(first));
    assert_eq!(pool.allocate(at(60), 101), None, "no block is so long");
}

#[test]
#[should_panic(expected = "local ids are released once")]
fn a_range_is_released_once() {
    let mut pool = LocalIdPool::new(SPACE);
    let ids = pool.allocate(at(0), 10).unwrap();
    pool.release(at(0), &ids);
    pool.release(at(0), &ids);
}

/// Seconds that pass, then a range or block is wanted (`None`) or the n-th one is returned.
fn steps(n: usize) -> impl Strategy<Value = Vec<(u8, Option<u8>)>> {
    proptest::collection::vec((0_u8..40, proptest::option::weighted(0.45, any::<u8>())), 1..n)
}

proptest! {
    #[test]
    fn a_block_has_one_host_rests_and_is_dealt_as_soon_as_it_has_rested(steps in steps(80)) {
        let mut dealer = BlockDealer::new(SPACE);
        let (mut now, mut dealt) = (0, Vec::new());
        let mut returned_at = BTreeMap::new();
        for (passes, returns) in steps {
            now += u64::from(passes);
            match returns.filter(|_| !dealt.is_empty()) {
                Some(n) => {
                    let block: Range<u32> = dealt.swap_remove(usize::from(n) % dealt.len());
                    dealer.take_back(at(now), &block);
                    returned_at.insert(block.start, now);
                }
                None => {
                    let n_resting = returned_at.values().filter(|&&at| at + 60 > now).count();
                    let block = dealer.deal(at(now));
                    prop_assert_eq!(block.is_some(), dealt.len() + n_resting < N_BLOCKS);
                    let Some(block) = block else { continue };
                    prop_assert!(!dealt.contains(&block), "{:?} has two hosts", block);
                    prop_assert!(SPACE.first <= block.start && block.end <= SPACE.end);
                    prop_assert!(returned_at.remove(&block.start).is_none_or(|at| at + 60 <= now));
                    dealt.push(block);
                }
            }
        }
    }

    #[test]
    fn a_local_id_has_one_world_and_rests_after_it(steps in steps(200)) {
        let mut pool = LocalIdPool::new(SPACE);
        let (mut now, mut worlds) = (0, Vec::new());
        let mut released: Vec<(u64, Range<u32>)> = Vec::new();
        for (passes, ends) in steps {
            now += u64::from(passes);
            match ends.filter(|_| !worlds.is_empty()) {
                Some(n) => {
                    let ids: Range<u32> = worlds.swap_remove(usize::from(n) % worlds.len());
                    pool.release(at(now), &ids);
                    released.push((now, ids));
                }
                None => {
                    let n = 7 + 9 * (now % 5) as u32;
                    let Some(ids) = pool.allocate(at(now), n) else { continue };
                    let meets = |other: &Range<u32>| ids.start < other.end && other.start < ids.end;
                    prop_assert_eq!(ids.len(), n as usize);
                    prop_assert!(!worlds.iter().any(meets), "{:?} has two worlds", ids);
                    prop_assert!(released.iter().all(|(at, other)| at + 60 <= now || !meets(other)), "no rest");
                    worlds.push(ids);
                }
            }
            prop_assert_eq!(pool.n_used(), worlds.len());
        }
        let mut expected = worlds.clone();
        expected.sort_by_key(|ids| ids.start);
        prop_assert_eq!(pool.used().collect::<Vec<_>>(), expected);
        // Once all have ended and rested, all of it is available again.
        worlds.iter().for_each(|ids| pool.release(at(now), ids));
        now += 60;
        pool.allocate(at(now), 1).expect("a block of its own");
        now += 60;
        for _ in 1..N_BLOCKS {
            prop_assert!(pool.allocate(at(now), SPACE.block).is_some());
        }
    }
}
