/**
 * A client with an outbox on disk: `node outbox.mjs [none|row-after-reply|row-before-reply]`. A right
 * one writes a row with its id before it sends, and marks it sent after the reply.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const {
  SMSTWIN_BASE_URL: baseUrl,
  SMSTWIN_API_KEY: apiKey,
  SMSTWIN_FROM: from,
  SMSTWIN_STATE: folder,
} = process.env;
const bug = process.argv[2] ?? 'none';
const file = join(folder, 'outbox.json');
const rows = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};

for (const message of ['One', 'Two']) {
  rows[message] ??= { id: randomUUID(), isSent: false };
  const row = rows[message];
  if (row.isSent) continue;
  if (bug === 'row-before-reply') row.isSent = true;
  if (bug !== 'row-after-reply') save();
  await send(message, row.id);
  row.isSent = true;
  save();
}

function save() {
  writeFileSync(file, JSON.stringify(rows));
}

async function send(message, id) {
  for (;;) {
    const reply = await fetch(`${baseUrl}/api/v1/sms/send/`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ to: '+12025550123', from, message, request_id: id }),
    });
    if (reply.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}
