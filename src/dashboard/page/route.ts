/**
 * The shown page, from the address after `#`: `#/messages/<id>`.
 */
import { computed, signal } from '@preact/signals';

const hash = signal(location.hash);

export const pageName = computed(() => parts()[0] || 'messages');
/** What follows the page's name; empty when nothing does. */
export const pageArgument = computed(() => decoded(parts()[1] ?? ''));

/** As it is, if it is not percent-encoded text. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function parts(): string[] {
  return hash.value.replace(/^#\/?/, '').split('/');
}

export function followAddress(): void {
  addEventListener('hashchange', () => {
    hash.value = location.hash;
  });
}

export function goTo(page: string, argument = ''): void {
  location.hash = argument === '' ? `#/${page}` : `#/${page}/${encodeURIComponent(argument)}`;
}
