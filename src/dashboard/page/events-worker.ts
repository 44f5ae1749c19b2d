/**
 * The SharedWorker of all tabs that show one world. It holds their one event stream; the worker's
 * name is the stream's address.
 */
import { EventDesk, type Wish } from './event-desk.ts';

interface Connecting {
  readonly ports: readonly MessagePort[];
}

// The type library of a page does not include a worker's global scope.
const scope = globalThis as unknown as {
  readonly name: string;
  onconnect: (event: Connecting) => void;
};
const desk = new EventDesk(scope.name);

scope.onconnect = ({ ports }) => {
  for (const port of ports) {
    const say = desk.join((news) => port.postMessage(news));
    port.onmessage = ({ data }: MessageEvent<Wish>) => say(data);
  }
};
