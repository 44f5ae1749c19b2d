/** One refusal of an endpoint in the OpenAPI document, and the headers of replies. */
import type { z } from 'zod';
import type { ApiReply } from '../service/messages.ts';
import { type Json, schemaOf } from './json-schema.ts';

/** A refusal of one endpoint. */
export interface Refusal {
  /** The name of its schema among the components. */
  readonly name: string;
  readonly status: number;
  readonly description: string;
  readonly schema: z.ZodType;
  readonly headers?: Readonly<Record<string, Json>>;
  /** The real reply, shown as the example. */
  readonly reply: ApiReply;
}

export function header(description: string, schema: z.ZodType): Json {
  return { description, required: true, schema: schemaOf(schema, 'output') };
}
