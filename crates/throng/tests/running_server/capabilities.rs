//! Every capability of the table answers over HTTP, and none that the table does not grant.

use crate::foreign_pages::login;
use crate::server::Server;
use gateway::coverage::CAPABILITIES;

/// The clients' call of each granted capability: method, suffix of the URL, and body.
const CALLS: &[(&str, &str, &str, &str)] = &[
    ("AttachmentResources", "GET", "", ""),
    ("AvatarPickerSearch", "GET", "?names=ada&page_size=10", ""),
    ("CopyInventoryFromNotecard", "POST", "", "<llsd><map/></llsd>"),
    ("CreateInventoryCategory", "POST", "", "<llsd><map/></llsd>"),
    // A poll that ends at once.
    (
        "EventQueueGet",
        "POST",
        "",
        "<llsd><map><key>ack</key><undef/><key>done</key><boolean>1</boolean></map></llsd>",
    ),
    ("DispatchRegionInfo", "POST", "", "<llsd><map/></llsd>"),
    ("EstateAccess", "GET", "", ""),
    ("EstateChangeInfo", "POST", "", "<llsd><map/></llsd>"),
    ("ExtEnvironment", "GET", "", ""),
    ("FetchInventory2", "POST", "", "<llsd><map><key>items</key><array/></map></llsd>"),
    ("FetchInventoryDescendents2", "POST", "", "<llsd><map><key>folders</key><array/></map></llsd>"),
    ("FetchLib2", "POST", "", "<llsd><map><key>items</key><array/></map></llsd>"),
    ("FetchLibDescendents2", "POST", "", "<llsd><map><key>folders</key><array/></map></llsd>"),
    ("GetDisplayNames", "GET", "?ids=00000000-0000-0000-0000-000000000001", ""),
    ("GetMesh", "GET", "?mesh_id=00000000-0000-0000-0000-000000000001", ""),
    ("GetMesh2", "GET", "?mesh_id=00000000-0000-0000-0000-000000000001", ""),
    ("GetTexture", "GET", "?texture_id=89556747-24cb-43ed-920b-47caed15465f", ""),
    ("GetObjectCost", "POST", "", "<llsd><map><key>object_ids</key><array/></map></llsd>"),
    ("GetObjectPhysicsData", "POST", "", "<llsd><map><key>object_ids</key><array/></map></llsd>"),
    ("LandResources", "POST", "", "<llsd><map/></llsd>"),
    ("MapLayer", "POST", "", "<llsd><map><key>Flags</key><integer>2</integer></map></llsd>"),
    ("MeshUploadFlag", "GET", "", ""),
    ("ModifyMaterialParams", "POST", "", "<llsd><array/></llsd>"),
    ("NewFileAgentInventory", "POST", "", "<llsd><map/></llsd>"),
    ("ObjectMedia", "POST", "", GET_MEDIA),
    ("ObjectMediaNavigate", "POST", "", VISIT),
    ("ParcelPropertiesUpdate", "POST", "", "<llsd><map><key>local_id</key><integer>1</integer></map></llsd>"),
    ("RemoteParcelRequest", "POST", "", "<llsd><map/></llsd>"),
    ("RenderMaterials", "GET", "", ""),
    ("RequestTaskInventory", "GET", "?task_id=00000000-0000-0000-0000-000000000001", ""),
    ("ResourceCostSelected", "POST", "", "<llsd><map><key>selected_roots</key><array/></map></llsd>"),
    ("SimulatorFeatures", "GET", "", ""),
    ("UpdateGestureAgentInventory", "POST", "", "<llsd><map/></llsd>"),
    ("UpdateGestureTaskInventory", "POST", "", "<llsd><map/></llsd>"),
    ("UpdateMaterialAgentInventory", "POST", "", "<llsd><map/></llsd>"),
    ("UpdateMaterialTaskInventory", "POST", "", "<llsd><map/></llsd>"),
    ("UpdateNotecardAgentInventory", "POST", "", "<llsd><map/></llsd>"),
    ("UpdateNotecardTaskInventory", "POST", "", "<llsd><map/></llsd>"),
    ("UpdateScriptAgent", "POST", "", "<llsd><map/></llsd>"),
    ("UpdateScriptAgentInventory", "POST", "", "<llsd><map/></llsd>"),
    ("UpdateScriptTask", "POST", "", "<llsd><map/></llsd>"),
    ("UpdateScriptTaskInventory", "POST", "", "<llsd><map/></llsd>"),
    ("UpdateSettingsAgentInventory", "POST", "", "<llsd><map/></llsd>"),
    ("UpdateSettingsTaskInventory", "POST", "", "<llsd><map/></llsd>"),
    ("UploadBakedTexture", "POST", "", "<llsd><map/></llsd>"),
    ("ViewerAsset", "GET", "/?texture_id=89556747-24cb-43ed-920b-47caed15465f", ""),
];

/// Those that change land, or list what only the estate may see: refused, since the caller has no avatar and manages no estate. A folder without an id is not made.
const FORBIDDEN: [&str; 5] = [
    "CreateInventoryCategory",
    "DispatchRegionInfo",
    "EstateAccess",
    "EstateChangeInfo",
    "ParcelPropertiesUpdate",
];
/// Calls about an object, of which the region has none, and about a mesh that is not stored.
const NOT_FOUND: [&str; 5] =
    ["GetMesh", "GetMesh2", "ObjectMedia", "ObjectMediaNavigate", "RequestTaskInventory"];
const GET_MEDIA: &str = "<llsd><map><key>verb</key><string>GET</string><key>object_id</key>\
    <uuid>00000000-0000-0000-0000-000000000001</uuid></map></llsd>";
const VISIT: &str = "<llsd><map><key>object_id</key><uuid>00000000-0000-0000-0000-000000000001</uuid>\
    <key>texture_index</key><integer>0</integer><key>current_url</key><string>http://a/</string></map></llsd>";

fn request(method: &str, path: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/llsd+xml\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn the_seed_grants_the_capabilities_of_the_table_and_each_answers() {
    let server = Server::start();
    let (status, reply) = server.request(&login("Ada", ""));
    assert_eq!(status, 200, "{reply}");
    let (_, seed) = reply.split_once("/cap/").expect("a seed capability");
    let seed = format!("/cap/{}", &seed[..seed.find('<').expect("markup")]);

    let names = CAPABILITIES.iter().map(|row| format!("<string>{}</string>", row.name));
    let asked = format!("<llsd><array>{}</array></llsd>", names.collect::<String>());
    let (status, granted) = server.request(&request("POST", &seed, &asked));
    assert_eq!(status, 200, "{granted}");
    for row in CAPABILITIES {
        let is_named = granted.contains(&format!("<key>{}</key>", row.name));
        assert_eq!(is_named, row.is_granted, "{}", row.name);
        let Some((_, method, behind, body)) = CALLS.iter().find(|(name, ..)| *name == row.name) else {
            assert!(!row.is_granted, "nothing calls {}", row.name);
            let (status, _) = server.request(&request("POST", &format!("{seed}/{}", row.name), "<llsd/>"));
            assert_eq!(status, 404, "{}", row.name);
            continue;
        };
        let path = format!("{seed}/{}{behind}", row.name);
        let (status, answer) = server.request(&request(method, &path, body));
        let expected = match row.name {
            name if FORBIDDEN.contains(&name) => 403,
            name if NOT_FOUND.contains(&name) => 404,
            _ => 200,
        };
        assert_eq!(status, expected, "{}: {answer}", row.name);
    }
    assert_eq!(CALLS.len(), CAPABILITIES.iter().filter(|row| row.is_granted).count());
}
