// hippolyzer (PyPI), installed once into a virtual environment outside the checkout, named after its requirements.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Skip } from './harness.mjs';

const REQUIREMENTS = join(dirname(fileURLToPath(import.meta.url)), 'requirements.txt');

/** The interpreter of the environment. A half-made one keeps its temporary name and is made anew. */
export async function installHippolyzer() {
  const digest = createHash('sha256').update(readFileSync(REQUIREMENTS)).digest('hex').slice(0, 12);
  const environment = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'throng', `hippolyzer-${digest}`);
  const python = join(environment, 'bin', 'python');
  if (existsSync(python)) return python;
  const unfinished = `${environment}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  const call = promisify(execFile);
  try {
    await call('python3', ['-m', 'venv', unfinished]);
    await call(join(unfinished, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', '--no-deps', '-r', REQUIREMENTS]);
  } catch (error) {
    throw new Skip(`hippolyzer cannot be installed: ${error.message.trim().split('\n').at(-1)}`);
  }
  renameSync(unfinished, environment);
  return python;
}
