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

module.exports = load();

/** Never throws: in Node 20, a module that fails while it is imported ends the process at the next import. */
function load() {
  // A build for Node can crash another runtime, so it is not tried.
  const otherRuntime = process.versions.bun ? 'Bun' : process.versions.deno && 'Deno';
  if (otherRuntime)
    return { unusable: `No usable uWebSockets.js for ${otherRuntime}:\nThis build needs Node.` };
  // In the single executable file, the build is an asset of that file.
  const executable = process.getBuiltinModule('node:sea');
  if (executable?.isSea() !== true) return loadFromPackages();
  try {
    return loadFromExecutable(executable);
  } catch (error) {
    return {
      unusable: `The native server cannot be loaded from a private folder in the temporary one (${firstLine(error)}).\nSet TMPDIR to a folder that may be written and whose files may execute.`,
    };
  }
}

function loadFromPackages() {
  const { platform, arch, version, versions, env } = process;
  const named = env.SMSTWIN_UWS; // a package name or an absolute path
  const candidates = [
    'uws-official', // npm i --no-save uws-official@github:uNetworking/uWebSockets.js#v20.51.0
    `@uwsjs/${platform}-${arch}-${versions.node.split('.')[0]}`, // pinned with its digest in package-lock.json
    'uwebsockets', // npm i --no-save uwebsockets@3.0.6: the last resort for macOS, Windows and ARM
  ];
  const failures = [];
  // If a build was named, using another one would measure the wrong code.
  for (const id of named ? [named] : candidates) {
    try {
      return require(id);
    } catch (error) {
      failures.push(`${id}: ${firstLine(error)}`);
    }
  }
  const glibc = failures.some((failure) => failure.includes('GLIBC_'))
    ? '\nThis build needs glibc >= 2.38 (Debian 13, Ubuntu 24.04). Use Node 20 or 22, or a newer base image.'
    : '';
  return {
    unusable: `No usable uWebSockets.js for ${platform}-${arch}, Node ${version}:\n  ${failures.join('\n  ')}${glibc}`,
  };
}

function firstLine({ message }) {
  return String(message).split('\n')[0];
}

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
