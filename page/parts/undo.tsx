/**
 * A notice for some seconds after an operation of this page that changed the world: it takes the
 * world back to before it. Later, the time machine does the same.
 */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { readState } from '../clock.ts';
import { call, lastChange } from '../control.ts';
import { Refusal } from '../typed-values.ts';
import { counted } from '../words.ts';
import { Action } from './action.tsx';

const shownMs = 12_000;

export function Undo() {
  const outcome = useSignal('');
  const change = lastChange.value;
  useEffect(() => {
    if (change !== undefined) outcome.value = '';
    const timer = setTimeout(() => {
      lastChange.value = undefined;
      outcome.value = '';
    }, shownMs);
    return () => clearTimeout(timer);
  }, [change]);
  const undo = async () => {
    await goBackBefore(change ?? '');
    outcome.value = `Undone: ${change}.`;
    lastChange.value = undefined;
    await readState();
  };
  return (
    <div class="undo" role="status">
      {change !== undefined && (
        <p class="actions card">
          Done: <code>{change}</code>
          <Action act={undo}>Undo</Action>
        </p>
      )}
      {outcome.value !== '' && <p class="card">{outcome.value}</p>}
    </div>
  );
}

/** Takes the world back to before the last operation of this name, if nothing came after it. */
async function goBackBefore(name: string): Promise<void> {
  const { entries } = await call('past.inputs', { limit: 20 });
  // The journal writes `reset` for `simulator.reset`.
  const later = entries.findIndex(({ input }) => input === name || name.endsWith(`.${input}`));
  const done = entries[later];
  if (done === undefined) throw new Refusal({ '': 'The journal no longer holds it.' });
  if (later > 0) {
    const text = `${counted(later, 'input')} came after it: the time machine goes back to line ${done.entry - 1}.`;
    throw new Refusal({ '': text });
  }
  await call('past.goBack', { entry: done.entry - 1 });
}
