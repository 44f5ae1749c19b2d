import { afterEach, expect, test, vi } from 'vitest';
import { joinedHeaders } from '#io/flag-values.ts';
import { conform } from './main.ts';

afterEach(() => vi.unstubAllEnvs());

/** Runs the command where it could start a simulator of its own, and says whether it did. */
async function call(...argv: string[]) {
  let err = '';
  let started = 0;
  const code = await conform(argv, {
    out: () => {},
    error: (text) => {
      err += text;
    },
    startOwn: async () => {
      started++;
      return {
        baseUrl: 'http://127.0.0.1:9',
        controlUrl: 'http://127.0.0.1:9',
        close: async () => {},
      };
    },
    signal: new AbortController().signal,
  });
  return { code, err, started };
}

const needless = 'needs a base_url: without one, conform checks a simulator of its own';
const number = '+12025550101';

test.each([
  [['--api-key', 'k'], '--api-key'],
  [['--second-api-key', 'k'], '--second-api-key'],
  [['--revoked-key', 'k'], '--revoked-key'],
  [['--exhausted-api-key', 'k'], '--exhausted-api-key'],
  [['--device-id', 'd'], '--device-id'],
  [['--from', number], '--from'],
  [['--inactive-from', number], '--inactive-from'],
  [['--foreign-from', number], '--foreign-from'],
  [['--unknown-from', number], '--unknown-from'],
  [['--control-url', 'http://127.0.0.1:1'], '--control-url'],
  [['--control-token', 't'], '--control-token'],
  [['--dry-run', '--api-key', 'k'], '--api-key'],
])('%j says what a target is like, so it is not answered by another target', async (argv, flag) => {
  const found = await call('RES-1', ...argv);
  expect(found).toEqual({ code: 2, err: `smstwin conform: ${flag} ${needless}\n`, started: 0 });
});

test('a mistake in such a flag from the environment names its variable', async () => {
  vi.stubEnv('SMSTWIN_CONTROL_URL', 'http://127.0.0.1:1');
  const found = await call('RES-1');
  const err = `smstwin conform: SMSTWIN_CONTROL_URL ${needless}\n`;
  expect(found).toEqual({ code: 2, err, started: 0 });
});

test('flags that a run without a base_url uses or ignores are accepted', async () => {
  vi.stubEnv('SMSTWIN_CONTROL_TOKEN', 'for-serve');
  vi.stubEnv('SMSTWIN_API_KEY', '');
  expect(await call('RES-1', '--to', number, '--allow-to', number)).toMatchObject({ started: 1 });
  expect(await call('RES-1', '--list', '--api-key', 'k')).toMatchObject({ code: 0, err: '' });
});

test.each([
  [['RES-1', 'http://127.0.0.1:1'], 'http://127.0.0.1:1'],
  [['http://127.0.0.1:1', 'http://127.0.0.1:2'], 'http://127.0.0.1:2'],
  [['http://127.0.0.1:1', 'RES-1', 'localhost:8080'], 'localhost:8080'],
])('%j: an address behind the first argument is not a pattern', async (argv, address) => {
  const line = `base_url '${address}' must be the first argument, before all patterns`;
  expect(await call(...argv)).toEqual({ code: 2, err: `smstwin conform: ${line}\n`, started: 0 });
});

const target = 'http://127.0.0.1:1';

test.each([
  [['http://me:secret@127.0.0.1:1'], 'base_url http://me:…@127.0.0.1:1'],
  [[`${target}/?x=1`], `base_url ${target}/?x=1`],
  [['ftp://127.0.0.1'], 'base_url ftp://127.0.0.1'],
  [[target, '--control-url', `${target}/#x`], `--control-url ${target}/#x`],
])('%j: an address with more than a path is refused', async (argv, named) => {
  const expected = 'expected a URL such as http://smstwin:8080, without a user or a query';
  const err = `smstwin conform: ${named}: ${expected}\n`;
  expect(await call(...argv)).toEqual({ code: 2, err, started: 0 });
});

test('two reports in one file are refused before the run', async () => {
  const reports = ['--report', 'json=none.x', '--report', 'html=./none.x'];
  const line = '--report html=./none.x: another --report names that file too; name a second file';
  expect(await call(...reports)).toEqual({
    code: 2,
    err: `smstwin conform: ${line}\n`,
    started: 0,
  });
});

test('lines of --header with one name become one line', () => {
  const given = [
    ['X-Team', 'a'],
    ['Cookie', 'a=1'],
    ['x-team', 'b'],
    ['cookie', 'b=2'],
  ] as const;
  expect(joinedHeaders(given)).toEqual({ 'x-team': 'a, b', cookie: 'a=1; b=2' });
});

test.each([
  [['ZZZ-99'], 'ZZZ-99'],
  [['RES-1', 'ZZZ-99'], 'ZZZ-99'],
  [['http://127.0.0.1:9', 'ZZZ-99', 'RES-1', 'SEMD'], 'ZZZ-99 SEMD'],
  [['RES-1', 'ZZZ-99', '--list'], 'ZZZ-99'],
])(
  '%j: a pattern that matches nothing is named, and nothing is run: exit 4',
  async (argv, idle) => {
    const err = `smstwin conform: no case matches ${idle}; --list prints all cases\n`;
    expect(await call(...argv)).toEqual({ code: 4, err, started: 0 });
  },
);

test.each(['--seed', '--max-sends'])('%s beyond its bound names the bound', async (flag) => {
  const { code, err } = await call(flag, '1000000000');
  expect(code).toBe(2);
  expect(err).toBe(
    `smstwin conform: ${flag} 1000000000: expected a whole number from 0 to 999999999\n`,
  );
});

test.each([
  [['--profile', 'all'], '--profile all: expected readonly, budget or full'],
  ...['pdf=x', 'tap=x'].map((report): [string[], string] => [
    ['--report', report],
    `--report ${report}: expected one of junit, json, html, markdown, github`,
  ]),
])('%j is refused in the voice of every command', async (argv, line) => {
  expect(await call(...argv)).toEqual({ code: 2, err: `smstwin conform: ${line}\n`, started: 0 });
});

test('a bad value in the environment is reported with its variable', async () => {
  vi.stubEnv('SMSTWIN_SEED', 'x');
  const line = 'SMSTWIN_SEED x: expected a whole number from 0 to 999999999';
  expect(await call()).toEqual({ code: 2, err: `smstwin conform: ${line}\n`, started: 0 });
});

test.each([
  ['API_KEY', 'smst_secret\n'],
  ['SECOND_API_KEY', 'smst_\u0007secret'],
  ['REVOKED_KEY', 'smst_secret\u200b'],
  ['EXHAUSTED_API_KEY', 'smst_secret\u007f'],
  ['CONTROL_TOKEN', 'smst_\tsecret'],
])(
  'AUTH-2 SMSTWIN_%s that no header can carry is refused and not repeated',
  async (name, value) => {
    vi.stubEnv(`SMSTWIN_${name}`, value);
    const line = `SMSTWIN_${name}: holds a character that no header can carry, such as a line break`;
    const err = `smstwin conform: ${line}\n`;
    expect(await call('http://127.0.0.1:9', 'AUTH-2')).toEqual({ code: 2, err, started: 0 });
  },
);

test('AUTH-2 a mistake in such a key on the command line names its flag', async () => {
  const { code, err } = await call('http://127.0.0.1:9', '--api-key', 'smst_secret\n');
  expect(code).toBe(2);
  expect(err).toMatch(/^smstwin conform: --api-key: holds .*\n$/);
});

test('AUTH-2 the value of an unknown flag is not quoted', async () => {
  const { code, err } = await call('--apikey=smst_secret');
  expect(code).toBe(2);
  expect(err).toMatch(/^smstwin conform: unknown option '--apikey'/);
  expect(err).not.toContain('smst_secret');
});
