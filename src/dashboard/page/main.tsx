/**
 * The dashboard's entry. It shows what the simulator does, live, and offers its operations, all
 * through the control port that served it.
 */
import { render } from 'preact';
import { followClock } from './clock.ts';
import { followEvents } from './events.ts';
import { followAddress } from './route.ts';
import { Shell } from './shell.tsx';

const place = document.getElementById('page');
if (place !== null) {
  place.replaceChildren();
  followAddress();
  followClock();
  followEvents();
  render(<Shell />, place);
}
