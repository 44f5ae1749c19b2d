/**
 * `smstwin assumptions`: prints each assumption (a question that the document leaves open) with its
 * default and every permitted answer.
 */
import { addFlags, type CommandIo, newCommand, readFlags } from '#io/flags.ts';
import { table } from '#io/table.ts';
import { permittedAnswers } from '#src/config/assumption-text.ts';
import { assumptionLedger, assumptionNames } from '#src/sim/assumptions.ts';

export async function assumptions(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand('assumptions', 'Print what the document leaves open.', io);
  addFlags(command, [{ flag: '--json', about: 'print JSON' }]);
  if (readFlags(command, argv, io.env) === 'answered') return 0;
  io.out(command.opts()['json'] === true ? asJson() : asText());
  return 0;
}

function asJson(): string {
  const rows = assumptionNames.map((name) => {
    const { open, answers, default: fallback } = assumptionLedger[name];
    return { name, open, default: fallback, answers, permitted: permittedAnswers(name) };
  });
  return `${JSON.stringify(rows, null, 2)}\n`;
}

function asText(): string {
  const rows = assumptionNames.map((name) => {
    const { open, default: fallback } = assumptionLedger[name];
    return [name, shown(fallback), permittedAnswers(name).replace(/^one of |"/g, ''), open];
  });
  const head = ['NAME', 'DEFAULT', 'PERMITTED', 'WHAT THE DOCUMENT LEAVES OPEN'];
  return `${table([head, ...rows])}\nSet one with: smstwin serve --assume name=value\n`;
}

function shown(answer: unknown): string {
  return typeof answer === 'object' && !Array.isArray(answer) ? 'none' : String(answer);
}
