/**
 * The grammar of flags is the same for every flag of every command. The flags come from the
 * commands, so a new one is tested too.
 */
import type { Command, Option } from 'commander';
import { expect, test } from 'vitest';
import { UsageError } from '#io/command-error.ts';
import { readFlags } from '#io/flags.ts';
import { passedOn, variableOf } from '#io/given-flags.ts';
import { newIo } from '#verify/testkit/io-fixture.ts';
import { commandsOf, subcommands } from './subcommands.ts';

/** A value that each placeholder accepts. */
const accepted: Readonly<Record<string, string>> = {
  '<dir>': '.',
  '<digest,digest>': 'key:0123456789ab',
  '<duration>': '2s',
  '<endpoint=N|off>': 'send=5',
  '<file>': '/tmp/smstwin-none',
  '<folder>': '.',
  '<format>': 'text',
  '<format=file>': 'json=/tmp/smstwin-none',
  '<host>': '::1',
  '<i/N>': '0/3',
  '<ISO>': '2026-01-01T00:00:00Z',
  '<key>': 'k',
  '<line>': 'X-Caller: a',
  '<list>': 'limit=5',
  '<kind>': 'self-signed',
  '<kind=file>': 'json=/tmp/smstwin-none',
  '<mode>': 'manual',
  '<n>': '5',
  '<name>': 'name',
  '<name: value>': 'X-A: b',
  '<number>': '+12025550101',
  '<old>': '/tmp/smstwin-none',
  '<path>': '/other',
  '<port>': '0',
  '<report.json>': '/tmp/smstwin-none',
  '<rule>': 'SEND-4',
  '<seconds>': 'real',
  '<size>': '1GiB',
  '<status>': '429',
  '<text>': 'text',
  '<threshold>': 'p99<50ms',
  '<token>': 't',
  '<url>': 'http://127.0.0.1:1',
  '<value>': 'k',
  '<what>': 'text',
};
/** Values for flags whose placeholder is not enough. */
const acceptedBy: Readonly<Record<string, string>> = {
  '--assume': 'replayScope=api_key',
  '--caller': 'X-Caller: a, b',
  '--env': 'URL=base_url',
  '--faults': 'throttle',
  '--method': 'GET',
  '--profile': 'full',
  '--redact': 'numbers,text',
  '--scenario': 'read',
  '--throttle-waits': '2s',
  '--transport': 'node',
};

const names = Object.keys(subcommands);
const declared = await commandsOf(names, newIo().io);
const flags = declared.flatMap((command) =>
  command.options
    .filter(({ long }) => long !== '--version')
    .map((option) => ({ name: command.name(), flag: option.long ?? '', option })),
);
const valued = flags.filter(({ option }) => option.required);

function valueFor({ flags: text, long }: Option): string {
  const placeholder = /<.*>/.exec(text)?.[0] ?? '';
  return acceptedBy[long ?? ''] ?? accepted[placeholder] ?? expect.unreachable(text);
}

/** A command that has read nothing yet. */
async function fresh(name: string): Promise<Command> {
  const [command] = await commandsOf([name], newIo().io);
  return command ?? expect.unreachable(name);
}

/** What a command needs besides flags. */
const positionals: Readonly<Record<string, readonly string[]>> = {
  audit: ['http://127.0.0.1:1'],
  replay: ['journal'],
};

/** The line with which a command refuses arguments and variables; undefined if it takes them. */
async function refusal(name: string, argv: readonly string[], env = {}): Promise<unknown> {
  try {
    const positional = positionals[name] ?? [];
    readFlags(await fresh(name), [...argv, ...positional], env);
    return undefined;
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
}

test('every command declares its flags', () => {
  expect(declared.map((command) => command.name())).toEqual(names);
  expect(flags.length).toBeGreaterThan(100);
});

test.each(valued)('$name $flag takes a value, and none that is empty', async (row) => {
  const { name, flag, option } = row;
  const value = valueFor(option);
  expect(await refusal(name, [flag, value])).toBeUndefined();
  expect(await refusal(name, [`${flag}=${value}`])).toBeUndefined();
  expect(await refusal(name, [flag, ''])).toMatch(new RegExp(`^${flag}: .*the value is empty$`));
  expect(await refusal(name, [`${flag}=`])).toMatch(new RegExp(`^${flag}: .*the value is empty$`));
});

test.each(valued)('$name $flag overrides its variable, which is not read', async (row) => {
  const { name, flag, option } = row;
  const variable = variableOf(flag);
  const alone = await refusal(name, [], { [variable]: '\u0001' });
  if (alone !== undefined) expect(alone).toMatch(new RegExp(`^${variable}\\b`));
  expect(await refusal(name, [flag, valueFor(option)], { [variable]: '\u0001' })).toBeUndefined();
  expect(await refusal(name, [], { [variable]: '' })).toBeUndefined();
});

test.each(valued)(
  '$name $flag may be given again: the last one wins, or both count',
  async (row) => {
    const { name, flag, option } = row;
    const [once, again] = [await fresh(name), await fresh(name)];
    const positional = positionals[name] ?? [];
    readFlags(once, [flag, valueFor(option), ...positional], {});
    readFlags(again, [flag, valueFor(option), `${flag}=${valueFor(option)}`, ...positional], {});
    const [one, both] = [once, again].map((command) =>
      command.getOptionValue(option.attributeName()),
    );
    const expected = Array.isArray(option.defaultValue) ? [...one, ...one] : one;
    expect(JSON.stringify(both)).toBe(JSON.stringify(expected));
  },
);

test.each(valued)('$name $flag means the same as a variable', async ({ name, flag, option }) => {
  const value = valueFor(option);
  const [asFlag, asVariable] = [await fresh(name), await fresh(name)];
  const positional = positionals[name] ?? [];
  readFlags(asFlag, [flag, value, ...positional], {});
  readFlags(asVariable, positional, { [variableOf(flag)]: value });
  const [given, set] = [asFlag, asVariable].map((command) =>
    [command.getOptionValue(option.attributeName())].flat(2),
  );
  expect(JSON.stringify(given)).toBe(JSON.stringify(set));
  const except: readonly string[] = [];
  expect(passedOn({ from: asVariable, to: asVariable, except }).length).toBeGreaterThan(0);
});

test.each(flags.filter(({ option }) => !option.required))(
  '$name $flag is a switch: no value, 1 or 0 as a variable',
  async ({ name, flag }) => {
    const variable = variableOf(flag);
    expect(await refusal(name, [`${flag}=1`])).toBe(`${flag} takes no value`);
    expect(await refusal(name, [flag, flag])).toBeUndefined();
    expect(await refusal(name, [], { [variable]: 'x' })).toBe(
      `${variable} x: expected 1, true, yes, on or 0, false, no, off`,
    );
    expect(await refusal(name, [flag], { [variable]: 'x' })).toBeUndefined();
    expect(await refusal(name, [], { [variable]: '0' })).toBeUndefined();
  },
);

test.each(flags)('$name $flag is suggested for a slip', async ({ name, flag }) => {
  const slip = `${flag}x`;
  const line = await refusal(name, [slip, 'secret']);
  expect(line).toMatch(new RegExp(`^unknown option '${slip}' \\(Did you mean .*\\)$`));
  expect(line).not.toContain('secret');
});

const durations = valued.filter(({ option }) => option.flags.endsWith('<duration>'));

test.each(durations)('$name $flag takes a duration with its unit', async ({ name, flag }) => {
  expect(durations.length).toBeGreaterThan(5);
  expect(await refusal(name, [flag, '1.5s'])).toBeUndefined();
  for (const text of ['10', '0', '1 s', '-1s', '1e3ms', '9999d', 'NaN', '1w']) {
    expect(await refusal(name, [flag, text])).toMatch(
      new RegExp(`^${flag} ${text}: expected a duration from \\d+m?s to \\d+[mhd], such as 10s$`),
    );
  }
});

test.each(names)('the help of %s fits 80 columns, and many flags are in groups', async (name) => {
  const { io, texts } = newIo();
  expect(await subcommands[name]?.(['--help'], io)).toBe(0);
  const wide = texts.out.split('\n').filter((line) => line.length > 80);
  expect(wide).toEqual([]);
  const groups = texts.out.match(/^[A-Z].*:$/gm) ?? [];
  const count = declared.find((command) => command.name() === name)?.options.length ?? 0;
  expect(groups.length).toBeGreaterThan(count > 12 ? 2 : 0);
});
