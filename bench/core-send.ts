/**
 * Measures a send without a socket: microseconds of `simulator.handle()` without a request_id, with
 * a fresh one, replayed, read and refused.
 * Run: node --expose-gc --import tsx bench/core-send.ts
 */
import { type ApiRequest, createSimulator, type SettingsInput } from '../src/simulator.ts';
import { median } from './median.ts';
import { sendRequest } from './servers/preload.ts';

const rounds = 5;
const calls = 60_000;
const from = '+12025550101';
const free: SettingsInput = {
  noLimits: true,
  world: { accounts: [{ name: 'bench', sims: [{ number: from, polling: 'external' }] }] },
};

interface Question {
  readonly name: string;
  readonly settings: SettingsInput;
  readonly request: (base: ApiRequest, ordinal: number, ids: readonly string[]) => ApiRequest;
}

const questions: readonly Question[] = [
  { name: 'send', settings: free, request: (base) => base },
  {
    name: 'send, fresh request_id',
    settings: free,
    request: (base, n) => ({
      ...base,
      body: `${String(base.body).slice(0, -1)},"request_id":"id-${String(n).padStart(9, '0')}"}`,
    }),
  },
  {
    name: 'read',
    settings: free,
    request: (base, n, ids) => ({
      ...base,
      method: 'GET',
      path: `/api/v1/sms/${ids[(n * 7_919) % ids.length]}/`,
      body: '',
    }),
  },
  { name: '429', settings: { ...free, noLimits: false }, request: (base) => base },
];

async function cost({ settings, request }: Question): Promise<number> {
  const simulator = await createSimulator(settings);
  const apiKey = simulator.readyFile().accounts[0]?.api_key ?? '';
  const base = sendRequest(apiKey, { to: '+12025550199', from, message: 'Your code is 12345.' });
  const { body } = simulator.handle(base);
  const id = (JSON.parse(body) as { message_id: string }).message_id;
  const requests = Array.from({ length: calls }, (_, n) => request(base, n, [id]));
  globalThis.gc?.();
  const before = process.cpuUsage();
  let bytes = 0;
  for (const one of requests) bytes += simulator.handle(one).body.length;
  const { user, system } = process.cpuUsage(before);
  await simulator.close();
  if (bytes === 0) throw new Error('nothing was answered');
  return (user + system) / calls;
}

const figures = new Map<string, number[]>();
for (let round = 0; round <= rounds; round++) {
  for (const question of round % 2 === 0 ? questions : questions.toReversed()) {
    const micros = await cost(question);
    if (round > 0) figures.set(question.name, [...(figures.get(question.name) ?? []), micros]);
  }
}
for (const [name, micros] of figures) {
  const all = micros.map((one) => one.toFixed(2)).join(' ');
  process.stdout.write(`${name.padEnd(24)}${median(micros).toFixed(2)} CPU us  (${all})\n`);
}
