import { expect, test } from 'vitest';
import { type CommandIo, newCommand, readFlags } from './flags.ts';
import { addServeFlags, type ServeOptions, serveOptions } from './serve-options.ts';
import { UsageError } from './usage-error.ts';

function read(argv: readonly string[], env: CommandIo['env'] = {}): Promise<ServeOptions> {
  const command = newCommand('serve', '', { out: () => {}, error: () => {}, env, version: '1' });
  addServeFlags(command);
  readFlags(command, argv, env);
  return serveOptions(command);
}

async function mistakes(argv: readonly string[], env: CommandIo['env'] = {}): Promise<unknown> {
  try {
    return await read(argv, env);
  } catch (error) {
    if (error instanceof UsageError) return error.lines;
    throw error;
  }
}

test('without flags the service is on 8080, the control port on 8081, both on this machine alone', async () => {
  expect(await read([])).toEqual({
    settings: {
      clock: 'real',
      seed: 1,
      assumptions: {},
      limits: {},
      noLimits: false,
      trustProxy: false,
      log: 'off',
    },
    host: '127.0.0.1',
    port: 8080,
    control: { host: '127.0.0.1', port: 8081 },
    transport: 'hyperexpress',
    readyFile: undefined,
  });
});

test('every flag arrives', async () => {
  const options = await read(
    [
      ['--host', '0.0.0.0', '--port', '0', '--control-host', '::', '--control-port', '9'],
      ['--control-token', 'T', '--clock', 'scaled', '--rate', '2.5', '--seed', '4294967295'],
      ['--assume', 'replayScope=api_key', '--assume', 'failsFrom=queued,sent'],
      ['--limit', 'send=5', '--limit', 'received=off', '--no-limits', '--ready-file', 'r.json'],
      ['--transport', 'node', '--trust-proxy', '--log', 'json'],
    ].flat(),
  );
  expect(options).toEqual({
    settings: {
      clock: 'scaled',
      rate: 2.5,
      seed: 4294967295,
      assumptions: { replayScope: 'api_key', failsFrom: ['queued', 'sent'] },
      limits: { send: 5, received: null },
      noLimits: true,
      trustProxy: true,
      log: 'json',
    },
    host: '0.0.0.0',
    port: 0,
    control: { host: '::', port: 9, token: 'T' },
    transport: 'node',
    readyFile: 'r.json',
  });
});

test('every flag is also in the environment, lists with commas, switches with 1 or 0', async () => {
  const options = await read([], {
    SMSTWIN_CONTROL_PORT: '0',
    SMSTWIN_NO_CONTROL: '0',
    SMSTWIN_CLOCK: 'manual',
    SMSTWIN_START_TIME: '2026-02-03T00:00:00Z',
    SMSTWIN_ASSUME: 'failsFrom=queued,sent,replayScope=api_key',
    SMSTWIN_LIMIT: 'send=5,tasks=off',
    SMSTWIN_TRUST_PROXY: 'true',
    SMSTWIN_HOST: '',
  });
  expect(options.control).toEqual({ host: '127.0.0.1', port: 0 });
  expect(options.host).toBe('127.0.0.1');
  expect(options.settings).toMatchObject({
    clock: 'manual',
    startTime: '2026-02-03T00:00:00Z',
    assumptions: { failsFrom: ['queued', 'sent'], replayScope: 'api_key' },
    limits: { send: 5, tasks: null },
    trustProxy: true,
  });
});

test('the command line wins over the environment, name by name where a flag repeats', async () => {
  const env = { SMSTWIN_PORT: '1', SMSTWIN_LIMIT: 'send=5,tasks=6', SMSTWIN_NO_CONTROL: '1' };
  const options = await read(['--port', '2', '--limit', 'send=7'], env);
  expect(options.port).toBe(2);
  expect(options.control).toBe(false);
  expect(options.settings.limits).toEqual({ send: 7, tasks: 6 });
});

test.each([
  [['--prot', '1'], "unknown option '--prot' (Did you mean --port?)"],
  [['8080'], "unexpected argument '8080'"],
  [['--port'], "option '--port <port>' argument missing"],
  [
    ['--port', '65536'],
    "option '--port <port>' argument '65536' is invalid. Expected a whole number from 0 to 65535.",
  ],
  [
    ['--clock', 'fast'],
    "option '--clock <mode>' argument 'fast' is invalid. Allowed choices are real, scaled, manual.",
  ],
  [['--clock', 'scaled', '--rate', '0'], /^option '--rate <n>' argument '0' is invalid/],
  [['--rate', '60'], '--rate needs --clock scaled; the clock is real'],
  [['--clock', 'manual', '--start-time', '2026'], /^option '--start-time <ISO>' argument '2026'/],
  [
    ['--start-time', '2026-01-01T00:00:00Z'],
    '--start-time needs --clock manual; the clock is real',
  ],
  [['--seed', '-1'], /^option '--seed <n>' argument '-1' is invalid/],
  [['--assume', 'gateOrdr=x'], /no assumption is named "gateOrdr"; did you mean gateOrder\?/],
  [['--limit', 'sned=5'], /No endpoint is named "sned"\. Did you mean send\.$/],
  [['--limit', 'send=0'], /Expected endpoint=N with N from 1 to 1000000, or endpoint=off\.$/],
  [['--host', ''], /^option '--host <host>' argument '' is invalid/],
  [
    ['--control-token', 'TOK with space'],
    "option '--control-token <token>' argument is invalid. Expected 1 to 200 of A-Z a-z 0-9 _ . ~ + / = -",
  ],
  [
    ["--control-token=TOK' is invalid."],
    /^option '--control-token <token>' argument is invalid\. E/,
  ],
  [['--control-tokn=TOK'], "unknown option '--control-tokn'"],
  [["--control-tokn=TOK'='\nTOK'"], "unknown option '--control-tokn'"],
  [['--no-control=TOK'], "unknown option '--no-control'"],
  [['-t=TOK'], "unknown option '-t'"],
  [['--port', '9', '--control-port', '9'], '--port and --control-port are both 9'],
  [
    ['--control-host', '0.0.0.0'],
    '--control-host 0.0.0.0 is not this machine alone: give a --control-token, or use 127.0.0.1',
  ],
  [['--world', 'none.json'], '--world none.json: there is no such file'],
  ...['world', 'assumptions', 'journal', 'ready-file'].map((flag): [string[], string] => [
    [`--${flag}`, ''],
    `option '--${flag} <file>' argument '' is invalid. Expected the name of a file.`,
  ]),
  [['--assumptions', 'none.json'], '--assumptions none.json: there is no such file'],
])('%j is refused in one line', async (argv, line) => {
  const lines = await mistakes(argv);
  expect(lines).toEqual([typeof line === 'string' ? line : expect.stringMatching(line)]);
  expect(String(lines)).not.toContain('\n');
  expect(String(lines)).not.toContain('TOK');
});

test.each([
  [{ SMSTWIN_CONTROL_TOKEN: 'a b' }, /^SMSTWIN_CONTROL_TOKEN: Expected 1 to 200 of [^b]*$/],
  [{ SMSTWIN_PORT: 'x' }, 'SMSTWIN_PORT: Expected a whole number from 0 to 65535.'],
  [{ SMSTWIN_CLOCK: 'x' }, 'SMSTWIN_CLOCK: Allowed choices are real, scaled, manual.'],
  [{ SMSTWIN_NO_LIMITS: 'x' }, 'SMSTWIN_NO_LIMITS: expected 1 or 0, got "x"'],
  [{ SMSTWIN_LIMIT: 'send=5,read=x' }, /^SMSTWIN_LIMIT: Expected endpoint=N/],
])('the environment %j is refused in one line', async (env, line) => {
  const lines = await mistakes([], env);
  expect(lines).toEqual([typeof line === 'string' ? line : expect.stringMatching(line)]);
});
