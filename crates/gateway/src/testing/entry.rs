//! Logins, clients and their circuits, instances, and avatars without clients.

use super::region::{Region, gate, ground, spec};
use super::{CROWD, Client, GROUND_M, HARBOUR, Node, agent};
use crate::hub::{Admission, Login, LoginRefusal};
use crate::mail::{Look, Spot};
use crate::places::{PlaceId, Scene};
use glam::{Quat, Vec3};
use ids::{AgentId, RegionHandle, SessionKey, Uuid};
use link::{Action, Command, Control, ControlFlags, Enter, PortalTo, WorldSpec};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use wire::llsd::Llsd;

impl Node {
    /// An instance, with this number of boxes.
    pub(crate) fn instance(&mut self, name: &str, size_m: u32, boxes: u32, max_avatars: u32) -> Arc<Scene> {
        self.instance_for(name, (size_m, boxes), max_avatars, max_avatars as usize)
    }

    /// The same with another limit of the world itself.
    pub(crate) fn instance_for(
        &mut self,
        name: &str,
        (size_m, boxes): (u32, u32),
        max_avatars: u32,
        world_max_avatars: usize,
    ) -> Arc<Scene> {
        let (ground, portals) = (ground(size_m, boxes), gate(PortalTo::Back));
        let spec = WorldSpec { max_avatars, portals, ..spec(self.regions.len() as u32, name, &ground) };
        let scene = Arc::new(Scene::new(spec, ground));
        self.places.add_instance(Arc::clone(&scene));
        self.regions.push(Region::new(&scene, world_max_avatars, None, None));
        scene
    }

    /// A verified user asks to be let in at a place.
    pub(crate) fn admit(&mut self, name: &str, spot: Spot) -> Result<Admission, LoginRefusal> {
        self.admit_in(name, spot, None)
    }

    /// The same with an appearance that is kept with the account.
    pub(crate) fn admit_in(
        &mut self,
        name: &str,
        spot: Spot,
        look: Option<Look>,
    ) -> Result<Admission, LoginRefusal> {
        let login = Login {
            incarnation: self.incarnation,
            agent: agent(name),
            first_name: name.into(),
            last_name: "Resident".into(),
            server_ip: Ipv4Addr::LOCALHOST,
            start: spot,
            home: None,
            wearables: Arc::from([]),
            look,
        };
        self.hub.login(self.now, login)
    }

    /// A client that was let in and has said nothing yet; its index.
    pub(crate) fn login(&mut self, name: &str, spot: Spot) -> usize {
        let admission = self.admit(name, spot).expect("there is room");
        self.relay();
        self.add_client(name, &admission)
    }

    pub(crate) fn add_client(&mut self, name: &str, admission: &Admission) -> usize {
        let client =
            Client::new(self.now, self.remote(), admission.sim_port - 9_000, name, agent(name), admission);
        self.clients.push(client);
        self.clients.len() - 1
    }

    /// Opens the circuit that a TeleportFinish of a client's event queue leads to, and moves in; the client there.
    pub(crate) fn follow_teleport(&mut self, from: usize, finish: &Llsd) -> usize {
        let client = self.follow_half(from, finish);
        self.clients[client].complete_movement();
        client
    }

    /// Opens that circuit and does not move in.
    pub(crate) fn follow_half(&mut self, from: usize, finish: &Llsd) -> usize {
        let info = finish.get("Info").at(0);
        let handle = RegionHandle(info.get("RegionHandle").as_u64().expect("a handle"));
        let size_m = info.get("RegionSizeX").as_i32().expect("a size");
        let former = &self.clients[from];
        let name = former.name.clone();
        let admission = Admission {
            session_id: former.session_id,
            secure_session_id: Uuid::nil(),
            code: former.code,
            sim_port: info.get("SimPort").as_i32().expect("a port") as u16,
            seed_url: info.get("SeedCapability").as_str().expect("a URL").into(),
            place: match self.places.by_handle(handle) {
                Some(place) => Arc::clone(place),
                None => Arc::new(self.places.apart(size_m as u32).clone()),
            },
        };
        let client = self.add_client(&name, &admission);
        self.clients[client].manners.moves_in = false;
        self.clients[client].open();
        client
    }

    /// An unused socket address.
    fn remote(&self) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 20_000 + self.clients.len() as u16)
    }

    /// Logs in to the harbour and waits until the client sees its own avatar.
    pub(crate) fn enter(&mut self, name: &str) -> usize {
        self.enter_at(name, self.spot(HARBOUR, 128.0, 128.0))
    }

    pub(crate) fn enter_at(&mut self, name: &str, spot: Spot) -> usize {
        let client = self.login(name, spot);
        self.clients[client].open();
        self.run_until(|node| node.clients[client].sees_itself());
        client
    }

    /// A place to stand, as clients ask for it.
    pub(crate) fn spot(&self, place: PlaceId, x: f32, y: f32) -> Spot {
        Spot { place, position: Vec3::new(x, y, GROUND_M + 1.0), look_at: Vec3::X }
    }

    /// Avatars without clients, in a square around the middle of the harbour, that walk.
    pub(crate) fn crowd(&mut self, n: u64) {
        for at in 0..n {
            let session = SessionKey(CROWD + self.crowd);
            self.crowd += 1;
            let enter = Enter {
                agent: AgentId(Uuid::from_u128(u128::from(session.0))),
                first_name: format!("Walker{at}"),
                last_name: "Resident".into(),
                position: Vec3::new(20.0 + (at % 25) as f32 * 8.0, 20.0 + (at / 25) as f32 * 8.0, 22.0),
                look_at: Vec3::X,
                flying: false,
                appearance: None,
            };
            let control =
                Control { flags: ControlFlags::AT_POS, body_rotation: Quat::from_rotation_z(at as f32) };
            for (sequence, action) in [(0, Action::Enter(Box::new(enter))), (1, Action::Control(control))] {
                self.regions[0].commands.push(Command::by_session(session, sequence, action));
            }
        }
    }
}
