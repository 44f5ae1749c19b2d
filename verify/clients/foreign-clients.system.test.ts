/**
 * The referee against clients in Python and in the shell: wrong ones are found by their rule, right
 * ones by none, with the whole journal and with a part of it.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { pythonClients, shellClients } from './catalogue.ts';
import { type Run, runForeign } from './run.ts';
import { complaints, seedsOf } from './verdict.ts';

describe.each([
  ['python', pythonClients],
  ['shell', shellClients],
] as const)('%s', (language, clients) => {
  let runs: readonly Run[] = [];
  beforeAll(async () => {
    runs = await runForeign(language, clients, seedsOf());
  }, 900_000);

  test.each(
    clients.map((client) => [`${client.rule ?? 'right'}: ${client.name}`, client] as const),
  )('%s', (_, client) => {
    const ofClient = runs.filter((run) => run.client === client);
    expect(ofClient).toHaveLength(seedsOf().length);
    expect(ofClient.flatMap(complaints).join('\n')).toBe('');
  });
});
