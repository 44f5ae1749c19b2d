/** Checks that a reply is permitted for a request. */
import { servedOperations } from '#src/control/documents.ts';
import { createLookUp } from '#src/control/look-up.ts';
import { refusalStatuses } from '#src/control/openapi/control-document.ts';
import { type RawReply, WrongReply } from '../testkit/processes/http-reply.ts';

export interface Expectation {
  readonly port: 'service' | 'control';
  readonly transport: 'hyperexpress' | 'node';
  readonly method: string;
  /** False if the request violated HTTP. */
  readonly isWhole: boolean;
}

/** Statuses that the native parser may answer in HTML (docs/semantics.md, "Below the service: HTTP"). */
const nativeStatuses = [400, 431, 505];

/** The declared types of successful replies that are not JSON. */
const otherTypes = servedOperations.flatMap(({ contentType = [] }) => contentType);

const lookUp = createLookUp(servedOperations);

/** Throws if the document of the control port does not name this refusal of an operation. */
export function checkDocumented({ status }: RawReply, method: string, target: string): void {
  if (![404, 408, 409].includes(status)) return;
  const [path = ''] = target.split('?');
  const found = lookUp({ method, path });
  if (found.kind !== 'operation' || refusalStatuses(found.operation).includes(status)) return;
  throw new WrongReply(`${found.operation.name} does not document ${status}`);
}

/** Throws if this reply is not permitted. */
export function checkReply({ status, headers, body }: RawReply, expected: Expectation): void {
  const { port, transport, method, isWhole } = expected;
  const summary = `${status} ${JSON.stringify(body.slice(0, 300))}`;
  const type = headers['content-type'];
  const mayBeNative = transport === 'hyperexpress' && !isWhole && type === undefined;
  if (mayBeNative && nativeStatuses.includes(status)) return;
  // 503 means that the SIM is not active (ERR-2); the control port never uses it.
  const isInactive =
    status === 503 &&
    port === 'service' &&
    (method === 'HEAD' || body.includes('"device_inactive"'));
  if (status >= 500 && !isInactive) throw new WrongReply(summary);
  if (method === 'HEAD' || status === 204 || status === 304) return;
  if (type !== 'application/json' && port === 'control' && !isWhole) return;
  if (otherTypes.some((declared) => type?.startsWith(declared))) return;
  if (type !== 'application/json') throw new WrongReply(`content type ${type}: ${summary}`);
  try {
    JSON.parse(body);
  } catch {
    throw new WrongReply(`not JSON: ${summary}`);
  }
}
