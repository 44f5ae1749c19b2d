/**
 * Declares *operations*: everything a user can do beyond the documented service. From one
 * declaration follow the method on the simulator, the control port's route and document, journal
 * replay, the types of the page and the fuzzer's requests. `perform.ts` performs them.
 */
import type { z } from 'zod';
import { atOnce } from '#io/event-loop.ts';
import type { ControlReply } from '../http/transport/transport.ts';
import type { AnyJoin, Join, MaybeJoined } from './joins.ts';
import type { RunningWorld, Targets } from './running-world.ts';

export type Verb = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type Http = `${Verb} /${string}`;
type Schema = z.ZodType | undefined;

// The next types are the arguments of a method or of `run`, each as a tuple of one or none. `H` is
// the type of a route: a verb and a path with ids in braces.

/** The object that the path parameter refers to, as `run` gets it. */
type Found<H> = H extends `${string}{${infer Name extends keyof Targets}}${string}`
  ? [target: Targets[Name]]
  : [];
/** The input with its defaults, as `run` gets it. */
type Parsed<Input> = Input extends z.ZodType ? [input: z.output<Input>] : [];
/** The id in the path, as callers give it. */
type Id<H> = H extends `${string}{${infer Name}}${string}`
  ? [id: Name extends 'number' ? string | number : string]
  : [];
/** The input as callers give it. It may be left out if all of it has defaults. */
type Given<Input> = Input extends z.ZodType
  ? undefined extends z.input<Input>
    ? [input?: Readonly<z.input<Input>>]
    : [input: Readonly<z.input<Input>>]
  : [];

/**
 * Which shards of a fleet an operation concerns: `all` changes every shard; `owner` goes to the
 * shard of the account, message, key, SIM or world that it names; `merged` joins the lists and
 * counts of all; `local` is answered by any one shard for itself. `named`: the shards answer
 * differently for a world that spans all of them, so a request names one by `?shard=N`.
 */
export type Scope = 'all' | 'owner' | 'merged' | 'local' | 'named';

export interface InFleet {
  readonly scope: Scope;
  /** True if it concerns the whole server, and not one of its worlds. */
  readonly ofServer?: true;
  /** True if it may change the accounts, keys or worlds by which a fleet routes requests. */
  readonly changesRoutes?: true;
  /** How the replies of the shards become one (`joins.ts`). */
  readonly joined?: AnyJoin;
}

/** The fields that a declaration and the finished operation share. */
interface Described {
  /** True if no control token is needed. Its reply must then show nothing of a world. */
  readonly isOpen?: true;
  readonly summary: string;
  readonly description?: string;
  /**
   * Whether journals record and replay it; a text is its name in journals. By default they do,
   * except for a GET, an operation on the whole server, and an operation without a route.
   */
  readonly recorded?: boolean | string;
  /** The status of success over HTTP: 200, or 204 without an output. */
  readonly status?: number;
  /** The content type of success, if it is not JSON. */
  readonly contentType?: string;
  /** A longer body is answered 413. Default 65,536. */
  readonly bodyLimitBytes?: number;
  /** Statuses of refusals, besides those that the declaration implies. */
  readonly refusals?: readonly (404 | 408 | 409 | 503)[];
  /** True if its reply may show whole keys, which all other replies of the control port hide. */
  readonly showsKeys?: boolean;
  /** True if the method returns a promise; a refusal then rejects the promise. */
  readonly isAsync?: boolean;
}

/** The argument of `defineOperation`, without what it does. */
interface Declaration<
  H extends Http | '',
  In extends Schema,
  Out extends Schema,
  Args extends readonly unknown[],
  Result,
> extends Described {
  /** The scope is by default: `owner` with an id in the path; `all` if recorded; else `merged`. */
  readonly fleet?: Omit<Partial<InFleet>, 'joined'> & {
    readonly joined?: Join<z.output<NonNullable<Out>>>;
  };
  /** Verb and path, with ids in braces; if absent, the operation is only a method. */
  readonly http?: H;
  /** The query of a GET or DELETE, the body of all others. */
  readonly input?: In;
  /** The body of a reply over HTTP. */
  readonly output?: Out;
  /** Examples of the input, for the document and for tests. */
  readonly examples?: readonly z.input<NonNullable<In>>[];
  /** Converts the arguments of the method to the input, if they have another form. */
  readonly arguments?: (...args: Args) => z.input<NonNullable<In>>;
  /** The part of the result that journals compare, if not the whole. */
  readonly recordedResult?: (result: Result) => unknown;
  /**
   * Reads the input from outside the recorded run, such as from the wall clock, in place of a
   * user's input. Journals record it, so a replay uses the same.
   */
  readonly inputFrom?: (live: RunningWorld) => z.input<NonNullable<In>>;
  /** The HTTP reply, if it is not the result itself. */
  readonly reply?: (result: Result, live: RunningWorld, headers: Headers) => unknown;
}
type Headers = Readonly<Record<string, string>>;

type Run<H, In, Result> = (live: RunningWorld, ...given: [...Found<H>, ...Parsed<In>]) => Result;
/**
 * What an operation does: `run` does it at once. `slices` is for long work: a generator, which a
 * port runs piece by piece between other requests.
 */
type Work<H, In, Result> =
  | { readonly run: Run<H, In, Result>; readonly slices?: undefined }
  | { readonly slices: Run<H, In, Generator<undefined, Result>>; readonly run?: undefined };

/** A finished operation, as the rest of the program sees it. */
export interface Operation<Types extends OperationTypes = OperationTypes> extends Described {
  /** Noun and verb, such as `clock.advance`: the name in journals and OpenAPI. */
  readonly name: string;
  readonly fleet: InFleet;
  readonly recorded: boolean | string;
  readonly verb: Verb;
  /** Empty for a method without a route. */
  readonly path: string;
  /** The name of the path's parameter. */
  readonly target: keyof Targets | undefined;
  readonly input: Schema;
  readonly output: Schema;
  readonly examples: readonly unknown[];
  readonly arguments?: ((...args: never) => unknown) | undefined;
  readonly recordedResult?: ((result: never) => unknown) | undefined;
  readonly inputFrom?: ((live: RunningWorld) => unknown) | undefined;
  readonly run: (live: RunningWorld, ...given: never) => unknown;
  readonly slices?:
    | ((live: RunningWorld, ...given: never) => Generator<undefined, unknown>)
    | undefined;
  readonly reply?: ((result: never, live: RunningWorld, headers: Headers) => unknown) | undefined;
  /** Never set: it carries the types to `Methods` and `OperationTable`. */
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

/** Fills in what a declaration implies; `nameOperations` adds the name. */
export function defineOperation<
  Result,
  const H extends Http | '' = '',
  In extends Schema = undefined,
  Out extends Schema = undefined,
  Args extends readonly unknown[] = Given<In>,
>(
  declaration: Declaration<H, In, Out, Args, Result> & Work<H, In, Result> & MaybeJoined<H, Out>,
): Operation<{
  args: [...Id<H>, ...Args];
  result: Result;
  id: Id<H>;
  input: Given<In>;
  reply: Out extends z.ZodType ? z.output<Out> : undefined;
}> {
  const { http, slices, fleet, ...described } = declaration;
  // A method without a route counts as a POST: its input is a body.
  const [verb = '', path = ''] = (http ?? 'POST ').split(' ');
  const { recorded = verb !== 'GET' && path !== '' && fleet?.ofServer !== true } = declaration;
  const target = /\{(\w+)\}/.exec(path)?.[1] as keyof Targets | undefined;
  // TypeScript cannot see that these values have the types that follow from the parameters.
  return {
    input: undefined,
    output: undefined,
    examples: [],
    recorded,
    fleet: { scope: defaultScope(recorded, target), ...fleet },
    ...(slices && { slices, run: (...args: Parameters<typeof slices>) => atOnce(slices(...args)) }),
    ...described,
    verb: verb as Verb,
    path,
    target,
  } as never;
}

/** See `Declaration.fleet`. */
function defaultScope(recorded: boolean | string, target: string | undefined): Scope {
  if (target !== undefined) return 'owner';
  return recorded === false ? 'merged' : 'all';
}

/** Names the operations of a noun, such as `clock.advance`, and returns them. */
export function nameOperations(noun: string, operations: Noun): readonly Operation[] {
  return Object.entries(operations).map(([verb, operation]) =>
    Object.assign(operation, { name: `${noun}.${verb}` }),
  );
}

/** The operations on one kind of object, such as clocks, by the names of their methods. */
export type Noun = Readonly<Record<string, Operation>>;
/** The methods that `methodsOf` (`perform.ts`) makes of them. */
export type Methods<N extends Noun> = {
  readonly [K in keyof N]: N[K] extends Operation<infer T extends OperationTypes>
    ? (...args: T['args']) => T['result']
    : never;
};

/** Returned by `reply` of a declaration for a reply that is not a JSON value: a text, or events. */
export class WholeReply {
  readonly reply: ControlReply;

  constructor(reply: ControlReply) {
    this.reply = reply;
  }
}

// Questions about a declared operation.

export function nounOf(name: string): string {
  return name.split('.')[0] ?? name;
}

export function recordedName({ name, recorded }: Operation): string {
  return typeof recorded === 'string' ? recorded : name;
}

export function successStatus({ status, output }: Operation): number {
  return status ?? (output === undefined ? 204 : 200);
}

/** True if the input is the query and not the body. */
export function takesQuery({ verb }: Operation): boolean {
  return verb === 'GET' || verb === 'DELETE';
}

/** True if the input has parts without a default. */
export function needsInput({ input }: Operation): boolean {
  return input?.safeParse(undefined).success === false;
}
