/**
 * The frame around every page: the header with simulated time, the links to the pages, notices about
 * the connection, the keys, and the question for the control token. `pages` is the table of all
 * pages.
 */
import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { advanceClock, advanceOutcome, clock, nowMs, readState } from './clock.ts';
import { controlToken, keepToken, tokenIsMissing } from './control.ts';
import { connection, reconnectNow } from './events.ts';
import { listPages } from './lists.ts';
import { AccountsPage } from './pages/accounts.tsx';
import { ClockPage } from './pages/clock.tsx';
import { Compare } from './pages/compare.tsx';
import { HomePage } from './pages/home.tsx';
import { LimitsPage } from './pages/limits.tsx';
import { MessagesPage } from './pages/messages.tsx';
import { PastPage } from './pages/past.tsx';
import { RefereePage } from './pages/referee.tsx';
import { RequestsPage } from './pages/requests.tsx';
import { Rules } from './pages/rules.tsx';
import { SendPage } from './pages/send.tsx';
import { Action, Dialog } from './parts/action.tsx';
import { Choices } from './parts/fields.tsx';
import { type Destination, Jump } from './parts/jump.tsx';
import { List } from './parts/list.tsx';
import { moveBetweenRows } from './parts/live-table.tsx';
import { Undo } from './parts/undo.tsx';
import { type Fact, Facts, Time } from './parts/values.tsx';
import { pageName, shownWorld } from './route.ts';
import { isoTime, prefixOf } from './words.ts';
import { useWorldChoices } from './world.ts';

interface Page extends Destination {
  /** Shown below the page's lists (`lists.ts`), if it has any. */
  readonly view?: ComponentType;
}

const pages: readonly Page[] = [
  { name: 'home', key: 'h', title: 'Home', view: HomePage },
  { name: 'messages', key: 'm', title: 'Messages', view: MessagesPage },
  { name: 'requests', key: 'r', title: 'Requests', view: RequestsPage },
  { name: 'referee', key: 'e', title: 'Referee', view: RefereePage },
  { name: 'send', key: 's', title: 'Send', view: SendPage },
  { name: 'received', key: 'i', title: 'Received' },
  { name: 'clock', key: 'c', title: 'Clock', view: ClockPage },
  { name: 'past', key: 't', title: 'Time machine', view: PastPage },
  { name: 'faults', key: 'f', title: 'Faults' },
  { name: 'limits', key: 'l', title: 'Limits', view: LimitsPage },
  { name: 'accounts', key: 'a', title: 'Accounts', view: AccountsPage },
  { name: 'worlds', key: 'w', title: 'Worlds', view: Compare },
  { name: 'rules', key: 'u', title: 'Rules and assumptions', view: Rules },
];

const noPage: Page = {
  name: 'none',
  key: '',
  title: 'No such page',
  view: () => (
    <p>
      Go to <a href="#/home">Home</a>.
    </p>
  ),
};

/** The dialog that is open over the page. */
const opened = signal<'keys' | 'jump' | undefined>(undefined);
const closeDialog = () => (opened.value = undefined);

/** The key before, so that `g m` goes to the page Messages. */
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
    opened.value = 'jump';
  }
  if (hasModifier || target.closest('input, textarea, select, dialog') !== null) return;
  if (event.key === '?') opened.value = 'keys';
  const page = previousKey === 'g' ? pages.find(({ key }) => key === event.key) : undefined;
  previousKey = event.key;
  if (page !== undefined) location.hash = `#/${page.name}`;
  moveBetweenRows(event);
  const search = document.querySelector<HTMLElement>('main input[type="search"]');
  if (event.key !== '/' || search === null) return;
  event.preventDefault();
  search.focus();
}

function focusHeading(): void {
  document.querySelector<HTMLElement>('main h1')?.focus();
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

export function Shell() {
  useEffect(() => {
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  if (tokenIsMissing.value) return <TokenDialog />;
  const page = pages.find(({ name }) => name === pageName.value) ?? noPage;
  const { view: View } = page;
  const lists = listPages[page.name];
  return (
    <div class={`shell connection-${connection.value}`}>
      <button type="button" class="skip button" onClick={focusHeading}>
        Skip to the page
      </button>
      <header class="top">
        <a class="brand" href="#/home">
          smstwin
        </a>
        <WorldSwitcher />
        <button type="button" class="button plain help" onClick={() => (opened.value = 'keys')}>
          <span class="hidden">Keys: </span>?
        </button>
        <SimulatedTime />
        {opened.value === 'keys' && (
          <Dialog title="Keys" onClose={closeDialog}>
            <Facts facts={keyFacts} />
          </Dialog>
        )}
        {opened.value === 'jump' && <Jump pages={pages} onClose={closeDialog} />}
      </header>
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
        {lists === undefined ? (
          View && <View />
        ) : (
          <div class="stack">
            {lists.map((list) => (
              <List key={list.title} declaration={list} />
            ))}
            {View && <View />}
          </div>
        )}
      </main>
      <Undo />
    </div>
  );
}

/** The page's title. Takes the focus when the page changes, so that a screen reader reads it. */
function Heading({ text }: { readonly text: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    const worldName = shownWorld === 'default' ? [] : [shownWorld];
    document.title = [text, ...worldName, 'smstwin'].join(' · ');
    // On a phone, the links to the pages are one row, wider than the screen.
    document.querySelector('.pages [aria-current]')?.scrollIntoView({ inline: 'center' });
    if (!isFirst.current) heading.current?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [text]);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {text}
    </h1>
  );
}

function ConnectionNotice() {
  const isGone = connection.value === 'gone';
  return (
    <div role="alert" class="connection-notice">
      {(isGone || connection.value === 'lost') && (
        <div class="lost">
          <p>
            <b>{isGone ? 'This world was deleted.' : 'The simulator does not answer.'}</b> The page
            shows what it last received{isGone ? '.' : ', and reconnects by itself.'}
          </p>
          {isGone ? (
            <a class="button plain" href="/">
              Go to the first world
            </a>
          ) : (
            <button type="button" class="button plain" onClick={reconnectNow}>
              Try now
            </button>
          )}
        </div>
      )}
    </div>
  );
}

/** A choice of the server's worlds, by their name. Hidden while there is only one. */
function WorldSwitcher() {
  const { worlds, error } = useWorldChoices();
  const isListed = worlds.some(({ value }) => value === shownWorld);
  if (worlds.length === 1 && isListed) return null;
  // The control port refuses every call in a world that was deleted.
  const label = error === undefined ? shownWorld : `${shownWorld} (gone)`;
  return (
    <div class="world-switcher">
      <label class="dim wide" for="world">
        world
      </label>
      <Choices
        id="world"
        aria-label="World"
        value={shownWorld}
        onChoose={(id) => location.assign(`${prefixOf(id)}/${location.hash}`)}
        choices={isListed ? worlds : [...worlds, { value: shownWorld, label }]}
      />
    </div>
  );
}

/** Simulated time, the usual ways to advance it, and the state of the connection. */
function SimulatedTime() {
  if (nowMs.value === undefined || clock.value === undefined) return <div class="now" />;
  const { mode, rate, next_at: nextAt } = clock.value;
  return (
    <div class="now">
      {/* On the left, so that a text that appears does not move the buttons. */}
      <span class="dim advanced" role="status">
        {advanceOutcome.value}
      </span>
      <span title="Simulated time">
        <Time at={isoTime(nowMs.value)} /> <span class="dim wide">UTC</span>
      </span>
      <a class="badge mode" href="#/clock" title="Clock">
        {mode}
        {mode === 'scaled' ? ` ×${rate}` : ''}
      </a>
      {mode !== 'bound' && (
        <>
          <Action act={() => advanceClock({ by: '20s' })} label="Advance 20 s">
            +20 s
          </Action>
          <Action act={() => advanceClock({ to: nextAt })} disabled={nextAt === null}>
            Next event
          </Action>
          <Action act={() => advanceClock({ until_idle: true })} disabled={nextAt === null}>
            Until idle
          </Action>
        </>
      )}
      <span class={`live live-${connection.value}`}>
        <span class="dot" aria-hidden="true" />
        {connection.value}
      </span>
    </div>
  );
}

function TokenDialog() {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const wasWrong = tokenIsMissing.value && controlToken() !== null;
  return (
    <main class="token">
      <form
        class="card form"
        aria-label="Control token"
        onSubmit={(event) => {
          event.preventDefault();
          const token = input.current?.value ?? '';
          if (token === '') return;
          keepToken(token);
          reconnectNow();
          void readState();
        }}
      >
        <h1>smstwin</h1>
        <p>
          This control port requires the token that <code>--control-token</code> set.
        </p>
        <div class="field">
          <label for="token">Control token</label>
          <input
            id="token"
            ref={input}
            type="password"
            autocomplete="off"
            aria-invalid={wasWrong}
            aria-describedby="token-hint"
          />
          <p id="token-hint" class={wasWrong ? 'problem' : 'hint'}>
            {wasWrong ? 'This token is wrong.' : 'Kept in this tab until it is closed.'}
          </p>
        </div>
        <div class="actions">
          <button type="submit" class="button main">
            Continue
          </button>
        </div>
      </form>
    </main>
  );
}
