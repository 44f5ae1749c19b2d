/**
 * Writes a situation as a test file: for Vitest with a simulator in the same process, for pytest
 * with one that the test starts. Either file needs only the package, and nothing of this world.
 */
import { isoTime, secondMs } from '#contract/time.ts';
import type { RunningWorld } from '../running-world.ts';
import type { Situation, Step } from './situation.ts';
import { mostStatuses } from './situation-subject.ts';

/** The packages that the written test imports. In the template, they would look like our own. */
const packages = { own: "'smstwin'", tests: "'vitest'" };

/** How long the test waits for a reply. Long, because a busy machine may be slow. */
const patienceMs = 30_000;
/** How long the test waits for a reply that was lost. */
const lostPatienceMs = 1_000;

type RouteOf = RunningWorld['routeOf'];

export function situationText(
  situation: Situation,
  language: 'vitest' | 'pytest',
  routeOf: RouteOf,
): string {
  return language === 'vitest' ? vitestText(situation) : pytestText(situation, routeOf);
}

/** How long the test waits for any other reply: longer than the longest delay of a fault. */
function timeoutMs({ steps }: Situation): number {
  return patienceMs + Math.max(0, ...steps.map((step) => ('delayMs' in step ? step.delayMs : 0)));
}

/** `write` gives the line of a step; `advance` gives one before it if its time is later. */
function linesOf(
  { steps, startMs, endMs }: Situation,
  advance: (time: string) => string,
  write: (step: Step) => string,
): string[] {
  let nowMs = startMs;
  const advanced = (ms: number) => {
    if (ms === nowMs) return [];
    nowMs = ms;
    return [advance(isoTime(ms))];
  };
  return [...steps.flatMap((step) => [...advanced(step.atMs), write(step)]), ...advanced(endMs)];
}

type Request = Extract<Step, { readonly request: unknown }>;

function pathOf({ request: { path, query } }: Request): string {
  return query === undefined ? path : `${path}?${query}`;
}

function vitestText(situation: Situation): string {
  const { title, settings, startMs, match, statuses, standstill, faultHits, isFinished } =
    situation;
  const options = { ...settings, clock: 'manual', startTime: isoTime(startMs) };
  const steps = linesOf(
    situation,
    (time) => `simulator.clock.advance({ to: '${time}' });`,
    (step) => vitestLine(situation, step),
  );
  return `import { createSimulator } from ${packages.own};
import { expect, test } from ${packages.tests};

test(${json(title)}, async () => {
  const simulator = await createSimulator(${indented(options, 2)});
  const keys = simulator.readyFile().accounts.map(({ api_key }) => api_key);
  // Let your client send here instead. 'lost': it does not get a whole reply.
  const send = async (method, path, key, body, patienceMs = ${timeoutMs(situation)}) => {
    const headers = { authorization: \`Bearer \${key}\`, 'content-type': 'application/json' };
    const signal = AbortSignal.timeout(patienceMs);
    try {
      const reply = await simulator.fetch(\`http://localhost\${path}\`, { method, headers, body, signal });
      const text = await reply.text();
      if (text !== '') JSON.parse(text);
      return reply.status;
    } catch {
      return 'lost';
    }
  };

${steps.map((line) => `  ${line}`).join('\n')}

  const messages = simulator.messages.list(${json({ ...match, limit: mostStatuses })});
  expect(messages.map(({ status }) => status)).toEqual(${json(statuses)});
  expect(simulator.messages.standstills()[0]?.waiting_for ?? '').toBe(${json(standstill)});
  expect(simulator.faults.list().map(({ hits }) => hits)).toEqual(${json(faultHits)});
  // ${redAsLong(situation)}
  const failed = simulator.referee({ partial: ${!isFinished} }).rules.filter(({ verdict }) => verdict === 'failed');
  expect(failed.map(({ id }) => id)).toEqual([]);
  await simulator.close();
});
`;
}

function vitestLine(situation: Situation, step: Step): string {
  if ('operation' in step) {
    const call = `simulator.${step.operation}(${step.args.map(json).join(', ')})`;
    if (step.operation !== 'accounts.createKey') return `${call};`;
    return `keys.push(${call}.key);`;
  }
  const { request, key, seen } = step;
  const body = request.body === undefined ? 'undefined' : bodyText(request.body);
  const patience = seen === 'lost' ? [String(lostPatienceMs)] : [];
  const more = body === 'undefined' && patience.length === 0 ? [] : [body, ...patience];
  const args = [`'${request.method}'`, json(pathOf(step)), keyText(situation, key), ...more];
  const send = `await send(${args.join(', ')})`;
  return `expect(${send}).toBe(${json(seen)});`;
}

function redAsLong({ isFinished }: Situation): string {
  const asWhat = isFinished ? ', if the client sends nothing more' : '';
  return `Red as long as the requests above break a rule for clients${asWhat}.`;
}

/** The expression of a key in the list `keys`: those of the accounts precede created ones. */
function keyText({ settings, steps }: Situation, key: string | undefined): string {
  if (key === undefined) return "'unknown'";
  const { accounts } = settings['world'] as { readonly accounts: readonly { name: string }[] };
  const place = accounts.findIndex(({ name }) => name === key);
  if (place >= 0) return `keys[${place}]`;
  const created = steps.filter(
    (step) => 'operation' in step && step.operation === 'accounts.createKey',
  );
  const createdPlace = created.findIndex((step) => 'keyId' in step && step.keyId === key);
  return `keys[${accounts.length + createdPlace}]`;
}

function json(value: unknown): string {
  return JSON.stringify(value);
}

function indented(value: unknown, depth: number): string {
  return JSON.stringify(value, null, 2).replaceAll('\n', `\n${' '.repeat(depth)}`);
}

/** The expression of a body: `JSON.stringify` of its value, if that gives the same text. */
function bodyText(body: string): string {
  try {
    if (JSON.stringify(JSON.parse(body)) === body) return `JSON.stringify(${body})`;
  } catch {}
  return json(body);
}

function pytestText(situation: Situation, routeOf: RouteOf): string {
  const steps = linesOf(
    situation,
    (time) => `control("POST", "${routeOf('clock.advance').path}", {"to": "${time}"})`,
    (step) => pytestLine(situation, step, routeOf),
  );
  return `${pytestFixture(situation)}

def test_situation(twin):
    ${python(situation.title)}
    keys = [account["api_key"] for account in twin["accounts"]]

${pytestHelpers(situation)}
${steps.map((line) => `    ${line}`).join('\n')}

${pytestAssertions(situation, routeOf)}`;
}

/** The imports, and a fixture that starts the simulator. */
function pytestFixture({ settings, startMs }: Situation): string {
  const { seed, noLimits, assumptions, limits, world } = settings;
  const worldFile = { ...(world as object), assumptions, limits };
  return `import json
import subprocess
import time
import urllib.error
import urllib.request

import pytest

WORLD = json.loads(r"""${indented(worldFile, 0)}""")


@pytest.fixture
def twin(tmp_path):
    """A simulator with the keys and URLs that its ready file names."""
    world, ready = tmp_path / "world.json", tmp_path / "ready.json"
    world.write_text(json.dumps(WORLD))
    flags = ["--port", "0", "--control-port", "0", "--ready-file", str(ready), "--world", str(world)]
    flags += ["--clock", "manual", "--start-time", "${isoTime(startMs)}", "--seed", "${seed}"${noLimits === true ? ', "--no-limits"' : ''}]
    process = subprocess.Popen(["npx", "smstwin", "serve", *flags])
    while not ready.exists():
        assert process.poll() is None, "smstwin ended"
        time.sleep(0.05)
    yield json.loads(ready.read_text())
    process.terminate()
    process.wait()
`;
}

/** The functions of the test that send requests. */
function pytestHelpers(situation: Situation): string {
  return `    def ask(method, url, body, headers={}, patience=${timeoutMs(situation) / secondMs}):
        headers = {"content-type": "application/json", **headers}
        request = urllib.request.Request(url, body, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=patience) as reply:
                return reply.status, reply.read()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read()

    def control(method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        status, text = ask(method, twin["control_url"] + path, data)
        assert status < 400, text
        return json.loads(text or "null")

    def send(method, path, key, body=None, **patience):
        """Let your client send here instead. "lost": it does not get a whole reply."""
        data = None if body is None else body.encode()
        try:
            headers = {"authorization": f"Bearer {key}"}
            status, text = ask(method, twin["base_url"] + path, data, headers, **patience)
            json.loads(text or "null")
            return status
        except (OSError, ValueError, urllib.error.URLError):
            return "lost"
        except Exception as error:  # A reply that is cut in the middle.
            assert "Incomplete" in type(error).__name__ or "Remote" in type(error).__name__
            return "lost"
`;
}

function pytestAssertions(situation: Situation, routeOf: RouteOf): string {
  const { settings, match, statuses, standstill, faultHits, isFinished } = situation;
  const query = new URLSearchParams({ ...match, limit: String(mostStatuses) });
  return `    messages = control("GET", ${json(`${routeOf('messages.page').path}?${query}`)})["messages"]
    assert [message["status"] for message in messages] == ${json(statuses)}
    standstills = control("GET", "${routeOf('messages.standstills').path}")["standstills"]
    assert [each["waiting_for"] for each in standstills][:1] == ${json(standstill === '' ? [] : [standstill])}
    faults = control("GET", "${routeOf('faults.list').path}")["faults"]
    assert [fault["hits"] for fault in faults] == ${json(faultHits)}
    # ${redAsLong(situation)}
    rules = control("GET", "${routeOf('referee.report').path}?partial=${!isFinished}")["rules"]
    assert [rule["id"] for rule in rules if rule["verdict"] == "failed"] == []
${settings['name'] === undefined ? '' : '    # The ids of a created world are drawn with its name.\n'}`;
}

function pytestLine(situation: Situation, step: Step, routeOf: RouteOf): string {
  if ('operation' in step) {
    const [first, second] = step.args;
    // Of the arguments of a method, an id comes first.
    const hasId = typeof first === 'string';
    const { method, path } = routeOf(step.operation, hasId ? first : '');
    const call = `control("${method}", ${json(path)}, ${python(hasId ? second : first)})`;
    return step.operation === 'accounts.createKey' ? `keys.append(${call}["key"])` : call;
  }
  const { request, key, seen } = step;
  const keyExpression = keyText(situation, key).replaceAll("'", '"');
  const given = request.body === undefined ? '' : `, ${python(request.body)}`;
  const body = seen === 'lost' ? `${given}, patience=${lostPatienceMs / secondMs}` : given;
  return `assert send("${request.method}", ${json(pathOf(step))}, ${keyExpression}${body}) == ${json(seen)}`;
}

/** A JSON value as a literal of Python. */
function python(value: unknown): string {
  if (value === undefined || value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(python).join(', ')}]`;
  if (typeof value !== 'object') return json(value);
  return `{${Object.entries(value)
    .map(([name, part]) => `${json(name)}: ${python(part)}`)
    .join(', ')}}`;
}
