/**
 * Starts the dashboard in the browser. The page shows live what the simulator does and offers its
 * operations, all through the control port that served it. `shell.tsx` draws the page.
 */
import { effect } from '@preact/signals';
import { render } from 'preact';
import { followClock } from './clock.ts';
import { tokenIsMissing } from './control.ts';
import { connection, followEvents } from './events.ts';
import { followAddress } from './route.ts';
import { Shell } from './shell.tsx';

const container = document.getElementById('page');
if (container !== null) {
  followAddress();
  followEvents();
  // Waits for the stream of events: what was read before it opened would have to be read again.
  let isStarted = false;
  effect(() => {
    if (isStarted || (connection.value === 'connecting' && !tokenIsMissing.value)) return;
    isStarted = true;
    queueMicrotask(() => {
      container.replaceChildren();
      followClock();
      render(<Shell />, container);
    });
  });
}
