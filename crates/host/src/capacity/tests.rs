use super::*;
use proptest::prelude::*;

const MIB: u64 = 1 << 20;

fn at(s: u64) -> Instant {
    Instant::from_millis(1_000 * s)
}

fn memory(resident_mib: u64, allowed_mib: u64) -> NodeSample {
    NodeSample {
        resident_bytes: resident_mib * MIB,
        allowed_bytes: Some(allowed_mib * MIB),
        ..NodeSample::default()
    }
}

fn busy(workers: f32, over: u64) -> NodeSample {
    let demand = WorkerDemand { workers, n_workers: 2, beats: 20, over, max_percent: 95 };
    NodeSample { demand, ..NodeSample::default() }
}

/// Number of `orders` whose reservation succeeds.
fn n_reserved(capacity: &mut WorldCapacity, bytes: u64, orders: u32) -> u32 {
    (0..orders).map(|_| u32::from(capacity.reserve(bytes).is_ok())).sum()
}

fn is_short_of(capacity: &WorldCapacity, what: Shortage) -> bool {
    capacity.shortages().any(|lacking| lacking == what)
}

#[test]
fn an_unlimited_node_admits_every_world() {
    let mut capacity = WorldCapacity::default();
    assert_eq!(n_reserved(&mut capacity, u64::from(u32::MAX), 1_000), 1_000, "no sample yet");
    capacity.record_sample(at(1), &NodeSample { resident_bytes: u64::MAX / 2, ..NodeSample::default() });
    assert_eq!(n_reserved(&mut capacity, MIB, 1_000), 1_000);
    assert_eq!(capacity.shortages().count(), 0);
}

#[test]
fn a_burst_between_samples_reserves_no_more_than_is_free() {
    let mut capacity = WorldCapacity::default();
    capacity.record_sample(at(1), &memory(100, 110));
    assert_eq!(n_reserved(&mut capacity, MIB, 1_000), 10);
    // Five worlds are created, and are resident only at the sample after the next one.
    (0..5).for_each(|_| capacity.note_created(MIB));
    assert_eq!((capacity.reserved_bytes(), capacity.reserve(MIB)), (10 * MIB, Err(Shortage::Memory)));
    capacity.record_sample(at(2), &memory(103, 110));
    assert_eq!((capacity.reserved_bytes(), capacity.reserve(MIB)), (10 * MIB, Err(Shortage::Memory)));
    capacity.record_sample(at(3), &memory(105, 110));
    // 105 resident and 5 reserved, two of which are cancelled.
    assert_eq!((capacity.reserved_bytes(), capacity.reserve(MIB)), (5 * MIB, Err(Shortage::Memory)));
    capacity.cancel_reservation(2 * MIB);
    assert_eq!(n_reserved(&mut capacity, MIB, 1_000), 2);
}

#[test]
fn a_removed_world_is_credited_although_its_memory_stays_resident() {
    let mut capacity = WorldCapacity::default();
    capacity.record_sample(at(1), &memory(110, 110));
    assert_eq!(capacity.reserve(MIB), Err(Shortage::Memory));
    capacity.note_freed(MIB);
    assert_eq!(n_reserved(&mut capacity, MIB, 10), 1);
    capacity.note_created(MIB);
    for s in 2..5 {
        capacity.record_sample(at(s), &memory(110, 110));
        assert_eq!(capacity.reserve(MIB), Err(Shortage::Memory), "{s}: the credit is used up");
    }
    // Memory that has returned to the system, by itself or by a trim, is not counted twice.
    capacity.note_freed(4 * MIB);
    capacity.record_sample(at(5), &memory(107, 110));
    assert_eq!(n_reserved(&mut capacity, MIB, 10), 4);
    capacity.cancel_reservation(4 * MIB);
    capacity.record_sample(at(6), &NodeSample { is_trimmed: true, ..memory(107, 110) });
    assert_eq!(n_reserved(&mut capacity, MIB, 10), 3);
    // The credit is at most the resident memory.
    let mut capacity = WorldCapacity::default();
    capacity.record_sample(at(1), &memory(1, 2));
    capacity.note_freed(100 * MIB);
    assert_eq!(n_reserved(&mut capacity, MIB, 10), 2);
}

#[test]
fn memory_shortage_has_hysteresis() {
    let mut capacity = WorldCapacity::default();
    let mut is_short = |s, resident_mib| {
        capacity.record_sample(at(s), &memory(resident_mib, 1_000));
        is_short_of(&capacity, Shortage::Memory)
    };
    assert!(!is_short(1, 999));
    assert!(is_short(2, 1_000));
    assert!(is_short(3, 981), "not in and out with each megabyte");
    assert!(!is_short(4, 979));
    assert!(!is_short(5, 999));
    capacity.note_refused_for_memory();
    capacity.record_sample(at(6), &memory(999, 1_000));
    assert!(is_short_of(&capacity, Shortage::Memory), "some is free, not enough for a world");
    capacity.record_sample(at(7), &NodeSample::default());
    assert!(!is_short_of(&capacity, Shortage::Memory), "the limit was taken away");
}

#[test]
fn cpu_shortage_has_hysteresis() {
    let mut capacity = WorldCapacity::default();
    let mut pass = |from_s: u64, to_s: u64, seen: NodeSample| {
        (from_s..to_s).for_each(|s| capacity.record_sample(at(s), &seen));
        capacity.reserve(1).is_ok()
    };
    // 95 % of two workers.
    assert!(pass(0, 5, busy(1.92, 0)));
    assert!(pass(5, 6, busy(1.8, 0)), "the period starts anew");
    assert!(pass(6, 11, busy(5.0, 0)));
    assert!(!pass(11, 12, busy(1.92, 0)));
    assert!(!pass(12, 40, busy(1.8, 0)), "neither too much nor little");
    assert!(!pass(40, 45, busy(1.6, 2)));
    assert!(!pass(45, 46, busy(1.6, 6)), "frames are missed again");
    assert!(!pass(46, 51, busy(1.6, 5)));
    assert!(pass(51, 52, busy(1.6, 5)));
    // Missed beats count whatever the demand.
    assert!(pass(52, 60, busy(0.1, 14)));
    assert!(!pass(60, 66, busy(0.1, 15)));
    let unlimited = NodeSample {
        demand: WorkerDemand { max_percent: 0, ..busy(9.0, 20).demand },
        ..NodeSample::default()
    };
    assert!(pass(66, 67, unlimited), "no limit");
    assert!(pass(67, 90, unlimited));
}

#[test]
fn memory_is_listed_first_and_cpu_refuses_first() {
    let mut capacity = WorldCapacity::default();
    (0..6).for_each(|s| {
        capacity.record_sample(at(s), &NodeSample { demand: busy(2.0, 20).demand, ..memory(10, 10) })
    });
    assert_eq!(capacity.shortages().collect::<Vec<_>>(), [Shortage::Memory, Shortage::Cpu]);
    assert_eq!(capacity.reserve(1), Err(Shortage::Cpu), "no eviction helps");
    (6..12).for_each(|s| {
        capacity.record_sample(at(s), &NodeSample { demand: busy(0.1, 0).demand, ..memory(10, 10) })
    });
    assert_eq!(capacity.reserve(1), Err(Shortage::Memory));
}

#[test]
fn expected_size_rises_at_once_and_falls_slowly() {
    let mut capacity = WorldCapacity::default();
    let cave: Arc<str> = "Cave".into();
    assert_eq!(capacity.expected_bytes("Cave", 20), (128 + 20 * 16) * 1024);
    capacity.learn_from_creation(&cave, 100_000);
    assert_eq!(
        (capacity.expected_bytes("Cave", 20), capacity.expected_bytes("Hall", 0)),
        (300_000, 128 * 1024)
    );
    capacity.learn_from_creation(&cave, 50_000);
    assert_eq!(capacity.expected_bytes("Cave", 20), 300_000);
    let after_one = 300_000 - 175_000 / 8;
    assert_eq!(capacity.learn_from_use(&cave, 100_000), after_one, "the visit may have been a short one");
    assert_eq!(capacity.learn_from_creation(&cave, 200_000), after_one, "experience of use counts");
    assert_eq!(capacity.learn_from_creation(&cave, 290_000), 290_000, "it has grown");
    (0..100).for_each(|_| _ = capacity.learn_from_use(&cave, 100_000));
    assert!((125_000..125_010).contains(&capacity.expected_bytes("Cave", 20)));
    assert_eq!(capacity.learn_from_use(&cave, 200_000), 250_000);
    assert_eq!(capacity.learn_from_use(&cave, 100_000), 250_000 - 125_000 / 8);
    for _ in 0..100 {
        capacity.learn_from_use(&cave, 100_000);
    }
    assert!((125_000..125_010).contains(&capacity.expected_bytes("Cave", 20)));
}

/// Inputs of the capacity.
#[derive(Clone, Copy, Debug)]
enum Event {
    Take(u64),
    Fail(usize),
    Make(usize),
    Leave(usize),
    Look,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => (1_u64..40).prop_map(Event::Take),
        1 => any::<usize>().prop_map(Event::Fail),
        3 => any::<usize>().prop_map(Event::Make),
        1 => any::<usize>().prop_map(Event::Leave),
        1 => Just(Event::Look),
    ];
    proptest::collection::vec(event, 0..200)
}

proptest! {
    /// Worlds of the expected size; an allocator that keeps freed memory and reuses it for the next world.
    #[test]
    fn worlds_never_exceed_the_limit_and_every_reservation_ends(events in events()) {
        const BASE: u64 = 100;
        const ALLOWED: u64 = 300;
        let mut capacity = WorldCapacity::default();
        let (mut making, mut there): (Vec<u64>, Vec<u64>) = Default::default();
        // Resident size never falls: the largest sum so far.
        let mut resident = BASE;
        let look = |capacity: &mut WorldCapacity, s: usize, resident: u64| {
            let seen = NodeSample { resident_bytes: resident, allowed_bytes: Some(ALLOWED), ..NodeSample::default() };
            capacity.record_sample(at(s as u64), &seen);
        };
        look(&mut capacity, 0, resident);
        for (n, event) in events.into_iter().enumerate() {
            match event {
                Event::Take(bytes) => making.extend(capacity.reserve(bytes).is_ok().then_some(bytes)),
                Event::Fail(which) if !making.is_empty() => {
                    capacity.cancel_reservation(making.swap_remove(which % making.len()));
                }
                Event::Make(which) if !making.is_empty() => {
                    let bytes = making.swap_remove(which % making.len());
                    capacity.note_created(bytes);
                    there.push(bytes);
                }
                Event::Leave(which) if !there.is_empty() => {
                    capacity.note_freed(there.swap_remove(which % there.len()));
                }
                Event::Look => look(&mut capacity, n + 1, resident),
                _ => {}
            }
            resident = resident.max(BASE + there.iter().sum::<u64>());
            prop_assert!(resident <= ALLOWED, "{resident}");
            let in_all = BASE + making.iter().chain(&there).sum::<u64>();
            prop_assert!(in_all <= ALLOWED, "{in_all}");
        }
        making.drain(..).for_each(|bytes| capacity.cancel_reservation(bytes));
        (500..502).for_each(|s| look(&mut capacity, s, resident));
        prop_assert_eq!(capacity.reserved_bytes(), 0);
    }
}

/// One world comes, one goes, and a second later a sample is recorded.
fn pass(capacity: &mut WorldCapacity, s: u64, is_trimmed: bool) -> u64 {
    capacity.reserve(MIB).unwrap();
    capacity.note_created(MIB);
    capacity.note_freed(MIB);
    capacity.record_sample(at(s), &NodeSample { is_trimmed, ..memory(200, 1_000) });
    capacity.trimmable_bytes() / MIB
}

#[test]
fn freed_memory_is_trimmable_once_worlds_neither_come_nor_go() {
    let mut capacity = WorldCapacity::default();
    capacity.record_sample(at(1), &memory(200, 1_000));
    assert_eq!((2..5).map(|s| pass(&mut capacity, s, false)).sum::<u64>(), 0);
    capacity.record_sample(at(5), &memory(200, 1_000));
    assert_eq!(capacity.trimmable_bytes(), 3 * MIB, "as far as can be observed");
    capacity.note_freed(MIB);
    capacity.record_sample(at(6), &NodeSample { is_trimmed: true, ..memory(198, 1_000) });
    assert_eq!(capacity.trimmable_bytes(), 0, "its destruction may be pending");
    capacity.record_sample(at(7), &memory(198, 1_000));
    assert_eq!(capacity.trimmable_bytes(), MIB);
}

#[test]
fn freed_memory_is_trimmable_after_a_minute_of_churn() {
    let mut capacity = WorldCapacity::default();
    let seen = (1..=61).map(|s| pass(&mut capacity, s, false)).collect::<Vec<_>>();
    assert_eq!((seen[..60].iter().sum::<u64>(), seen[60]), (0, 61));
    assert_eq!((pass(&mut capacity, 62, true), capacity.freed), (0, MIB));
    assert_eq!(pass(&mut capacity, 70, false), 0);
}
