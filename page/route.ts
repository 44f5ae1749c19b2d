/**
 * Reads and changes the page's address. Its path names the shown world: `/w/<world_id>/`, or `/`
 * for the world that the server started with. Its hash names the page, the page's argument (such as
 * the open message) and its filters: `#/messages/<id>?status=queued`.
 */
import { computed, type Signal, signal, useSignal, useSignalEffect } from '@preact/signals';
import type { Typed } from './field.ts';

/** The prefix of the shown world's paths on the control port; empty for the first world. */
export const worldPrefix = /^\/w\/[^/]+/.exec(location.pathname)?.[0] ?? '';

export const shownWorld = worldPrefix.slice('/w/'.length) || 'default';

/** The prefix of the paths of a world on the control port. */
export function prefixOf(worldId: string): string {
  return worldId === 'default' ? '' : `/w/${worldId}`;
}

const hash = signal(location.hash);

export const pageName = computed(() => hashParts()[0] || 'home');
/** The part after the page's name; may be empty. */
export const pageArgument = computed(() => decoded(hashParts()[1] ?? ''));
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

function hashParts(): string[] {
  return (hash.value.split('?')[0] ?? '').replace(/^#\/?/, '').split('/');
}

/** Keeps the signals of this module up to date. */
export function followAddress(): void {
  addEventListener('hashchange', () => {
    hash.value = location.hash;
  });
}

type Filters = Readonly<Record<string, string>> | URLSearchParams;

/** The hash of a page. For the shown page, the default is to keep its filters. */
export function addressOf(page: string, argument = '', filters?: Filters): string {
  const defaultFilters = page === pageName.value ? pageFilters.value : {};
  const query = new URLSearchParams(filters ?? defaultFilters).toString();
  const path = argument === '' ? `#/${page}` : `#/${page}/${encodeURIComponent(argument)}`;
  return query === '' ? path : `${path}?${query}`;
}

/** Changes the page's argument without a new entry in the browser's history. */
export function setArgument(argument: string): void {
  replaceAddress(addressOf(pageName.value, argument));
}

function replaceAddress(address: string): void {
  history.replaceState(null, '', address);
  hash.value = location.hash;
}

/** Changes one filter of the shown page, without a new history entry; '' removes the filter. */
export function setFilter(name: string, value: string): void {
  const filters = new URLSearchParams(pageFilters.value);
  if (value === '') filters.delete(name);
  else filters.set(name, value);
  replaceAddress(addressOf(pageName.value, pageArgument.value, filters));
}

/** The typed texts of a page's form, kept in the address as filters if they differ from `start`. */
export function useDraft(start: Typed): Signal<Typed> {
  const typed = useSignal<Typed>({ ...start, ...Object.fromEntries(pageFilters.peek()) });
  // The page of the form: the effect can run once more after the user has gone to another one.
  const page = useSignal(pageName.peek()).value;
  useSignalEffect(() => {
    const changed = Object.entries(typed.value).filter(
      ([name, text]) => text !== (start[name] ?? ''),
    );
    if (pageName.peek() === page) replaceAddress(addressOf(page, '', new URLSearchParams(changed)));
  });
  return typed;
}
