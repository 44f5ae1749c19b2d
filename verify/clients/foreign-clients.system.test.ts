/**
 * The referee against clients in Python and in the shell: wrong ones are found by their rule, right
 * ones by none, with the whole journal and with a part of it.
 */
import { expect, test } from 'vitest';
import type { ClientRow } from './client.ts';
import { pythonClients, shellClients } from './foreign-clients.ts';
import { type ForeignRun, runPythonClients, runShellClients } from './foreign-run.ts';
import { allSeeds, printMatrix } from './matrix.ts';
import { complaints } from './trial.ts';

const withinMs = 900_000;

test.each([
  ['Python', pythonClients, runPythonClients],
  ['shell', shellClients, runShellClients],
])(
  '%s clients get the verdicts that they deserve',
  async (_, clients, runAll) => {
    expectVerdicts(clients, await runAll(clients, allSeeds));
  },
  withinMs,
);

function expectVerdicts(clients: readonly ClientRow[], runs: readonly ForeignRun[]): void {
  const tried = clients.map((client) => ({
    client,
    complaints: runs
      .filter((one) => one.client === client)
      .map(({ seed, run }) =>
        complaints(client, seed, run).map((line) => `${client.name}, seed ${seed}: ${line}`),
      ),
  }));
  printMatrix(tried);
  expect(tried.flatMap((one) => one.complaints.flat()).join('\n')).toBe('');
}
