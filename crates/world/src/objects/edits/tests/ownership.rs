//! Masks, groups, owners and sales.

use super::contents::{NOTE, contents, item, put};
use super::stage::{ADA, EVE, FAY, OPERATOR, Stage, agent_of};
use ids::{AgentId, LocalId, Uuid};
use link::{Action, DerezKind, EditRefusal, HeldItem, MaskEdit, ObjectCommand, Offer, Transfer};
use prim::{Mask, MaskField, Permissions, Sale, SaleKind};
use std::collections::BTreeSet;
use std::sync::Arc;

const GROUP: Uuid = Uuid::from_u128(0x6000);
const ORIGINAL: Offer = Offer { kind: 1, price: 0 };
const COPY: Offer = Offer { kind: 2, price: 0 };
const CONTENTS: Offer = Offer { kind: 3, price: 0 };

fn mask(id: LocalId, field: MaskField, bits: Mask, is_set: bool) -> ObjectCommand {
    ObjectCommand::Permissions(vec![(id, MaskEdit { field: field as u8, is_set, bits: bits.bits() })])
}

fn sell(id: LocalId, offer: Offer) -> ObjectCommand {
    ObjectCommand::Sale(vec![(id, offer)])
}

fn buy(id: LocalId, offer: Offer) -> ObjectCommand {
    ObjectCommand::Buy { offers: vec![(id, offer)], group: GROUP }
}

#[test]
fn masks_are_those_of_a_linkset() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 3);
    stage.ask(ADA, mask(prims[1], MaskField::Everyone, Mask::COPY | Mask::MODIFY, true)).done();
    stage.ask(ADA, ObjectCommand::Group { objects: vec![prims[2]], group: GROUP }).done();
    for &prim in &prims {
        let ownership = &stage.body(prim).ownership;
        assert_eq!((ownership.permissions.everyone, ownership.group), (Mask::COPY, GROUP));
    }
    stage
        .ask(FAY, mask(prims[0], MaskField::Everyone, Mask::COPY, false))
        .refused(EditRefusal::Rights, &prims[..1]);
}

#[test]
fn the_base_mask_is_changed_by_operators_only_and_a_code_has_to_be_one() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    let request = || mask(id, MaskField::Base, Mask::COPY, false);
    stage.ask(ADA, request()).refused(EditRefusal::Rights, &[id]);
    stage.ask(OPERATOR, request()).done();
    assert!(!stage.body(id).ownership.permissions.owner.has(Mask::COPY));
    for field in [0, 3, 32, 255] {
        let edit = MaskEdit { field, is_set: true, bits: u32::MAX };
        stage.ask(ADA, ObjectCommand::Permissions(vec![(id, edit)])).refused(EditRefusal::BadValue, &[id]);
    }
}

#[test]
fn an_owner_can_lock_and_unlock_an_object() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    stage.ask(ADA, mask(id, MaskField::Owner, Mask::MOVE, false)).done();
    let rename = || ObjectCommand::Name(vec![(id, "Wall".into())]);
    stage.ask(ADA, rename()).refused(EditRefusal::Rights, &[id]);
    stage.ask(ADA, mask(id, MaskField::Owner, Mask::MOVE, true)).done();
    stage.ask(ADA, rename()).done();
}

#[test]
fn an_operator_gives_an_object_to_another_user_as_the_next_owner() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 2);
    let give = |owner| ObjectCommand::Owner { objects: vec![prims[1]], owner, group: GROUP };
    for by in [ADA, EVE, FAY] {
        stage.ask(by, give(agent_of(EVE))).refused(EditRefusal::Rights, &prims[1..]);
    }
    stage.ask(OPERATOR, give(AgentId(Uuid::nil()))).refused(EditRefusal::Unsupported, &prims[1..]);
    stage.ask(OPERATOR, give(agent_of(EVE))).done();
    for &prim in &prims {
        let ownership = &stage.body(prim).ownership;
        assert_eq!(
            (ownership.owner, ownership.last_owner, ownership.group),
            (agent_of(EVE), agent_of(ADA), GROUP)
        );
        assert_eq!(ownership.permissions, Permissions::NEW.for_next_owner());
    }
    // To its owner once more: no right is lost.
    let before = stage.body(prims[0]).ownership.permissions;
    stage.ask(OPERATOR, give(agent_of(EVE))).done();
    assert_eq!(stage.body(prims[0]).ownership.permissions, before);
}

#[test]
fn an_object_is_bought_for_nothing_at_the_offer_that_it_has() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 2);
    stage.ask(EVE, sell(prims[0], ORIGINAL)).refused(EditRefusal::Rights, &prims[..1]);
    stage.ask(EVE, buy(prims[0], ORIGINAL)).refused(EditRefusal::NotForSale, &prims[..1]);
    stage.ask(ADA, ObjectCommand::ClickAction(vec![(prims[0], 2)])).done();
    stage.ask(ADA, sell(prims[1], ORIGINAL)).done();
    assert_eq!(stage.body(prims[0]).sale, Sale { kind: SaleKind::Original, price: 0 });
    let refused = [
        (ADA, ORIGINAL, EditRefusal::NotForSale),
        (EVE, COPY, EditRefusal::NotForSale),
        (EVE, Offer { price: 1, ..ORIGINAL }, EditRefusal::NotForSale),
    ];
    for (by, offer, reason) in refused {
        stage.ask(by, buy(prims[0], offer)).refused(reason, &prims[..1]);
    }
    stage.ask(EVE, buy(prims[0], ORIGINAL)).done();
    for &prim in &prims {
        let body = stage.body(prim);
        assert_eq!((body.ownership.owner, body.ownership.group), (agent_of(EVE), GROUP));
        assert_eq!(body.ownership.permissions, Permissions::NEW.for_next_owner());
        assert_eq!((body.sale, body.click_action), (Sale::default(), 0));
    }
}

#[test]
fn offers_that_no_sale_can_follow_are_refused() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    for offer in [Offer { price: -1, ..ORIGINAL }, Offer { kind: 4, ..ORIGINAL }] {
        stage.ask(ADA, sell(id, offer)).refused(EditRefusal::BadValue, &[id]);
    }
    // A price is shown, and never paid.
    stage.ask(ADA, sell(id, Offer { price: 7, ..ORIGINAL })).done();
    for price in [7, 0] {
        stage.ask(EVE, buy(id, Offer { price, ..ORIGINAL })).refused(EditRefusal::NotForSale, &[id]);
    }
    // There is nothing in it.
    stage.ask(ADA, sell(id, CONTENTS)).done();
    stage.ask(EVE, buy(id, CONTENTS)).refused(EditRefusal::NotForSale, &[id]);
    stage.ask(OPERATOR, mask(id, MaskField::Base, Mask::COPY, false)).done();
    stage.ask(ADA, sell(id, COPY)).refused(EditRefusal::Rights, &[id]);
    stage.ask(ADA, sell(id, ORIGINAL)).done();
    // The right to give it away was lost after the offer.
    stage.ask(OPERATOR, mask(id, MaskField::Base, Mask::TRANSFER, false)).done();
    stage.ask(EVE, buy(id, ORIGINAL)).refused(EditRefusal::NotForSale, &[id]);
    stage.ask(ADA, sell(id, Offer { kind: 0, price: 0 })).done();
}

#[test]
fn a_copy_that_is_bought_is_held_for_the_buyer_and_the_object_stays() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    stage.ask(ADA, sell(id, COPY)).done();
    let answer = stage.ask(EVE, buy(id, COPY)).done();
    let held = answer.held();
    let [held] = &held[..] else { panic!("{answer:?}") };
    let body = &held.linksets[0][0].1.body;
    assert_eq!(
        (held.owner, held.kind, body.ownership.owner),
        (agent_of(EVE), DerezKind::TakeCopy, agent_of(EVE))
    );
    assert_eq!((body.ownership.permissions, body.sale), (Permissions::NEW.for_next_owner(), Sale::default()));
    assert_eq!((stage.body(id).ownership.owner, stage.body(id).sale.kind), (agent_of(ADA), SaleKind::Copy));
}

/// The items that left with an answer.
fn held_items(answer: &super::stage::Answer) -> Vec<Arc<HeldItem>> {
    let items = answer.transfers.iter().map(|(_, transfer)| match transfer {
        Transfer::HeldItem(held) => Arc::clone(held),
        other => panic!("{other:?}"),
    });
    items.collect()
}

#[test]
fn contents_that_are_bought_come_together_into_a_new_folder() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    stage.ask(ADA, ObjectCommand::Name(vec![(id, "Chest".into())])).done();
    let mut single = item(2, agent_of(ADA), NOTE, "single");
    single.ownership.permissions.owner = Mask::MOVE | Mask::TRANSFER;
    put(&mut stage, ADA, id, item(1, agent_of(ADA), NOTE, "copied")).done();
    put(&mut stage, ADA, id, single).done();
    stage.ask(ADA, sell(id, CONTENTS)).done();
    let mut folders = BTreeSet::new();
    for expected in [&["copied", "single"][..], &["copied"]] {
        let held = held_items(&stage.ask(EVE, buy(id, CONTENTS)).done());
        let names: Vec<&str> = held.iter().map(|held| &*held.item.name).collect();
        assert_eq!(names, expected);
        for held in &held {
            let owners = (held.owner, held.by, held.item.ownership.owner);
            assert_eq!(owners, (agent_of(EVE), EVE, agent_of(EVE)));
            assert_eq!(held.new_folder.as_deref(), Some("Chest"));
        }
        let of_this: BTreeSet<Uuid> = held.iter().map(|held| held.folder).collect();
        assert_eq!(of_this.len(), 1);
        folders.extend(of_this);
        let left = contents(&stage, id).items;
        let left: Vec<&str> = left.iter().map(|item| &*item.name).collect();
        assert_eq!(left, ["copied"], "what must not be copied is gone");
    }
    assert_eq!(folders.len(), 2, "one for each purchase");
    stage.order(Action::HeldFull { owner: agent_of(EVE), is_full: true });
    stage.ask(EVE, buy(id, CONTENTS)).refused(EditRefusal::HeldFull, &[id]);
    stage.order(Action::HeldFull { owner: agent_of(EVE), is_full: false });
    // All of it, or nothing.
    let mut kept = item(3, agent_of(ADA), NOTE, "kept");
    kept.ownership.permissions.owner = Mask::MOVE | Mask::COPY;
    put(&mut stage, ADA, id, kept).done();
    stage.ask(EVE, buy(id, CONTENTS)).refused(EditRefusal::NotForSale, &[id]);
    assert_eq!(contents(&stage, id).items.len(), 2);
}
