/**
 * Two paths for whatever watches a process, such as a kubelet. They need no token, so they say
 * nothing but their status. They exist only on the control port.
 */
import { z } from 'zod';
import type { ControlReply } from '../http/transport/transport.ts';
import { defineOperation, WholeReply } from '../operations/define.ts';
import { perform } from '../operations/perform.ts';
import { simulator } from '../operations/worlds/simulator.ts';
import { OperationRefused } from '../sim/operation-refused.ts';

export const probes = {
  live: defineOperation({
    http: 'GET /control/live',
    fleet: { ofServer: true },
    isOpen: true,
    summary: 'Answers as long as the process does. Needs no token.',
    output: z.strictObject({ status: z.literal('live') }),
    run: () => ({ status: 'live' as const }),
  }),
  ready: defineOperation({
    http: 'GET /control/ready',
    fleet: { ofServer: true },
    isOpen: true,
    summary: 'Whether requests of the service would be answered; 503 if not. Needs no token.',
    output: z.strictObject({ status: z.enum(['ready', 'not_ready']) }),
    refusals: [503],
    run: (live) => {
      try {
        perform(simulator.health, live, undefined, undefined);
        return true;
      } catch (error) {
        if (error instanceof OperationRefused) return false;
        throw error;
      }
    },
    reply: (isReady) => new WholeReply(readyReply(isReady)),
  }),
};

export function readyReply(isReady: boolean): ControlReply {
  const status = isReady ? 'ready' : 'not_ready';
  return { status: isReady ? 200 : 503, body: JSON.stringify({ status }) };
}
