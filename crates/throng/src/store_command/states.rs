//! States of instances, brought to the newest version of their formats (`docs/internals/formats.md`).

use record::RecordError;
use store::{Damage, InstanceList, InstanceState, Part, State, Store, StoreError};
use world::saved;

/// Result of upgrading the states in a database.
#[derive(Debug, Default)]
pub(super) struct UpgradedStates {
    /// States that have been rewritten.
    pub(super) n_upgraded: usize,
    /// Sentences on those that were not upgraded, and on damaged ones that are set aside now.
    pub(super) problems: Vec<String>,
}

type Upgrade = fn(&[u8]) -> Result<Option<Vec<u8>>, RecordError>;

/// Rewrites every state that is not of the newest version. Sequence numbers stay, so a server that runs meanwhile loses nothing.
///
/// # Errors
/// [`StoreError`]; states rewritten until then stay.
pub(super) fn upgrade(store: &Store) -> Result<UpgradedStates, StoreError> {
    let InstanceList { instances, damages, .. } = store.instances()?;
    let mut states = UpgradedStates::default();
    states.note_damages(&damages);
    for listed in instances {
        let InstanceState { image, journal, damages } = store.instance_state(listed.instance.id)?;
        states.note_damages(&damages);
        let upgrades: [(Part, Option<State>, Upgrade); 2] =
            [(Part::Image, image, saved::upgrade_image), (Part::Journal, journal, saved::upgrade_journal)];
        for (part, state, upgrade) in upgrades {
            let Some(state) = state else { continue };
            match upgrade(&state.bytes) {
                Ok(None) => {}
                Ok(Some(bytes)) => {
                    let is_replaced = store.replace_state(part, &State { bytes, ..state })?;
                    states.n_upgraded += usize::from(is_replaced);
                }
                Err(why) => states.problems.push(format!("instance {}, {part}: {why}", state.id)),
            }
        }
    }
    Ok(states)
}

impl UpgradedStates {
    fn note_damages(&mut self, damages: &[Damage]) {
        self.problems.extend(
            damages
                .iter()
                .map(|Damage { instance, part, why }| format!("instance {instance}, {part}: {why}")),
        );
    }
}
