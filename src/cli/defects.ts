/**
 * `serve --defect NAME` and `serve --list-defects`: selects a planted defect, or lists them all.
 */
import { defects } from '../defects/catalogue.ts';
import type { SimulatorOptions } from '../simulator.ts';
import { ValueError } from './flags.ts';
import { table } from './table.ts';

export function defectValue(text: string): string {
  if (defects.some(({ name }) => name === text)) return text;
  throw new ValueError('no defect has this name; run smstwin serve --list-defects');
}

/** Every defect with the rule that it breaks. */
export function defectList(): string {
  const rows = defects.map(({ name, rule, does }) => [name, rule, does]);
  return table([['DEFECT', 'BREAKS', 'WHAT SUCH A SERVER DOES'], ...rows]);
}

/** The notice that a server with a defect prints. */
export function defectNotice(defect: string): string {
  const { rule = '', does = '' } = defects.find(({ name }) => name === defect) ?? {};
  return `this server is wrong on purpose (--defect ${defect}, ${rule}): ${does}`;
}

/** The options that plant the defect in a simulator; empty without a defect. */
export async function simulationWith(
  defect: string | undefined,
): Promise<Pick<SimulatorOptions, 'simulation'>> {
  if (defect === undefined) return {};
  const { wrongSimulation } = await import('../defects/all.ts');
  return { simulation: wrongSimulation(defect) };
}
