/**
 * Wrong lifecycles: states that are skipped, visited twice or left although they are final, and
 * devices that poll at a wrong pace or take the work of others. Rules: STATE-1 to STATE-5, SVC-2,
 * SVC-3, SEND-3, SEND-7.
 */
import type { MessageEvent, Status } from '#contract/message-status.ts';
import { dayMs } from '#contract/time.ts';
import { DeviceActors } from '#src/actors/device-actors.ts';
import { Lifecycle } from '#src/actors/lifecycle.ts';
import type { Device, Message } from '#src/sim/accounts/account.ts';
import { Registry } from '#src/sim/accounts/registry.ts';
import { moveOut } from '#src/sim/store/cohort.ts';
import type { Simulation } from '#src/simulation/simulation.ts';
import { isAccepted, messageOf } from './call.ts';
import { comparingFirstBlocks, describing, reading, replying } from './combinators.ts';
import { because, breaking, type DefectRow, type Planted } from './planted.ts';

const pollMs = 20_000;

/** A lifecycle that reports each step, can write any status, and can suppress a step. */
class LooseLifecycle extends Lifecycle {
  /** False suppresses the step; a defect replaces it. */
  mayStep: (message: Message, event: MessageEvent) => boolean = () => true;
  /** Called after each step; a defect replaces it. */
  stepped: (message: Message) => void = () => {};

  override step(message: Message, event: MessageEvent, failureReason?: string): boolean {
    if (!this.mayStep(message, event)) return false;
    if (!super.step(message, event, failureReason)) return false;
    this.stepped(message);
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
    moveOut(message).status = status;
  }
}

/** Gives the simulation a `LooseLifecycle`, in which `prepare` plants the defect. */
function withLifecycle(
  prepare: (lifecycle: LooseLifecycle, simulation: Simulation) => void,
): Planted {
  return {
    parts: { Lifecycle: LooseLifecycle },
    around: (next, simulation) => {
      if (simulation.lifecycle instanceof LooseLifecycle) prepare(simulation.lifecycle, simulation);
      return next;
    },
  };
}

/** Some time after a message has become `reached`, its status becomes `next`, against the rules. */
function leaving(reached: Status, afterMs: number, next: Status): Planted {
  return withLifecycle((lifecycle, { clock }) => {
    lifecycle.stepped = (message) => {
      if (message.status === reached)
        clock.setTimeout(() => lifecycle.write(message, next), afterMs);
    };
  });
}

/** Takes a second step at once after the step to `status`, of all messages or of some. */
function skipping(status: Status, isSome = (_: Message) => true): Planted {
  return withLifecycle((lifecycle) => {
    lifecycle.stepped = (message) => {
      if (message.status === status && isSome(message)) lifecycle.step(message, 'progressed');
    };
  });
}

/** Such a message goes back to queued once instead of becoming sent. */
function revisiting(isSuch = (_: Message) => true): Planted {
  return withLifecycle((lifecycle) => {
    const returned = new Set<string>();
    lifecycle.mayStep = (message, event) => {
      const isDue = message.status === 'sending' && event === 'progressed';
      if (!isDue || returned.has(message.messageId) || !isSuch(message)) return true;
      returned.add(message.messageId);
      lifecycle.write(message, 'queued');
      message.device.work.makeReady(message);
      return false;
    };
  });
}

/** Three messages in four. No row of its own: `STATE-3/never-backwards` may see it in any message. */
export const revisitingMost = revisiting(({ arrival }) => arrival % 4 > 0);

/** One message in 13 is never picked up, though its device asks for tasks all the time. */
export const leavingSome = withLifecycle((lifecycle) => {
  lifecycle.mayStep = ({ status, arrival }) => status !== 'queued' || arrival % 13 !== 12;
});

/** A send answers when its device has the message, a little later. Only many sends show it. */
export const answeringAfterPickup = replying((exchange) => {
  const message = messageOf(exchange);
  if (message === undefined || message.sendAtMs > 0) return exchange.reply;
  exchange.simulation.deviceActors.progress(message);
  return { ...exchange.reply, delivery: { delayMs: 300 } };
}, isAccepted);

/** A held message keeps back what its SIM queues after it. */
const blockingBehindHolds = withLifecycle((lifecycle, { clock, world }) => {
  lifecycle.mayStep = ({ status, device, arrival }) =>
    status !== 'queued' ||
    ![...world.messages.values()].some(
      (other) => other.device === device && other.arrival < arrival && other.isHeldAt(clock.now()),
    );
});

/** A failed message is queued again a poll later, once. */
const retrying = withLifecycle((lifecycle, { clock, deviceActors }) => {
  const retried = new Set<string>();
  lifecycle.stepped = (message) => {
    if (message.status !== 'failed' || retried.has(message.messageId)) return;
    retried.add(message.messageId);
    clock.setTimeout(() => {
      lifecycle.write(message, 'queued');
      Object.assign(moveOut(message), { sendingAtMs: 0, sentAtMs: 0, endedAtMs: 0 });
      deviceActors.queued(message);
    }, pollMs);
  };
});

/** Every device polls at this interval, whatever its setting. */
function polling(pollIntervalSeconds: number): Planted {
  class OddDeviceActors extends DeviceActors {
    constructor(...[clock, lifecycle, assumptions]: ConstructorParameters<typeof DeviceActors>) {
      super(clock, lifecycle, {
        // Read each time, because an operation can switch the other answers during the run.
        get answers() {
          return { ...assumptions.answers, pollIntervalSeconds };
        },
      });
    }
  }
  return { parts: { DeviceActors: OddDeviceActors } };
}

/** A polling device gets the tasks of every SIM of its account. */
class SharingRegistry extends Registry {
  override polled(device: Device): readonly Message[] {
    const all = device.account?.devices ?? [device];
    return all.flatMap((one) => super.polled(one));
  }
}

/** Hands out tasks without recording the pickup. */
class ForgetfulRegistry extends Registry {
  override polled(device: Device): readonly Message[] {
    return device.polling === 'external' ? device.work.queues().ready : [];
  }
}

/** Hands out held messages to a polling device. */
class HastyRegistry extends Registry {
  override polled(device: Device): readonly Message[] {
    if (device.polling !== 'external') return [];
    // As if all holds had ended, and each message were due at this poll.
    device.work.releaseHeld(Number.POSITIVE_INFINITY);
    for (const { cohorts } of device.work.ready) for (const cohort of cohorts) cohort.duePoll = 0;
    return super.polled(device);
  }
}

/** A send answers with `status`, which its message has after this many steps. */
function answeringAs(status: Status, steps: number): Planted {
  return describing((_, exchange) => {
    const message = messageOf(exchange);
    for (let i = 0; message !== undefined && i < steps; i += 1)
      exchange.simulation.deviceActors.progress(message);
    return { status };
  }, isAccepted);
}

/** Messages of the external send stay queued. Only a run of several rules sees others pass them. */
export const externalNeverPickedUp = withLifecycle((lifecycle) => {
  lifecycle.mayStep = ({ status, endpoint }) => status !== 'queued' || endpoint !== 'external_send';
});

export const lifecycleDefects: readonly DefectRow[] = [
  ...breaking('STATE-1', {
    'created-as-sending': ['a new message is sending from the start', answeringAs('sending', 1)],
    'created-as-asked': [
      "a new message has the status of the send's own field",
      describing((_, { fields }) => (fields?.['status'] ? { status: fields['status'] } : {})),
    ],
  }),
  ...breaking('STATE-2', {
    'state-skips-sending': ['queued becomes sent', skipping('sending')],
    'tasks-id-first-block': [
      'a device_id is compared by its first 8 characters',
      comparingFirstBlocks('tasks', ({ account }) =>
        account.devices.map(({ deviceId }) => deviceId),
      ),
    ],
    'tasks-of-every-sim': [
      'a device is handed the work of all SIMs of its account',
      { parts: { Registry: SharingRegistry } },
      because.anotherSim,
    ],
    'tasks-leave-queued': [
      'a message that a device was handed stays queued',
      { parts: { Registry: ForgetfulRegistry } },
      because.reportedLater,
    ],
  }),
  ...breaking('STATE-3', {
    'state-skips-sent': ['sending becomes delivered', skipping('sent')],
    'state-revisited': ['sending goes back to queued once', revisiting()],
    'never-delivered': [
      'messages stay sent for ever',
      withLifecycle((lifecycle) => {
        lifecycle.mayStep = ({ status }, event) => status !== 'sent' || event !== 'progressed';
      }),
      'a telephone that is switched off keeps a message sent for longer than any wait',
    ],
  }),
  ...breaking('STATE-4', {
    'failed-after-delivered': [
      'messages become failed after delivered',
      leaving('delivered', pollMs, 'failed'),
    ],
  }),
  ...breaking('STATE-5', {
    'delivered-left': [
      'delivered becomes sent again a day later',
      leaving('delivered', dayMs, 'sent'),
      because.aDay,
    ],
    'failed-retried': [
      'failed becomes queued again',
      retrying,
      'no flag names a recipient whose messages fail',
    ],
  }),
  ...breaking('SVC-2', {
    'send-waits-until-sent': ['a send answers sent', answeringAs('sent', 2)],
  }),
  ...breaking('SVC-3', {
    'pickup-after-60-seconds': ['a device polls every 60 s', polling(60)],
    'emoji-never-picked-up': [
      'a message with an emoji stays queued',
      withLifecycle((lifecycle) => {
        lifecycle.mayStep = ({ status, text }) =>
          status !== 'queued' || !/\p{Emoji_Presentation}/u.test(text);
      }),
    ],
    'status-advances-per-read': [
      'each read moves the status on',
      reading(({ message, key, simulation }) => {
        if (message !== undefined && message.account === key?.account)
          simulation.deviceActors.progress(message);
        return undefined;
      }),
    ],
    'status-every-5-seconds': [
      'a status changes every 5 s',
      polling(5),
      'a service may report progress at its own pace (progressPace)',
    ],
  }),
  ...breaking('SEND-3', {
    'send-returns-sending': [
      'a send answers sending',
      describing(() => ({ status: 'sending' }), isAccepted),
    ],
    'send-returns-200': [
      'a new message is answered 200',
      replying(({ reply }) => ({ ...reply, status: 200 }), isAccepted),
    ],
  }),
  ...breaking('SEND-7', {
    'held-blocks-queue': [
      'a held message keeps back the later ones of its SIM',
      blockingBehindHolds,
    ],
    'held-skips-sending': [
      'queued becomes sent if the message was held',
      skipping('sending', ({ sendAtMs }) => sendAtMs > 0),
    ],
    'tasks-ignore-hold': [
      'a device that asks for tasks is handed held messages',
      { parts: { Registry: HastyRegistry } },
    ],
  }),
];
