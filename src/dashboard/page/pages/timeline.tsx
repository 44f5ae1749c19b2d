/**
 * The history of a message: each status with its simulated time and the time since the previous
 * one. Statuses still to come are grey.
 */
import { StatusShape } from '../parts/status.tsx';
import { durationText, Time } from '../parts/time.tsx';
import type { Message, Status } from '../wire.ts';

const usual: readonly Status[] = ['queued', 'sending', 'sent', 'delivered'];

export function Timeline({ message }: { readonly message: Message }) {
  const { history } = message;
  const last = history.at(-1)?.status;
  const ahead = last === 'failed' ? [] : usual.slice(usual.indexOf(last ?? 'queued') + 1);
  return (
    <ol class="timeline" aria-label="Timeline">
      {history.map(({ status, at }, index) => {
        const before = history[index - 1];
        const tookMs = before === undefined ? undefined : Date.parse(at) - Date.parse(before.at);
        return (
          <li key={status} class={`status-${status}`}>
            <StatusShape status={status} />
            <span class="step">{status}</span>
            <Time at={at} />
            <span class="took dim">{tookMs === undefined ? '' : `+${durationText(tookMs)}`}</span>
            {status === 'failed' && message.failure_reason !== null && (
              <span class="reason">{message.failure_reason}</span>
            )}
          </li>
        );
      })}
      {ahead.map((status) => (
        <li key={status} class="ahead">
          <StatusShape status={status} />
          <span class="step">
            {status}
            <span class="hidden"> is still to come</span>
          </span>
        </li>
      ))}
    </ol>
  );
}
