/**
 * Every operation of `/control/openapi.json` is called with an example, and answers what the
 * document says.
 */
import { expect, test } from 'vitest';
import { plainRequest, sendBy } from '#verify/testkit/twin/twin.ts';
import { type Operation, successStatus } from '../operations/define.ts';
import { Simulator } from '../simulator.ts';
import { controlApi } from './control-api.ts';
import { servedOperations } from './documents.ts';
import { controlDocument } from './openapi/control-document.ts';

interface Targets {
  readonly ids: Readonly<Record<string, string>>;
  readonly poolNumber: string;
  readonly snapshot: unknown;
}

const served = servedOperations.map((each) => [each.name, each] as const);

/**
 * What each operation is called with: its first example, or what only a running simulator can give.
 */
function requestOf({ verb, path, name, examples }: Operation, targets: Targets) {
  const input = name === 'snapshots.restore' ? targets.snapshot : examples[0];
  const isQuery = verb === 'GET' || verb === 'DELETE';
  return {
    method: verb,
    path: path.replace(/\{(\w+)\}/g, (_, id: string) =>
      name === 'sims.removeFromPool' ? targets.poolNumber : (targets.ids[id] ?? 'unknown'),
    ),
    query: isQuery ? new URLSearchParams(input as Record<string, string>).toString() : '',
    body: isQuery || input === undefined ? '' : JSON.stringify(input),
  };
}

test('the document has every operation, and every input an example', () => {
  const document = controlDocument(servedOperations);
  const described = Object.entries(document['paths'] as Record<string, object>).flatMap(
    ([path, methods]) => Object.keys(methods).map((verb) => `${verb.toUpperCase()} ${path}`),
  );
  expect([...described].sort()).toEqual(
    servedOperations.map(({ verb, path }) => `${verb} ${path}`).sort(),
  );
  const tags = document['tags'] as readonly { name: string; description?: string }[];
  expect(tags.filter(({ description }) => description === undefined)).toEqual([]);
  const bare = servedOperations.filter(
    ({ input, inputFrom, examples }) =>
      input !== undefined && inputFrom === undefined && examples.length === 0,
  );
  expect(bare.map(({ name }) => name)).toEqual(['snapshots.restore']);
});

test.each(
  served.flatMap(([name, { input, examples }]) =>
    examples.map((example) => [name, input, example] as const),
  ),
)('an example of %s is understood', (_, input, example) => {
  expect(input?.safeParse(example).error?.issues).toBeUndefined();
});

test.each(served)('%s answers what its schema says', async (_, operation) => {
  const simulator = new Simulator({ clock: 'manual' });
  const reply = await controlApi(simulator, { host: '127.0.0.1', token: undefined }).control({
    ...plainRequest,
    ...requestOf(operation, targetsOf(simulator)),
  });
  expect(reply.status).toBe(successStatus(operation));
  if ('open' in reply) {
    const stop = reply.open(
      () => true,
      () => {},
    );
    stop();
  } else if ('content' in reply) expect(reply.contentType).toBe(operation.contentType);
  else if (operation.output === undefined) expect(reply.body).toBe('');
  else expect(operation.output.safeParse(JSON.parse(reply.body)).error?.issues).toBeUndefined();
  await simulator.close();
});

test.each(served.filter(([, { target }]) => target !== undefined))(
  '%s is 404 for what is not there',
  async (_, operation) => {
    const simulator = new Simulator({ clock: 'manual' });
    const reply = await controlApi(simulator, { host: '127.0.0.1', token: undefined }).control({
      ...plainRequest,
      ...requestOf(operation, targetsOf(simulator)),
      path: operation.path.replace(/\{\w+\}/, '00000000-0000-4000-8000-000000000000'),
    });
    expect(reply.status).toBe(404);
    await simulator.close();
  },
);

/** A simulator in which there is one of everything. */
function targetsOf(simulator: Simulator): Targets {
  const { message_id: message } = JSON.parse(sendBy(simulator, 0, {}).body);
  const { account_id: account = '' } = simulator.accounts.list()[0] ?? {};
  const { fault_id: fault } = simulator.faults.add({
    when: { probability: 0.5 },
    fault: { kind: 'refuse' },
  });
  sendBy(simulator, 1, { to: '+12025550164' });
  return {
    ids: {
      account_id: account,
      message_id: message,
      fault_id: fault,
      number: '1',
      key_id: simulator.accounts.keys(account)[0]?.key_id ?? '',
      device_id: simulator.sims.list(account)[0]?.device_id ?? '',
      world_id: simulator.worlds.create({}).world_id,
    },
    poolNumber: simulator.sims.pool()[0]?.device_id ?? '',
    snapshot: simulator.snapshots.take(),
  };
}
