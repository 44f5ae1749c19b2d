/** Each setting of `src/config/settings.ts` can be given by a flag, and to a new world. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { commandsOf } from '#cli/subcommands.ts';
import { settingNames } from '#src/config/settings.ts';
import { worlds } from '#src/operations/worlds/worlds.ts';
import { newIo } from '../testkit/io-fixture.ts';

const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** The flags of the settings that are not called by the setting's name. */
const otherFlags: Readonly<Record<string, string>> = {
  retryAfterSeconds: '--retry-after',
  assumptions: '--assume',
  limits: '--limit',
};

const [serve] = await commandsOf(['serve'], newIo().io);
const flags = serve?.options.map(({ long }) => long);

// The first world has no name.
test.each(settingNames.filter((name) => name !== 'name'))('serve has a flag for %s', (name) => {
  expect(flags).toContain(otherFlags[name] ?? `--${kebab(name)}`);
});

/** What a new world takes from its server alone. */
const ofServer = ['retryAfterSeconds', 'trustProxy', 'log'];

test.each(settingNames.filter((name) => !ofServer.includes(name)))(
  'POST /control/worlds takes %s',
  (name) => {
    const schema = z.toJSONSchema(worlds.create.input as z.ZodType, { io: 'input' });
    expect(Object.keys(schema.properties ?? {})).toContain(kebab(name).replaceAll('-', '_'));
  },
);
