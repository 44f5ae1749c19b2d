/**
 * The SharedWorker of all tabs that show this simulator. It holds their one stream of events.
 */
import { EventDesk, type Wish } from './event-desk.ts';
import { routeOf } from './routes.ts';

interface Connecting {
  readonly ports: readonly MessagePort[];
}

const desk = new EventDesk(routeOf('events.stream').path);
// The compiler's types of a page know no worker's scope.
const scope = globalThis as unknown as { onconnect: (event: Connecting) => void };

scope.onconnect = ({ ports }) => {
  for (const port of ports) {
    const say = desk.join((news) => port.postMessage(news));
    port.onmessage = ({ data }: MessageEvent<Wish>) => say(data);
  }
};
