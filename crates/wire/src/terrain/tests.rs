//! Tests of the patch codec as a whole; its parts test themselves.

use super::*;
use proptest::prelude::*;

type Heights = [f32; PATCH_SAMPLES];

/// Hills of ±15 m with a little rough ground on top.
fn hills(patch_x: u16, patch_y: u16) -> Heights {
    std::array::from_fn(|index| {
        let x = f32::from(patch_x) * 16.0 + (index % 16) as f32;
        let y = f32::from(patch_y) * 16.0 + (index / 16) as f32;
        let rough = (x * 0.9).sin() * (y * 1.1).cos() * 0.05;
        25.0 + 10.0 * (x / 31.0).sin() * (y / 23.0).cos() + 5.0 * ((x + y) / 17.0).sin() + rough
    })
}

fn region(side: u16) -> Vec<(u16, u16, Heights)> {
    (0..side).flat_map(|y| (0..side).map(move |x| (x, y, hills(x, y)))).collect()
}

/// Fields of at most this many bytes, in order.
fn encode_patches<'a>(
    layer: Layer,
    patches: impl IntoIterator<Item = (u16, u16, &'a Heights)>,
    bytes_max: usize,
) -> Vec<Vec<u8>> {
    let mut fields = Vec::new();
    let mut open = FieldWriter::new(layer, bytes_max);
    for (x, y, heights) in patches {
        let patch = EncodedPatch::new(layer, x, y, heights);
        if !open.push(&patch) {
            fields.push(std::mem::replace(&mut open, FieldWriter::new(layer, bytes_max)).finish());
            assert!(open.push(&patch), "an empty field has room");
        }
    }
    if open.n_patches() > 0 {
        fields.push(open.finish());
    }
    fields
}

fn encode(layer: Layer, patches: &[(u16, u16, Heights)], bytes_max: usize) -> Vec<Vec<u8>> {
    encode_patches(layer, patches.iter().map(|(x, y, heights)| (*x, *y, heights)), bytes_max)
}

fn decode_all(layer: Layer, fields: &[Vec<u8>]) -> Vec<Patch> {
    let mut all = Vec::new();
    for field in fields {
        let (read_layer, patches) = decode_patches(field).expect("our own field reads back");
        assert_eq!(read_layer, layer);
        all.extend(patches);
    }
    all
}

fn worst_error_m(sent: &Heights, received: &Heights) -> f32 {
    sent.iter().zip(received).map(|(sent, received)| (sent - received).abs()).fold(0.0, f32::max)
}

#[test]
fn a_flat_patch_has_the_bytes_that_the_layout_says() {
    let expected = [
        0x08,
        0x01, // stride 264
        0x10, // 16 samples a side
        0x4C, // land
        0x00, // prequant 2, word bits 2
        0x00,
        0x00,
        0xA8,
        0x41, // 21.0: half a metre below the ground
        0x01,
        0x00,        // range 1 m
        0x65,        // low byte of the id 3 << 5 | 5
        0b0010_0110, // its two high bits; "the rest is zero"; half of 97
        0b0001_0000, // the other half; padding
    ];
    let ground = [21.5; PATCH_SAMPLES];
    assert_eq!(encode_patches(Layer::Land, [(3, 5, &ground)], 1_100), [expected]);
    let (layer, patches) = decode_patches(&expected).expect("the layout reads back");
    assert_eq!(layer, Layer::Land);
    assert_eq!(patches, [Patch { x: 3, y: 5, heights: ground }]);
}

#[test]
fn an_extended_id_has_sixteen_bits_each_way() {
    let ground = [-3.0; PATCH_SAMPLES];
    let fields = encode_patches(Layer::LandExtended, [(0x0102, 0x0304, &ground)], 1_100);
    assert_eq!(fields[0][3], b'M');
    assert_eq!(fields[0][11..15], [0x04, 0x03, 0x02, 0x01]);
    assert_eq!(decode_all(Layer::LandExtended, &fields), [Patch { x: 0x0102, y: 0x0304, heights: ground }]);
}

#[test]
fn hills_arrive_within_a_decimetre_in_fields_of_bounded_size() {
    for (side, layer) in [(16, Layer::Land), (32, Layer::LandExtended)] {
        let sent = region(side);
        let fields = encode(layer, &sent, 1_100);
        assert!(fields.iter().all(|field| field.len() <= 1_100));
        let received = decode_all(layer, &fields);
        assert_eq!(received.len(), sent.len());
        let mut worst_m: f32 = 0.0;
        for ((x, y, heights), patch) in sent.iter().zip(&received) {
            assert_eq!((*x, *y), (patch.x, patch.y));
            worst_m = worst_m.max(worst_error_m(heights, &patch.heights));
        }
        assert!(worst_m < 0.1, "{worst_m} m");
    }
}

#[test]
fn a_patch_that_does_not_fit_begins_the_next_field() {
    let sent: Vec<(u16, u16, Heights)> = (0..12)
        .map(|x| {
            (x, 0, std::array::from_fn(|index| if x % 2 == 0 { 0.0 } else { (index * index % 97) as f32 }))
        })
        .collect();
    let fields = encode(Layer::Land, &sent, DATA_BYTES_MIN);
    assert!(fields.iter().all(|field| field.len() <= DATA_BYTES_MIN));
    assert!((2..sent.len()).contains(&fields.len()), "{}", fields.len());
    let positions: Vec<u16> = decode_all(Layer::Land, &fields).iter().map(|patch| patch.x).collect();
    assert_eq!(positions, Vec::from_iter(0..12));
    assert!(encode_patches(Layer::Land, [], DATA_BYTES_MIN).is_empty());
}

#[test]
#[should_panic(expected = "does not fit a land layer")]
fn a_land_layer_has_no_patch_beyond_five_bits() {
    let _ = encode_patches(Layer::Land, [(32, 0, &[0.0; PATCH_SAMPLES])], 1_100);
}

#[test]
fn no_patch_begins_with_the_end_mark() {
    assert_eq!(quantisation(8, 3), END_OF_PATCHES);
    assert_eq!(word_bits(8, 7), 4);
    assert_eq!((word_bits(9, 7), word_bits(8, 3), word_bits(8, 8)), (3, 2, 4));
    for prequant in PREQUANT {
        for bits in 0..=*WORD_BITS.end() {
            let largest = (1 << bits) - 1;
            assert_ne!(quantisation(prequant, word_bits(prequant, largest)), END_OF_PATCHES);
            assert!(WORD_BITS.contains(&word_bits(prequant, largest)));
        }
    }
}

#[test]
fn the_list_runs_along_anti_diagonals() {
    assert_eq!(ZIG_ZAG[..6], [(0, 0), (0, 1), (1, 0), (2, 0), (1, 1), (0, 2)]);
    assert_eq!(ZIG_ZAG[253..], [(14, 15), (15, 14), (15, 15)]);
    let mut all = ZIG_ZAG.to_vec();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), PATCH_SAMPLES);
}

#[test]
fn foreign_and_damaged_fields_are_refused_with_their_reason() {
    for (data, reason) in [
        (&[][..], Malformed::Truncated),
        (&[8, 1, 16, 0x4C][..], Malformed::Truncated),
        (&[8, 1, 32, 0x4C, 97][..], Malformed::Value),
        (&[8, 1, 16, 0x57, 97][..], Malformed::Value),
    ] {
        assert_eq!(decode_patches(data), Err(reason), "{data:?}");
    }
    let flat = [0.0; PATCH_SAMPLES];
    let many = encode_patches(Layer::Land, vec![(0, 0, &flat); PATCHES_MAX + 1], 100_000);
    assert_eq!(decode_patches(&many[0]), Err(Malformed::Oversized));
}

proptest! {
    /// The transform is orthonormal, so the mean square of the errors is that of the roundings, each at most
    /// half a divisor: 16.9 steps.
    #[test]
    fn any_ground_arrives_within_the_quantisation_error(
        base in -500.0_f32..4_000.0,
        spread in 0.0_f32..200.0,
        shape in proptest::collection::vec(0.0_f32..1.0, PATCH_SAMPLES),
    ) {
        let sent: Heights = std::array::from_fn(|index| base + spread * shape[index]);
        let fields = encode_patches(Layer::Land, [(31, 0, &sent)], DATA_BYTES_MIN);
        let received = decode_all(Layer::Land, &fields);
        let squares: f32 = sent.iter().zip(&received[0].heights).map(|(sent, got)| (sent - got).powi(2)).sum();
        let step_m = STEP_M.max((spread + 1.0) / 8_192.0);
        prop_assert!((squares / 256.0).sqrt() <= 16.9 * step_m + 0.002);
    }

    #[test]
    fn the_length_is_known_before_writing(shape in proptest::collection::vec(-50.0_f32..50.0, PATCH_SAMPLES)) {
        let patch = Compressed::new(&std::array::from_fn(|index| shape[index]));
        for layer in [Layer::Land, Layer::LandExtended] {
            let mut out = BitWriter::default();
            patch.write(layer, 1, 2, &mut out);
            prop_assert_eq!(out.bit_len(), patch.bits(layer));
            prop_assert!(out.bit_len() <= (DATA_BYTES_MIN - 5) * 8);
        }
    }

    #[test]
    fn any_bytes_are_decoded_without_panic(
        layer in prop_oneof![Just(b'L'), Just(b'M')],
        tail in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let mut data = vec![8, 1, 16, layer];
        data.extend(&tail);
        let _ = decode_patches(&data);
        let _ = decode_patches(&tail);
    }

    #[test]
    fn even_broken_heights_are_encoded_without_panic(
        shape in proptest::collection::vec(any::<f32>(), PATCH_SAMPLES),
    ) {
        let sent: Heights = std::array::from_fn(|index| shape[index]);
        let fields = encode_patches(Layer::Land, [(0, 0, &sent)], DATA_BYTES_MIN);
        prop_assert!(fields[0].len() <= DATA_BYTES_MIN);
    }
}
