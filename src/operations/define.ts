/**
 * One declaration per operation: what a user can do beyond the documented service. From it come the
 * method on the simulator, the control port's route and document, journal replay, the dashboard's
 * types and the fuzzer's requests. `perform` and `replay` both end in `run`, which alone reads the
 * input and finds the object that the path names.
 */
import type { z } from 'zod';
import type { ControlReply } from '../http/transport/transport.ts';
import { atOnce } from '../sim/at-once.ts';
import { readInput } from './input.ts';
import type { Live } from './live.ts';
import { inSlices } from './slices.ts';
import { find, type Targets } from './targets.ts';

export type Verb = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type Http = `${Verb} /${string}`;
type Schema = z.ZodType | undefined;

/** The object that a path parameter such as `{account_id}` refers to. */
type Found<H> = H extends `${string}{${infer Name extends keyof Targets}}${string}`
  ? [target: Targets[Name]]
  : [];
type Parsed<Input> = Input extends z.ZodType ? [input: z.output<Input>] : [];
type Id<H> = H extends `${string}{${infer Name}}${string}`
  ? [id: Name extends 'number' ? string | number : string]
  : [];
type Given<Input> = Input extends z.ZodType
  ? undefined extends z.input<Input>
    ? [input?: Readonly<z.input<Input>>]
    : [input: Readonly<z.input<Input>>]
  : [];

/**
 * Which shards of a fleet an operation concerns: `all` changes every shard; `owner` goes to the
 * shard of the account, message, key, SIM or world that it names; `merged` joins the lists and
 * counts of all; `local` is answered by any one shard for itself.
 */
export type Scope = 'all' | 'owner' | 'merged' | 'local';

interface Described {
  /** True if it concerns the whole server, and not one of its worlds. */
  readonly ofServer?: true;
  /**
   * True if each shard has its own where a world spans all shards of a fleet: one is then asked for
   * by `?shard=N`.
   */
  readonly ofShard?: true;
  /** True if keys or worlds may be others afterwards: a fleet then routes anew. */
  readonly changesKeys?: true;
  readonly summary: string;
  readonly description?: string;
  /**
   * Whether journals record and replay it; a text is its name in journals. By default they do,
   * unless it is a GET, of the server, or a method alone.
   */
  readonly recorded?: boolean | string;
  /** The status of success over HTTP: 200, or 204 without an output. */
  readonly status?: number;
  /** The content type of success, if it is not JSON. */
  readonly contentType?: string;
  /** A longer body is answered 413. Default 65,536. */
  readonly bodyLimitBytes?: number;
  /** Statuses of refusals, besides those that the declaration implies. */
  readonly refusals?: readonly (408 | 409 | 503)[];
  /** True if its reply shows keys: they are hidden in all other replies of the control port. */
  readonly showsKeys?: boolean;
  /** True if it returns a promise; a refusal then rejects the promise. */
  readonly isAsync?: boolean;
}

interface Declaration<
  H extends Http | '',
  In extends Schema,
  Out extends Schema,
  Args extends readonly unknown[],
  Result,
> extends Described {
  /** By default, what the other fields imply. */
  readonly scope?: Scope;
  /** Verb and path, with ids in braces; if absent, the operation is only a method. */
  readonly http?: H;
  /** The query of a GET or DELETE, the body of all others. */
  readonly input?: In;
  /** The body of a reply over HTTP. */
  readonly output?: Out;
  /** Examples of the input, for the document and for tests. */
  readonly examples?: readonly z.input<NonNullable<In>>[];
  /** Converts the arguments of the method to the input, if they may be shorter. */
  readonly arguments?: (...args: Args) => z.input<NonNullable<In>>;
  /** The part of the result that journals compare, if not the whole. */
  readonly recordedResult?: (result: Result) => unknown;
  /**
   * The input, read from outside the run (the wall clock); a user cannot give it. Journals record
   * it.
   */
  readonly inputFrom?: (live: Live) => z.input<NonNullable<In>>;
  /** The HTTP reply, if it is not the result itself. */
  readonly reply?: (result: Result, live: Live, headers: Headers) => unknown;
}
type Headers = Readonly<Record<string, string>>;

type Run<H, In, Result> = (live: Live, ...given: [...Found<H>, ...Parsed<In>]) => Result;
/** What it does: at once, or long work that a port runs in slices. */
type Work<H, In, Result> =
  | { readonly run: Run<H, In, Result>; readonly slices?: undefined }
  | { readonly slices: Run<H, In, Generator<undefined, Result>>; readonly run?: undefined };

/** An operation as the rest of the program sees it. `types` exists only for the compiler. */
export interface Operation<Types extends OperationTypes = OperationTypes> extends Described {
  /** Noun and verb, such as `clock.advance`: the name in journals and OpenAPI. */
  readonly name: string;
  readonly scope: Scope;
  readonly recorded: boolean | string;
  readonly verb: Verb;
  /** Empty for a method without a route. */
  readonly path: string;
  readonly target: keyof Targets | undefined;
  readonly input: Schema;
  readonly output: Schema;
  readonly examples: readonly unknown[];
  readonly arguments?: ((...args: never) => unknown) | undefined;
  readonly recordedResult?: ((result: never) => unknown) | undefined;
  readonly inputFrom?: ((live: Live) => unknown) | undefined;
  readonly run: (live: Live, ...given: never) => unknown;
  readonly slices?: ((live: Live, ...given: never) => Generator<undefined, unknown>) | undefined;
  readonly reply?: ((result: never, live: Live, headers: Headers) => unknown) | undefined;
  readonly types?: Types;
}

interface OperationTypes {
  /** The method's arguments and result. */
  readonly args: readonly unknown[];
  readonly result: unknown;
  /** The control port's input and reply. */
  readonly id: readonly (string | number)[];
  readonly input: readonly unknown[];
  readonly reply: unknown;
}

export function defineOperation<
  Result,
  const H extends Http | '' = '',
  In extends Schema = undefined,
  Out extends Schema = undefined,
  Args extends readonly unknown[] = Given<In>,
>(
  declaration: Declaration<H, In, Out, Args, Result> & Work<H, In, Result>,
): Operation<{
  args: [...Id<H>, ...Args];
  result: Result;
  id: Id<H>;
  input: Given<In>;
  reply: Out extends z.ZodType ? z.output<Out> : undefined;
}> {
  const { http, slices, ...described } = declaration;
  const { ofShard, ofServer } = declaration;
  const [verb = '', path = ''] = (http ?? 'POST ').split(' ');
  const { recorded = verb !== 'GET' && path !== '' && ofServer !== true } = declaration;
  const target = /\{(\w+)\}/.exec(path)?.[1] as keyof Targets | undefined;
  let scope: Scope = recorded === false ? 'merged' : 'all';
  if (target !== undefined) scope = 'owner';
  if (ofShard === true) scope = 'local';
  return {
    input: undefined,
    output: undefined,
    examples: [],
    recorded,
    scope,
    ...(slices && { slices, run: (...args: Parameters<typeof slices>) => atOnce(slices(...args)) }),
    ...described,
    verb: verb as Verb,
    path,
    target,
  } as never;
}

/** The operations of a noun, which name them: `clock` and `advance` make `clock.advance`. */
export function operationsOf(noun: string, operations: Noun): readonly Operation[] {
  return Object.entries(operations).map(([verb, operation]) =>
    Object.assign(operation, { name: `${noun}.${verb}` }),
  );
}

/** A reply that is not a JSON value: a text, or a stream of events. */
export class WholeReply {
  readonly reply: ControlReply;

  constructor(reply: ControlReply) {
    this.reply = reply;
  }
}

/** Several operations by the names of their methods. */
export type Noun = Readonly<Record<string, Operation>>;
export type Methods<N extends Noun> = {
  readonly [K in keyof N]: N[K] extends Operation<infer T extends OperationTypes>
    ? (...args: T['args']) => T['result']
    : never;
};

/** The operations of a noun as methods: `methodsOf(live, clock).advance('24h')`. */
export function methodsOf<N extends Noun>(live: Live, noun: N): Methods<N> {
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

/** Runs an operation with the id in its path and its input. */
export function perform(
  operation: Operation,
  live: Live,
  id: string | undefined,
  given?: unknown,
): unknown {
  const { recorded, target, inputFrom } = operation;
  const input = inputFrom === undefined ? given : inputFrom(live);
  if (recorded === false) {
    live.wallClock.pump();
    return announced(operation, live, run(operation, live, id, input));
  }
  const args = [...(target === undefined ? [] : [id]), ...(input === undefined ? [] : [input])];
  const result = live.change(
    recordedName(operation),
    args,
    () => run(operation, live, id, input),
    (made) => recordedPart(operation, made),
  );
  return announced(operation, live, result);
}

/** Tells readers that an operation may have changed what they show. */
function announced<T>({ name, verb, path }: Operation, live: Live, result: T): T {
  if (verb !== 'GET' && path !== '' && live.activity.isWatched)
    live.activity.publish('operation', { name });
  return result;
}

/**
 * As `perform`, for a port: long work that no journal records is interrupted for other requests.
 */
export function performForPort(
  operation: Operation,
  live: Live,
  id: string | undefined,
  given?: unknown,
): unknown {
  const { slices } = operation;
  if (slices === undefined) return perform(operation, live, id, given);
  const work = perform({ ...operation, verb: 'GET', run: slices }, live, id, given);
  return inSlices(work as Generator<undefined, unknown>).then((result) =>
    announced(operation, live, result),
  );
}

/**
 * Runs an operation again with the arguments of a journal. Returns the part that journals compare.
 */
export function replay(operation: Operation, live: Live, args: readonly unknown[]): unknown {
  const [id, input] =
    operation.inputFrom === undefined ? readArguments(operation, args) : [undefined, args[0]];
  return recordedPart(
    operation,
    live.wallClock.atOneMoment(() => run(operation, live, id, input)),
  );
}

/** The id and the input for the arguments of a method. */
function readArguments(
  operation: Operation,
  args: readonly unknown[],
): readonly [string | undefined, unknown] {
  const [id, ...own] = operation.target === undefined ? [undefined, ...args] : args;
  const read = operation.arguments as ((...args: unknown[]) => unknown) | undefined;
  return [id as string | undefined, read === undefined ? own[0] : read(...own)];
}

function run(operation: Operation, live: Live, id: string | undefined, input: unknown): unknown {
  const { name, target } = operation;
  const found = target === undefined ? [] : [find(target, live, String(id))];
  // The noun selects the wording of mistakes in limits and assumptions.
  const read =
    operation.input === undefined ? [] : [readInput(operation.input, input, [nounOf(name)])];
  return (operation.run as (live: Live, ...given: unknown[]) => unknown)(live, ...found, ...read);
}

export function nounOf(name: string): string {
  return name.split('.')[0] ?? name;
}

export function recordedName({ name, recorded }: Operation): string {
  return typeof recorded === 'string' ? recorded : name;
}

/** The part of a result that journals compare. */
function recordedPart({ recordedResult }: Operation, result: unknown): unknown {
  return recordedResult === undefined ? result : recordedResult(result as never);
}

/** The status of success over HTTP. */
export function successStatus({ status, output }: Operation): number {
  return status ?? (output === undefined ? 204 : 200);
}

/** True if the input is the query and not the body. */
export function takesQuery({ verb }: Operation): boolean {
  return verb === 'GET' || verb === 'DELETE';
}

export function needsBody({ input }: Operation): boolean {
  return input?.safeParse(undefined).success === false;
}
