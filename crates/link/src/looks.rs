//! Looks of NPCs.
//!
//! Clients shape an avatar by one byte for each of 218 visual parameters, in the order of their ids; newer viewers have further
//! parameters behind these, and use their defaults. People have that shape with some bytes drawn from their names: equal names look
//! equal in every world and after every change of the files, and two NPCs of one kind differ.
//!
//! Viewers take the colours of other avatars' skin, hair and clothes from baked textures, not from these bytes. People wear plain ones
//! with well-known ids ([`ids::COLOUR_TEXTURES`]); viewers show an avatar without any as a cloud.

use crate::{command::Appearance, scenery::plain_texture};
use ids::Uuid;
use serde::{Deserialize, Serialize};
use state_hash::{StateHasher, mix};
use std::sync::Arc;
use thiserror::Error;

/// Appearance of the NPCs of a kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Looks {
    /// Like people, each in its own way.
    #[default]
    Person,
    /// All the same.
    Worn(Arc<Appearance>),
    /// Like nothing yet: clients show a cloud.
    Cloud,
}

/// Reasons to refuse bytes as looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LooksError {
    /// The number of visual parameters is out of range.
    #[error("{0} visual parameters, and there have to be 218 to 255")]
    VisualParams(usize),
    /// A texture entry that no client could have sent.
    #[error("a texture entry of {0} bytes, and it has to be of 1 to {max}", max = Appearance::TEXTURE_ENTRY_MAX)]
    TextureEntry(usize),
}

impl Looks {
    /// One appearance, recorded from a client, worn by all NPCs of the kind. Their box keeps the size of all NPCs.
    ///
    /// # Errors
    /// [`LooksError`] if no client could have sent it.
    pub fn worn(visual_params: Vec<u8>, texture_entry: Vec<u8>) -> Result<Self, LooksError> {
        Self::check(&visual_params, &texture_entry)?;
        Ok(Self::Worn(Arc::new(dressed(visual_params, texture_entry))))
    }

    /// Checks the arguments of [`Self::worn`].
    ///
    /// # Errors
    /// As [`Self::worn`].
    pub fn check(visual_params: &[u8], texture_entry: &[u8]) -> Result<(), LooksError> {
        if !(PLAIN.len()..=Appearance::VISUAL_PARAMS_MAX).contains(&visual_params.len()) {
            return Err(LooksError::VisualParams(visual_params.len()));
        }
        if !(1..=Appearance::TEXTURE_ENTRY_MAX).contains(&texture_entry.len()) {
            return Err(LooksError::TextureEntry(texture_entry.len()));
        }
        Ok(())
    }

    /// Appearance of the NPC with that name.
    #[must_use]
    pub fn of(&self, first_name: &str, last_name: &str) -> Option<Arc<Appearance>> {
        match self {
            Self::Person => {
                let mut draw = Draw::of(first_name, last_name);
                Some(Arc::new(dressed(shape(&mut draw), clothes(&mut draw))))
            }
            Self::Worn(appearance) => Some(Arc::clone(appearance)),
            Self::Cloud => None,
        }
    }

    /// Folds in all that makes it differ from others.
    pub fn fold_into(&self, hasher: &mut StateHasher) {
        match self {
            Self::Person => hasher.u32(0),
            Self::Cloud => hasher.u32(1),
            Self::Worn(appearance) => {
                hasher.u32(2);
                hasher.bytes(&appearance.visual_params);
                hasher.bytes(&appearance.texture_entry);
            }
        }
    }
}

/// Position and contact of NPCs are computed for a box of the usual height.
const fn dressed(visual_params: Vec<u8>, texture_entry: Vec<u8>) -> Appearance {
    Appearance { texture_entry, visual_params, cof_version: 0, height_m: Appearance::DEFAULT_SIZE.z }
}

fn shape(draw: &mut Draw) -> Vec<u8> {
    let mut params = PLAIN.to_vec();
    for &(index, least, most) in VARIED {
        params[index] = draw.between(least, most);
    }
    params[MALE] = draw.between(0, 1) * 255;
    params
}

/// A texture entry: [`UNBAKED`] with a texture of its own for each of [`BAKED`].
fn clothes(draw: &mut Draw) -> Vec<u8> {
    let (texture, other) = UNBAKED.split_at(16);
    let mut entry = texture.to_vec();
    for &(face, first, last) in BAKED {
        write_face(face, &mut entry);
        let number = draw.between(first, last);
        entry.extend_from_slice(Uuid::from_u64_pair(ids::COLOUR_TEXTURES, number.into()).as_bytes());
    }
    entry.extend_from_slice(other);
    entry
}

/// The set of one face, seven bits a byte, the highest first.
fn write_face(face: u8, out: &mut Vec<u8>) {
    let behind = usize::from(face / 7);
    for place in (0..=behind).rev() {
        let bit = if place == behind { 1 << (face % 7) } else { 0 };
        out.push(if place > 0 { bit | 0x80 } else { bit });
    }
}

/// Random numbers drawn from a name.
struct Draw(u64);

impl Draw {
    fn of(first_name: &str, last_name: &str) -> Self {
        let mut hasher = StateHasher::new();
        hasher.bytes(first_name.as_bytes());
        hasher.bytes(last_name.as_bytes());
        Self(hasher.finish())
    }

    const fn between(&mut self, least: u8, most: u8) -> u8 {
        self.0 = mix(self.0);
        let values = (most - least) as u64 + 1;
        least + ((self.0 >> 32) % values) as u8
    }
}

/// The viewers' mark for "nothing is baked here", on every face. Any other texture on the face of the skirt, or of an optional garment,
/// is displayed as that garment: another texture here would give every avatar a skirt.
const UNBAKED: [u8; 47] = plain_texture(0xc228_d1cf_4b5d_4ba8_84f4_899a_0796_aa97);

/// Faces with baked textures, and the first and the last number of what may be worn there: head, upper and lower body, eyes, hair.
const BAKED: &[(u8, u8, u8)] = &[(8, 0, 7), (9, 8, 19), (10, 20, 27), (11, 28, 31), (20, 32, 39)];

/// The visual parameter of men; all or nothing.
const MALE: usize = 31;

/// Visual parameters that differ between people, with their ranges: shapes alone, since the parameters of colours are displayed to no
/// other client. People are 1.84 to 1.94 m tall, in a box of 1.9.
const VARIED: &[(usize, u8, u8)] = &[
    // Nose, chin, cheeks, ears, brows and lips.
    (0, 10, 70),
    (1, 40, 90),
    (2, 60, 120),
    (4, 40, 80),
    (5, 100, 150),
    (7, 60, 110),
    (8, 40, 90),
    (11, 60, 120),
    (14, 60, 130),
    (17, 40, 90),
    (21, 90, 130),
    (23, 110, 160),
    (59, 85, 130),
    (79, 90, 170),
    (85, 50, 80),
    (104, 70, 105),
    (124, 105, 150),
    // Height, thickness, shoulders, hips.
    (25, 152, 192),
    (26, 55, 110),
    (28, 85, 145),
    (29, 110, 160),
    // Chest, belly, fat, muscles of the torso (women's and men's) and of the legs.
    (35, 60, 170),
    (60, 0, 70),
    (101, 0, 70),
    (105, 70, 190),
    (119, 70, 190),
    (107, 80, 180),
    // Head, legs.
    (120, 110, 146),
    (125, 148, 164),
    // Hair: sides, back, parting, volume.
    (50, 30, 200),
    (51, 30, 200),
    (54, 0, 80),
    (154, 90, 190),
];

/// All visual parameters with the defaults of the viewers' definition of avatars.
#[rustfmt::skip]
const PLAIN: [u8; 218] = [
    33, 62, 85, 23, 59, 128, 64, 85, 64, 42, 0, 85, 64, 36, 85, 96, 153, 64, 34, 0,
    64, 109, 89, 133, 64, 136, 81, 85, 104, 136, 128, 0, 203, 0, 0, 128, 0, 0, 128, 0,
    0, 128, 0, 0, 0, 128, 115, 128, 99, 64, 128, 140, 128, 128, 0, 0, 0, 191, 0, 104,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 145, 217, 134, 0, 128, 0, 128, 170, 0, 0, 128,
    128, 109, 85, 128, 128, 64, 85, 42, 100, 217, 214, 204, 204, 204, 51, 26, 89, 76, 204, 0,
    128, 0, 0, 144, 85, 128, 133, 128, 85, 0, 128, 128, 128, 128, 128, 128, 59, 128, 85, 128,
    128, 106, 48, 80, 128, 128, 204, 64, 0, 0, 0, 0, 128, 127, 0, 0, 0, 0, 128, 0,
    159, 0, 0, 178, 128, 36, 85, 132, 128, 128, 128, 153, 96, 0, 140, 75, 27, 128, 128, 0,
    214, 204, 199, 0, 0, 64, 30, 128, 227, 255, 199, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    204, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0, 255, 255, 255, 255, 255, 0,
    128, 128, 255, 26, 100, 255, 255, 255, 255, 85, 0, 0, 0, 51, 133, 255, 255, 255,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn person(first: &str, last: &str) -> Arc<Appearance> {
        Looks::Person.of(first, last).expect("people look like something")
    }

    #[test]
    fn appearances_follow_from_names_and_are_distinct() {
        let people: Vec<_> = (0..256).map(|n| person(&format!("Tom{n}"), "Bandit")).collect();
        assert_eq!(people[7], person("Tom7", "Bandit"), "a name has one look");
        for (n, one) in people.iter().enumerate() {
            assert!(people[..n].iter().all(|other| other.visual_params != one.visual_params), "Tom{n}");
        }
        let men = people.iter().filter(|one| one.visual_params[MALE] == 255).count();
        assert!((96..160).contains(&men), "{men} men");
    }

    #[test]
    fn varied_parameters_are_within_bounds_and_the_rest_is_plain() {
        for (n, &(index, least, most)) in VARIED.iter().enumerate() {
            assert!(index != MALE && least < most, "{index}");
            assert!(VARIED[..n].iter().all(|(other, ..)| *other != index), "{index} twice");
        }
        let is_varied = |index| index == MALE || VARIED.iter().any(|(varied, ..)| *varied == index);
        let mut seen = vec![(u8::MAX, u8::MIN); PLAIN.len()];
        for n in 0..2_000 {
            for (index, &value) in person("Ada", &n.to_string()).visual_params.iter().enumerate() {
                assert!(is_varied(index) || value == PLAIN[index], "{index} is {value}");
                seen[index] = (seen[index].0.min(value), seen[index].1.max(value));
            }
        }
        for &(index, least, most) in VARIED {
            let (lowest, highest) = seen[index];
            assert!(lowest >= least && highest <= most, "{index}: {lowest} to {highest}");
            let range = most - least;
            assert!(lowest <= least + range / 8 && highest >= most - range / 8, "{index} uses its range");
        }
    }

    #[test]
    fn people_wear_a_texture_on_each_face_that_is_baked() {
        let entry = &person("Tom", "Bandit").texture_entry;
        let unbaked = Uuid::parse_str("c228d1cf-4b5d-4ba8-84f4-899a0796aa97").expect("an id");
        assert_eq!(&entry[..16], unbaked.as_bytes(), "all other faces, that of the skirt among them");
        assert_eq!(&entry[entry.len() - 31..], &UNBAKED[16..]);
        let mut rest = &entry[16..entry.len() - 31];
        for (&(_, first, last), set) in
            BAKED.iter().zip([&[0x82, 0][..], &[0x84, 0], &[0x88, 0], &[0x90, 0], &[0xc0, 0x80, 0]])
        {
            rest = rest.strip_prefix(set).expect("the set of its face");
            let (id, behind) = rest.split_first_chunk().expect("an id");
            let (space, number) = Uuid::from_bytes(*id).as_u64_pair();
            assert!(space == ids::COLOUR_TEXTURES && (first.into()..=last.into()).contains(&number));
            rest = behind;
        }
        assert!(rest.is_empty());
    }

    #[test]
    fn only_what_a_client_could_have_sent_is_worn() {
        let worn = |params, entry| Looks::worn(vec![7; params], vec![0; entry]);
        for params in [0, 217, 256] {
            assert_eq!(worn(params, 47), Err(LooksError::VisualParams(params)));
        }
        for entry in [0, 2_049] {
            assert_eq!(worn(218, entry), Err(LooksError::TextureEntry(entry)));
        }
        let looks = worn(253, 2_048).expect("as large as it can be");
        let (one, other) = (looks.of("Ada", "A").expect("worn"), looks.of("Ben", "B").expect("worn"));
        assert!(Arc::ptr_eq(&one, &other), "all have the same");
        assert_eq!(Appearance::avatar_size(Some(&one)), Appearance::DEFAULT_SIZE);
        assert_eq!(Looks::Cloud.of("Ada", "A"), None);
    }
}
