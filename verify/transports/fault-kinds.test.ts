import { expect, test } from 'vitest';
import {
  faults,
  mistakesOver,
  type Sender,
  senderTo,
  startWithFaults,
  whatToMend,
} from '../testkit/fault-looks.ts';
import { kinds } from '../testkit/transport-fixture.ts';

const places: Readonly<Record<string, () => Promise<Sender>>> = {
  fetch: async () => {
    const simulator = startWithFaults(faults);
    return senderTo(simulator, 'http://localhost', simulator.fetch);
  },
  ...Object.fromEntries(
    kinds.map((transport) => [
      transport,
      async () => {
        const simulator = startWithFaults(faults);
        return senderTo(simulator, (await simulator.listen({ transport })).baseUrl);
      },
    ]),
  ),
};

test.each(Object.keys(places))('%s: each kind of fault looks like no other', async (place) => {
  const send = (await places[place]?.()) ?? expect.fail(place);
  const where = 'src/http/transport/answers.ts, or how this transport implements `Outlet`';
  expect(await mistakesOver(place, send), whatToMend(where)).toEqual([]);
});
