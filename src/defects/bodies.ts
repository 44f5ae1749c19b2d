/**
 * Message bodies with an extra, missing or malformed field. Rules: RES-1 to RES-6.
 */
import { isoTime } from '../sim/iso-time.ts';
import { describing, type Fields, isMessageBody, messageOf } from './edge.ts';
import { type Defects, type Exchange, type Planted, reading } from './planted.ts';

function createdAt(write: (created: string) => unknown): Planted {
  return describing(({ created_at: created }) => ({ created_at: write(String(created)) }));
}

function isRead({ endpoint, reply }: Exchange): boolean {
  return endpoint === 'read' && reply.status === 200;
}

function firstSim({ key }: Exchange) {
  return key?.account.devices[0];
}

function upper({ status }: Fields): Fields {
  return { status: String(status).toUpperCase() };
}

const twoHoursMs = 7_200_000;

/** Message ids are numbers, in the body and in the path. */
const numbered: Planted = {
  around: (next, simulation) => {
    const { around } = describing(({ message_id: id }) => {
      const message = simulation.world.messages.get(String(id));
      return { message_id: String((message?.arrival ?? 0) + 1) };
    });
    const understood = reading((request) => {
      const [, number = '0'] = /^\/api\/v1\/sms\/(\d+)\/$/.exec(request.path) ?? [];
      const message = [...simulation.world.messages.values()].find(
        ({ arrival }) => arrival + 1 === Number(number),
      );
      return message === undefined
        ? request
        : { ...request, path: `/api/v1/sms/${message.messageId}/` };
    }).around;
    const described = around?.(next, simulation) ?? next;
    return understood?.(described, simulation) ?? described;
  },
};

/** Each read shows another device id. */
const drifting: Planted = {
  around: (next, simulation) => {
    let reads = 0;
    const { around } = describing(({ device_id: id }) => {
      reads += 1;
      return { device_id: `${String(id).slice(0, -6)}${String(reads).padStart(6, '0')}` };
    }, isRead);
    return around?.(next, simulation) ?? next;
  },
};

export const bodyDefects: Defects = {
  'extra-field': describing(() => ({ segments: 1 })),
  'extra-field-on-read': describing(() => ({ delivered_at: null }), isRead),
  'missing-field': describing(() => ({ device_id: undefined })),
  'extra-state': describing(
    () => ({ status: 'pending' }),
    (exchange) => isMessageBody(exchange) && exchange.reply.body.includes('"status":"queued"'),
  ),
  'status-upper-case': describing(upper),
  'message-id-number': numbered,
  'device-id-not-uuid': describing(() => ({ device_id: 'sim-1' })),
  'to-reformatted': describing(({ to }) => ({ to: String(to).slice(1) })),
  'from-number-other-sim': describing(({ from_number: from }, exchange) => ({
    from_number: firstSim(exchange)?.number ?? from,
  })),
  'request-id-null': describing(({ request_id: id }) => ({ request_id: id === '' ? null : id })),
  'request-id-generated': describing(({ request_id: id, message_id: made }) => ({
    request_id: id === '' ? made : id,
  })),
  'request-id-lower-case': describing(({ request_id: id }) => ({
    request_id: String(id).toLowerCase(),
  })),
  'request-id-lost-on-read': describing(() => ({ request_id: '' }), isRead),
  'request-id-cut': describing(({ request_id: id }) => ({ request_id: String(id).slice(0, 64) })),
  'request-id-composed': describing(({ request_id: id }) => ({
    request_id: String(id).normalize('NFC'),
  })),
  'request-id-trimmed': describing(({ request_id: id }) => ({ request_id: String(id).trim() })),
  'created-at-no-z': createdAt((created) => created.slice(0, -1)),
  'created-at-offset': createdAt((created) => created.replace('Z', '+00:00')),
  'created-at-seconds': createdAt((created) => created.replace(/\.\d+/, '')),
  'created-at-epoch': createdAt((created) => Date.parse(created)),
  'created-at-microseconds': createdAt((created) => created.replace('Z', '000Z')),
  'created-at-local': createdAt((created) => isoTime(Date.parse(created) + twoHoursMs)),
  'created-at-unpadded': createdAt((created) => created.replace(/\.0+(?=\d)/, '.')),
  'created-at-of-last-change': describing((_, exchange) => {
    const changedAtMs = messageOf(exchange)?.changedAtMs ?? 0;
    return { created_at: isoTime(changedAtMs) };
  }, isRead),
  'created-at-moves': describing(
    (_, { simulation }) => ({ created_at: isoTime(simulation.clock.now()) }),
    isRead,
  ),
  'device-id-of-first-sim': describing(({ device_id: id }, exchange) => ({
    device_id: firstSim(exchange)?.deviceId ?? id,
  })),
  'device-id-same-for-all': describing((_, { simulation: { world } }) => ({
    device_id: [...world.devices.keys()][0],
  })),
  'device-id-random': drifting,
};
