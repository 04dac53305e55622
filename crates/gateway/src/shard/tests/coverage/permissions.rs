//! Rights to objects and items as one table: each way by which a thing changes its place or its owner, for each kind of masks and each actor. [`rules`] states
//! the places and the masks that have to follow.

mod rules;
mod stage;

use rules::{Actor, Masks, Prim, Way, expected};
use stage::Stage;

/// Masks of objects: base, owner, group, everyone, next owner.
const OBJECTS: [(&str, [&str; 5]); 10] = [
    ("new", ["vmcte", "vmcte", "", "", "vt"]),
    ("whole for the next owner", ["vmcte", "vmcte", "", "", "vmct"]),
    ("not to be copied", ["vmt", "vmt", "", "", "vt"]),
    ("not to be given away", ["vmc", "vmc", "", "", "vc"]),
    ("neither", ["vm", "vm", "", "", "vt"]),
    ("locked", ["vmcte", "mcte", "", "", "vmct"]),
    ("free to copy", ["vmcte", "vmcte", "", "vc", "vct"]),
    ("free to copy, not to be given away", ["vmc", "vmc", "", "c", "vc"]),
    ("shared with its group", ["vmcte", "vmcte", "vmc", "", "vmct"]),
    ("with less for its owner", ["vmcte", "vct", "", "", "vmct"]),
];

/// Masks of items, likewise.
const ITEMS: [(&str, [&str; 5]); 8] = [
    ("whole", ["vmcte", "vmcte", "", "", "vmct"]),
    ("not to be copied", ["vmt", "vmt", "", "", "vt"]),
    ("not to be given away", ["vmc", "vmc", "", "", "vc"]),
    ("neither", ["vm", "vm", "", "", "vt"]),
    ("not to be changed", ["vct", "vct", "", "", "vct"]),
    ("with less for its owner", ["vmcte", "vmt", "", "", "vmct"]),
    ("shared with all", ["vmcte", "vmcte", "c", "vc", "vc"]),
    ("locked", ["vct", "ct", "", "", "vct"]),
];

const OF_OBJECTS: [Way; 4] = [Way::Take, Way::TakeCopy, Way::BuyOriginal, Way::BuyCopy];
const OF_ITEMS: [Way; 9] = [
    Way::Rez { is_slammed: false },
    Way::Rez { is_slammed: true },
    Way::Give { is_object: false },
    Way::Give { is_object: true },
    Way::Drop(Prim::Closed),
    Way::Drop(Prim::Open),
    Way::Drop(Prim::Locked),
    Way::TakeOut(Prim::Closed),
    Way::TakeOut(Prim::Locked),
];

#[test]
fn the_table_of_transfers_holds() {
    let of_objects = OF_OBJECTS.into_iter().flat_map(|way| OBJECTS.map(|kind| (way, kind)));
    let of_items = OF_ITEMS.into_iter().flat_map(|way| ITEMS.map(|kind| (way, kind)));
    let mut stage = Stage::new();
    let (mut rows, mut done) = (0, 0);
    for (way, (kind, letters)) in of_objects.chain(of_items) {
        let masks = Masks::of(letters);
        // The four actors do not meet: each has a thing of its own.
        let things = Actor::ALL.map(|actor| stage.prepare(way, masks, actor));
        stage.wait_until_shown();
        let before = stage.places(&things);
        things.iter().for_each(|thing| stage.ask(thing));
        stage.settle();
        let after = stage.places(&things);
        for ((actor, before), after) in Actor::ALL.into_iter().zip(before).zip(after) {
            let expected = expected(way, masks, Stage::asset_masks(), actor);
            assert_eq!(after, expected, "{way:?} by {actor:?}, {kind}; before: {before:?}");
            rows += 1;
            done += usize::from(before != after);
        }
    }
    assert!(rows >= 300, "{rows}");
    assert!(done >= 100 && rows - done >= 100, "{done} of {rows} were carried out");
}
