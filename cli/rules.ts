/**
 * `smstwin rules`: prints the rules that the document states and the harness checks; with
 * `--client`, the client rules that the referee judges.
 */

import { clientRules, rules as ledger, type RuleId } from '#contract/rules.ts';
import { addFlags, type CommandIo, newCommand, readFlags } from '#io/flags.ts';
import { table } from '#io/table.ts';
import { shown } from '#judging/recorded/shown-rules.ts';
import { clientRulesTable } from './referee/referee-text.ts';

export async function rules(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand('rules', 'Print the rules that the document states.', io);
  addFlags(command, [
    { flag: '--client', about: 'print the client rules instead' },
    { flag: '--json', about: 'print JSON' },
  ]);
  if (readFlags(command, argv, io.env) === 'answered') return 0;
  if (command.opts()['client'] === true) {
    io.out(command.opts()['json'] === true ? jsonText(clientRules) : clientRulesTable());
    return 0;
  }
  const rows = ledger.map(({ id, sentence }) => [id, trafficShows(id), sentence]);
  const text = table([['RULE', 'IN TRAFFIC', 'WHAT HOLDS'], ...rows]);
  const listed = ledger.map((rule) => ({ ...rule, traffic: trafficShows(rule.id) }));
  io.out(command.opts()['json'] === true ? jsonText(listed) : text);
  return 0;
}

/** Whether `conform --traffic` can check the rule; `complete`: only in files of all traffic. */
function trafficShows(id: RuleId): 'yes' | 'complete' | 'no' {
  const evidence = shown[id];
  if (evidence === undefined) return 'no';
  return evidence.needsAll ? 'complete' : 'yes';
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
