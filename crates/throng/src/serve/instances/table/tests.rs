//! Numbers, limits and turns, without worlds.

use super::super::ledger::Ledger;
use super::*;
use ids::Instant;
use link::Terrain;
use std::sync::atomic::AtomicU64;

fn table(max: usize) -> Table {
    let land = Land::new(Arc::new(Terrain::flat(256, 22.0)), Arc::default(), 20.0);
    let template = Template {
        name: "Cave".into(),
        land: Arc::new(land),
        portals: Arc::default(),
        cast: None,
        script: None,
        max_avatars: 8,
        hz: 20,
    };
    Table::new(vec![template], Limits { max, active_max: max }, 2)
}

fn wanted(n: u128) -> Wanted {
    Wanted { id: Uuid::from_u128(n), template: "cave".into(), name: None, owner: None, created_s: 0 }
}

fn open(table: &mut Table, wanted: Wanted) -> Result<Seat, TableRefusal> {
    let world = table.add(wanted)?.world;
    let seat = table.seat(world)?;
    let ledger = Arc::new(Ledger::new(&Arc::new(AtomicU64::new(0))));
    let active = Active::new(Arc::clone(&seat.scene), ledger, Instant::ZERO, Instant::ZERO);
    table.put(world, State::Active(Box::new(active)));
    Ok(seat)
}

fn refused<T>(result: Result<T, TableRefusal>) -> TableRefusal {
    result.err().expect("it is refused")
}

#[test]
fn worlds_are_numbered_for_ever_and_local_ids_never_shared() {
    let mut table = table(100);
    let seats: Vec<Seat> = (0..100).map(|n| open(&mut table, wanted(n)).expect("room")).collect();
    for (n, seat) in (2..).zip(&seats) {
        assert_eq!(seat.scene.world, WorldId(n));
        assert!(seat.scene.local_ids.start >= FIRST_LOCAL_ID);
    }
    table.remove(WorldId(9));
    let next = open(&mut table, wanted(100)).expect("room again");
    assert_eq!(next.scene.world, WorldId(102));
    let mut ids: Vec<Range<u32>> = table.in_memory.values().cloned().collect();
    ids.sort_by_key(|ids| ids.start);
    assert!(ids.windows(2).all(|two| two[0].end <= two[1].start));
}

#[test]
fn a_user_has_one_instance_of_a_template() {
    let mut table = table(10);
    let (ada, ben) = (AgentId(Uuid::from_u128(1)), AgentId(Uuid::from_u128(2)));
    let own = |table: &mut Table, n, owner| {
        let added = table.add(Wanted { owner: Some(owner), ..wanted(n) });
        added.map(|entry| entry.world)
    };
    let hers = own(&mut table, 1, ada).expect("room");
    own(&mut table, 2, ben).expect("room");
    // Also while it is being made.
    assert_eq!(own(&mut table, 3, ada), Err(TableRefusal::Owned));
    table.put(hers, State::Parked);
    assert_eq!(own(&mut table, 3, ada), Err(TableRefusal::Owned));
    assert_eq!(table.of_owner(ada, "cave").map(|entry| entry.world), Some(hers));
    assert!(table.of_owner(ada, "Castle").is_none());
    table.remove(hers);
    assert!(table.of_owner(ada, "Cave").is_none());
}

#[test]
fn one_works_on_an_instance_at_a_time() {
    let mut table = table(1);
    let world = table.add(wanted(1)).expect("room").world;
    assert!(table.take(world, Work::Waking).is_none(), "it is being made");
    table.put(world, State::Parked);
    assert!(matches!(table.take(world, Work::Waking), Some(State::Parked)));
    assert!(table.take(world, Work::Ending).is_none());
    assert_eq!(table.get(Uuid::from_u128(1)).map(|entry| entry.state().as_str()), Ok("waking"));
}

#[test]
fn the_parked_count_for_one_limit_and_those_in_memory_for_both() {
    let mut table = table(3);
    table.limits.active_max = 1;
    open(&mut table, wanted(1)).expect("room");
    let second = table.add(wanted(2)).expect("room").world;
    assert_eq!(refused(table.seat(second)), TableRefusal::ActiveFull(1));
    table.put(second, State::Parked);
    assert_eq!(table.counts(), (2, 1));
    let first = table.get(Uuid::from_u128(1)).expect("it is there").world;
    // Until it is out of memory it keeps its room and its local ids.
    table.take(first, Work::Parking).expect("it is active");
    assert_eq!(refused(table.seat(second)), TableRefusal::ActiveFull(1));
    table.put(first, State::Parked);
    table.seat(second).expect("room");
    table.add(wanted(3)).expect("room");
    assert_eq!(refused(table.add(wanted(4))), TableRefusal::Full(3));
}

#[test]
fn what_was_there_before_is_there_in_its_order_whether_or_not_it_can_be_entered() {
    let mut table = table(2);
    let listed = |n: u128, template: &str, trouble: Option<&str>| Listed {
        instance: Instance {
            id: Uuid::from_u128(n),
            template: template.into(),
            name: "Ada's".into(),
            owner: None,
            created_s: n as i64,
        },
        trouble: trouble.map(str::to_owned),
    };
    table.load(vec![listed(9, "cave", None), listed(8, "Castle", None), listed(7, "Cave", Some("damaged"))]);
    let told: Vec<_> = table.iter().map(|entry| (entry.world.0, &*entry.template, &*entry.name)).collect();
    assert_eq!(told, [(2, "Cave", "Ada's"), (3, "Castle", "Ada's"), (4, "Cave", "Ada's")]);
    assert_eq!(table.iter().last().and_then(|entry| entry.trouble.as_deref()), Some("damaged"));
    table.seat(WorldId(2)).expect("there is such a template");
    assert_eq!(refused(table.seat(WorldId(3))), TableRefusal::TemplateGone("Castle".into()));
    assert_eq!(table.counts(), (3, 1));
    assert_eq!(
        refused(table.add(wanted(1))),
        TableRefusal::Full(2),
        "more than allowed stay, and no more come"
    );
    assert_eq!(table.iter().next().map(Entry::row), Some(listed(9, "Cave", None).instance));
}

#[test]
fn local_ids_go_round_past_those_in_use() {
    let mut table = table(10);
    let first = open(&mut table, wanted(0)).expect("room");
    table.next_local_id = u32::MAX - 10;
    let next = open(&mut table, wanted(1)).expect("room");
    assert_eq!(next.scene.local_ids.start, first.scene.local_ids.end);
}

#[test]
fn when_local_ids_are_all_taken_the_next_one_is_not_woken() {
    let mut table = table(10);
    // Four times as many ids each, of 2^31.
    table.templates[0].max_avatars = 1 << 27;
    let seats: Vec<Seat> = (0..3).map(|n| open(&mut table, wanted(n)).expect("room")).collect();
    let next = table.add(wanted(3)).expect("room").world;
    assert_eq!(refused(table.seat(next)), TableRefusal::LocalIds);
    table.remove(seats[1].scene.world);
    let ids_of = |seat: &Seat| seat.scene.local_ids.clone();
    assert_eq!(table.seat(next).map(|seat| ids_of(&seat)), Ok(ids_of(&seats[1])));
}

#[test]
fn a_parked_instance_takes_less_than_a_kilobyte() {
    assert!(size_of::<Entry>() + 2 * size_of::<(Uuid, WorldId)>() < 256, "{} bytes", size_of::<Entry>());
}

#[test]
fn what_is_not_there_or_too_much_is_refused_with_what_there_is() {
    let mut table = table(1);
    let wrong = table.add(Wanted { template: "Castle".into(), ..wanted(1) });
    let refusal = TableRefusal::NoTemplate { wanted: "Castle".into(), known: "Cave".into() };
    assert_eq!(refused(wrong), refusal);
    for name in ["", "a\u{7}", &"x".repeat(64)] {
        let named = table.add(Wanted { name: Some(name.into()), ..wanted(1) });
        assert_eq!(refused(named), TableRefusal::Name, "{name:?}");
    }
    table.add(wanted(1)).expect("room");
    assert_eq!(refused(table.add(wanted(1))), TableRefusal::Taken(Uuid::from_u128(1)));
    assert_eq!(refused(table.add(wanted(2))), TableRefusal::Full(1));
    let missing = Uuid::from_u128(2);
    assert_eq!(refused(table.get(missing)), TableRefusal::NoInstance(missing));
}
