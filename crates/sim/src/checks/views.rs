//! Clients' views, compared with the census.

use super::census::CensusEntry;
use super::prims::unlike_prims;
use super::{Census, Failure, Rule};
use crate::network::Cuts;
use bots::observer::{Observer, SeenAvatar};
use glam::Quat;
use ids::{AgentId, Instant};
use replicate::border_ranks;
use replicate::scenery::REACH_M;
use std::time::Duration;

/// Maximum time for which a client may display a departed avatar. KillObject is reliable: on a bad path it is resent for some seconds,
/// at worst every 3 s.
pub(super) const GHOST_MAX: Duration = Duration::from_secs(20);

/// Largest difference between the components of a rotation and its quantised form: one step of 2/65,535, and the same again for
/// rebuilding w in full updates.
const ROTATION_STEP: f32 = 4.0 / 65_535.0;

/// Time at rest after which an avatar must be displayed at its position, in a world that never rests.
const STANDS: Duration = Duration::from_secs(3);

/// Finds a displayed avatar that has been gone for too long, or never was present. Times of cuts and stops do not count.
pub(crate) fn ghosts(
    now: Instant,
    observer: &Observer,
    census: &Census,
    pauses: [&Cuts; 2],
) -> Result<(), Failure> {
    let fail = |found: String| Err(Failure::new(now, Rule::NoGhosts, found));
    for seen in observer.avatars() {
        if census.resident(seen.agent).is_some() {
            continue;
        }
        match census.left_at(seen.agent) {
            None => return fail(format!("{:?} is shown and was never there", seen.agent)),
            Some(left_at) => {
                let paused: Duration = pauses.iter().map(|cuts| cuts.cut_between(left_at, now)).sum();
                if now.since(left_at) > GHOST_MAX + paused {
                    return fail(format!("{:?} is shown and left at {left_at:?}", seen.agent));
                }
            }
        }
    }
    Ok(())
}

/// The first difference between a client's view and a world at rest: its own avatar and the nearest others must be displayed exactly.
/// NPCs that moved within [`STANDS`] only have to be displayed.
pub(crate) fn unlike_the_world(
    now: Instant,
    observer: &Observer,
    census: &Census,
    own: AgentId,
    visible_max: usize,
) -> Option<String> {
    let Some(own_place) = census.resident(own).map(|own| own.motion.position) else {
        return Some("its own avatar is not there".to_owned());
    };
    let mut squares: Vec<f32> = others(census, own).map(|other| other.square(own_place)).collect();
    squares.sort_unstable_by(f32::total_cmp);
    let square_at = |rank: usize| squares.get(rank).copied().unwrap_or(f32::INFINITY);
    let border = border_ranks(visible_max);
    let is_contested = census.has_npcs();
    // With no more than may be shown, all are.
    let surely = square_at(if squares.len() > visible_max { border.start } else { squares.len() });
    let perhaps = square_at(border.end);
    let (shown, here) = (observer.avatars().count(), squares.len() + 1);
    let mut n_here = 0;
    for resident in census.residents() {
        let (agent, square) = (resident.agent, resident.square(own_place));
        let Some(seen) = observer.avatar(agent) else {
            if agent != own && square >= surely {
                continue;
            }
            let (name, metres) = (&resident.name, square.sqrt());
            return Some(format!(
                "{agent:?} ({name}), {metres} m away, is not shown ({shown} of {here} are)"
            ));
        };
        n_here += 1;
        if square >= perhaps {
            return Some(format!("{agent:?} is shown from {} m, others are nearer", square.sqrt()));
        }
        if is_contested && !resident.has_stood(now, STANDS) {
            continue;
        }
        if let Some(difference) = difference(seen, resident) {
            let whose = if agent == own { "its own avatar" } else { "another avatar" };
            return Some(format!("{whose}, {agent:?}, {difference}"));
        }
    }
    for (id, place) in census.objects().filter(|(_, place)| place.distance(own_place) <= REACH_M) {
        let shown = observer.prims().get(id).map(|prim| prim.position);
        if shown != Some(place) {
            return Some(format!("{id:?}, a thing at {place}, is shown at {shown:?}"));
        }
    }
    if let Some(difference) = unlike_prims(observer, census, own_place) {
        return Some(difference);
    }
    let due = 1 + squares.len().min(visible_max);
    (shown != due || n_here != due)
        .then(|| format!("{shown} are shown, of whom {n_here} are there, and should be {due} of {here}"))
}

fn others(census: &Census, own: AgentId) -> impl Iterator<Item = &CensusEntry> {
    census.residents().filter(move |resident| resident.agent != own)
}

/// Positions travel as they are, so they have to be equal; velocities of zero are zero, rotations are quantised.
fn difference(seen: &SeenAvatar, resident: &CensusEntry) -> Option<String> {
    let motion = &resident.motion;
    let name = format!("{} {}", seen.first_name, seen.last_name);
    if name != resident.name {
        return Some(format!("is called {name} and not {}", resident.name));
    }
    if seen.position != motion.position || seen.velocity != motion.velocity {
        return Some(format!(
            "is shown at {} with {} m/s, last updated at {:?}, and is at {} with {} m/s",
            seen.position, seen.velocity, seen.updated_at, motion.position, motion.velocity
        ));
    }
    (!alike(seen.rotation, motion.rotation))
        .then(|| format!("is shown turned to {} and is turned to {}", seen.rotation, motion.rotation))
}

/// A quaternion and its negative turn alike.
fn alike(a: Quat, b: Quat) -> bool {
    a.abs_diff_eq(b, ROTATION_STEP) || a.abs_diff_eq(-b, ROTATION_STEP)
}
