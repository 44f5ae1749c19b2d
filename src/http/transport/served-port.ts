/**
 * A port as all transports see it: the handler that serves it, and what follows from the options,
 * such as limits, the transport's own replies, and the receiver of unexpected errors.
 */
import type { ApiReply, Delivery } from '#contract/request-and-reply.ts';
import { BodyRoom, type Intake } from './arriving-body.ts';
import {
  type ControlPort,
  type ControlRequest,
  defaultBodyLimitBytes,
  defaultDrainLimitBytes,
  defaultHeldLimitBytes,
  defaultMostDelayed,
  idleTimeoutMs,
  type PortService,
  type ServicePort,
  type TransportOptions,
} from './transport.ts';

/** Status, code and text of each reply. */
const ownReplies = {
  tooLarge: [413, 'request_too_large', 'Request body exceeds {limit} bytes.'],
  busy: [503, 'busy', 'Too many request bodies are arriving at once.'],
  conflictingLength: [400, 'bad_request', 'Conflicting Content-Length headers.'],
  malformed: [400, 'bad_request', 'Malformed HTTP request.'],
  headersTooLarge: [431, 'headers_too_large', 'Request headers are too large.'],
  internalError: [500, 'internal_error', 'Internal server error.'],
} as const;
type OwnReply = keyof typeof ownReplies;

export class ServedPort {
  readonly serve: PortService;
  /** The limits of a body, unless the control port has others for its path. */
  readonly intake: Intake;
  readonly room: BodyRoom;
  readonly mostDelayed: number;
  readonly idleTimeoutMs: number;
  readonly now: (() => number) | undefined;
  /** Headers that Node's server adds to every reply. */
  readonly headers: Readonly<Record<string, string>>;
  readonly #onInternalError: ((error: unknown) => void) | undefined;

  constructor(serve: PortService, options: TransportOptions) {
    this.serve = serve;
    this.intake = {
      limitBytes: options.bodyLimitBytes ?? defaultBodyLimitBytes,
      drainBytes: options.drainLimitBytes ?? defaultDrainLimitBytes,
    };
    this.room = new BodyRoom(options.heldLimitBytes ?? defaultHeldLimitBytes);
    this.mostDelayed = options.mostDelayed ?? defaultMostDelayed;
    this.idleTimeoutMs = options.idleTimeoutMs ?? idleTimeoutMs;
    this.now = options.now;
    this.headers = 'control' in serve ? (serve.headers ?? {}) : {};
    this.#onInternalError = options.onInternalError;
  }

  /** A reply that the transport gives by itself. */
  reply(name: OwnReply): ApiReply {
    return transportReply(this.serve, name, this.intake.limitBytes);
  }

  /** The reply to a body that is longer than its limit. */
  tooLong({ tooLongReply }: Intake): ApiReply {
    return tooLongReply ?? this.reply('tooLarge');
  }

  /** The limits for this request's body. Runs the control port's own code, which may throw. */
  intakeOf(request: ControlRequest): Intake {
    return 'service' in this.serve ? this.intake : (this.serve.intake?.(request) ?? this.intake);
  }

  /** Reports that the transport has answered in place of the service. */
  reportOwnReply(path: string, { status }: ApiReply): void {
    if ('service' in this.serve) this.serve.onOwnReply?.(path, status);
  }

  /** Reports the end of a reply that a fault delayed. */
  replyFinished(delivery: Delivery, end: 'sent' | 'client left'): void {
    if (!('service' in this.serve)) return;
    try {
      this.serve.onReplyFinished?.(delivery, end === 'sent');
    } catch (error) {
      this.report(error);
    }
  }

  /** Never throws: an exception in native code or an event handler would end the process. */
  report(error: unknown): void {
    try {
      this.#onInternalError?.(error);
    } catch {
      // An exception of the listener itself has no receiver.
    }
  }
}

/**
 * A reply that the transport gives by itself. The control port nests its errors; the service words
 * them by the assumptions in force, so the reply is not cached.
 */
export function transportReply(
  serve: Pick<ServicePort, 'shapeRefusal'> | Pick<ControlPort, 'control'>,
  name: OwnReply,
  limitBytes: number,
): ApiReply {
  const [status, code, text] = ownReplies[name];
  const detail = text.replace('{limit}', String(limitBytes));
  if ('control' in serve)
    return { status, body: JSON.stringify({ error: { code, message: detail } }) };
  const worded = serve.shapeRefusal?.(status, code, detail);
  return worded ?? { status, body: JSON.stringify({ code, detail }) };
}
