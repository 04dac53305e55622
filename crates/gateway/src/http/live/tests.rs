//! The feed as browsers read it. `web/test/feed.json` has a sample of each message: the page's tests read the same file, so that
//! neither side changes alone. After a change, `THRONG_UPDATE_SAMPLES=1 cargo test -p gateway samples` writes it anew.

use super::*;
use crate::http::map::{Map, MapPortal, Present};
use serde_json::{Value, json};

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/test/feed.json");

#[test]
fn a_watcher_that_reads_too_slowly_is_dropped() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let live = Live::new(WatcherLimits { max: 1, per_address_max: 1 });
    let (mut everyone, mut chat) = (live.everyone.subscribe(), live.chat.subscribe());
    for (behind, is_kept) in [(BEHIND_MAX, true), (BEHIND_MAX + 1, false)] {
        while everyone.try_recv().is_ok() {}
        for n in 0..behind {
            live.everyone.send(Message::Text(n.to_string().into())).unwrap();
        }
        let next = runtime.block_on(next_message(&mut everyone, &mut chat, false));
        assert_eq!(next.is_some(), is_kept, "{behind} messages behind");
    }
}

#[test]
fn addresses_behind_one_prefix_of_ipv6_share_a_limit() {
    let live = Live::new(WatcherLimits { max: 3, per_address_max: 2 });
    let network = |text: &str| ClientNetwork::of(text.parse().unwrap());
    assert!(live.admit(network("2001:db8::1")) && live.admit(network("2001:db8::2")));
    assert!(!live.admit(network("2001:db8::3")), "the third behind 2001:db8::/64");
    assert!(live.admit(network("2001:db8:0:1::1")), "the next prefix");
    assert!(!live.admit(network("203.0.113.9")), "as many as may in total");
    live.release(network("2001:db8::9"));
    assert!(live.admit(network("2001:db8::3")));
}

#[test]
fn messages_are_as_in_the_samples_that_the_page_reads() {
    let region = LiveRegion { id: 7, name: "Plaza", x: 1_000, y: 1_001, size_m: 256, water_m: 20.5 };
    let hello = Text::Hello {
        grid: "Here",
        login_uri: "http://127.0.0.1:9000/".into(),
        chat: true,
        worlds_uri: Some("http://127.0.0.1:9009/worlds".into()),
        regions: vec![region],
    };
    let figures = Figures {
        clients: 3,
        tick_ms_max: 2.5,
        tick_ms_mean: 0.25,
        packets_in_per_s: 30.5,
        packets_out_per_s: 40.0,
        bytes_out_per_s: 12_345.0,
        dilation: 0.75,
        uptime_s: 60.0,
    };
    let earlier = Figures { clients: 2, dilation: 1.0, ..figures };
    let names = [AvatarName { id: 4_000_000_000, name: "Ada Lovelace".into() }];
    let map = Map {
        world: 7,
        name: "Cave".into(),
        size_m: 256,
        water_m: 20.5,
        avatars: vec![Present { id: 3, name: "Ada Lovelace".into(), is_npc: false }],
    };
    let portal =
        |to: Option<&str>| MapPortal { x: 200.5, y: 128.0, radius_m: 2.0, to: to.map(str::to_owned) };
    let objects = MapObjects {
        n_boxes: 2,
        boxes: vec![[1_234, 567, 12, 8, 45], [0, 2_560, 3, 3, 359]],
        portals: vec![portal(Some("Cave")), portal(None)],
    };
    let json_of = |text: Text<'_>| serde_json::to_value(&text).expect("plain data becomes JSON");
    let samples = json!({
        "messages": [
            json_of(hello),
            json_of(Text::History(FigureHistory::of(&[earlier, figures]))),
            json_of(Text::Roster { region: 7, avatars: &names }),
            json_of(Text::Chat { region: 7, from: "Ada Lovelace", kind: "shout", text: "<b>hi</b>" }),
            json_of(Text::Figures(figures)),
        ],
        "map": map,
        "objects": objects,
    });
    if std::env::var_os("THRONG_UPDATE_SAMPLES").is_some() {
        let text = serde_json::to_string_pretty(&samples).expect("plain data becomes JSON");
        std::fs::write(SAMPLES, text + "\n").expect("the samples are writable");
    }
    let kept: Value =
        serde_json::from_str(&std::fs::read_to_string(SAMPLES).expect("the samples")).expect("JSON");
    // Over the text, which is what browsers get: as values, `0.75_f32` and `0.75` would differ in more than their type.
    let text = samples.to_string();
    assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), kept, "see the head of this file");
}
