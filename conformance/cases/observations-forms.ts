/**
 * Which spellings of a field a target accepts, and in which order it reports failing fields.
 * Observed, not judged. Each form is sent separately, so that an answer between the named ones is a
 * list.
 */
import type { Observation, Seen } from '../case.ts';
import { largestAccepted } from '../largest-accepted.ts';
import { paths, type Subject, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { byStatus, day, ready } from './observations-send.ts';

const needs = ['sender', 'discover'] as const;

/** The names of the forms that are accepted; a status other than 202 and 400 proves nothing. */
async function accepted(
  t: Trial,
  account: Subject,
  tried: readonly (readonly [name: string, fields: Readonly<Record<string, unknown>>])[],
): Promise<string[]> {
  const names: string[] = [];
  for (const [name, fields] of tried) {
    const reply = await t.send(account, fields);
    verify.given(() => verify.status(reply, 202, 400));
    if (reply.status === 202) names.push(name);
  }
  return names;
}

/** The named answer with exactly these parts, or the list of parts. */
function named(
  found: readonly string[],
  answers: Readonly<Record<string, readonly string[]>>,
): Seen {
  const same = Object.entries(answers).find(([, parts]) => parts.join() === found.join());
  return { answer: same === undefined ? found : same[0] };
}

const rfc3339 = ['lower_case', 'no_seconds', 'nine_decimals', 'long_decimals'];
const iso8601 = [
  ...['lower_case', 'no_seconds', 'no_minutes', 'basic', 'week_date', 'ordinal_date'],
  ...['decimal_comma', 'decimals_of_any_unit', 'nine_decimals', 'long_decimals', 'hour_24'],
  'short_offset',
];

/** A time less than a day ahead in each form, because a target may allow no more. */
function timesOf(nowMs: number): (readonly [string, { readonly send_at: string }])[] {
  const ahead = new Date(nowMs + day / 2).toISOString();
  const [date, time] = [ahead.slice(0, 10), ahead.slice(11, 19)];
  const hour = new Date(nowMs + day / 2 + hourMs).toISOString().slice(0, 13);
  const [today, tomorrow] = [nowMs, nowMs + day].map((ms) => new Date(ms).toISOString());
  const lastDay = today?.slice(0, 10);
  const spelt: readonly (readonly [string, string])[] = [
    ['lower_case', `${date}t${time}z`],
    ['space', `${date} ${time}Z`],
    ['no_seconds', `${date}T${time.slice(0, 5)}Z`],
    ['no_minutes', `${hour}Z`],
    ['date_only', tomorrow?.slice(0, 10) ?? ''],
    ['basic', `${date}T${time}Z`.replaceAll(/[-:]/g, '')],
    ['week_date', `${weekDate(ahead)}T${time}Z`],
    ['ordinal_date', `${ordinalDate(ahead)}T${time}Z`],
    ['decimal_comma', `${date}T${time},5Z`],
    ['decimals_of_any_unit', `${date}T${time.slice(0, 5)}.5Z`],
    ['nine_decimals', `${date}T${time}.1234567Z`],
    ['long_decimals', `${date}T${time}.1234567891Z`],
    ['hour_24', `${lastDay}T24:00:00Z`],
    ['leap_second', `${lastDay}T23:59:60Z`],
    ['short_offset', `${date}T${time}+0000`],
  ];
  return spelt.map(([name, send_at]) => [name, { send_at }]);
}

const hourMs = 3_600_000;

function dayOfYear(date: Date): number {
  return (
    (Date.parse(date.toISOString().slice(0, 10)) - Date.UTC(date.getUTCFullYear(), 0, 1)) / day
  );
}

function ordinalDate(iso: string): string {
  return `${iso.slice(0, 4)}-${String(dayOfYear(new Date(iso)) + 1).padStart(3, '0')}`;
}

/** A week belongs to the year of its Thursday. */
function weekDate(iso: string): string {
  const date = new Date(iso);
  const weekday = date.getUTCDay() || 7;
  const thursday = new Date(date.getTime() + (4 - weekday) * day);
  const week = Math.floor(dayOfYear(thursday) / 7) + 1;
  return `${thursday.getUTCFullYear()}-W${String(week).padStart(2, '0')}-${weekday}`;
}

const blank: readonly (readonly [string, string])[] = [
  ['empty', ''],
  ['space', '  '],
  ['control', '\t\r\n'],
  ['no_break', '\u00a0'],
  ['unicode', '\u2003\u3000'],
  ['byte_order_mark', '\ufeff'],
  ['next_line', '\u0085'],
  ['zero_width', '\u200b'],
  ['separator', '\u001f'],
];
const whiteSpace = blank.slice(0, 6).map(([name]) => name);

const pageOne = [
  ['leading_zeros', 'page=01'],
  ['escaped', 'page=%31'],
  ['last', 'page=0&page=1'],
] as const;

const fields = ['to', 'from', 'message', 'request_id', 'send_at'] as const;

export const formObservations: readonly Observation[] = [
  {
    assumption: 'nullFields',
    name: 'each-optional-field',
    needs,
    cost: { sends: 7 },
    sends: 'messages in which one optional field is null',
    run: async (t) => {
      const account = await ready(t);
      const { from } = account;
      const tried: (readonly [string, Readonly<Record<string, unknown>>])[] = [
        ['request_id', { request_id: null }],
        ['send_at', { send_at: null }],
      ];
      // If one of two senders is ignored, a null in it shows nothing.
      const isRead = async (sender: object) =>
        (await t.send(account, { ...sender })).status === 400;
      if (await isRead({ from: 'x', from_number: from }))
        tried.unshift(['from', { from: null, from_number: from }]);
      if (await isRead({ from, from_number: 'x' }))
        tried.splice(-2, 0, ['from_number', { from, from_number: null }]);
      const found = await accepted(t, account, tried);
      if (found.length === 0) return { answer: 'reject' };
      return { answer: found.length === tried.length ? 'absent' : found };
    },
  },
  {
    assumption: 'sendAtFormats',
    name: 'each-form',
    needs,
    cost: { sends: 17 },
    sends: 'a send_at in each of fifteen forms',
    run: async (t) => {
      const account = await ready(t);
      const nowMs = await t.now();
      const send_at = `${new Date(nowMs + day / 2).toISOString().slice(0, 19)}Z`;
      const usual = await t.send(account, { send_at });
      verify.given(() => verify.status(usual, 202));
      const found = await accepted(t, account, timesOf(nowMs));
      return named(found, { rfc3339, iso8601 });
    },
  },
  {
    assumption: 'blankMessage',
    name: 'each-kind',
    needs,
    cost: { sends: 10 },
    sends: 'messages of one kind of white space each',
    run: async (t) => {
      const account = await ready(t);
      const tried = blank.map(([name, message]) => [name, { message }] as const);
      const sent = await accepted(t, account, tried);
      const refused = blank.map(([name]) => name).filter((name) => !sent.includes(name));
      return named(refused, { reject: whiteSpace, accept: [] });
    },
  },
  {
    assumption: 'queryForms',
    name: 'spellings-of-page-1',
    needs: ['key'],
    cost: {},
    spends: { received: 4 },
    sends: 'reads of received messages with page 0, and with page 1 in three spellings',
    run: async (t) => {
      const { key } = await t.account();
      const status = async (query: string) =>
        (await t.get(`${paths.received}?${query}`, key)).status;
      if ((await status('page=0')) === 200) return { untold: 'the page has no effect' };
      const found: string[] = [];
      for (const [name, query] of pageOne) if ((await status(query)) === 200) found.push(name);
      return named(found, { lenient: ['leading_zeros', 'escaped'], strict: [] });
    },
  },
  {
    assumption: 'fieldOrder',
    name: 'one-after-the-other',
    needs,
    cost: { sends: 6 },
    sends: 'a message in which every field is invalid, then again without those that were named',
    run: async (t) => {
      const account = await ready(t);
      const wrong: Record<string, unknown> = {
        to: 'x',
        from: 'x',
        message: {},
        request_id: {},
        send_at: 'x',
        conformance_unknown: 'x',
      };
      const order: string[] = [];
      for (let round = 0; round < 6; round += 1) {
        const reply = await t.send(account, wrong);
        const left = verify.fieldsNamed(reply).filter((name) => name in wrong);
        if (reply.status !== 400 || left.length === 0) break;
        for (const name of new Set(left)) {
          order.push(name === 'conformance_unknown' ? 'unknown' : name);
          delete wrong[name];
        }
      }
      const missing = fields.filter((name) => !order.includes(name));
      if (missing.length > 0) return { untold: `not named as failing: ${missing.join(', ')}` };
      return { answer: order.includes('unknown') ? order : [...order, 'unknown'] };
    },
  },
  {
    assumption: 'senderFieldName',
    name: 'an-invalid-alias',
    needs: ['sender'],
    cost: { sends: 1 },
    sends: 'a message whose sender is an invalid from_number',
    run: async (t) => {
      const account = await t.account();
      const reply = await t.send(account, { from: undefined, from_number: 'x' });
      verify.given(() => verify.status(reply, 400));
      const named = verify.fieldsNamed(reply);
      if (named.includes('from_number')) return { answer: 'as_given' };
      return named.includes('from')
        ? { answer: 'from' }
        : { untold: 'neither name is in the reply' };
    },
  },
  {
    assumption: 'emptySendAt',
    name: 'empty-text',
    needs: ['sender'],
    cost: { sends: 1 },
    sends: 'a message whose send_at is empty',
    run: async (t) =>
      byStatus(await t.send(await ready(t), { send_at: '' }), { 202: 'absent', 400: 'reject' }),
  },
  {
    assumption: 'requestIdMaxLength',
    name: 'longest',
    needs,
    cost: { sends: 20 },
    sends: 'request_ids of many lengths',
    run: async (t) => {
      const longest = await longestRequestId(t, await ready(t));
      return typeof longest === 'string' ? { untold: longest } : { answer: longest };
    },
  },
  {
    assumption: 'requestIdUnit',
    name: 'emoji-and-accents',
    needs,
    cost: { sends: 22 },
    sends: 'request_ids at the longest length, of emoji and of letters with accents',
    run: async (t) => {
      const account = await ready(t);
      const longest = await longestRequestId(t, account);
      if (typeof longest === 'string') return { untold: longest };
      const unique = (t.requestId().match(/\w/g) ?? []).at(-1) ?? 'a';
      const half = Math.floor(longest / 2);
      const send = (character: string) =>
        t.send(account, { request_id: `${character.repeat(half)}${unique}` });
      if (longest < 2) return { untold: 'a limit of one character is too short to tell' };
      const emoji = await send('🙂');
      // Half of the length in emoji, plus one: too long in every unit except code points.
      const isLong = half * 2 + 1 > longest;
      if (emoji.status === 202 && isLong) return { answer: 'code_points' };
      const more =
        emoji.status === 202 ? await t.send(account, { request_id: '🙂'.repeat(half + 1) }) : emoji;
      if (more.status === 202) return { answer: 'code_points' };
      const accents = await t.send(account, { request_id: 'é'.repeat(half + 1) });
      return byStatus(accents, { 202: 'utf16_units', 400: 'bytes' });
    },
  },
  {
    assumption: 'numberMinDigits',
    name: 'shortest',
    needs,
    cost: { sends: 7 },
    sends: 'recipients of few digits',
    run: async (t) => {
      const account = await ready(t);
      const to = (digits: number) => `+299123456789012`.slice(0, digits + 1);
      const takes = async (digits: number) =>
        (await t.send(account, { to: to(digits) })).status === 202;
      // Numbers with an unassigned country code show whether the target checks numbering plans.
      const shaped = await t.send(account, { to: '+999123456789' });
      if (shaped.status !== 202)
        return { untold: 'short numbers are refused because they belong to no country' };
      const refused = await largestAccepted(1, 14, async (digits) => !(await takes(digits)));
      return { answer: refused + 1 };
    },
  },
  {
    assumption: 'sendAtMaxAheadDays',
    name: 'furthest',
    needs,
    cost: { sends: 20 },
    sends: 'send_at of many distances',
    run: async (t) => {
      const account = await ready(t);
      const accepts = async (days: number) => {
        const send_at = new Date((await t.now()) + days * day).toISOString();
        return (await t.send(account, { send_at })).status === 202;
      };
      const most = 40_000;
      if (await accepts(most)) return { answer: 'unlimited' };
      // Half a day ahead is refused as well, so no number of days can be determined.
      if (!(await accepts(0.5))) return { untold: 'half a day ahead is refused' };
      const usual = [1, 7, 14, 30, 31, 60, 90, 180, 365, 366, 730];
      return { answer: await largestAccepted(0, most - 1, (n) => accepts(n || 0.5), usual) };
    },
  },
];

const longest = new WeakMap<object, Promise<number | string>>();

/**
 * The longest accepted `request_id`, searched once if all cases share an account; or why it is
 * unknown.
 */
function longestRequestId(t: Trial, account: Subject): Promise<number | string> {
  const known = t.controlled ? undefined : longest.get(t.target);
  const found = known ?? findLongest(t, account);
  longest.set(t.target, found);
  return found;
}

async function findLongest(t: Trial, account: Subject): Promise<number | string> {
  const accepts = async (length: number) =>
    (await t.send(account, { request_id: t.requestId().slice(-length).padEnd(length, 'r') }))
      .status === 202;
  // Bodies have a maximum size too; longer ids cannot be observed.
  const most = 65_000;
  if (await accepts(most)) return `request_ids of ${most} characters are still accepted`;
  if (!(await accepts(1))) return 'a request_id of one character is refused';
  const usual = [32, 36, 40, 50, 64, 100, 128, 255, 256, 512, 1_024];
  return largestAccepted(1, most - 1, accepts, usual);
}
