/**
 * Step `licences` of `make lint`: licences and sources of all dependencies, banned ones, and dependencies of any version.
 *
 *   node scripts/licences/main.mjs
 *
 * Exit status 1 when a rule of `policy.mjs` is broken; each fault is a line.
 */

import { execFileSync } from 'node:child_process';
import { faultsOf, usedPackages } from './check.mjs';
import { TARGETS } from './policy.mjs';

const used = new Map();
for (const target of TARGETS) {
  const text = execFileSync('cargo', ['metadata', '--locked', '--all-features', '--format-version=1', `--filter-platform=${target}`], {
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  });
  for (const [id, one] of usedPackages(JSON.parse(text))) used.set(id, one);
}
const packages = [...used.values()];
const faults = packages.flatMap(faultsOf).sort();
for (const fault of faults) console.log(fault);
console.log(`${packages.length} packages, ${faults.length} faults`);
process.exitCode = faults.length > 0 ? 1 : 0;
