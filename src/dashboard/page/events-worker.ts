/**
 * The SharedWorker of all tabs that show one world with one token. It holds their one event stream,
 * which its name states.
 */
import { EventDesk, type Stream, type Wish } from './event-desk.ts';

interface Connecting {
  readonly ports: readonly MessagePort[];
}

// The type library of a page does not include a worker's global scope.
const scope = globalThis as unknown as {
  readonly name: string;
  onconnect: (event: Connecting) => void;
};
const desk = new EventDesk(JSON.parse(scope.name) as Stream);

scope.onconnect = ({ ports }) => {
  for (const port of ports) {
    const say = desk.join((news) => port.postMessage(news));
    port.onmessage = ({ data }: MessageEvent<Wish>) => say(data);
  }
};
