/**
 * Both documents are sound to OpenAPI linters that are not ours: Redocly's, with its strict recommendations, and
 * Spectral, with all of its rules.
 */
import { type Config, createConfig, lintFromString } from '@redocly/openapi-core';
import { Spectral } from '@stoplight/spectral-core';
import { oas } from '@stoplight/spectral-rulesets';
import { expect, test } from 'vitest';
import { DescribedService, mixtures, named } from '../../../verify/testkit/openapi-fixture.ts';
import { servedOperations } from '../control/documents.ts';
import { controlDocument } from './control-document.ts';

const recommended = await createConfig({ extends: ['recommended-strict'] });
const service = await createConfig({
  extends: ['recommended-strict'],
  rules: {
    // The service's paths end in a slash: they are the document's, word for word.
    'no-path-trailing-slash': 'off',
    // Beyond the recommendations.
    'operation-description': 'error',
    'operation-tag-defined': 'error',
    'spec-strict-refs': 'error',
    'response-mime-type': { severity: 'error', allowedValues: ['application/json'] },
  },
});

async function complaints(document: object, config: Config): Promise<string[]> {
  const problems = await lintFromString({ source: JSON.stringify(document), config });
  return problems.map(
    ({ ruleId, message, location: [at] }) => `${ruleId}: ${message} (${at?.pointer})`,
  );
}

test('the linter complains of a broken document', async () => {
  const { document } = new DescribedService();
  const elsewhere = { ...document, security: [{ another: [] }] };
  expect(await complaints(elsewhere, service)).not.toEqual([]);
  expect(await complaints({ ...document, paths: { '/x': { get: {} } } }, service)).not.toEqual([]);
});

test.each(mixtures.map((each) => [named(each), each] as const))(
  'no error and no warning under %s',
  async (_, assumptions) => {
    const { document } = new DescribedService(assumptions);
    expect(await complaints(document, service)).toEqual([]);
  },
);

test('no error and no warning in the document of the control API', async () => {
  expect(await complaints(controlDocument(servedOperations), recommended)).toEqual([]);
});

/** All of Spectral's rules but those that do not suit a simulator on the user's machine. */
function spectral(alsoOff: readonly string[] = []): Spectral {
  const linter = new Spectral();
  const unsuited = [
    // It runs on the user's own machine: there is no contact.
    ...['info-contact', 'contact-properties'],
    // OpenAPI 3.1 names a licence by its SPDX identifier; an URL beside it is forbidden.
    'license-url',
    // Tags are in the order in which they are best read.
    'openapi-tags-alphabetical',
    ...alsoOff,
  ];
  const rules = Object.fromEntries(unsuited.map((name) => [name, 'off' as const]));
  linter.setRuleset({ extends: [[oas as never, 'all']], rules });
  return linter;
}

async function findings(linter: Spectral, document: object): Promise<string[]> {
  const results = await linter.run(JSON.parse(JSON.stringify(document)));
  return results.map(({ code, message, path }) => `${code}: ${message} (${path.join('/')})`);
}

test('Spectral has nothing to say to the document of the service', async () => {
  // The service's paths end in a slash: they are the document's, word for word.
  const linter = spectral(['path-keys-no-trailing-slash']);
  const { document } = new DescribedService();
  expect(await findings(linter, document)).toEqual([]);
  expect(await findings(linter, { ...document, paths: { '/x': { get: {} } } })).not.toEqual([]);
});

test('Spectral has nothing to say to the document of the control port', async () => {
  expect(await findings(spectral(), controlDocument(servedOperations))).toEqual([]);
});
