//! Objects out of the contents of other objects, with a region that is saved.

use super::outcomes;
use super::transfers::{
    TAKE, THERE, ask, contents, derez, forbid_copies, item, made, node_of_two, prims, put, rez, taken,
};
use crate::coverage::{Feature, MessageOutcome};
use crate::shard::tests::editing::{PLACE, alerts, make};
use crate::testing::{Client, HARBOUR, ITEM, Node, Setup, agent};
use glam::Vec3;
use ids::{LocalId, Uuid};
use link::EditRefusal;
use wire::messages::*;

/// An object of Ada's in a prim of Ada's: local id and id of the prim, and the item.
fn packed(node: &mut Node, ada: usize, may_copy: bool) -> (u32, Uuid, Uuid) {
    let lamp = taken(node, ada);
    if !may_copy {
        forbid_copies(node, lamp);
    }
    let (id, object) = make(node, ada, PLACE);
    ask(node, ada, |client| put(client, id, lamp));
    assert_eq!(item(node, lamp).is_some(), may_copy);
    let content = inside(node, id)[0];
    node.clients[ada].inbox.clear();
    (id, object, content)
}

/// Items in a prim.
fn inside(node: &Node, id: u32) -> Vec<Uuid> {
    let replica = node.places.get(HARBOUR).scene.feed.current();
    let body = &replica.objects().get(LocalId(id)).expect("it is there").body;
    body.contents.iter().flat_map(|contents| &contents.items).map(|item| item.id).collect()
}

/// Requests differ by the numbers of their transactions.
fn unpack(client: &Client, transaction: u128, object: Uuid, item: Uuid) -> Message {
    match rez(client, item) {
        Message::RezObject(mut m) => {
            m.rez_data.from_task_id = object;
            m.inventory_data.transaction_id = Uuid::from_u128(transaction);
            m.into()
        }
        other => panic!("{other:?}"),
    }
}

/// Times that a client was sent the serial number of contents.
fn n_shown(client: &Client) -> usize {
    client.count(|message| matches!(message, Message::ReplyTaskInventory(_)))
}

#[test]
fn an_object_comes_out_of_a_prim_as_often_as_it_may_be_copied() {
    let (mut node, ada, bea) = node_of_two();
    let (id, object, content) = packed(&mut node, ada, true);
    // The client repeats a request whose effect it has not seen.
    for _ in 0..2 {
        ask(&mut node, ada, |client| unpack(client, 1, object, content));
        assert_eq!(prims(&node).len(), 2);
    }
    assert_eq!(outcomes(&node)[&("RezObject", MessageOutcome::Ignored)], 1);
    let (new, _) = *prims(&node).iter().find(|(other, _)| *other != id).expect("the new one");
    assert!(node.clients[bea].prims[&new].position.distance(THERE + Vec3::Z * 0.25) < 0.01);
    ask(&mut node, ada, |client| unpack(client, 2, object, content));
    assert_eq!((prims(&node).len(), inside(&node, id)), (3, vec![content]));
    assert_eq!(alerts(&node.clients[ada]), Vec::<String>::new());
}

#[test]
fn an_object_that_may_not_be_copied_leaves_its_prim_and_is_in_one_place() {
    let (mut node, ada, _) = node_of_two();
    let (id, object, content) = packed(&mut node, ada, false);
    // Twice at once, by a client that does not wait.
    for transaction in [1, 2] {
        let message = unpack(&node.clients[ada], transaction, object, content);
        node.clients[ada].send(&message);
    }
    node.run_ms(1_500);
    assert_eq!((prims(&node).len(), inside(&node, id).len()), (2, 0));
    assert_eq!(alerts(&node.clients[ada]), [EditRefusal::NoItem.text()]);
    assert!(n_shown(&node.clients[ada]) > 0, "the client reads contents again");
    let (new, _) = *prims(&node).iter().find(|(other, _)| *other != id).expect("the new one");
    // Both are on the disk.
    let mut node = Node::on_disk(Setup { keeps_assets: true, ..Setup::default() }, node.kill());
    let ada = node.enter("Ada");
    node.run_until(|node| node.clients[0].prims.len() == 2);
    assert_eq!(inside(&node, id).len(), 0);
    ask(&mut node, ada, |client| derez(client, TAKE, 5, &[new]));
    let back = made(&node.clients[ada]).pop().expect("an item").0;
    assert!(item(&mut node, back).is_some());
    assert_eq!(prims(&node), [(id, object)]);
}

#[test]
fn an_object_of_another_users_prim_stays_in_it() {
    let (mut node, ada, bea) = node_of_two();
    let (id, object, content) = packed(&mut node, ada, true);
    ask(&mut node, bea, |client| unpack(client, 1, object, content));
    assert_eq!(alerts(&node.clients[bea]), [EditRefusal::Rights.text()]);
    assert_eq!((n_shown(&node.clients[bea]), inside(&node, id)), (1, vec![content]));
    assert_eq!(prims(&node), [(id, object)]);
}

#[test]
fn other_things_than_objects_in_prims_are_not_rezzed() {
    let (mut node, ada, _) = node_of_two();
    let (id, object) = make(&mut node, ada, PLACE);
    ask(&mut node, ada, |client| put(client, id, ITEM));
    node.clients[ada].inbox.clear();
    let wood = inside(&node, id)[0];
    ask(&mut node, ada, |client| unpack(client, 1, object, wood));
    let stays = "The item stays where it is: it is no object.".to_owned();
    let gone = Feature::UnknownContent.to_string();
    assert_eq!(alerts(&node.clients[ada]), std::slice::from_ref(&stays));
    // An item and a prim that are gone.
    ask(&mut node, ada, |client| unpack(client, 2, object, Uuid::from_u128(7)));
    ask(&mut node, ada, |client| unpack(client, 3, agent("Ada").0, wood));
    assert_eq!(alerts(&node.clients[ada]), [stays, gone.clone(), gone]);
    assert_eq!(outcomes(&node)[&("RezObject", MessageOutcome::Refused)], 2);
    assert_eq!((contents(&node, id), prims(&node).len()), (vec!["Wood".to_owned()], 1));
}
