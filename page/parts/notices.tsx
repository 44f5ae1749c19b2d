/** The notices of every page: the connection is lost, and what the last operation changed. */
import { useEffect } from 'preact/hooks';
import { call, lastChange, type OperationName } from '../control.ts';
import { connection, reconnectNow } from '../events.ts';
import { pageName } from '../route.ts';
import { counted, textOf } from '../typed-values.ts';
import { Action } from './action.tsx';

/** Says that the world was deleted, or that the simulator does not answer. */
export function ConnectionNotice() {
  const isGone = connection.value === 'gone';
  const isLost = connection.value === 'lost';
  return (
    <div role="alert" class="connection-notice">
      {(isGone || isLost) && (
        <div class="lost">
          <p>
            <b>{isGone ? 'This world was deleted.' : 'The simulator does not answer.'}</b> The page
            shows what it last received{isLost && ', and reconnects by itself'}.
          </p>
          {isGone && <a href="/">Go to the first world</a>}
          {isLost && <Action act={reconnectNow}>Try now</Action>}
        </div>
      )}
    </div>
  );
}

const shownMs = 12_000;
const dropNotice = () => (lastChange.value = undefined);

/**
 * A notice with an Undo button, after an operation of this page that changed the world. It goes
 * after some seconds, or when the user acts again or leaves the page.
 */
export function Undo() {
  const change = lastChange.value;
  useEffect(() => {
    const timer = setTimeout(dropNotice, shownMs);
    return () => clearTimeout(timer);
  }, [change]);
  useEffect(() => dropNotice, [pageName.value]);
  return (
    <div class="undo" role="status">
      {change !== undefined && (
        <p class="actions card">
          {doneText(change)}
          <Action act={() => goBackBefore(change.name)}>Undo</Action>
        </p>
      )}
    </div>
  );
}

/** A changed setting is named with its value. */
function doneText({ name, input }: NonNullable<typeof lastChange.value>) {
  if (!/^(assumptions|limits)\.patch/.test(name)) return ['Done: ', <code key={name}>{name}</code>];
  return Object.entries(input).map(([setting, value]) => `${setting} is now ${textOf(value)}.`);
}

/** Takes the world back to before the last operation of this name, if nothing came after it. */
async function goBackBefore(name: OperationName): Promise<void> {
  const { entries } = await call('past.inputs', { limit: 20 });
  const later = entries.findIndex(({ input }) => input === name);
  const before = (entries[later]?.entry ?? 0) - 1;
  if (before < 0) throw new Error('The journal no longer holds it.');
  if (later > 0) {
    const came = `${counted(later, 'input')} came after it`;
    throw new Error(`${came}: the time machine goes back to line ${before}.`);
  }
  await call('past.goBack', { entry: before });
}
