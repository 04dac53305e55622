use super::*;
use bytes::Bytes;

fn asset(kind: AssetKind, bytes: &'static [u8]) -> Asset {
    Asset { kind, hash: AssetHash::of(bytes), bytes: Bytes::from_static(bytes), is_temporary: false }
}

fn texture() -> Asset {
    asset(AssetKind::Texture, b"0123456789")
}

fn headers(rows: &[(HeaderName, &str)]) -> HeaderMap {
    rows.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect()
}

fn header_of<'a>(response: &'a Response, name: &HeaderName) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

fn body_of(response: Response) -> Bytes {
    let body = axum::body::to_bytes(response.into_body(), 1 << 20);
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(body).unwrap()
}

#[test]
fn a_query_names_an_asset_and_its_kind() {
    let id = Uuid::from_u128(7);
    let ask = |name, query: String| requested_asset(name, &query);
    assert_eq!(ask("ViewerAsset", format!("texture_id={id}")), Some((AssetKind::Texture, id)));
    assert_eq!(ask("ViewerAsset", format!("x=1&sound_id={id}")), Some((AssetKind::Sound, id)));
    assert_eq!(ask("GetMesh2", format!("mesh_id={id}")), Some((AssetKind::Mesh, id)));
    for (name, query) in [
        ("GetMesh2", format!("texture_id={id}")),
        ("GetTexture", format!("mesh_id={id}")),
        ("ViewerAsset", format!("unknown_id={id}")),
        ("ViewerAsset", "texture_id=nonsense".into()),
        ("ViewerAsset", String::new()),
    ] {
        assert_eq!(ask(name, query.clone()), None, "{name} {query}");
    }
}

#[test]
fn an_asset_is_answered_whole_with_its_type_and_tag() {
    let response = answer(&texture(), &HeaderMap::new(), false);
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(header_of(&response, &header::CONTENT_TYPE), "image/x-j2c");
    assert_eq!(header_of(&response, &header::CONTENT_LENGTH), "10");
    assert_eq!(header_of(&response, &header::CACHE_CONTROL), FOR_EVER);
    assert_eq!(header_of(&response, &header::ETAG).len(), 34);
    assert_eq!(body_of(response), "0123456789");
}

#[test]
fn a_head_request_has_the_length_and_no_body() {
    let response = answer(&texture(), &headers(&[(header::RANGE, "bytes=2-4")]), true);
    assert_eq!(response.status(), StatusCode::PARTIAL_CONTENT);
    assert_eq!(header_of(&response, &header::CONTENT_LENGTH), "3");
    assert!(body_of(response).is_empty());
}

#[test]
fn parts_are_answered_as_asked() {
    for (range, status, content_range, body) in [
        ("bytes=2-4", 206, "bytes 2-4/10", "234"),
        ("bytes=8-99", 206, "bytes 8-9/10", "89"),
        ("bytes=-1", 206, "bytes 9-9/10", "9"),
        ("bytes=10-", 416, "bytes */10", ""),
        ("bytes=0-1,4-5", 200, "", "0123456789"),
    ] {
        let response = answer(&texture(), &headers(&[(header::RANGE, range)]), false);
        assert_eq!(response.status().as_u16(), status, "{range}");
        assert_eq!(header_of(&response, &header::CONTENT_RANGE), content_range, "{range}");
        assert_eq!(body_of(response), body, "{range}");
    }
}

#[test]
fn a_client_that_has_the_bytes_is_not_sent_them_again() {
    let tag = header_of(&answer(&texture(), &HeaderMap::new(), false), &header::ETAG).to_owned();
    for named in [tag.clone(), "*".into(), format!("\"other\", W/{tag}")] {
        let response = answer(&texture(), &headers(&[(header::IF_NONE_MATCH, &named)]), false);
        assert_eq!(response.status(), StatusCode::NOT_MODIFIED, "{named}");
        assert!(body_of(response).is_empty());
    }
    let other = answer(&texture(), &headers(&[(header::IF_NONE_MATCH, "\"other\"")]), false);
    assert_eq!(other.status(), StatusCode::OK);
}

#[test]
fn a_part_is_sent_only_of_the_bytes_that_the_client_has_begun() {
    let tag = header_of(&answer(&texture(), &HeaderMap::new(), false), &header::ETAG).to_owned();
    for (condition, status) in [(tag.as_str(), 206), ("\"other\"", 200)] {
        let asked = headers(&[(header::RANGE, "bytes=0-1"), (header::IF_RANGE, condition)]);
        assert_eq!(answer(&texture(), &asked, false).status().as_u16(), status, "{condition}");
    }
}

#[test]
fn an_empty_asset_is_answered() {
    let empty = asset(AssetKind::Notecard, b"");
    assert_eq!(answer(&empty, &HeaderMap::new(), false).status(), StatusCode::OK);
    let range = headers(&[(header::RANGE, "bytes=0-")]);
    assert_eq!(answer(&empty, &range, false).status(), StatusCode::RANGE_NOT_SATISFIABLE);
}
