/**
 * The pages that are a list of declared objects and forms for them: what is listed, in which
 * columns, and which operations are offered. Everything else follows from the declarations.
 */
import type { Typed } from './field.ts';
import type { OperationName } from './wire.ts';

export type Row = Readonly<Record<string, unknown>>;
type Call = (name: OperationName, input?: Row) => Promise<Row>;
type Fact = readonly [name: string, value: string];

export interface FormDeclaration {
  readonly operation: OperationName;
  readonly title: string;
  readonly submit: string;
  /** The fields that are offered, in order; all by default. */
  readonly fields?: readonly string[];
  /** The input field that holds a list of what the form makes. */
  readonly within?: string;
  /** What the fields contain at first. */
  readonly start?: Typed;
  readonly placeholders?: Typed;
  /** The field that offers the numbers of the chosen account and of the pool. */
  readonly numbers?: string;
  /** The input for the operation, if it is not what the form makes. */
  readonly input?: (made: Row, rows: readonly Row[]) => Row;
  /** What only this reply contains, such as a key: shown until the user dismisses it. */
  readonly shows?: (reply: Row) => readonly Fact[];
}

export interface RowAction extends Pick<FormDeclaration, 'operation' | 'input' | 'shows'> {
  readonly label: string;
  /** What is said of the reply. */
  readonly says?: (reply: Row) => string;
  /** What it does, if it must be confirmed. */
  readonly warning?: string;
  readonly isFor?: (row: Row) => boolean;
  /** Where the page goes afterwards, if it cannot stay. */
  readonly leads?: (row: Row, shownWorld: string) => string | undefined;
}

export interface ListDeclaration {
  readonly title: string;
  readonly list: OperationName;
  /** Reads the rows, if they are not the list itself. */
  readonly rows?: (call: Call) => Promise<readonly Row[]>;
  /** The column that identifies a row. */
  readonly key: string;
  /** In order; the first one names the row. */
  readonly columns: readonly string[];
  /** Where the cells of a column lead. */
  readonly links?: Readonly<Record<string, (row: Row, shownWorld: string) => string | undefined>>;
  /** Columns that a phone does not show. */
  readonly wide?: readonly string[];
  /** Changes the columns that are also fields of its input, in place. */
  readonly edit?: OperationName;
  /** The column whose field has the name of the row, and changes without an id. */
  readonly ownColumn?: string;
  readonly actions?: readonly RowAction[];
  readonly forms?: readonly FormDeclaration[];
  readonly empty: string;
  readonly lead?: string;
}

const accountList: ListDeclaration = {
  title: 'Accounts',
  list: 'accounts.list',
  key: 'account_id',
  columns: ['name', 'monthly_quota', 'quota_used', 'effective_monthly_quota', 'messages'],
  wide: ['effective_monthly_quota', 'messages'],
  edit: 'accounts.patch',
  actions: [
    {
      operation: 'accounts.delete',
      label: 'Delete',
      warning: 'Its keys, SIMs and messages are deleted, too.',
    },
  ],
  forms: [{ operation: 'accounts.create', title: 'New account', submit: 'Create account' }],
  empty: 'There is no account.',
  lead: 'Accounts are independent: quotas, limits, keys and messages of one do not affect another.',
};

const simList: ListDeclaration = {
  title: 'SIMs',
  list: 'sims.all',
  key: 'device_id',
  columns: ['number', 'account_id', 'connected', 'active', 'allowed', 'polling', 'queue_length'],
  links: {
    queue_length: ({ number }) =>
      `#/messages?from=${encodeURIComponent(`${number}`)}&status=queued`,
  },
  edit: 'sims.patch',
  actions: [
    {
      operation: 'sims.poll',
      label: 'Poll now',
      says: ({ picked_up: all }) => `${(all as readonly unknown[]).length} picked up`,
    },
    {
      operation: 'sims.delete',
      label: 'Remove',
      warning: 'Its unfinished messages fail. Its messages stay.',
    },
  ],
  forms: [
    {
      operation: 'sims.create',
      title: 'Connect a SIM',
      submit: 'Connect SIM',
      fields: ['number', 'polling'],
      placeholders: { number: '+12025550177' },
    },
    {
      operation: 'sims.addToPool',
      title: 'Add a number to the shared pool',
      submit: 'Add number',
      placeholders: { number: '+12025550198' },
    },
  ],
  empty: 'There is no SIM.',
};

const keyList: ListDeclaration = {
  title: 'API keys',
  list: 'accounts.allKeys',
  key: 'key_id',
  columns: ['name', 'account_id', 'prefix', 'created_at', 'revoked_at'],
  wide: ['created_at'],
  actions: [
    {
      operation: 'accounts.revokeKey',
      label: 'Revoke',
      warning: 'Requests with this key are answered 401 from now on.',
      isFor: ({ revoked_at: at }) => at === null,
    },
  ],
  forms: [
    {
      operation: 'accounts.createKey',
      title: 'New key',
      submit: 'Create key',
      placeholders: { name: 'What the key is for' },
      shows: ({ name, key }) => [[String(name), String(key)]],
    },
  ],
  empty: 'There is no key.',
};

const receivedList: ListDeclaration = {
  title: 'Received messages',
  list: 'sims.allReceived',
  key: 'message_id',
  columns: ['received_at', 'from_number', 'to', 'account_id', 'message'],
  wide: ['account_id'],
  forms: [
    {
      operation: 'sims.receive',
      title: 'Inject a message',
      submit: 'Inject',
      fields: ['to', 'from', 'message'],
      start: { from: '+12025550155' },
      numbers: 'to',
    },
  ],
  empty: 'Nothing received yet. Inject a message, as if a phone had sent it to one of the numbers.',
};

const faultList: ListDeclaration = {
  title: 'Faults',
  list: 'faults.list',
  key: 'fault_id',
  columns: ['fault', 'when', 'match', 'times', 'hits', 'seen'],
  wide: ['times'],
  actions: [{ operation: 'faults.remove', label: 'Remove' }],
  forms: [
    {
      operation: 'faults.add',
      title: 'Add a fault',
      submit: 'Add fault',
      fields: ['fault', 'when', 'match', 'times'],
      start: { fault: '4', 'when.nth': '1', 'match.endpoint': 'send' },
      placeholders: { 'match.to': 'any recipient', times: 'no limit' },
    },
  ],
  empty: 'No faults are set.',
};

/** Every world has these outcomes: they reappear after removal. */
const fixedRecipient = /^\+1202555016[0-6]$/;

const outcomeList: ListDeclaration = {
  title: 'Scripted recipients',
  list: 'outcomes.get',
  rows: async (call) => {
    const [{ outcomes }, { hits }] = await Promise.all([
      call('outcomes.get'),
      call('outcomes.hits'),
    ]);
    return (outcomes as readonly Row[]).map((each, at) => ({
      ...each,
      messages: (hits as readonly number[])[at],
    }));
  },
  key: 'to',
  columns: ['to', 'ends', 'in', 'polls', 'messages'],
  actions: [
    {
      operation: 'outcomes.put',
      label: 'Remove',
      isFor: ({ to }) => !fixedRecipient.test(String(to)),
      input: (removed, rows) => ({
        outcomes: rows.filter((row) => row !== removed).map(asOutcome),
      }),
    },
  ],
  forms: [
    {
      operation: 'outcomes.put',
      title: 'Add a recipient',
      submit: 'Add recipient',
      within: 'outcomes',
      start: { '': '1' },
      placeholders: { to: '+1202555017*' },
      input: (made, rows) => ({ outcomes: [made, ...rows.map(asOutcome)] }),
    },
  ],
  empty: 'There is no scripted recipient.',
};

function asOutcome({ messages: _, ...outcome }: Row): Row {
  return outcome;
}

const worldList: ListDeclaration = {
  title: 'Worlds',
  list: 'worlds.list',
  key: 'world_id',
  columns: ['name', 'base_url', 'expires_at'],
  links: { name: ({ world_id: id }, shown) => (id === shown ? undefined : `/w/${id}/#/home`) },
  actions: [
    { operation: 'worlds.fork', label: 'Fork', shows: worldFacts },
    {
      operation: 'worlds.delete',
      label: 'Delete',
      warning: 'Everything in it is lost.',
      leads: ({ world_id: id }, shown) => (id === shown ? '/#/worlds' : undefined),
    },
  ],
  forms: [
    {
      operation: 'worlds.create',
      title: 'New world',
      submit: 'Create world',
      fields: ['name', 'clock', 'ttl', 'seed'],
      placeholders: { name: 'its id', ttl: 'never', seed: 'as the server' },
      shows: worldFacts,
    },
  ],
  empty: 'There is only the world that the server started with.',
  lead: 'A world is an isolated service: its own accounts, clock, limits and faults. Clients reach it by its base URL, or by its API keys alone.',
};

/** What a client needs to use the world. */
export function worldFacts({ base_url: baseUrl, accounts }: Row): readonly Fact[] {
  return [
    ['Base URL', String(baseUrl)],
    ...(accounts as readonly Row[]).map(
      ({ name, api_key: key }): Fact => [`Key of ${name}`, String(key)],
    ),
  ];
}

const assumptionList: ListDeclaration = {
  title: 'Assumptions',
  list: 'assumptions.ledger',
  rows: async (call) => {
    const [{ assumptions }, now] = await Promise.all([
      call('assumptions.ledger'),
      call('assumptions.get'),
    ]);
    return (assumptions as readonly Row[]).map((entry) => ({
      ...entry,
      answer: now[String(entry['name'])] ?? entry['default'],
    }));
  },
  key: 'name',
  columns: ['name', 'answer', 'open'],
  edit: 'assumptions.patch',
  ownColumn: 'answer',
  empty: 'There is no assumption.',
  lead: 'What the document leaves open, and the answer in force; a change applies from now on.',
};

/** The pages with lists, by their names. */
export const listPages: Readonly<Record<string, readonly ListDeclaration[]>> = {
  received: [receivedList],
  faults: [faultList, outcomeList],
  accounts: [accountList],
  keys: [keyList],
  sims: [simList],
  worlds: [worldList],
  rules: [assumptionList],
};

/** The operations whose fields the page shows. */
export const shownOperations: ReadonlySet<string> = new Set<OperationName>([
  ...Object.values(listPages)
    .flat()
    .flatMap(({ list, edit = list, forms = [] }) => [
      list,
      edit,
      ...forms.map(({ operation }) => operation),
    ]),
  ...(['clock.advance', 'clock.setMode', 'limits.patch'] as const),
]);
