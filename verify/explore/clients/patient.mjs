/**
 * A correct client, or one with a planted bug: it sends some messages one after another, each with
 * one request_id. It has a timeout, waits after 429s, and retries after every temporary failure. As
 * a command: `node patient.mjs <bug> <messages>`.
 */
import { fileURLToPath } from 'node:url';
import { post } from './post.mjs';

const mostAttempts = 6;
const timeoutMs = Number(process.env['CLIENT_TIMEOUT'] ?? 10) * 1_000;

/**
 * Each bug is called after each failure, and returns what it changes about the next step. `before`:
 * the outcome of the message's attempt before this one. `history`: all failures of the run so far,
 * as `{ intent, attempt, outcome }`. The depth is the number of faults that show the bug.
 */
export const bugs = {
  none: () => ({}),
  // Depth 1.
  'reset-taken-for-success': ({ outcome }) => (outcome === 'reset' ? { giveUp: true } : {}),
  'new-id-after-cut': ({ outcome }) => (outcome === 'cut' ? { newId: true } : {}),
  'no-timeout': () => ({}),
  'timeout-taken-for-success': ({ outcome }) => (outcome === 'timeout' ? { giveUp: true } : {}),
  'fixed-wait-of-1.1-s': ({ outcome }) => (outcome === 'throttled' ? { waitMs: 1_100 } : {}),
  'fixed-wait-of-5-s': ({ outcome }) => (outcome === 'throttled' ? { waitMs: 5_000 } : {}),
  'fixed-wait-of-20-s': ({ outcome }) => (outcome === 'throttled' ? { waitMs: 20_000 } : {}),
  // Depth 2.
  'impatient-with-second-429': ({ outcome, before }) =>
    outcome === 'throttled' && before === 'throttled' ? { waitMs: 100 } : {},
  'new-id-after-garbled-and-cut': ({ outcome, before }) =>
    outcome === 'cut' && before === 'garbled' ? { newId: true } : {},
  'no-retry-after-503-of-last': ({ intent, history }) =>
    history.some((one) => one.intent < intent && one.outcome === 'unavailable')
      ? { giveUp: true }
      : {},
  'timeout-after-429-taken-for-success': ({ outcome, before }) =>
    outcome === 'timeout' && before === 'throttled' ? { giveUp: true } : {},
  'id-of-last-after-reset-and-503': ({ intent, outcome, history }) =>
    outcome === 'unavailable' &&
    history.some((one) => one.intent < intent && one.outcome === 'reset')
      ? { oldId: true }
      : {},
  // Depth 3.
  'new-id-after-third-close': ({ attempt, outcome, history, intent }) =>
    attempt === 3 &&
    outcome === 'closed' &&
    history.filter((one) => one.intent === intent).every((one) => one.outcome === 'closed')
      ? { newId: true }
      : {},
  'gives-up-after-429-503-garbled': ({ intent, history }) =>
    history
      .filter((one) => one.intent === intent)
      .map((one) => one.outcome)
      .join() === 'throttled,unavailable,garbled'
      ? { giveUp: true }
      : {},
};

/** `service`: the base URL, an API key, a sender and the `fetch`, unless the environment has them. */
export async function run(service, bug, messages) {
  const history = [];
  for (let intent = 1; intent <= messages; intent++) await send(service, bug, intent, history);
}

async function send(service, bug, intent, history) {
  let requestId = `order-${intent}`;
  for (let attempt = 1; attempt <= mostAttempts; attempt++) {
    const signal = bug === 'no-timeout' ? undefined : AbortSignal.timeout(timeoutMs);
    const { outcome, waitMs } = await sendOnce(service, intent, requestId, signal);
    if (outcome === 'sent') return;
    const before = history.findLast((one) => one.intent === intent)?.outcome;
    history.push({ intent, attempt, outcome });
    const change = bugs[bug]({ intent, attempt, outcome, before, history });
    if (change.giveUp) return;
    if (change.newId) requestId = `order-${intent}-again-${attempt}`;
    if (change.oldId) requestId = `order-${intent - 1}`;
    const pauseMs = change.waitMs ?? waitMs ?? 100 * attempt;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  throw new Error(`gave up message ${intent}`);
}

async function sendOnce(service, intent, requestId, signal) {
  try {
    const reply = await post(`Message ${intent}`, requestId, signal, service);
    if (reply.status === 429) {
      const waitMs = Number(reply.headers.get('retry-after')) * 1_000 + 10;
      return { outcome: 'throttled', waitMs };
    }
    if (reply.status >= 500) return { outcome: 'unavailable' };
    const text = await reply.text();
    if (!reply.ok) return { outcome: 'refused' };
    JSON.parse(text);
    return { outcome: 'sent' };
  } catch (error) {
    return { outcome: outcomeOf(error) };
  }
}

function outcomeOf(error) {
  if (error.name === 'SyntaxError') return 'garbled';
  if (error.name === 'TimeoutError') return 'timeout';
  if (error.message === 'terminated') return 'cut';
  return error.cause?.code === 'ECONNRESET' ? 'reset' : 'closed';
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , bug = 'none', messages = '2'] = process.argv;
  await run(undefined, bug, Number(messages));
}
