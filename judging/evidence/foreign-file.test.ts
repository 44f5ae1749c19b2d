/** What is said of a file whose requests all go elsewhere. */
import { expect, test } from 'vitest';
import type { TrafficExchange } from '#contract/exchange.ts';
import { ForeignRequests } from './foreign-file.ts';

test('the busiest hosts are named, also among more hosts than are kept', () => {
  const requests = new ForeignRequests();
  const note = (host: string) =>
    requests.note({ host, method: 'GET', path: '/' } as TrafficExchange, false);
  for (let n = 0; n < 1_200; n += 1) note(`h${n}`);
  for (let n = 0; n < 50; n += 1) note('h7');
  expect(requests.line).toContain('1250 requests, none with a path of the service');
  expect(requests.line).toContain('51 to h7: GET /');
  expect(requests.line).toContain('at least 997 more hosts');
});
