//! Tickets: counted, forgotten when they are settled, and never given twice.

use super::*;
use ids::{SessionKey, Uuid, WorldId};
use link::{DerezKind, PrimMotion, VersionedBody};
use prim::{Body, Shape};
use proptest::prelude::*;

const ADA: AgentId = AgentId(Uuid::from_u128(1));
const EVE: AgentId = AgentId(Uuid::from_u128(2));

fn object(id: u128, n_prims: usize) -> HeldObject {
    let body = Body::new(Uuid::from_u128(id), Shape::BOX, Arc::default(), ADA, 0);
    let prim = (PrimMotion::NONE, VersionedBody { version: 1, body: Arc::new(body) });
    let nil = Uuid::nil();
    let (by, kind) = (SessionKey::NODE, DerezKind::Return);
    let linksets = vec![vec![prim; n_prims]];
    HeldObject { owner: ADA, by, kind, folder: nil, transaction: nil, is_worn: false, linksets }
}

fn key(n: u32) -> HeldKey {
    HeldKey { region: WorldId(1), ticket: Ticket(n) }
}

/// As it would be after a snapshot.
fn again(escrow: &Escrow) -> Escrow {
    Escrow::of(escrow.stored()).expect("a run led to it")
}

fn tickets(escrow: &Escrow) -> Vec<u32> {
    escrow.unsettled().into_iter().map(|(Ticket(ticket), _)| ticket).collect()
}

#[test]
fn transfers_wait_until_their_ticket_is_settled() {
    let mut escrow = Escrow::default();
    assert_eq!(escrow.hold(object(1, 2)).0, Ticket(1));
    assert_eq!(escrow.answer(key(9), None), (Ticket(2), Transfer::Restored(key(9))));
    let refused = Transfer::Refused(key(8), EditRefusal::Full);
    assert_eq!(escrow.answer(key(8), Some(EditRefusal::Full)), (Ticket(3), refused));
    assert!(escrow.is_answered(key(9)) && escrow.is_answered(key(8)) && !escrow.is_answered(key(1)));
    escrow.settle(Ticket(2));
    assert_eq!((tickets(&escrow), escrow.is_answered(key(9))), (vec![3], false));
    assert_eq!(again(&escrow).hash(), escrow.hash());
    escrow.settle(Ticket(u32::MAX));
    assert_eq!((tickets(&escrow), escrow.hold(object(2, 1)).0), (vec![], Ticket(4)));
}

#[test]
fn a_step_that_panicked_leaves_the_transfers_of_the_last_frame() {
    let mut escrow = Escrow::default();
    escrow.hold(object(1, 2));
    escrow.answer(key(9), None);
    escrow.set_full(EVE, true);
    escrow.begin_step();
    let published = (escrow.stored(), escrow.hash());
    escrow.hold(object(2, 3));
    escrow.settle(Ticket(1));
    escrow.settle(Ticket(3));
    escrow.answer(key(9), Some(EditRefusal::Full));
    escrow.set_full(EVE, false);
    escrow.set_full(ADA, true);
    escrow.set_full(EVE, true);
    escrow.roll_back();
    assert_eq!((escrow.stored(), escrow.hash()), published);
    assert_eq!((escrow.n_prims, escrow.is_answered(key(9))), (2, true));
}

#[test]
fn tickets_go_on_after_those_of_a_life_that_lost_ticks() {
    let undone = |first, last| Transfer::Undone { first: Ticket(first), last: Ticket(last) };
    let mut escrow = Escrow::default();
    escrow.hold(object(1, 1));
    let mut checkpoint = again(&escrow);
    assert!(!checkpoint.is_undoing());
    checkpoint.continue_after(Ticket(0), Ticket(5), true);
    assert_eq!(checkpoint.unsettled().last(), Some(&(Ticket(6), undone(2, 5))));
    for mut undoing in [again(&checkpoint), checkpoint] {
        assert!(undoing.is_undoing());
        undoing.settle(Ticket(5));
        assert!(undoing.is_undoing());
        undoing.settle(Ticket(6));
        assert!(!undoing.is_undoing());
        undoing.roll_back();
        assert!(undoing.is_undoing(), "the frame with the settlement was not sent");
    }
    // Nothing was lost.
    let mut same = again(&escrow);
    same.continue_after(Ticket(0), Ticket(1), false);
    assert_eq!((tickets(&same), same.last()), (vec![1], Ticket(1)));
    // Nothing but orders without tickets.
    let mut ordered = again(&escrow);
    ordered.continue_after(Ticket(0), Ticket(1), true);
    assert_eq!(ordered.unsettled().last(), Some(&(Ticket(3), undone(2, 2))));
    // The rows of earlier lives are none of a world that begins without its objects.
    let mut empty = Escrow::default();
    empty.continue_after(Ticket(40), Ticket(45), true);
    assert_eq!(empty.unsettled(), [(Ticket(46), undone(41, 45))]);
    let mut empty = Escrow::default();
    empty.continue_after(Ticket(40), Ticket(40), false);
    assert_eq!((tickets(&empty), empty.last()), (vec![], Ticket(40)));
}

#[test]
fn no_linkset_leaves_for_a_full_user_or_a_disk_that_stands() {
    let mut escrow = Escrow::default();
    escrow.set_full(ADA, true);
    assert_eq!(escrow.check_room(ADA, 1), Err(EditRefusal::HeldFull));
    assert_eq!(escrow.check_room(EVE, 1), Ok(()));
    escrow.set_full(ADA, false);
    escrow.hold(object(1, WAITING_PRIMS_MAX));
    assert_eq!(escrow.check_room(ADA, 1), Err(EditRefusal::HeldFull));
    escrow.settle(Ticket(1));
    assert_eq!(escrow.check_room(ADA, WAITING_PRIMS_MAX), Ok(()));
    escrow.last = LEAVING_MAX;
    assert_eq!(escrow.check_room(ADA, 1), Err(EditRefusal::HeldFull));
}

#[test]
fn states_that_no_run_leads_to_are_refused() {
    let refused = |last, unsettled: Vec<(Ticket, Transfer)>| {
        Escrow::of(StoredTransfers { last: Ticket(last), unsettled, full: Vec::new() }).is_none()
    };
    let restored = |ticket, n| (Ticket(ticket), Transfer::Restored(key(n)));
    assert!(!refused(2, vec![restored(1, 1), restored(2, 2)]));
    assert!(refused(1, vec![restored(1, 1), restored(2, 2)]), "beyond the last");
    assert!(refused(2, vec![restored(2, 1), restored(1, 2)]), "out of order");
    assert!(refused(2, vec![restored(1, 1), restored(2, 1)]), "two answers");
    assert!(refused(2, vec![restored(0, 1)]), "no ticket");
    assert!(refused(2, vec![(Ticket(1), Transfer::Held(Arc::new(object(1, 0))))]), "no prims");
    let undone = Transfer::Undone { first: Ticket(3), last: Ticket(2) };
    assert!(refused(4, vec![(Ticket(4), undone)]), "no tickets");
}

proptest! {
    /// The hash is that of the state, on whatever way it was reached, and a step is undone whatever it did.
    #[test]
    fn any_step_is_undone_and_hashed(
        deeds in prop::collection::vec((0..5_u8, 1..12_u32), 1..40),
        at in 0..40_usize,
    ) {
        let mut escrow = Escrow::default();
        let mut published = None;
        for (place, &(kind, n)) in deeds.iter().enumerate() {
            if place == at {
                escrow.begin_step();
                published = Some((escrow.stored(), escrow.hash()));
            }
            match kind {
                0 => drop(escrow.hold(object(n.into(), n as usize))),
                1 if !escrow.is_answered(key(n)) => drop(escrow.answer(key(n), None)),
                2 if !escrow.is_answered(key(n)) => drop(escrow.answer(key(n), Some(EditRefusal::Full))),
                3 => escrow.settle(Ticket(n)),
                _ => escrow.set_full(AgentId(Uuid::from_u128(n.into())), n.is_multiple_of(2)),
            }
            prop_assert_eq!(again(&escrow).hash(), escrow.hash());
        }
        if let Some(published) = published {
            escrow.roll_back();
            prop_assert_eq!((escrow.stored(), escrow.hash()), published);
        }
    }
}
