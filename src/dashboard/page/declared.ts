/**
 * The operations of the control port as they are declared; the bundler inserts them.
 */
import type { DeclaredOperation } from './field.ts';
import type { OperationName } from './wire.ts';

declare const declaredOperations: Readonly<Record<OperationName, DeclaredOperation>>;

export const declared = declaredOperations;

/** The verb and path of an operation, with its id filled in. */
export function routeOf(
  name: OperationName,
  id = '',
): { readonly verb: string; readonly path: string } {
  const [verb = '', path = ''] = declared[name].route.split(' ');
  return { verb, path: path.replace(/\{\w+\}/, encodeURIComponent(id)) };
}
