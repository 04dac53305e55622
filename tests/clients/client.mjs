// One node-metaverse client: what a person at a viewer does, and what that person sees.
//
// It hides three habits of node-metaverse 0.8.16 that a scenario should not have to know:
//  - its agent-update timer leaks at every teleport and later throws on the closed circuit, so it is stopped before;
//  - it releases all movement keys whenever the server starts a walk animation, so a held key is pressed again;
//  - region changes replace the circuit, so observers have to be attached again.

import nm from '@caspertech/node-metaverse';
import { createRequire } from 'node:module';
import { pulse, until, within } from './wait.mjs';

const { AssetType, Bot, BotOptionFlags, ControlFlags, LoginParameters, PCode, TextureEntry, Utils, UUID, Vector3 } = nm;
const require = createRequire(import.meta.url);
const { Quaternion } = require('@caspertech/node-metaverse/dist/lib/classes/Quaternion.js');
const { ChatType } = require('@caspertech/node-metaverse/dist/lib/enums/ChatType.js');

export { ChatType, ControlFlags };

/** Interval at which a held key is repeated, as a viewer does. */
const KEY_REPEAT_MS = 100;

/** A falling avatar's height changes with every update, ten times a second; this many milliseconds are several lost ones. */
const LANDED_MS = 700;
/** Below this an avatar counts as standing: terse velocities are quantised to about 0.004 m/s. */
const STANDING_M_PER_S = 0.05;
/** A crowd plays without end. */
const ANIMATIONS_KEPT = 10_000;

export class Client {
  /** Everything heard as nearby chat, oldest first: node-metaverse ChatEvents. */
  chats = [];
  /** Instant messages, oldest first. */
  messages = [];
  /** Teleport offers, oldest first. */
  lures = [];
  /** Notices to this agent, oldest first. */
  notices = [];
  /** The own health as it was told, oldest first: 0 to 100. */
  health = [];
  /** What avatars were shown to play, oldest first and the newest only: the avatar's id and those of its animations. */
  animations = [];
  /** How avatars look, by id: bytes of their visual parameters, and what texture a face has. */
  looks = new Map();
  /** Round-trip times of answered pings in milliseconds. */
  pings = [];
  /** The DisconnectEvent once the session has ended, however it ended. */
  disconnected = null;

  #bot;
  #keys = null;
  #queuesOpen = 0;
  #connected = null;

  /**
   * @param {{loginUri: string, first: string, last?: string, password?: string, start?: string}} account
   */
  constructor({ loginUri, first, last = 'Tester', password = 'correct horse', start = 'last' }) {
    this.name = `${first} ${last}`;
    const login = new LoginParameters();
    Object.assign(login, { url: loginUri, firstName: first, lastName: last, password, start });
    // Left unset, both would reach the server as malformed XML-RPC values.
    Object.assign(login, { agreeToTOS: true, readCritical: true });
    this.#bot = new Bot(login, BotOptionFlags.None);
    this.#observeEvents(this.#bot.clientEvents);
    this.#attachToEveryRegion();
  }

  /** node-metaverse's own object, for the sweep over all that it can do. */
  get bot() {
    return this.#bot;
  }

  /** XML-RPC login only. A refusal is a LoginError with `reason` and `message`. */
  async login() {
    await within(`${this.name}: login reply`, this.#bot.login());
    this.id = this.#bot.agentID().toString();
    return this;
  }

  /** Login, circuit, arrival: resolves when node-metaverse counts itself as connected and its handshake as complete. */
  async enter() {
    await this.login();
    await within(`${this.name}: connectToSim`, this.#bot.connectToSim());
    await this.#arrived();
    return this;
  }

  get region() {
    return this.#bot.currentRegion;
  }

  get regionName() {
    return this.region.regionName;
  }

  get circuit() {
    return this.region.circuit;
  }

  /**
   * What this client shows of an avatar: position and speed, or undefined when it is not shown.
   * The object store is asked, because node-metaverse's list of agents also holds those known from the map only.
   */
  sees(agentId = this.id) {
    const shown = this.avatars().filter((avatar) => avatar.FullID.toString() === agentId);
    if (shown.length > 1) throw new Error(`${this.name} sees ${shown.length} avatars of ${agentId}`);
    if (shown.length === 0) return undefined;
    const [{ ID, Position, Velocity }] = shown;
    return { localId: ID, position: Position, speed: length(Velocity) };
  }

  /** All avatars shown, as node-metaverse GameObjects. */
  avatars() {
    return [...this.region.objects.objects.values()].filter((object) => object.PCode === PCode.Avatar);
  }

  /** All things shown that are no avatars. */
  things() {
    return [...this.region.objects.objects.values()].filter((object) => object.PCode === PCode.Prim);
  }

  /** Whether an avatar is known in this region at all, be it from the map only. */
  knows(agentId) {
    return this.region.agents.has(agentId);
  }

  /** Waits until the own avatar has come down to the ground: a teleport ends in the air, and chat is heard in three dimensions. */
  async lands() {
    let height = NaN;
    let since = 0;
    await until(`${this.name} has landed`, () => {
      const now = performance.now();
      const z = this.sees()?.position.z;
      if (z !== height) [height, since] = [z, now];
      return now - since > LANDED_MS;
    });
  }

  isStanding(agentId = this.id) {
    const seen = this.sees(agentId);
    return seen !== undefined && seen.speed < STANDING_M_PER_S;
  }

  /** Height in metres that this client received for a whole-metre point of a 256 m region. */
  terrainHeight(x, y) {
    return this.region.terrain[y][x];
  }

  say(text) {
    return this.#bot.clientCommands.comms.say(text);
  }

  whisper(text) {
    return this.#bot.clientCommands.comms.whisper(text);
  }

  shout(text) {
    return this.#bot.clientCommands.comms.shout(text);
  }

  async type(text) {
    await this.#bot.clientCommands.comms.startTypingLocal();
    await this.#bot.clientCommands.comms.stopTypingLocal();
    await this.say(text);
  }

  message(toId, text) {
    return this.#bot.clientCommands.comms.sendInstantMessage(new UUID(toId), text);
  }

  offerTeleport(toId, text) {
    return this.#bot.clientCommands.comms.sendTeleport(new UUID(toId), text);
  }

  heard(text, fromId) {
    return this.chats.find((chat) => chat.message === text && (!fromId || chat.from.toString() === fromId));
  }

  /** Presses keys and keeps them down until `release`. */
  hold(flags) {
    this.release();
    const press = () => this.#sendKeys(flags);
    this.#keys = { press, timer: setInterval(press, KEY_REPEAT_MS) };
    press();
  }

  release() {
    if (!this.#keys) return;
    clearInterval(this.#keys.timer);
    this.#keys = null;
    this.#sendKeys(ControlFlags.NONE);
  }

  /**
   * Walks towards `heading`, in radians from east, until `rest`. Unlike `hold` it leaves the saying to node-metaverse's own
   * timer, one update a second; only what node-metaverse lets go of is pressed again.
   */
  walk(heading) {
    this.#turn(heading);
    this.#bot.agent.controlFlags = ControlFlags.AGENT_CONTROL_AT_POS;
    this.#keys = { press: () => this.#sendKeys(ControlFlags.AGENT_CONTROL_AT_POS) };
  }

  /** Turns towards `heading`, in radians from east, and stands. */
  face(heading) {
    this.#turn(heading);
    this.#sendKeys(ControlFlags.NONE);
  }

  /** Plays an animation of the viewers' own once, as a gesture does. */
  async gesture(animation) {
    await this.#bot.clientCommands.agent.startAnimations([new UUID(animation)]);
    await this.#bot.clientCommands.agent.stopAnimations([new UUID(animation)]);
  }

  /** The bytes of a texture. */
  fetchTexture(id) {
    return this.region.caps.downloadAsset(new UUID(id), AssetType.Texture);
  }

  /** Stops walking with node-metaverse's next update. */
  rest() {
    this.#keys = null;
    this.#bot.agent.controlFlags = ControlFlags.NONE;
  }

  /** The grid's handle of a region, looked up by name on the map. */
  async regionHandle(regionName) {
    return (await this.#bot.clientCommands.grid.getRegionByName(regionName)).handle;
  }

  /** The id of a region's picture on the map. */
  async mapPicture(regionName) {
    return (await this.#bot.clientCommands.grid.getRegionByName(regionName)).mapImageID.toString();
  }

  /** Sits down on an object. */
  sit(id) {
    return this.#bot.clientCommands.movement.sitOnObject(id, new Vector3([0, 0, 0]));
  }

  /** Teleports by handle; resolves after arrival, in the same region or another. */
  async teleport(handle, x, y, z = 40) {
    const position = new Vector3([x, y, z]);
    await this.#travel(() => this.#bot.clientCommands.teleport.teleportToHandle(handle, position, position));
  }

  /** Goes where somebody else sends this client; what they made of it. */
  async follows(send) {
    let answer;
    await this.#travel(async () => {
      const before = this.region;
      answer = await send();
      await until(`${this.name} is in another region`, () => this.region !== before && this.region.handshakeComplete);
      // Its timer of agent updates begins with the end of that, and would be leaked by a teleport that came before.
      await this.#connected;
    });
    return answer;
  }

  acceptTeleport(lure) {
    return this.#travel(() => this.#bot.clientCommands.teleport.acceptTeleport(lure));
  }

  /** Logs out, expects the server's LogoutReply and an answer to the event queue's closing request. */
  async leave() {
    this.release();
    await within(`${this.name}: logout`, this.#bot.close());
    await this.ended();
  }

  /** Resolves once the session has ended, by `leave` or by the server, and nothing of it is under way. */
  ended() {
    return until(`${this.name}: session ended`, () => this.disconnected && this.#queuesOpen === 0, {
      describe: () => `disconnected ${Boolean(this.disconnected)}, open event queues ${this.#queuesOpen}`,
    });
  }

  /** Dies as a crashed client does: no message, no closing request, the sockets are just gone. */
  crash() {
    const { circuit, caps } = this.region;
    this.release();
    this.#bot.agent.shutdown();
    clearInterval(this.#bot.ping);
    caps.eventQueueClient.done = true;
    caps.eventQueueClient.currentRequest?.cancel();
    circuit.shutdown();
  }

  #observeEvents(events) {
    const keep = (subject, take) =>
      subject.subscribe((event) => {
        take(event);
        pulse();
      });
    keep(events.onNearbyChat, (chat) => this.chats.push(chat));
    keep(events.onInstantMessage, (message) => this.messages.push(message));
    keep(events.onLure, (lure) => this.lures.push(lure));
    keep(events.onCircuitLatency, (ms) => this.pings.push(ms));
    keep(events.onEventQueueStateChange, ({ active }) => (this.#queuesOpen += active ? 1 : -1));
    keep(events.onDisconnected, (event) => {
      this.disconnected = event;
      if (this.#keys) clearInterval(this.#keys.timer);
      this.#keys = null;
    });
  }

  /** node-metaverse enters every region through `connectToSim`, whose part up to UseCircuitCode runs at once. */
  #attachToEveryRegion() {
    const connect = this.#bot.connectToSim.bind(this.#bot);
    this.#bot.connectToSim = (requested) => {
      const connected = connect(requested);
      this.#connected = connected;
      const { circuit, handshakeCompleteEvent } = this.region;
      handshakeCompleteEvent.subscribe(pulse);
      circuit.onPacketReceived.subscribe(({ message }) => {
        if (message.name === 'AvatarAnimation' && message.Sender.ID.toString() === this.id) this.#keys?.press();
        this.#note(message);
        pulse();
      });
      return connected;
    };
  }

  /** Keeps what node-metaverse takes no notice of. */
  #note(message) {
    if (message.name === 'AvatarAppearance') {
      const params = message.VisualParam.map(({ ParamValue }) => ParamValue);
      const entry = TextureEntry.from(message.ObjectData.TextureEntry);
      const texture = (face) => entry.getEffectiveEntryForFace(face).textureID.toString();
      this.looks.set(message.Sender.ID.toString(), { params, texture });
    }
    if (message.name === 'AgentAlertMessage') this.notices.push(Utils.BufferToStringSimple(message.AlertData.Message));
    if (message.name === 'HealthMessage') this.health.push(message.HealthData.Health);
    if (message.name === 'AvatarAnimation') {
      this.animations.push({ of: message.Sender.ID.toString(), ids: message.AnimationList.map(({ AnimID }) => AnimID.toString()) });
      if (this.animations.length > ANIMATIONS_KEPT) this.animations.shift();
    }
  }

  #arrived() {
    return until(
      `${this.name}: handshake complete and own avatar shown`,
      () => this.region.handshakeComplete && this.sees(),
      { describe: () => `handshake ${this.region.handshakeComplete}, own avatar ${Boolean(this.sees())}` },
    );
  }

  async #travel(request) {
    const { agent } = this.#bot;
    this.release();
    const before = this.region;
    agent.shutdown();
    try {
      await within(`${this.name}: teleport`, request());
    } finally {
      if (this.region === before) agent.circuitActive();
    }
    await this.#arrived();
  }

  #turn(heading) {
    // The wire carries x, y and z; w is taken to be positive, so the heading has to be within half a turn.
    const half = Math.atan2(Math.sin(heading), Math.cos(heading)) / 2;
    this.#bot.agent.bodyRotation = new Quaternion([0, 0, Math.sin(half), Math.cos(half)]);
  }

  #sendKeys(flags) {
    const { agent } = this.#bot;
    agent.controlFlags = flags;
    agent.sendAgentUpdate();
  }
}

function length({ x, y, z }) {
  return Math.hypot(x, y, z);
}

/** The handle of the region whose south-west corner lies at these grid coordinates, whether or not there is one. */
export function handleAt(gridX, gridY) {
  return Utils.RegionCoordinatesToHandle(gridX * 256, gridY * 256).regionHandle;
}

/** Metres between two positions on the map. */
export function mapDistance(a, b) {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

/** Metres between two positions. */
export function distance(a, b) {
  return Math.hypot(a.x - b.x, a.y - b.y, a.z - b.z);
}
