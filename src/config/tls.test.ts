import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { dayMs } from '#contract/time.ts';
import { selfSigned } from './self-signed.ts';
import { tlsOf } from './tls.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-tls-test-'));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;

function file(text: string): string {
  files += 1;
  const path = join(folder, `${files}.pem`);
  writeFileSync(path, text);
  return path;
}

async function pair(startMs = Date.now()) {
  const { cert, key } = await selfSigned(['localhost'], startMs);
  return { cert, key, tlsCert: file(cert), tlsKey: file(key) };
}

const refusal = (flags: object) => tlsOf({ tlsName: [], ...flags }, []).then(String, String);

test('a certificate made for the run is signed by its authority and names every host', async () => {
  const made = await tlsOf({ tls: 'self-signed', tlsName: ['sms.test'] }, ['10.0.0.7']);
  const leaf = new X509Certificate(made?.cert ?? '');
  const authority = new X509Certificate(made?.ca ?? '');
  expect(leaf.verify(authority.publicKey)).toBe(true);
  expect(leaf.ca).toBe(false);
  for (const host of ['localhost', 'w7k2.world.localhost', 'sms.test'])
    expect(leaf.checkHost(host), host).toBeDefined();
  for (const ip of ['127.0.0.1', '::1', '10.0.0.7']) expect(leaf.checkIP(ip), ip).toBeDefined();
  expect(leaf.checkHost('other.test')).toBeUndefined();
});

test('a pair of files is served as it is', async () => {
  const { cert, key, tlsCert, tlsKey } = await pair();
  expect(await tlsOf({ tlsCert, tlsKey, tlsName: [] }, [])).toEqual({ cert, key });
});

test('a pair that no client could use is refused, with its files', async () => {
  const [one, other] = [await pair(), await pair()];
  const past = await pair(Date.now() - 400 * dayMs);
  const future = await pair(Date.now() + 2 * dayMs);
  const noText = { ...one, tlsCert: file('hello') };
  const missing = { ...one, tlsKey: join(folder, 'none.pem') };
  const options = { format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'x' } as const;
  const encrypted = { ...one, tlsKey: file(createPrivateKey(one.key).export(options).toString()) };
  expect(await refusal(encrypted)).toMatch(/--tls-key .*: the key needs a passphrase, .* decrypt/);
  expect(await refusal({ ...one, tlsKey: other.tlsKey })).toMatch(
    /--tls-cert .* and --tls-key .*: not a certificate and its key \(.*mismatch/,
  );
  expect(await refusal(past)).toContain(`${past.tlsCert}: the certificate expired on`);
  expect(await refusal(future)).toContain(`${future.tlsCert}: the certificate is valid from`);
  expect(await refusal(noText)).toContain(`${noText.tlsCert}: not a certificate in PEM`);
  expect(await refusal(missing)).toContain(`${missing.tlsKey}: there is no such file`);
});

test('flags that contradict each other are refused', async () => {
  expect(await refusal({ tlsCert: 'a.pem' })).toContain('need each other');
  expect(await refusal({ tlsCert: 'a', tlsKey: 'b', tls: 'self-signed' })).toContain('leave out');
  expect(await refusal({ tlsName: ['a.test'] })).toContain('--tls-name needs --tls self-signed');
});
