/**
 * `smstwin replay`: replays a recorded run from its journal file alone, and compares every reply,
 * byte for byte. Exit codes: 0 all replies are equal, 1 a reply differs, 2 the journal cannot be
 * replayed. Also replays journals for the referee: the simulator then has the same record of
 * exchanges as the one that wrote the journal.
 */
import {
  closeSync,
  createReadStream,
  createWriteStream,
  mkdtempSync,
  readSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { atOnce } from '#io/event-loop.ts';
import { fileValue } from '#io/flag-values.ts';
import { addArgument, type CommandIo, flag, flagsIn, newCommand } from '#io/flags.ts';
import { openPlain, reasonOf } from '#io/plain-file.ts';
import { counted, foreignJson, foreignText } from '#io/terminal.ts';
import { JournalError } from '#judging/evidence/journal-line.ts';
import { playingFrom } from '#src/recording/checkpoint/resume.ts';
import type { RecordBound } from '#src/recording/exchange-record.ts';
import { readHeader, settingsOfHeader } from '#src/recording/journal/journal-header.ts';
import { type JournalLines, readJournal } from '#src/recording/journal/journal-lines.ts';
import { exchangesOf } from '#src/recording/judged-exchanges.ts';
import { isUndelivered } from '#src/sim/devices/outcomes.ts';
import { Simulator } from '#src/simulator.ts';
import { noticesTo } from '../process.ts';

export async function replay(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand(
    'replay',
    'Replay a journal (serve --journal) and compare every reply.',
    io,
  );
  addArgument(command, '<journal>', 'the file that serve --journal wrote', fileValue);
  const flags = flagsIn(command, [flag('--json', 'print JSON')], argv, io);
  if (flags === undefined) return 0;
  const [file = ''] = command.args;
  const replayed = replayJournal(file);
  const { differing, differences, isTruncated } = replayed;
  if (flags.json) {
    io.out(`${foreignJson(JSON.stringify(report(replayed), null, 2))}\n`);
    return differing === 0 ? 0 : 1;
  }
  if (isTruncated)
    noticesTo(io, 'smstwin replay')(`${file}: the last line is incomplete and was ignored`);
  for (const { line, at, input, expected, actual } of differences) {
    io.out(`line ${line}, ${foreignText(`${at}, ${input}`)}\n`);
    io.out(`  recorded ${foreignText(expected)}\n  replayed ${foreignText(actual)}\n`);
  }
  if (differing > differences.length) io.out(`… and ${differing - differences.length} more\n`);
  const same = 'every reply is the same, byte for byte';
  const other = `${differing} replies differ from the recorded ones`;
  io.out(`${inputsOf(replayed)} replayed: ${differing === 0 ? same : other}.\n`);
  return differing === 0 ? 0 : 1;
}

function report({ header, inputs, differing, differences, isTruncated }: Replayed) {
  const { started_at: startedAt, checkpoint } = header;
  return {
    started_at: startedAt,
    checkpoint: checkpoint === undefined ? null : { at: checkpoint.at, inputs: checkpoint.inputs },
    inputs,
    differing,
    differences,
    truncated: isTruncated,
  };
}

function inputsOf({ header: { checkpoint }, inputs }: Replayed): string {
  if (checkpoint === undefined) return counted(inputs, 'input');
  const before = counted(checkpoint.inputs, 'input');
  return `${counted(inputs, 'input')} from the checkpoint of ${checkpoint.at}, after ${before},`;
}

type Replayed = ReturnType<typeof replayLines>;

/**
 * Replays a journal in a new simulator, from its checkpoint if it has one, and compares every
 * reply. Throws a JournalError if it cannot be played.
 */
export function replayJournal(path: string, recordBound?: RecordBound): Replayed {
  for (;;) {
    const lines = readJournal(path);
    try {
      return replayLines(path, lines, recordBound);
    } catch (error) {
      // Tries again if the service that records into this file has replaced it meanwhile.
      if (readJournal(path)?.header === lines?.header) throw error;
    }
  }
}

function replayLines(
  path: string,
  lines: JournalLines | undefined,
  recordBound: RecordBound | undefined,
) {
  if (lines === undefined) throw new JournalError(`${path}: there is no such file; check the path`);
  if (lines.header === undefined) {
    const state = lines.isTruncated ? 'has an incomplete first line' : 'is empty';
    throw new JournalError(`${path}: the journal ${state}`);
  }
  const header = readHeader(lines.header, path);
  const { settings, keyDigests } = settingsOfHeader(header, path);
  const simulator = new Simulator(settings, {
    startAtMs: Date.parse(header.started_at),
    keyDigests,
    journal: false,
    recordBound,
  });
  try {
    simulator.wallClock.hold();
    const played = atOnce(playingFrom(simulator, lines, header, path));
    const { exchangeRecord } = simulator;
    const { world } = simulator.simulation;
    const { isTruncated } = lines;
    return { ...played, header, isTruncated, exchangeRecord, world };
  } finally {
    void simulator.close();
  }
}

/** The most exchanges that the referee judges: they take about a gigabyte of memory. */
const judgedBound = { exchanges: 500_000, characters: 512 * 1024 * 1024 };

/** Throws a JournalError if the file cannot be played. */
export function exchangesOfJournalFile(path: string) {
  const { isTruncated, differing, exchangeRecord, world } = replayJournal(path, judgedBound);
  const truncated =
    'the last line is incomplete and was ignored: the rest is judged as a partial record';
  return {
    /** How many of the recorded replies the replay does not give. */
    differing,
    exchanges: exchangesOf(exchangeRecord, world.keyRing.texts),
    isCutAtStart: exchangeRecord.isCutAtStart,
    /** Why the exchanges are not all of the run; undefined if they are. */
    lack: exchangeRecord.lack ?? (isTruncated ? truncated : undefined),
    endsUndelivered: (messageId: string) => isUndelivered(world.messages.get(messageId)),
    /** True if the service has an account of this name or id, even one without requests. */
    hasAccount: (wanted: string) =>
      [...world.accounts.values()].some(
        ({ accountId, name }) => accountId === wanted || name === wanted,
      ),
  };
}

/** A copy of a gzipped journal that can be played; undefined if the file is not compressed. */
export async function unpackedJournal(path: string) {
  const magic = Buffer.alloc(2);
  const file = openPlain(path);
  readSync(file, magic, 0, 2, 0);
  if (magic[0] !== 0x1f || magic[1] !== 0x8b) {
    closeSync(file);
    return undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-journal-'));
  const copy = join(folder, basename(path));
  await pipeline(
    createReadStream('', { fd: file, start: 0 }),
    createGunzip(),
    createWriteStream(copy),
  ).catch((error) => {
    // A file that was cut off: the copy has its start, and its last line is incomplete.
    if (error.code !== 'Z_BUF_ERROR') throw new JournalError(`${path}: ${reasonOf(error)}`);
  });
  return { file: copy, remove: () => rmSync(folder, { recursive: true }) };
}
