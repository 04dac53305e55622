// The dashboards against a real Prometheus: starts `throng serve` with bots in it and a backup that was rehearsed, lets Debian's Prometheus scrape it, and
// asks every query of every panel. A panel without data is a failure: the metric was renamed, or nobody counts it. Before that
// promtool asks the queries of extremes about made-up data: one moment between two points of a graph has to be in the graph.
//
//   node tests/dashboards/dashboards.mjs

import { spawn, spawnSync } from 'node:child_process';
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
/** What has to be seen however far out one zooms: longest times, which are kept for 30 s, and the slowest world. */
const EXTREMES = /\bthrong_\w+_max\b|\bthrong_world_dilation_ratio\b/g;
/** In a graph of a day, Grafana asks for a point each 86 s or so, and adds a scrape to the rates' interval. */
const DAY = { ...VARIABLES, '$__rate_interval': '91s', '$__range': '1d' };

const queries = panelQueries(VARIABLES);
const work = mkdtempSync(join(tmpdir(), 'throng-dashboards-'));
const server = await Server.start({ config: configWithBackups() });
const children = [];
try {
  checkExtremes(panelQueries(DAY));
  children.push(
    spawn(
      binaryPath(),
      ['bots', '--login', server.loginUri, '--count', `${BOTS}`, '--behavior', 'walk', '--duration', BOTS_STAY],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    ),
  );
  await makeBackup();
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
function panelQueries(variables) {
  const fill = (expr) => Object.entries(variables).reduce((text, [name, value]) => text.replaceAll(name, value), expr);
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

/** The tests' configuration with a directory of backups; its path. */
function configWithBackups() {
  const config = readFileSync(resolve(DASHBOARDS, '../tests/clients/world.toml'), 'utf8');
  const path = join(work, 'server.toml');
  writeFileSync(path, `${config}\n[backup]\ndirectory = "${join(work, 'backups')}"\nevery_h = 0\nrehearse_every_h = 0\n`);
  return path;
}

/** A backup, and its rehearsal, which goes on by itself. */
async function makeBackup() {
  await server.command('backup', join(work, 'backups'));
  const token = readFileSync(join(server.dataDir, 'admin.token'), 'utf8').trim();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const ordered = await fetch(`http://${server.run.admin}/v1/rehearsals`, { method: 'POST', headers, body: '{}' });
  if (!ordered.ok) throw new Error(`no rehearsal: ${ordered.status} ${await ordered.text()}`);
}

/** Whether a point of a day's graph tells of what was over a minute before it. */
function checkExtremes(all) {
  const tests = all.flatMap(({ dashboard, panel, expr }) => {
    const metrics = new Set(expr.match(EXTREMES));
    if (metrics.size === 0) return [];
    const isLow = expr.includes('dilation');
    // A scrape each 5 s: 105 s nothing, 30 s the spike, and nothing again.
    const usual = `${isLow ? 1 : 0.01}+0x20`;
    const series = (metric) => `${metric}{instance="server:9009",world="Harbour",system="hub"}`;
    const found = { labels: '{}', value: 0.5 };
    return {
      name: `${dashboard} / ${panel}`,
      interval: '5s',
      input_series: [...metrics].map((metric) => ({ series: series(metric), values: `${usual} 0.5+0x5 ${usual}` })),
      promql_expr_test: [{ expr: `${isLow ? 'min' : 'max'}(${expr})`, eval_time: '190s', exp_samples: [found] }],
    };
  });
  if (tests.length === 0) throw new Error('no panel shows an extreme');
  const file = join(work, 'extremes.json');
  // JSON is YAML, too.
  writeFileSync(file, JSON.stringify({ rule_files: [], tests }));
  const { status, stdout, stderr, error } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(`a spike is missing from a day's graph\n${stdout}${stderr}`);
  console.log(`${tests.length} queries of extremes show what was between two points`);
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
