/**
 * Why a message is not final yet, in one sentence, and buttons for the operations that would move
 * it on.
 */
import { advanceClock, readState, whileRunning } from '../clock.ts';
import { call } from '../control.ts';
import { Action } from '../parts/action.tsx';
import { CodeText, Time } from '../parts/values.tsx';
import { useResource } from '../resource.ts';
import type { Message, Reply } from '../wire.ts';

type Waiting = Reply<'messages.waiting'>;
type Mover = Waiting['would_move'][number];

interface WaitingProps {
  readonly message: Message;
  readonly waiting: ReturnType<typeof useWaiting>;
  readonly onMoved: () => void;
}

export function useWaiting({ message_id: id, status }: Message) {
  const isFinal = status === 'delivered' || status === 'failed';
  return useResource(() => call('messages.waiting', id), {
    on: ['message', 'sim', 'clock', 'operation'],
    everyMs: isFinal ? undefined : whileRunning(2_000),
    key: `${id} ${status}`,
  });
}

export function WaitingView({ message, waiting: { value, refresh }, onMoved }: WaitingProps) {
  if (value === undefined) return null;
  const act = (name: Mover) => async () => {
    await perform(name, message, value);
    await readState();
    refresh();
    onMoved();
  };
  return (
    <section class="waiting" aria-label="Why it waits">
      <p>
        <CodeText text={value.sentence} />{' '}
        {value.until !== null && (
          <span class="dim">
            (<Time at={value.until} />)
          </span>
        )}
      </p>
      <div class="actions">
        {value.would_move.map((name) => (
          <Action key={name} act={act(name)} kind={name === 'messages.fail' ? 'danger' : 'plain'}>
            {labelOf(name, value)}
          </Action>
        ))}
      </div>
    </section>
  );
}

const labels: Readonly<Record<Mover, string>> = {
  'clock.advance': 'Advance to then',
  'sims.poll': 'Poll now',
  'sims.patch': 'Let it poll by itself',
  'messages.progress': 'Next step',
  'messages.fail': 'Make it fail',
};

function labelOf(name: Mover, { waiting_for: reason }: Waiting): string {
  if (name !== 'sims.patch') return labels[name];
  if (reason === 'sim_active') return 'Activate the SIM';
  return reason === 'sim_connected' ? 'Connect the SIM' : labels[name];
}

async function perform(name: Mover, message: Message, waiting: Waiting): Promise<unknown> {
  const { message_id: id, device_id: sim } = message;
  switch (name) {
    case 'clock.advance':
      return advanceClock({ to: waiting.until });
    case 'sims.poll':
      return call('sims.poll', sim);
    case 'sims.patch':
      return call('sims.patch', sim, changeFor(waiting));
    default:
      return call(name, id);
  }
}

function changeFor({ waiting_for: reason }: Waiting) {
  if (reason === 'sim_active') return { active: true };
  return reason === 'sim_connected' ? { connected: true } : { polling: 'simulated' };
}
