/**
 * The SharedWorker of all tabs that show one world with one token. It holds their one stream of
 * events. The worker's name is the address of the stream as JSON, so each stream has one worker.
 */
import { type ListenRequest, SharedEvents, type StreamAddress } from './shared-events.ts';

// The type library of a page does not include a worker's global scope.
const scope = globalThis as unknown as {
  readonly name: string;
  onconnect: (event: { readonly ports: readonly MessagePort[] }) => void;
};
const sharedEvents = new SharedEvents(JSON.parse(scope.name) as StreamAddress);

scope.onconnect = ({ ports }) => {
  for (const port of ports) {
    const request = sharedEvents.join((news) => port.postMessage(news));
    port.onmessage = ({ data }: MessageEvent<ListenRequest>) => request(data);
  }
};
