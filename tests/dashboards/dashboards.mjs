// The dashboards against a real Prometheus: starts `throng serve` with bots in it, lets Debian's Prometheus scrape it, and
// asks every query of every panel. A panel without data is a failure: the metric was renamed, or nobody counts it.
//
//   node tests/dashboards/dashboards.mjs

import { spawn } from 'node:child_process';
import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Server, binaryPath } from '../clients/server.mjs';

const DASHBOARDS = resolve(dirname(fileURLToPath(import.meta.url)), '../../dashboards');
const BOTS = 20;
/** Longer than everything else here may take. */
const BOTS_STAY = '180s';
const DEADLINE_MS = 90_000;
const BETWEEN_LOOKS_MS = 500;
/** What Grafana would put in; the rates' interval holds ten scrapes. */
const VARIABLES = { '$__rate_interval': '10s', '$__range': '1m', '$instance': '.+' };

const queries = panelQueries();
const work = mkdtempSync(join(tmpdir(), 'throng-dashboards-'));
const server = await Server.start();
const children = [];
try {
  children.push(
    spawn(
      binaryPath(),
      ['bots', '--login', server.loginUri, '--count', `${BOTS}`, '--behavior', 'walk', '--duration', BOTS_STAY],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    ),
  );
  const prometheus = await startPrometheus(server.run.admin);
  const silent = await askUntilAllAnswer(prometheus);
  for (const { dashboard, panel, expr, why } of silent) console.error(`no data: ${dashboard} / ${panel}: ${expr}${why}`);
  if (silent.length > 0) process.exitCode = 1;
  else console.log(`${queries.length} queries of ${new Set(queries.map((query) => query.dashboard)).size} dashboards return data`);
} finally {
  for (const child of children) child.kill('SIGTERM');
  await Promise.all(children.map(exit));
  await server.stop();
  server.removeData();
  rmSync(work, { recursive: true, force: true });
}

/** Every query of every panel, with the variables filled in. */
function panelQueries() {
  const fill = (expr) => Object.entries(VARIABLES).reduce((text, [name, value]) => text.replaceAll(name, value), expr);
  const files = readdirSync(DASHBOARDS).filter((name) => name.endsWith('.json'));
  if (files.length === 0) throw new Error(`no dashboards in ${DASHBOARDS}`);
  return files.flatMap((file) => {
    const dashboard = JSON.parse(readFileSync(join(DASHBOARDS, file), 'utf8'));
    if (`${dashboard.uid}.json` !== file) throw new Error(`${file} has the uid ${dashboard.uid}: links would break`);
    return dashboard.panels.flatMap((panel) =>
      (panel.targets ?? []).map((target) => ({ dashboard: dashboard.uid, panel: panel.title, expr: fill(target.expr) })),
    );
  });
}

/** Prometheus with the project's own configuration, but our server's address and a scrape each second. */
async function startPrometheus(admin) {
  const example = readFileSync(join(DASHBOARDS, 'prometheus.yml'), 'utf8');
  const config = example.replace('127.0.0.1:9009', admin).replace('scrape_interval: 5s', 'scrape_interval: 1s');
  if (!config.includes(admin)) throw new Error('prometheus.yml does not name the address that this test replaces');
  writeFileSync(join(work, 'prometheus.yml'), config);
  const address = `127.0.0.1:${await freePort()}`;
  const log = openSync(join(work, 'prometheus.log'), 'a');
  const args = [`--config.file=${join(work, 'prometheus.yml')}`, `--storage.tsdb.path=${join(work, 'data')}`];
  const child = spawn('prometheus', [...args, `--web.listen-address=${address}`], { stdio: ['ignore', log, log] });
  children.push(child);
  const died = exit(child).then((code) => {
    throw new Error(`prometheus ended with ${code}\n${readFileSync(join(work, 'prometheus.log'), 'utf8')}`);
  });
  // It ends after the test, too, when nobody waits for it any more.
  died.catch(() => {});
  const url = `http://${address}`;
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const ready = await Promise.race([fetch(`${url}/-/ready`).catch(() => null), died]);
    if (ready?.ok) return url;
    if (Date.now() > deadline) throw new Error('prometheus does not get ready');
    await pause(BETWEEN_LOOKS_MS);
  }
}

/** The queries that still have no data at the deadline. */
async function askUntilAllAnswer(prometheus) {
  const deadline = Date.now() + DEADLINE_MS;
  let open = queries;
  while (open.length > 0 && Date.now() < deadline) {
    const answers = await Promise.all(open.map((query) => ask(prometheus, query.expr)));
    open = open.flatMap((query, at) => (answers[at].hasData ? [] : [{ ...query, why: answers[at].why }]));
    if (open.some((query) => query.why)) break;
    await pause(BETWEEN_LOOKS_MS);
  }
  return open;
}

async function ask(prometheus, expr) {
  const response = await fetch(`${prometheus}/api/v1/query?query=${encodeURIComponent(expr)}`);
  const answer = await response.json();
  if (answer.status !== 'success') return { hasData: false, why: `: ${answer.error}` };
  // 0 ÷ 0 is no figure: a panel of NaN is empty.
  const hasData = answer.data.result.some((series) => Number.isFinite(Number(series.value[1])));
  return { hasData, why: '' };
}

function freePort() {
  return new Promise((done, fail) => {
    const probe = createServer().once('error', fail);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
}

/** The exit code of a child; null when a signal ended it. */
function exit(child) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((done, fail) => child.once('exit', done).once('error', fail));
}
