/**
 * `smstwin record`: a proxy that forwards requests to a service, and writes each exchange (a
 * request and its reply) to a file.
 */
import { isAbsolute } from 'node:path';
import { UsageError } from '#io/command-error.ts';
import { fileValue, webAddress } from '#io/flag-values.ts';
import {
  addFlags,
  type CommandIo,
  type Flag,
  type FlagValues,
  flag,
  list,
  newCommand,
  readFlags,
  ValueError,
} from '#io/flags.ts';
import { reasonOf } from '#io/plain-file.ts';
import { startRecording } from '#record/record.ts';
import { type Redaction, redactions } from '#record/redaction.ts';
import { hostValue, portValue, sizeValue } from '#src/config/setting-values.ts';
import { tlsOf } from '#src/config/tls.ts';
import { readFaultsFile } from '#src/config/world-file.ts';
import { closeAtStop, noticesTo, stopSignal } from './process.ts';
import { writeAuthority } from './serve/ready-file.ts';
import { tlsFlags } from './serve/serve-options.ts';

const recordFlags = [
  flag('--upstream <url>', 'the service to forward to', upstreamValue),
  flag('--out <file>', 'the recording (.ndjson); appended to', fileValue),
  flag('--host <host>', 'the address to listen on', hostValue, '127.0.0.1'),
  flag('--port <port>', '0: any free port', portValue, 8090),
  list(
    '--redact <what>',
    'replace numbers, text, or both (numbers,text), each always by the same',
    redactValue,
    'neither',
  ),
  flag('--rotate <size>', 'start a new file at this size', sizeValue, 256 * 2 ** 20, '256MiB'),
  flag(
    '--faults <file>',
    'faults that strike at the proxy: a list of faults as the control port takes them',
    fileValue,
  ),
  ...tlsFlags,
] as const satisfies readonly Flag[];

export async function record(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand('record', 'Record what a service is asked and answers.', io);
  addFlags(command, recordFlags);
  if (readFlags(command, argv, io.env) === 'answered') return 0;
  const { upstream, out, faults, ...flags } = command.opts<FlagValues<typeof recordFlags>>();
  if (upstream === undefined) throw new UsageError('--upstream is missing: name the service');
  if (out === undefined) throw new UsageError('--out is missing: name the file to record in');
  const notice = noticesTo(io, 'smstwin record');
  const tls = await tlsOf(flags, [flags.host]);
  const caFile = tls?.ca === undefined ? undefined : writeAuthority(tls.ca, out);
  const recording = await startRecording({
    ...flags,
    redact: flags.redact.flat(),
    tls,
    out,
    upstream: new URL(upstream),
    faults: faults === undefined ? [] : await readFaultsFile(faults),
    onNotice: notice,
  });
  io.out(
    `Recording ${recording.baseUrl} -> ${upstream} in ${isAbsolute(out) ? out : `./${out}`}\n`,
  );
  if (caFile !== undefined) io.out(`Clients must trust ${caFile}\n`);
  const { stopped, stop } = stopSignal();
  process.on('uncaughtException', (error) => {
    // Only the first one stops it: a second signal would end it before the file is written.
    if (process.exitCode === 1) return;
    process.exitCode = 1;
    notice(`stopped by a bug, once the file is written: ${reasonOf(error)}`);
    stop();
  });
  await closeAtStop(stopped, () => recording.close());
  return process.exitCode === 1 ? 1 : 0;
}

function upstreamValue(text: string): string {
  const { username, search, hash } = new URL(webAddress(text));
  if (username === '' && search === '' && hash === '') return text;
  throw new ValueError('expected a URL without a user, a query or a fragment');
}

function redactValue(text: string): readonly Redaction[] {
  const words = text.split(',');
  const known = words.filter((word): word is Redaction =>
    redactions.some((redaction) => redaction === word),
  );
  if (known.length === words.length) return known;
  throw new ValueError('expected numbers, text, or numbers,text');
}
