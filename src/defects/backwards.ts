/**
 * Reads that show an older status than an earlier read did. Rules: STATE-3.
 */
import type { Message } from '../sim/records.ts';
import type { Status } from '../sim/status.ts';
import { describing, isReplay, messageOf } from './edge.ts';
import type { Defects, Exchange, Planted } from './planted.ts';

const lagMs = 3_000;
const readsPerRestart = 10;

function isRead({ endpoint, reply }: Exchange): boolean {
  return endpoint === 'read' && reply.status === 200;
}

/**
 * Reads show the status that `shown` returns; undefined leaves it unchanged. First calls `answered`
 * with every reply.
 */
function showing(
  create: () => {
    readonly answered?: (exchange: Exchange) => void;
    readonly shown: (message: Message, exchange: Exchange) => string | undefined;
  },
): Planted {
  return {
    around: (next, simulation) => {
      const { answered, shown } = create();
      const { around } = describing(({ status }, exchange) => {
        const message = messageOf(exchange);
        return { status: (message && shown(message, exchange)) ?? status };
      }, isRead);
      const heard = (request: Parameters<typeof next>[0]) => {
        const { reply, ...rest } = next(request);
        answered?.({ request, reply, ...rest, simulation });
        return { reply, ...rest };
      };
      return around?.(heard, simulation) ?? heard;
    },
  };
}

/** The status that the message had a while ago. */
function lagging(message: Message, { simulation }: Exchange): Status {
  const { sendingAtMs, sentAtMs, endedAtMs, status } = message;
  const thenMs = simulation.clock.now() - lagMs;
  if (endedAtMs > 0 && endedAtMs <= thenMs) return status;
  if (sentAtMs > 0 && sentAtMs <= thenMs) return 'sent';
  return sendingAtMs > 0 && sendingAtMs <= thenMs ? 'sending' : 'queued';
}

/** Messages that are shown as queued until their status changes. */
class Forgotten {
  readonly #since = new Map<string, Status>();

  add(message: Message): void {
    this.#since.set(message.messageId, message.status);
  }

  shown(message: Message): Status | undefined {
    return this.#since.get(message.messageId) === message.status ? 'queued' : undefined;
  }
}

export const backwardDefects: Defects = {
  'status-replica-lags': showing(() => {
    let reads = 0;
    return {
      shown: (message, exchange) => (reads++ % 2 === 1 ? lagging(message, exchange) : undefined),
    };
  }),
  'status-late-for-other-keys': showing(() => ({
    shown: (message, exchange) =>
      message.key === exchange.key ? undefined : lagging(message, exchange),
  })),
  'replay-requeues': showing(() => {
    const forgotten = new Forgotten();
    return {
      answered: (exchange) => {
        const message = isReplay(exchange) ? messageOf(exchange) : undefined;
        if (message !== undefined) forgotten.add(message);
      },
      shown: (message) => forgotten.shown(message),
    };
  }),
  'restart-forgets-status': showing(() => {
    const forgotten = new Forgotten();
    let reads = 0;
    return {
      answered: (exchange) => {
        if (!isRead(exchange) || ++reads % readsPerRestart !== 0) return;
        for (const message of exchange.simulation.world.messages.values())
          if (message.endedAtMs === 0) forgotten.add(message);
      },
      shown: (message) => forgotten.shown(message),
    };
  }),
};
