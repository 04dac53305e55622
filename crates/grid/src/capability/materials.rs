//! RenderMaterials: the legacy materials of a region's faces. There are no objects yet, so there are no materials; but a client that
//! asks on arrival needs a well-formed answer.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write;
use wire::llsd::{Llsd, binary};

/// Answers RenderMaterials with no material at all: an empty array in binary LLSD, compressed. (No bytes at all make
/// one client stumble.)
#[must_use]
pub fn no_materials() -> Llsd {
    let mut zip = ZlibEncoder::new(Vec::new(), Compression::fast());
    let zipped = zip.write_all(&binary::encode(&Llsd::Array(Vec::new()))).and_then(|()| zip.finish());
    Llsd::map([("Zipped", zipped.expect("a vector takes all bytes").into())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::ZlibDecoder;
    use std::io::Read;

    #[test]
    fn the_answer_unpacks_to_an_empty_array() {
        let reply = no_materials();
        let mut bytes = Vec::new();
        ZlibDecoder::new(reply.get("Zipped").as_binary().unwrap()).read_to_end(&mut bytes).unwrap();
        // Binary LLSD: '[', a count of zero in four bytes, ']'.
        assert!(bytes.ends_with(b"[\0\0\0\0]"), "{bytes:?}");
    }
}
