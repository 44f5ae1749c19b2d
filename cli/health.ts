/**
 * `smstwin health` of the executable: the health check of a container that has no shell. Exits with
 * 0 if the control port of this machine says that it is ready.
 */
import { isServiceAddress } from '#io/given-flags.ts';

const { SMSTWIN_CONTROL_PORT: given = '' } = process.env;
const port = given === '' || isServiceAddress(given) ? '8081' : given;
fetch(`http://127.0.0.1:${port}/control/ready`).then(
  ({ ok }) => process.exit(ok ? 0 : 1),
  () => process.exit(1),
);
