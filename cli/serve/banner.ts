/**
 * What `smstwin serve` and `fleet` do when they are ready: they write the ready file, and print
 * URLs, a key, a number and commands to paste.
 */
import { servicePaths } from '#contract/routes.ts';
import type { CommandIo } from '#io/flags.ts';
import { foreignText } from '#io/terminal.ts';
import { defaultRate, defaultTransport, type SettingsInput } from '#src/config/settings.ts';
import { routeOf } from '#src/operations/table.ts';
import type { ReadyFile } from '#src/simulator.ts';
import { writeAuthority, writeReadyFile } from './ready-file.ts';
import type { ServeOptions } from './serve-options.ts';

/** A recipient without a scripted outcome. */
const recipient = '+12025550123';
const readPath = servicePaths.read.replace('{message_id}', 'MESSAGE_ID');

/** Writes the CA certificate and the ready file, if they are asked for, and prints the banner. */
export function announce(ready: ReadyFile, options: ServeOptions, io: CommandIo): void {
  const { tls, readyFile } = options;
  const served =
    tls?.ca === undefined ? ready : { ...ready, tls_ca_file: writeAuthority(tls.ca, readyFile) };
  if (readyFile !== undefined) writeReadyFile(readyFile, served);
  io.out(banner(served, options, io));
}

type BannerOptions = Partial<ServeOptions> & Pick<ServeOptions, 'settings' | 'control'>;

/** `served`: the content of the ready file. */
export function banner(
  served: ReadyFile,
  options: BannerOptions,
  { version, env }: Pick<CommandIo, 'version' | 'env'>,
): string {
  const { clock = 'real' } = options.settings;
  const caFile = served.tls_ca_file;
  const lines = [
    `smstwin ${version} simulates the Outbound SMS Service (clock ${clock}, seed ${served.seed}${serverNote(options)}).`,
    '',
    `  base URL     ${served.base_url}`,
    `  control URL  ${served.control_url ?? 'none'}`,
    ...callerLines(served, options.settings),
    '',
  ];
  if (caFile !== undefined) lines.push(trustHint(quoted(caFile)), '');
  lines.push(timeHint(served, options, env));
  return `${lines.join('\n')}\n`;
}

/** Which HTTP server runs, and why, if the user chose none and it is not the usual one. */
function serverNote({ transport, journal, journalDir, settings }: BannerOptions): string {
  const isRecorded = (journal ?? journalDir) !== undefined;
  const isScaled = settings.clock === 'scaled';
  const isUsual = defaultTransport({ isRecorded, isScaled }) === 'hyperexpress';
  if (transport !== undefined || isUsual) return '';
  const reason = isRecorded ? 'is faster with a journal' : 'shows simulated time in Date';
  return `, on Node's HTTP server, which ${reason}`;
}

/** A key, a number to send from, and commands that use them. */
function callerLines(served: ReadyFile, settings: SettingsInput): readonly string[] {
  const caller = chooseCaller(served, settings);
  if (caller === undefined) return ['  This world has no key with a number to send from.'];
  const { key, from, account } = caller;
  const trust = served.tls_ca_file === undefined ? '' : ` --cacert ${quoted(served.tls_ca_file)}`;
  const body = JSON.stringify({ to: recipient, from, message: 'Hello' });
  return [
    `  API key      ${key} (${foreignText(account)})`,
    `  from         ${from}`,
    '',
    'Send a message, then read its status with the message_id of the reply:',
    `${curl(served.base_url + servicePaths.send, key)} -H 'Content-Type: application/json' -d '${body}'${trust}`,
    `${curl(served.base_url + readPath, key)}${trust}`,
  ];
}

/**
 * The first account with a key and a number to send from: its own working SIM, or the pool's. The
 * world file says whether a SIM works, because the ready file has no states.
 */
function chooseCaller(served: ReadyFile, settings: SettingsInput) {
  const pool = served.pool[0]?.number;
  for (const { name, api_key: key, sims } of served.accounts) {
    if (key === '') continue;
    const inWorldFile = settings.world?.accounts?.find((account) => account.name === name);
    const isOff = (number: string) => {
      const sim = inWorldFile?.sims?.find((each) => each.number === number);
      return sim?.connected === false || sim?.active === false;
    };
    const from = sims.find(({ number }) => !isOff(number))?.number ?? pool;
    if (from !== undefined) return { account: name, key, from };
  }
  return undefined;
}

function curl(url: string, key: string): string {
  return `  curl -sS ${quoted(url)} -H 'Authorization: Bearer ${key}'`;
}

/** What makes Node, Python, Go and curl trust the certificate. */
function trustHint(path: string): string {
  const names = ['NODE_EXTRA_CA_CERTS', 'REQUESTS_CA_BUNDLE', 'SSL_CERT_FILE', 'CURL_CA_BUNDLE'];
  const values = names.map((name) => `${name}=${path}`).join(' ');
  return `Let clients trust its certificate (Java and others: docs/https.md):\n  export ${values}`;
}

/** Quotes a path or a URL, so that a shell reads one word: zsh expands `[::1]`. */
function quoted(word: string): string {
  return /^[\w./+@:-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function timeHint(
  served: ReadyFile,
  { settings, control }: Pick<ServeOptions, 'settings' | 'control'>,
  env: CommandIo['env'],
): string {
  if (settings.clock === 'manual') {
    if (served.control_url === null)
      return 'Time does not move: the clock is manual and there is no control port.';
    const token = control === false ? '' : tokenHeader(control.token, env);
    const url = quoted(served.control_url + routeOf('clock.advance').path);
    return [
      'Time does not move until you advance it:',
      `  curl -sS ${url}${token} -H 'Content-Type: application/json' -d '{"by":"60s"}'`,
    ].join('\n');
  }
  if (settings.clock === 'scaled') {
    const isReal = settings.retryAfterSeconds === 'real';
    const seconds = isReal ? 'real seconds' : 'simulated seconds (--retry-after real: real ones)';
    return (
      `Simulated time runs ${settings.rate ?? defaultRate} times as fast as real time. ` +
      `Retry-After counts ${seconds}; send_at is compared with simulated time.`
    );
  }
  const seconds = settings.assumptions?.pollIntervalSeconds;
  const polls = seconds === undefined ? '20 s, as real ones do' : `${seconds} s`;
  return `SIMs poll every ${polls}. Faster: --clock scaled --rate 60. Step by step: --clock manual.`;
}

/** Names the environment variable instead of the token if the token came from there. */
function tokenHeader(token: string | undefined, env: CommandIo['env']): string {
  if (token === undefined) return '';
  const credential = env['SMSTWIN_CONTROL_TOKEN'] === token ? '$SMSTWIN_CONTROL_TOKEN' : token;
  return ` -H "Authorization: Bearer ${credential}"`;
}
