/**
 * One row of the control API: where it is, what it takes and answers, and the method that does it.
 * The same rows answer requests and make `/control/openapi.json`, so neither can drift from the other.
 */
import type { z } from 'zod';
import { type Noun, perform, type Verb } from '../../operations/define.ts';
import type { Simulator } from '../../simulator.ts';
import type { ControlReply } from '../transport/transport.ts';

/** What a row's method is called with: values as they came, which the levers check. */
export interface Call {
  readonly simulator: Simulator;
  /** The variable parts of the path, in order. */
  readonly ids: readonly string[];
  readonly query: Readonly<Record<string, string>>;
  /** Undefined where the request has no body. */
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Route {
  readonly method: Verb;
  /** `/control/accounts/{account_id}`. */
  readonly path: string;
  readonly summary: string;
  /** The status of success; 204 answers without a body. */
  readonly status: number;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** False: the body may be left out. */
  readonly bodyRequired?: boolean;
  /** A longer body is answered 413. Default 65,536. */
  readonly bodyLimitBytes?: number;
  readonly result?: z.ZodType;
  /** The content type, where it is not JSON. */
  readonly contentType?: string;
  /** Statuses of refusals beside those that any row may answer. */
  readonly refusals?: readonly number[];
  /** The value to answer as JSON, or a whole reply of its own. */
  readonly run: (call: Call) => unknown;
}

/** A reply that is no JSON value: a text, or a stream of events. */
export class WholeReply {
  readonly reply: ControlReply;

  constructor(reply: ControlReply) {
    this.reply = reply;
  }
}

/** The rows of declared operations. */
export function routesOf(noun: Noun): Route[] {
  return Object.values(noun)
    .filter(({ path }) => path !== '')
    .map((operation) => {
      const { verb, path, summary, status, input, output, refusals } = operation;
      const isRead = verb === 'GET' || verb === 'DELETE';
      return {
        method: verb,
        path,
        summary,
        status: status ?? (output === undefined ? 204 : 200),
        ...(input !== undefined && (isRead ? { query: input as z.ZodObject } : { body: input })),
        ...(output !== undefined && { result: output }),
        ...(refusals !== undefined && { refusals }),
        run: ({ simulator, ids: [id], query, body }: Call) =>
          perform(operation, simulator, id, isRead ? query : body),
      };
    });
}
