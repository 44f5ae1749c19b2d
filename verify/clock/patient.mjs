// Run by `clock.system.test.ts` with smstwin/clock preloaded, against a limit of one a minute: sends
// eleven messages, waits as each 429 says, and prints the status of each attempt.
const [baseUrl, key] = process.argv.slice(2);
const statuses = [];
let accepted = 0;
while (accepted < 11) {
  const reply = await fetch(`${baseUrl}/api/v1/sms/send/`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ to: '+12025550123', from: '+12025550101', message: 'Hello' }),
  });
  await reply.text();
  statuses.push(reply.status);
  if (reply.status === 202) accepted++;
  else {
    const seconds = Number(reply.headers.get('retry-after'));
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  }
}
console.log(JSON.stringify(statuses));
