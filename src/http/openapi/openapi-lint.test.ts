/**
 * Both documents are sound to an OpenAPI linter that is not ours: Redocly's, with its strict recommendations.
 */
import { type Config, createConfig, lintFromString } from '@redocly/openapi-core';
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
