// Hostile HTTP beside people who log in: silent and endless requests from many addresses, pages of other sites, and a real proxy.
//
//   node http.mjs [--report FILE]
//
// Everything stays on this machine: the addresses are 127.0.0.x. The proxy is nginx; without it the scenario is skipped.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { Client } from './client.mjs';
import { assert, main, Skip } from './harness.mjs';
import { within } from './wait.mjs';

const ADDRESSES = 10;
const SILENT = 1_000;
const VISITORS = 20;
const ANSWER_DEADLINE_MS = 20_000;
const PROXY = '127.0.0.77';

await main(
  async ({ server, loginUri, step, log }) => {
    if (!server) throw new Skip('it needs a server of its own');
    if (spawnSync('nginx', ['-v']).error) throw new Skip('nginx is missing (Debian: nginx-light)');
    const { hostname, port } = new URL(loginUri);
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

    const attacks = {
      'silent bodies': 'POST / HTTP/1.1\r\nHost: throng\r\nContent-Length: 100000\r\n\r\n<?xml',
      'large bodies that stop before their end': `POST / HTTP/1.1\r\nHost: throng\r\nContent-Length: 500000\r\n\r\n${'x'.repeat(100_000)}`,
      'heads without an end': 'GET / HTTP/1.1\r\nHost: throng\r\nX: ',
      'connections that say nothing': '',
    };
    for (const [what, text] of Object.entries(attacks)) {
      await step(`${SILENT} ${what} from ${ADDRESSES} addresses take nobody's login`, async () => {
        const sockets = await Promise.all(Array.from({ length: SILENT }, (_, n) => open(hostname, port, `127.0.0.${2 + (n % ADDRESSES)}`, text)));
        await visit(what);
        for (const socket of sockets) socket.destroy();
      });
    }

    await step('a page of another site is refused', async () => {
      const origin = 'http://evil.example';
      for (const headers of [{ origin }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }]) {
        const { status } = await login(loginUri, 'Victim', headers);
        assert(status === 403, `${JSON.stringify(headers)}: ${status}`);
      }
      const users = await server.command('user', 'list');
      assert(!users.includes('Victim'), 'an account was made');
      const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
      assert((await ask(`${loginUri}live`, { headers: { ...upgrade, origin } })).status === 403, 'the live feed is open to a foreign page');
      assert((await ask(`${loginUri}live`, { headers: { ...upgrade, host: 'evil.example' } })).status === 421, 'the live feed answers to a foreign name');
      const metrics = `http://${server.run.admin}/metrics`;
      assert((await ask(metrics, { headers: { host: 'evil.example' } })).status === 421, 'the operator answers to a foreign name');
      assert((await ask(metrics)).status === 200, 'the operator does not answer');
    });

    await step('behind a real proxy a client is who the proxy says, and this machine is nobody', async () => {
      const proxy = await startNginx(server.dataDir, `${hostname}:${port}`);
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

    await guest.leave();
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
async function startNginx(dataDir, upstream) {
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
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
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
