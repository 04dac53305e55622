//! Linksets that make room for others, such as those of an archive.

use super::editor::ObjectEditor;
use ids::{LocalId, Uuid};
use link::EditRefusal;
use std::collections::BTreeSet;

impl ObjectEditor<'_> {
    /// Deletes linksets, all of them or none: the node may have to put exactly these back. One that was taken meanwhile would be there twice then.
    pub(super) fn clear(&mut self, objects: Vec<(LocalId, Uuid)>) {
        let checked = self.check_all(&objects);
        for (id, _) in objects {
            let result = checked.and_then(|()| self.remove_judged(id));
            self.settle(Some(id), result);
        }
    }

    fn check_all(&mut self, objects: &[(LocalId, Uuid)]) -> Result<(), EditRefusal> {
        if !self.actor.is_node {
            return Err(EditRefusal::Rights);
        }
        let mut seen = BTreeSet::new();
        for &(id, object) in objects {
            let judged = self.judge(id)?;
            let is_there = self.store.body(id).is_some_and(|versioned| versioned.body.id == object);
            if !is_there || !seen.insert(id) {
                return Err(EditRefusal::Unknown);
            }
            if judged.root != id {
                return Err(EditRefusal::Part);
            }
            if judged.is_attached {
                return Err(EditRefusal::Attached);
            }
        }
        Ok(())
    }
}
