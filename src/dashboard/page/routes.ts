/**
 * The verb and path of each operation on the control port.
 */
import type { OperationName } from './wire.ts';

/**
 * Verb and path by the name of the operation: the bundler puts them here from the table of
 * operations.
 */
declare const operationRoutes: Readonly<Record<OperationName, string>>;

/** Where an operation is, with the id in its path filled in. */
export function routeOf(
  name: OperationName,
  id = '',
): { readonly verb: string; readonly path: string } {
  const [verb = '', path = ''] = operationRoutes[name].split(' ');
  return { verb, path: path.replace(/\{\w+\}/, encodeURIComponent(id)) };
}
