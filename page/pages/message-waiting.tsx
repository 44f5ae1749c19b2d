/**
 * Why a message is not final yet, and buttons for the operations that would move it on.
 */
import { advanceClock } from '../clock.ts';
import { call } from '../control.ts';
import type { Row } from '../list-declaration.ts';
import { Action } from '../parts/action.tsx';
import { CodeText, Time } from '../parts/values.tsx';
import type { Message, Reply } from '../wire.ts';

type Waiting = Reply<'messages.waiting'>;

interface WaitingProps {
  readonly message: Message;
  readonly waiting: Waiting;
  readonly onMoved: () => Promise<void>;
}

export function WaitingView({ message, waiting, onMoved }: WaitingProps) {
  return (
    <section class="waiting" aria-label="Why it waits">
      <p>
        <CodeText text={waiting.sentence} />{' '}
        {waiting.until !== null && (
          <span class="dim">
            (<Time at={waiting.until} />)
          </span>
        )}
      </p>
      <div class="actions">
        {waiting.would_move.map((name) => {
          const { label, run } = moveBy(name, message, waiting);
          const kind = name === 'messages.fail' ? 'danger' : 'plain';
          return (
            <Action key={name} act={() => run().then(onMoved)} kind={kind}>
              {label}
            </Action>
          );
        })}
      </div>
    </section>
  );
}

/** A button that moves the message on. */
interface Move {
  readonly label: string;
  readonly run: () => Promise<unknown>;
}

function moveBy(
  name: Waiting['would_move'][number],
  { message_id: id, device_id: sim }: Message,
  { waiting_for: reason, until }: Waiting,
): Move {
  switch (name) {
    case 'clock.advance':
      return { label: 'Advance to then', run: () => advanceClock({ to: until }) };
    case 'sims.poll':
      return { label: 'Poll now', run: () => call(name, sim) };
    case 'messages.progress':
      return { label: 'Next step', run: () => call(name, id) };
    case 'messages.fail':
      return { label: 'Make it fail', run: () => call(name, id) };
    case 'sims.patch': {
      const { label, change } = simChanges[reason] ?? letSimPoll;
      return { label, run: () => call(name, sim, change) };
    }
  }
}

interface SimChange {
  readonly label: string;
  readonly change: Row;
}

/** The change to the SIM that ends each reason for waiting; for all others, `letSimPoll`. */
const simChanges: Readonly<Record<string, SimChange>> = {
  sim_active: { label: 'Activate the SIM', change: { active: true } },
  sim_connected: { label: 'Connect the SIM', change: { connected: true } },
};
const letSimPoll: SimChange = { label: 'Let it poll by itself', change: { polling: 'simulated' } };
