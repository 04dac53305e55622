//! JPEG 2000 codestreams for tests, as viewers upload sculpt maps: red, green and blue of 8 bits, without loss.

use openjp2::{
    Codec, OPJ_CLRSPC_SRGB, OPJ_CODEC_J2K, Stream, opj_cparameters_t, opj_image, opj_image_comptparm,
};

/// Buffer of the encoder's output, bytes.
const WRITE_BYTES: usize = 65_536;

/// A square image of these colours, by column and row. The encoder's safe interface knows files only.
pub(super) fn encode(side: u32, colour: impl Fn(u32, u32) -> [u8; 3]) -> Vec<u8> {
    let pixels: Vec<[u8; 3]> = (0..side * side).map(|pixel| colour(pixel % side, pixel / side)).collect();
    let component =
        opj_image_comptparm { dx: 1, dy: 1, w: side, h: side, prec: 8, bpp: 8, ..Default::default() };
    let mut image = opj_image::create(&[component; 3], OPJ_CLRSPC_SRGB).unwrap();
    (image.x1, image.y1) = (side, side);
    for (part, component) in image.comps_mut().unwrap().iter_mut().enumerate() {
        let samples: Vec<i32> = pixels.iter().map(|pixel| pixel[part].into()).collect();
        assert!(component.set_data(&samples));
    }
    let mut parameters = opj_cparameters_t {
        numresolution: 2,
        tcp_mct: 1,
        tcp_numlayers: 1,
        cp_disto_alloc: 1,
        ..Default::default()
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut stream = Stream::new_file(file.path(), WRITE_BYTES, false).unwrap();
    let mut codec = Codec::new_encoder(OPJ_CODEC_J2K).unwrap();
    assert_ne!(codec.setup_encoder(&mut parameters, &mut image), 0);
    assert_ne!(codec.start_compress(&mut image, &mut stream), 0);
    assert_ne!(codec.encode(&mut stream), 0);
    assert_ne!(codec.end_compress(&mut stream), 0);
    drop(stream);
    std::fs::read(file.path()).unwrap()
}
