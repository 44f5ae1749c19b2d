/** A shard that ends or hangs again while the fleet brings it up to date is started once more. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ShardSupervisor } from './shard-supervisor.ts';

/** A program in place of `smstwin`, which hangs or ends at a request if a file says so. */
const source = `
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
const flag = (name) => process.argv[process.argv.indexOf(name) + 1];
const folder = process.argv[2];
const answer = (_, response) => {
  if (existsSync(folder + '/hang')) return;
  if (existsSync(folder + '/end')) process.exit(5);
  response.end('{}');
};
createServer(answer).listen(Number(flag('--control-port')), '127.0.0.1', () => {
  const ready = { control_url: 'http://127.0.0.1:' + flag('--control-port') };
  writeFileSync(folder + '/ready', JSON.stringify(ready));
  renameSync(folder + '/ready', flag('--ready-file'));
});
`;

test.each(['end', 'hang'])('a shard that %ss while it resumes is started again', async (how) => {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-shard-'));
  const program = join(folder, 'shard.mjs');
  writeFileSync(program, source);
  const notices: string[] = [];
  const notice = (line: string) => notices.push(line);
  const supervisor = await ShardSupervisor.start(
    { index: 0, token: undefined, timeoutMs: 300, notice },
    { file: process.execPath, argv: [program, folder], env: {}, folder },
  );
  onTestFinished(async () => {
    await supervisor.stop();
    rmSync(folder, { recursive: true });
  });
  const state = { method: 'GET', path: '/control/simulator' };
  supervisor.onEnded = async () => {
    if (notices.length === 1) writeFileSync(join(folder, how), '');
  };
  supervisor.onRestarted = async () => {
    try {
      await supervisor.shard.ask(state);
    } finally {
      rmSync(join(folder, how), { force: true });
    }
  };
  process.kill(supervisor.pid, 'SIGKILL');
  await expect.poll(() => supervisor.state).toBe('starting');
  await expect.poll(() => supervisor.state).toBe('ready');
  expect(notices).toEqual([
    expect.stringMatching(/^shard 0 ended \(SIGKILL\)/),
    expect.stringMatching(/did not come back|ended during/),
    'shard 0 runs again',
  ]);
  expect((await supervisor.shard.ask(state)).status).toBe(200);
  expect(supervisor.restarts).toBe(1);
});
