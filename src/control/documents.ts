/**
 * Serves the OpenAPI documents of the service and of the control port, as operations that exist
 * only on the control port.
 */
import { z } from 'zod';
import {
  defineOperation,
  nameOperations,
  type Operation,
  WholeReply,
} from '../operations/define.ts';
import { operations } from '../operations/table.ts';
import { controlDocument } from './openapi/control-document.ts';
import { openApiText } from './openapi/service-document.ts';
import { probes } from './probes.ts';

/** Shown if the simulator has no port: where `smstwin serve` listens by default. */
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

/** Everything that the control port serves, except the dashboard. */
export const servedOperations: readonly Operation[] = [
  ...operations.filter(({ path }) => path !== ''),
  ...nameOperations('documents', documents),
  ...nameOperations('probes', probes),
];
