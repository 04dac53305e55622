//! Clients over HTTP: each has the capabilities of a bot that is logged in, and a connection of its own. On threads they make load.

use super::site::KeepStage;
use crate::Run;
use crate::bots::{BotCapabilities, Bots};
use crate::clock;
use crate::error::ExperimentError;
use crate::http::{HttpConnection, HttpRequest};
use crate::server::Server;
use bots::carry::Content;
use bots::carry::calls::{CallAnswer, CallBody, CallTarget, HttpCall, UploadAnswer};
use bots::carry::item_row::{COPY, MODIFY, MOVE, TEXTURE, TRANSFER};
use bots::distribution::Distribution;
use bots::rng::Rng;
use ids::Uuid;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use wire::llsd::xml;

/// Bytes of each texture.
const TEXTURE_BYTES: usize = 60_000;
/// Rights of the next owner of uploaded items.
const ALL_RIGHTS: u32 = TRANSFER | MODIFY | COPY | MOVE;

/// Kinds of bodies, as viewers state them.
const LLSD: &str = "application/llsd+xml";
const BYTES: &str = "application/octet-stream";

/// Logs in bots that stand; with the capabilities of all of them.
pub(super) fn log_in(
    stage: &KeepStage<'_>,
    server: &Server,
    name: &str,
    count: u32,
) -> Result<(Bots, Vec<BotCapabilities>), ExperimentError> {
    let options = ["--behavior", "stand", "--last-name", "Client"];
    let mut bots = Bots::start(stage.run, server, name, count, &options)?;
    bots.command(&format!("enter {count}"))?;
    let known = bots.command("capabilities")?.capabilities.unwrap_or_default();
    if known.len() == count as usize {
        return Ok((bots, known));
    }
    let source = io::Error::other(format!("{} of {count} clients have capabilities", known.len()));
    Err(ExperimentError::Capability { name: "seed".to_owned(), source })
}

/// An error about a capability.
fn failed(name: &str) -> impl FnOnce(io::Error) -> ExperimentError + use<> {
    let name = name.to_owned();
    move |source| ExperimentError::Capability { name, source }
}

/// Server and path of an address of plain HTTP that names its server by number.
fn place_of(address: &str) -> io::Result<(SocketAddr, &str)> {
    let place = address.strip_prefix("http://").and_then(|rest| {
        let (server, path) = rest.split_at(rest.find('/')?);
        Some((server.parse().ok()?, path))
    });
    place.ok_or_else(|| io::Error::other("its address has another form than http://IP:PORT/PATH"))
}

/// A client with its connection.
pub(super) struct LoadClient<'a> {
    capabilities: &'a BotCapabilities,
    server: SocketAddr,
    connection: HttpConnection,
}

impl<'a> LoadClient<'a> {
    fn connect(run: &Run, capabilities: &'a BotCapabilities) -> Result<Self, ExperimentError> {
        let first = capabilities.addresses.first_key_value();
        let (name, address) = first.map_or(("seed", ""), |(name, address)| (name.as_str(), address.as_str()));
        let (server, _) = place_of(address).map_err(failed(name))?;
        let connection = run.sink.clients.run(move || HttpConnection::new(server));
        Ok(Self { capabilities, server, connection: connection.map_err(failed(name))? })
    }

    /// Account and root folder.
    pub(super) const fn inventory(&self) -> (Uuid, Uuid) {
        (self.capabilities.agent, self.capabilities.root)
    }

    /// Makes a call. A status that is no success is an answer, too.
    pub(super) fn call(&mut self, call: &HttpCall) -> Result<CallAnswer, ExperimentError> {
        match &call.target {
            CallTarget::Address(address) => self.send("upload", address, &call.body),
            CallTarget::Capability { name, query } => {
                let granted = self.capabilities.addresses.get(*name);
                let granted = granted.ok_or_else(|| failed(name)(io::Error::other("it is not granted")))?;
                let separator = if query.is_empty() { "" } else { "?" };
                self.send(name, &format!("{granted}{separator}{query}"), &call.body)
            }
        }
    }

    fn send(&mut self, name: &str, address: &str, body: &CallBody) -> Result<CallAnswer, ExperimentError> {
        let (server, path) = place_of(address).map_err(failed(name))?;
        if server != self.server {
            return Err(failed(name)(io::Error::other(format!("it is at {server}, not at {}", self.server))));
        }
        let request = match body {
            CallBody::None => HttpRequest::call(server, path, None),
            CallBody::Llsd(value) => {
                HttpRequest::call(server, path, Some((LLSD, xml::encode(value).as_bytes())))
            }
            CallBody::Bytes(bytes) => HttpRequest::call(server, path, Some((BYTES, bytes))),
        };
        let answer = self.connection.exchange(&request).map_err(failed(name))?;
        Ok(CallAnswer { status: answer.code, body: answer.body })
    }

    /// Uploads content as an item of the root folder, in two steps. Gives its asset once that is durable.
    fn upload(&mut self, content: Content, name: &str) -> Result<Uuid, ExperimentError> {
        let first = HttpCall::new_file(0, &content, name, self.capabilities.root, ALL_RIGHTS);
        let address = match UploadAnswer::of(&self.call(&first)?) {
            UploadAnswer::Uploader(address) => address,
            other => return Err(unexpected("NewFileAgentInventory", &other)),
        };
        match UploadAnswer::of(&self.call(&HttpCall::upload(0, address, content.bytes))?) {
            UploadAnswer::Complete { asset, .. } => Ok(asset),
            other => Err(unexpected("upload", &other)),
        }
    }

    /// Fetches a texture.
    pub(super) fn fetch(&mut self, texture: Uuid) -> Result<(), ExperimentError> {
        let answer = self.call(&HttpCall::asset(0, texture, TEXTURE))?;
        if answer.status == 200 && answer.body.len() >= TEXTURE_BYTES {
            return Ok(());
        }
        let about = format!("status {}, {} bytes for {texture}", answer.status, answer.body.len());
        Err(failed("ViewerAsset")(io::Error::other(about)))
    }
}

fn unexpected(name: &str, answer: &UploadAnswer) -> ExperimentError {
    failed(name)(io::Error::other(format!("it has answered {answer:?}")))
}

/// Some clients.
pub(super) struct LoadCrew<'a> {
    clients: Vec<LoadClient<'a>>,
}

impl<'a> LoadCrew<'a> {
    /// Connects `n` clients, with the bots' capabilities in turn.
    pub(super) fn connect(
        run: &Run,
        capabilities: &'a [BotCapabilities],
        n: usize,
    ) -> Result<Self, ExperimentError> {
        let clients = capabilities.iter().cycle().take(n).map(|own| LoadClient::connect(run, own));
        Ok(Self { clients: clients.collect::<Result<_, _>>()? })
    }

    /// Has each client, with its number, do this on a thread of its own. Gives their results in order.
    pub(super) fn work<T: Send>(
        &mut self,
        work: impl Fn(usize, &mut LoadClient<'a>) -> Result<T, ExperimentError> + Sync,
    ) -> Result<Vec<T>, ExperimentError> {
        let work = &work;
        std::thread::scope(|scope| {
            let clients = self.clients.iter_mut().enumerate();
            let threads: Vec<_> = clients.map(|(n, client)| scope.spawn(move || work(n, client))).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, Result<T, ExperimentError>>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        })
    }

    /// Uploads `n` new textures.
    pub(super) fn upload(&mut self, n: usize, seed: u64) -> Result<Uploaded, ExperimentError> {
        let (next, began) = (AtomicUsize::new(0), clock::now());
        let parts = self.work(|thread, client| {
            let mut rng = Rng::new(seed, thread as u64);
            let mut done = (Vec::new(), Distribution::default());
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= n {
                    return Ok(done);
                }
                let content = Content::texture(&mut rng, TEXTURE_BYTES);
                let began = clock::now();
                done.0.push(client.upload(content, &format!("Texture {number}"))?);
                done.1.record(began.elapsed());
            }
        })?;
        let took = began.elapsed();
        let mut uploaded = Uploaded { textures: Vec::with_capacity(n), times: Distribution::default(), took };
        for (textures, times) in parts {
            uploaded.textures.extend(textures);
            uploaded.times.add(&times);
        }
        Ok(uploaded)
    }

    /// Fetches each texture once.
    pub(super) fn fetch_each(&mut self, textures: &[Uuid]) -> Result<Distribution, ExperimentError> {
        let next = AtomicUsize::new(0);
        let parts = self.work(|_, client| {
            let mut times = Distribution::default();
            while let Some(texture) = textures.get(next.fetch_add(1, Ordering::Relaxed)) {
                let began = clock::now();
                client.fetch(*texture)?;
                times.record(began.elapsed());
            }
            Ok(times)
        })?;
        Ok(sum(&parts))
    }

    /// Has each client fetch all textures over and over until then, each beginning at another one.
    pub(super) fn fetch_until(
        &mut self,
        ends_at: Instant,
        textures: &[Uuid],
    ) -> Result<Distribution, ExperimentError> {
        let apart = textures.len() / self.clients.len().max(1);
        let parts = self.work(|n, client| {
            let mut times = Distribution::default();
            for texture in textures.iter().cycle().skip(n * apart) {
                let began = clock::now();
                if began >= ends_at {
                    break;
                }
                client.fetch(*texture)?;
                times.record(began.elapsed());
            }
            Ok(times)
        })?;
        Ok(sum(&parts))
    }
}

/// Textures that were uploaded.
pub(super) struct Uploaded {
    pub(super) textures: Vec<Uuid>,
    /// From the first step until the answer to the second.
    pub(super) times: Distribution,
    /// Time of all.
    pub(super) took: Duration,
}

fn sum(parts: &[Distribution]) -> Distribution {
    let mut sum = Distribution::default();
    parts.iter().for_each(|times| sum.add(times));
    sum
}

/// A percentile in milliseconds; not a number without times.
pub(super) fn percentile_ms(times: &Distribution, share: f64) -> f64 {
    times.percentile(share).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_their_server_by_number() {
        let (server, path) = place_of("http://198.18.0.1:9000/cap/5/ViewerAsset?texture_id=7").unwrap();
        assert_eq!(server, SocketAddr::from(([198, 18, 0, 1], 9_000)));
        assert_eq!(path, "/cap/5/ViewerAsset?texture_id=7");
        for other in
            ["", "http://198.18.0.1:9000", "http://localhost:9000/cap", "https://198.18.0.1:9000/cap"]
        {
            assert!(place_of(other).is_err(), "{other}");
        }
    }

    #[test]
    fn a_percentile_of_no_times_is_no_number() {
        let mut times = Distribution::default();
        assert!(percentile_ms(&sum(&[]), 0.5).is_nan());
        times.record(Duration::from_millis(3));
        let both = sum(&[times.clone(), times]);
        assert_eq!((both.count(), percentile_ms(&both, 0.99)), (2, 3.1));
    }
}
