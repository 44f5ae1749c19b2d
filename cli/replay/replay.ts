/**
 * `smstwin replay`: replays a recorded run and compares every reply, byte for byte. Exit codes: 0
 * all replies are equal, 1 a reply differs, 2 the journal cannot be played.
 */
import { fileValue } from '#io/flag-values.ts';
import { addArgument, addFlags, type CommandIo, newCommand, readFlags } from '#io/flags.ts';
import { foreignJson, foreignText } from '#io/foreign-text.ts';
import { many } from '#io/table.ts';
import { noticesTo } from '../process.ts';
import { type Replayed, replayJournal } from './replay-journal.ts';

export async function replay(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand('replay', 'Replay a recorded run and compare every reply.', io);
  addArgument(command, '<journal>', 'the file that serve --journal wrote', fileValue);
  addFlags(command, [{ flag: '--json', about: 'print JSON' }]);
  if (readFlags(command, argv, io.env) === 'answered') return 0;
  const [file = ''] = command.args;
  const replayed = replayJournal(file);
  const { differing, differences, isTruncated } = replayed;
  if (command.opts()['json'] === true) {
    io.out(`${foreignJson(JSON.stringify(report(replayed), null, 2))}\n`);
    return differing === 0 ? 0 : 1;
  }
  if (isTruncated) {
    noticesTo(io, 'smstwin replay')(`${file}: the last line is incomplete and was ignored`);
  }
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
  if (checkpoint === undefined) return many(inputs, 'input');
  const before = many(checkpoint.inputs, 'input');
  return `${many(inputs, 'input')} from the checkpoint of ${checkpoint.at}, after ${before},`;
}
