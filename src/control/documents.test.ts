import { expect, test } from 'vitest';
import { Twin } from '#verify/testkit/twin/twin.ts';

test('GET /openapi.json is the service under the assumptions in force', async () => {
  const { simulator, call } = new Twin();
  const { status, json } = await call('GET', '/openapi.json');
  expect(status).toBe(200);
  expect(json).toMatchObject({ openapi: '3.1.0', 'x-assumptions': { errorBody: 'code_detail' } });
  expect(Object.keys(json.paths)).toHaveLength(7);
  simulator.assumptions.patch({ errorBody: 'nested' });
  const { json: switched } = await call('GET', '/openapi.json');
  expect(switched['x-assumptions'].errorBody).toBe('nested');
});

test('it names where the service listens, and no key', async () => {
  const { simulator, call } = new Twin();
  const { baseUrl } = await simulator.listen({ transport: 'node' });
  const { json } = await call('GET', '/openapi.json');
  expect(json.servers).toEqual([{ url: baseUrl }]);
  for (const { api_key: key } of simulator.readyFile().accounts)
    expect(JSON.stringify(json)).not.toContain(key);
  await simulator.close();
});
