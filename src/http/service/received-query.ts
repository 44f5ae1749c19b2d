/**
 * Reads `page` and `page_size` from a query. Assumes: queryForms.
 */
import type { Assumptions } from '../../sim/assumptions.ts';
import { hasQueryForm, type ReceivedQuery } from '../../sim/received.ts';

export function receivedQueryOf(
  query: string,
  { queryForms }: Pick<Assumptions, 'queryForms'>,
): ReceivedQuery {
  // `URLSearchParams` decodes escapes; a second escape is decoded back to what was sent.
  const isEscaped = hasQueryForm(queryForms, 'escaped');
  const parameters = new URLSearchParams(
    isEscaped ? query : query.replaceAll('%', '%25').replaceAll('+', '%2B'),
  );
  const isLast = hasQueryForm(queryForms, 'last');
  const pick = (name: string) =>
    (isLast ? parameters.getAll(name).at(-1) : parameters.get(name)) ?? null;
  return { page: pick('page'), page_size: pick('page_size') };
}
