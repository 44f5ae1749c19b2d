/** What `smstwin audit` says before it asks anything. */
import { expect, test } from 'vitest';
import { audit } from './audit.ts';

const silent = 'http://127.0.0.1:9/';
const plan = 'at most 60 requests in 10 s to http://127.0.0.1:9\n';

function newIo() {
  const said = { out: '', error: '' };
  const out = (text: string) => {
    said.out += text;
  };
  const error = (text: string) => {
    said.error += text;
  };
  return { said, io: { out, error, env: {}, version: '1' } };
}

test('an audit says first what it will need at most, as a dry run does', async () => {
  const flags = [silent, '--budget', '60', '--timeout', '10s', '--max-window', '1s'];
  const dry = newIo();
  expect(await audit([...flags, '--dry-run'], dry.io)).toBe(0);
  expect(dry.said).toEqual({ out: plan, error: '' });
  const run = newIo();
  await expect(audit(flags, run.io)).rejects.toMatchObject({ exitCode: 3 });
  expect(run.said.error.startsWith(`smstwin audit: ${plan}`)).toBe(true);
});

test('an algorithm that no audit knows is refused before anything is asked', async () => {
  await expect(audit([silent, '--expect', 'algorithm=log'], newIo().io)).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringContaining('expected an algorithm of fixed_window, '),
  });
});

test.each([
  [['http://me:secret@127.0.0.1:9/'], /^url http:\/\/me:…@127.0.0.1:9\/: holds a user/],
  [[silent, '--assumptions', import.meta.filename], /: cannot be written: not a file of assumpt/],
  [[silent, '--expect', 'window=2s'], /window: expected seconds, such as 60/],
  [[silent, '--expect', 'limit=120 refusals_spend=no'], /refusals_spend: expected true or false/],
  [[silent, '--expect', 'keyed_by=ip'], /keyed_by: expected all, or some of address, path, query/],
  [[silent, '--expect', 'keyed_by=path,header:'], /keyed_by: expected all, or some of/],
  [[silent, '--expect', 'retry_after=true'], /retry_after: expected one of exact, sufficient, /],
  [[silent, '--expect', 'at_once=maybe'], /at_once: expected exact, or how many more pass/],
  [[silent, '--report', 'xml=x'], /expected one of text, json, html, markdown$/],
  [[silent, '--expect', 'constructor=1'], /expected name=value with a name of /],
  [[silent, '--vary-path', 'other', '--dry-run'], /expected a path or a query, such as \/other or/],
  [[silent, '--vary-path', '//other', '--dry-run'], /expected a path or a query, such as \/other/],
  [[silent, '--body', '@/no/such/file', '--dry-run'], /^--body \/no\/such\/file: /],
  [[silent, '--header', 'X-Api-Key=secret'], /^--header: expected 'Name: value'$/],
  [[silent, '--caller', 'secret'], /^--caller: expected/],
  [[silent, '--caller', 'X-Api-Key: a, a'], /^--caller: expected at least two values, each once/],
  [[silent, '--vary-path', '/', '--dry-run'], /^--vary-path \/: it is the path of the URL/],
  [[silent, 'more'], /^unexpected argument 'more'/],
])('%j is refused', async (argv, message) => {
  const refusal = { exitCode: 2, message: expect.stringMatching(message) };
  await expect(audit(argv, newIo().io)).rejects.toMatchObject(refusal);
});
