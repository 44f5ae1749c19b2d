/**
 * The client of docs/explore.md: it sends two messages and looks correct. With `mended` it is
 * correct.
 */
const { SMSTWIN_BASE_URL, SMSTWIN_API_KEY, SMSTWIN_FROM } = process.env;
const isMended = process.argv[2] === 'mended';
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function post(message, requestId) {
  return fetch(`${SMSTWIN_BASE_URL}/api/v1/sms/send/`, {
    method: 'POST',
    headers: { authorization: `Bearer ${SMSTWIN_API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      to: '+12025550123',
      from: SMSTWIN_FROM,
      message,
      request_id: requestId,
    }),
    ...(isMended && { signal: AbortSignal.timeout(2_000) }),
  });
}

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
      const reply = await post(message, requestId);
      if (reply.ok) return (await reply.json()).message_id;
      const seconds = reply.headers.get('retry-after');
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
