//! Content of users: assets, their backups, objects, inventories, and what avatars wear.

use crate::config::key::{KeyKind, section};
use link::WORN_MAX;
use std::path::PathBuf;

section! {
    /// Assets: textures, sounds, meshes and other content of users, as files named by their hash ([keeping.md](keeping.md)).
    pub struct AssetsSection in "assets", repeated: false {
        /// Directory of the files, within the data directory unless it is absolute. Created when missing.
        ///
        /// On a file system of its own it can grow without taking space from the database. A change of it takes no files along: move them while the server is
        /// stopped.
        directory: PathBuf = "assets".into(), "path", KeyKind::Line;
        /// Memory for assets that were read or written of late.
        ///
        /// An asset that is not in memory is read from the disk and verified, a fraction of a millisecond for a texture.
        cache_bytes: u64 = 134_217_728, "bytes", KeyKind::whole(1_048_576, 1_099_511_627_776);
        /// Time in which all files are verified once, evenly, while the server runs.
        ///
        /// Shorter finds damage sooner, while the backup that has the file is still kept, and reads more from the disk.
        scrub_days: u32 = 14, "days", KeyKind::whole(1, 365);
        /// Time since its last use after which a baked texture is removed.
        ///
        /// Clients compose the appearance of an avatar, and upload it when it changes. Shorter saves disk space; an avatar that comes back later is
        /// shown as a cloud to others until its own client has baked it anew.
        bake_hours: u32 = 48, "h", KeyKind::whole(1, 8_760);
        /// Size of a texture at most.
        ///
        /// Viewers compress what users upload; photographs of 1,024 pixels take some 200 kB. Uploads of larger ones are refused.
        texture_bytes_max: u32 = 2_097_152, "bytes", KeyKind::whole(1_024, 67_108_864);
        /// Size of a sound at most.
        ///
        /// Viewers take sounds of 30 s, some 300 kB.
        sound_bytes_max: u32 = 2_097_152, "bytes", KeyKind::whole(1_024, 67_108_864);
        /// Size of a mesh at most.
        ///
        /// Each viewer that sees it fetches parts of it.
        mesh_bytes_max: u32 = 10_485_760, "bytes", KeyKind::whole(1_024, 67_108_864);
        /// Size of an animation at most.
        ///
        /// Viewers refuse animations of more than 250 kB.
        animation_bytes_max: u32 = 262_144, "bytes", KeyKind::whole(1_024, 67_108_864);
        /// Size of a notecard, a script or another text at most.
        ///
        /// Viewers' editors end at 64 KiB.
        text_bytes_max: u32 = 65_536, "bytes", KeyKind::whole(1_024, 1_048_576);
    }
}

section! {
    /// Backups of the database and of all assets, and their rehearsals ([keeping.md](keeping.md#backups)).
    pub struct BackupSection in "backup", repeated: false {
        /// Directory of the backups, by its whole path; empty: no backups but those of `throng backup`. Created when missing.
        ///
        /// On another disk, or on a file system of another machine, backups outlive the disk of the data directory. Files of assets are stored once for all
        /// backups. One server at a time writes to it.
        directory: PathBuf = PathBuf::new(), "path", KeyKind::Text;
        /// Time between two backups; 0: none without an order.
        ///
        /// Shorter loses less with the disk. The next backup copies only what is new, but reads the whole database.
        every_h: u32 = 24, "h", KeyKind::whole(0, 8_760);
        /// Backups that are kept. The newest one that is whole is kept in any case.
        ///
        /// Damage that is noticed later than the oldest backup was made is in all of them.
        keep: u32 = 14, "backups", KeyKind::whole(1, 1_000);
        /// Time between two rehearsals: the newest backup is restored for trial, verified byte by byte, and its worlds run for a second; 0: none without an
        /// order.
        ///
        /// A backup that was never restored may be none. A rehearsal reads all of it, and takes the memory of another server for some seconds.
        rehearse_every_h: u32 = 168, "h", KeyKind::whole(0, 8_760);
        /// Bytes per second that backups, rehearsals and verifications read.
        ///
        /// More ends sooner, and leaves the disk less time for the server's own work.
        bytes_per_s: u64 = 67_108_864, "bytes/s", KeyKind::whole(1_048_576, 1_099_511_627_776);
    }
}

section! {
    /// HTTP beside logins: content for clients.
    pub struct HttpSection in "http", repeated: false {
        /// Bytes of assets per second that one user is sent, on average over four seconds.
        ///
        /// A viewer that enters a region fetches some hundred textures at once. More serves it sooner, and lets fewer users take the line of all.
        asset_bytes_per_s: u32 = 4_194_304, "bytes/s", KeyKind::whole(16_384, 1_073_741_824);
    }
}

section! {
    /// Objects that users build ([building.md](building.md)). All keys can be tuned while the server runs.
    pub struct ObjectsSection in "objects", repeated: false {
        /// Prims that one session may make per second, on average over a second and more.
        ///
        /// Copies of large linksets need as many seconds as they have prims for each of these. More lets one user fill a region sooner.
        rez_per_s: u32 = 200, "prims/s", KeyKind::whole(1, 100_000);
        /// Time after which a temporary object vanishes.
        ///
        /// Temporary objects are never saved. Shorter and longer times hold for objects that become temporary from then on.
        temporary_s: u32 = 60, "s", KeyKind::whole(1, 86_400);
        /// Prims of a linkset at most.
        ///
        /// A linkset is sent, moved and saved as a whole. Existing linksets with more stay.
        link_max: u32 = 256, "prims", KeyKind::whole(1, 256);
        /// Time without a change after which viewers may keep an object in their cache.
        ///
        /// Shorter, and viewers keep objects that soon change again, for which their entry is worth nothing. Longer, and objects of a region that is
        /// being built are sent in full at each visit.
        cache_after_s: u32 = 60, "s", KeyKind::whole(1, 86_400);
    }
}

section! {
    /// Inventories of users.
    pub struct InventorySection in "inventory", repeated: false {
        /// Items of one user's inventory at most, links included. Requests for more are refused with a message.
        ///
        /// An item takes about half a kilobyte of the disk, and a viewer keeps the whole list in its memory. What an inventory has beyond a lowered limit stays.
        items_max: u32 = 200_000, "items", KeyKind::whole(1, 10_000_000);
    }
}

section! {
    /// Avatars of users.
    pub struct AvatarSection in "avatar", repeated: false {
        /// Objects that an avatar wears at most, those on its user's screen among them.
        ///
        /// Every client near by is sent them all. What an avatar wears beyond a lowered limit stays on.
        attachments_max: u32 = 38, "objects", KeyKind::whole(1, WORN_MAX as i64);
    }
}
