//! Looks of the client's avatar: AgentSetAppearance, AgentIsNowWearing, AgentCachedTexture.
//!
//! A client composes the textures of its avatar (*bakes* them), uploads the results as temporary assets, and names them in the texture entry. Its cache ids stand
//! for the ingredients: at the next login it asks by them before it bakes again.

use super::Shard;
use super::counters::Refused;
use super::incoming::{Handled, Incoming};
use crate::coverage::MessageOutcome;
use crate::mail::{FromShard, Look, Request, pages};
use grid::inventory::WearRequest;
use ids::Uuid;
use link::{Action, Appearance};
use std::sync::Arc;
use store::{StoredBake, StoredWearable};
use wire::messages::*;
use wire::text::{VARIABLE1_MAX, to_wire};
use wire::texture_entry::{AVATAR_TEXTURE, TextureEntry};

/// Height of an avatar whose client sends nonsense, in metres.
const AVATAR_HEIGHT_M: f32 = 1.9;
/// Faces of an avatar's texture entry that have baked textures: head, upper and lower body, eyes, skirt, hair, left arm, left leg, and three for other uses.
const BAKED_FACES: [u8; 11] = [8, 9, 10, 11, 19, 20, 40, 41, 42, 43, 44];
/// Rows of AgentCachedTextureResponse in one datagram: 19 bytes each.
const CACHED_TEXTURES_PER_REPLY: usize = 50;

impl Shard {
    pub(super) fn on_appearance(&mut self, at: &mut Incoming<'_>, m: AgentSetAppearance) -> Handled {
        if m.object_data.texture_entry.len() > Appearance::TEXTURE_ENTRY_MAX
            || m.visual_param.len() > Appearance::VISUAL_PARAMS_MAX
        {
            return Err(Refused::BadValue.into());
        }
        let bakes = read_bakes(&m)?;
        let client = self.client(at.index);
        if client.appearance_serial.is_some_and(|newest| m.agent_data.serial_num < newest) {
            return Err(Refused::OutOfOrder.into());
        }
        client.appearance_serial = Some(m.agent_data.serial_num);
        // A client that is about to bake sends no textures: those of before stay.
        let former = client.look.as_ref().filter(|_| m.object_data.texture_entry.is_empty());
        let (texture_entry, bakes) = match former {
            Some(former) => (former.appearance.texture_entry.clone(), Arc::clone(&former.bakes)),
            None => (m.object_data.texture_entry, bakes.into()),
        };
        let height_m = m.agent_data.size.z;
        let appearance = Arc::new(Appearance {
            texture_entry,
            visual_params: m.visual_param.iter().map(|param| param.param_value).collect(),
            cof_version: 0,
            height_m: if (0.1..=10.0).contains(&height_m) { height_m } else { AVATAR_HEIGHT_M },
        });
        let look = Look { appearance: Arc::clone(&appearance), bakes };
        client.look = Some(look.clone());
        let key = client.key();
        self.mail.push(FromShard::Appeared(key, look));
        self.command_if_present(at.index, Action::Appear(appearance));
        Ok(MessageOutcome::Done)
    }

    /// The outfit is kept with the account.
    pub(super) fn on_now_wearing(&mut self, at: &mut Incoming<'_>, m: AgentIsNowWearing) -> Handled {
        let rows = m.wearable_data.iter().filter(|row| !row.item_id.is_nil());
        let worn = rows.map(|row| StoredWearable { item: row.item_id, kind: row.wearable_type }).collect();
        self.request(at, Request::Inventory(Box::new(WearRequest::Outfit(worn).into())))
    }

    pub(super) fn on_cached_textures(&mut self, at: &mut Incoming<'_>, m: AgentCachedTexture) -> Handled {
        let client = self.client(at.index);
        let (ticket, look) = (Arc::clone(&client.ticket), client.look.clone());
        let bakes = look.as_ref().map_or(&[][..], |look| &*look.bakes);
        let row = |row: &AgentCachedTextureWearableData| AgentCachedTextureResponseWearableData {
            texture_id: baked_as(bakes, row.id),
            texture_index: row.texture_index,
            host_name: to_wire("", VARIABLE1_MAX),
        };
        for page in pages(&m.wearable_data, CACHED_TEXTURES_PER_REPLY) {
            let agent_data = AgentCachedTextureResponseAgentData {
                agent_id: ticket.agent.0,
                session_id: ticket.session_id.0,
                serial_num: m.agent_data.serial_num,
            };
            let wearable_data = page.iter().map(row).collect();
            self.reply(at, AgentCachedTextureResponse { agent_data, wearable_data });
        }
        Ok(MessageOutcome::Done)
    }
}

/// The texture that was baked of what a cache id stands for; null if it is to be baked again.
fn baked_as(bakes: &[StoredBake], cache_id: Uuid) -> Uuid {
    let mut found = bakes.iter().filter(|bake| !cache_id.is_nil() && bake.cache_id == cache_id);
    found.next().map_or(Uuid::nil(), |bake| bake.asset)
}

/// The baked textures of an appearance, each with its cache id if the client names that.
fn read_bakes(m: &AgentSetAppearance) -> Result<Vec<StoredBake>, Refused> {
    if m.object_data.texture_entry.is_empty() {
        return Ok(Vec::new());
    }
    let entry = TextureEntry::decode(&m.object_data.texture_entry).map_err(|_| Refused::BadValue)?;
    let cache_id_of = |face: u8| {
        let named = m.wearable_data.iter().find(|row| row.texture_index == face);
        named.map_or(Uuid::nil(), |row| row.cache_id)
    };
    let bake = |face: u8| {
        let asset = entry.face(face).texture_id;
        let is_baked = !asset.is_nil() && asset != AVATAR_TEXTURE;
        is_baked.then(|| StoredBake { face, cache_id: cache_id_of(face), asset })
    };
    Ok(BAKED_FACES.into_iter().filter_map(bake).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::texture_entry::Face;

    #[test]
    fn bakes_are_those_of_their_faces_with_the_cache_ids_that_are_named() {
        let [head, hair, shirt] = [1, 2, 3].map(Uuid::from_u128);
        let mut entry = TextureEntry::avatar();
        entry.faces.extend([(8, head), (20, hair), (1, shirt)].map(|(face, id)| (face, Face::plain(id))));
        let mut m = AgentSetAppearance::default();
        m.object_data.texture_entry = entry.encode();
        let cache_id = Uuid::from_u128(9);
        m.wearable_data = vec![AgentSetAppearanceWearableData { cache_id, texture_index: 8 }];
        let expected = [
            StoredBake { face: 8, cache_id, asset: head },
            StoredBake { face: 20, cache_id: Uuid::nil(), asset: hair },
        ];
        let bakes = read_bakes(&m).unwrap();
        assert_eq!(bakes, expected, "what is worn beneath is no bake");
        assert_eq!((baked_as(&bakes, cache_id), baked_as(&bakes, Uuid::nil())), (head, Uuid::nil()));
        m.object_data.texture_entry.truncate(20);
        assert!(read_bakes(&m).is_err());
        assert_eq!(read_bakes(&AgentSetAppearance::default()).unwrap(), []);
    }
}
