/**
 * State that both transports derive once per port from the handler and the options: limits,
 * its own replies, the clock behind `Date`, and the receiver of unexpected errors.
 */
import type { ApiReply, Delivery } from '../service/messages.ts';
import { BodyRoom, type Intake } from './arriving-body.ts';
import {
  type ControlRequest,
  defaultBodyLimitBytes,
  defaultDrainLimitBytes,
  defaultHeldLimitBytes,
  defaultMostDelayed,
  idleTimeoutMs,
  type Serve,
  type TransportOptions,
} from './transport.ts';
import { type OwnReply, transportReply } from './transport-replies.ts';

export class ServedPort {
  readonly serve: Serve;
  readonly intake: Intake;
  readonly room: BodyRoom;
  readonly mostDelayed: number;
  readonly idleTimeoutMs: number;
  readonly now: (() => number) | undefined;
  /** Of every reply of a port of Node's server. */
  readonly headers: Readonly<Record<string, string>>;
  readonly #onInternalError: ((error: unknown) => void) | undefined;

  constructor(serve: Serve, options: TransportOptions) {
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

  /** A reply of the transport itself. */
  reply(name: OwnReply): ApiReply {
    return transportReply(this.serve, name, this.intake.limitBytes);
  }

  /** The reply to a body that is longer than its limit. */
  tooLong({ over }: Intake): ApiReply {
    return over ?? this.reply('tooLarge');
  }

  /** The limits for this request's body. Runs the control port's own code, which may throw. */
  intakeOf(request: ControlRequest): Intake {
    return 'service' in this.serve ? this.intake : (this.serve.intake?.(request) ?? this.intake);
  }

  /** The transport answers in place of the service. */
  answersItself(path: string, { status }: ApiReply): void {
    if ('service' in this.serve) this.serve.onOwnReply?.(path, status);
  }

  /** A reply that a fault delayed has left, or its client has gone. */
  left(delivery: Delivery | undefined, isSeen: boolean): void {
    if (delivery === undefined || !('service' in this.serve)) return;
    try {
      this.serve.onLeft?.(delivery, isSeen);
    } catch (error) {
      this.report(error);
    }
  }

  /**
   * Never throws: its callers are native code and event handlers, where an exception ends the
   * process.
   */
  report(error: unknown): void {
    try {
      this.#onInternalError?.(error);
    } catch {
      // There is no listener for errors of the listener.
    }
  }
}
