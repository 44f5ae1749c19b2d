/**
 * A dialog that goes to a page by its name, or searches messages and requests for what is typed.
 */
import { useSignal } from '@preact/signals';
import { addressOf } from '../route.ts';
import { Dialog, Form } from './action.tsx';

/** A page that is reached by `g` and its key. */
export interface Destination {
  readonly name: string;
  readonly title: string;
  readonly key: string;
}

interface JumpProps {
  readonly pages: readonly Destination[];
  readonly onClose: () => void;
}

export function Jump({ pages, onClose }: JumpProps) {
  const typed = useSignal('');
  const search = typed.value.trim();
  const named = pages.filter(({ title }) => title.toLowerCase().includes(search.toLowerCase()));
  const searches = search === '' ? [] : ['messages', 'requests'];
  const found = [
    ...named.map(({ name, title, key }) => ({ href: `#/${name}`, title, keys: `g ${key}` })),
    ...searches.map((name) => {
      const title = `Search ${name} for ${search}`;
      return { href: addressOf(name, '', { search }), title, keys: '' };
    }),
  ];
  const goToFirst = () => {
    location.hash = found[0]?.href ?? '';
    onClose();
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <Form act={goToFirst}>
        <input
          type="search"
          aria-label="A page, or what to search for"
          autofocus
          value={typed.value}
          onInput={({ currentTarget }) => (typed.value = currentTarget.value)}
        />
      </Form>
      <ul class="ledger">
        {found.map(({ href, title, keys }) => (
          <li key={href}>
            <a href={href} onClick={onClose}>
              {title}
            </a>{' '}
            <kbd class="dim">{keys}</kbd>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
