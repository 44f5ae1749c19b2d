/**
 * The lockfile pins every package by its digest and names no registry: every registry must deliver
 * these bytes. The bundled packages are listed here, so that a new one needs a review.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'));
const { packages } = read('package-lock.json') as { packages: Record<string, Locked> };
/** The packages of this repository: itself, and the shim for the native module. */
const own = ['', 'node_modules/uWebSockets.js', 'src/http/transport/uws'];
const foreign = Object.entries(packages).filter(([path]) => !own.includes(path));

test('every package is pinned by a SHA-512 digest', () => {
  expect(foreign.length).toBeGreaterThan(100);
  const loose = foreign.filter(
    ([, { integrity = '' }]) => !/^sha512-[\w+/]{86}==$/.test(integrity),
  );
  expect(loose.map(([path]) => path)).toEqual([]);
});

test('no package is tied to the host it was fetched from, and all come from a registry', () => {
  const tied = Object.entries(packages).filter(
    ([path, { resolved, link }]) =>
      resolved !== undefined &&
      !(own.includes(path) && link === true && resolved === 'src/http/transport/uws'),
  );
  expect(tied.map(([path]) => path)).toEqual([]);
  expect(readFileSync(new URL('../../.npmrc', import.meta.url), 'utf8')).toContain(
    'omit-lockfile-registry-resolved=true',
  );
  expect(JSON.stringify(packages)).not.toMatch(/git\+|https?:\/\/[^"]*\.tgz/);
});

test('packages installed with this one run no install scripts', () => {
  const scripted = foreign.filter(
    ([, { dev, hasInstallScript }]) => dev !== true && hasInstallScript,
  );
  expect(scripted.map(([path]) => path)).toEqual([]);
});

/** The packages of others that the build puts into `dist/`. */
const bundled = [
  'hyper-express',
  'autocannon',
  'commander',
  '@bomb.sh/tab',
  'prom-client',
  'libphonenumber-js',
  'lru-cache',
  'xstate',
  'zod',
  'yaml',
  'preact',
  '@preact/signals',
  'uplot',
  '@sinonjs/fake-timers',
  '@peculiar/x509',
  'reflect-metadata',
];
/** Reviewed, with all their dependencies. Of them uWebSockets.js is our own shim. */
const lookedAt =
  '@assemblyscript/loader @bomb.sh/tab @colors/colors @minimistjs/subarg @opentelemetry/api @peculiar/asn1-asym-key @peculiar/asn1-cms @peculiar/asn1-csr @peculiar/asn1-ecc @peculiar/asn1-pfx @peculiar/asn1-pkcs8 @peculiar/asn1-pkcs9 @peculiar/asn1-rsa @peculiar/asn1-schema @peculiar/asn1-x509 @peculiar/asn1-x509-attr @peculiar/asn1-x509-post-quantum @peculiar/utils @peculiar/x509 @preact/signals @preact/signals-core @sinonjs/commons @sinonjs/fake-timers ansi-regex ansi-styles asn1js async-function async-generator-function asynckit autocannon base64-js bintrees buffer busboy call-bind-apply-helpers chalk char-spinner cli-table3 color-convert color-name color-support combined-stream commander content-type cookie cookie-signature cross-argv delayed-stream dunder-proto emoji-regex es-define-property es-errors es-object-atoms es-set-tostringtag form-data function-bind generator-function get-intrinsic get-proto gopd has-async-hooks has-flag has-symbols has-tostringtag hasown hdr-histogram-js hdr-histogram-percentiles-obj http-parser-js hyper-express hyperid ieee754 is-fullwidth-code-point libphonenumber-js lodash.chunk lodash.clonedeep lodash.flatten lru-cache manage-path math-intrinsics media-typer mime-db mime-types minimist negotiator on-net-listen pako preact pretty-bytes progress prom-client pvtsutils pvutils range-parser reflect-metadata reinterval retimer semver streamsearch string-width strip-ansi supports-color tdigest timestring tslib tsyringe type-detect type-is uWebSockets.js uplot xstate yaml zod';
const installed =
  '@uwsjs/linux-x64-20 @uwsjs/linux-x64-22 @uwsjs/linux-x64-24 @uwsjs/linux-x64-26 zod';

test('only reviewed packages are bundled or installed with the package', () => {
  const found = new Set<string>();
  for (const name of bundled) collect(name, '', found);
  const names = [...found].map((path) => path.replace(/^.*node_modules\//, ''));
  expect([...new Set(names)].sort().join(' ')).toBe(lookedAt);
  const production = foreign.filter(([, { dev }]) => dev !== true).map(([path]) => path.slice(13));
  expect(production.sort().join(' ')).toBe(installed);
});

/**
 * A package and all that it depends on, as paths of the lockfile: the nearest one of a name counts.
 */
function collect(name: string, from: string, found: Set<string>): void {
  const path = nearest(name, from);
  if (path === undefined || found.has(path)) return;
  found.add(path);
  const { dependencies, optionalDependencies } = packages[path] ?? {};
  for (const each of Object.keys({ ...dependencies, ...optionalDependencies }))
    collect(each, path, found);
}

/** Undefined for an absent optional value. */
function nearest(name: string, from: string): string | undefined {
  const path = `${from === '' ? '' : `${from}/`}node_modules/${name}`;
  if (packages[path] !== undefined) return path;
  if (from === '') return undefined;
  return nearest(name, from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))));
}
