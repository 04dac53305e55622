//! Ends of orders for regions, as clients hear of them.

use super::displaced::alerts;
use crate::mail::ToShard;
use crate::testing::{ITEM, Node, agent};
use grid::inventory::{InventoryReplies, WorldOrderEnd, WorldOrderKind};
use ids::{Instant, SessionKey, Uuid};
use link::CircuitKey;

const PRIM: Uuid = Uuid::from_u128(0x0B);

fn circuit_of(node: &Node) -> CircuitKey {
    let session = node.hub.session_named("Ada Resident").expect("she is here");
    node.hub.circuit_of(session).expect("she is here")
}

fn end_of(prim: Option<Uuid>) -> WorldOrderEnd {
    let (owner, item, at) = (agent("Ada"), Some(ITEM), Instant::ZERO);
    WorldOrderEnd { owner, item, is_marked: false, prim, kind: WorldOrderKind::Rez, at }
}

fn refused() -> InventoryReplies {
    InventoryReplies { refusal: Some("The land is full.".into()), ..InventoryReplies::default() }
}

/// Prims of which the shards hear that an item has not come into them.
fn not_put(node: &mut Node) -> Vec<Uuid> {
    let mail: Vec<_> = std::iter::from_fn(|| node.hub.poll_output()).collect();
    let prims = mail.into_iter().filter_map(|(_, mail)| match mail {
        ToShard::NotPut { object, .. } => Some(object),
        _ => None,
    });
    prims.collect()
}

#[test]
fn a_refused_order_is_told_to_its_user() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let circuit = circuit_of(&node);
    node.hub.handle_world_end(circuit, &end_of(None), refused());
    node.hub.handle_world_end(circuit, &end_of(Some(PRIM)), InventoryReplies::default());
    node.run_ms(200);
    assert_eq!(alerts(&node, ada), ["The land is full."]);
}

#[test]
fn the_shard_hears_of_an_item_that_has_not_come_into_a_prim() {
    let mut node = Node::new();
    node.enter("Ada");
    let circuit = circuit_of(&node);
    assert!(not_put(&mut node).is_empty());
    node.hub.handle_world_end(circuit, &end_of(Some(PRIM)), refused());
    assert_eq!(not_put(&mut node), [PRIM]);
    node.hub.handle_world_end(circuit, &end_of(Some(PRIM)), InventoryReplies::default());
    assert!(not_put(&mut node).is_empty());
}

#[test]
fn an_order_may_end_when_its_user_is_elsewhere_or_gone() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let circuit = circuit_of(&node);
    // The circuit of the order has ended; the avatar is behind a later one.
    let former = CircuitKey { ticket: circuit.ticket + 99, ..circuit };
    node.hub.handle_world_end(former, &end_of(Some(PRIM)), refused());
    assert!(not_put(&mut node).is_empty());
    node.hub.handle_world_end(former, &end_of(None), refused());
    node.run_ms(200);
    assert_eq!(alerts(&node, ada), ["The land is full."]);
    let gone = CircuitKey { session: SessionKey(12_345), ..circuit };
    node.hub.handle_world_end(gone, &end_of(Some(PRIM)), refused());
    assert!(not_put(&mut node).is_empty());
}
