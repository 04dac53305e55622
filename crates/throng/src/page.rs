//! The page's files, as the build found them in `web/dist`.

use gateway::http::Asset;

include!(concat!(env!("OUT_DIR"), "/page_assets.rs"));
