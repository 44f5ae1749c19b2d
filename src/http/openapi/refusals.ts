/**
 * The refusals that each operation of the OpenAPI document may return.
 * Assumes: trailingSlash, methodNotAllowed, headMethod, receivedQuery, contentType,
 * replayDifferentBody.
 */
import { z } from 'zod';
import type { Assumptions } from '../../sim/assumptions.ts';
import type { EndpointName } from '../../sim/limits.ts';
import { readReceivedQuery } from '../../sim/received.ts';
import { validateSend } from '../../sim/send-request.ts';
import { readJsonBody } from '../service/json-body.ts';
import { allowedMethods, type Route, routes } from '../service/routes.ts';
import { defaultBodyLimitBytes } from '../transport/transport.ts';
import { invalidField, malformedJson, notFound, refusalOf, throttled, tooLarge } from './errors.ts';
import { exampleSendByAlias } from './examples.ts';
import { type Json, jsonContent, schemaOf } from './json-schema.ts';
import { type Operation, operations } from './operations.ts';
import { header, type Refusal } from './refusal.ts';

/** The endpoint's refusals, and the replies to misspelt forms of its path. */
export function refusalsOf(
  endpoint: EndpointName,
  limitPerMinute: number | null,
  assumptions: Assumptions,
): Refusal[] {
  const route: Route = routes[endpoint];
  const refusals = [refusalOf({ kind: 'invalid_key' }, assumptions)] as Refusal[];
  if (route.method === 'POST') refusals.push(...sendRefusals(assumptions));
  if (endpoint === 'received' && assumptions.receivedQuery === 'reject') {
    const mistake = readReceivedQuery({ page: '0', page_size: null });
    if (mistake.kind === 'invalid_field') {
      refusals.push(invalidField('received', mistake, assumptions));
    }
  }
  const missing = notFoundTexts(operations[endpoint], assumptions);
  if (missing.length > 0) refusals.push(notFound(missing.join('\n\n'), assumptions, route.pattern));
  if (assumptions.methodNotAllowed === '405') {
    const allow = allowedMethods(route, assumptions.headMethod);
    refusals.push(refusalOf({ kind: 'method_not_allowed', allow }, assumptions));
  }
  if (limitPerMinute !== null) refusals.push(throttled(limitPerMinute, assumptions));
  return refusals;
}

function sendRefusals(assumptions: Assumptions): Refusal[] {
  const { replayDifferentBody, contentType } = assumptions;
  const mistake = validateSend({ ...exampleSendByAlias, to: '2025550123' }, assumptions, 0);
  const noJson = readJsonBody({ contentType: 'application/json', body: '{' }, assumptions);
  const refusals: Refusal[] = [
    refusalOf({ kind: 'quota_exceeded' }, assumptions),
    refusalOf({ kind: 'number_not_found' }, assumptions),
    refusalOf({ kind: 'number_access_denied' }, assumptions),
    refusalOf({ kind: 'device_inactive' }, assumptions),
    refusalOf({ kind: 'overloaded' }, assumptions),
    tooLarge(defaultBodyLimitBytes, assumptions),
  ];
  if (mistake.kind === 'invalid_field') refusals.push(invalidField('send', mistake, assumptions));
  if (noJson.kind === 'malformed_json') refusals.push(malformedJson(noJson, assumptions));
  if (replayDifferentBody === 'conflict') {
    refusals.push(refusalOf({ kind: 'request_id_conflict' }, assumptions));
  }
  if (contentType === 'reject_415') {
    refusals.push(refusalOf({ kind: 'unsupported_media_type' }, assumptions));
    refusals.push(refusalOf({ kind: 'unsupported_content_encoding' }, assumptions));
  }
  return refusals;
}

function notFoundTexts(operation: Operation, assumptions: Assumptions): string[] {
  const isOnlyPage = operation.operationId === operations.received.operationId;
  const isNeverMissing = isOnlyPage && assumptions.receivedQuery === 'ignore';
  const texts = operation.notFound === undefined || isNeverMissing ? [] : [operation.notFound];
  if (assumptions.trailingSlash === 'not_found') {
    texts.push('This path without its last slash (`trailingSlash`).');
  }
  if (assumptions.methodNotAllowed === '404') {
    texts.push('Another method on this path (`methodNotAllowed`).');
  }
  return texts;
}

export function redirectResponse({ pattern }: Route): Json {
  return {
    301: {
      description: 'This path without its last slash (`trailingSlash`).',
      headers: { Location: header(`\`${pattern}\`, with the query.`, z.string()) },
      ...jsonContent(schemaOf(z.strictObject({}), 'output')),
    },
  };
}
