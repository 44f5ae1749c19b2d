/**
 * The operations that exist only on a control port: the OpenAPI documents of the service and of the
 * control port, and two probes for programs that watch a process, such as a kubelet. The probes
 * need no token, so they tell only their status.
 */
import { z } from 'zod';
import type { ControlReply } from '../http/transport/transport.ts';
import {
  defineOperation,
  nameOperations,
  type Operation,
  WholeReply,
} from '../operations/define.ts';
import { perform } from '../operations/perform.ts';
import { operations } from '../operations/table.ts';
import { simulator } from '../operations/worlds/simulator.ts';
import { OperationRefused } from '../sim/errors.ts';
import { controlDocument } from './openapi/control-document.ts';
import { openApiText } from './openapi/service-document.ts';

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

/** The default base URL of `smstwin serve`, shown if the simulator has no port. */
const usualBaseUrl = 'http://127.0.0.1:8080';

const documentSchema = z.looseObject({ openapi: z.string() }).meta({ id: 'OpenApi' });

/** Made once, because it is the same for all simulators of a process. */
let controlText: string | undefined;

const documents = {
  service: defineOperation({
    http: 'GET /openapi.json',
    fleet: { scope: 'local' },
    summary: 'The service as OpenAPI 3.1, under the assumptions and limits in force.',
    output: documentSchema,
    run: ({ simulation, baseUrl }) =>
      openApiText({
        assumptions: simulation.world.assumptions,
        limits: simulation.limiter.limits,
        baseUrl: baseUrl || usualBaseUrl,
      }),
    reply: (body) => new WholeReply({ status: 200, body }),
  }),
  control: defineOperation({
    http: 'GET /control/openapi.json',
    fleet: { scope: 'local' },
    summary: 'The control port as OpenAPI 3.1: this document.',
    output: documentSchema,
    run: () => {
      controlText ??= JSON.stringify(controlDocument(servedOperations));
      return controlText;
    },
    reply: (body) => new WholeReply({ status: 200, body }),
  }),
};

/** Everything that the control port serves, except the page. */
export const servedOperations: readonly Operation[] = [
  ...operations.filter(({ path }) => path !== ''),
  ...nameOperations('documents', documents),
  ...nameOperations('probes', probes),
];
