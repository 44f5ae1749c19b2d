/** The walls: what each room may import. The only list; `docs/architecture.md` draws it. */
import { expect, test } from 'vitest';
import { code } from './modules.ts';

/** Without a row of its own, a folder belongs to the folder above it. */
const walls: Readonly<Record<string, string>> = {
  contract: '',
  io: '',
  judging: 'contract io',
  conformance: 'contract io judging',
  'src/sim': 'contract',
  'src/actors': 'contract src/sim',
  'src/config': 'contract io src/sim',
  'src/http': 'contract io src/sim src/config',
  'src/simulation': 'contract src/sim src/actors src/config src/http',
  'src/recording': 'contract io judging src/sim src/config src/http src/simulation',
  'src/worlds': 'contract io judging src/sim src/config src/simulation src/recording',
  'src/operations':
    'contract io judging src/sim src/config src/http src/simulation src/recording src/worlds',
  'src/control': 'contract io src/sim src/config src/http src/worlds src/operations',
  'src/testing': 'judging src/operations src',
  src: 'contract io judging src/sim src/config src/http src/simulation src/recording src/worlds src/operations src/control',
  record: 'contract io judging src/sim src/config src/http',
  explore:
    'contract io judging src src/sim src/config src/http src/simulation src/recording src/operations src/testing',
  fleet: 'contract io src src/sim src/config src/http src/worlds src/operations src/control',
  bench: 'contract io judging conformance src src/sim src/config src/http src/operations',
  page: 'contract judging src/sim src/operations src/http',
  cli: 'contract io judging conformance src src/sim src/config src/recording src/operations record explore fleet bench',
};
const rooms = Object.keys(walls).sort((a, b) => b.length - a.length);
const roomOf = (path: string) => rooms.find((room) => path.startsWith(`${room}/`));
const rowOf = (room: string) => (walls[room] ?? '').split(' ').filter((name) => name !== '');

const arrows = code.flatMap(({ path, imports }) =>
  imports.flatMap((to) => {
    const [from, goal] = [roomOf(path), roomOf(to)];
    return from === goal || from === undefined || goal === undefined
      ? []
      : [{ path, to, from, goal }];
  }),
);

test('no file imports from a room that its own may not', () => {
  expect(arrows.length).toBeGreaterThan(1_000);
  const strays = arrows.filter(({ from, goal }) => !rowOf(from).includes(goal));
  expect(strays.map(({ path, to }) => `${path} -> ${to}`)).toEqual([]);
});

test('every arrow of the table is used', () => {
  const used = new Set(arrows.map(({ from, goal }) => `${from} -> ${goal}`));
  const drawn = rooms.flatMap((from) => rowOf(from).map((goal) => `${from} -> ${goal}`));
  expect(drawn.filter((arrow) => !used.has(arrow))).toEqual([]);
});

/** All rooms that a room reaches, through others too. */
function reach(room: string, seen = new Set<string>()): ReadonlySet<string> {
  for (const next of rowOf(room)) if (!seen.has(next)) reach(next, seen.add(next));
  return seen;
}

test('no room reaches itself; the contract, the judges and the harness reach nothing of src/', () => {
  expect(rooms.filter((room) => reach(room).has(room))).toEqual([]);
  const judges = ['contract', 'io', 'judging', 'conformance'];
  const reached = judges.flatMap((room) => [...reach(room)]);
  expect(reached.filter((room) => !judges.includes(room))).toEqual([]);
});
