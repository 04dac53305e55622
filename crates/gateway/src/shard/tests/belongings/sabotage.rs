//! Defects that the law about things has to find.

use super::{NOTECARD, Run, USERS};
use crate::testing::agent;
use store::{InventoryChange, InventoryLimits, Item};

/// A server at rest with two clients, one of which has made a note, before a defect.
fn sabotaged() -> Run {
    let mut run = Run::new(1);
    (0..2).for_each(|who| run.log_in(who));
    run.check();
    let client = run.clients[0].expect("it has logged in");
    let client = &run.node.clients[client];
    let ids = (client.agent.0, client.session_id.0);
    let note = run.new_note(0, ids);
    let client = run.clients[0].expect("it is still there");
    run.node.clients[client].send(&note);
    run.check();
    run
}

impl Run {
    fn spoil(&mut self, who: usize, change: InventoryChange) {
        let (owner, limits) = (agent(USERS[who]), InventoryLimits::default());
        let spoiled = self.node.store().change_inventory(owner, &[change], &limits);
        assert!(spoiled.expect("a database in memory")[0].is_ok());
    }
}

#[test]
#[should_panic(expected = r#"is in ["Ada", "Ada"]"#)]
fn a_thing_in_two_places_is_found() {
    let mut run = sabotaged();
    let thing = run.an_item(0, |item| item.name.starts_with("Thing")).expect("she has some");
    let id = run.next_id();
    run.spoil(0, InventoryChange::CreateItem(Item { id, ..thing }));
    run.check();
}

#[test]
#[should_panic(expected = "is in []")]
fn a_thing_in_no_place_is_found() {
    let mut run = sabotaged();
    let thing = run.an_item(1, |item| item.name.starts_with("Thing")).expect("she has some");
    run.spoil(1, InventoryChange::RemoveItem { item: thing.id });
    run.check();
}

#[test]
#[should_panic(expected = "is gone")]
fn an_item_that_a_client_was_shown_is_missed() {
    let mut run = sabotaged();
    let note = run.an_item(0, |item| item.asset_type == NOTECARD).expect("she has made one");
    assert!(run.shown.contains_key(&note.id), "her client was shown it");
    run.spoil(0, InventoryChange::RemoveItem { item: note.id });
    run.check();
}
