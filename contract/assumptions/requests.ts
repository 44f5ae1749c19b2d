/** Assumptions about requests and their errors. */
import type { Declaration } from './declaration.ts';

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
