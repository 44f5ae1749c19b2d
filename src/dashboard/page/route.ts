/**
 * The shown page and its filters, from the hash of the address: `#/messages/<id>?status=queued`.
 */
import { computed, signal } from '@preact/signals';

const hash = signal(location.hash);

export const pageName = computed(() => parts()[0] || 'home');
/** The part after the page's name; may be empty. */
export const pageArgument = computed(() => decoded(parts()[1] ?? ''));
/** The filters of the page. */
export const pageFilters = computed(() => new URLSearchParams(hash.value.split('?')[1] ?? ''));

/** Returns text that is not percent-encoded unchanged. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function parts(): string[] {
  return (hash.value.split('?')[0] ?? '').replace(/^#\/?/, '').split('/');
}

export function followAddress(): void {
  addEventListener('hashchange', () => {
    hash.value = location.hash;
  });
}

type Filters = Readonly<Record<string, string>> | URLSearchParams;

/** The address of a page; of the shown page, its filters are kept unless others are given. */
export function addressOf(page: string, argument = '', filters?: Filters): string {
  const kept = page === pageName.value ? pageFilters.value : {};
  const query = new URLSearchParams(filters ?? kept).toString();
  const path = argument === '' ? `#/${page}` : `#/${page}/${encodeURIComponent(argument)}`;
  return query === '' ? path : `${path}?${query}`;
}

/** Changes one filter of the shown page; an empty value removes it. Back leaves the page at once. */
export function setFilter(name: string, value: string): void {
  const filters = new URLSearchParams(pageFilters.value);
  if (value === '') filters.delete(name);
  else filters.set(name, value);
  history.replaceState(null, '', addressOf(pageName.value, pageArgument.value, filters));
  hash.value = location.hash;
}
