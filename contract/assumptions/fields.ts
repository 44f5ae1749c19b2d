/** Assumptions about the fields of a send. */
import { sendEndpoints } from '../limits.ts';
import type { Declaration } from '../rules.ts';

export const fields = {
  unknownFields: {
    open: 'fields the document does not name',
    answers: { ignore: 'they are ignored.', reject: '400 that names the field.' },
    why: 'interfaces usually grow by new fields, which older servers ignore.',
    rules: ['SEND-5'],
    endpoints: sendEndpoints,
  },
  nullFields: {
    open: '`null` for an optional field',
    answers: { reject: '400.', absent: 'as if the field were not there.' },
    why: 'the document gives the types of its fields, and null is not among them.',
    rules: ['SEND-2'],
    endpoints: sendEndpoints,
  },
  typeCoercion: {
    open: 'a number or boolean where the table says string',
    answers: {
      reject: '400 that names the field.',
      coerce:
        'it is taken as its text, as JavaScript writes the number: `42` is `"42"`, `1.0` is `"1"`, `1e21` is `"1e+21"`, `true` is `"true"`. The text must then be valid like any other, so a number is never a valid `to`, `from` or `send_at`; as `request_id`, `42` and `"42"` are the same. Objects and lists stay invalid.',
      numbers: 'the same for numbers; a boolean is 400.',
    },
    why: 'the document gives the types of its fields.',
    rules: ['SEND-2'],
    endpoints: sendEndpoints,
  },
  validationScope: {
    open: 'which failing fields a 400 names',
    note: 'For a send body, and for the query of received messages.',
    answers: {
      first: "the first of them, in the order of the document's table.",
      all: 'every one. In addition to the first one as code, `code_detail` and `nested` get a member `errors`, which has the shape of a `field_map`, even if only one field fails; the text for people joins all reasons.',
    },
    why: '"the body identifies the failing field" (SEND-5) is singular.',
    rules: ['SEND-5'],
    endpoints: [...sendEndpoints, 'received'],
  },
  sendAtFormats: {
    open: 'which ISO 8601 forms are read',
    note: 'Any other form is 400. Both answers refuse a leap second, because none is announced. A fraction below the millisecond is rounded up.',
    answers: {
      rfc3339:
        '`2026-01-31T09:30:00Z`, with any number of decimals behind a point. The seconds may be left out, and `T` and `Z` may be lower case.',
      iso8601:
        'also the basic format (`20260131T093000Z`), week dates (`2026-W05-6T09:30:00Z`), ordinal dates (`2026-031T09:30:00Z`), only hours (`T09Z`), decimals of the last given unit, after a point or a comma (`T09:30,5Z`), `24:00`, and offsets as `+00` or `+0000`. Date and time are both basic or both extended.',
    },
    why: 'it is the profile of ISO 8601 that the service itself writes (RES-4) and that clients write.',
    rules: ['SEND-7'],
  },
  emptySendAt: {
    open: '`send_at: ""`',
    answers: { reject: '400.', absent: 'as if it were not there.' },
    why: 'an empty text is not a time.',
    rules: ['SEND-7'],
  },
  pathIdForm: {
    open: 'upper-case or hyphenless UUIDs in a path',
    answers: {
      canonical: 'lower case with hyphens alone; any other spelling is an unknown id, 404.',
      any: 'upper case, mixed case and all hyphens left out are read too. A UUID with some of its hyphens is still unknown.',
      any_case: 'upper and mixed case are read, with all hyphens.',
    },
    why: 'an identifier is opaque to its callers; a form that they were not given is unknown.',
    rules: ['READ-1'],
    endpoints: ['tasks', 'read'],
  },
  emptyRequestId: {
    open: '`request_id: ""`',
    answers: { none_supplied: 'as if there were none.', reject: '400.' },
    why: 'a Message body shows an absent request_id as the empty string (RES-3).',
    rules: ['RES-3'],
  },
  requestIdMaxLength: {
    open: 'longest `request_id`',
    note: 'A longer one is 400.',
    answers: {},
    range: { min: 1, max: 65_536 },
    default: 255,
    why: 'long enough for any UUID or hash, and a common column width.',
    rules: ['SEND-4'],
  },
  characterUnit: {
    open: 'what one of the 1,600 characters is',
    answers: {
      code_points: 'a Unicode code point; an emoji of one code point counts once.',
      utf16_units: "as JavaScript's `length`; most emoji count twice.",
      graphemes: 'a character as a reader sees it, even if it is composed of several.',
    },
    why: 'it depends neither on a programming language nor on a version of Unicode.',
    rules: ['SEND-6'],
  },
  blankMessage: {
    open: '`""` or white space only',
    answers: {
      reject: "400. White space is what JavaScript's `trim` removes.",
      reject_empty: '`""` is 400; white space is sent.',
      accept: 'it is sent.',
    },
    why: '`message` is required (SEND-2), and a blank one has no content.',
    rules: ['SEND-2'],
  },
  numberCheck: {
    open: 'how strictly E.164 is checked',
    answers: {
      possible: 'shape, a known country code, a length that its country has.',
      shape: '`+`, then 2 to 15 digits, the first not 0.',
      valid: 'a number within the ranges that its country uses.',
    },
    why: 'it catches typing mistakes, while numbers kept for fiction, as in examples and tests, still pass.',
    rules: ['SEND-2'],
  },
  sendAtZone: {
    open: 'offsets other than UTC',
    note: '`-00:00` counts as an offset other than `+00:00`, because ISO 8601 does not define it.',
    answers: {
      utc_only: 'only `Z` or `+00:00`; anything else is 400.',
      any_offset: 'any offset, converted.',
      naive_is_utc: 'as `utc_only`, and a time without a zone is UTC.',
      any: 'any offset, and a time without one is UTC.',
    },
    why: 'the document says "ISO 8601 (UTC)" (SEND-7).',
    rules: ['SEND-7'],
  },
  sendAtMaxAheadDays: {
    open: 'how far ahead',
    note: 'In days; beyond that is 400.',
    answers: { unlimited: 'no time is too far ahead.' },
    range: { min: 1, max: 36_500 },
    why: 'the document requires a future time and states no limit. Simulated time ends with the year 8999: a message with a later `send_at` is accepted and stays queued for ever, and the operation `until_idle` does not wait for it.',
    rules: ['SEND-7'],
  },
} as const satisfies Readonly<Record<string, Declaration>>;
