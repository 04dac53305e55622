/** Rules for dependencies. The binary is MIT OR Apache-2.0 as a whole, so that permissive licences only may be in it. */

/** Platforms that the server is built for. */
export const TARGETS = ['x86_64-unknown-linux-gnu', 'aarch64-unknown-linux-gnu'];

/** Licences that a dependency may be used under. */
export const ALLOWED = [
  'Apache-2.0',
  'Apache-2.0 WITH LLVM-exception',
  'BSD-2-Clause',
  'BSD-3-Clause',
  // The tables of the JPEG encoder.
  'IJG',
  'MIT',
  'Unicode-3.0',
  'Zlib',
];

/** Crates that must not be dependencies, with reasons. */
export const BANNED = { 'openssl-sys': 'rustls instead: no system library to install' };

/** The only source of dependencies. */
export const REGISTRY = 'registry+https://github.com/rust-lang/crates.io-index';
