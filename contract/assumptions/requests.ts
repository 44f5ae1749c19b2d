/**
 * Assumptions about requests and their errors; about API keys, the endpoints that are not sends, and
 * who the caller is.
 */
import type { Declaration } from '../rules.ts';

export const requests = {
  errorBody: {
    open: 'body of errors other than 429',
    note: 'It also shapes the errors that the transport answers itself (400, 413, 431, 503 `busy`, 500). How many fields a 400 names is `validationScope`.',
    answers: {
      code_detail: '`{"code", "detail"}`.',
      field_map: '400 as `{"<field>": ["…"]}`; the others `code_detail`.',
      nested: '`{"error": {"code", "message"}}`.',
    },
    why: 'the document gives errors a code, and calls the text of its one shown body `detail`.',
    rules: ['SEND-5'],
  },
  notFoundBody: {
    open: 'body of the 404',
    answers: {
      detail_only: '`{"detail": "Not found."}`.',
      code_detail: 'the form of `errorBody`, with the code `not_found`.',
    },
    why: 'the document lists no code for it.',
    rules: ['READ-2'],
    endpoints: ['read'],
  },
  malformedJson: {
    open: 'body that is not a JSON object',
    answers: {
      detail_400: '400 with `{"detail"}`.',
      code_400: '400 in the form of `errorBody`, with a code.',
    },
    why: 'no field fails, so there is no field to name.',
    rules: ['SVC-4'],
  },
  emptyBody: {
    open: 'a send without a body',
    answers: {
      malformed: 'as a body that is not JSON.',
      no_fields: 'read as an object without fields, so the required ones fail.',
    },
    why: 'an empty body is not a JSON object.',
    rules: ['SVC-4', 'SEND-2'],
  },
  contentType: {
    open: 'body not declared as JSON',
    note: 'Another `Content-Type`, or a `Content-Encoding` other than `identity`, such as `gzip`.',
    answers: {
      reject_415: '415, which names the header that is wrong.',
      ignore:
        'both headers are ignored, and the bytes are read as JSON unchanged. A compressed body is then 400 (`malformedJson`).',
    },
    why: 'all bodies are JSON (SVC-4); another declaration is a mistake that the caller should see.',
    rules: ['SVC-4'],
  },
  trailingSlash: {
    open: 'path without the last slash',
    answers: {
      not_found: '404.',
      redirect: '301 to the path with the slash.',
      served: 'as the path with the slash.',
    },
    why: 'every path of the document ends in a slash, and clients drop the body of a POST when they follow a 301.',
    rules: ['VER-1'],
  },
  pathCase: {
    open: 'capitals in a path',
    note: '`pathIdForm` decides about ids.',
    answers: { exact: '404.', any: 'as the path in small letters.' },
    why: 'paths are case-sensitive by the standard.',
    rules: ['VER-1'],
  },
  bearerSpace: {
    open: 'what may stand between `Bearer` and the key',
    answers: {
      any: 'any number of spaces and tabs.',
      one: 'one space; a header with anything else is 401.',
    },
    why: 'it accepts what the HTTP standard lets senders write.',
    rules: ['AUTH-1'],
  },
  bearerCase: {
    open: 'how `Bearer` may be written',
    answers: {
      any: 'in any letter case.',
      exact: 'as the document writes it; a header with `bearer` is 401.',
    },
    why: 'the HTTP standard makes the names of schemes case-insensitive.',
    rules: ['AUTH-1'],
  },
  methodNotAllowed: {
    open: 'another method on a known path',
    answers: { '405': '405 with the header `Allow`.', '404': '404.' },
    default: '405',
    why: 'HTTP defines it for this case.',
    rules: ['VER-1'],
  },
  headMethod: {
    open: 'HEAD where GET is known',
    answers: {
      as_get: 'the headers of GET; not for tasks, whose work would be lost.',
      refused: 'like any other method that the path does not have.',
    },
    why: 'HTTP requires it of every server.',
    rules: ['READ-1'],
  },
  keyCheck: {
    open: 'what is looked at before the key',
    answers: {
      after_method: 'an unknown path and a wrong method are answered without a key.',
      before_method:
        'an unknown path is answered without a key; a wrong method without a key is 401.',
      first: 'the key comes first; every request without a valid key is 401.',
    },
    why: 'a limit belongs to an endpoint, so the endpoint must be known before a request is counted.',
    rules: ['AUTH-3'],
  },
} as const satisfies Readonly<Record<string, Declaration>>;

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
