/** Judges the packages of `cargo metadata` by the rules of `policy.mjs`. */

import satisfies from 'spdx-satisfies';
import { ALLOWED, BANNED, REGISTRY } from './policy.mjs';

/**
 * @typedef {{ name: string, req: string, path?: string | null }} Dependency
 * @typedef {{ id: string, name: string, version: string, license: string | null, source: string | null, dependencies: Dependency[] }} Package
 * @typedef {{ packages: Package[], resolve: { nodes: { id: string, deps: { pkg: string, dep_kinds: { kind: string | null }[] }[] }[] }, workspace_members: string[] }} Metadata
 */

/**
 * @param {Metadata} metadata for one target
 * @returns {Map<string, Package>} by id: what is compiled into programs for that target, the workspace included; dependencies of tests are not
 */
export function usedPackages({ packages, resolve, workspace_members: members }) {
  const byId = new Map(packages.map((one) => [one.id, one]));
  const inBinary = ({ dep_kinds: kinds }) => kinds.some(({ kind }) => kind !== 'dev');
  const deps = new Map(resolve.nodes.map(({ id, deps }) => [id, deps.filter(inBinary).map(({ pkg }) => pkg)]));
  const used = new Map();
  const waiting = [...members];
  while (waiting.length > 0) {
    const id = waiting.pop();
    if (used.has(id)) continue;
    used.set(id, byId.get(id));
    waiting.push(...(deps.get(id) ?? []));
  }
  return used;
}

/**
 * @param {Package} one
 * @returns {string[]} the rules that it breaks, as sentences
 */
export function faultsOf(one) {
  const label = `${one.name} ${one.version}`;
  if (one.source === null) {
    return one.dependencies
      .filter(({ req, path }) => req === '*' && !path)
      .map(({ name }) => `${label}: its dependency ${name} may have any version`);
  }
  const faults = [];
  if (Object.hasOwn(BANNED, one.name)) faults.push(`${label} is banned: ${BANNED[one.name]}`);
  if (one.source !== REGISTRY) faults.push(`${label} comes from ${one.source}`);
  if (!one.license) faults.push(`${label} states no licence`);
  else if (!isAllowed(one.license)) faults.push(`${label} has the licence ${one.license}`);
  return faults;
}

/** An expression of SPDX, or the former form of crates.io with a slash. */
function isAllowed(license) {
  try {
    return satisfies(license.replaceAll('/', ' OR '), ALLOWED);
  } catch {
    return false;
  }
}
