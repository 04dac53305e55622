// Hostile HTTP beside users who log in: silent and endless requests from many addresses, clients that do not read, floods of watchers and of
// long polls, pages of other sites, and a real proxy.
//
//   node http.mjs [--report FILE]
//
// Everything stays on this machine: the addresses are 127.0.0.x. The proxy is nginx; without it its two steps are left out, and with CI=true the
// scenario fails for that at its end.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { Client } from './client.mjs';
import { assert, main, Skip } from './harness.mjs';
import { Server } from './server.mjs';
import { pulse, until, within } from './wait.mjs';

const ADDRESSES = 10;
const SILENT = 1_000;
const VISITORS = 20;
/** Clients that read nothing: the kernel holds some 300 kB for each. */
const DEAF = 100;
const POLLS = 300;
/** Connections that the operator's address has at most. */
const OPERATOR_MAX = 24;
const ANSWER_DEADLINE_MS = 20_000;
const PROXY = '127.0.0.77';

await main(
  async ({ server, loginUri, step, log }) => {
    if (!server) throw new Skip('it needs a server of its own');
    const { hostname, port } = new URL(loginUri);
    const [operatorHost, operatorPort] = server.run.admin.split(':');
    const guest = await new Client({ loginUri, first: 'Guest' }).enter();

    /** Twenty logins and one whole visit; none may fail. */
    const visit = async (what) => {
      const replies = await Promise.all(Array.from({ length: VISITORS }, (_, n) => login(loginUri, `Visitor${n}`)));
      const failed = replies.filter(({ status, text }) => status !== 200 || !/<string>true<\/string>/.test(text));
      log('logins', { beside: what, failed: failed.length });
      assert(failed.length === 0, `${failed.length} of ${VISITORS} logins failed, the first with ${failed[0]?.status} ${failed[0]?.text}`);
      const late = await new Client({ loginUri, first: 'Late' }).enter();
      await late.leave();
      assert(!guest.disconnected, 'a session was lost');
    };

    const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
    const watching = Object.entries({ host: '127.0.0.1', ...upgrade }).map(([name, value]) => `${name}: ${value}\r\n`);
    const [region] = JSON.parse((await ask(`${loginUri}api/info`)).text).regions;
    const attacks = [
      { what: 'silent bodies', text: 'POST / HTTP/1.1\r\nHost: throng\r\nContent-Length: 100000\r\n\r\n<?xml' },
      {
        what: 'large bodies that stop before their end',
        text: `POST / HTTP/1.1\r\nHost: throng\r\nContent-Length: 500000\r\n\r\n${'x'.repeat(100_000)}`,
      },
      { what: 'heads without an end', text: 'GET / HTTP/1.1\r\nHost: throng\r\nX: ' },
      { what: 'connections that say nothing', text: '' },
      { what: 'clients that read no answer', text: `GET /regions/${region.id}/heights HTTP/1.1\r\nHost: throng\r\n\r\n`.repeat(50), count: DEAF },
      { what: 'watchers of the live feed that do not read', text: `GET /live HTTP/1.1\r\n${watching.join('')}\r\n` },
    ];
    for (const { what, text, count = SILENT } of attacks) {
      await step(`${count} ${what} from ${ADDRESSES} addresses take nobody's login`, async () => {
        const sockets = await openMany(count, hostname, port, text);
        await visit(what);
        for (const socket of sockets) socket.destroy();
      });
    }

    await step('a session holds one long poll, however many it sends', async () => {
      const { text } = await login(loginUri, 'Poller');
      const [, path] = /<string>http:\/\/[^/]+(\/cap\/[0-9a-f-]+)/.exec(text) ?? [];
      assert(path, `no seed capability in ${text}`);
      const body = '<llsd><map><key>ack</key><undef /><key>done</key><boolean>0</boolean></map></llsd>';
      const poll = `POST ${path}/EventQueueGet HTTP/1.1\r\nHost: throng\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      const sockets = await openMany(POLLS, hostname, port, poll);
      let answered = 0;
      for (const socket of sockets) {
        socket.once('data', () => {
          answered += 1;
          pulse();
        });
      }
      await until('all polls but the newest are answered', () => answered === POLLS - 1);
      await visit('long polls');
      for (const socket of sockets) socket.destroy();
    });

    await step('silent connections at the operator\'s address keep the operator from nothing', async () => {
      const sockets = await openMany(SILENT, operatorHost, operatorPort, 'POST /v1/alert HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{');
      const { status, text } = await ask(`http://${server.run.admin}/metrics`);
      assert(status === 200, `the operator is answered ${status}`);
      const open = Number(/^throng_http_connections\{listener="operator"\} (\d+)$/m.exec(text)?.[1]);
      assert(open <= OPERATOR_MAX, `${open} connections of the operator are open`);
      await visit('silent connections at the operator\'s address');
      for (const socket of sockets) socket.destroy();
    });

    await step('a page of another site is refused', async () => {
      const origin = 'http://evil.example';
      for (const headers of [{ origin }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }]) {
        const { status } = await login(loginUri, 'Victim', headers);
        assert(status === 403, `${JSON.stringify(headers)}: ${status}`);
      }
      const users = await server.command('user', 'list');
      assert(!users.includes('Victim'), 'an account was made');
      assert((await ask(`${loginUri}live`, { headers: { ...upgrade, origin } })).status === 403, 'the live feed is open to a foreign page');
      assert((await ask(`${loginUri}live`, { headers: { ...upgrade, host: 'evil.example' } })).status === 421, 'the live feed answers to a foreign name');
      const metrics = `http://${server.run.admin}/metrics`;
      assert((await ask(metrics, { headers: { host: 'evil.example' } })).status === 421, 'the operator answers to a foreign name');
      assert((await ask(metrics)).status === 200, 'the operator does not answer');
    });

    await guest.leave();
    if (spawnSync('nginx', ['-v']).error) throw new Skip('nginx is missing (Debian: nginx-light): everything but the steps with a proxy has passed');

    await step('behind a real proxy a client is who the proxy says, and this machine is nobody', async () => {
      const header = 'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;';
      const proxy = await startNginx(server.dataDir, `${hostname}:${port}`, header);
      try {
        const claim = { 'x-forwarded-for': '127.0.0.1' };
        const direct = JSON.parse((await ask(`${loginUri}api/info`)).text);
        const proxied = JSON.parse((await ask(`${proxy.uri}api/info`, { headers: claim })).text);
        assert(direct.chat === true && proxied.chat === false, `public chat: ${direct.chat} directly, ${proxied.chat} by the proxy`);
        const { status, text } = await login(proxy.uri, 'Proxied', claim);
        assert(status === 200 && /<string>true<\/string>/.test(text), `${status} ${text}`);
        // nginx sees us at 127.0.0.1 and appends that to what we claim; the rightmost counts.
        const lines = readFileSync(server.logPath, 'utf8').split('\n').filter((line) => line.includes('Proxied'));
        assert(lines.some((line) => line.includes('peer=127.0.0.1:0')), `the log says ${lines}`);
        // Wrong passwords count, though they come from this machine.
        const refusals = [];
        while (refusals.length < 12) refusals.push((await login(proxy.uri, 'Proxied', claim, '0'.repeat(32))).text);
        assert(/too many|try again/i.test(refusals.at(-1)), `the twelfth wrong password: ${refusals.at(-1)}`);
      } finally {
        await proxy.stop();
      }
    });

    await step('the header Forwarded of a real proxy names the client too', async () => {
      const behind = await Server.start({ config: 'forwarded.toml' });
      const { host } = new URL(behind.loginUri);
      const proxy = await startNginx(behind.dataDir, host, 'proxy_set_header Forwarded "$http_forwarded, for=$remote_addr";');
      try {
        // A claim before the proxy's own element, a quote that is not closed, and the other header: none of them counts.
        for (const claim of [{ forwarded: 'for=203.0.113.9' }, { forwarded: 'for="203.0.113.9' }, { 'x-forwarded-for': '203.0.113.9' }]) {
          const { status, text } = await login(proxy.uri, 'Forwarded', claim);
          assert(status === 200 && /<string>true<\/string>/.test(text), `${status} ${text}`);
        }
        const lines = readFileSync(behind.logPath, 'utf8').split('\n').filter((line) => line.includes('Forwarded Resident'));
        const peers = lines.flatMap((line) => /peer=(\S+)/.exec(line)?.[1] ?? []);
        assert(peers.length >= 3 && peers.every((peer) => peer === '127.0.0.1:0'), `the log says ${lines.join('\n')}`);
        const direct = JSON.parse((await ask(`${behind.loginUri}api/info`)).text);
        const proxied = JSON.parse((await ask(`${proxy.uri}api/info`)).text);
        assert(direct.chat === true && proxied.chat === false, `public chat: ${direct.chat} directly, ${proxied.chat} by the proxy`);
      } finally {
        await proxy.stop();
        await behind.stop();
      }
      behind.removeData();
    });
  },
  { server: { config: 'proxied.toml' } },
);

/** A connection from this address that has sent this and says no more. */
async function open(host, port, localAddress, text) {
  const socket = connect({ host, port: Number(port), localAddress });
  // The server closes connections that wait, in favour of others.
  socket.on('error', () => {});
  await within('a connection', once(socket, 'connect'), ANSWER_DEADLINE_MS);
  socket.write(text);
  return socket;
}

/** So many of them, from ten addresses in turn. */
function openMany(count, host, port, text) {
  return Promise.all(Array.from({ length: count }, (_, n) => open(host, port, `127.0.0.${2 + (n % ADDRESSES)}`, text)));
}

function login(uri, first, headers = {}, digest = '5ebe2294ecd0e0f08eab7690d2a6ee69') {
  const fields = { first, last: 'Resident', passwd: `$1$${digest}`, start: 'last' };
  const members = Object.entries(fields).map(([name, value]) => `<member><name>${name}</name><value><string>${value}</string></value></member>`);
  const body = `<?xml version="1.0"?><methodCall><methodName>login_to_simulator</methodName><params><param><value><struct>${members.join('')}</struct></value></param></params></methodCall>`;
  return ask(uri, { method: 'POST', headers: { 'content-type': 'text/plain', ...headers }, body });
}

/** Status and text of one request on a connection of its own; fetch would not let us say who we are. */
function ask(uri, { method = 'GET', headers = {}, body = '' } = {}) {
  const answered = new Promise((done, fail) => {
    const length = body ? { 'content-length': Buffer.byteLength(body) } : {};
    const request = httpRequest(uri, { method, headers: { ...headers, ...length }, agent: false });
    request.on('error', fail);
    request.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part) => (text += part));
      response.on('end', () => done({ status: response.statusCode, text }));
      response.on('error', fail);
    });
    request.end(body);
  });
  return within(`${method} ${uri}`, answered, ANSWER_DEADLINE_MS);
}

/** nginx in front of the server, which reaches it from an address of its own. */
async function startNginx(dataDir, upstream, header) {
  const folder = join(dataDir, 'nginx');
  mkdirSync(folder);
  const port = await freePort();
  const config = join(folder, 'nginx.conf');
  writeFileSync(
    config,
    `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://${upstream};
      proxy_bind ${PROXY};
      proxy_set_header Host $http_host;
      ${header}
    }
  }
}
`,
  );
  const child = spawn('nginx', ['-c', config, '-e', `${folder}/error.log`], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  const uri = `http://127.0.0.1:${port}/`;
  const listens = async () => {
    for (;;) {
      const found = await ask(`${uri}api/info`).catch((error) => error);
      if (found.status === 200) return;
      if (found.code !== 'ECONNREFUSED') throw new Error(`nginx: ${found.status ?? found} ${found.text ?? ''}`);
    }
  };
  const died = ended.then(([code]) => {
    throw new Error(`nginx ended with ${code}: ${readFileSync(`${folder}/error.log`, 'utf8')}`);
  });
  await within('nginx to listen', Promise.race([listens(), died]), ANSWER_DEADLINE_MS);
  died.catch(() => {});
  return {
    uri,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
