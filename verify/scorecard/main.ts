/**
 * `npm run scorecard`: runs all clients and writes the page. `-- --page` only writes the page, from
 * the results of the last run.
 */
import { writeFileSync } from 'node:fs';
import { libraries } from './catalogue.ts';
import { page } from './page.ts';
import { readResults, writeResults } from './results.ts';
import { runAll } from './run.ts';

const isPageAlone = process.argv.includes('--page');
const results = isPageAlone ? readResults() : writeResults(await runAll(libraries));
writeFileSync(new URL('../../docs/scorecard.md', import.meta.url), page(results));
