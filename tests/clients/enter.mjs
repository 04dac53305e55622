// Ten people enter, meet, talk, walk, travel and leave: the whole of a first visit, through node-metaverse.
//
//   node enter.mjs [--clients N] [--login URI] [--report FILE]
//
// Without --login a server of its own is started. Distances follow the chat ranges: whisper 10 m, say 20 m, shout 100 m.

import { ChatType, Client, ControlFlags, distance, handleAt, mapDistance } from './client.mjs';
import { assert, main } from './harness.mjs';
import { staysTrue, until } from './wait.mjs';

const CLIENTS_MIN = 6;
const CENTRE = { x: 128, y: 128 };
const RING_M = 7;
const MIDDLE_M = 15;
const FAR_M = 60;
const WALK_M = 8;
/** A grid square where no region is. */
const NOWHERE = handleAt(60_000, 60_000);
const PLACED_WITHIN_M = 1.5;
const SAME_PLACE_M = 0.5;
const QUIET_MS = 2_000;
const THINGS_M = 64;
const THINGS_MIN = 150;
/** How much the ground may rise within a metre of a known height. */
const STEEPEST_M = 2;

await main(async ({ clients: count, loginUri, step, api, log }) => {
  assert(count >= CLIENTS_MIN, `at least ${CLIENTS_MIN} clients are needed`);
  const { regions } = await (await api('/api/info')).json();
  const clients = Array.from({ length: count }, (_, n) => new Client({ loginUri, first: `Nm${n}` }));
  const [speaker, walker, traveller, friend, middle, far] = clients;
  const others = (...without) => clients.filter((client) => !without.includes(client));

  await step('all log in at once and complete their handshake', () => Promise.all(clients.map((client) => client.enter())));
  const home = speaker.regionName;
  const elsewhere = regions.find((region) => region.name !== home).name;

  await step('everyone sees everyone', () =>
    until('all avatars shown to all', () => clients.every((c) => clients.every((other) => c.sees(other.id))), {
      describe: () => clients.map((c) => `${c.name} in ${c.regionName} sees ${c.avatars().length}`).join(', '),
    }),
  );

  await step('terrain arrives whole and as the page shows it', async () => {
    await until('terrain of all clients', () => clients.every((client) => client.region.terrainComplete), {
      describe: () => clients.map((client) => `${client.name} ${client.region.tilesReceived}`).join(', '),
    });
    const { id } = regions.find((region) => region.name === home);
    const heights = new Float32Array(await (await api(`/regions/${id}/heights`)).arrayBuffer());
    for (const client of clients) compareHeights(client, heights);
  });

  await step('what stands around is shown to all, each thing on the ground', async () => {
    // 1,000 boxes in 65,536 m² are some 200 within 64 m.
    const near = (client) => {
      const { position } = client.sees();
      return client.things().filter(({ Position }) => distance(Position, position) <= THINGS_M);
    };
    const shown = (client) => `${client.name} ${near(client).length} of ${client.things().length} around ${JSON.stringify(client.sees().position)}`;
    await until('things around all clients', () => clients.every((client) => near(client).length >= THINGS_MIN), {
      describe: () => clients.map(shown).join(', '),
    });
    for (const { Position, Scale } of near(speaker)) {
      const height = speaker.terrainHeight(Math.floor(Position.x), Math.floor(Position.y));
      assert(Math.abs(Position.z - Scale.z / 2 - height) < STEEPEST_M, `a box at ${JSON.stringify(Position)} over ground at ${height}`);
    }
  });

  await step('each one moves to a place of their own by teleport within the region', async () => {
    const handle = await speaker.regionHandle(home);
    await Promise.all(clients.map((client, n) => place(client, handle, spot(client, n, count, { speaker, middle, far }))));
  });

  await step('whisper, say and shout carry as far as they should', async () => {
    const near = others(middle, far);
    await speaker.whisper('leise: nur für die Nächsten');
    await speaker.say('Grüße, 世界 – 👋🏽');
    await speaker.shout('LAUT: alle im Kreis');
    await hear(near, speaker, 'leise: nur für die Nächsten', ChatType.Whisper);
    await hear(others(far), speaker, 'Grüße, 世界 – 👋🏽', ChatType.Normal);
    await hear(clients, speaker, 'LAUT: alle im Kreis', ChatType.Shout);
  });

  await step('typing is seen by those who would hear it', async () => {
    await speaker.type('typed');
    const typing = (client, type) => client.chats.some((c) => c.chatType === type && c.from.toString() === speaker.id);
    await until('typing start and stop', () =>
      others(speaker, far).every((c) => typing(c, ChatType.StartTyping) && typing(c, ChatType.StopTyping)),
    );
  });

  await step('instant messages go both ways at any distance', async () => {
    await exchange(speaker, far, 'hörst du mich? 👂');
    await exchange(far, speaker, 'ja, laut und deutlich');
  });

  await step('one walks; all see it arrive, stop, and stay where it stopped', async () => {
    const from = walker.sees().position;
    walker.hold(ControlFlags.AGENT_CONTROL_AT_POS);
    await until('the walk is seen', () => clients.every((c) => mapDistance(c.sees(walker.id).position, from) > WALK_M), {
      describe: () => clients.map((c) => mapDistance(c.sees(walker.id).position, from).toFixed(1)).join(' '),
    });
    walker.release();
    const errors = () => clients.map((c) => distance(c.sees(walker.id).position, walker.sees().position));
    await staysTrue(
      'the walker stands at one place for all',
      () => clients.every((c) => c.isStanding(walker.id)) && Math.max(...errors()) < SAME_PLACE_M,
      QUIET_MS,
      { describe: () => `errors in metres ${errors().map((m) => m.toFixed(2))}` },
    );
    log('walk', { metres: mapDistance(walker.sees().position, from).toFixed(2), error_m_max: Math.max(...errors()).toFixed(3) });
  });

  await step('one sits on a box; all see it there until it stands up and walks on', async () => {
    const own = () => walker.sees().position;
    const [box] = walker.things().sort((a, b) => distance(a.Position, own()) - distance(b.Position, own()));
    await walker.teleport(await walker.regionHandle(walker.region.regionName), box.Position.x + 2, box.Position.y);
    await walker.lands();
    await walker.sit(box.FullID);
    const sits = (client) => mapDistance(client.sees(walker.id).position, box.Position) < SAME_PLACE_M && client.isStanding(walker.id);
    await until('all see it on the box', () => clients.every(sits));
    // Both keys until it is seen to walk: updates are sent once each, and a lost one must not leave it on its seat.
    walker.hold(ControlFlags.AGENT_CONTROL_STAND_UP | ControlFlags.AGENT_CONTROL_AT_POS);
    await until('all see it walk on', () => clients.every((c) => mapDistance(c.sees(walker.id).position, box.Position) > WALK_M));
    walker.release();
    await until('it stands for all', () => clients.every((client) => client.isStanding(walker.id)));
  });

  await step('the map has a picture of the region', async () => {
    const picture = await speaker.fetchTexture(await speaker.mapPicture(speaker.region.regionName));
    assert(isCodestream(new Uint8Array(picture)), 'the picture is no image');
  });

  await step('the textures of the ground can be fetched', async () => {
    const { terrainDetail0, terrainDetail1, terrainDetail2, terrainDetail3 } = speaker.region;
    const address = await speaker.region.caps.getCapability('GetTexture');
    for (const id of [terrainDetail0, terrainDetail1, terrainDetail2, terrainDetail3]) {
      const reply = await fetch(`${address}?texture_id=${id}`);
      assert(reply.status === 200, `texture ${id} of the ground: HTTP ${reply.status}`);
      assert(isCodestream(new Uint8Array(await reply.arrayBuffer())), `texture ${id} of the ground is no image`);
    }
  });

  await step('a baked texture is taken and others fetch it', async () => {
    const text = async (reply) => (assert(reply.ok, `HTTP ${reply.status}`), reply.text());
    const address = await speaker.region.caps.getCapability('UploadBakedTexture');
    const headers = { 'Content-Type': 'application/llsd+xml' };
    const begin = async () => {
      const begun = await text(await fetch(address, { method: 'POST', headers, body: '<llsd><map /></llsd>' }));
      const uploader = /<key>uploader<\/key><string>([^<]+)</.exec(begun)?.[1];
      assert(uploader, `no address to upload to: ${begun}`);
      return uploader;
    };
    const uploader = await begin();
    const texture = new Uint8Array(await speaker.fetchTexture(speaker.region.terrainDetail0));
    const ended = await text(await fetch(uploader, { method: 'POST', body: texture }));
    const id = /<key>new_asset<\/key><uuid>([^<]+)</.exec(ended)?.[1];
    assert(id, `no id: ${ended}`);
    const other = await walker.region.caps.getCapability('GetTexture');
    const fetched = new Uint8Array(await (await fetch(`${other}?texture_id=${id}`)).arrayBuffer());
    assert(Buffer.compare(fetched, texture) === 0, 'another texture came back');
    const again = await fetch(uploader, { method: 'POST', body: texture });
    assert(again.status === 404, `an address was used twice: HTTP ${again.status}`);
    const refused = await text(await fetch(await begin(), { method: 'POST', body: 'GIF89a' }));
    assert(refused.includes('the texture is not a JPEG 2000 codestream'), `a GIF: ${refused}`);
    const tag = (await fetch(`${other}?texture_id=${id}`, { method: 'HEAD' })).headers.get('etag');
    const known = await fetch(`${other}?texture_id=${id}`, { headers: { 'If-None-Match': tag } });
    assert(known.status === 304, `a texture that the client has: HTTP ${known.status}`);
  });

  await step('a teleport to nowhere fails, and its client goes on', async () => {
    const failed = await traveller.teleport(NOWHERE, 1, 1).then(
      () => null,
      (error) => error,
    );
    assert(failed !== null, 'a teleport to nowhere succeeded');
    await traveller.say('immer noch hier');
    await hear([traveller], traveller, 'immer noch hier', ChatType.Normal);
  });

  await step('one teleports to the other region and is gone here', async () => {
    await traveller.teleport(await traveller.regionHandle(elsewhere), 100, 120);
    assert(traveller.regionName === elsewhere, `arrived in ${traveller.regionName} instead of ${elsewhere}`);
    assertNear(traveller, { x: 100, y: 120 });
    await gone(others(traveller), traveller);
  });

  await step('a friend accepts a teleport offer and they talk there', async () => {
    await traveller.offerTeleport(friend.id, 'komm herüber');
    const lure = await until('the offer', () => friend.lures.find((offer) => offer.from.toString() === traveller.id));
    assert(lure.lureMessage === 'komm herüber', `offer text: ${lure.lureMessage}`);
    await friend.acceptTeleport(lure);
    assert(friend.regionName === elsewhere, `friend arrived in ${friend.regionName}`);
    await until('both see each other there', () => traveller.sees(friend.id) && friend.sees(traveller.id));
    assertNear(friend, traveller.sees().position, 10);
    await Promise.all([traveller.lands(), friend.lands()]);
    await traveller.say('schön hier');
    await hear([friend, traveller], traveller, 'schön hier', ChatType.Normal);
    await exchange(friend, speaker, 'Grüße aus der Ferne');
  });

  await step('both return, are seen and heard again', async () => {
    const handle = await friend.regionHandle(home);
    const back = { x: CENTRE.x + 4, y: CENTRE.y + 4 };
    await Promise.all([place(traveller, handle, back), place(friend, handle, { x: back.x, y: back.y - 8 })]);
    assert(traveller.regionName === home && friend.regionName === home, 'not back home');
    await until('the returned are shown', () =>
      clients.every((client) => client.sees(traveller.id) && client.sees(friend.id)),
    );
    await traveller.say('wieder da');
    await hear(others(far, walker), traveller, 'wieder da', ChatType.Normal);
  });

  await step('a teleport to nowhere fails and leaves the traveller where it was', async () => {
    const before = traveller.sees().position;
    const outcome = await traveller.teleport(handleAt(1, 1), 128, 128).catch((error) => error);
    assert(outcome?.teleportEvent, `the teleport ended with ${outcome}`);
    assertNear(traveller, before);
    await exchange(traveller, friend, 'das ging daneben');
    await until('still shown to all', () => clients.every((client) => client.sees(traveller.id)));
  });

  await step('one logs out and vanishes for the others', async () => {
    await middle.leave();
    await gone(others(middle), middle);
    await until('the map forgets it too', () => others(middle).every((client) => !client.knows(middle.id)));
  });

  await step('nobody heard what was out of range', async () => {
    for (const text of ['leise: nur für die Nächsten', 'Grüße, 世界 – 👋🏽', 'typed', 'wieder da']) {
      assert(!far.heard(text), `${far.name} heard "${text}" ${FAR_M} m away`);
    }
    assert(!middle.heard('leise: nur für die Nächsten'), `${middle.name} heard a whisper ${MIDDLE_M} m away`);
    for (const client of others(traveller, friend)) assert(!client.heard('schön hier'), 'chat crossed regions');
  });

  await step('all log out', () => Promise.all(others(middle).map((client) => client.leave())));
  for (const client of clients) assert(client.disconnected?.requested, `${client.name} was disconnected, not logged out`);
});

/** The speaker in the centre, two listeners at their distances, everybody else on a ring within whisper range. */
function spot(client, n, count, { speaker, middle, far }) {
  if (client === speaker) return CENTRE;
  if (client === middle) return { x: CENTRE.x, y: CENTRE.y + MIDDLE_M };
  if (client === far) return { x: CENTRE.x, y: CENTRE.y - FAR_M };
  const angle = (2 * Math.PI * (n - 1)) / count;
  return { x: CENTRE.x + RING_M * Math.cos(angle), y: CENTRE.y + RING_M * Math.sin(angle) };
}

async function place(client, handle, { x, y }) {
  await client.teleport(handle, x, y);
  await client.lands();
  await until(`${client.name} stands at ${x}, ${y}`, () => client.isStanding() && mapDistance(client.sees().position, { x, y }) < PLACED_WITHIN_M, {
    describe: () => `it is at ${client.sees()?.position}`,
  });
}

/** Whether bytes begin as a JPEG 2000 codestream. */
function isCodestream(bytes) {
  return Buffer.from(bytes.subarray(0, 4)).toString('hex') === 'ff4fff51';
}

function assertNear(client, place, withinM = PLACED_WITHIN_M) {
  const { position } = client.sees();
  assert(mapDistance(position, place) < withinM, `${client.name} is at ${position}, expected ${place.x}, ${place.y}`);
}

async function hear(listeners, from, text, chatType) {
  const deaf = () => listeners.filter((client) => !client.heard(text, from.id));
  await until(`all hear "${text}"`, () => deaf().length === 0, { describe: () => deaf().map((c) => c.name).join(', ') });
  for (const client of listeners) {
    const chat = client.heard(text, from.id);
    assert(chat.fromName === from.name, `chat came from "${chat.fromName}" instead of "${from.name}"`);
    assert(chat.chatType === chatType, `"${text}" came as chat type ${chat.chatType}`);
  }
}

async function exchange(from, to, text) {
  await from.message(to.id, text);
  const received = await until(`${to.name} gets "${text}"`, () => to.messages.find((m) => m.message === text));
  assert(received.from.toString() === from.id && received.fromName === from.name, `sender was ${received.fromName}`);
}

async function gone(observers, client) {
  await until(`${client.name} vanishes`, () => observers.every((observer) => !observer.sees(client.id)), {
    describe: () => observers.filter((o) => o.sees(client.id)).map((o) => o.name).join(', '),
  });
}

/**
 * The page's heights are 128 × 128 samples over the region, so each must lie between the client's heights around it.
 * Terrain patches are lossy by up to a few centimetres.
 */
function compareHeights(client, samples) {
  const TOLERANCE_M = 0.3;
  for (let row = 1; row < 127; row += 9) {
    for (let column = 1; column < 127; column += 9) {
      const around = [];
      for (let dy = -1; dy <= 2; dy++) {
        for (let dx = -1; dx <= 2; dx++) around.push(client.terrainHeight(2 * column + dx, 2 * row + dy));
      }
      const sample = samples[row * 128 + column];
      assert(
        sample > Math.min(...around) - TOLERANCE_M && sample < Math.max(...around) + TOLERANCE_M,
        `${client.name}: height ${sample} at sample ${column}, ${row}, client has ${around.map((h) => h.toFixed(1))}`,
      );
    }
  }
}
