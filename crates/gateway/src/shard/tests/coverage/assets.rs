//! Textures and body parts.

use super::{furnished, image, last};
use crate::testing::{Client, Node, Setup};
use assets::AssetKind;
use grid::asset_sources::BODY_PARTS;
use grid::inventory::library_items;
use ids::Uuid;
use std::collections::BTreeMap;
use wire::messages::*;

#[test]
fn a_body_part_arrives_by_transfer_and_an_unknown_asset_is_refused() {
    let (mut node, ada) = furnished();
    let part = &BODY_PARTS[0];
    let mut params = part.asset.as_bytes().to_vec();
    params.extend_from_slice(&13_i32.to_le_bytes());
    let request = |params| TransferRequest {
        transfer_info: TransferRequestTransferInfo {
            transfer_id: Uuid::from_u128(7),
            channel_type: 2,
            source_type: 2,
            priority: 1.0,
            params,
        },
    };
    node.clients[ada].send(&request(params.clone()).into());
    node.run_ms(500);
    let mut content = Vec::new();
    for message in &node.clients[ada].inbox {
        if let Message::TransferPacket(m) = message {
            content.extend_from_slice(&m.transfer_data.data);
        }
    }
    assert_eq!(content, part.text.as_bytes());
    let info = |client: &Client| {
        last(client, |message| match message {
            Message::TransferInfo(m) => Some((m.transfer_info.status, m.transfer_info.size)),
            _ => None,
        })
    };
    assert_eq!(info(&node.clients[ada]), (0, part.text.len() as i32));
    params[0] ^= 1;
    node.clients[ada].send(&request(params).into());
    node.run_ms(500);
    assert_eq!(info(&node.clients[ada]), (-2, 0));
}

#[test]
fn the_covenant_of_the_estate_arrives_by_transfer() {
    let mut node = Node::with(Setup { landlord: Some("Ada"), ..Setup::default() });
    let (ada, bea) = (node.enter("Ada"), node.enter("Bea"));
    node.run_ms(3_000);
    let client = &node.clients[bea];
    let ids = [client.agent.0, client.session_id.0].map(Uuid::into_bytes).concat();
    let request = |kind: &[u8]| TransferRequest {
        transfer_info: TransferRequestTransferInfo {
            transfer_id: Uuid::from_u128(8),
            channel_type: 2,
            source_type: 4,
            priority: 1.0,
            params: [&ids[..], kind].concat(),
        },
    };
    let ask = |node: &mut Node, kind: &[u8]| {
        node.clients[bea].inbox.clear();
        node.clients[bea].send(&request(kind).into());
        node.run_ms(500);
        let inbox = &node.clients[bea].inbox;
        let status = inbox.iter().find_map(|message| match message {
            Message::TransferInfo(m) => Some(m.transfer_info.status),
            _ => None,
        });
        let parts = inbox.iter().filter_map(|message| match message {
            Message::TransferPacket(m) => Some(m.transfer_data.data.clone()),
            _ => None,
        });
        (status.expect("an answer"), parts.collect::<Vec<_>>().concat())
    };
    let unknown = (-2, Vec::new());
    assert_eq!(ask(&mut node, &[0; 4]), unknown, "there is no covenant");
    let notecard = library_items().iter().find(|item| item.asset_type == AssetKind::Notecard.number());
    let notecard = notecard.expect("the library has some").asset;
    let client = &mut node.clients[ada];
    let change = EstateOwnerMessage {
        agent_data: EstateOwnerMessageAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
            transaction_id: Uuid::nil(),
        },
        method_data: EstateOwnerMessageMethodData {
            method: b"estatechangecovenantid\0".to_vec(),
            invoice: Uuid::nil(),
        },
        param_list: vec![EstateOwnerMessageParamList { parameter: format!("{notecard}\0").into_bytes() }],
    };
    client.send(&change.into());
    node.run_ms(1_000);
    let text = node.assets.read(notecard).unwrap().expect("the server has it").bytes;
    assert_eq!(ask(&mut node, &[0; 4]), (0, text.to_vec()));
    // Of another type, and of none.
    assert_eq!(ask(&mut node, &1_i32.to_le_bytes()), unknown);
    assert_eq!(ask(&mut node, &[0; 3]), unknown);
}

#[test]
fn a_texture_arrives_over_udp_in_parts_that_make_it_whole() {
    let (mut node, ada) = furnished();
    let mut request = RequestImage::default();
    request.agent_data.agent_id = node.clients[ada].agent.0;
    request.agent_data.session_id = node.clients[ada].session_id.0;
    request.request_image.push(image(ids::PLYWOOD_TEXTURE, 0));
    node.clients[ada].send(&request.into());
    node.run_ms(2_000);
    let (mut parts, mut stated) = (BTreeMap::new(), (0, 0));
    for message in &node.clients[ada].inbox {
        match message {
            Message::ImageData(m) => {
                stated = (m.image_id.size as usize, usize::from(m.image_id.packets));
                parts.insert(0, m.image_data.data.clone());
            }
            Message::ImagePacket(m) => {
                parts.insert(m.image_id.packet, m.image_data.data.clone());
            }
            _ => {}
        }
    }
    let texture = node.assets.cached(ids::PLYWOOD_TEXTURE).expect("the server has it").bytes;
    assert_eq!(stated, (texture.len(), parts.len()));
    assert_eq!(parts.into_values().collect::<Vec<_>>().concat(), *texture);
}
