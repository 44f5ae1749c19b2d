/**
 * Filters of messages: which values they accept, and which they refuse because they cannot match.
 */
import { expect, test } from 'vitest';
import { Twin } from '#verify/testkit/twin/twin.ts';

test('a plus sign in a query may be written as it is or as %2B', async () => {
  const { call, send } = new Twin();
  const { from_number: from } = JSON.parse(send({}).body);
  for (const written of [from, encodeURIComponent(from)])
    expect((await call('GET', `/control/messages?from=${written}`)).json.messages).toHaveLength(1);
});

test('a filter by account takes its id, in either case, or its name', async () => {
  const { call, send, simulator } = new Twin();
  send({});
  const [{ name, account_id: id } = { name: '', account_id: '' }] = simulator.accounts.list();
  for (const account of [name, id, id.toUpperCase()]) {
    const path = `/control/messages?account_id=${account}`;
    expect((await call('GET', path)).json.messages).toHaveLength(1);
  }
  expect((await simulator.messages.wait({ match: { account_id: name } })).count).toBe(1);
});

test('the UUID of an unknown account matches no messages', async () => {
  const { call } = new Twin();
  const path = '/control/messages?account_id=00000000-0000-4000-8000-000000000000';
  expect(await call('GET', path)).toMatchObject({ status: 200, json: { messages: [] } });
});

test.each([
  ['from=1202', 'from', 'expected an E.164 number'],
  ['to=%2Babc', 'to', 'expected an E.164 number'],
  ['account_id=acmee', 'account_id', 'is neither a UUID nor the name of an account'],
  ['limit=abc', 'limit', 'expected a whole number from 1 to 1000; got "abc"'],
  ['limit=', 'limit', 'expected a whole number from 1 to 1000; got ""'],
  ['limit=0x10', 'limit', 'expected a whole number from 1 to 1000; got "0x10"'],
])('the filter %s is refused with a message that names it', async (query, path, message) => {
  const { call } = new Twin();
  const { status, json } = await call('GET', `/control/messages?${query}`);
  expect(status).toBe(400);
  expect(json.error.path).toBe(path);
  expect(json.error.message).toContain(message);
});
