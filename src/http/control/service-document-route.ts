/**
 * The service's own OpenAPI document, served beside it: the service has no such path.
 */
import { z } from 'zod';
import { openApiText } from '../openapi/service-document.ts';
import { type Route, WholeReply } from './route.ts';

/** Where `smstwin serve` listens; a simulator without a port is described as listening there. */
const usualBaseUrl = 'http://127.0.0.1:8080';

export const serviceDocumentRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/openapi.json',
    summary: 'The service as OpenAPI 3.1, under the assumptions and limits in force.',
    status: 200,
    result: z.object({ openapi: z.literal('3.1.0') }).loose(),
    run: ({ simulator }) => {
      const body = openApiText({
        assumptions: simulator.assumptions.get(),
        limits: simulator.limits.get(),
        baseUrl: simulator.readyFile().base_url || usualBaseUrl,
      });
      return new WholeReply({ status: 200, body });
    },
  },
];
