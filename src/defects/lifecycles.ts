/**
 * Wrong lifecycles: skipped, repeated or left states, and devices that poll at a wrong pace or
 * never.
 * Rules: STATE-1 to STATE-5, SVC-2, SVC-3, SEND-3.
 */
import { Fleet } from '../actors/fleet.ts';
import { Lifecycle } from '../actors/lifecycle.ts';
import { alone } from '../sim/cohort.ts';
import type { Device, Message } from '../sim/records.ts';
import type { MessageEvent, Status } from '../sim/status.ts';
import { World } from '../sim/world.ts';
import type { Simulation } from '../simulation/simulation.ts';
import { callerOf, describing, isAccepted, messageOf, namedMessage, refusal } from './edge.ts';
import { answering, type Defects, type Planted, reading, replying } from './planted.ts';

const pollMs = 20_000;
const dayMs = 86_400_000;

/** A lifecycle that reports each step, can write any status, and can suppress a step. */
class LooseLifecycle extends Lifecycle {
  mayStep: (message: Message, event: MessageEvent) => boolean = () => true;
  stepped: (message: Message, from: Status) => void = () => {};

  override step(message: Message, event: MessageEvent, failureReason?: string): boolean {
    const from = message.status;
    if (!this.mayStep(message, event)) return false;
    if (!super.step(message, event, failureReason)) return false;
    this.stepped(message, from);
    return true;
  }

  /** Steps every message by itself and announces each step at once. */
  override stepTogether(
    ...[batch, cohort, event, failureReason]: Parameters<Lifecycle['stepTogether']>
  ): boolean {
    for (const message of batch.membersOf([cohort])) this.step(message, event, failureReason);
    return false;
  }

  /** Writes a status against the rules. */
  write(message: Message, status: Status): void {
    const { counts } = message.account;
    counts[message.status]--;
    counts[status]++;
    alone(message).status = status;
  }
}

type Prepare = (lifecycle: LooseLifecycle, simulation: Simulation) => void;

function withLifecycle(prepare: Prepare): Planted {
  return {
    parts: { Lifecycle: LooseLifecycle },
    around: (next, simulation) => {
      if (simulation.lifecycle instanceof LooseLifecycle) prepare(simulation.lifecycle, simulation);
      return next;
    },
  };
}

/** A message that becomes `reached` later becomes `next`, once. */
function leaving(reached: Status, afterMs: number, next: Status): Planted {
  return withLifecycle((lifecycle, { clock }) => {
    lifecycle.stepped = (message) => {
      if (message.status === reached) {
        clock.setTimeout(() => lifecycle.write(message, next), afterMs);
      }
    };
  });
}

/** Takes a second step at once after the step to `status`. */
function skipping(status: Status): Planted {
  return withLifecycle((lifecycle) => {
    lifecycle.stepped = (message) => {
      if (message.status === status) lifecycle.step(message, 'progressed');
    };
  });
}

/** Goes back once instead of proceeding from `to`. */
function goingBack(from: Status, to: Status, then: (message: Message) => void): Planted {
  return withLifecycle((lifecycle) => {
    const returned = new Set<string>();
    lifecycle.mayStep = (message, event) => {
      if (message.status !== from || event !== 'progressed' || returned.has(message.messageId))
        return true;
      returned.add(message.messageId);
      lifecycle.write(message, to);
      then(message);
      return false;
    };
  });
}

/** Every device polls at this interval, whatever its setting. */
function polling(pollIntervalSeconds: number): Planted {
  class OddFleet extends Fleet {
    constructor(...[clock, lifecycle, assumptions]: ConstructorParameters<typeof Fleet>) {
      super(clock, lifecycle, {
        get answers() {
          return { ...assumptions.answers, pollIntervalSeconds };
        },
      });
    }
  }
  return { parts: { Fleet: OddFleet } };
}

class DeafFleet extends Fleet {
  override queued(): void {}
}

/** Hands out tasks without recording the pickup. */
class ForgetfulWorld extends World {
  override polled(device: Device): readonly Message[] {
    return device.polling === 'external' ? device.work.rows().ready : [];
  }
}

/** Hands out held messages to a polling device. */
class HastyWorld extends World {
  override polled(device: Device): readonly Message[] {
    if (device.polling !== 'external') return [];
    device.work.releaseHeld(Number.POSITIVE_INFINITY);
    for (const { cohorts } of device.work.ready) {
      for (const cohort of cohorts) cohort.duePoll = 0;
    }
    return super.polled(device);
  }
}

/** A send answers only after this many steps of its message. */
function answeringAs(status: Status, steps: number): Planted {
  return describing((_, exchange) => {
    const message = messageOf(exchange);
    for (let i = 0; message !== undefined && i < steps; i += 1) {
      exchange.simulation.fleet.progress(message);
    }
    return { status };
  }, isAccepted);
}

function answeredWith(status: number): Planted {
  return replying((exchange) =>
    isAccepted(exchange) ? { ...exchange.reply, status } : exchange.reply,
  );
}

export const lifeDefects: Defects = {
  'state-skips-sending': skipping('sending'),
  'tasks-leave-queued': { parts: { World: ForgetfulWorld } },
  'state-skips-sent': skipping('sent'),
  'state-revisited': goingBack('sending', 'queued', (message) => {
    message.device.work.makeReady(message);
  }),
  'state-regresses': goingBack('sent', 'sending', (message) => {
    Object.assign(alone(message), { sendingAtMs: message.sentAtMs, sentAtMs: 0 });
  }),
  'never-delivered': withLifecycle((lifecycle) => {
    lifecycle.mayStep = ({ status }, event) => status !== 'sent' || event !== 'progressed';
  }),
  'failed-after-delivered': leaving('delivered', pollMs, 'failed'),
  'delivered-left': leaving('delivered', dayMs, 'sent'),
  'failed-retried': withLifecycle((lifecycle, { clock, fleet }) => {
    const retried = new Set<string>();
    lifecycle.stepped = (message) => {
      if (message.status !== 'failed' || retried.has(message.messageId)) return;
      retried.add(message.messageId);
      clock.setTimeout(() => {
        lifecycle.write(message, 'queued');
        Object.assign(alone(message), { sendingAtMs: 0, sentAtMs: 0, endedAtMs: 0 });
        fleet.queued(message);
      }, pollMs);
    };
  }),
  'pickup-after-60-seconds': polling(60),
  'status-every-5-seconds': polling(5),
  'pickup-never': { parts: { Fleet: DeafFleet } },
  'status-advances-per-read': reading((request, simulation) => {
    const message = namedMessage(request, simulation);
    const key = callerOf(request, simulation);
    if (message !== undefined && message.account === key?.account) {
      simulation.fleet.progress(message);
    }
    return request;
  }),
  'tasks-ignore-hold': { parts: { World: HastyWorld } },
  'send-returns-sending': describing(() => ({ status: 'sending' }), isAccepted),
  'send-returns-200': answeredWith(200),
  'send-returns-201': answeredWith(201),
  'send-waits-until-sent': answeringAs('sent', 2),
  'created-as-sending': answeringAs('sending', 1),
  'not-there-at-once': answering((request, simulation) => {
    const message = namedMessage(request, simulation);
    const isNew = message !== undefined && simulation.clock.now() - message.createdAtMs < 1_000;
    return isNew ? refusal({ kind: 'not_found' }, simulation) : undefined;
  }),
};
