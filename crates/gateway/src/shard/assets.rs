//! Assets over UDP. They are sent as transfers, and textures also as images. Files are in `files.rs`, and those of clients in `uploads.rs`.

use super::counters::Refused;
use super::incoming::{Handled, Incoming};
use super::{ClientIndex, Outbox, Shard};
use crate::coverage::MessageOutcome;
use crate::mail::{AssetRequest, FromShard, Request, StoreQuery};
use crate::object_items::find_item;
use assets::{Asset, AssetKind};
use circuit::{Category, Reliability};
use ids::{Instant, Uuid};
use link::CircuitKey;
use wire::messages::*;

/// The source of a transfer is an asset: its id and type are the parameters.
const SOURCE_ASSET: i32 = 2;
/// The source is an item, in an object or in the inventory: the ids of user, session, owner, object (null for the inventory), item and asset, and its type.
const SOURCE_ITEM: i32 = 3;
/// Offsets of the ids of object, item and asset in the parameters of an item.
const ITEM_OBJECT_AT: usize = 3 * 16;
const ITEM_AT: usize = 4 * 16;
const ITEM_ASSET_AT: usize = 5 * 16;
/// The source is an asset of the estate: agent, session, and its type are the parameters.
const SOURCE_ESTATE: i32 = 4;
/// Offset of the type, and the only type: the covenant, a notecard.
const ESTATE_TYPE_AT: usize = 2 * 16;
const ESTATE_COVENANT: i32 = 0;
/// Bytes of an asset in one TransferPacket.
const TRANSFER_PART: usize = 1_000;
/// Bytes of an asset that is sent as a transfer: texts and the like. Viewers fetch textures, sounds and meshes over HTTP.
const TRANSFER_BYTES_MAX: usize = 256 * 1_024;
/// Bytes of a texture that is sent as an image: as many as its parts can be numbered.
const IMAGE_BYTES_MAX: usize = IMAGE_FIRST_PART + IMAGE_PART * (u16::MAX as usize - 1);
/// Statuses of a transfer.
const TRANSFER_MORE: i32 = 0;
const TRANSFER_DONE: i32 = 1;
const TRANSFER_UNKNOWN_SOURCE: i32 = -2;
const TRANSFER_NO_PERMISSION: i32 = -3;
/// Bytes of a texture in ImageData and in each ImagePacket behind it; clients compute by them where a part belongs.
const IMAGE_FIRST_PART: usize = 600;
const IMAGE_PART: usize = 1_000;
/// The only codec of textures.
const CODEC_JPEG_2000: u8 = 2;
/// Textures that one message is answered for; viewers ask for fewer.
const IMAGES_MAX: usize = 50;

impl Shard {
    pub(super) fn on_transfer(&mut self, at: &mut Incoming<'_>, m: TransferRequest) -> Handled {
        let mut transfer = m.transfer_info;
        if !self.client(at.index).asks.try_spend(at.now) {
            return Err(Refused::Flood.into());
        }
        let asset = match transfer.source_type {
            SOURCE_ASSET => read_asset(&transfer.params).ok_or(TRANSFER_UNKNOWN_SOURCE),
            SOURCE_ITEM => self.asset_of_item(at.index, &mut transfer.params),
            SOURCE_ESTATE => self.estate_asset(at, &transfer.params).ok_or(TRANSFER_UNKNOWN_SOURCE),
            _ => Err(TRANSFER_UNKNOWN_SOURCE),
        };
        match asset {
            Ok((id, kind)) => self.serve_asset(at, AssetRequest::Transfer { id, kind, transfer }),
            Err(status) => self.refuse(at, transfer_info(&transfer, status, 0)),
        }
    }

    /// The asset of an item by the parameters of a transfer, or the status of a refusal.
    ///
    /// A client need not know the asset of an item in an object, and names a null one: it is written into the parameters, which the answer repeats. Viewers keep the
    /// bytes under the id that they find there.
    fn asset_of_item(&mut self, index: ClientIndex, params: &mut [u8]) -> Result<(Uuid, AssetKind), i32> {
        let id_at = |at: usize| params.get(at..)?.first_chunk::<16>().copied().map(Uuid::from_bytes);
        let asset = params.get(ITEM_ASSET_AT..).and_then(read_asset);
        let ids = id_at(ITEM_OBJECT_AT).zip(id_at(ITEM_AT)).zip(asset);
        let ((object, item), (asset, kind)) = ids.ok_or(TRANSFER_UNKNOWN_SOURCE)?;
        if object.is_nil() {
            return Ok((asset, kind));
        }
        let client = self.client(index);
        let found = find_item(&client.place, client.ticket.agent, object, item);
        let found = found.filter(|found| found.item.asset_type == kind.number());
        let found = found.ok_or(TRANSFER_UNKNOWN_SOURCE)?;
        if !found.may_read {
            return Err(TRANSFER_NO_PERMISSION);
        }
        let asset = found.item.asset;
        params[ITEM_ASSET_AT..][..16].copy_from_slice(asset.as_bytes());
        Ok((asset, kind))
    }

    /// The asset of the estate that parameters name. Visitors have to be able to read the covenant: no right is asked for.
    fn estate_asset(&mut self, at: &Incoming<'_>, params: &[u8]) -> Option<(Uuid, AssetKind)> {
        let (kind, _) = params.get(ESTATE_TYPE_AT..)?.split_first_chunk()?;
        if i32::from_le_bytes(*kind) != ESTATE_COVENANT {
            return None;
        }
        let covenant = self.estate_of(at)?.covenant;
        (!covenant.is_nil()).then_some((covenant, AssetKind::Notecard))
    }

    /// Current viewers fetch textures over HTTP. A negative discard level takes a request back.
    pub(super) fn on_image(&mut self, at: &mut Incoming<'_>, m: RequestImage) -> Handled {
        let mut outcome = MessageOutcome::Ignored;
        for row in m.request_image.into_iter().filter(|row| row.discard_level >= 0).take(IMAGES_MAX) {
            if !self.client(at.index).asks.try_spend(at.now) {
                return Err(Refused::Flood.into());
            }
            outcome = outcome.min(self.serve_asset(at, AssetRequest::Image(row))?);
        }
        Ok(outcome)
    }

    /// Sends an asset that is in memory, or follows it; has another one read, which comes back with [`Self::on_asset_read`].
    pub(super) fn serve_asset(&mut self, at: &mut Incoming<'_>, request: AssetRequest) -> Handled {
        let (id, kind) = request.asset();
        let Some(asset) = self.config.assets.cached(id) else {
            let key = self.client(at.index).key();
            self.mail.push(FromShard::Request(key, Request::LookUp(StoreQuery::Asset(request))));
            return Ok(MessageOutcome::Done);
        };
        let asset = Some(asset).filter(|asset| asset.kind == kind);
        self.send_asset(at, &request, asset.as_ref())
    }

    /// An asset that was read for a client.
    pub(super) fn on_asset_read(
        &mut self,
        now: Instant,
        circuit: CircuitKey,
        request: AssetRequest,
        asset: Option<Asset>,
        out: &mut Outbox,
    ) {
        let Some(&index) = self.by_circuit.get(&circuit) else { return };
        let at = &mut Incoming { now, index, name: None, out };
        if self.send_asset(at, &request, asset.as_ref()).is_err() {
            self.counters.refuse(Refused::Flood);
        }
    }

    fn send_asset(
        &mut self,
        at: &mut Incoming<'_>,
        request: &AssetRequest,
        asset: Option<&Asset>,
    ) -> Handled {
        let bytes_max = match request {
            AssetRequest::Transfer { .. } | AssetRequest::Landmark(_) => TRANSFER_BYTES_MAX,
            AssetRequest::Image(_) => IMAGE_BYTES_MAX,
        };
        let asset = asset.filter(|asset| asset.bytes.len() <= bytes_max);
        match (request, asset) {
            (AssetRequest::Transfer { transfer, .. }, Some(asset)) => {
                self.send_transfer(at, transfer, &asset.bytes);
                Ok(MessageOutcome::Done)
            }
            (AssetRequest::Transfer { transfer, .. }, None) => {
                self.refuse(at, transfer_info(transfer, TRANSFER_UNKNOWN_SOURCE, 0))
            }
            (AssetRequest::Image(row), Some(asset)) => {
                self.send_image(at, row, &asset.bytes)?;
                Ok(MessageOutcome::Done)
            }
            (AssetRequest::Image(row), None) => {
                self.refuse(at, ImageNotInDatabase { image_id: ImageNotInDatabaseImageID { id: row.image } })
            }
            (AssetRequest::Landmark(_), landmark) => self.follow_landmark(at, landmark),
        }
    }

    fn send_transfer(&mut self, at: &mut Incoming<'_>, transfer: &TransferRequestTransferInfo, bytes: &[u8]) {
        let size = i32::try_from(bytes.len()).expect("transfers are bounded");
        self.reply(at, transfer_info(transfer, TRANSFER_MORE, size));
        // An asset without bytes has one part all the same, which ends the client's wait.
        let n_parts = bytes.len().div_ceil(TRANSFER_PART).max(1);
        for packet in 0..n_parts {
            let part = bytes.get(packet * TRANSFER_PART..).unwrap_or_default();
            let status = if packet + 1 == n_parts { TRANSFER_DONE } else { TRANSFER_MORE };
            let transfer_data = TransferPacketTransferData {
                transfer_id: transfer.transfer_id,
                channel_type: transfer.channel_type,
                packet: i32::try_from(packet).expect("transfers are bounded"),
                status,
                data: part[..part.len().min(TRANSFER_PART)].to_vec(),
            };
            self.reply(at, TransferPacket { transfer_data });
        }
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
fn read_asset(params: &[u8]) -> Option<(Uuid, AssetKind)> {
    let (id, rest) = params.split_first_chunk()?;
    let (kind, _) = rest.split_first_chunk()?;
    let kind = i8::try_from(i32::from_le_bytes(*kind)).ok()?;
    Some((Uuid::from_bytes(*id), AssetKind::from_number(kind)?))
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
