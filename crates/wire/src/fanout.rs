//! Frequent messages of a busy server, written straight into a buffer: no allocation for their lists, with the same bytes as
//! [`crate::messages`].
//!
//! Movements are in [`crate::terse`], full updates in [`crate::object_update`].

use crate::Malformed;
use crate::messages::{
    AvatarAnimation, AvatarAppearance, CoarseLocationUpdate, KillObject, SimStats, UUIDNameReply,
};
use ids::{AgentId, LocalId};
use uuid::Uuid;

/// Bytes of a part of a name, without the zero behind it.
const NAME_MAX: usize = 31;

/// Rows of a list: its count is a byte.
const ROWS_MAX: usize = 255;

/// KillObject: objects that clients forget.
///
/// # Panics
/// With more than 255 of them.
pub fn write_kills(ids: &[LocalId], out: &mut Vec<u8>) {
    KillObject::NUMBER.write(out);
    write_count(ids.len(), out);
    ids.iter().for_each(|id| out.extend_from_slice(&id.0.to_le_bytes()));
}

/// CoarseLocationUpdate: agents on the small map, each with metres from the region's corner east and north, and a quarter of those
/// up. `you` is the index of the receiver's own.
///
/// # Panics
/// With more than 255 of them.
pub fn write_coarse_locations(
    dots: impl ExactSizeIterator<Item = (Uuid, [u8; 3])> + Clone,
    you: Option<u8>,
    out: &mut Vec<u8>,
) {
    CoarseLocationUpdate::NUMBER.write(out);
    write_count(dots.len(), out);
    dots.clone().for_each(|(_, at)| out.extend_from_slice(&at));
    out.extend_from_slice(&you.map_or(-1, i16::from).to_le_bytes());
    // No agent is tracked.
    out.extend_from_slice(&(-1_i16).to_le_bytes());
    write_count(dots.len(), out);
    dots.for_each(|(agent, _)| out.extend_from_slice(agent.as_bytes()));
}

/// AvatarAnimation: all that an avatar plays, with sequence numbers, none of it started by an object.
///
/// # Panics
/// With more than 255 of them.
pub fn write_animations(
    agent: AgentId,
    animations: impl ExactSizeIterator<Item = (Uuid, i32)>,
    out: &mut Vec<u8>,
) {
    AvatarAnimation::NUMBER.write(out);
    out.extend_from_slice(agent.0.as_bytes());
    write_count(animations.len(), out);
    for (id, sequence) in animations {
        out.extend_from_slice(id.as_bytes());
        out.extend_from_slice(&sequence.to_le_bytes());
    }
    // No sources, no physical events.
    out.extend_from_slice(&[0, 0]);
}

/// AvatarAppearance: how an avatar looks, by its texture entry and a byte for each visual parameter.
///
/// # Panics
/// With more than 255 parameters, or a texture entry of more than 65,535 bytes.
pub fn write_appearance(
    agent: AgentId,
    texture_entry: &[u8],
    visual_params: &[u8],
    cof_version: i32,
    out: &mut Vec<u8>,
) {
    AvatarAppearance::NUMBER.write(out);
    out.extend_from_slice(agent.0.as_bytes());
    // No trial account.
    out.push(0);
    let length = u16::try_from(texture_entry.len()).expect("its length was checked when it was kept");
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(texture_entry);
    write_count(visual_params.len(), out);
    out.extend_from_slice(visual_params);
    // Baked by the client (version 0), without flags. Clients that support such avatars fetch their textures by id. Linden's own viewer
    // treats this as baked by the grid unless visual parameter 11000 says otherwise, and never fetches.
    out.extend_from_slice(&[1, 0]);
    out.extend_from_slice(&cof_version.to_le_bytes());
    out.extend_from_slice(&0_u32.to_le_bytes());
    // No hover height.
    out.push(0);
}

/// SimStats: a region's figures, each with its number. The region is named by its place on the grid.
///
/// # Panics
/// With more than 255 of them.
pub fn write_sim_stats(
    (region_x, region_y): (u32, u32),
    region_flags: u32,
    object_capacity: u32,
    stats: &[(u32, f32)],
    out: &mut Vec<u8>,
) {
    SimStats::NUMBER.write(out);
    for number in [region_x, region_y, region_flags, object_capacity] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    write_count(stats.len(), out);
    for (id, value) in stats {
        out.extend_from_slice(&id.to_le_bytes());
        out.extend_from_slice(&value.to_le_bytes());
    }
    // The process id stays private.
    out.extend_from_slice(&0_i32.to_le_bytes());
    // Nothing about the region beyond its flags above.
    out.push(0);
}

/// The ids that a UUIDNameRequest asks for, from its body behind the number. What follows them is not looked at.
///
/// # Errors
/// [`Malformed::Truncated`] when there are fewer than it says.
pub fn read_ids(body: &[u8]) -> Result<impl ExactSizeIterator<Item = Uuid> + Clone + use<'_>, Malformed> {
    let (&count, rows) = body.split_first().ok_or(Malformed::Truncated)?;
    let rows = rows.get(..usize::from(count) * 16).ok_or(Malformed::Truncated)?;
    Ok(rows.as_chunks::<16>().0.iter().map(|&row| Uuid::from_bytes(row)))
}

/// UUIDNameReply without its rows; as many as its last byte says then follow. See [`write_name`].
pub fn write_names_prefix(rows: u8, out: &mut Vec<u8>) {
    UUIDNameReply::NUMBER.write(out);
    out.push(rows);
}

/// A row of UUIDNameReply: first and last name, each cut to 31 bytes.
pub fn write_name(agent: Uuid, first: &str, last: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(agent.as_bytes());
    for name in [first, last] {
        let cut = &name[..name.floor_char_boundary(NAME_MAX)];
        out.push(cut.len() as u8 + 1);
        out.extend_from_slice(cut.as_bytes());
        out.push(0);
    }
}

fn write_count(rows: usize, out: &mut Vec<u8>) {
    assert!(rows <= ROWS_MAX, "a list has at most {ROWS_MAX} rows, not {rows}");
    out.push(rows as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::{
        AvatarAnimationAnimationList, AvatarAnimationSender, AvatarAppearanceAppearanceData,
        AvatarAppearanceObjectData, AvatarAppearanceSender, AvatarAppearanceVisualParam,
        CoarseLocationUpdateAgentData, CoarseLocationUpdateIndex, CoarseLocationUpdateLocation,
        KillObjectObjectData, MessageNumber, SimStatsRegion, SimStatsStat, UUIDNameReplyUUIDNameBlock,
        UUIDNameRequest, UUIDNameRequestUUIDNameBlock,
    };
    use crate::text::to_wire;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out);
        out
    }

    #[test]
    fn fan_out_bytes_equal_the_encoded_messages() {
        for rows in [0_u8, 1, 3, 255] {
            let uuid = |n: u8| Uuid::from_bytes([n; 16]);
            let ids: Vec<LocalId> = (0..rows).map(|n| LocalId(u32::from(n) << 12)).collect();
            let kills =
                KillObject { object_data: ids.iter().map(|id| KillObjectObjectData { id: id.0 }).collect() };
            assert_eq!(written(|out| write_kills(&ids, out)), written(|out| kills.encode(out)));

            for you in [None, Some(0), Some(rows)] {
                let dots = (0..rows).map(|n| (uuid(n), [n, 2, 3]));
                let coarse = CoarseLocationUpdate {
                    location: (0..rows).map(|x| CoarseLocationUpdateLocation { x, y: 2, z: 3 }).collect(),
                    index: CoarseLocationUpdateIndex { you: you.map_or(-1, i16::from), prey: -1 },
                    agent_data: (0..rows)
                        .map(|n| CoarseLocationUpdateAgentData { agent_id: uuid(n) })
                        .collect(),
                };
                assert_eq!(
                    written(|out| write_coarse_locations(dots.clone(), you, out)),
                    written(|out| coarse.encode(out))
                );
            }

            let list = (0..rows).map(|n| (uuid(n), i32::from(n) - 7));
            let animations = AvatarAnimation {
                sender: AvatarAnimationSender { id: uuid(9) },
                animation_list: list
                    .clone()
                    .map(|(anim_id, anim_sequence_id)| AvatarAnimationAnimationList {
                        anim_id,
                        anim_sequence_id,
                    })
                    .collect(),
                ..AvatarAnimation::default()
            };
            assert_eq!(
                written(|out| write_animations(AgentId(uuid(9)), list, out)),
                written(|out| animations.encode(out))
            );

            let (entry, params) = (vec![7; usize::from(rows) * 3], vec![rows; rows.into()]);
            let appearance = AvatarAppearance {
                sender: AvatarAppearanceSender { id: uuid(9), is_trial: false },
                object_data: AvatarAppearanceObjectData { texture_entry: entry.clone() },
                visual_param: params
                    .iter()
                    .map(|&param_value| AvatarAppearanceVisualParam { param_value })
                    .collect(),
                appearance_data: vec![AvatarAppearanceAppearanceData {
                    cof_version: -3,
                    ..AvatarAppearanceAppearanceData::default()
                }],
                ..AvatarAppearance::default()
            };
            assert_eq!(
                written(|out| write_appearance(AgentId(uuid(9)), &entry, &params, -3, out)),
                written(|out| appearance.encode(out))
            );

            let stats: Vec<(u32, f32)> = (0..rows).map(|n| (u32::from(n), f32::from(n) / 3.0)).collect();
            let message = SimStats {
                region: SimStatsRegion { region_x: 1, region_y: 2, region_flags: 3, object_capacity: 4 },
                stat: stats
                    .iter()
                    .map(|&(stat_id, stat_value)| SimStatsStat { stat_id, stat_value })
                    .collect(),
                ..SimStats::default()
            };
            assert_eq!(
                written(|out| write_sim_stats((1, 2), 3, 4, &stats, out)),
                written(|out| message.encode(out))
            );
        }
    }

    #[test]
    fn names_are_asked_for_and_answered_as_the_messages_say() {
        let uuid = |n: u8| Uuid::from_bytes([n; 16]);
        for rows in [0_u8, 1, 255] {
            let request = UUIDNameRequest {
                uuid_name_block: (0..rows).map(|n| UUIDNameRequestUUIDNameBlock { id: uuid(n) }).collect(),
            };
            let body = written(|out| request.encode(out));
            let (number, body) = MessageNumber::split(&body).expect("a number");
            assert_eq!(number, UUIDNameRequest::NUMBER);
            assert!(read_ids(body).expect("whole").eq((0..rows).map(uuid)));
            for length in 0..body.len() {
                assert!(read_ids(&body[..length]).is_err(), "cut to {length}");
            }
        }
        let names = [("Ada", "Lovelace"), ("Ünïcödé".repeat(5).leak(), ""), ("", "Resident")];
        let row = |(n, &(first, last)): (u8, &(&str, &str))| UUIDNameReplyUUIDNameBlock {
            id: uuid(n),
            first_name: to_wire(first, 32),
            last_name: to_wire(last, 32),
        };
        let reply = UUIDNameReply { uuid_name_block: (0..).zip(&names).map(row).collect() };
        let ours = written(|out| {
            write_names_prefix(3, out);
            (0..).zip(&names).for_each(|(n, &(first, last))| write_name(uuid(n), first, last, out));
        });
        assert_eq!(ours, written(|out| reply.encode(out)));
    }
}
