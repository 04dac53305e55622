//! Encoded grounds by description: worlds with equal ground share one, and grounds that differ in rules only share their messages.

use super::EncodedGround;
use link::GroundSpec;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The encoded grounds of instances. Nothing is removed: there is one for each template, and another one for each whose rules have changed.
#[derive(Debug, Default)]
pub struct EncodedGrounds {
    known: Mutex<Vec<Arc<EncodedGround>>>,
}

impl EncodedGrounds {
    /// Adds a ground that was encoded already, perhaps with pictures.
    pub fn add(&self, ground: Arc<EncodedGround>) {
        self.known().push(ground);
    }

    /// The encoded ground of this description. If a known ground has the same messages and pictures, the result shares them; otherwise the
    /// ground is encoded here, which takes milliseconds.
    #[must_use]
    pub fn of(&self, spec: &Arc<GroundSpec>) -> Arc<EncodedGround> {
        let mut alike = None;
        for known in self.known().iter() {
            if are_equal(known, spec) {
                return Arc::clone(known);
            }
            if are_alike(known, spec) {
                alike = Some(Arc::clone(known));
            }
        }
        let spec = Arc::clone(spec);
        let ground = Arc::new(match alike {
            Some(alike) => EncodedGround { spec, ..EncodedGround::clone(&alike) },
            None => EncodedGround::new(spec),
        });
        let mut known = self.known();
        // Another thread may have encoded it meanwhile.
        if let Some(first) = known.iter().find(|known| are_equal(known, &ground)) {
            return Arc::clone(first);
        }
        known.push(Arc::clone(&ground));
        ground
    }

    fn known(&self) -> MutexGuard<'_, Vec<Arc<EncodedGround>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True if messages and pictures of two grounds are the same.
fn are_alike(one: &GroundSpec, other: &GroundSpec) -> bool {
    let GroundSpec { size_m, water_m, terrain, scenery, box_name: _, damage: _, landing: _ } = one;
    (*size_m, water_m.to_bits()) == (other.size_m, other.water_m.to_bits())
        && terrain.fingerprint() == other.terrain.fingerprint()
        && scenery.fingerprint() == other.scenery.fingerprint()
        && scenery.content_fingerprint() == other.scenery.content_fingerprint()
}

/// True if two descriptions say the same.
pub(super) fn are_equal(one: &GroundSpec, other: &GroundSpec) -> bool {
    are_alike(one, other)
        && (one.damage, one.landing) == (other.damage, other.landing)
        && one.box_name == other.box_name
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::{Scenery, Terrain};

    fn ground(damage: bool) -> GroundSpec {
        let terrain = Terrain::hills(256, 5);
        let scenery = Scenery::boxes(3, &terrain, 1);
        GroundSpec { damage, ..GroundSpec::new(Arc::new(terrain), Arc::new(scenery), 20.0) }
    }

    fn share_messages(one: &EncodedGround, other: &EncodedGround) -> bool {
        let are_same = |one: &Arc<[Vec<u8>]>, other: &Arc<[Vec<u8>]>| Arc::ptr_eq(one, other);
        are_same(&one.layers, &other.layers)
            && Arc::ptr_eq(&one.patches, &other.patches)
            && are_same(&one.overlay, &other.overlay)
            && Arc::ptr_eq(&one.objects, &other.objects)
    }

    #[test]
    fn equal_descriptions_have_one_encoded_ground() {
        let grounds = EncodedGrounds::default();
        let drawn = Arc::new(EncodedGround::new(ground(false)));
        grounds.add(Arc::clone(&drawn));
        // As it comes from another process: equal, and at another address.
        assert!(Arc::ptr_eq(&grounds.of(&Arc::new(ground(false))), &drawn));
        let other = Arc::new(GroundSpec { water_m: 19.0, ..ground(false) });
        let encoded = grounds.of(&other);
        assert!(!share_messages(&encoded, &drawn), "its pictures show another coast");
        assert!(Arc::ptr_eq(&grounds.of(&other), &encoded));
    }

    #[test]
    fn a_ground_whose_rules_change_shares_its_messages_with_the_former_one() {
        let grounds = EncodedGrounds::default();
        let peaceful = grounds.of(&Arc::new(ground(false)));
        let dangerous = grounds.of(&Arc::new(ground(true)));
        assert_eq!((peaceful.damage, dangerous.damage), (false, true));
        assert!(share_messages(&peaceful, &dangerous));
        assert!(Arc::ptr_eq(&grounds.of(&Arc::new(ground(false))), &peaceful), "the rules changed back");
    }
}
