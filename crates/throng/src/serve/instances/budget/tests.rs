use super::*;
use proptest::prelude::*;

const MIB: u64 = 1 << 20;

fn at(s: u64) -> Instant {
    Instant::from_millis(1_000 * s)
}

fn memory(resident_mib: u64, allowed_mib: u64) -> Seen {
    Seen { resident_bytes: resident_mib * MIB, allowed_bytes: Some(allowed_mib * MIB), ..Seen::default() }
}

fn busy(workers: f32, over: u64) -> Seen {
    let demand = Demand { workers, n_workers: 2, beats: 20, over, max_percent: 95 };
    Seen { demand, ..Seen::default() }
}

/// As many as are promised so much.
fn promised(budget: &mut Budget, bytes: u64, orders: u32) -> u32 {
    (0..orders).map(|_| u32::from(budget.take(bytes).is_ok())).sum()
}

fn is_lacking(budget: &Budget, what: NoRoom) -> bool {
    budget.lacking().any(|lacking| lacking == what)
}

#[test]
fn without_a_limit_there_is_room_for_all() {
    let mut budget = Budget::default();
    assert_eq!(promised(&mut budget, u64::from(u32::MAX), 1_000), 1_000, "nobody has looked yet");
    budget.look(at(1), &Seen { resident_bytes: u64::MAX / 2, ..Seen::default() });
    assert_eq!(promised(&mut budget, MIB, 1_000), 1_000);
    assert_eq!(budget.lacking().count(), 0);
}

#[test]
fn a_burst_gets_no_more_than_there_is_before_any_of_it_shows() {
    let mut budget = Budget::default();
    budget.look(at(1), &memory(100, 110));
    assert_eq!(promised(&mut budget, MIB, 1_000), 10);
    // Five of them are made, and show only at the look behind the next one.
    (0..5).for_each(|_| budget.is_made(MIB));
    assert_eq!((budget.promised(), budget.take(MIB)), (10 * MIB, Err(NoRoom::Memory)));
    budget.look(at(2), &memory(103, 110));
    assert_eq!((budget.promised(), budget.take(MIB)), (10 * MIB, Err(NoRoom::Memory)));
    budget.look(at(3), &memory(105, 110));
    // 105 there and 5 on the way, two of which come to nothing.
    assert_eq!((budget.promised(), budget.take(MIB)), (5 * MIB, Err(NoRoom::Memory)));
    budget.give_back(2 * MIB);
    assert_eq!(promised(&mut budget, MIB, 1_000), 2);
}

#[test]
fn who_leaves_makes_room_for_as_much_although_the_kernel_does_not_see_it() {
    let mut budget = Budget::default();
    budget.look(at(1), &memory(110, 110));
    assert_eq!(budget.take(MIB), Err(NoRoom::Memory));
    budget.has_left(MIB);
    assert_eq!(promised(&mut budget, MIB, 10), 1);
    budget.is_made(MIB);
    for s in 2..5 {
        budget.look(at(s), &memory(110, 110));
        assert_eq!(budget.take(MIB), Err(NoRoom::Memory), "{s}: it is used up");
    }
    // What has gone back to the system is not counted twice, whether by itself or because somebody gave it back.
    budget.has_left(4 * MIB);
    budget.look(at(5), &memory(107, 110));
    assert_eq!(promised(&mut budget, MIB, 10), 4);
    budget.give_back(4 * MIB);
    budget.look(at(6), &Seen { is_given_back: true, ..memory(107, 110) });
    assert_eq!(promised(&mut budget, MIB, 10), 3);
    // Nor can more have been left than there was.
    let mut budget = Budget::default();
    budget.look(at(1), &memory(1, 2));
    budget.has_left(100 * MIB);
    assert_eq!(promised(&mut budget, MIB, 10), 2);
}

#[test]
fn memory_is_short_from_the_first_that_is_refused_until_there_is_some_to_spare() {
    let mut budget = Budget::default();
    let mut is_short = |s, resident_mib| {
        budget.look(at(s), &memory(resident_mib, 1_000));
        is_lacking(&budget, NoRoom::Memory)
    };
    assert!(!is_short(1, 999));
    assert!(is_short(2, 1_000));
    assert!(is_short(3, 981), "not in and out with each megabyte");
    assert!(!is_short(4, 979));
    assert!(!is_short(5, 999));
    budget.note_short();
    assert!(!budget.is_exhausted(), "others may make room in a moment");
    budget.note_exhausted();
    assert!(budget.is_exhausted());
    budget.has_left(0);
    assert!(!budget.is_exhausted(), "somebody has left");
    budget.note_short();
    budget.note_exhausted();
    budget.look(at(6), &memory(999, 1_000));
    assert!(!budget.is_exhausted(), "somebody may have gone meanwhile");
    assert!(is_lacking(&budget, NoRoom::Memory), "there is some, but not for a world");
    budget.look(at(7), &Seen::default());
    assert!(!is_lacking(&budget, NoRoom::Memory), "the limit was taken away");
}

#[test]
fn too_much_to_do_has_to_last_and_to_be_over_for_as_long() {
    let mut budget = Budget::default();
    let mut pass = |from_s: u64, to_s: u64, seen: Seen| {
        (from_s..to_s).for_each(|s| budget.look(at(s), &seen));
        budget.take(1).is_ok()
    };
    // 95 % of two workers.
    assert!(pass(0, 5, busy(1.92, 0)));
    assert!(pass(5, 6, busy(1.8, 0)), "it begins anew");
    assert!(pass(6, 11, busy(5.0, 0)));
    assert!(!pass(11, 12, busy(1.92, 0)));
    assert!(!pass(12, 40, busy(1.8, 0)), "neither too much nor little");
    assert!(!pass(40, 45, busy(1.6, 2)));
    assert!(!pass(45, 46, busy(1.6, 6)), "frames are missed again");
    assert!(!pass(46, 51, busy(1.6, 5)));
    assert!(pass(51, 52, busy(1.6, 5)));
    // Frames that are missed, whatever the worlds are said to need.
    assert!(pass(52, 60, busy(0.1, 14)));
    assert!(!pass(60, 66, busy(0.1, 15)));
    let unlimited = Seen { demand: Demand { max_percent: 0, ..busy(9.0, 20).demand }, ..Seen::default() };
    assert!(pass(66, 67, unlimited), "nobody wants it so");
    assert!(pass(67, 90, unlimited));
}

#[test]
fn memory_is_told_before_load_and_asked_for_behind_it() {
    let mut budget = Budget::default();
    (0..6).for_each(|s| budget.look(at(s), &Seen { demand: busy(2.0, 20).demand, ..memory(10, 10) }));
    assert_eq!(budget.lacking().collect::<Vec<_>>(), [NoRoom::Memory, NoRoom::Load]);
    assert_eq!(budget.take(1), Err(NoRoom::Load), "nobody is put out for it");
    (6..12).for_each(|s| budget.look(at(s), &Seen { demand: busy(0.1, 0).demand, ..memory(10, 10) }));
    assert_eq!(budget.take(1), Err(NoRoom::Memory));
}

#[test]
fn what_a_template_takes_is_guessed_then_learned_quickly_upwards_and_slowly_downwards() {
    let mut budget = Budget::default();
    let cave: Arc<str> = "Cave".into();
    assert_eq!(budget.expected("Cave", 20), (128 + 20 * 16) * 1024);
    budget.learn_from_making(&cave, 100_000);
    assert_eq!((budget.expected("Cave", 20), budget.expected("Hall", 0)), (300_000, 128 * 1024));
    budget.learn_from_making(&cave, 50_000);
    assert_eq!(budget.expected("Cave", 20), 300_000);
    let after_one = 300_000 - 175_000 / 8;
    assert_eq!(budget.learn_from_use(&cave, 100_000), after_one, "the visit may have been a short one");
    assert_eq!(budget.learn_from_making(&cave, 200_000), after_one, "what is known of use counts");
    assert_eq!(budget.learn_from_making(&cave, 290_000), 290_000, "it has grown");
    (0..100).for_each(|_| _ = budget.learn_from_use(&cave, 100_000));
    assert!((125_000..125_010).contains(&budget.expected("Cave", 20)));
    assert_eq!(budget.learn_from_use(&cave, 200_000), 250_000);
    assert_eq!(budget.learn_from_use(&cave, 100_000), 250_000 - 125_000 / 8);
    for _ in 0..100 {
        budget.learn_from_use(&cave, 100_000);
    }
    assert!((125_000..125_010).contains(&budget.expected("Cave", 20)));
}

/// What may happen to a budget.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Take(u64),
    Fail(usize),
    Make(usize),
    Leave(usize),
    Look,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        4 => (1_u64..40).prop_map(Deed::Take),
        1 => any::<usize>().prop_map(Deed::Fail),
        3 => any::<usize>().prop_map(Deed::Make),
        1 => any::<usize>().prop_map(Deed::Leave),
        1 => Just(Deed::Look),
    ];
    proptest::collection::vec(deed, 0..200)
}

proptest! {
    /// With worlds that take what was expected, and an allocator that keeps what they leave and gives it to the next one.
    #[test]
    fn whatever_happens_worlds_never_take_more_than_is_allowed_and_all_that_is_promised_comes_back(deeds in deeds()) {
        const BASE: u64 = 100;
        const ALLOWED: u64 = 300;
        let mut budget = Budget::default();
        let (mut making, mut there): (Vec<u64>, Vec<u64>) = Default::default();
        // What is resident never falls: the most there ever was.
        let mut resident = BASE;
        let look = |budget: &mut Budget, s: usize, resident: u64| {
            let seen = Seen { resident_bytes: resident, allowed_bytes: Some(ALLOWED), ..Seen::default() };
            budget.look(at(s as u64), &seen);
        };
        look(&mut budget, 0, resident);
        for (n, deed) in deeds.into_iter().enumerate() {
            match deed {
                Deed::Take(bytes) => making.extend(budget.take(bytes).is_ok().then_some(bytes)),
                Deed::Fail(which) if !making.is_empty() => {
                    budget.give_back(making.swap_remove(which % making.len()));
                }
                Deed::Make(which) if !making.is_empty() => {
                    let bytes = making.swap_remove(which % making.len());
                    budget.is_made(bytes);
                    there.push(bytes);
                }
                Deed::Leave(which) if !there.is_empty() => {
                    budget.has_left(there.swap_remove(which % there.len()));
                }
                Deed::Look => look(&mut budget, n + 1, resident),
                _ => {}
            }
            resident = resident.max(BASE + there.iter().sum::<u64>());
            prop_assert!(resident <= ALLOWED, "{resident}");
            let in_all = BASE + making.iter().chain(&there).sum::<u64>();
            prop_assert!(in_all <= ALLOWED, "{in_all}");
        }
        making.drain(..).for_each(|bytes| budget.give_back(bytes));
        (500..502).for_each(|s| look(&mut budget, s, resident));
        prop_assert_eq!(budget.promised(), 0);
    }
}

/// One comes and one goes, and a second later somebody looks.
fn pass(budget: &mut Budget, s: u64, is_given_back: bool) -> u64 {
    budget.take(MIB).unwrap();
    budget.is_made(MIB);
    budget.has_left(MIB);
    budget.look(at(s), &Seen { is_given_back, ..memory(200, 1_000) });
    budget.idle() / MIB
}

#[test]
fn what_worlds_left_is_idle_once_nobody_comes_and_goes() {
    let mut budget = Budget::default();
    budget.look(at(1), &memory(200, 1_000));
    assert_eq!((2..5).map(|s| pass(&mut budget, s, false)).sum::<u64>(), 0);
    budget.look(at(5), &memory(200, 1_000));
    assert_eq!(budget.idle(), 3 * MIB, "as far as anybody knows");
    budget.has_left(MIB);
    budget.look(at(6), &Seen { is_given_back: true, ..memory(198, 1_000) });
    assert_eq!(budget.idle(), 0, "this one may be on its way");
    budget.look(at(7), &memory(198, 1_000));
    assert_eq!(budget.idle(), MIB);
}

#[test]
fn what_worlds_left_is_idle_at_last_although_others_come_and_go() {
    let mut budget = Budget::default();
    let seen = (1..=61).map(|s| pass(&mut budget, s, false)).collect::<Vec<_>>();
    assert_eq!((seen[..60].iter().sum::<u64>(), seen[60]), (0, 61));
    assert_eq!((pass(&mut budget, 62, true), budget.left), (0, MIB));
    assert_eq!(pass(&mut budget, 70, false), 0);
}
