/**
 * The bugs of `clients/patient.mjs`, with the smallest schedule that shows each.
 */
import type { FaultName } from '../../src/explore/explore.ts';

export interface Planted {
  readonly bug: string;
  readonly cause: string;
  /** The number of messages that the client sends. */
  readonly messages: number;
  /** `fault intent.attempt`. */
  readonly schedule: readonly `${FaultName} ${number}.${number}`[];
}

export const planted: readonly Planted[] = [
  {
    bug: 'reset-taken-for-success',
    cause: 'not_accepted',
    messages: 2,
    schedule: ['reset 1.1'],
  },
  { bug: 'new-id-after-cut', cause: 'CLIENT-5', messages: 2, schedule: ['truncate 1.1'] },
  { bug: 'no-timeout', cause: 'timeout', messages: 2, schedule: ['lost_request 1.1'] },
  {
    bug: 'timeout-taken-for-success',
    cause: 'not_accepted',
    messages: 2,
    schedule: ['lost_request 1.1'],
  },
  { bug: 'fixed-wait-of-1.1-s', cause: 'CLIENT-1', messages: 2, schedule: ['throttle 1.1'] },
  { bug: 'fixed-wait-of-5-s', cause: 'CLIENT-1', messages: 2, schedule: ['throttle 1.1'] },
  { bug: 'fixed-wait-of-20-s', cause: 'CLIENT-1', messages: 2, schedule: ['throttle 1.1'] },
  {
    bug: 'impatient-with-second-429',
    cause: 'CLIENT-1',
    messages: 2,
    schedule: ['throttle 1.1', 'throttle 1.2'],
  },
  {
    bug: 'new-id-after-garbled-and-cut',
    cause: 'CLIENT-5',
    messages: 2,
    schedule: ['malformed 1.1', 'truncate 1.2'],
  },
  {
    bug: 'no-retry-after-503-of-last',
    cause: 'not_accepted',
    messages: 2,
    schedule: ['unavailable 1.1', 'throttle 2.1'],
  },
  {
    bug: 'timeout-after-429-taken-for-success',
    cause: 'CLIENT-9',
    messages: 2,
    schedule: ['throttle 1.1', 'hang 1.2'],
  },
  {
    bug: 'id-of-last-after-reset-and-503',
    cause: 'not_accepted',
    messages: 2,
    schedule: ['reset 1.1', 'unavailable 2.1'],
  },
  {
    bug: 'new-id-after-third-close',
    cause: 'CLIENT-5',
    messages: 1,
    schedule: ['refuse 1.1', 'refuse 1.2', 'lost_response 1.3'],
  },
  {
    bug: 'gives-up-after-429-503-garbled',
    cause: 'CLIENT-9',
    messages: 1,
    schedule: ['throttle 1.1', 'unavailable 1.2', 'malformed 1.3'],
  },
];
