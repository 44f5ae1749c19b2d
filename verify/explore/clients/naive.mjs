/**
 * The client of docs/explore.md: it sends two messages and looks correct. With `mended` it is
 * correct.
 */
import { post } from './post.mjs';

const isMended = process.argv[2] === 'mended';
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function send(message) {
  for (let attempt = 1; attempt <= 4; attempt++) {
    try {
      const reply = await post(message, crypto.randomUUID());
      if (reply.ok) return (await reply.json()).message_id;
    } catch {
      // A network error: try again.
    }
    await sleep(100 * attempt);
  }
  throw new Error(`could not send: ${message}`);
}

async function sendMended(message) {
  const requestId = crypto.randomUUID();
  for (let attempt = 1; attempt <= 4; attempt++) {
    let waitMs = 100 * attempt;
    try {
      // A reply may be lost, and fetch would wait for it for minutes.
      const reply = await post(message, requestId, AbortSignal.timeout(2_000));
      if (reply.ok) return (await reply.json()).message_id;
      const seconds = reply.headers.get('retry-after');
      // A little later than asked: the timer may fire a millisecond early.
      if (seconds !== null) waitMs = Number(seconds) * 1_000 + 20;
    } catch {
      // A network error, a timeout or half a reply: the request_id makes another attempt safe.
    }
    await sleep(waitMs);
  }
  throw new Error(`could not send: ${message}`);
}

for (const message of ['Your parcel is on its way.', 'Your parcel has arrived.']) {
  await (isMended ? sendMended : send)(message);
}
