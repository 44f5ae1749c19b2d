/**
 * The step of `action.yml`: starts `smstwin serve`, whose flags are in the environment, and gives
 * its URLs, a key and a number to the steps that follow. Outside GitHub, it prints these variables
 * as lines for a shell.
 */
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const { SMSTWIN_COMMAND: command = 'npx --yes smstwin@1', RUNNER_TEMP = tmpdir() } = process.env;
const folder = mkdtempSync(join(RUNNER_TEMP, 'smstwin-'));
const [readyFile, log] = [join(folder, 'ready.json'), join(folder, 'log.txt')];
const output = openSync(log, 'a');
const line = `${command} serve --ready-file "${readyFile}"`;
const child = spawn(line, { shell: true, detached: true, stdio: ['ignore', output, output] });
child.once('exit', (code) => {
  process.stderr.write(`smstwin ended with ${code}:\n${readFileSync(log, 'utf8')}`);
  process.exit(code || 1);
});
const untilMs = Date.now() + 60_000;
while (!existsSync(readyFile)) {
  if (Date.now() > untilMs) throw new Error(`smstwin did not start within a minute; see ${log}`);
  await new Promise((resolve) => setTimeout(resolve, 50));
}
const served = JSON.parse(readFileSync(readyFile, 'utf8'));
const [account] = served.accounts;
const variables = {
  SMSTWIN_BASE_URL: served.base_url,
  SMSTWIN_CONTROL_URL: served.control_url ?? '',
  SMSTWIN_API_KEY: account?.api_key ?? '',
  SMSTWIN_FROM: (account?.sims[0] ?? served.pool[0])?.number ?? '',
  SMSTWIN_CA_FILE: served.tls_ca_file ?? '',
  SMSTWIN_PID: served.pid,
};
const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
for (const file of [process.env.GITHUB_OUTPUT, process.env.GITHUB_ENV]) {
  if (file) appendFileSync(file, lines.join(''));
}
if (process.env.GITHUB_OUTPUT === undefined) process.stdout.write(lines.join(''));
process.exit(0);
