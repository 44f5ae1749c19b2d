/**
 * Uses everything once, so that lazily created code and buffers exist before the measurement.
 */
import type { ServedProcess } from '../testkit/served-process.ts';
import type { Call, Caller } from './caller.ts';
import { Control } from './control.ts';
import { sendPaths } from './routes.ts';
import { accountsOf, ordinaryRecipient } from './world.ts';

const rounds = 20;

export async function warmUp(caller: Caller, served: ServedProcess): Promise<void> {
  const control = new Control(caller, served.controlUrl);
  for (const { name, keys, numbers } of accountsOf(served.ready)) {
    const send = JSON.stringify({ from: numbers[0], to: ordinaryRecipient, message: name });
    const calls: Call[] = Object.values(sendPaths).map((path) => ({
      method: 'POST',
      path,
      key: keys[0],
      body: send,
    }));
    calls.push({ method: 'GET', path: '/api/v1/sms/received/', key: keys[0] });
    calls.push({ method: 'GET', path: '/api/v1/account/stats/', key: keys[0] });
    for (let round = 0; round < rounds; round++) {
      await Promise.all(calls.map((call) => caller.call(served.baseUrl, call)));
    }
  }
  await control.messages();
  await control.restore(await control.snapshot());
}
