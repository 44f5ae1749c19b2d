/**
 * `smstwin record`: a proxy that forwards requests to a service, and writes each exchange (a
 * request and its reply) to a file.
 */
import { isAbsolute } from 'node:path';
import { UsageError } from '#io/command-error.ts';
import { baseUrlValue, fileValue, someOf } from '#io/flag-values.ts';
import { type CommandIo, flag, flagsIn, heading, list, newCommand } from '#io/flags.ts';
import { reasonOf } from '#io/plain-file.ts';
import { startRecording } from '#record/record.ts';
import { redactions } from '#record/redaction.ts';
import { hostValue, portValue, sizeValue } from '#src/config/setting-values.ts';
import { tlsOf } from '#src/config/tls.ts';
import { readFaultsFile } from '#src/config/world-file.ts';
import { closeAtStop, noticesTo, stopSignal } from './process.ts';
import { prepareReadyFile, writeAuthority, writeReadyFile } from './serve/ready-file.ts';
import { tlsFlags } from './serve/serve-options.ts';

const recordFlags = [
  heading('The recording'),
  flag('--upstream <url>', 'the service to forward to', baseUrlValue),
  flag('--out <file>', 'the recording (.ndjson); appended to', fileValue),
  list(
    '--redact <what>',
    'replace numbers, texts or both (numbers,text); equal values get equal replacements',
    someOf(redactions),
    'neither',
  ),
  flag('--rotate <size>', 'start a new file at this size', sizeValue, 256 * 2 ** 20, '256MiB'),
  flag(
    '--faults <file>',
    'faults that strike at the proxy: a list of faults as the control port takes them',
    fileValue,
  ),
  heading('Where it listens'),
  flag('--host <host>', 'the address to listen on', hostValue, '127.0.0.1'),
  flag('--port <port>', '0: any free port', portValue, 8090),
  flag('--ready-file <file>', 'write its URL and process id here once it listens', fileValue),
  ...tlsFlags,
] as const;

export async function record(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand('record', 'Record what a service is asked and answers.', io);
  const given = flagsIn(command, recordFlags, argv, io);
  if (given === undefined) return 0;
  const { upstream, out, faults, readyFile, ...flags } = given;
  if (upstream === undefined) throw new UsageError('--upstream is missing: name the service');
  if (out === undefined) throw new UsageError('--out is missing: name the file to record in');
  if (readyFile !== undefined) prepareReadyFile(readyFile);
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
  if (readyFile !== undefined) {
    // Only the service knows accounts and numbers. A recorder draws nothing from the seed.
    const served = { base_url: recording.baseUrl, control_url: null, pid: process.pid, seed: 1 };
    const trusted = caFile === undefined ? {} : { tls_ca_file: caFile };
    writeReadyFile(readyFile, { ...served, ...trusted, accounts: [], pool: [] });
  }
  io.out(
    `Recording ${recording.baseUrl} -> ${upstream} in ${isAbsolute(out) ? out : `./${out}`}\n`,
  );
  if (caFile !== undefined) io.out(`Clients must trust ${caFile}\n`);
  const { stopped, stop } = stopSignal();
  let hasCrashed = false;
  process.on('uncaughtException', (error) => {
    // A second call of `stop` exits at once, before the file is written.
    if (hasCrashed) return;
    hasCrashed = true;
    notice(`stopped by a bug, once the file is written: ${reasonOf(error)}`);
    stop();
  });
  await closeAtStop(stopped, () => recording.close());
  return hasCrashed ? 1 : 0;
}
