//! Worn objects of a region: their saves, and the news of them.

use super::*;
use crate::testing::{IDS, at, body, set, temporary};
use link::{DerezKind, HeldObject, PrimMotion, VersionedBody};

const OWNER: AgentId = AgentId(Uuid::from_u128(1));
const SESSION: SessionKey = SessionKey(3);
/// Local id of an avatar.
const AVATAR: LocalId = LocalId(7);
const START_S: i64 = 1_700_000_000;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn item(n: u128) -> Uuid {
    Uuid::from_u128(0x100 + n)
}

/// A root as it is worn, at this place.
fn root(n: u128, x: f32) -> (PrimMotion, VersionedBody) {
    let mut versioned = body(n);
    let edited = Arc::make_mut(&mut versioned.body);
    (edited.state, edited.worn_item) = (0x20, Some(item(n)));
    (PrimMotion { parent: AVATAR, ..at(x) }, versioned)
}

fn object(prims: Vec<(PrimMotion, VersionedBody)>) -> HeldObject {
    let (folder, transaction, is_worn) = (Uuid::nil(), Uuid::nil(), true);
    HeldObject {
        owner: OWNER,
        by: SESSION,
        kind: DerezKind::Take,
        folder,
        transaction,
        is_worn,
        linksets: vec![prims],
    }
}

fn worn(n: u128) -> WornObject {
    let object = Arc::new(object(vec![root(n, 0.5)]));
    WornObject { owner: OWNER, item: item(n), point: 2, revision: 10, is_ahead: false, object }
}

fn tracked() -> TrackedWorn {
    TrackedWorn::new(&IDS, START_S)
}

fn order(tracked: &mut TrackedWorn, n: u128) -> bool {
    let ids = Uuid::from_u128(9);
    tracked.order(WearTask { session: SESSION, worn: worn(n), replaces: false, ids })
}

fn shown(n: u32, x: f32) -> ObjectChange {
    let (place, versioned) = root(n.into(), x);
    set(temporary(n), place, versioned)
}

fn frame(tracked: &mut TrackedWorn, now: Instant, changes: &[ObjectChange]) {
    changes.iter().for_each(|change| tracked.take_change(change));
    tracked.end_frame(now);
}

fn transfer(n: u128, change: WornChange, x: f32) -> WornTransfer {
    WornTransfer { item: item(n), change, object: object(vec![root(n, x)]) }
}

fn news(tracked: &mut TrackedWorn) -> Vec<&'static str> {
    let kinds = std::iter::from_fn(|| tracked.poll_news()).map(|news| match news {
        WornNews::Shown(_) => "shown",
        WornNews::Left(_) => "left",
        WornNews::Ended(..) => "ended",
        WornNews::Refused(..) => "refused",
        WornNews::Lost(_) => "lost",
    });
    kinds.collect()
}

/// Kinds of the orders that are sent now.
fn sent(tracked: &mut TrackedWorn) -> Vec<&'static str> {
    let mut sent = Vec::new();
    tracked.send_orders(|action| {
        sent.push(match action {
            Action::Wear(_) => "wear",
            Action::TakeOff(_) => "take off",
            other => panic!("{other:?}"),
        });
        true
    });
    sent
}

/// A region in which an avatar wears an item.
fn wearing() -> TrackedWorn {
    let mut tracked = tracked();
    assert!(order(&mut tracked, 1));
    assert_eq!(sent(&mut tracked), ["wear"]);
    frame(&mut tracked, ms(50), &[shown(1, 0.5)]);
    assert_eq!((news(&mut tracked), tracked.since()), (vec!["shown"], None));
    tracked
}

fn batch(tracked: &mut TrackedWorn, now: Instant) -> (Vec<WornSave>, FlownWorn) {
    tracked.take_batch(now)
}

#[test]
fn an_edit_is_saved_with_a_higher_revision_and_a_mere_glance_is_not() {
    let mut tracked = wearing();
    frame(&mut tracked, ms(100), &[shown(1, 0.75)]);
    frame(&mut tracked, ms(150), &[ObjectChange::Moved(temporary(1), root(1, 0.25).0)]);
    assert_eq!((tracked.since(), tracked.is_unsaved(OWNER)), (Some(ms(100)), true));
    let (saves, flown) = batch(&mut tracked, ms(350));
    let [WornSave { row, ends: false, renews: false, .. }] = &saves[..] else { panic!("{saves:?}") };
    assert_eq!((row.item, row.is_ahead, row.revision), (item(1), true, START_S * 1_000_000 + 350_000));
    let saved = WornObject::of_row(row).unwrap();
    assert!(is_same(&saved.object, &object(vec![root(1, 0.25)])));
    assert_eq!((tracked.since(), tracked.is_unsaved(OWNER)), (None, false));
    // A failed batch is repeated, as it is now.
    tracked.put_back(flown);
    assert_eq!(tracked.since(), Some(ms(100)));
    assert_eq!(batch(&mut tracked, ms(850)).0.len(), 1);
    frame(&mut tracked, ms(900), &[shown(1, 0.25)]);
    assert_eq!(batch(&mut tracked, ms(1_150)).0, [], "it is as before");
}

#[test]
fn a_linkset_is_followed_with_its_parts_and_others_are_not() {
    let mut tracked = tracked();
    let part = |n: u32, number: u8| {
        let place = PrimMotion { parent: temporary(1), link_number: number, ..at(0.1) };
        set(temporary(n), place, body(n.into()))
    };
    order(&mut tracked, 1);
    // The second part comes before the root; two roots are of no order.
    let lies = set(temporary(6), at(1.0), body(6));
    frame(&mut tracked, ms(50), &[part(3, 2), part(2, 1), shown(1, 0.5), shown(5, 0.5), lies]);
    assert_eq!((news(&mut tracked), tracked.since()), (vec!["shown"], Some(ms(50))), "it has other prims");
    let (saves, _) = batch(&mut tracked, ms(300));
    let [save] = &saves[..] else { panic!("{saves:?}") };
    let saved = WornObject::of_row(&save.row).unwrap();
    let ids: Vec<u128> = saved.object.prims().map(|(_, versioned)| versioned.body.id.as_u128()).collect();
    assert_eq!(ids, [2, 3, 4]);
    frame(&mut tracked, ms(350), &[ObjectChange::Removed(temporary(3))]);
    let (saves, _) = batch(&mut tracked, ms(600));
    assert_eq!(WornObject::of_row(&saves[0].row).unwrap().object.n_prims(), 2);
}

#[test]
fn an_object_that_leaves_gets_an_asset_if_it_has_changed() {
    let leave = |tracked: &mut TrackedWorn, x| {
        frame(tracked, ms(200), &[]);
        tracked.take_change(&ObjectChange::Removed(temporary(1)));
        let effect = tracked.take_transfer(ms(200), &transfer(1, WornChange::Left, x));
        tracked.end_frame(ms(200));
        effect
    };
    let mut plain = wearing();
    assert_eq!((leave(&mut plain, 0.5), news(&mut plain)), (None, vec!["left"]));
    let mut edited = wearing();
    frame(&mut edited, ms(100), &[shown(1, 0.75)]);
    let effect = leave(&mut edited, 0.75);
    let Some(WornEffect::Saved(WornSave { row, ends: false, renews: true, asset: None })) = effect else {
        panic!("{effect:?}")
    };
    assert_eq!((row.is_ahead, edited.since()), (false, None));
    let Some(WornNews::Left(left)) = edited.poll_news() else { panic!("news") };
    assert_eq!((left.revision, left.is_ahead), (row.revision, false));
    // It is in another region, as far as this one knows.
    assert_eq!(edited.take_transfer(ms(300), &transfer(1, WornChange::Left, 0.5)), None);
    assert_eq!(news(&mut edited), Vec::<&str>::new());
}

#[test]
fn transfers_tell_the_store_and_the_user() {
    let mut tracked = wearing();
    let effect = tracked.take_transfer(ms(200), &transfer(1, WornChange::TakenOff, 0.5));
    assert!(matches!(effect, Some(WornEffect::Saved(WornSave { ends: true, renews: true, .. }))));
    let effect = tracked.take_transfer(ms(250), &transfer(2, WornChange::PutOn, 0.5));
    let Some(WornEffect::PutOn(put_on)) = effect else { panic!("{effect:?}") };
    assert_eq!((put_on.point, put_on.is_ahead), (2, false));
    frame(&mut tracked, ms(250), &[ObjectChange::Removed(temporary(1)), shown(2, 0.5)]);
    assert_eq!((news(&mut tracked), tracked.since()), (vec!["ended", "shown"], None));
    let effect = tracked.take_transfer(ms(300), &transfer(2, WornChange::PutDown, 0.5));
    assert!(matches!(effect, Some(WornEffect::PutDown(worn)) if worn.item == item(2)));
    frame(&mut tracked, ms(300), &[ObjectChange::Removed(temporary(2))]);
    assert_eq!(news(&mut tracked), ["ended"]);
}

#[test]
fn orders_go_out_again_after_a_gap_until_they_are_answered() {
    let mut tracked = tracked();
    for n in [1, 2, 3] {
        order(&mut tracked, n);
    }
    let mut room = 2;
    tracked.send_orders(|_| {
        room -= 1;
        room >= 0
    });
    assert_eq!((sent(&mut tracked), sent(&mut tracked)), (vec!["wear"], vec![]));
    let refused = Event::WearRefused { owner: OWNER, item: item(2), reason: EditRefusal::Full };
    tracked.take_events(std::slice::from_ref(&refused));
    tracked.end_frame(ms(50));
    assert_eq!(news(&mut tracked), ["refused"]);
    // The world has begun again: the first one is there.
    let (place, versioned) = root(1, 0.5);
    tracked.take_whole(&[(temporary(9), &place, &versioned)]);
    tracked.end_frame(ms(100));
    assert_eq!((news(&mut tracked), sent(&mut tracked)), (vec!["shown"], vec!["wear"]));
    tracked.take_events(&[refused]);
    assert_eq!(news(&mut tracked), Vec::<&str>::new(), "it is refused once");
}

#[test]
fn an_order_that_was_sent_twice_is_refused_when_both_are_or_one_is_lost() {
    let refused = Event::WearRefused { owner: OWNER, item: item(1), reason: EditRefusal::NoOwner };
    let sent_twice = || {
        let mut tracked = tracked();
        order(&mut tracked, 1);
        assert_eq!(sent(&mut tracked), ["wear"]);
        tracked.take_whole(&[]);
        tracked.end_frame(ms(50));
        assert_eq!(sent(&mut tracked), ["wear"]);
        tracked.take_events(std::slice::from_ref(&refused));
        tracked.end_frame(ms(100));
        assert_eq!(news(&mut tracked), Vec::<&str>::new(), "the second one may be carried out");
        tracked
    };
    let mut shows = sent_twice();
    frame(&mut shows, ms(150), &[shown(1, 0.5)]);
    assert_eq!((news(&mut shows), shows.since()), (vec!["shown"], None));
    let mut refuses = sent_twice();
    refuses.take_events(std::slice::from_ref(&refused));
    refuses.end_frame(ms(150));
    assert_eq!(news(&mut refuses), ["refused"]);
    for is_ending in [false, true] {
        let mut lost = sent_twice();
        if is_ending {
            lost.take_off(OWNER, &[item(1)]);
            assert_eq!(sent(&mut lost), ["take off"]);
        }
        (1..ANSWER_FRAMES).for_each(|_| frame(&mut lost, ms(200), &[]));
        assert_eq!(news(&mut lost), Vec::<&str>::new());
        frame(&mut lost, ms(200), &[]);
        assert_eq!(news(&mut lost), [if is_ending { "ended" } else { "refused" }]);
    }
}

#[test]
fn what_a_world_has_lost_is_told_in_its_last_state() {
    let mut tracked = wearing();
    frame(&mut tracked, ms(100), &[shown(1, 0.75)]);
    tracked.take_whole(&[]);
    tracked.end_frame(ms(150));
    let Some(WornNews::Lost(lost)) = tracked.poll_news() else { panic!("news") };
    assert!(lost.is_ahead && is_same(&lost.object, &object(vec![root(1, 0.75)])));
    // The disk lacks this state, and the world that gets the object again shows no other one.
    assert_eq!((tracked.since(), tracked.is_unsaved(OWNER)), (Some(ms(100)), true));
    let (saves, flown) = batch(&mut tracked, ms(350));
    let [WornSave { row, ends: false, renews: false, asset: None }] = &saves[..] else { panic!("{saves:?}") };
    assert_eq!(*row, lost.row());
    tracked.put_back(flown);
    assert_eq!(batch(&mut tracked, ms(850)).0, saves, "a failed batch is repeated");
    assert_eq!(tracked.since(), None);
    // An object in the state of its row needs no save.
    let mut whole = wearing();
    whole.take_whole(&[]);
    whole.end_frame(ms(150));
    assert_eq!((news(&mut whole), whole.since()), (vec!["lost"], None));
    let mut emptied = wearing();
    order(&mut emptied, 2);
    emptied.lose_all(ms(150));
    assert_eq!((news(&mut emptied), sent(&mut emptied)), (vec!["lost", "lost"], vec![]));
}

#[test]
fn an_item_that_was_taken_off_before_it_is_put_on_again_stays_on() {
    let ordered = || {
        let mut tracked = tracked();
        order(&mut tracked, 1);
        assert_eq!(sent(&mut tracked), ["wear"]);
        // Of an earlier order, which was sent twice.
        assert_eq!(tracked.take_transfer(ms(50), &transfer(1, WornChange::TakenOff, 0.5)), None);
        tracked.end_frame(ms(50));
        assert_eq!((news(&mut tracked), tracked.since()), (vec![], None));
        tracked
    };
    let mut shows = ordered();
    frame(&mut shows, ms(100), &[shown(1, 0.5)]);
    assert_eq!((news(&mut shows), shows.since()), (vec!["shown"], None));
    let off = shows.take_transfer(ms(150), &transfer(1, WornChange::TakenOff, 0.5));
    assert!(matches!(off, Some(WornEffect::Saved(WornSave { ends: true, .. }))));
    // An object that the world does not show was replaced.
    let mut replaced = ordered();
    (0..ANSWER_FRAMES).for_each(|_| frame(&mut replaced, ms(200), &[]));
    assert_eq!(news(&mut replaced), ["ended"]);
    let (saves, _) = batch(&mut replaced, ms(450));
    assert!(matches!(&saves[..], [WornSave { ends: true, renews: true, .. }]), "{saves:?}");
}

#[test]
fn an_edit_before_a_snapshot_is_saved_though_the_snapshot_shows_it_again() {
    let whole = |x| {
        let mut tracked = wearing();
        frame(&mut tracked, ms(100), &[shown(1, 0.75)]);
        let (place, versioned) = root(1, x);
        tracked.take_whole(&[(temporary(1), &place, &versioned)]);
        tracked.end_frame(ms(150));
        assert_eq!((news(&mut tracked), tracked.since()), (vec!["shown"], Some(ms(100))));
        tracked
    };
    // The second world has taken the edit back: the row gets the shown state.
    for x in [0.75, 0.5] {
        let mut tracked = whole(x);
        let (saves, flown) = batch(&mut tracked, ms(350));
        let [WornSave { row, ends: false, renews: false, asset: None }] = &saves[..] else {
            panic!("{saves:?}")
        };
        assert!(row.is_ahead && row.revision > worn(1).revision);
        let saved = WornObject::of_row(row).unwrap();
        assert!(is_same(&saved.object, &object(vec![root(1, x)])), "{saved:?}");
        tracked.put_back(flown);
        assert_eq!(batch(&mut tracked, ms(850)).0.len(), 1, "a failed batch is repeated");
        frame(&mut tracked, ms(900), &[shown(1, x)]);
        assert_eq!(batch(&mut tracked, ms(1_150)).0, [], "the disk has it");
    }
}

#[test]
fn an_item_that_is_taken_off_on_its_way_ends() {
    let mut tracked = tracked();
    order(&mut tracked, 1);
    tracked.take_off(OWNER, &[item(1), item(2)]);
    tracked.end_frame(ms(50));
    assert_eq!((sent(&mut tracked), news(&mut tracked)), (vec![], vec!["ended"]));
    let (saves, flown) = batch(&mut tracked, ms(300));
    assert!(matches!(&saves[..], [WornSave { ends: true, renews: true, .. }]));
    tracked.put_back(flown);
    assert_eq!((tracked.since(), batch(&mut tracked, ms(600)).0.len()), (Some(ms(50)), 1));
    // One in the region is the world's to take off.
    let mut tracked = wearing();
    tracked.take_off(OWNER, &[item(1)]);
    assert_eq!((sent(&mut tracked), sent(&mut tracked)), (vec!["take off"], vec![]));
    let (place, versioned) = root(1, 0.5);
    tracked.take_whole(&[(temporary(1), &place, &versioned)]);
    tracked.end_frame(ms(100));
    assert_eq!((sent(&mut tracked), news(&mut tracked)), (vec!["take off"], vec!["shown"]));
}

#[test]
fn an_item_that_is_refused_or_leaves_while_it_is_taken_off_ends() {
    let refused = |reason| Event::WearRefused { owner: OWNER, item: item(1), reason };
    for reason in [EditRefusal::NoOwner, EditRefusal::Full] {
        let mut tracked = tracked();
        order(&mut tracked, 1);
        assert_eq!(sent(&mut tracked), ["wear"]);
        tracked.take_off(OWNER, &[item(1)]);
        assert_eq!(sent(&mut tracked), ["take off"]);
        tracked.take_events(&[refused(reason)]);
        tracked.end_frame(ms(50));
        assert_eq!(news(&mut tracked), ["ended"]);
        let (saves, _) = batch(&mut tracked, ms(300));
        assert!(matches!(&saves[..], [WornSave { ends: true, renews: true, .. }]), "{saves:?}");
        // Its user puts it on again.
        assert!(order(&mut tracked, 1));
        assert_eq!(sent(&mut tracked), ["wear"]);
    }
    // The avatar leaves in a frame that is older than the order.
    let mut tracked = wearing();
    tracked.take_off(OWNER, &[item(1)]);
    let effect = tracked.take_transfer(ms(200), &transfer(1, WornChange::Left, 0.5));
    let Some(WornEffect::Saved(WornSave { row, ends: true, renews: true, .. })) = effect else {
        panic!("{effect:?}")
    };
    assert!(row.revision > worn(1).revision);
    frame(&mut tracked, ms(200), &[ObjectChange::Removed(temporary(1))]);
    assert_eq!((news(&mut tracked), sent(&mut tracked)), (vec!["ended"], vec![]));
    assert_eq!(batch(&mut tracked, ms(450)).0, [], "its transfer has the state");
}

#[test]
fn an_item_of_another_region_is_ignored_and_one_that_comes_back_is_saved() {
    let mut tracked = wearing();
    tracked.disown(OWNER, item(1));
    frame(&mut tracked, ms(100), &[shown(1, 0.75)]);
    assert_eq!((tracked.since(), news(&mut tracked)), (None, vec![]));
    // The avatar wears it there as it was: the order is without effect.
    order(&mut tracked, 1);
    assert_eq!(sent(&mut tracked), ["wear"]);
    tracked.end_frame(ms(150));
    assert_eq!((tracked.since(), news(&mut tracked)), (Some(ms(150)), vec!["shown"]));
    let again = tracked.take_back(ms(200), worn(5));
    assert!(again.is_ahead && again.revision > 10);
    tracked.end_frame(ms(200));
    assert_eq!(news(&mut tracked), ["lost"], "the world does not show it");
    tracked.take_back(ms(200), worn(6));
    frame(&mut tracked, ms(200), &[shown(6, 0.5)]);
    assert_eq!(news(&mut tracked), ["shown"]);
    let saved: Vec<Uuid> = batch(&mut tracked, ms(450)).0.iter().map(|save| save.row.item).collect();
    assert_eq!(saved, [item(1), item(6), item(5)], "they are saved as they are");
    tracked.give_up(OWNER, item(1));
    assert_eq!((news(&mut tracked), tracked.since()), (vec!["ended"], None));
}

#[test]
fn orders_are_bounded() {
    let mut tracked = tracked();
    for n in 0..ORDERS_MAX as u128 {
        assert!(order(&mut tracked, n));
    }
    assert!(!order(&mut tracked, 5_000) && order(&mut tracked, 0), "one of them is no other");
}
