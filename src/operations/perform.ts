/**
 * Performs operations. A method or a route calls `perform`, and a journal calls `replay`; both end
 * in `run`, which reads the input and finds the object that the path names.
 */
import type { z } from 'zod';
import { inSlices } from '#io/event-loop.ts';
import { mistakeLine } from '#io/mistakes.ts';
import { mistakesInSettings } from '../config/given-assumptions.ts';
import { OperationRefused } from '../sim/errors.ts';
import { type Methods, type Noun, nounOf, type Operation, recordedName } from './define.ts';
import { find, type RunningWorld } from './running-world.ts';

/** The operations of a noun as methods: `methodsOf(live, clock).advance('24h')`. */
export function methodsOf<N extends Noun>(live: RunningWorld, noun: N): Methods<N> {
  return Object.fromEntries(
    Object.entries(noun).map(([name, operation]) => {
      const method = (...args: unknown[]) => {
        const [id, input] = readArguments(operation, args);
        return perform(operation, live, id, input);
      };
      return [name, operation.isAsync ? async (...args: unknown[]) => method(...args) : method];
    }),
  ) as Methods<N>;
}

/** Runs an operation for a user, with the id in its path and its input, and records it. */
export function perform(
  operation: Operation,
  live: RunningWorld,
  id: string | undefined,
  userInput?: unknown,
): unknown {
  const result = runRecorded(operation, live, id, userInput);
  announce(operation, live);
  return result;
}

/** Performs an operation for a port, which interrupts long work to serve other requests. */
export function performForPort(
  operation: Operation,
  live: RunningWorld,
  id: string | undefined,
  userInput?: unknown,
): unknown {
  const { slices } = operation;
  if (slices === undefined) return perform(operation, live, id, userInput);
  const work = runRecorded({ ...operation, run: slices }, live, id, userInput);
  return inSlices(work as Generator<undefined, unknown>).then((result) => {
    announce(operation, live);
    return result;
  });
}

function runRecorded(
  operation: Operation,
  live: RunningWorld,
  id: string | undefined,
  userInput: unknown,
): unknown {
  const { recorded, target, inputFrom } = operation;
  const input = inputFrom === undefined ? userInput : inputFrom(live);
  if (recorded === false) {
    live.wallClock.catchUp();
    return run(operation, live, id, input);
  }
  const args = [...(target === undefined ? [] : [id]), ...(input === undefined ? [] : [input])];
  return live.change(
    recordedName(operation),
    args,
    () => run(operation, live, id, input),
    (fullResult) => recordedPart(operation, fullResult),
  );
}

/** Reports to readers of events that an operation may have changed something. */
function announce({ name, verb, path }: Operation, live: RunningWorld): void {
  const mayChange = verb !== 'GET' && path !== '';
  if (mayChange && live.activity.hasAudience) live.activity.publish('operation', { name });
}

/** Runs a recorded operation again. Returns the part of the result that journals compare. */
export function replay(
  operation: Operation,
  live: RunningWorld,
  args: readonly unknown[],
): unknown {
  const [id, input] =
    operation.inputFrom === undefined ? readArguments(operation, args) : [undefined, args[0]];
  return recordedPart(
    operation,
    live.wallClock.atOneMoment(() => run(operation, live, id, input)),
  );
}

/** The id and the input in the arguments of a method. */
function readArguments(
  operation: Operation,
  args: readonly unknown[],
): readonly [string | undefined, unknown] {
  const [id, ...others] = operation.target === undefined ? [undefined, ...args] : args;
  const toInput = operation.arguments as ((...args: unknown[]) => unknown) | undefined;
  return [id as string | undefined, toInput === undefined ? others[0] : toInput(...others)];
}

function run(
  operation: Operation,
  live: RunningWorld,
  id: string | undefined,
  input: unknown,
): unknown {
  const { name, target, input: schema } = operation;
  const found = target === undefined ? [] : [find(target, live, String(id))];
  // The noun selects the wording of mistakes in limits and assumptions.
  const parsed = schema === undefined ? [] : [readInput(schema, input, [nounOf(name)])];
  return (operation.run as (live: RunningWorld, ...given: unknown[]) => unknown)(
    live,
    ...found,
    ...parsed,
  );
}

function recordedPart({ recordedResult }: Operation, result: unknown): unknown {
  return recordedResult === undefined ? result : recordedResult(result as never);
}

/**
 * Checks an input; one OperationRefused names all mistakes, each with its path. `at`: the place of
 * this value in a world file, which may have its own words for mistakes.
 */
export function readInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  at: readonly PropertyKey[] = [],
): z.output<Schema> {
  const reading = schema.safeParse(value, { reportInput: true });
  if (reading.success) return reading.data;
  const mistakes = mistakesInSettings(reading.error, at);
  const [first] = mistakes;
  const message = mistakes.length === 1 ? first?.message : mistakes.map(mistakeLine).join('; ');
  throw new OperationRefused('invalid', message ?? 'not understood', first?.path || undefined);
}
