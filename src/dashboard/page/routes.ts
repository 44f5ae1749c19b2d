/**
 * The verb and path of each operation on the control port.
 */
import type { OperationName } from './wire.ts';

/** Verb and path by operation name; the bundler inserts them from the table of operations. */
declare const operationRoutes: Readonly<Record<OperationName, string>>;

/** The verb and path of an operation, with its id filled in. */
export function routeOf(
  name: OperationName,
  id = '',
): { readonly verb: string; readonly path: string } {
  const [verb = '', path = ''] = operationRoutes[name].split(' ');
  return { verb, path: path.replace(/\{\w+\}/, encodeURIComponent(id)) };
}
