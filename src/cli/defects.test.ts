import { expect, test } from 'vitest';
import { UsageError } from '../config/command-error.ts';
import { defectList, defectNotice, simulationWith } from './defects.ts';
import { newCommand, readFlags } from './flags.ts';
import { addServeFlags, serveOptions } from './serve-options.ts';

function read(argv: readonly string[], env: Record<string, string> = {}) {
  const command = newCommand('serve', '', { out: () => {}, error: () => {}, env, version: '1' });
  addServeFlags(command);
  readFlags(command, argv, env);
  return serveOptions(command);
}

test('a flag or the environment selects a defect by name', async () => {
  expect((await read([])).defect).toBeUndefined();
  expect((await read(['--defect', 'limit-119'])).defect).toBe('limit-119');
  expect((await read([], { SMSTWIN_DEFECT: 'limit-121' })).defect).toBe('limit-121');
});

test('an unknown defect is refused in one line', () => {
  expect(() => read(['--defect', 'limit-118'])).toThrow(UsageError);
  expect(() => read(['--defect', 'limit-118'])).toThrow(/--list-defects/);
});

test('the list has one line per defect with the rule that it breaks', () => {
  expect(defectList()).toMatch(/^read-foreign-403 +READ-2 +another account's message /m);
});

test('a server with a defect announces it', () => {
  expect(defectNotice('limit-119')).toContain('LIMIT-1');
});

test('the default is the simulator without a defect', async () => {
  expect(await simulationWith(undefined)).toEqual({});
  expect(await simulationWith('limit-119')).toHaveProperty('simulation');
});
