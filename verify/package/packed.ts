/**
 * The packed package, which `npm run pack:build` leaves in `build/`, and projects that install it.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../testkit/doc-commands.ts';

export const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly devDependencies: Readonly<Record<string, string>>;
};

export const tarball = `smstwin-${manifest.version}.tgz`;
export const packed = join(root, 'build', tarball);

export function emptyProject(folder: string, name: string): string {
  const project = join(folder, name);
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "private": true }\n');
  return project;
}

/** The packages of this version that the checkout tests with, as npm takes them. */
export function ofCheckout(...names: readonly string[]): string {
  return names.map((name) => `'${name}@${manifest.devDependencies[name]}'`).join(' ');
}
