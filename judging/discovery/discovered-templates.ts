/**
 * Decides which templates the file of `--discover` needs. A template describes a reply that the
 * simulator cannot give by itself, whatever answers its assumptions have; a reply that it can give
 * is its *own*. Each function compares samples of one kind of reply, seen at the target, with the
 * own one and returns the difference.
 */
import { isDeepStrictEqual } from 'node:util';
import { malformedDetails, refusals } from '#contract/refusals.ts';
import { isObject, type Json, type ReplyTemplate } from '#contract/request-and-reply.ts';
import { codeOf } from '../service/expectations.ts';
import {
  abstracted,
  coversFields,
  type Inferred,
  inferBody,
  type Sample,
} from './infer-template.ts';

/** The answers of `errorBody`. */
export type Shape = 'code_detail' | 'field_map' | 'nested';

const detail = '{detail}';
const errors = { '{field}': [detail] };

/** The body of a 400 under each answer of `errorBody`, by the answer of `validationScope`. */
const ownInvalid: Readonly<Record<Shape, Readonly<Record<'first' | 'all', Json>>>> = {
  code_detail: {
    first: { code: '{field}', detail },
    all: { code: '{field}', detail, errors },
  },
  field_map: { first: errors, all: errors },
  nested: {
    first: { error: { code: '{field}', message: detail } },
    all: { error: { code: '{field}', message: detail, errors } },
  },
};

/** The named shape of a 400, ignoring its texts; undefined for any other shape. */
export function shapeOf(template: Json | undefined): Shape | undefined {
  const shape = withoutTexts(template ?? null);
  return (Object.keys(ownInvalid) as Shape[]).find((name) =>
    Object.values(ownInvalid[name]).some((body) => isDeepStrictEqual(body, shape)),
  );
}

/** Replaces texts for people with `{detail}`, so that only the shape counts. */
function withoutTexts(template: Json): Json {
  if (typeof template === 'string') return template.includes(' ') ? detail : template;
  if (Array.isArray(template)) return template.map(withoutTexts);
  if (!isObject(template)) return template;
  return Object.fromEntries(
    Object.entries(template).map(([name, value]) => [name, withoutTexts(value as Json)]),
  );
}

/** A reply that the simulator gives by itself. */
interface OwnReply {
  /** Undefined if the document states the status: the samples then have it too. */
  readonly status?: number;
  /** Its possible bodies, as templates. */
  readonly bodies: readonly Json[];
  readonly headers?: OwnHeaders;
}

/** The template of what differs from the simulator's own reply; undefined if nothing differs. */
export function templateOf(samples: readonly Sample[], own: OwnReply): Inferred | undefined {
  const [first] = samples;
  if (first === undefined) return undefined;
  const { template, undetermined } = inferBody(samples);
  const headers = headersOf(samples, own.headers);
  const { status } = first.reply;
  const isOwnBody = own.bodies.some((body) => isDeepStrictEqual(template.body, body));
  const isOwnStatus = own.status === undefined || own.status === status;
  if (isOwnBody && isOwnStatus && headers === undefined) return undefined;
  const differing = {
    ...(!isOwnStatus && { status }),
    ...(headers !== undefined && { headers }),
    ...(!isOwnBody && template),
  };
  return { template: differing, undetermined };
}

/** The template of a 400. `both`: the reply to a body with two mistakes, in `to` and `send_at`. */
export function templateOfInvalid(samples: readonly Sample[], both: Sample): Inferred | undefined {
  const { body } = inferBody(samples).template;
  const named = ['to', 'send_at'].filter((field) => both.reply.text.includes(`"${field}"`));
  const shape = shapeOf(body);
  const isCovered = body !== undefined && coversFields(body, both.reply.json as Json, named);
  const isOwn = shape !== undefined && isCovered;
  const bodies = isOwn ? [ownInvalid[shape][named.length === 2 ? 'all' : 'first']] : [];
  const found = templateOf(samples, { bodies });
  if (found === undefined || (found.template.body ?? found.template.text) === undefined)
    return found;
  if (body === undefined || !JSON.stringify(body).includes('{field}'))
    return { template: {}, undetermined: ['its 400 does not name the failing field as such'] };
  const undetermined = isCovered ? [] : ['two mistakes are worded differently from one'];
  return { ...found, undetermined: [...found.undetermined, ...undetermined] };
}

/** The template of a refusal, if `shape` is the answer of `errorBody`. */
export function templateOfRefusal(
  kind: Refusal,
  samples: readonly Sample[],
  shape: Shape | undefined,
  headers: OwnHeaders = {},
): Inferred | undefined {
  const { status, isDocumented } = ownRefusal(kind);
  const hasCode = samples[0] !== undefined && codeOf(samples[0].reply) !== undefined;
  const bodies = [ownBodyOf(kind, shape, hasCode)];
  return templateOf(samples, { bodies, headers, ...(!isDocumented && { status }) });
}

/** The kinds of refusals whose replies differ only in their shape. */
export type Refusal =
  | Exclude<keyof typeof refusals, 'invalid_field' | 'throttled' | 'overloaded'>
  | keyof typeof malformedDetails;

/** The refusal that the simulator gives by itself. */
export function ownRefusal(kind: Refusal) {
  if (kind !== 'malformed_json' && kind !== 'not_an_object' && kind !== 'empty_body')
    return refusals[kind];
  return { ...refusals.malformed_json, detail: malformedDetails[kind] };
}

function ownBodyOf(kind: Refusal, shape: Shape | undefined, hasCode: boolean): Json {
  const { status, code, detail: message } = ownRefusal(kind);
  if ((status === 404 || status === 400) && !hasCode) return { detail: message };
  return shape === 'nested' ? { error: { code, message } } : { code, detail: message };
}

/** The template of refusals that were not seen, if all that were seen share a shape. */
export function templateOfOthers(
  seen: readonly (readonly [Refusal, ReplyTemplate])[],
  shape: Shape | undefined,
): ReplyTemplate | undefined {
  const bodies = seen.flatMap(([kind, { body }]) => {
    const { status, code, isDocumented } = ownRefusal(kind);
    if (body === undefined || !isDocumented || kind === 'not_found') return [];
    const general = abstracted(body, { code, status });
    return [JSON.stringify(withoutTexts(general))];
  });
  const [first] = bodies;
  const isShared = bodies.length > 1 && new Set(bodies).size === 1 && first !== undefined;
  if (!isShared || !first.includes('{code}')) return undefined;
  const body = JSON.parse(first) as Json;
  const own = { code: '{code}', detail };
  const nested = { error: { code: '{code}', message: detail } };
  const isOwn = isDeepStrictEqual(body, shape === 'nested' ? nested : own);
  return isOwn ? undefined : { body };
}

/**
 * The template of a reply with one list: the place of the list, and the shape of an entry (`item`).
 * `own`: the members that the simulator sets to null by itself.
 */
export function templateOfList(
  { reply, values }: Sample,
  own: readonly string[],
  item: Inferred | undefined,
): Inferred {
  const json = reply.json as Json;
  if (Array.isArray(json)) return withItem({ body: '{items}' }, item);
  if (!isObject(json)) return undeterminedBy('not a JSON list');
  const lists = Object.entries(json).filter(([, value]) => Array.isArray(value));
  const [list] = lists;
  if (list === undefined || lists.length > 1) return undeterminedBy(`${lists.length} lists in it`);
  const [listName, entries] = list as [string, readonly Json[]];
  const body: Record<string, Json> = {};
  for (const [name, value] of Object.entries(json) as [string, Json][]) {
    if (name === listName) body[name] = '{items}';
    else if (value === entries.length && /count|total/i.test(name)) body[name] = '{count}';
    else if (value === null && own.includes(name)) body[name] = `{${name}}`;
    else body[name] = abstracted(value, values);
  }
  return withItem({ body }, item);
}

/** What is inferred of a reply that no template can express. */
export function undeterminedBy(reason: string): Inferred {
  return { template: {}, undetermined: [reason] };
}

function withItem(template: ReplyTemplate, item: Inferred | undefined): Inferred {
  if (item === undefined) return { template, undetermined: [] };
  const { body } = item.template;
  return {
    template: { ...template, ...(body !== undefined && { item: body }) },
    undetermined: item.undetermined,
  };
}

/** Headers that the simulator sets by itself. */
export type OwnHeaders = Readonly<Record<string, string>>;

const jsonType = 'application/json';
/** The headers that a template can have. */
const shownHeaders = ['content-type', 'www-authenticate', 'allow', 'location'];

/** Headers that differ from the simulator's own; null for one that the target does not send. */
export function headersOf(
  samples: readonly Sample[],
  own: OwnHeaders = {},
): ReplyTemplate['headers'] | undefined {
  const ours: OwnHeaders = { 'content-type': jsonType, ...own };
  const headers: Record<string, string | null> = {};
  for (const name of shownHeaders) {
    const value = sharedHeader(name, samples);
    if (value === undefined || value === ours[name]) continue;
    if (value !== null) headers[name] = value;
    else if (ours[name] !== undefined && name !== 'content-type') headers[name] = null;
  }
  return Object.keys(headers).length === 0 ? undefined : headers;
}

/** Known values that a header may contain. */
const placeholders = ['allow', 'allowed_method', 'location'];

/**
 * The value that all replies share, with a placeholder if that makes them equal; null if the header
 * is absent in all; undefined if they differ.
 */
function sharedHeader(name: string, samples: readonly Sample[]): string | null | undefined {
  for (const placeholder of placeholders) {
    const templates = samples.map(({ reply, values }) => {
      const known = values[placeholder];
      const value = reply.headers[name];
      return typeof known === 'string' ? value?.replace(known, `{${placeholder}}`) : undefined;
    });
    const [first] = templates;
    const isUsed = first?.includes(`{${placeholder}}`);
    if (isUsed && templates.every((each) => each === first)) return first;
  }
  const [first, ...others] = samples.map(({ reply }) => reply.headers[name] ?? null);
  return others.every((other) => other === first) ? first : undefined;
}
