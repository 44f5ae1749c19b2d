/**
 * The files that HAProxy starts with. HAProxy routes by maps that the fleet fills at run time. It
 * does not use a hash ring, which would move the keys of a lost shard to one with an empty limiter
 * and no replies to replay. It never sends a request twice: with the default of `retry-on` it
 * retries only a connection that failed, always to the same shard.
 */
import { secondMs } from '#contract/time.ts';
import type { Assumptions } from '#src/sim/assumptions.ts';

export interface RouterPlan {
  /** The folder of these files and of HAProxy's socket. */
  readonly folder: string;
  /** The address and port of the service, such as `127.0.0.1:8080`. */
  readonly bind: string;
  /** The address and port of each shard. */
  readonly shards: readonly string[];
  /** The certificate with its key, in one text as HAProxy reads it. */
  readonly tls: string | undefined;
  /** True if the first world spans all shards. */
  readonly isWide: boolean;
  /** How a header with a key may be written. */
  readonly bearer: Pick<Assumptions, 'bearerSpace' | 'bearerCase'>;
  /** True if a proxy in front writes the client's address as the last one of `X-Forwarded-For`. */
  readonly trustProxy: boolean;
  /** How long a request waits for a shard that starts again. */
  readonly shardTimeoutMs: number;
  /** The port of HAProxy's own page, if it is served. */
  readonly statsPort: number | undefined;
}

/** Removes what a shard's parser removes around a header: spaces, tabs and bytes above 0x7F. */
const trimmed = `regsub('^[^!-~\\x7f]+|[^!-~\\x7f]+$',,g)`;

/** The time between two attempts to connect to a shard that has ended. */
const retryMs = 250;

/** The body of the 503 for a request whose shard did not come back in time. */
const unavailable = JSON.stringify({
  code: 'shard_unavailable',
  detail: 'The part of the service that holds this account or world did not come back in time.',
});

export const mapNames = [
  // The shard of each world id.
  'worlds',
  // The shard of each key, by digest, in all worlds.
  'keys',
  // The shard of each key of a first world that spans all shards.
  'first_keys',
  // The shards whose requests wait.
  'held',
] as const;
export type MapName = (typeof mapNames)[number];

/** The name of a shard's backend, which the maps hold. */
export function shardName(index: number): string {
  return `s${index}`;
}

/** The name of a map's file in the folder. HAProxy's runtime API also knows the map by it. */
export function mapFile(map: MapName): string {
  return `${map}.map`;
}

/** The text of each file except the maps, by file name. */
export function routerFiles(plan: RouterPlan): Readonly<Record<string, string>> {
  return {
    'haproxy.cfg': configOf(plan),
    'hold.lua': holdScript(plan),
    ...(plan.tls !== undefined && { 'tls.pem': plan.tls }),
  };
}

/** The configuration. It names files relative to the folder, whose path may have any characters. */
function configOf(plan: RouterPlan): string {
  const backends = plan.shards.flatMap((address, index) => [
    `backend ${shardName(index)}`,
    `  server ${shardName(index)} ${address}`,
    '',
  ]);
  return [
    ...globalLines,
    ...defaultLines(plan),
    ...frontendLines(plan),
    ...backends,
    ...statsLines(plan),
  ].join('\n');
}

const globalLines: readonly string[] = [
  'global',
  '  default-path config',
  '  stats socket unix@haproxy.sock mode 600 level admin',
  '  stats timeout 1h',
  '  lua-load hold.lua',
  '  hard-stop-after 3s',
  // More than a shard takes, so that the shard refuses what is too long.
  '  tune.bufsize 65536',
  '  tune.http.maxhdr 4096',
  '',
];

function defaultLines({ shardTimeoutMs }: RouterPlan): readonly string[] {
  return [
    'defaults',
    '  mode http',
    `  timeout connect ${retryMs}ms`,
    `  retries ${Math.ceil(shardTimeoutMs / retryMs)}`,
    `  timeout queue ${Math.ceil(shardTimeoutMs / secondMs)}s`,
    // A fault may keep a request open for long.
    '  timeout client 24h',
    '  timeout server 24h',
    // Less than the 8 s after which a shard closes an idle connection, so that no request crosses
    // the close; well above the 5 s that replies announce, so that slow clients are in time.
    '  timeout http-keep-alive 7500ms',
    '  timeout http-request 30s',
    '  http-reuse never',
    '  option abortonclose',
    '  option http-no-delay',
    `  http-error status 503 content-type application/json hdr retry-after 1 string '${unavailable}'`,
    // If a fault cuts a reply, or a shard ends, the client's connection ends without a 502.
    '  errorfile 502 /dev/null',
    '',
  ];
}

/** What stands between `Bearer` and a key, as a regular expression. */
const spaceBeforeKey: Readonly<Record<Assumptions['bearerSpace'], string>> = {
  any: '[ \\t]+',
  one: ' ',
};

/** The option that ignores letter case: as a flag of an ACL, and as an argument of `regsub`. */
const caseOptions: Readonly<Record<Assumptions['bearerCase'], readonly [string, string]>> = {
  any: ['-i ', ',i'],
  exact: ['', ''],
};

/** Finds the shard of a request by its path, its host or its key. */
function frontendLines(plan: RouterPlan): readonly string[] {
  const map = (name: MapName) => `map_str(${mapFile(name)})`;
  const bearer = `^Bearer${spaceBeforeKey[plan.bearer.bearerSpace]}`;
  const [caseFlag, caseArgument] = caseOptions[plan.bearer.bearerCase];
  return [
    'frontend service',
    `  bind ${plan.bind}${plan.tls === undefined ? '' : ' ssl crt tls.pem alpn http/1.1'}`,
    // The address of the client for the shard, unless a proxy in front has written it.
    `  http-request set-header X-Forwarded-For %[src]${plan.trustProxy ? ' unless { req.hdr(x-forwarded-for) -m found }' : ''}`,
    '  acl in_path path_beg /w/',
    '  acl in_path_of_first path_beg /w/default/',
    '  acl in_path_of_first path /w/default',
    `  http-request set-var(txn.host) req.fhdr(host),lower,${trimmed}`,
    "  acl in_host var(txn.host) -m reg '^[a-z0-9-]+(\\.world)?\\.localhost(:[0-9]{1,5})?$'",
    '  acl in_host_of_first var(txn.host) -m beg default.localhost default.world.localhost',
    '  acl routed var(txn.shard) -m found',
    `  http-request set-var(txn.shard) path,field(3,/),${map('worlds')} if in_path !in_path_of_first`,
    `  http-request set-var(txn.shard) var(txn.host),field(1,.),${map('worlds')} if in_host !in_path !in_host_of_first`,
    `  http-request set-var(txn.authorization) req.fhdr(authorization,1),${trimmed}`,
    // Without the word `Bearer`, or with such headers that differ, a request counts for its address.
    // A condition looks at each header of this name.
    `  acl has_key var(txn.authorization) -m reg ${caseFlag}"${bearer}"`,
    `  acl has_other_key req.fhdr(authorization),${trimmed},strcmp(txn.authorization) lt 0`,
    `  acl has_other_key req.fhdr(authorization),${trimmed},strcmp(txn.authorization) gt 0`,
    `  http-request set-var(txn.key) var(txn.authorization),regsub("${bearer}",${caseArgument}),sha2(256),hex if has_key !has_other_key`,
    `  http-request set-var(txn.shard) var(txn.key),${map('keys')} if !in_path !in_host`,
    `  http-request set-var(txn.shard) var(txn.key),${map('first_keys')} if in_path_of_first or in_host_of_first !in_path`,
    ...keylessRules(plan),
    `  http-request lua.hold if { var(txn.shard),${map('held')} -m found }`,
    '  http-request deny deny_status 503 if { var(txn.late) -m found }',
    '  use_backend %[var(txn.shard)]',
    `  default_backend ${shardName(0)}`,
    '',
  ];
}

/** HAProxy's own page, if it is served. */
function statsLines({ statsPort }: RouterPlan): readonly string[] {
  if (statsPort === undefined) return [];
  return [
    'frontend stats',
    `  bind 127.0.0.1:${statsPort}`,
    '  stats enable',
    '  stats uri /',
    '  stats refresh 2s',
    '',
  ];
}

/** Routes a request that names no known world or key. */
function keylessRules({ isWide, trustProxy, shards }: RouterPlan): readonly string[] {
  // All requests of an address reach one shard, so that its limits are counted in one place. A
  // proxy in front may spell an address in several ways, which HAProxy cannot compare: all go to
  // shard 0.
  if (!isWide || trustProxy)
    return [`  http-request set-var(txn.shard) str(${shardName(0)}) unless routed`];
  return [
    `  http-request set-var(txn.place) src,concat(),crc32(1),mod(${shards.length}) unless routed`,
    '  http-request set-var(txn.shard) str(s),concat(,txn.place) unless routed',
  ];
}

/** The script that makes a request wait while its shard is in the map `held`. */
function holdScript(plan: RouterPlan): string {
  return `local held = Map.new('${mapFile('held')}', Map._str)
-- The shard of each request that waits. Weak, as a client that leaves ends its request midway.
local waiting = setmetatable({}, { __mode = 'k' })
core.register_cli({ 'show', 'held' }, 'show held : requests that wait, by shard', function(applet)
  collectgarbage()
  local counts = {}
  for _, shard in pairs(waiting) do counts[shard] = (counts[shard] or 0) + 1 end
  for shard, count in pairs(counts) do applet:send(shard .. ' ' .. count .. '\\n') end
end)
core.register_action('hold', { 'http-req' }, function(txn)
  local shard = txn:get_var('txn.shard')
  local started = core.now()
  waiting[txn] = shard
  while held:lookup(shard) do
    core.msleep(2)
    local now = core.now()
    local waited = (now.sec - started.sec) * 1000 + (now.usec - started.usec) / 1000
    if waited > ${plan.shardTimeoutMs} then
      txn:set_var('txn.late', true)
      break
    end
  end
  waiting[txn] = nil
end)
`;
}
