/**
 * What a fleet refuses with 409, as its answer could not be that of one process: settings that
 * HAProxy decides, and in a wide world what counts requests of several accounts.
 */
import type { Operation } from '../operations/define.ts';
import { OperationRefused } from '../sim/operation-refused.ts';

type Fields = Readonly<Record<string, unknown>>;

/** HAProxy writes the address of the client into `X-Forwarded-For`, and shards read it there. */
export const fixedClientIp =
  'HAProxy decides the address of a client: it is x_forwarded_for on each shard; leave it out, and ' +
  'start with --trust-proxy if a proxy in front writes that header';

/** In any world of a fleet. */
export function refuseRouted({ name }: Operation, read: () => unknown): void {
  const isPatch = name === 'assumptions.patch';
  if (!isPatch && name !== 'worlds.create' && name !== 'snapshots.restore') return;
  const body = fieldsOf(read());
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

/** In a world that spans all shards. */
export function refuseInexact({ name }: Operation, given: unknown): void {
  const body = fieldsOf(given);
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
  if (name === 'assumptions.patch' && 'bearerSpace' in body) {
    refuse('HAProxy finds the key of a request by it: start with it', 'bearerSpace');
  }
  if (name === 'worlds.fork') {
    refuse('this world spans all shards, and a fork is on one: fork a world that was created');
  }
  if (name === 'referee.judge' && !('account' in body)) {
    refuse('intents of a wide world are judged by account: name one', 'account');
  }
}

/** True for a fault that does not strike every request: `every: 1` and `probability: 1` do. */
function isCounted({ when, times }: Fields): boolean {
  const values = Object.entries(fieldsOf(when));
  return times !== undefined || values.some(([name, value]) => name === 'nth' || value !== 1);
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}
