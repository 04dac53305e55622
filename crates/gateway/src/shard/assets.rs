//! Assets and files over UDP. Assets that the server holds are sent as transfers, and textures also as images; files do not exist, and
//! uploads are in `uploads.rs`.

use super::Shard;
use super::counters::Refused;
use super::incoming::{Handled, Incoming};
use super::uploads::XFER_FAILED;
use crate::coverage::MessageOutcome;
use circuit::{Category, Reliability};
use grid::capability::stored_asset;
use grid::inventory::AssetType;
use ids::Uuid;
use wire::messages::*;

/// The source of a transfer is an asset: its id and type are the parameters.
const SOURCE_ASSET: i32 = 2;
/// The source is an item, in an object or in the inventory: six ids, of which the last is the asset's, and its type.
const SOURCE_ITEM: i32 = 3;
/// Offset of the asset's id in the parameters of an item.
const ITEM_ASSET_AT: usize = 5 * 16;
/// Bytes of an asset in one TransferPacket.
const TRANSFER_PART: usize = 1_000;
/// Statuses of a transfer.
const TRANSFER_MORE: i32 = 0;
const TRANSFER_DONE: i32 = 1;
const TRANSFER_UNKNOWN_SOURCE: i32 = -2;
/// Bytes of a texture in ImageData and in each ImagePacket behind it; clients compute by them where a part belongs.
const IMAGE_FIRST_PART: usize = 600;
const IMAGE_PART: usize = 1_000;
/// The only codec of textures.
const CODEC_JPEG_2000: u8 = 2;
/// Textures that one message is answered for; viewers ask for fewer.
const IMAGES_MAX: usize = 50;

impl Shard {
    pub(super) fn on_transfer(&mut self, at: &mut Incoming<'_>, m: TransferRequest) -> Handled {
        let request = m.transfer_info;
        if !self.client(at.index).asks.try_spend(at.now) {
            return Err(Refused::Flood.into());
        }
        let asset = match request.source_type {
            SOURCE_ASSET => read_asset(&request.params),
            SOURCE_ITEM => request.params.get(ITEM_ASSET_AT..).and_then(read_asset),
            _ => None,
        };
        let textures = &self.config.textures;
        let Some(bytes) = asset.and_then(|(id, kind)| stored_asset(textures, id, kind)) else {
            let info = transfer_info(&request, TRANSFER_UNKNOWN_SOURCE, 0);
            return self.refuse(at, info);
        };
        let size = i32::try_from(bytes.len()).expect("assets are small");
        self.reply(at, transfer_info(&request, TRANSFER_MORE, size));
        let parts = bytes.chunks(TRANSFER_PART);
        let last = parts.len() as i32 - 1;
        for (packet, data) in (0..).zip(parts) {
            let status = if packet == last { TRANSFER_DONE } else { TRANSFER_MORE };
            let transfer_data = TransferPacketTransferData {
                transfer_id: request.transfer_id,
                channel_type: request.channel_type,
                packet,
                status,
                data: data.to_vec(),
            };
            self.reply(at, TransferPacket { transfer_data });
        }
        Ok(MessageOutcome::Done)
    }

    pub(super) fn on_xfer(&mut self, at: &mut Incoming<'_>, m: RequestXfer) -> Handled {
        let xfer_id = AbortXferXferID { id: m.xfer_id.id, result: XFER_FAILED };
        self.refuse(at, AbortXfer { xfer_id })
    }

    /// Current viewers fetch textures over HTTP. A negative discard level takes a request back.
    pub(super) fn on_image(&mut self, at: &mut Incoming<'_>, m: RequestImage) -> Handled {
        let mut outcome = MessageOutcome::Ignored;
        for row in m.request_image.iter().filter(|row| row.discard_level >= 0).take(IMAGES_MAX) {
            if !self.client(at.index).asks.try_spend(at.now) {
                return Err(Refused::Flood.into());
            }
            match stored_asset(&self.config.textures, row.image, AssetType::TEXTURE) {
                Some(texture) => {
                    self.send_image(at, row, &texture)?;
                    outcome = outcome.min(MessageOutcome::Done);
                }
                None => {
                    self.reply(
                        at,
                        ImageNotInDatabase { image_id: ImageNotInDatabaseImageID { id: row.image } },
                    );
                    outcome = outcome.min(MessageOutcome::Refused);
                }
            }
        }
        Ok(outcome)
    }

    /// Queues the parts of a texture from the one that the client asks for, as many as its circuit has room for. A client that lacks
    /// some repeats its request.
    ///
    /// # Errors
    /// [`Refused::Flood`] if there is room for none.
    fn send_image(
        &mut self,
        at: &Incoming<'_>,
        asked: &RequestImageRequestImage,
        texture: &[u8],
    ) -> Result<(), Refused> {
        let (first, rest) = texture.split_at(texture.len().min(IMAGE_FIRST_PART));
        let rest = rest.chunks(IMAGE_PART);
        let packets = u16::try_from(1 + rest.len()).expect("textures are bounded by the body of an upload");
        let size = u32::try_from(texture.len()).expect("likewise");
        let circuit = &mut self.client(at.index).circuit;
        let mut queue =
            |body: &[u8]| circuit.queue(Category::Texture, Reliability::Reliable, body, false).is_ok();
        let (mut body, mut is_first) = (Vec::new(), true);
        if asked.packet == 0 {
            let image_id = ImageDataImageID { id: asked.image, codec: CODEC_JPEG_2000, size, packets };
            let image_data = ImageDataImageData { data: first.to_vec() };
            ImageData { image_id, image_data }.encode(&mut body);
            if !queue(&body) {
                return Err(Refused::Flood);
            }
            is_first = false;
        }
        for (packet, part) in (1..).zip(rest).filter(|(packet, _)| u32::from(*packet) >= asked.packet) {
            let image_id = ImagePacketImageID { id: asked.image, packet };
            let image_data = ImagePacketImageData { data: part.to_vec() };
            body.clear();
            ImagePacket { image_id, image_data }.encode(&mut body);
            match (queue(&body), is_first) {
                (true, _) => is_first = false,
                (false, true) => return Err(Refused::Flood),
                (false, false) => break,
            }
        }
        Ok(())
    }
}

/// An asset's id and type, as parameters have them.
fn read_asset(params: &[u8]) -> Option<(Uuid, i8)> {
    let (id, rest) = params.split_first_chunk()?;
    let (kind, _) = rest.split_first_chunk()?;
    Some((Uuid::from_bytes(*id), i8::try_from(i32::from_le_bytes(*kind)).ok()?))
}

fn transfer_info(request: &TransferRequestTransferInfo, status: i32, size: i32) -> TransferInfo {
    TransferInfo {
        transfer_info: TransferInfoTransferInfo {
            transfer_id: request.transfer_id,
            channel_type: request.channel_type,
            target_type: 0,
            status,
            size,
            params: request.params.clone(),
        },
    }
}
