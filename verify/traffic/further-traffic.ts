/**
 * Traffic that a recording needs beyond the harness's own: the harness acts within an instant, and
 * clocks of a recording may be wrong by seconds.
 */
import type { ApiReply } from '#contract/request-and-reply.ts';
import { isoTime, minuteMs } from '#contract/time.ts';
import type { Simulator } from '#src/simulator.ts';
import { bearer, postTo, requestTo, sendPaths } from '../testkit/twin/request.ts';
import { sendBy } from '../testkit/twin/twin.ts';

/**
 * Repeats an id when its SIM is inactive, an hour before its 24 hours end, and two minutes after
 * that; sends with a `send_at` of a minute ago; reads a message that its device got as a task.
 */
export function repeatIdsAndHolds(simulator: Simulator): void {
  const again = (id = 'a day') => sendBy(simulator, 0, { request_id: id });
  const device = simulator.readyFile().accounts[0]?.sims[0]?.device_id ?? '';
  again();
  simulator.clock.advance('10s');
  simulator.sims.patch(device, { active: false });
  again();
  simulator.sims.patch(device, { active: true });
  for (const later of ['23h', '62m']) {
    simulator.clock.advance(later);
    again();
  }
  sendBy(simulator, 0, { send_at: isoTime(simulator.clock.now() - minuteMs) });
  simulator.sims.patch(device, { polling: 'external' });
  const { message_id: id } = JSON.parse(again('handed out').body);
  for (let poll = 0; poll < 4; poll++) {
    ask(simulator, 0, `/api/devices/${device}/tasks/`);
    simulator.clock.advance('10s');
    ask(simulator, 0, `/api/v1/sms/${id}/`);
  }
  simulator.sims.patch(device, { polling: 'simulated' });
}

/**
 * Exceeds each limit: twice by a burst, with a request a second until some pass again; then by a
 * steady load a little above the limit. The harness makes one request more than a limit allows,
 * which shows nothing if clocks may be wrong.
 */
export function exceedLimits(simulator: Simulator): void {
  const device = simulator.readyFile().accounts[0]?.sims[0]?.device_id;
  const received = '/api/v1/sms/received/';
  const limits: readonly (readonly [path: string, limit: number])[] = [
    ...Object.values(sendPaths).map((path) => [path, 120] as const),
    [received, 120],
    [`/api/devices/${device}/tasks/`, 60],
  ];
  const repeat = (count: number, everyMs: number, act: (index: number) => void) => {
    for (let index = 0; index < count; index++) {
      if (everyMs > 0) simulator.clock.advance(everyMs);
      act(index);
    }
  };
  simulator.clock.advance('150s');
  const { message_id: id } = JSON.parse(ask(simulator, 0, sendPaths.send).body);
  for (const [path, limit] of limits) {
    for (const everyMs of [0, 50]) {
      // Until 15 s after the start of a minute.
      simulator.clock.advance(75_000 - (simulator.clock.now() % 60_000));
      repeat(150, everyMs, (index) => {
        ask(simulator, 0, path);
        // Reads and other accounts are not refused meanwhile.
        if (index > 145) ask(simulator, 0, `/api/v1/sms/${id}/`);
      });
      repeat(75, 1_000, (elapsedSeconds) => {
        ask(simulator, 0, path);
        if (elapsedSeconds < 3) for (const other of [path, received]) ask(simulator, 1, other);
      });
      simulator.clock.advance('150s');
    }
    repeat(limit * 1.2, Math.floor(56_000 / limit), () => ask(simulator, 0, path));
    simulator.clock.advance('150s');
  }
}

/** A request by the account at this index. */
function ask(simulator: Simulator, account: number, path: string): ApiReply {
  const { api_key: key, sims = [] } = simulator.readyFile().accounts[account] ?? {};
  const more = { authorization: bearer(key), clientIp: '127.0.0.1' };
  const fields = { to: '+12025550154', from: sims[0]?.number, message: 'm' };
  const isSend = path.endsWith('/send/');
  return simulator.handle(isSend ? postTo(path, fields, more) : requestTo(path, more));
}
