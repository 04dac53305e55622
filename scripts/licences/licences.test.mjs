import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultsOf, usedPackages } from './check.mjs';
import { REGISTRY } from './policy.mjs';

const crate = (fields) => ({ id: 'a', name: 'a', version: '1.0.0', license: 'MIT', source: REGISTRY, dependencies: [], ...fields });

test('expressions of licences are judged as a whole', () => {
  for (const license of ['MIT', 'GPL-3.0 OR MIT', 'MIT/Apache-2.0', '(MIT OR Apache-2.0) AND IJG', 'Apache-2.0 WITH LLVM-exception']) {
    assert.deepEqual(faultsOf(crate({ license })), [], license);
  }
  for (const license of ['GPL-3.0', 'MIT AND GPL-3.0', 'MIT AND', 'LicenseRef-own', null]) {
    assert.equal(faultsOf(crate({ license })).length, 1, license);
  }
});

test('sources, bans and versions have rules', () => {
  assert.match(faultsOf(crate({ source: 'git+https://example.org/a' }))[0], /comes from git/);
  assert.match(faultsOf(crate({ name: 'openssl-sys' }))[0], /banned/);
  const ours = (dependency) => faultsOf(crate({ source: null, license: null, dependencies: [dependency] }));
  assert.match(ours({ name: 'b', req: '*' })[0], /any version/);
  assert.deepEqual([ours({ name: 'b', req: '*', path: '/b' }), ours({ name: 'b', req: '^1' })], [[], []]);
});

test('only packages of programs count', () => {
  const packages = ['ours', 'used', 'of tests', 'unused'].map((id) => crate({ id, name: id }));
  const dep = (pkg, ...kinds) => ({ pkg, dep_kinds: kinds.map((kind) => ({ kind })) });
  const nodes = [
    { id: 'ours', deps: [dep('used', null, 'dev'), dep('of tests', 'dev')] },
    { id: 'used', deps: [dep('ours', 'build')] },
    { id: 'of tests', deps: [] },
    { id: 'unused', deps: [] },
  ];
  const found = usedPackages({ packages, resolve: { nodes }, workspace_members: ['ours'] });
  assert.deepEqual([...found.keys()].sort(), ['ours', 'used']);
});
