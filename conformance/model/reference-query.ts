/**
 * The parameters of a query. Assumes: queryForms.
 */
import type { Assumptions } from './assumptions.ts';

export function parametersOf(
  query: string,
  queryForms: Assumptions['queryForms'],
): ReadonlyMap<string, string> {
  const isEscaped = queryForms === 'lenient' || queryForms.includes('escaped');
  const pairs = isEscaped
    ? [...new URLSearchParams(query)]
    : query.split('&').map((pair) => {
        const [name = '', ...value] = pair.split('=');
        return [name, value.join('=')] as const;
      });
  // A map keeps the last of two equal keys.
  return new Map(queryForms.includes('last') ? pairs : pairs.toReversed());
}
