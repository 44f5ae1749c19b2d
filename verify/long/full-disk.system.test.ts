/** A journal whose disk is full, in a checkpoint and without one. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { controlApi } from '#src/control/control-api.ts';
import { Simulator } from '#src/simulator.ts';
import { checkpointNumber, filesOf, nextTurn } from '../testkit/journal-files.ts';
import { fillDisk, mountSmallDisk, unmount } from '../testkit/processes/small-disk.ts';
import { plainRequest, sendBy } from '../testkit/twin/twin.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-full-disk-'));
const isMounted = mountSmallDisk(folder);
afterAll(() => {
  if (isMounted) unmount(folder);
  rmSync(folder, { recursive: true });
});

test.runIf(isMounted)(
  'a journal that needs the space of an unfinished checkpoint takes it, and the run goes on',
  async () => {
    const journal = join(folder, 'run.ndjson');
    const notices: string[] = [];
    const onNotice = (line: string) => notices.push(line);
    const options = { journal, journalMaxBytes: 131_072, onNotice };
    const simulator = new Simulator({ clock: 'manual', noLimits: true }, options);
    const checkpoint = `${journal}.checkpoint-1`;
    const size = () => statSync(checkpoint, { throwIfNoEntry: false })?.size ?? 0;
    let sent = 0;
    for (; size() < 16_384; sent++) {
      // Texts that cannot be compressed make the checkpoint as long as the journal.
      sendBy(simulator, 0, { request_id: `${sent}`, message: randomBytes(600).toString('hex') });
      await nextTurn();
    }
    fillDisk(join(folder, 'filler'));
    // The last block of the journal has some room left.
    for (; notices.length === 0; sent++)
      expect(sendBy(simulator, 0, { request_id: `${sent}` }).status).toBe(202);
    expect(notices).toEqual([expect.stringContaining('.checkpoint-1 (ENOSPC); the run goes on')]);
    expect(filesOf(journal)).not.toContain('run.ndjson.checkpoint-1');
    rmSync(join(folder, 'filler'));
    for (; checkpointNumber(journal) === 0; sent++) {
      sendBy(simulator, 0, { request_id: `${sent}` });
      await nextTurn();
    }
    await simulator.close();
    const again = new Simulator({ clock: 'manual', noLimits: true }, options);
    expect(again.state().messages.total).toBe(sent);
    await again.close();
  },
);

test.runIf(isMounted)(
  'a journal on a full disk fails every request, and health says why',
  async () => {
    const journal = join(folder, 'full.ndjson');
    const simulator = new Simulator({ clock: 'manual', noLimits: true }, { journal });
    const { control } = controlApi(simulator, { host: '127.0.0.1', token: undefined });
    const health = async () => {
      const reply = await control(plainRequest);
      return { status: reply.status, body: 'body' in reply ? reply.body : '' };
    };
    expect((await health()).status).toBe(200);
    const filler = join(folder, 'filler');
    fillDisk(filler);
    expect(() => {
      for (let n = 0; n < 100; n++) sendBy(simulator, 0, { request_id: `${n}` });
    }).toThrow('cannot be written');
    const { status, body } = await health();
    expect([status, JSON.parse(body).error.code]).toEqual([503, 'unavailable']);
    expect(body).toContain('full.ndjson: cannot be written: Error: ENOSPC');
    rmSync(filler);
    await simulator.close();
  },
);
