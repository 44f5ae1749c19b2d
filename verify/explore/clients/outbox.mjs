/**
 * A client with an outbox on disk: `node outbox.mjs [none|row-after-reply|row-before-reply]`. A
 * right one writes a row with its id before it sends, and marks it sent after the reply.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { post } from './post.mjs';

const bug = process.argv[2] ?? 'none';
const file = join(process.env['SMSTWIN_STATE'], 'outbox.json');
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
  while (!(await post(message, id)).ok) await new Promise((resolve) => setTimeout(resolve, 1_000));
}
