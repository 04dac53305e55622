//! Linksets that make room for others.

use super::stage::{ADA, EVE, Stage};
use ids::{LocalId, SessionKey, Uuid};
use link::{EditRefusal, ObjectCommand};

fn clear(stage: &mut Stage, objects: &[(LocalId, Uuid)]) -> Option<(u32, u32, Option<EditRefusal>)> {
    stage.node_result = None;
    stage.ask(SessionKey::NODE, ObjectCommand::Clear(objects.to_vec()));
    stage.node_result
}

#[test]
fn linksets_are_cleared_all_or_none() {
    let mut stage = Stage::new();
    let [first, second, third] = [ADA, EVE, ADA].map(|user| stage.rez(user));
    stage.ask(ADA, ObjectCommand::Link(vec![first, third])).done();
    let named = [first, second, third].map(|id| (id, stage.id_of(id)));
    let gone = (LocalId(first.0 + 100), Uuid::from_u128(7));
    let other = (second, named[0].1);
    for (objects, reason) in [
        (vec![named[1], gone], EditRefusal::Unknown),
        (vec![named[0], other], EditRefusal::Unknown),
        (vec![named[1], named[1]], EditRefusal::Unknown),
        (vec![named[1], named[2]], EditRefusal::Part),
    ] {
        let n = objects.len() as u32;
        assert_eq!(clear(&mut stage, &objects), Some((0, n, Some(reason))), "{objects:?}");
        assert_eq!(stage.store().len(), 3);
    }
    assert_eq!(clear(&mut stage, &named[..2]), Some((2, 0, None)));
    assert_eq!(stage.store().len(), 0);
}
