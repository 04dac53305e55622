use super::*;
use proptest::prelude::*;

const CAPS: Caps = Caps { open_max: 20, waiting_max: 16, address_max: 6, body_bytes_max: 1_000 };

fn address(n: u8) -> ConnectionOrigin {
    ConnectionOrigin::of(IpAddr::from([127, 0, 0, n]))
}

fn admitted(table: &mut ConnectionTable, n: u8) -> (ConnectionId, Option<ConnectionId>) {
    match table.admit(address(n)) {
        ConnectionAdmission::Admitted { id, evicted } => (id, evicted),
        other => panic!("{other:?}"),
    }
}

/// Admits a connection, and closes the evicted one.
fn settled(table: &mut ConnectionTable, n: u8) -> ConnectionId {
    let (id, evicted) = admitted(table, n);
    evicted.into_iter().for_each(|evicted| table.release(evicted));
    id
}

#[test]
fn silent_connections_of_many_addresses_take_nothing_from_an_address_with_fewer() {
    let mut table = ConnectionTable::new(CAPS);
    let visitor = settled(&mut table, 200);
    for round in 0..100 {
        for attacker in 0..10 {
            settled(&mut table, attacker);
        }
        table.begin_wait(
            visitor,
            if round % 2 == 0 { ConnectionPhase::Idle } else { ConnectionPhase::Reading },
        );
    }
    assert!(table.slots.contains_key(&visitor), "the visitor's connection is still there");
    assert!(table.open() <= CAPS.open_max && table.waiting() <= CAPS.waiting_max);
}

#[test]
fn an_address_at_its_cap_loses_its_own_idle_connection_first() {
    let mut table = ConnectionTable::new(CAPS);
    let own: Vec<ConnectionId> = (0..CAPS.address_max).map(|_| settled(&mut table, 1)).collect();
    let other = settled(&mut table, 2);
    table.begin_wait(own[3], ConnectionPhase::Idle);
    assert_eq!(admitted(&mut table, 1).1, Some(own[3]));
    assert_eq!(admitted(&mut table, 1).1, Some(own[0]), "then the one that has waited longest");
    assert!(!table.slots[&other].is_closing);
}

#[test]
fn connections_that_are_served_are_never_closed_for_others() {
    let mut table = ConnectionTable::new(Caps { address_max: 100, waiting_max: 100, ..CAPS });
    let served: Vec<ConnectionId> = (0..CAPS.open_max).map(|_| settled(&mut table, 1)).collect();
    for (n, &id) in (10..).zip(&served) {
        table.begin_service(id, address(n)).unwrap();
    }
    assert_eq!(table.admit(address(2)), ConnectionAdmission::Full);
    table.begin_wait(served[7], ConnectionPhase::Idle);
    assert_eq!(admitted(&mut table, 2).1, Some(served[7]));
    assert_eq!(table.admit(address(3)), ConnectionAdmission::Wait, "until it is gone");
    table.release(served[7]);
    assert!(matches!(table.admit(address(3)), ConnectionAdmission::Admitted { .. }));
}

#[test]
fn a_proxys_connections_are_many_clients_and_the_last_to_be_closed() {
    let mut table = ConnectionTable::new(CAPS);
    let admit = |table: &mut ConnectionTable, address| match table.admit(address) {
        ConnectionAdmission::Admitted { evicted, .. } => evicted.map(|id| {
            let address = table.slots[&id].address;
            table.release(id);
            address
        }),
        other => panic!("{other:?}"),
    };
    for _ in 0..CAPS.waiting_max - 1 {
        assert_eq!(admit(&mut table, ConnectionOrigin::Proxy), None, "more than an address may have");
    }
    assert_eq!(admit(&mut table, address(1)), None);
    assert_eq!(admit(&mut table, address(2)), Some(address(1)));
    assert_eq!(admit(&mut table, ConnectionOrigin::Proxy), Some(address(2)));
    assert_eq!(admit(&mut table, ConnectionOrigin::Proxy), Some(ConnectionOrigin::Proxy));
}

#[test]
fn too_many_bytes_of_bodies_are_taken_from_the_address_that_sent_the_most() {
    let mut table = ConnectionTable::new(CAPS);
    let (greedy, small) = (settled(&mut table, 1), settled(&mut table, 2));
    let second = settled(&mut table, 1);
    assert_eq!(table.receive(greedy, 600), None);
    assert_eq!(table.receive(second, 200), None);
    assert_eq!(table.receive(small, 300), Some(greedy));
    assert_eq!(table.receive(small, 300), None, "a closing connection counts no more");
    // A served request has no body left.
    table.begin_service(small, address(2)).unwrap();
    assert_eq!(table.receive(second, 700), None);
}

/// The maximum of served connections that each of `n_addresses` greedy addresses reaches.
fn shares(n_addresses: u8, open_max: usize) -> Vec<usize> {
    let mut table =
        ConnectionTable::new(Caps { open_max, waiting_max: open_max, address_max: open_max, ..CAPS });
    let mut served = vec![0; n_addresses.into()];
    for _ in 0..open_max {
        for (n, own) in (0..).zip(&mut served) {
            let id = settled(&mut table, n);
            match table.begin_service(id, address(n)) {
                Ok(()) => *own += 1,
                Err(ShareTaken) => table.release(id),
            }
        }
    }
    served
}

#[test]
fn served_connections_of_few_addresses_leave_some_for_others() {
    assert_eq!(shares(1, 900), [600]);
    assert_eq!(shares(2, 900), [360, 360]);
    let of_fifteen = shares(15, 3_100);
    assert!(of_fifteen.iter().all(|own| (198..=202).contains(own)), "{of_fifteen:?}");
    assert!(of_fifteen.iter().sum::<usize>() <= 3_000, "a thirty-first part is left");
}

#[test]
fn a_proxys_requests_count_for_their_clients() {
    let mut table = ConnectionTable::new(CAPS);
    let from_proxy = |table: &mut ConnectionTable| match table.admit(ConnectionOrigin::Proxy) {
        ConnectionAdmission::Admitted { id, .. } => id,
        other => panic!("{other:?}"),
    };
    let greedy: Vec<ConnectionId> = (0..14).map(|_| from_proxy(&mut table)).collect();
    let refused = greedy.iter().filter(|id| table.begin_service(**id, address(1)).is_err()).count();
    assert_eq!(refused, 0, "14 of 20 leave 6");
    let next = from_proxy(&mut table);
    assert_eq!(table.begin_service(next, address(1)), Err(ShareTaken));
    assert_eq!(table.begin_service(next, address(2)), Ok(()), "another client of the same proxy");
    let unnamed = from_proxy(&mut table);
    assert_eq!(table.begin_service(unnamed, ConnectionOrigin::Proxy), Ok(()), "a proxy that names no client");
}

#[test]
fn addresses_of_one_ipv6_customer_are_one() {
    let of = |text: &str| ConnectionOrigin::of(text.parse().unwrap());
    assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:0:0:2"));
    assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
    assert_eq!(of("::ffff:127.0.0.1"), of("127.0.0.1"));
}

proptest! {
    /// Whatever happens, caps hold, counts agree with the connections, and all of it is gone with the last of them.
    #[test]
    fn counts_agree_with_the_connections(steps in prop::collection::vec((0..5_u8, 0..6_u8, any::<prop::sample::Index>()), 0..300)) {
        let mut table = ConnectionTable::new(CAPS);
        let mut open: Vec<ConnectionId> = Vec::new();
        for (what, n, which) in steps {
            let one = (!open.is_empty()).then(|| *which.get(&open));
            match (what, one) {
                (0, _) | (_, None) => if let ConnectionAdmission::Admitted { id, .. } = table.admit(address(n)) {
                    open.push(id);
                },
                (1, Some(id)) => match n {
                    0 => table.begin_wait(id, ConnectionPhase::Idle),
                    1 => table.begin_wait(id, ConnectionPhase::Reading),
                    _ => {
                        let before = table.served.get(&address(n)).copied().unwrap_or(0);
                        let was_own = table.slots[&id].client == Some(address(n));
                        let is_served = table.begin_service(id, address(n)).is_ok();
                        let others = table.open() - table.waiting();
                        let own = before - usize::from(was_own) + usize::from(is_served);
                        prop_assert!(!is_served || own <= SHARE * (CAPS.open_max + 1).saturating_sub(others));
                    }
                },
                (2, Some(id)) => if table.slots[&id].phase == ConnectionPhase::Reading && !table.slots[&id].is_closing {
                    table.receive(id, 200);
                },
                (_, Some(id)) => {
                    table.release(id);
                    open.retain(|&other| other != id);
                }
            }
            let slots = || table.slots.values();
            prop_assert_eq!(slots().filter(|slot| slot.is_closing).count(), table.closing);
            prop_assert_eq!(slots().filter(|slot| !slot.is_closing && slot.phase != ConnectionPhase::Served).count(), table.waiting);
            prop_assert_eq!(slots().map(|slot| slot.body_bytes).sum::<usize>(), table.body_bytes);
            prop_assert_eq!(table.groups.values().map(|group| group.open).sum::<usize>(), table.slots.len());
            let of_clients = slots().filter(|slot| slot.client.is_some()).count();
            prop_assert_eq!(table.served.values().sum::<usize>(), of_clients);
            prop_assert!(slots().all(|slot| slot.client.is_none() || slot.phase == ConnectionPhase::Served || slot.is_closing));
            // One more than the cap may be open while its victim closes.
            prop_assert!(table.open() <= CAPS.open_max + 1);
        }
        for id in open {
            table.release(id);
        }
        prop_assert!(table.slots.is_empty() && table.groups.is_empty() && table.served.is_empty());
        prop_assert_eq!((table.waiting, table.closing, table.body_bytes), (0, 0, 0));
    }
}
