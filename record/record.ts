/** Starts a recording (`smstwin record`): a proxy, and the file that gets a line per exchange. */
import type { FaultSpec } from '#contract/fault-kinds.ts';
import { authorityOf } from '#io/flag-values.ts';
import type { TlsPair } from '#src/config/tls.ts';
import { Faults } from '#src/http/service/faults.ts';
import { checkAddress, listenOn } from '#src/http/transport/listening.ts';
import { Rng } from '#src/sim/random.ts';
import { LineMaker } from './line-maker.ts';
import type { Body, PassedExchange } from './passed-exchange.ts';
import { RecordingProxy } from './proxy.ts';
import { RecordingFile } from './recording-file.ts';
import type { Redaction } from './redaction.ts';
import { saltOf } from './secrets.ts';

export interface RecordOptions {
  readonly upstream: URL;
  /** The path of the first file. */
  readonly out: string;
  readonly host?: string;
  readonly port?: number;
  readonly redact?: readonly Redaction[];
  /** Bytes after which the next file begins; default: never. */
  readonly rotate?: number;
  readonly faults?: readonly FaultSpec[];
  readonly tls?: TlsPair | undefined;
  readonly onNotice?: (line: string) => void;
}

/** Listens and opens the file. `close` finishes the exchanges in flight and writes them. */
export async function startRecording(options: RecordOptions) {
  const { upstream, out, host = '127.0.0.1', port = 0, redact = [] } = options;
  const { rotate = Number.POSITIVE_INFINITY, onNotice = () => {} } = options;
  checkAddress(port, host);
  const file = new RecordingFile(out, rotate, onNotice);
  const maker = new LineMaker(saltOf(out), redact);
  // A fixed seed: a recording with faults repeats.
  const faults = new Faults((label) => Rng.stream(1, label));
  for (const spec of options.faults ?? []) faults.add(spec);
  const proxy = new RecordingProxy({
    upstream,
    faults,
    // Without the authority that made them, which Node would take for that of clients.
    tls: options.tls && { cert: options.tls.cert, key: options.tls.key },
    // The credential without its scheme.
    accountIdOf: (authorization) => maker.secrets.credential(authorization).replace(/^.*[ \t]/, ''),
    onExchange: (exchange) =>
      file.add({ bytes: sizeOf(exchange), line: () => maker.make(exchange) }),
  });
  const boundPort = await listenOn(proxy.server, port, host);
  return {
    baseUrl: `${options.tls === undefined ? 'http' : 'https'}://${authorityOf(host, boundPort)}`,
    close: async () => {
      await proxy.close();
      await file.close();
    },
  };
}

/** An estimate of the memory that the heads of an exchange take. */
const headBytes = 1_024;

function sizeOf({ requestBody, reply }: PassedExchange): number {
  const sizeOfBody = (body: Body) => (typeof body === 'number' ? 0 : body.length);
  return headBytes + sizeOfBody(requestBody) + (reply === undefined ? 0 : sizeOfBody(reply.body));
}
