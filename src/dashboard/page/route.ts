/**
 * The shown page, from the hash of the address: `#/messages/<id>`.
 */
import { computed, signal } from '@preact/signals';

const hash = signal(location.hash);

export const pageName = computed(() => parts()[0] || 'messages');
/** The part after the page's name; may be empty. */
export const pageArgument = computed(() => decoded(parts()[1] ?? ''));

/** Returns text that is not percent-encoded unchanged. */
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
