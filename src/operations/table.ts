/** Every operation, by noun, in the order of the documentation. */
import { z } from 'zod';
import { accounts } from './accounts/accounts.ts';
import { sims } from './accounts/sims.ts';
import { type Methods, nameOperations, type Operation, recordedName } from './define.ts';
import { events } from './events/events.ts';
import { messages } from './messages/messages.ts';
import { methodsOf } from './perform.ts';
import { exchanges } from './requests/exchanges.ts';
import { referee } from './requests/referee.ts';
import { requests } from './requests/requests.ts';
import type { RunningWorld } from './running-world.ts';
import { assumptions } from './service/assumptions.ts';
import { clock } from './service/clock.ts';
import { faults } from './service/faults.ts';
import { limits } from './service/limits.ts';
import { outcomes } from './service/outcomes.ts';
import { past } from './worlds/past.ts';
import { simulator } from './worlds/simulator.ts';
import { snapshots } from './worlds/snapshots.ts';
import { worlds } from './worlds/worlds.ts';

/** The operations by noun, such as `clock`, and verb, such as `advance`. */
export const nouns = {
  simulator,
  clock,
  accounts,
  sims,
  messages,
  outcomes,
  limits,
  assumptions,
  faults,
  requests,
  exchanges,
  referee,
  events,
  snapshots,
  past,
  worlds,
};
type Nouns = typeof nouns;
/** The methods of a simulator: `clock.advance` is `sim.clock.advance()`. */
export type NounMethods = { readonly [N in keyof Nouns]: Methods<Nouns[N]> };
/** `sim.referee()` judges; `sim.referee.restart()` forgets what it has seen. */
export type RefereeMethods = NounMethods['referee']['judge'] &
  Pick<NounMethods['referee'], 'restart'>;
/** The name of an operation, such as `clock.advance`. */
export type OperationName = {
  [N in keyof Nouns]: `${N}.${keyof Nouns[N] & string}`;
}[keyof Nouns];
/** Input and reply of each operation on the control port, by its name. */
export type OperationTable = {
  [Name in OperationName]: Name extends `${infer N extends keyof Nouns}.${infer Verb}`
    ? TypesOf<Nouns[N][Verb & keyof Nouns[N]]>
    : never;
};
type TypesOf<O> = O extends Operation<infer T> ? T : never;

export const operations: readonly Operation[] = Object.entries(nouns).flatMap(([noun, own]) =>
  nameOperations(noun, own),
);

const byName = new Map(operations.map((operation) => [operation.name, operation]));
const recorded = new Map(
  operations
    .filter((operation) => operation.recorded)
    .map((operation) => [recordedName(operation), operation]),
);

/** The operation that journals record under this name. */
export function recordedOperation(name: string): Operation | undefined {
  return recorded.get(name);
}

export function outputOf(name: OperationName): z.ZodType {
  return operationNamed(name).output ?? z.undefined();
}

export function routeOf(
  name: OperationName,
  id = '',
): { readonly method: Operation['verb']; readonly path: string } {
  const { verb, path } = operationNamed(name);
  return { method: verb, path: path.replace(/\{\w+\}/, encodeURIComponent(id)) };
}

export function refereeMethods(live: RunningWorld): RefereeMethods {
  const { judge, restart } = methodsOf(live, nouns.referee);
  return Object.assign(judge, { restart });
}

function operationNamed(name: OperationName): Operation {
  const operation = byName.get(name);
  if (operation === undefined) throw new Error(`there is no operation ${name}`);
  return operation;
}
