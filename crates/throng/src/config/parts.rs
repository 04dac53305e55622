//! The configuration in the types of the crates that use it.

use super::{AssetsSection, BackupSection, Config, PublicChatAudience, RegionSection, TemplateSection};
use assets::{AssetKind, SizeLimits};
use content_threads::asset_threads::AssetSettings;
use content_threads::content::ConfiguredContent;
use data_dir::DataDir;
use gateway::http::live;
use gateway::http::{Hostnames, Proxies, ProxyHeader, Settings};
use grid::attempts::{AttemptLimits, FailureBudget};
use grid::capability::SimulatorFeatures;
use grid::login::LoginConfig;
use job_desk::BackupSettings;
use std::net::SocketAddr;
use std::time::Duration;
use store::InventoryLimits;

pub(crate) fn login_config(config: &Config) -> LoginConfig {
    let login = &config.login;
    let per_minute = |failures: u32| FailureBudget {
        burst: failures,
        forgiven_after: Duration::from_secs(60) / failures.max(1),
    };
    LoginConfig {
        open_registration: login.open_registration,
        remember: Duration::from_secs(60 * u64::from(login.remember_min)),
        attempts: AttemptLimits {
            address: per_minute(login.address_failures_per_min),
            pair: per_minute(login.account_failures_per_min),
            account: per_minute(login.account_failures_per_min.saturating_mul(3)),
            exempt_loopback: login.loopback_exempt,
            ..AttemptLimits::default()
        },
        ..LoginConfig::default()
    }
}

pub(crate) const fn watcher_limits(config: &Config) -> live::WatcherLimits {
    let page = &config.page;
    live::WatcherLimits { max: page.watchers_max, per_address_max: page.watchers_per_address_max }
}

pub(crate) fn inventory_limits(config: &Config) -> InventoryLimits {
    InventoryLimits { items_max: config.inventory.items_max, ..InventoryLimits::default() }
}

/// Sizes of assets by kind.
pub(crate) fn size_limits(section: &AssetsSection) -> SizeLimits {
    let texts = [
        AssetKind::CallingCard,
        AssetKind::Landmark,
        AssetKind::Clothing,
        AssetKind::Notecard,
        AssetKind::Script,
        AssetKind::BodyPart,
        AssetKind::Gesture,
        AssetKind::Material,
    ];
    let limits = SizeLimits::default()
        .with(AssetKind::Texture, section.texture_bytes_max)
        .with(AssetKind::Sound, section.sound_bytes_max)
        .with(AssetKind::Mesh, section.mesh_bytes_max)
        .with(AssetKind::Animation, section.animation_bytes_max);
    texts.into_iter().fold(limits, |limits, kind| limits.with(kind, section.text_bytes_max))
}

/// Settings of the assets of a server on this data directory.
pub(crate) fn asset_settings(section: &AssetsSection, data: &DataDir) -> AssetSettings {
    AssetSettings {
        folder: data.path().join(&section.directory),
        cache_bytes: section.cache_bytes,
        temporary_s: i64::from(section.bake_hours) * 3_600,
        scrub_days: section.scrub_days,
    }
}

/// Content that a region begins with.
pub(crate) fn region_content(region: &RegionSection) -> ConfiguredContent {
    let RegionSection { name, content, size_m, .. } = region;
    ConfiguredContent { name: name.clone(), path: content.clone(), size_m: *size_m }
}

/// Content of a template.
pub(crate) fn template_content(template: &TemplateSection) -> ConfiguredContent {
    let TemplateSection { name, content, size_m, .. } = template;
    ConfiguredContent { name: name.clone(), path: content.clone(), size_m: *size_m }
}

pub(crate) fn backup_settings(config: &Config) -> BackupSettings {
    let BackupSection { directory, every_h, keep, rehearse_every_h, bytes_per_s } = &config.backup;
    BackupSettings {
        directory: directory.clone(),
        every_h: *every_h,
        rehearse_every_h: *rehearse_every_h,
        keep: *keep,
        bytes_per_s: *bytes_per_s,
    }
}

pub(crate) fn proxies(config: &Config) -> Proxies {
    let trusted = config.server.trusted_proxies.iter().filter_map(|text| super::network(text));
    let header = match config.server.proxy_header.as_str() {
        "forwarded" => ProxyHeader::Forwarded,
        _ => ProxyHeader::XForwardedFor,
    };
    Proxies::new(trusted.collect(), header)
}

pub(crate) fn settings(config: &Config, http_port: u16, admin: SocketAddr, unix_start_s: u64) -> Settings {
    let radius = |kind: link::ChatKind| kind.radius_m() as i32;
    let advertised = config.server.advertise.ip;
    let host = advertised.map_or_else(|| config.server.http.ip().to_string(), |ip| ip.to_string());
    Settings {
        grid_name: config.server.name.clone(),
        welcome: config.login.welcome.clone(),
        advertised_ip: advertised,
        http_port,
        admin,
        unix_start_s,
        hostnames: Hostnames::new(&config.server.hostnames),
        public_chat: match config.page.public_chat {
            PublicChatAudience::Loopback => live::PublicChat::Loopback,
            PublicChatAudience::Everyone => live::PublicChat::Everyone,
            PublicChatAudience::Nobody => live::PublicChat::Nobody,
        },
        features: SimulatorFeatures {
            grid_name: config.server.name.clone(),
            grid_url: format!("http://{host}:{http_port}/"),
            whisper_m: radius(link::ChatKind::Whisper),
            say_m: radius(link::ChatKind::Say),
            shout_m: radius(link::ChatKind::Shout),
            map_server_url: None,
            attachments_max: config.avatar.attachments_max,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inventories_are_bounded_as_configured() {
        assert_eq!(inventory_limits(&Config::default()), InventoryLimits::default());
        let mut config = Config::default();
        config.inventory.items_max = 7;
        assert_eq!(inventory_limits(&config), InventoryLimits { items_max: 7, ..InventoryLimits::default() });
    }
}
