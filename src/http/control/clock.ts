/**
 * The clock on the control port.
 */
import { clock } from '../../operations/clock.ts';
import { routesOf } from './route.ts';

export const clockRoutes = routesOf(clock);
