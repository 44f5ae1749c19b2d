'use strict';
/*
 * Loads the native uWebSockets.js build that HyperExpress runs on: the first candidate that loads is
 * exported. If none loads, the only export is `unusable`, the reason.
 * HyperExpress asks for uWebSockets.js from GitHub, which many networks cannot reach and which npm
 * republishes only in parts; `overrides` in package.json points it here instead. native.test.ts
 * compares the digest of the loaded file, because that code reads every request.
 */

// The build reads it while it loads. Its default of 4 KiB is less than a browser's cookies on localhost.
process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= '16384';

const major = process.versions.node.split('.')[0];
const candidates = [
  process.env.SMSTWIN_UWS, // a package name or an absolute path; see below
  'uws-official', // npm i --no-save uws-official@github:uNetworking/uWebSockets.js#v20.51.0
  `@uwsjs/${process.platform}-${process.arch}-${major}`, // pinned with its digest in package-lock.json
  'uwebsockets', // npm i --no-save uwebsockets@3.0.6: the last resort for macOS, Windows and ARM
];

const failures = [];
let native;
// In the single executable file, the build is an asset of that file.
const executable = process.getBuiltinModule('node:sea');
const isExecutable = executable?.isSea() === true;
// A build for Node can crash another runtime, so it is not tried.
const otherRuntime = process.versions.bun ? 'Bun' : process.versions.deno && 'Deno';
if (isExecutable) {
  try {
    native = loadFromExecutable(executable);
  } catch (error) {
    failures.push(String(error.message).split('\n')[0]);
  }
}
for (const id of isExecutable || otherRuntime ? [] : candidates) {
  if (!id) continue;
  try {
    native = require(id);
    break;
  } catch (error) {
    failures.push(`${id}: ${String(error.message).split('\n')[0]}`);
    // If a build was named, using another one would measure the wrong code.
    if (id === process.env.SMSTWIN_UWS) break;
  }
}
if (otherRuntime) {
  native = {
    unusable: `No usable uWebSockets.js for ${otherRuntime}:\nThis build needs Node.`,
  };
}
if (!native) {
  const glibc = failures.some((failure) => failure.includes('GLIBC_'))
    ? '\nThis build needs glibc >= 2.38 (Debian 13, Ubuntu 24.04). Use Node 20 or 22, or a newer base image.'
    : '';
  // Not thrown: in Node 20, a module that fails while it is imported ends the process at the next import.
  native = {
    unusable: isExecutable
      ? `The native server cannot be loaded from a private folder in the temporary one (${failures[0]}).\nSet TMPDIR to a folder that may be written and whose files may execute.`
      : `No usable uWebSockets.js for ${process.platform}-${process.arch}, Node ${process.version}:\n  ${failures.join('\n  ')}${glibc}`,
  };
}
module.exports = native;

/** Copies the build to a private folder while it is loaded: the system loads only from files. */
function loadFromExecutable({ getRawAsset }) {
  const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
  const { join } = require('node:path');
  const folder = mkdtempSync(join(require('node:os').tmpdir(), 'smstwin-'));
  try {
    const file = join(folder, 'uws.node');
    writeFileSync(file, Buffer.from(getRawAsset('uws.node')), { mode: 0o700 });
    const loaded = { exports: {} };
    process.dlopen(loaded, file);
    return loaded.exports;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
