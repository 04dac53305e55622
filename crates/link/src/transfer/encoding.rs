//! Encodings of transfers that builds before inventories read and wrote: an object of one linkset that was not worn has their bytes, and so has an order for a
//! row of the store.

use super::{HeldObject, PlacedLinkset};
use crate::object::{PrimMotion, VersionedBody};
use crate::object_command::DerezKind;
use ids::{AgentId, SessionKey, Uuid};
use serde::{Deserialize, Serialize};

/// Fields of [`HeldObject`] in the order of the encoding.
#[derive(Serialize, Deserialize)]
pub(super) struct EncodedHeld {
    owner: AgentId,
    by: SessionKey,
    form: Form,
    folder: Uuid,
    transaction: Uuid,
    /// Of all linksets, one behind the other.
    prims: PlacedLinkset,
}

/// Destination, and all that few objects have. The first variants are the first ones of [`DerezKind`].
#[derive(Serialize, Deserialize)]
enum Form {
    Delete,
    Trash,
    Return,
    Take,
    TakeCopy,
    Other {
        kind: DerezKind,
        is_worn: bool,
        /// Prims of each linkset.
        lengths: Vec<u32>,
    },
    Save,
}

impl From<HeldObject> for EncodedHeld {
    fn from(object: HeldObject) -> Self {
        let HeldObject { owner, by, kind, folder, transaction, is_worn, linksets } = object;
        let form = match kind {
            _ if is_worn || linksets.len() != 1 => {
                let lengths = linksets.iter().map(|prims| u32::try_from(prims.len()).unwrap_or(u32::MAX));
                Form::Other { kind, is_worn, lengths: lengths.collect() }
            }
            DerezKind::Delete => Form::Delete,
            DerezKind::Trash => Form::Trash,
            DerezKind::Return => Form::Return,
            DerezKind::Take => Form::Take,
            DerezKind::TakeCopy => Form::TakeCopy,
            DerezKind::Save => Form::Save,
        };
        let prims = linksets.into_iter().flatten().collect();
        Self { owner, by, form, folder, transaction, prims }
    }
}

impl TryFrom<EncodedHeld> for HeldObject {
    type Error = &'static str;

    fn try_from(encoded: EncodedHeld) -> Result<Self, Self::Error> {
        let EncodedHeld { owner, by, form, folder, transaction, prims } = encoded;
        let (kind, is_worn, linksets) = match form {
            Form::Delete => (DerezKind::Delete, false, vec![prims]),
            Form::Trash => (DerezKind::Trash, false, vec![prims]),
            Form::Return => (DerezKind::Return, false, vec![prims]),
            Form::Take => (DerezKind::Take, false, vec![prims]),
            Form::TakeCopy => (DerezKind::TakeCopy, false, vec![prims]),
            Form::Other { kind, is_worn, lengths } => (kind, is_worn, divided(prims, &lengths)?),
            Form::Save => (DerezKind::Save, false, vec![prims]),
        };
        Ok(Self { owner, by, kind, folder, transaction, is_worn, linksets })
    }
}

/// Prims as linksets of these lengths.
fn divided(
    prims: Vec<(PrimMotion, VersionedBody)>,
    lengths: &[u32],
) -> Result<Vec<PlacedLinkset>, &'static str> {
    let mut prims = prims.into_iter();
    let linksets = lengths.iter().map(|length| prims.by_ref().take(*length as usize).collect());
    let linksets: Vec<PlacedLinkset> = linksets.collect();
    let are_right = linksets.iter().zip(lengths).all(|(prims, length)| prims.len() == *length as usize);
    if are_right && prims.next().is_none() {
        Ok(linksets)
    } else {
        Err("linksets of other lengths than their prims")
    }
}

/// A key that may be missing, as one with two zeros.
pub(super) mod key_or_none {
    use ids::{HeldKey, Ticket, WorldId};
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    const NONE: HeldKey = HeldKey { region: WorldId(0), ticket: Ticket(0) };

    /// Serialises it.
    ///
    /// # Errors
    /// Those of the encoding.
    pub(in crate::transfer) fn serialize<S: Serializer>(
        key: &Option<HeldKey>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        key.unwrap_or(NONE).serialize(to)
    }

    /// Reads it.
    ///
    /// # Errors
    /// Those of the encoding.
    pub(in crate::transfer) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<HeldKey>, D::Error> {
        HeldKey::deserialize(from).map(|key| Some(key).filter(|key| *key != NONE))
    }
}
