/**
 * `smstwin rules` and `smstwin assumptions`: print what the document states and the harness checks,
 * what the referee judges, and the questions that the document leaves open.
 */

import { assumptionNames } from '#contract/assumptions.ts';
import { clientRules, type RuleId, rules as serviceRules } from '#contract/rules.ts';
import { type CommandIo, flag, flagsIn, newCommand } from '#io/flags.ts';
import { table } from '#io/terminal.ts';
import { recordedRules } from '#judging/recorded/recorded-rules.ts';
import { permittedAnswers } from '#src/config/given-assumptions.ts';
import { assumptionLedger } from '#src/sim/assumptions.ts';
import { clientRulesTable } from './referee/referee-summary.ts';

const jsonFlag = flag('--json', 'print JSON');

export async function rules(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand('rules', 'Print the rules that the document states.', io);
  const clientFlag = flag('--client', 'print the client rules instead');
  const flags = flagsIn(command, [clientFlag, jsonFlag], argv, io);
  if (flags === undefined) return 0;
  const { client, json } = flags;
  const listed = serviceRules.map((rule) => ({ ...rule, traffic: trafficShows(rule.id) }));
  if (json) io.out(jsonText(client ? clientRules : listed));
  else if (client) io.out(clientRulesTable());
  else {
    const rows = listed.map(({ id, traffic, sentence }) => [id, traffic, sentence]);
    io.out(table([['RULE', 'IN TRAFFIC', 'WHAT HOLDS'], ...rows]));
  }
  return 0;
}

/** Whether `conform --traffic` can check the rule; `complete`: only if the files have all traffic. */
function trafficShows(id: RuleId): 'yes' | 'complete' | 'no' {
  const evidence = recordedRules[id];
  if (evidence === undefined) return 'no';
  return evidence.needsAll ? 'complete' : 'yes';
}

export async function assumptions(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand('assumptions', 'Print what the document leaves open.', io);
  const flags = flagsIn(command, [jsonFlag], argv, io);
  if (flags === undefined) return 0;
  const listed = assumptionNames.map((name) => {
    const { open, answers, default: fallback } = assumptionLedger[name];
    return { name, open, default: fallback, answers, permitted: permittedAnswers(name) };
  });
  if (flags.json) {
    io.out(jsonText(listed));
    return 0;
  }
  const head = ['NAME', 'DEFAULT', 'PERMITTED', 'WHAT THE DOCUMENT LEAVES OPEN'];
  const rows = listed.map(({ name, open, default: fallback, permitted }) => {
    // A default that is an empty record has no text.
    const isNone = typeof fallback === 'object' && !Array.isArray(fallback);
    return [name, isNone ? 'none' : String(fallback), permitted.replace(/^one of |"/g, ''), open];
  });
  io.out(`${table([head, ...rows])}\nSet one with: smstwin serve --assume name=value\n`);
  return 0;
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
