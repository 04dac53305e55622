// Archives as a few files in memory: tar in the form of 1988, compressed with gzip.

import { gzipSync } from 'node:zlib';

const BLOCK_BYTES = 512;

/** @param {Record<string, string | Buffer>} files contents by their paths of less than 100 bytes */
export function tarOf(files) {
  const parts = Object.entries(files).flatMap(([path, content]) => {
    const bytes = Buffer.from(content);
    return [header(path, bytes.length), bytes, Buffer.alloc(-bytes.length & (BLOCK_BYTES - 1))];
  });
  return gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * BLOCK_BYTES)]));
}

function header(path, n_bytes) {
  const block = Buffer.alloc(BLOCK_BYTES);
  const octal = (number, digits, at) => block.write(number.toString(8).padStart(digits, '0'), at);
  block.write(path, 0);
  octal(0o644, 7, 100);
  octal(0, 7, 108);
  octal(0, 7, 116);
  octal(n_bytes, 11, 124);
  octal(0, 11, 136);
  // The sum is taken with blanks in its own place.
  block.write(' '.repeat(8), 148);
  block.write('0', 156);
  block.write('ustar\0' + '00', 257);
  octal(block.reduce((sum, byte) => sum + byte, 0), 6, 148);
  block.writeUInt8(0, 154);
  return block;
}
