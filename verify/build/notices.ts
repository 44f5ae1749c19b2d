/**
 * Collects the licence texts of the bundled packages; each licence requires its text in every copy.
 * A package without a licence text is accepted only under Apache-2.0, whose text is appended once,
 * and under MIT, if it names its author.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const apache = 'Apache-2.0';
const mit = new URL('../../LICENSE', import.meta.url);
const apacheText = new URL('../../node_modules/libphonenumber-js/LICENSE.Apache', import.meta.url);

/** The text of all notices. `sources`: the bundled files; those in `node_modules` count. */
export function thirdPartyNotices(sources: Iterable<string>): string {
  const folders = new Set<string>();
  for (const source of sources) {
    const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(source)?.[0];
    if (folder !== undefined) folders.add(folder);
  }
  const notices = new Set([...folders].map(noticeOf).sort());
  const headline = 'smstwin contains code of the packages below, each under its own licence.\n';
  return [headline, ...notices, `${apache}\n\n${readFileSync(apacheText, 'utf8')}`].join(
    `\n${'-'.repeat(80)}\n\n`,
  );
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly author?: unknown;
}

/** The notice of the package in a folder. Throws if its licence text is missing. */
function noticeOf(folder: string): string {
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const { name, version, license = 'see below', author } = manifest;
  const names = readdirSync(folder);
  const texts = names
    .filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
    .map((file) => readFileSync(join(folder, file), 'utf8').trim());
  const readme = names.find((file) => /^readme/i.test(file));
  // Some packages have their licence as the last section of the README.
  if (texts.length === 0 && readme !== undefined) {
    const text = readFileSync(join(folder, readme), 'utf8');
    const section = /^#+ licen[cs]e\b[^\n]*\n([\s\S]*)/im.exec(text)?.[1];
    if (section !== undefined) texts.push(section.trim());
  }
  if (texts.length === 0) {
    if (license !== apache && (license !== 'MIT' || author === undefined))
      throw new Error(`${folder}: no licence text, so it cannot be bundled`);
    if (license === apache) texts.push(`The text of ${apache} is at the end of this file.`);
    // Our own licence is the MIT licence.
    else texts.push(readFileSync(mit, 'utf8').replace(/(?<=^Copyright ).*/m, String(author)));
  }
  return `${name} ${version} (${license})\n\n${texts.join('\n\n')}\n`;
}
