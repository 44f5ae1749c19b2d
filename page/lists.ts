/**
 * The lists of objects that pages show (faults, worlds, …), with forms to add to them.
 * Each list names its operations and columns; labels, kinds, ranges and hints come from the schemas
 * of those operations. `parts/list.tsx` draws the lists, `parts/operation-form.tsx` the forms.
 */
import { faultSubject, faultWords } from '#contract/fault-kinds.ts';
import { scriptedRecipients } from '#contract/refusals.ts';
import { durationText } from '#contract/time.ts';
import { call, callIn, type Reply } from './control.ts';
import type { ListDeclaration, Row, TextFact } from './list-declaration.ts';
import { prefixOf, shownWorld } from './route.ts';
import { fateText } from './value-texts.ts';
import { accountName } from './world.ts';

export const receivedList: ListDeclaration = {
  title: 'Received messages',
  readOperation: 'sims.allReceived',
  keyColumn: 'message_id',
  columns: ['received_at', 'from_number', 'to', 'account_id', 'message'],
  wideColumns: ['from_number', 'account_id'],
  forms: [
    {
      operation: 'sims.receive',
      title: 'Inject a message',
      submit: 'Inject',
      fields: ['to', 'from', 'message'],
      initial: { from: '+12025550155' },
      numbersField: 'to',
    },
  ],
  emptyText: 'Nothing received yet. Inject a message, as if a phone had sent it to a number.',
};

const everyNth = (n: string) => ({ when: 'every n-th request', 'when.every': n });

export const faultList: ListDeclaration = {
  title: 'Faults',
  readOperation: 'faults.list',
  readRows: async () => {
    const { faults } = await call('faults.list');
    return faults.map((fault) => ({
      ...fault,
      what: `${fault.fault_id}: ${faultWords(fault)}`,
      strikes: faultSubject(fault, accountName),
      struck: fault.hits,
    }));
  },
  keyColumn: 'fault_id',
  columns: ['what', 'strikes', 'struck', 'seen', 'paused'],
  wideColumns: ['seen'],
  links: { struck: ({ fault_id: id }) => `#/requests?search=fault%3A${id}` },
  editOperation: 'faults.patch',
  actions: [{ operation: 'faults.remove', label: 'Remove' }],
  forms: [
    {
      operation: 'faults.add',
      title: 'Add a fault',
      submit: 'Add fault',
      fields: ['fault', 'when', 'match', 'times'],
      initial: { fault: 'lost_request', 'when.nth': '1', 'match.endpoint': 'send' },
      presets: {
        'Reply lost': { fault: 'lost_response' },
        '429 for 30 s': {
          fault: 'status',
          'fault.status': '429',
          'fault.headers': 'Retry-After: 30',
        },
        '503 every 10th': { fault: 'status', 'fault.status': '503', ...everyNth('10') },
        'Slow by 3 s': { fault: 'delay', 'fault.ms': '3000', ...everyNth('1') },
      },
      placeholders: { 'match.to': 'any recipient', times: 'no limit' },
    },
  ],
  emptyText: 'No faults are set.',
};

/** The outcomes of these recipients reappear after removal. */
const fixedRecipients: readonly unknown[] = Object.values(scriptedRecipients);

export const outcomeList: ListDeclaration = {
  title: 'Scripted recipients',
  readOperation: 'outcomes.get',
  readRows: async () => {
    const reads = [call('outcomes.get'), call('outcomes.hits')] as const;
    const [{ outcomes }, { hits }] = await Promise.all(reads);
    return outcomes.map((outcome, index) => ({ ...outcomeRow(outcome), messages: hits[index] }));
  },
  keyColumn: 'to',
  columns: ['to', 'outcome', 'messages'],
  actions: [
    {
      operation: 'outcomes.put',
      label: 'Remove',
      isOfferedFor: ({ to }) => !fixedRecipients.includes(to),
      toInput: (removed, rows) => ({
        outcomes: rows.filter((row) => row !== removed).map(asOutcome),
      }),
    },
  ],
  forms: [
    {
      operation: 'outcomes.put',
      title: 'Add a recipient',
      submit: 'Add recipient',
      listField: 'outcomes',
      // An outcome itself is a choice of variants, so its path is empty.
      initial: { '': 'fails or stays' },
      placeholders: { to: '+1202555018*' },
      toInput: (made, rows) => ({ outcomes: [made, ...rows.map(asOutcome)] }),
    },
  ],
};

export function outcomeRow(outcome: Reply<'outcomes.get'>['outcomes'][number]): Row {
  return { ...outcome, outcome: fateText(outcome) };
}

/** The row without what `readRows` added. */
function asOutcome({ messages: _, outcome: __, ...outcome }: Row): Row {
  return outcome;
}

const mostWorldStates = 30;

/** The real time between an instant and now. */
const realSpan = (at: string) => durationText(Math.abs(Date.now() - Date.parse(at)));

export const worldList: ListDeclaration = {
  title: 'Worlds',
  readOperation: 'worlds.list',
  readRows: async () => {
    const worlds = [await call('worlds.get', 'default'), ...(await call('worlds.list')).worlds];
    const names = new Map(worlds.map((world) => [world.world_id, world.name]));
    return Promise.all(
      worlds.map(async (world, index) => {
        const { world_id: id, forked_from: origin, expires_at: end } = world;
        // Every state is a request, so only the first worlds show theirs.
        const state = index < mostWorldStates ? await callIn(prefixOf(id), 'simulator.state') : {};
        const { clock, requests } = state as Partial<Reply<'simulator.state'>>;
        const parent = origin && (names.get(origin.world_id) ?? origin.world_id);
        return {
          ...world,
          clock: clock && `${clock.now.slice(0, 19).replace('T', ' ')}, ${clock.mode}`,
          requests,
          age: realSpan(world.created_at) + (end === null ? '' : `; deleted in ${realSpan(end)}`),
          forked: origin && `${parent} at ${origin.at.slice(0, 19).replace('T', ' ')}`,
        };
      }),
    );
  },
  keyColumn: 'world_id',
  columns: ['name', 'clock', 'messages', 'requests', 'forked', 'age'],
  wideColumns: ['forked', 'age'],
  links: {
    name: ({ world_id: id }) => (id === shownWorld ? undefined : `${prefixOf(`${id}`)}/#/home`),
  },
  actions: [
    { operation: 'worlds.fork', label: 'Fork', oneTimeFacts: worldFacts },
    {
      operation: 'worlds.delete',
      label: 'Delete',
      isOfferedFor: ({ world_id: id }) => id !== 'default',
      warning: 'Everything in it is lost.',
      nextAddress: ({ world_id: id }) => (id === shownWorld ? '/#/worlds' : undefined),
    },
  ],
  forms: [
    {
      operation: 'worlds.create',
      title: 'New world',
      submit: 'Create world',
      fields: ['name', 'clock', 'rate', 'ttl', 'seed'],
      placeholders: { name: 'its id', ttl: 'never', seed: 'as the server' },
      oneTimeFacts: worldFacts,
    },
  ],
  oneTimeNote: 'Home of that world shows them, too.',
  lead: 'A world is an isolated service: its own accounts, clock, limits and faults. Clients reach it by its base URL, or by its API keys alone.',
};

/** What a client needs to use the world. */
export function worldFacts({ base_url: baseUrl, accounts }: Row): readonly TextFact[] {
  return [
    ['Base URL', String(baseUrl)],
    ...(accounts as readonly Row[]).map(
      ({ name, api_key: key }): TextFact => [`Key of ${name}`, String(key)],
    ),
  ];
}

/** True if the answer of an assumption is not the default. */
export function isChanged({ answer, default: usual }: Row): boolean {
  return JSON.stringify(answer) !== JSON.stringify(usual);
}

export const assumptionList: ListDeclaration = {
  title: 'Assumptions',
  readOperation: 'assumptions.ledger',
  readRows: async () => {
    const { assumptions } = await call('assumptions.ledger');
    const answers: Row = await call('assumptions.get');
    return assumptions.map((entry) => {
      const answer = answers[entry.name] ?? entry.default;
      const meaning = entry.meanings[String(answer)] ?? `one of: ${entry.permitted}`;
      const means = `${entry.open}: ${meaning} (${entry.rules.join(', ')})`;
      const row = { ...entry, answer, means };
      return { ...row, state: isChanged(row) && 'not the default' };
    });
  },
  keyColumn: 'name',
  columns: ['name', 'answer', 'default', 'means'],
  wideColumns: ['default'],
  searchedBy: 'search',
  emptySearches: { 'not the default': 'every assumption has its default.' },
  actions: [
    {
      operation: 'assumptions.patch',
      label: 'Reset',
      isOfferedFor: isChanged,
      toInput: ({ name, default: usual }) => ({ [String(name)]: usual }),
    },
  ],
  editOperation: 'assumptions.patch',
  settingColumn: 'answer',
  lead: 'What the document leaves open, and what the answer in force does; a change applies from now on.',
};

export const limitList: ListDeclaration = {
  title: 'Requests per minute',
  readOperation: 'limits.get',
  readRows: async () =>
    Object.entries(await call('limits.get')).map(([endpoint, limit]) => ({ endpoint, limit })),
  keyColumn: 'endpoint',
  columns: ['endpoint', 'limit'],
  editOperation: 'limits.patch',
  settingColumn: 'limit',
  lead: 'Empty: not limited. A changed limit starts with full buckets.',
};
