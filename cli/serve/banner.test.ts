import { expect, test } from 'vitest';
import type { SettingsInput } from '#src/config/settings.ts';
import { type ReadyFile, Simulator } from '#src/simulator.ts';
import { banner } from './banner.ts';
import type { ServeOptions } from './serve-options.ts';

async function bannerOf(
  settings: SettingsInput,
  control: ServeOptions['control'] = false,
  env: Readonly<Record<string, string>> = {},
) {
  const simulator = new Simulator(settings);
  const served: ReadyFile = {
    ...simulator.readyFile(),
    base_url: 'http://127.0.0.1:1',
    control_url: control === false ? null : 'http://127.0.0.1:2',
  };
  await simulator.close();
  return { served, text: banner(served, { settings, control }, { version: '1.2.3', env }) };
}

const number = '+12025550101';

test('the banner has at most twelve lines and sends from the first SIM', async () => {
  const { served, text } = await bannerOf({});
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(12);
  expect(text).toContain(`${served.accounts[0]?.api_key} (acme)`);
  expect(text).toContain('"from":"+12025550101"');
});

test.each([{ connected: false }, { active: false }])(
  'SVC-1 for an account whose only SIM is %j the banner shows the pool number',
  async (state) => {
    const world = {
      accounts: [{ name: 'a', sims: [{ number, ...state }] }],
      pool: [{ number: '+12025550190' }],
    };
    expect((await bannerOf({ world })).text).toContain('"from":"+12025550190"');
  },
);

test('ERR-2 the banner skips a deactivated SIM', async () => {
  const sims = [
    { number, active: false },
    { number: '+12025550102', connected: true },
  ];
  expect((await bannerOf({ world: { accounts: [{ name: 'a', sims }] } })).text).toContain(
    '"from":"+12025550102"',
  );
});

test.each([
  ['no account', {}],
  ['no key', { accounts: [{ name: 'a', keys: [], sims: [{ number }] }] }],
  ['no working number', { accounts: [{ name: 'a', sims: [{ number, active: false }] }] }],
])('for a world with %s the banner says so and shows no command', async (_, world) => {
  const { text } = await bannerOf({ world });
  expect(text).toContain('This world has no key with a number to send from.');
  expect(text).not.toContain('curl');
});

const controlled = { host: '::', port: 2, token: 'T0KEN' };

test('for a manual clock the banner shows a working command that moves it', async () => {
  const { text } = await bannerOf({ clock: 'manual' }, controlled);
  expect(text).toContain('curl -sS http://127.0.0.1:2/control/clock/advance');
  expect(text).toContain('"Authorization: Bearer T0KEN"');
});

test('a token from the environment is not printed: the command names the variable', async () => {
  const env = { SMSTWIN_CONTROL_TOKEN: 'T0KEN' };
  const { text } = await bannerOf({ clock: 'manual' }, controlled, env);
  expect(text).toContain('"Authorization: Bearer $SMSTWIN_CONTROL_TOKEN"');
  expect(text).not.toContain('T0KEN');
});

test('commands quote the URL of an IPv6 address, which a shell would expand', async () => {
  const { served } = await bannerOf({ clock: 'manual' }, controlled);
  const urls = { base_url: 'http://[::1]:1', control_url: 'http://[::1]:2' };
  const options = { settings: { clock: 'manual' }, control: controlled } as const;
  const text = banner({ ...served, ...urls }, options, { version: '1.2.3', env: {} });
  const commands = text.split('\n').filter((line) => line.includes('curl'));
  expect(commands).toHaveLength(3);
  for (const command of commands) expect(command).toMatch(/curl -sS 'http:\/\/\[::1\]:[^']+'/);
});

test("the banner says why Node's server runs where the user chose none", async () => {
  expect((await bannerOf({ clock: 'scaled' })).text).toContain(
    "on Node's HTTP server, which shows simulated time in Date",
  );
  expect((await bannerOf({})).text).not.toContain("Node's");
});

test('ERR-3 for a scaled clock the banner explains Retry-After and send_at', async () => {
  const { text } = await bannerOf({ clock: 'scaled', rate: 60 });
  expect(text).toContain('Retry-After counts simulated seconds (--retry-after real: real ones);');
  expect(text).toContain('send_at is compared with simulated time.');
  const real = await bannerOf({ clock: 'scaled', retryAfterSeconds: 'real' });
  expect(real.text).toContain('Simulated time runs 60 times as fast as real time.');
  expect(real.text).toContain('Retry-After counts real seconds; send_at');
});
