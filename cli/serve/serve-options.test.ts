import { expect, test } from 'vitest';
import { UsageError } from '#io/command-error.ts';
import { addFlags, type CommandIo, newCommand, readFlags } from '#io/flags.ts';
import { type ServeOptions, serveFlags, serveOptions } from './serve-options.ts';

function read(argv: readonly string[], env: CommandIo['env'] = {}): Promise<ServeOptions> {
  const command = newCommand('serve', '', { out: () => {}, error: () => {}, env, version: '1' });
  addFlags(command, serveFlags);
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

test('without flags the ports are 8080 and 8081, both on the loopback interface', async () => {
  expect(await read([])).toEqual({
    settings: {
      clock: 'real',
      retryAfterSeconds: 'simulated',
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
    transport: undefined,
    readyFile: undefined,
  });
});

test('every flag sets its option', async () => {
  const options = await read(
    [
      ['--host', '0.0.0.0', '--port', '0', '--control-host', '::', '--control-port', '9'],
      ['--control-token', 'T', '--clock', 'scaled', '--rate', '2.5', '--seed', '4294967295'],
      ['--assume', 'replayScope=api_key', '--assume', 'failsFrom=queued,sent'],
      ['--limit', 'send=5', '--limit', 'received=off', '--no-limits', '--ready-file', 'r.json'],
      ['--transport', 'node', '--trust-proxy', '--log', 'json', '--retry-after', 'real'],
      ['--max-messages', '300000'],
      ['--journal', 'run.ndjson', '--journal-max', '64MiB'],
      ['--public-url', 'https://ci.example/twin/'],
      ['--control-allowed-host', 'SMSTwin', '--control-allowed-host', 'twin.test'],
    ].flat(),
  );
  expect(options).toEqual({
    settings: {
      clock: 'scaled',
      retryAfterSeconds: 'real',
      rate: 2.5,
      seed: 4294967295,
      assumptions: { replayScope: 'api_key', failsFrom: ['queued', 'sent'] },
      limits: { send: 5, received: null },
      noLimits: true,
      maxMessages: 300_000,
      trustProxy: true,
      log: 'json',
    },
    host: '0.0.0.0',
    port: 0,
    control: { host: '::', port: 9, token: 'T', allowedHosts: ['smstwin', 'twin.test'] },
    transport: 'node',
    publicUrl: 'https://ci.example/twin',
    readyFile: 'r.json',
    journal: 'run.ndjson',
    journalMaxBytes: 67_108_864,
  });
});

test.each([
  ['1MiB', 2 ** 20],
  ['1GiB', 2 ** 30],
  ['2TiB', 2 ** 41],
  ['unlimited', Number.POSITIVE_INFINITY],
])('a journal may have %s', async (size, journalMaxBytes) => {
  const options = await read(['--journal', 'run.ndjson', '--journal-max', size]);
  expect(options).toMatchObject({ journalMaxBytes });
});

test('the environment sets every flag, with commas in lists and 1 or 0 for switches', async () => {
  const options = await read([], {
    SMSTWIN_CONTROL_PORT: '0',
    SMSTWIN_NO_CONTROL: '0',
    SMSTWIN_CLOCK: 'manual',
    SMSTWIN_START_TIME: '2026-02-03T00:00:00Z',
    SMSTWIN_ASSUME: 'failsFrom=queued,sent,replayScope=api_key',
    SMSTWIN_LIMIT: 'send=5,tasks=off',
    SMSTWIN_CONTROL_ALLOWED_HOST: 'smstwin, twin.test',
    SMSTWIN_TRUST_PROXY: 'true',
    SMSTWIN_HOST: '',
  });
  const allowedHosts = ['smstwin', 'twin.test'];
  expect(options.control).toEqual({ host: '127.0.0.1', port: 0, allowedHosts });
  expect(options.host).toBe('127.0.0.1');
  expect(options.settings).toMatchObject({
    clock: 'manual',
    startTime: '2026-02-03T00:00:00Z',
    assumptions: { failsFrom: ['queued', 'sent'], replayScope: 'api_key' },
    limits: { send: 5, tasks: null },
    trustProxy: true,
  });
});

test('a flag on the command line overrides its variable, which is not read', async () => {
  const env = { SMSTWIN_PORT: '70000', SMSTWIN_LIMIT: 'send=x', SMSTWIN_NO_CONTROL: '1' };
  const options = await read(['--port', '2', '--limit', 'send=7'], env);
  expect(options.port).toBe(2);
  expect(options.control).toBe(false);
  expect(options.settings.limits).toEqual({ send: 7 });
});

test.each([
  [['--prot', '1'], "unknown option '--prot' (Did you mean --port?)"],
  [['8080'], "unexpected argument '8080'; see smstwin serve --help"],
  [['sk-0123456789abcdef'], "unexpected argument 'sk-0…'; see smstwin serve --help"],
  [['--port'], "option '--port <port>' argument missing; see smstwin serve --help"],
  [['--port', '65536'], '--port 65536: expected a whole number from 0 to 65535'],
  [['--clock', 'fast'], '--clock fast: expected real, scaled or manual'],
  ...['0', '1e9', '2000000', 'x'].map((rate): [string[], string] => [
    ['--clock', 'scaled', '--rate', rate],
    `--rate ${rate}: expected simulated seconds per second: a number above 0, at most 1000000`,
  ]),
  ...['smstwin:8080', 'ftp://a', 'http://u@a', 'http://a?b'].map((url): [string[], string] => [
    ['--public-url', url],
    `--public-url ${url}: expected a URL such as http://smstwin:8080, without a user or a query`,
  ]),
  [['--rate', '60'], '--rate needs --clock scaled; the clock is real'],
  [['--clock', 'manual', '--start-time', '2026'], /^--start-time 2026: expected a time such as /],
  [
    ['--start-time', '2026-01-01T00:00:00Z'],
    '--start-time needs --clock manual; the clock is real',
  ],
  [['--seed', '-1'], '--seed -1: expected a whole number from 0 to 4294967295'],
  [
    ['--assume', 'gateOrdr=x'],
    /no assumption is named "gateOrdr"; `smstwin assumptions` lists them/,
  ],
  [
    ['--limit', 'sned=5'],
    '--limit sned=5: no endpoint is named "sned"; use one of send, dashboard_send, external_send, received, tasks, read, stats',
  ],
  [['--limit', 'send=5=6'], /: expected endpoint=N with N from 1 to 1000000, or endpoint=off$/],
  [['--limit', 'send=off=5'], /: expected endpoint=N/],
  [['--limit', 'send=0'], /: expected endpoint=N with N from 1 to 1000000, or endpoint=off$/],
  [['--host', ''], '--host: expected a host name or an IP address; the value is empty'],
  [
    ['--control-token', 'TOK with space'],
    '--control-token: expected 1 to 200 characters of A-Z a-z 0-9 _ . ~ + / = -',
  ],
  [
    ['--control-token', ''],
    '--control-token: expected 1 to 200 characters of A-Z a-z 0-9 _ . ~ + / = -; the value is ' +
      'empty',
  ],
  [
    ['--control-allowed-host', 'http://twin:8081'],
    '--control-allowed-host http://twin:8081: expected a host name such as smstwin, without a ' +
      'scheme or a port',
  ],
  [['--retry-after', 'wall'], '--retry-after wall: expected simulated or real'],
  [["--control-token=TOK' is invalid."], /^--control-token: expected 1 to 200 characters/],
  [['--control-tokn=TOK'], "unknown option '--control-tokn'; see smstwin serve --help"],
  [["--control-tokn=TOK'='\nTOK'"], "unknown option '--control-tokn'; see smstwin serve --help"],
  [['--no-control=TOK'], '--no-control takes no value'],
  [['--no-limits=1'], '--no-limits takes no value'],
  [['--help=1'], '--help takes no value'],
  [['--retry-after', 'real'], '--retry-after needs --clock scaled; the clock is real'],
  ...[
    ['--control-port', '9'],
    ['--control-token', 'TOK'],
    ['--control-host', '::1'],
  ].map(([flag = '', value = '']): [string[], string] => [
    ['--no-control', flag, value],
    `${flag} needs a control port: leave out --no-control`,
  ]),
  [['-t=TOK'], "unknown option '-t'; see smstwin serve --help"],
  [
    ['--port', '9', '--control-port', '9'],
    '--port and --control-port are both 9: change one of them',
  ],
  [
    ['--control-host', '0.0.0.0'],
    '--control-host 0.0.0.0 is reachable from other machines: add a --control-token, or use ' +
      '127.0.0.1',
  ],
  ...['64', '64MB', '0MiB', '-1GiB', '1.5GiB', '1 GiB', '1gib'].map((size): [string[], string] => [
    ['--journal', 'run.ndjson', '--journal-max', size],
    `--journal-max ${size}: expected 1MiB or more, such as 64MiB or 1GiB, or unlimited`,
  ]),
  [['--journal-max', '1GiB'], '--journal-max needs --journal or --journal-dir'],
  [['--world', 'none.json'], '--world none.json: there is no such file; check the path'],
  ...['world', 'assumptions', 'journal', 'ready-file'].map((flag): [string[], string] => [
    [`--${flag}`, ''],
    `--${flag}: expected the name of a file; the value is empty`,
  ]),
  [
    ['--assumptions', 'none.json'],
    '--assumptions none.json: there is no such file; check the path',
  ],
])('%j is refused in one line', async (argv, line) => {
  const lines = await mistakes(argv);
  expect(lines).toEqual([typeof line === 'string' ? line : expect.stringMatching(line)]);
  expect(String(lines)).not.toContain('\n');
  expect(String(lines)).not.toContain('TOK');
});

test.each([
  [
    { SMSTWIN_CONTROL_TOKEN: 'a b' },
    /^SMSTWIN_CONTROL_TOKEN: expected 1 to 200 characters of [^b]*$/,
  ],
  [{ SMSTWIN_PORT: 'x' }, 'SMSTWIN_PORT x: expected a whole number from 0 to 65535'],
  [{ SMSTWIN_CLOCK: 'x' }, 'SMSTWIN_CLOCK x: expected real, scaled or manual'],
  [
    { SMSTWIN_NO_LIMITS: 'x' },
    'SMSTWIN_NO_LIMITS x: expected 1, true, yes, on or 0, false, no, off',
  ],
  [{ SMSTWIN_LIMIT: 'send=5,read=x' }, /^SMSTWIN_LIMIT read=x: expected endpoint=N/],
])('the environment %j is refused in one line', async (env, line) => {
  const lines = await mistakes([], env);
  expect(lines).toEqual([typeof line === 'string' ? line : expect.stringMatching(line)]);
});

test.each([
  ['--port', { SMSTWIN_PORT: 'tcp://10.96.0.12:8080' }],
  ['--control-port', { SMSTWIN_CONTROL_PORT: 'udp://10.96.0.12:8081' }],
])('%s is not the address of a service: it is ignored with one line', async (flag, env) => {
  let printed = '';
  const error = (text: string) => {
    printed += text;
  };
  const command = newCommand('serve', '', { out: () => {}, error, env, version: '1' });
  addFlags(command, serveFlags);
  readFlags(command, [], env);
  expect(await serveOptions(command)).toMatchObject({ port: 8080, control: { port: 8081 } });
  const [[name, value] = []] = Object.entries(env);
  const why = `ignored, because Kubernetes or Docker set it; set ${flag}`;
  const line = `smstwin serve: ${name} ${value}: ${why}\n`;
  expect(printed).toBe(line);
  readFlags(command, ['--port', '1', '--control-port', '2'], env);
  expect(printed).toBe(line);
});

test('the control port of an image may be switched off, though its variables are set', async () => {
  const env = { SMSTWIN_CONTROL_HOST: '0.0.0.0', SMSTWIN_CONTROL_TOKEN: 'T' };
  expect(await read(['--no-control'], env)).toMatchObject({ control: false });
});

test('a variable without what it needs is refused under its name', async () => {
  const lines = ['SMSTWIN_RATE needs --clock scaled; the clock is real'];
  expect(await mistakes([], { SMSTWIN_RATE: '60' })).toEqual(lines);
});

test('the help explains environment variables and the effects of a scaled clock', () => {
  let help = '';
  const out = (text: string) => {
    help += text;
  };
  const command = newCommand('serve', '', { out, error: () => {}, env: {}, version: '1' });
  addFlags(command, serveFlags);
  expect(readFlags(command, ['--help'], {})).toBe('answered');
  expect(help).toContain('separate the values of a repeatable flag with commas');
  expect(help.replace(/\s+/g, ' ')).toContain('send_at is always compared with simulated time');
});
