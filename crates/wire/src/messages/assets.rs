//! Assets and files over UDP. Current clients fetch assets over HTTP and use these for little else than notecards and uploads.

messages! {
    /// Asks for an asset.
    TransferRequest: Low 153, zero_coded, from Client {
        transfer_info: one TransferRequestTransferInfo {
            transfer_id: Uuid, channel_type: i32, source_type: i32, priority: f32, params: Variable2,
        }
    }

    /// Begins a transfer, or refuses it.
    TransferInfo: Low 154, zero_coded, from Server {
        transfer_info: one TransferInfoTransferInfo {
            transfer_id: Uuid, channel_type: i32, target_type: i32, status: i32, size: i32,
            params: Variable2,
        }
    }

    /// A part of an asset.
    TransferPacket: High 17, plain, from Server {
        transfer_data: one TransferPacketTransferData {
            transfer_id: Uuid, channel_type: i32, packet: i32, status: i32, data: Variable2,
        }
    }

    /// Asks for a file.
    RequestXfer: Low 156, zero_coded, from Either {
        xfer_id: one RequestXferXferID {
            id: u64, filename: Variable1, file_path: u8, delete_on_completion: bool, use_big_packets: bool,
            v_file_id: Uuid, v_file_type: i16,
        }
    }

    /// A part of a file.
    SendXferPacket: High 18, plain, from Either {
        xfer_id: one SendXferPacketXferID {
            id: u64,
            /// From 0; the top bit marks the last one.
            packet: u32,
        }
        data_packet: one SendXferPacketDataPacket {
            /// In the first part the length of the file comes first, as four bytes.
            data: Variable2,
        }
    }

    /// A part of a file has arrived.
    ConfirmXferPacket: High 19, plain, from Either {
        xfer_id: one ConfirmXferPacketXferID { id: u64, packet: u32 }
    }

    /// Ends the transfer of a file.
    AbortXfer: Low 157, plain, from Either {
        xfer_id: one AbortXferXferID {
            id: u64, result: i32,
        }
    }

    /// Asks for textures.
    RequestImage: High 8, plain, from Client {
        agent_data: one RequestImageAgentData {
            agent_id: Uuid, session_id: Uuid,
        }
        request_image: many RequestImageRequestImage {
            image: Uuid, discard_level: i8, download_priority: f32, packet: u32, r#type: u8,
        }
    }

    /// The first part of a texture, with its size and the number of all parts.
    ImageData: High 9, plain, from Server {
        image_id: one ImageDataImageID {
            id: Uuid,
            /// 2 is JPEG 2000.
            codec: u8,
            /// Bytes of the whole.
            size: u32,
            packets: u16,
        }
        image_data: one ImageDataImageData {
            data: Variable2,
        }
    }

    /// A later part of a texture.
    ImagePacket: High 10, plain, from Server {
        image_id: one ImagePacketImageID {
            id: Uuid,
            /// From 1.
            packet: u16,
        }
        image_data: one ImagePacketImageData {
            data: Variable2,
        }
    }

    /// There is no such texture.
    ImageNotInDatabase: Low 86, plain, from Server {
        image_id: one ImageNotInDatabaseImageID {
            id: Uuid,
        }
    }

    /// Uploads an asset.
    AssetUploadRequest: Low 333, plain, from Client {
        asset_block: one AssetUploadRequestAssetBlock {
            transaction_id: Uuid, r#type: i8, tempfile: bool, store_local: bool, asset_data: Variable2,
        }
    }

    /// Ends an upload.
    AssetUploadComplete: Low 334, plain, from Server {
        asset_block: one AssetUploadCompleteAssetBlock {
            uuid: Uuid, r#type: i8, success: bool,
        }
    }
}
