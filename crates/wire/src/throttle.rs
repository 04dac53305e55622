//! The `Throttles` field of AgentThrottle: how many bits per second a client wants of each kind of traffic.
//!
//! It only reads and writes the numbers, made safe to calculate with. Floors, caps and token buckets belong
//! to the circuit that obeys them.

use crate::Malformed;

/// Bytes of the field: seven F32, little-endian.
pub const THROTTLES_LEN: usize = 4 * Category::COUNT;

/// The most that one category can ask for, in bits per second: 1 Gbit/s. Far above any cap, and so low that
/// seven of them add up within 64 bits and each fits 32.
pub const BITS_PER_S_MAX: u32 = 1_000_000_000;

/// The kinds of traffic that a client limits separately, in the order of the AgentThrottle floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// Packets sent again because their ack did not come.
    Resend,
    /// Terrain.
    Land,
    /// Wind.
    Wind,
    /// Clouds.
    Cloud,
    /// Objects, avatars and most of the rest.
    Task,
    /// Textures over UDP.
    Texture,
    /// Other assets over UDP.
    Asset,
}

impl Category {
    /// Number of categories.
    pub const COUNT: usize = 7;

    /// All of them, in wire order.
    pub const ALL: [Self; Self::COUNT] =
        [Self::Resend, Self::Land, Self::Wind, Self::Cloud, Self::Task, Self::Texture, Self::Asset];

    /// Position in the field and in any array by category.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Metric label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resend => "resend",
            Self::Land => "land",
            Self::Wind => "wind",
            Self::Cloud => "cloud",
            Self::Task => "task",
            Self::Texture => "texture",
            Self::Asset => "asset",
        }
    }
}

/// A client's requested rates by category, in bits per second and at most [`BITS_PER_S_MAX`] each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttles {
    bits_per_s: [u32; Category::COUNT],
}

impl Throttles {
    /// Throttles of these rates, each brought down to [`BITS_PER_S_MAX`].
    #[must_use]
    pub fn from_bits_per_s(bits_per_s: [u32; Category::COUNT]) -> Self {
        Self { bits_per_s: bits_per_s.map(|rate| rate.min(BITS_PER_S_MAX)) }
    }

    /// Reads the field's bytes. A NaN or negative rate counts as zero and a huge or infinite one as
    /// [`BITS_PER_S_MAX`]; bytes behind the seven floats are ignored, as senders have added to this field
    /// before.
    ///
    /// # Errors
    /// [`Malformed::Truncated`] below [`THROTTLES_LEN`] bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let (floats, _) = bytes.as_chunks::<4>();
        let floats = floats.first_chunk::<{ Category::COUNT }>().ok_or(Malformed::Truncated)?;
        Ok(Self { bits_per_s: floats.map(|float| sanitised(f32::from_le_bytes(float))) })
    }

    /// Appends the field's [`THROTTLES_LEN`] bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        for rate in self.bits_per_s {
            #[expect(
                clippy::cast_precision_loss,
                reason = "the wire carries F32; rates are known to a few percent"
            )]
            out.extend_from_slice(&(rate as f32).to_le_bytes());
        }
    }

    /// One category's rate in bits per second.
    #[must_use]
    pub const fn bits_per_s(&self, category: Category) -> u32 {
        self.bits_per_s[category.index()]
    }

    /// One category's rate in whole bytes per second.
    #[must_use]
    pub const fn bytes_per_s(&self, category: Category) -> u32 {
        self.bits_per_s(category) / 8
    }

    /// The sum of all categories, in bytes per second: what the client is willing to receive at all.
    #[must_use]
    pub fn total_bytes_per_s(&self) -> u32 {
        // 7 × BITS_PER_S_MAX / 8 = 875,000,000 fits.
        Category::ALL.iter().map(|&category| self.bytes_per_s(category)).sum()
    }
}

fn sanitised(rate: f32) -> u32 {
    // A float-to-integer cast saturates and turns NaN and everything negative into zero.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturation is the rule wanted here"
    )]
    let whole = rate as u32;
    whole.min(BITS_PER_S_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn field(floats: [f32; Category::COUNT]) -> Vec<u8> {
        floats.iter().flat_map(|float| float.to_le_bytes()).collect()
    }

    #[test]
    fn rates_come_in_the_order_of_the_categories() {
        // Request of node-metaverse: 1,536,000 bit/s in all.
        let floats = [150_000.0, 170_000.0, 34_000.0, 34_000.0, 446_000.0, 446_000.0, 256_000.0];
        let throttles = Throttles::parse(&field(floats)).expect("seven floats");
        assert_eq!(throttles.bits_per_s(Category::Resend), 150_000);
        assert_eq!(throttles.bytes_per_s(Category::Wind), 4_250);
        assert_eq!(throttles.bits_per_s(Category::Asset), 256_000);
        assert_eq!(throttles.total_bytes_per_s(), 192_000);
    }

    #[test]
    fn senseless_rates_become_usable_ones() {
        let floats = [f32::NAN, -1.0, f32::NEG_INFINITY, f32::INFINITY, f32::MAX, -0.0, 0.5];
        let throttles = Throttles::parse(&field(floats)).expect("seven floats");
        assert_eq!(throttles.bits_per_s, [0, 0, 0, BITS_PER_S_MAX, BITS_PER_S_MAX, 0, 0]);
        assert_eq!(throttles.total_bytes_per_s(), BITS_PER_S_MAX / 4);
    }

    #[test]
    fn a_short_field_is_refused_and_a_long_one_is_read() {
        let bytes = field([8.0; Category::COUNT]);
        assert_eq!(Throttles::parse(&bytes[..THROTTLES_LEN - 1]), Err(Malformed::Truncated));
        let longer = [&bytes[..], &[1, 2, 3, 4, 5]].concat();
        assert_eq!(Throttles::parse(&longer), Throttles::parse(&bytes));
    }

    #[test]
    fn indexes_follow_the_wire_order() {
        for (index, category) in Category::ALL.into_iter().enumerate() {
            assert_eq!(category.index(), index);
        }
    }

    proptest! {
        #[test]
        fn any_seven_words_give_bounded_rates(words in any::<[u32; Category::COUNT]>()) {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let throttles = Throttles::parse(&bytes).expect("seven floats");
            for category in Category::ALL {
                prop_assert!(throttles.bits_per_s(category) <= BITS_PER_S_MAX);
            }
        }

        #[test]
        fn rates_that_a_float_can_hold_survive_the_wire(rates in prop::array::uniform7(0_u32..1 << 24)) {
            let throttles = Throttles::from_bits_per_s(rates);
            let mut bytes = Vec::new();
            throttles.write(&mut bytes);
            prop_assert_eq!(bytes.len(), THROTTLES_LEN);
            prop_assert_eq!(Throttles::parse(&bytes), Ok(throttles));
        }
    }
}
