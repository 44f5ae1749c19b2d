/**
 * The answers to assumptions that a single reply shows, in a run of the harness or in recorded
 * traffic. Each function returns undefined for a reply that no answer explains.
 */
import { isObject } from '#contract/request-and-reply.ts';
import type { ProbeReply } from '../evidence/reply.ts';
import { codeOf } from '../service/expectations.ts';
import { shapeOf } from './discovered-templates.ts';
import { inferBody } from './infer-template.ts';

/** Answers by the status of the reply. */
export const contentType = { 415: 'reject_415', 202: 'ignore' } as const;
export const trailingSlash = {
  200: 'served',
  202: 'served',
  301: 'redirect',
  302: 'redirect',
  307: 'redirect',
  308: 'redirect',
  404: 'not_found',
} as const;
export const methodNotAllowed = { 405: '405', 404: '404' } as const;
export const headMethod = {
  200: 'as_get',
  405: 'refused',
  404: 'refused',
  501: 'refused',
} as const;

/** `field`: the only failing field of the request. */
export function errorBodyOf(reply: ProbeReply, field: string): string | undefined {
  if (reply.status !== 400) return undefined;
  return shapeOf(inferBody([{ reply, values: { field } }]).template.body);
}

export function notFoundBodyOf({ status, json }: ProbeReply): string | undefined {
  if (status !== 404) return undefined;
  if (codeOf({ json }) !== undefined) return 'code_detail';
  return isObject(json) && typeof json['detail'] === 'string' ? 'detail_only' : undefined;
}

export function malformedJsonOf({ status, json }: ProbeReply): string | undefined {
  if (status !== 400) return undefined;
  return codeOf({ json }) === undefined ? 'detail_400' : 'code_400';
}

/** `array` for a list; `objectAnswer` for an object with exactly these members, sorted. */
export function listShapeOf(
  { status, json }: ProbeReply,
  names: string,
  objectAnswer: string,
): string | undefined {
  if (status !== 200) return undefined;
  if (Array.isArray(json)) return 'array';
  return Object.keys(Object(json)).toSorted().join() === names ? objectAnswer : undefined;
}
