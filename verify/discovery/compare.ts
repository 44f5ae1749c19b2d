/**
 * Sends the same probes to two servers and names the probes whose replies differ: in status, in
 * headers that clients read, or in the body. Ids, times and texts for people are masked.
 */
import type { Probe, ProbeRequest, ProbeScene } from './probes.ts';

interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export interface Difference {
  readonly name: string;
  readonly expected: string;
  readonly actual: string;
}

/** A server to probe, and a function that lets its time pass. */
export interface Side {
  readonly baseUrl: string;
  readonly scene: ProbeScene;
  /** Lets a minute pass, so that all limits are restored. */
  readonly passMinute: () => void;
}

/** Probes per minute; below every limit of the service. */
const probesAtATime = 40;

/** The probes to which the two servers reply differently. */
export async function differences(
  probes: readonly Probe[],
  expectedSide: Side,
  actualSide: Side,
): Promise<Difference[]> {
  const expectedReplies = await play(probes, expectedSide);
  const actualReplies = await play(probes, actualSide);
  return probes.flatMap(({ name }, index) => {
    const [expected = '', actual = ''] = [expectedReplies[index], actualReplies[index]];
    return expected === actual ? [] : [{ name, expected, actual }];
  });
}

/** The masked text of the last reply to each probe. */
async function play(probes: readonly Probe[], side: Side): Promise<string[]> {
  const replies: string[] = [];
  for (const [index, probe] of probes.entries()) {
    if (index % probesAtATime === 0) side.passMinute();
    let last = '';
    for (const request of probe.requests(side.scene))
      last = maskedText(await ask(side.baseUrl, request));
    replies.push(last);
  }
  return replies;
}

/** Sends a request and reads its reply. */
export async function ask(
  baseUrl: string,
  { method, path, headers, body }: ProbeRequest,
): Promise<Reply> {
  const sent = body === undefined ? {} : { body: Buffer.from(body) };
  const reply = await fetch(`${baseUrl}${path}`, { method, headers, redirect: 'manual', ...sent });
  const text = await reply.text();
  return { status: reply.status, headers: Object.fromEntries(reply.headers), body: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text === '' ? undefined : `not JSON: ${text}`;
  }
}

const comparedHeaders = ['content-type', 'allow', 'location', 'www-authenticate', 'retry-after'];

function maskedText({ status, headers, body }: Reply): string {
  const headerTexts = comparedHeaders.flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [`${name}: ${maskedHeader(name, value)}`];
  });
  return [status, ...headerTexts, JSON.stringify(masked(body))].join(' | ');
}

function maskedHeader(name: string, value: string): string {
  if (name === 'retry-after') return value.replaceAll(/\d+/g, 'N');
  return value.replaceAll(/ /g, '').replaceAll(uuid, '<id>').toLowerCase();
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/** The JSON value with placeholders for what may differ. `name`: of the member that holds it. */
function masked(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) {
    // Equal items count once, because the number of waiting tasks depends on when a device polled.
    return [...new Map(value.map(entryShape).map((item) => [JSON.stringify(item), item])).values()];
  }
  if (isObject(value)) return mapMembers(value, masked);
  // Counts differ between the servers.
  if (typeof value === 'number') return '<number>';
  if (typeof value !== 'string') return value;
  if (time.test(value)) return '<time>';
  // A message progresses while the probes are sent.
  if (name === 'status' && /^(queued|sending|sent|delivered)$/.test(value)) return '<status>';
  const isText = / /.test(value) || name === 'message';
  return isText ? '<text>' : value.replaceAll(uuid, '<id>');
}

/** The shape of an entry of a list, such as a task: its texts depend on earlier sends. */
function entryShape(entry: unknown): unknown {
  if (!isObject(entry)) return masked(entry);
  return mapMembers(entry, (value) => (typeof value === 'string' ? '<text>' : masked(value)));
}

/** The members in the order of their names, with other values. */
function mapMembers(members: object, change: (value: unknown, name: string) => unknown): object {
  const sorted = Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([name, value]) => [name, change(value, name)]));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
