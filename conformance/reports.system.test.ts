import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ownReport } from '#io/flag-values.ts';
import { obstacleTo } from '#io/own-file.ts';
import {
  allFlags,
  type Fake,
  fake,
  hostile,
  type Outcome,
  run,
} from '#verify/harness/fake-servers.ts';
import { conform } from './main.ts';

const folder = mkdtempSync(join(tmpdir(), 'conformance-'));
const file = (name: string) => join(folder, name);
const text = (name: string) => readFileSync(file(name), 'utf8');
const kinds = ['junit', 'json', 'html', 'markdown', 'github'];

let server: Fake;
let outcome: Outcome;

beforeAll(async () => {
  server = await hostile();
  const reports = kinds.flatMap((kind) => ['--report', `${kind}=${file(kind)}`]);
  outcome = await run(server.baseUrl, ...allFlags, '--timeout', '20s', ...reports);
});

afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

describe('reports', () => {
  test('no report holds a full key, in any letter case', () => {
    const keys = allFlags.filter((value) => value.startsWith('smst_'));
    for (const content of [...kinds.map(text), outcome.out, outcome.err])
      for (const key of keys) expect(content.toLowerCase().includes(key.toLowerCase())).toBe(false);
  });

  test('JSON fits the schema that is shipped', () => {
    const path = new URL('./reports/report.schema.json', import.meta.url);
    const ajv = formats.default(new Ajv2020({ strict: true, allowUnionTypes: true }));
    const fits = ajv.compile(JSON.parse(readFileSync(path, 'utf8')));
    const report: unknown = JSON.parse(text('json'));
    fits(report);
    expect(fits.errors ?? []).toEqual([]);
    expect(report).toMatchObject({ exitCode: outcome.code, reachable: true });
    expect(fits({ ...(report as object), extra: 1 })).toBe(false);
  });

  test.each(kinds)('a later run replaces a report, and no file that begins alike: %s', (kind) => {
    const own = text(kind);
    expect(obstacleTo(file(kind), ownReport)).toBeUndefined();
    // Of another title, or another tool.
    const foreign = own.replaceAll(/onformance|smstwin-/g, 'overage').replaceAll('%3A', '');
    writeFileSync(file('foreign'), foreign);
    expect(obstacleTo(file('foreign'), ownReport)).toContain('not a report of smstwin');
    rmSync(file('foreign'));
  });

  test('a report of an earlier version is replaced', () => {
    const kept = fileURLToPath(new URL('../verify/kept/1.0/report.json', import.meta.url));
    expect(obstacleTo(kept, ownReport)).toBeUndefined();
  });

  test('HTML holds no markup of the target and fetches nothing', () => {
    const html = text('html');
    expect(html).not.toContain('<script');
    expect(html).not.toMatch(/src=|href="(?!#)/);
    expect(html).toContain('prefers-color-scheme:dark');
    expect(html).toContain('curl -i');
    expect(html).toContain('byte for byte, whatever the message');
  });

  test('HTML links its counts and its findings, failures first, in at most a megabyte', () => {
    const html = text('html');
    expect(Buffer.byteLength(html)).toBeLessThanOrEqual(1_000_000);
    const links = [...html.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
    expect(links.length).toBeGreaterThan(10);
    for (const id of links) expect(html).toContain(`id="${id}"`);
    const rules = [
      ...html.matchAll(/<details class="subject"[^>]*>\s*<summary><span class="badge (\w+)"/g),
    ];
    const verdicts = rules.map(([, verdict]) => verdict);
    const failures = verdicts.filter((verdict) => verdict === 'failed').length;
    expect(failures).toBeGreaterThan(5);
    expect(verdicts.slice(0, failures).every((verdict) => verdict === 'failed')).toBe(true);
  });

  test('Markdown keeps every row in its table', () => {
    const rows = text('markdown')
      .split('\n')
      .filter((line) => /^\| [A-Z]+-\d+ \|/.test(line));
    expect(rows).toHaveLength(43);
  });

  test('GitHub annotations are one line each', () => {
    for (const line of text('github').trimEnd().split('\n'))
      expect(line).toMatch(/^::(error|warning|notice) title=[^:]+::/);
  });
});

describe('expected failures', () => {
  const expecting = async (entries: unknown, ...more: string[]) => {
    writeFileSync(file('expected.json'), JSON.stringify({ expected: entries }));
    return run(server.baseUrl, ...allFlags, '--expected', file('expected.json'), ...more);
  };

  test('a failure with a reason does not fail the run', async () => {
    const entries = [{ case: 'SEND-3/new-message-is-202', reason: 'known since May' }];
    const weighed = await expecting(entries, 'SEND-3/new-message-is-202');
    expect(weighed.code).toBe(0);
    expect(weighed.out).toContain('known since May');
  });

  test('an entry that names nothing is stale: exit 5', async () => {
    const entries = [
      { case: 'SEND-3/new-message-is-202', reason: 'known' },
      { rule: 'SEND-99', reason: 'a rule of old' },
    ];
    const weighed = await expecting(entries, 'SEND-3/new-message-is-202');
    expect(weighed.code).toBe(5);
    expect(weighed.out).toContain('SEND-99');
  });

  test('an entry whose failure has healed fails the run: exit 5', async () => {
    const sound = await fake((request, response) => {
      const isKnown = request.headers.authorization !== undefined;
      response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' });
      response.end('{"messages": 1}');
    });
    const argv = [sound.baseUrl, ...allFlags, 'LIMIT-6/stats'];
    expect((await run(...argv)).code).toBe(0);
    writeFileSync(
      file('healed.yaml'),
      'expected:\n  - rule: LIMIT-6\n    reason: was limited once\n',
    );
    const healed = await run(...argv, '--expected', file('healed.yaml'));
    await sound.close();
    expect(healed.code).toBe(5);
    expect(healed.out).toContain('was limited once');
  });

  test('an entry without a reason is refused: exit 2, one line that names the file', async () => {
    const refused = await expecting([{ rule: 'SEND-3' }]);
    expect(refused.code).toBe(2);
    expect(refused.err.trimEnd().split('\n')).toHaveLength(1);
    expect(refused.err).toContain('expected.json');
  });
});

describe('usage', () => {
  test.each([
    [['--no-such-flag'], '--no-such-flag'],
    [['--from', '12025550101'], '--from'],
    [['--profile', 'everything'], '--profile'],
    [['--timeout', 'soon'], '--timeout'],
    [['--max-sends', '-1'], '--max-sends'],
    [['--report', 'pdf=x'], '--report'],
    [['--report', 'json=/no/such/folder/x.json'], '/no/such/folder/x.json'],
    [['--report', `json=${import.meta.filename}`], 'not a report of smstwin'],
    [['--report', 'json=/dev/stdout'], 'it is a symbolic link'],
    [['--report', 'json=/dev/full'], 'it is a pipe or a device'],
    [['--report', 'json=/proc'], 'it is a folder'],
    [['--write-expected', import.meta.filename], 'not a list of known failures of smstwin'],
    [['--discover', 'package.json'], 'not a list of assumptions of smstwin'],
    [['--discover', ''], '--discover'],
    [['--expected', '/no/such/file.json'], '/no/such/file.json'],
    [['--control-url', 'localhost:1'], '--control-url'],
    [['localhost:8080'], 'localhost:8080'],
    [['ftp://example.test'], 'ftp://example.test'],
    [['http://127.0.0.1:9', '--to', '+12025550123', '--allow-to', '+12025550124'], '--to'],
  ])('%j: exit 2 and one line that names it', async (argv, name) => {
    const { code, err } = await run(...argv);
    expect(code).toBe(2);
    expect(err.trimEnd().split('\n')).toHaveLength(1);
    expect(err).toContain(name);
  });

  test('a flag may stand in the environment', async () => {
    process.env['SMSTWIN_PROFILE'] = 'everything';
    try {
      const { code, err } = await run('http://127.0.0.1:9');
      expect(code).toBe(2);
      expect(err).toContain('SMSTWIN_PROFILE');
    } finally {
      delete process.env['SMSTWIN_PROFILE'];
    }
  });

  test('nothing matched: exit 4', async () => {
    expect((await run(server.baseUrl, 'NONSENSE-1')).code).toBe(4);
  });

  test('--list and --dry-run ask nothing of the target', async () => {
    const listed = await run('http://127.0.0.1:9', 'SEND-4', '--list');
    expect(listed.code).toBe(0);
    expect(listed.out).toContain('SEND-4/fifty-at-once');
    const dry = await run('http://127.0.0.1:9', ...allFlags, '--dry-run', '--max-sends', '9');
    expect(dry.code).toBe(0);
    expect(dry.out).toMatch(/Sends: about 9 /);
    expect(dry.out).toMatch(/429s: about \d+/);
    expect(dry.out).toMatch(/Minutes: about [\d.]+/);
    const few = await run('http://127.0.0.1:9', '--api-key', 'k', '--dry-run');
    expect(few.out).toMatch(/^Skipped: \d+ cases: needs --from/m);
    expect(few.out).toMatch(/^Not tested: \d+ rules: .*SEND-4/m);
    expect(few.out.split('\n').length).toBeLessThan(30);
  });

  test('--profile readonly sends nothing', async () => {
    const silent = await hostile();
    await run(silent.baseUrl, ...allFlags, '--profile', 'readonly', '--timeout', '20s');
    expect(silent.posts).toEqual([]);
    await silent.close();
  });

  test('--help and --version: exit 0', async () => {
    expect((await run('--help')).code).toBe(0);
    expect((await run('--version')).out).toMatch(/^\d+\.\d+\.\d+/);
  });

  test('an interrupted run reports what was found so far: exit 130', async () => {
    const slow = await fake((_, response) => {
      setTimeout(() => response.end('{}'), 20);
    });
    const controller = new AbortController();
    let out = '';
    const code = await conform([slow.baseUrl, ...allFlags, '--report', `json=${file('cut')}`], {
      out: (line) => {
        out += line;
        if (out.split('\n').length > 5) controller.abort();
      },
      error: () => {},
      signal: controller.signal,
    });
    await slow.close();
    expect(code).toBe(130);
    expect(out).toContain('Interrupted');
    expect(JSON.parse(text('cut'))).toMatchObject({ interrupted: true, exitCode: 130 });
  });

  test('--bail stops at the first failure', async () => {
    const { out, code } = await run(server.baseUrl, 'RES-5', 'SEND-3', ...allFlags, '--bail');
    expect(code).toBe(1);
    expect(out).toContain('stopped by --bail');
  });
});
