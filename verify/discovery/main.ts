/**
 * `npm run discovery -- odd`: discovers a foreign server, and prints the probes that a simulator
 * with the discovered assumptions answers differently, and the assumptions file.
 */
import { variations } from '../foreign/variation.ts';
import { compareAfterDiscovery } from './discovery.ts';

const name = process.argv[2] ?? 'plain';
const { differences, found, lost, probes, report } = await compareAfterDiscovery(
  variations[name] ?? {},
);
process.stdout.write(found);
for (const [assumption, why] of Object.entries(report.assumptions.untold))
  process.stdout.write(`not told: ${assumption}: ${why}\n`);
for (const { name: probe, expected, actual } of differences)
  process.stdout.write(`${probe}\n  foreign ${expected}\n  twin    ${actual}\n`);
for (const each of lost) process.stdout.write(`not observed again: ${each}\n`);
process.stdout.write(`${name}: ${differences.length} of ${probes} probes differ\n`);
