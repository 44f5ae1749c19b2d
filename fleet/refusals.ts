/**
 * What a fleet refuses with 409, because it cannot answer as one process would: settings of HAProxy
 * and, in a wide world (a world that spans all shards), what counts requests of several accounts.
 */
import type { Operation } from '#src/operations/define.ts';
import { OperationRefused } from '#src/sim/errors.ts';
import { type Fields, fieldsOf } from './join.ts';

/** Why the assumption `clientIp` cannot be changed: each shard gets addresses from HAProxy. */
export const fixedClientIp =
  'HAProxy decides the address of a client: it is x_forwarded_for on each shard; leave it out, and ' +
  'start with --trust-proxy if a proxy in front writes that header';

/** Throws if no world of a fleet can do the operation. `readBody`: called only if it is needed. */
export function refuseRouted({ name }: Operation, readBody: () => unknown): void {
  const isPatch = name === 'assumptions.patch';
  if (!isPatch && name !== 'worlds.create' && name !== 'snapshots.restore') return;
  const body = fieldsOf(readBody());
  const places: readonly (readonly [path: string, answers: unknown])[] = isPatch
    ? [['clientIp', body]]
    : [
        ['assumptions.clientIp', body['assumptions']],
        ['world.assumptions.clientIp', fieldsOf(body['world'])['assumptions']],
      ];
  for (const [path, answers] of places) {
    const { clientIp } = fieldsOf(answers) as { readonly clientIp?: unknown };
    if (clientIp === undefined || clientIp === 'x_forwarded_for') continue;
    throw new OperationRefused('conflict', fixedClientIp, path);
  }
}

/** Throws if a wide world cannot do the operation exactly. `input`: the parsed body. */
export function refuseInexact({ name }: Operation, input: unknown): void {
  const body = fieldsOf(input);
  const refuse = (message: string, path?: string) => {
    throw new OperationRefused('conflict', message, path);
  };
  if (name === 'faults.add' && !('account_id' in fieldsOf(body['match'])) && isCounted(body)) {
    refuse(
      'a wide world counts requests on each shard: a fault with nth, every, times or probability needs match.account_id',
      'match.account_id',
    );
  }
  if (name === 'assumptions.patch' && 'sendsPerPoll' in body) {
    refuse(
      'accounts of the pool would influence each other on several shards: start with it',
      'sendsPerPoll',
    );
  }
  const aboutKeys = ['bearerSpace', 'bearerCase'].find((assumption) => assumption in body);
  if (name === 'assumptions.patch' && aboutKeys !== undefined)
    refuse('HAProxy finds the key of a request by it: start with it', aboutKeys);
  if (name === 'worlds.fork')
    refuse('this world spans all shards, and a fork is on one: fork a world that was created');
  if (name === 'referee.judge' && !('account' in body))
    refuse('intents of a wide world are judged by account: name one', 'account');
}

/** True for a fault that strikes only some requests; `every: 1` and `probability: 1` strike all. */
function isCounted({ when, times }: Fields): boolean {
  const values = Object.entries(fieldsOf(when));
  return times !== undefined || values.some(([name, value]) => name === 'nth' || value !== 1);
}
