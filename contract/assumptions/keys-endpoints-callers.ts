/** Assumptions about API keys, the endpoints that are not sends, and who the caller is. */
import type { Declaration } from './declaration.ts';

export const keysEndpointsCallers = {
  keyFormat: {
    open: "key's look",
    note: 'A prefix, then 40 letters and digits; the answer is the prefix.',
    answers: {},
    why: 'a prefix shows people and secret scanners what a key is for.',
    rules: ['AUTH-2'],
  },
  receivedShape: {
    open: 'the list of inbound messages',
    answers: {
      page: '`{"count","next","previous","results":[…]}`, newest first, with `?page` and `?page_size` (50, at most 200); an entry is `{"message_id","device_id","from_number","to","message","received_at"}`.',
      array: 'the entries alone.',
    },
    why: 'a growing list needs pages.',
    rules: ['LIMIT-4'],
    endpoints: ['received'],
  },
  receivedQuery: {
    open: '`page` or `page_size` of another value',
    answers: {
      reject: '400 that names the parameter; a page beyond the last is 404.',
      not_found: '404 for any page that does not exist; an invalid size means the default.',
      ignore: 'neither parameter is read; the reply is the first page.',
    },
    why: 'a parameter that has no effect hides a mistake.',
    rules: ['LIMIT-4'],
  },
  tasksShape: {
    open: 'what a polling device gets',
    answers: {
      tasks: '`{"tasks":[{"message_id","to","from_number","message"}]}`.',
      array: 'the entries alone.',
    },
    why: 'an object leaves room for later additions.',
    rules: ['STATE-2'],
    endpoints: ['tasks'],
  },
  taskPickup: {
    open: 'when a message that a device was handed becomes `sending`',
    answers: {
      handed_out: 'as it is handed out.',
      reported:
        'when the device says so: after a delay of its own, drawn from 1 to 20 s. A message is handed out once in both cases.',
    },
    why: '"device picks up the work" (STATE-2), and a poll is how it does so.',
    rules: ['STATE-2', 'SVC-3'],
    endpoints: ['tasks'],
  },
  unauthenticatedThrottle: {
    open: "when an unauthenticated call meets its IP's limit",
    answers: {
      then_429: '401 until then, 429 after.',
      always_401: 'always 401, and nothing is counted.',
    },
    why: 'the document keys unauthenticated calls by client IP (AUTH-6), which would have no effect otherwise.',
    rules: ['AUTH-6'],
  },
  clientIp: {
    open: 'whose address',
    answers: {
      peer: 'the address of the connection.',
      x_forwarded_for:
        'the last address in the header `X-Forwarded-For`, which the nearest proxy wrote, in any spelling and without its port; that of the connection if the last entry is not an address; for a service behind a proxy that sets it; `--trust-proxy` is short for this answer.',
    },
    why: 'anyone can write a header, so it proves no identity.',
    rules: ['AUTH-6'],
  },
  replyTemplates: {
    open: 'the wording of replies whose shape is none of the above',
    note: 'An object with a template for each reply that differs: [reply templates](reply-templates.md).',
    answers: {},
    why: 'the answers above define the replies; a template is for a service with other wordings.',
    rules: ['SEND-5', 'ERR-4', 'RES-1'],
  },
} as const satisfies Readonly<Record<string, Declaration>>;
