/**
 * The dashboard's entry. It shows what the simulator does, live, and offers its operations, all
 * through the control port that served it.
 */
import { effect } from '@preact/signals';
import { render } from 'preact';
import { followClock } from './clock.ts';
import { tokenIsMissing } from './control.ts';
import { connection, followEvents } from './events.ts';
import { followAddress } from './route.ts';
import { Shell } from './shell.tsx';

const place = document.getElementById('page');
if (place !== null) {
  followAddress();
  followEvents();
  // What is read once the stream is open need not be read again.
  let isStarted = false;
  effect(() => {
    if (isStarted || (connection.value === 'connecting' && !tokenIsMissing.value)) return;
    isStarted = true;
    queueMicrotask(() => {
      place.replaceChildren();
      followClock();
      render(<Shell />, place);
    });
  });
}
