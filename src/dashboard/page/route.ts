/**
 * What the address says: the world of the server, by its path `/w/<world_id>/` (`/`: the first
 * world); the page and its filters, by its hash: `#/messages/<id>?status=queued`.
 */
import { computed, type Signal, signal, useSignal, useSignalEffect } from '@preact/signals';
import type { Typed } from './field.ts';

/** The prefix of the control API's paths; empty for the first world. */
export const worldPrefix = /^\/w\/[^/]+/.exec(location.pathname)?.[0] ?? '';

/** The id of the shown world. */
export const shownWorld = worldPrefix.slice(3) || 'default';

export function prefixOf(worldId: string): string {
  return worldId === 'default' ? '' : `/w/${worldId}`;
}

const hash = signal(location.hash);

export const pageName = computed(() => parts()[0] || 'home');
/** The part after the page's name; may be empty. */
export const pageArgument = computed(() => decoded(parts()[1] ?? ''));
/** The filters of the page. */
const pageFilters = computed(() => new URLSearchParams(hash.value.split('?')[1] ?? ''));

/** One filter of the page; empty: not set. */
export function filterValue(name: string): string {
  return pageFilters.value.get(name) ?? '';
}

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

/** Changes the part after the page's name. Back leaves the page at once. */
export function setArgument(argument: string): void {
  replaceWith(addressOf(pageName.value, argument));
}

function replaceWith(address: string): void {
  history.replaceState(null, '', address);
  hash.value = location.hash;
}

/** Changes one filter of the shown page; an empty value removes it. Back leaves the page at once. */
export function setFilter(name: string, value: string): void {
  const filters = new URLSearchParams(pageFilters.value);
  if (value === '') filters.delete(name);
  else filters.set(name, value);
  replaceWith(addressOf(pageName.value, pageArgument.value, filters));
}

/** What is typed in the form of a page, kept in the address. */
export function useDraft(start: Typed): Signal<Typed> {
  const typed = useSignal<Typed>({ ...start, ...Object.fromEntries(pageFilters.peek()) });
  const page = useSignal(pageName.peek()).value;
  useSignalEffect(() => {
    const changed = Object.entries(typed.value).filter(
      ([name, text]) => text !== (start[name] ?? ''),
    );
    if (pageName.peek() === page) replaceWith(addressOf(page, '', new URLSearchParams(changed)));
  });
  return typed;
}
