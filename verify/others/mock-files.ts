/**
 * The input files of Prism and Mockoon: the same two routes and the same bodies.
 */
import type { Body } from './simulator-replies.ts';

interface Responses {
  readonly post: { readonly responses: Readonly<Record<string, unknown>> };
}

const sendPath = '/api/v1/sms/send/';

/** Prism answers with the lowest 2xx, so its document omits the replay (200). */
export function prismDocument(openApi: Body): Body {
  const paths = openApi['paths'] as Readonly<Record<string, Responses>>;
  const send = paths[sendPath];
  if (send === undefined) throw new Error(`the OpenAPI document lacks ${sendPath}`);
  const { 200: _replay, ...responses } = send.post.responses;
  return {
    ...openApi,
    paths: { ...paths, [sendPath]: { ...send, post: { ...send.post, responses } } },
  };
}

/** A data file of Mockoon 9. Templating is off, which is faster. */
export function mockoonData(queued: Body, read: Body): Body {
  const routes = [
    mockoonRoute(1, 'post', 'api/v1/sms/send/', 202, queued),
    mockoonRoute(2, 'get', 'api/v1/sms/:message_id/', 200, read),
  ];
  return {
    uuid: mockoonId(0),
    lastMigration: 33,
    name: 'sms',
    endpointPrefix: '',
    latency: 0,
    port: 3000,
    hostname: '127.0.0.1',
    folders: [],
    routes,
    rootChildren: routes.map(({ uuid }) => ({ type: 'route', uuid })),
    proxyMode: false,
    proxyHost: '',
    proxyRemovePrefix: false,
    tlsOptions: {
      enabled: false,
      type: 'CERT',
      pfxPath: '',
      certPath: '',
      keyPath: '',
      caPath: '',
      passphrase: '',
    },
    cors: true,
    headers: [],
    proxyReqHeaders: [],
    proxyResHeaders: [],
    data: [],
    callbacks: [],
  };
}

function mockoonRoute(
  n: number,
  method: string,
  endpoint: string,
  statusCode: number,
  body: Body,
): { readonly uuid: string } & Body {
  const response = {
    uuid: mockoonId(100 + n),
    body: JSON.stringify(body),
    latency: 0,
    statusCode,
    label: '',
    headers: [{ key: 'Content-Type', value: 'application/json' }],
    bodyType: 'INLINE',
    filePath: '',
    databucketID: '',
    sendFileAsBody: false,
    rules: [],
    rulesOperator: 'OR',
    disableTemplating: true,
    fallbackTo404: false,
    default: true,
    crudKey: 'id',
    callbacks: [],
  };
  return {
    uuid: mockoonId(n),
    type: 'http',
    documentation: '',
    method,
    endpoint,
    responses: [response],
    responseMode: null,
    streamingMode: null,
    streamingInterval: 0,
  };
}

function mockoonId(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
}
