import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { FaultName } from '#contract/fault-schedule.ts';
import type { RunClient } from '#explore/client-run.ts';
import type { Client, ClientTools } from '#explore/explore.ts';
import { runInProcess } from '#explore/in-process-run.ts';
import { search } from '#explore/search.ts';
import { junitReport } from '#judging/report/junit.ts';
import { markdownReport } from '#judging/report/markdown.ts';
import { writeReports } from '#judging/report/write.ts';
import { hostileWords, obeyed } from '#verify/hostile/hostile-servers.ts';
import { exploreJson, exploreSummary, findingText } from './explore-summary.ts';

function explored(client: Client, fault: FaultName) {
  const options = { client, settings: {}, slowMs: 3_000, timeoutMs: 600_000 };
  const runClient: RunClient = (...run) => runInProcess(options, ...run);
  return search({
    runClient,
    faults: [fault],
    depth: 1,
    maxRuns: 100,
    jobs: 1,
    seed: 1,
    bail: false,
    mayFail: false,
  });
}

async function send({ fetch, baseUrl, apiKey, from }: ClientTools, id = 'one'): Promise<boolean> {
  const reply = await fetch(`${baseUrl}/api/v1/sms/send/`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ to: '+12025550123', from, message: 'hello', request_id: id }),
  });
  return reply.ok;
}

test('the text of a finding names every cause of the failure', async () => {
  const impatient: Client = async (tools) => {
    if (await send(tools)) return;
    await send(tools);
    throw new Error('gave up');
  };
  const { findings } = await explored(impatient, 'throttle');
  const [finding] = findings;
  const text = finding && findingText(finding, 'FOUND', undefined);
  expect(text).toMatch(
    /^FOUND {2}failed {2}throttle at send 1, attempt 1\n {2}it threw: gave up\n/,
  );
  expect(text).toMatch(/^ {2}and CLIENT-1: the retry arrived .* before the 429 allowed it/m);
});

test.each(['refuse', 'reset'] as const)(
  'the timeline shows a request that meets %s as closed',
  async (fault) => {
    const { findings } = await explored(send, fault);
    const [finding] = findings;
    expect(finding && findingText(finding, 'FOUND', undefined)).toContain(
      `(send 1, attempt 1) → closed  ← ${fault}\n`,
    );
  },
);

test('a message that was sent twice is never called a recovery', async () => {
  const doubling: Client = async (tools) => {
    await send(tools).catch(() => send(tools, 'two'));
  };
  const { findings } = await explored(doubling, 'lost_response');
  const text = findings.map((one) => findingText(one, 'FOUND', undefined)).join('\n');
  expect(text).toMatch(/one message was accepted 2 times|a message was sent twice/);
  expect(text).not.toMatch(/recover/i);
});

test('the reports count runs, and say which failure did not repeat', async () => {
  let runs = 0;
  const crashing: Client = async (tools) => {
    const isThird = ++runs === 3;
    while (!(await send(tools).catch(() => false))) {
      if (isThird) throw new Error('crashed');
      await new Promise((resolve) => setTimeout(resolve, 1_100));
    }
  };
  const result = await explored(crashing, 'refuse');
  const common = { line: 'explored', command: 'npm test', startedAt: '', durationMs: 1 };
  const summary = exploreSummary({ result, ...common });
  const why =
    'failed under refuse at send 1, attempt 1 did not repeat when this schedule was run again: it threw: crashed';
  expect(markdownReport(summary)).toContain('· 4 runs · exit code 0');
  expect(junitReport(summary)).toContain(`<skipped message="${why}"/>`);
});

test('what a client sends and throws is printed as plain text', async () => {
  const client: Client = async ({ fetch, baseUrl, apiKey, from }) => {
    const reply = await fetch(`${baseUrl}/api/v1/sms/send/`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ to: '+12025550123', from, message: 'a', request_id: hostileWords }),
    });
    if (!reply.ok) throw new Error(hostileWords);
  };
  const result = await explored(client, 'unavailable');
  const [finding] = result.findings;
  const printed = finding === undefined ? '' : findingText(finding, 'FOUND', undefined);
  expect(printed).toContain('\\u001b]0;PWNED');
  const about = { line: 'explored', command: hostileWords, startedAt: '', durationMs: 1 };
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-explored-'));
  const reports = (['markdown', 'github', 'json'] as const).map((kind) => ({
    kind,
    file: join(folder, kind),
  }));
  const out = () => {};
  const error = (line: string) => expect.unreachable(line);
  const json = () => `${JSON.stringify(exploreJson({ result, ...about }), null, 2)}\n`;
  for (const _ of ['first', 'replaced'])
    writeReports(reports, exploreSummary({ result, ...about }), { out, error }, { json });
  const written = reports.slice(0, 2).map(({ file }) => readFileSync(file, 'utf8'));
  rmSync(folder, { recursive: true });
  for (const text of [printed, ...written]) expect(text).not.toMatch(obeyed);
});
