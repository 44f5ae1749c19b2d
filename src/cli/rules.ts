/**
 * `smstwin rules`: prints the rules that the document states and the harness checks.
 */
import { rules as ledger } from '../../conformance/rules.ts';
import { addFlags, type CommandIo, newCommand, readFlags } from './flags.ts';
import { table } from './table.ts';

export async function rules(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand('rules', 'Print the rules that the document states.', io);
  addFlags(command, [{ flag: '--json', about: 'as JSON' }]);
  if (readFlags(command, argv, io.env) === 'answered') return 0;
  const rows = ledger.map(({ id, sentence }) => [id, sentence]);
  const text = table([['RULE', 'WHAT HOLDS'], ...rows]);
  io.out(command.opts()['json'] === true ? `${JSON.stringify(ledger, null, 2)}\n` : text);
  return 0;
}
