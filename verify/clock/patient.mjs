// Run by `clock.system.test.ts` with smstwin/clock preloaded: sends eleven messages, one a minute,
// and prints the status of each attempt.
const [baseUrl, key] = process.argv.slice(2);
const statuses = [];
for (let sent = 0; sent <= 10; ) {
  const reply = await fetch(`${baseUrl}/api/v1/sms/send/`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ to: '+12025550123', from: '+12025550101', message: 'Hello' }),
  });
  await reply.text();
  statuses.push(reply.status);
  if (reply.status === 202) sent++;
  else {
    const seconds = Number(reply.headers.get('retry-after'));
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  }
}
console.log(JSON.stringify(statuses));
