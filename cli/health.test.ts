import { afterAll, expect, test } from 'vitest';
import { tlsOf } from '#src/config/tls.ts';
import type { ListenOptions } from '#src/ports.ts';
import { Simulator } from '#src/simulator.ts';
import { isHealthy } from './health.ts';

const closing: Simulator[] = [];
afterAll(() => Promise.all(closing.map((simulator) => simulator.close())));

/** The ports of a new server, as the variables that set them. */
async function served(options: ListenOptions): Promise<Record<string, string>> {
  const simulator = new Simulator();
  closing.push(simulator);
  const { baseUrl, controlUrl } = await simulator.listen(options);
  return {
    SMSTWIN_PORT: new URL(baseUrl).port,
    ...(controlUrl && { SMSTWIN_CONTROL_PORT: new URL(controlUrl).port }),
  };
}

test('a control port that answers is healthy', async () => {
  const env = await served({ control: { token: 'T0KEN' } });
  expect(await isHealthy({ ...env, SMSTWIN_CONTROL_TOKEN: 'T0KEN' })).toBe(true);
  expect(await isHealthy({ ...env, SMSTWIN_CONTROL_TOKEN: 'another' })).toBe(false);
});

test('an empty token is no token', async () => {
  const env = await served({ control: {} });
  expect(await isHealthy({ ...env, SMSTWIN_CONTROL_TOKEN: '' })).toBe(true);
});

test('without a control port, a service that answers is healthy', async () => {
  const env = { ...(await served({})), SMSTWIN_NO_CONTROL: '1', SMSTWIN_HOST: '0.0.0.0' };
  expect(await isHealthy(env)).toBe(true);
  await closing.at(-1)?.close();
  expect(await isHealthy(env)).toBe(false);
});

test('without a control port, a service that answers HTTPS is healthy', async () => {
  const tls = await tlsOf({ tls: 'self-signed', tlsName: [] }, ['127.0.0.1']);
  const env = {
    ...(await served({ tls })),
    SMSTWIN_NO_CONTROL: 'true',
    SMSTWIN_TLS: 'self-signed',
  };
  expect(await isHealthy(env)).toBe(true);
});

test('the control port may listen on one other address', async () => {
  const env = await served({ control: { host: '127.0.0.2' } });
  expect(await isHealthy(env)).toBe(false);
  expect(await isHealthy({ ...env, SMSTWIN_CONTROL_HOST: '127.0.0.2' })).toBe(true);
});

test('the address of a service called smstwin is no port', async () => {
  const { SMSTWIN_CONTROL_PORT: port } = await served({ control: {} });
  const env = { SMSTWIN_CONTROL_PORT: port, SMSTWIN_PORT: 'tcp://10.0.0.1:8080' };
  expect(await isHealthy(env)).toBe(true);
});
