/**
 * `smstwin health` of the executable: the health check of a container that has no shell. Exits with
 * 0 if the control port of this machine answers.
 */
import { isServiceAddress } from '#io/given-flags.ts';
import { routeOf } from '#src/operations/table.ts';

const { SMSTWIN_CONTROL_PORT: given = '', SMSTWIN_CONTROL_TOKEN: token } = process.env;
const port = given === '' || isServiceAddress(given) ? '8081' : given;
const headers: Record<string, string> =
  token === undefined ? {} : { authorization: `Bearer ${token}` };
fetch(`http://127.0.0.1:${port}${routeOf('simulator.health').path}`, { headers }).then(
  ({ ok }) => process.exit(ok ? 0 : 1),
  () => process.exit(1),
);
