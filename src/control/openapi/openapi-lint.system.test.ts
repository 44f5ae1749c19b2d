/**
 * Both documents pass two independent OpenAPI linters: Redocly's, with its strict recommendations,
 * and Spectral, with all of its rules.
 */
import { expect, test } from 'vitest';
import { mixtures, named } from '#verify/testkit/assumption-mixtures.ts';
import { DescribedService } from '#verify/testkit/openapi-fixture.ts';
import { servedOperations } from '../documents.ts';
import { controlDocument } from './control-document.ts';

/**
 * What this file uses of the two linters. The compiler takes an eighth of its time for the types
 * that they come with, so they are imported without them.
 */
interface RedoclyLinter {
  createConfig(settings: object): Promise<object>;
  lintFromString(input: { source: string; config: object }): Promise<RedoclyProblem[]>;
}
interface RedoclyProblem {
  readonly ruleId: string;
  readonly message: string;
  readonly location: readonly [{ readonly pointer?: string }?];
}
interface SpectralLinter {
  setRuleset(ruleset: object): void;
  run(document: unknown): Promise<SpectralResult[]>;
}
interface SpectralResult {
  readonly code: string | number;
  readonly message: string;
  readonly path: readonly (string | number)[];
}
const { createConfig, lintFromString } = await untyped<RedoclyLinter>('@redocly/openapi-core');
const { Spectral } = await untyped<{ Spectral: new () => SpectralLinter }>(
  '@stoplight/spectral-core',
);
const { oas } = await untyped<{ oas: object }>('@stoplight/spectral-rulesets');

async function untyped<Used>(name: string): Promise<Used> {
  return (await import(name)) as Used;
}

const recommended = await createConfig({ extends: ['recommended-strict'] });
const service = await createConfig({
  extends: ['recommended-strict'],
  rules: {
    // The service's paths end in a slash.
    'no-path-trailing-slash': 'off',
    // Stricter than the recommendations.
    'operation-description': 'error',
    'operation-tag-defined': 'error',
    'spec-strict-refs': 'error',
    'response-mime-type': { severity: 'error', allowedValues: ['application/json'] },
  },
});

async function complaints(document: object, config: object): Promise<string[]> {
  const problems = await lintFromString({ source: JSON.stringify(document), config });
  return problems.map(
    ({ ruleId, message, location: [at] }) => `${ruleId}: ${message} (${at?.pointer})`,
  );
}

test('the linter reports a broken document', async () => {
  const { document } = new DescribedService();
  const elsewhere = { ...document, security: [{ another: [] }] };
  expect(await complaints(elsewhere, service)).not.toEqual([]);
  expect(await complaints({ ...document, paths: { '/x': { get: {} } } }, service)).not.toEqual([]);
});

test.each(mixtures.map((each) => [named(each), each] as const))(
  'the service document has no error and no warning under %s',
  async (_, assumptions) => {
    const { document } = new DescribedService(assumptions);
    expect(await complaints(document, service)).toEqual([]);
  },
);

test('the control document has no error and no warning', async () => {
  expect(await complaints(controlDocument(servedOperations), recommended)).toEqual([]);
});

/** All of Spectral's rules except those that do not suit a simulator on the user's machine. */
function spectral(alsoOff: readonly string[] = []): SpectralLinter {
  const linter = new Spectral();
  const unsuited = [
    // It runs on the user's own machine, without a contact.
    'info-contact',
    'contact-properties',
    // OpenAPI 3.1 names a licence by its SPDX identifier and then forbids a URL.
    'license-url',
    // Tags are in reading order.
    'openapi-tags-alphabetical',
    ...alsoOff,
  ];
  const rules = Object.fromEntries(unsuited.map((name) => [name, 'off']));
  linter.setRuleset({ extends: [[oas, 'all']], rules });
  return linter;
}

async function findings(linter: SpectralLinter, document: object): Promise<string[]> {
  const results = await linter.run(JSON.parse(JSON.stringify(document)));
  return results.map(({ code, message, path }) => `${code}: ${message} (${path.join('/')})`);
}

test('Spectral reports nothing for the service document', async () => {
  // The service's paths end in a slash.
  const linter = spectral(['path-keys-no-trailing-slash']);
  const { document } = new DescribedService();
  expect(await findings(linter, document)).toEqual([]);
  expect(await findings(linter, { ...document, paths: { '/x': { get: {} } } })).not.toEqual([]);
});

test('Spectral reports nothing for the control document', async () => {
  expect(await findings(spectral(), controlDocument(servedOperations))).toEqual([]);
});
