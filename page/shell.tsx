/**
 * The frame around every page: the links to the pages, the dialog that jumps to one, and the keys.
 * `pages` is the table of all pages.
 */
import { signal, useSignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { connection } from './events.ts';
import type { ListDeclaration } from './list-declaration.ts';
import { faultList, outcomeList, receivedList } from './lists.ts';
import { AccountsPage } from './pages/accounts.tsx';
import { ClockPage } from './pages/clock.tsx';
import { HomePage } from './pages/home.tsx';
import { LimitsPage } from './pages/limits.tsx';
import { MessagesPage } from './pages/messages.tsx';
import { PastPage } from './pages/past.tsx';
import { RefereePage } from './pages/referee.tsx';
import { RequestsPage } from './pages/requests.tsx';
import { RulesPage } from './pages/rules.tsx';
import { SendPage } from './pages/send.tsx';
import { WorldsPage } from './pages/worlds.tsx';
import { Action, Dialog, Form } from './parts/action.tsx';
import { ConnectionNotice, Header, Undo } from './parts/header.tsx';
import { List } from './parts/list.tsx';
import { moveBetweenRows } from './parts/live-table.tsx';
import { type Fact, Facts } from './parts/values.tsx';
import { addressOf, pageName, shownWorld } from './route.ts';

interface Page {
  readonly name: string;
  readonly title: string;
  /** The key that goes there after `g`. */
  readonly key: string;
  readonly view: ComponentType;
}

/** Returns the view of a page that has only lists. */
const listsOf =
  (...lists: readonly ListDeclaration[]) =>
  () => (
    <div class="stack">
      {lists.map((list) => (
        <List key={list.title} declaration={list} />
      ))}
    </div>
  );

const pages: readonly Page[] = [
  { name: 'home', key: 'h', title: 'Home', view: HomePage },
  { name: 'messages', key: 'm', title: 'Messages', view: MessagesPage },
  { name: 'requests', key: 'r', title: 'Requests', view: RequestsPage },
  { name: 'referee', key: 'e', title: 'Referee', view: RefereePage },
  { name: 'send', key: 's', title: 'Send', view: SendPage },
  { name: 'received', key: 'i', title: 'Received', view: listsOf(receivedList) },
  { name: 'clock', key: 'c', title: 'Clock', view: ClockPage },
  { name: 'past', key: 't', title: 'Time machine', view: PastPage },
  { name: 'faults', key: 'f', title: 'Faults', view: listsOf(faultList, outcomeList) },
  { name: 'limits', key: 'l', title: 'Limits', view: LimitsPage },
  { name: 'accounts', key: 'a', title: 'Accounts', view: AccountsPage },
  { name: 'worlds', key: 'w', title: 'Worlds', view: WorldsPage },
  { name: 'rules', key: 'u', title: 'Rules and assumptions', view: RulesPage },
];

/** Shown for an address without a page. */
const NoPageView = () => <a href="#/home">Go to Home.</a>;
const noPage: Page = { name: 'none', key: '', title: 'No such page', view: NoPageView };

const shownDialog = signal<'keys' | 'jump' | undefined>(undefined);
const closeDialog = () => (shownDialog.value = undefined);

export function Shell() {
  useEffect(() => {
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const page = pages.find(({ name }) => name === pageName.value) ?? noPage;
  return (
    <div class={`shell connection-${connection.value}`}>
      <Action kind="skip" act={focusHeading}>
        Skip to the page
      </Action>
      <Header onKeys={() => (shownDialog.value = 'keys')} />
      {shownDialog.value === 'keys' && (
        <Dialog title="Keys" onClose={closeDialog}>
          <Facts facts={keyFacts} />
        </Dialog>
      )}
      {shownDialog.value === 'jump' && <Jump />}
      <nav class="pages" aria-label="Pages">
        {pages.map(({ name, title }) => (
          <a key={name} href={`#/${name}`} aria-current={name === page.name ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <main id="main" class={`page page-${page.name}`}>
        <ConnectionNotice />
        <Heading text={page.title} />
        <page.view />
      </main>
      <Undo />
    </div>
  );
}

const keyFacts: readonly Fact[] = [
  ['/', 'the search of this page'],
  ['Ctrl-K', 'goes to a page, or searches messages and requests'],
  ['g m', 'goes to Messages; Ctrl-K shows the letters of all pages'],
  ['j, k, arrows', 'the next and the previous row'],
  ['Enter', 'opens a row'],
  ['Escape', 'closes what is open'],
  ['?', 'these keys'],
];

/** A dialog that goes to a page by its name, or searches messages and requests for what is typed. */
function Jump() {
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
    closeDialog();
  };
  return (
    <Dialog title="Go to" onClose={closeDialog}>
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
            <a href={href} onClick={closeDialog}>
              {title}
            </a>{' '}
            <kbd class="dim">{keys}</kbd>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

/** The key that was pressed before, so that `g m` goes to the page Messages. */
let previousKey = '';

/** Handles the keys of `keyFacts`, except where the user types. */
function onKey(event: KeyboardEvent): void {
  const target = event.target as Element;
  if (event.key === 'Escape' && target.matches('input[type="search"]')) {
    // The browser empties the search first; moving the focus now would suppress its input event.
    setTimeout(focusHeading);
  }
  const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
  if (event.key === 'k' && hasModifier && !event.altKey) {
    event.preventDefault();
    shownDialog.value = 'jump';
  }
  if (hasModifier || target.closest('input, textarea, select, dialog') !== null) return;
  if (event.key === '?') shownDialog.value = 'keys';
  const page = previousKey === 'g' ? pages.find(({ key }) => key === event.key) : undefined;
  previousKey = event.key;
  if (page !== undefined) location.hash = `#/${page.name}`;
  moveBetweenRows(event);
  if (event.key === '/') focusSearch(event);
}

function focusSearch(event: KeyboardEvent): void {
  const search = document.querySelector<HTMLElement>('main input[type="search"]');
  if (search === null) return;
  // Otherwise the browser types the `/`.
  event.preventDefault();
  search.focus();
}

function focusHeading(): void {
  document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
}

/** The page's title. Takes the focus when the page changes, so that a screen reader reads it. */
function Heading({ text }: { readonly text: string }) {
  const isFirst = useRef(true);
  // Before the page scrolls to what its address names.
  useLayoutEffect(() => scrollTo(0, 0), [text]);
  useEffect(() => {
    const worldName = shownWorld === 'default' ? [] : [shownWorld];
    document.title = [text, ...worldName, 'smstwin'].join(' · ');
    // On a phone, the links to the pages are one row, wider than the screen.
    document.querySelector('.pages [aria-current]')?.scrollIntoView({ inline: 'center' });
    if (!isFirst.current) focusHeading();
    isFirst.current = false;
  }, [text]);
  return <h1 tabIndex={-1}>{text}</h1>;
}
