/**
 * HAProxy's configuration. It routes by maps that the fleet fills at run time, never by a hash ring:
 * that would move a lost shard's keys to a shard with an empty limiter and no replies to replay.
 * It never sends a request twice: `retry-on` stays at its default, which is a connection that could
 * not be made, and nothing is redispatched.
 */
import { join } from 'node:path';

export interface RouterPlan {
  /** Where the files of HAProxy are. */
  readonly folder: string;
  /** Such as `127.0.0.1:8080`. */
  readonly bind: string;
  /** The address and port of each shard. */
  readonly shards: readonly string[];
  /** The certificate with its key, in one text as HAProxy reads it. */
  readonly tls: string | undefined;
  readonly wide: boolean;
  /** A key comes after exactly one space, and not after any number of spaces and tabs. */
  readonly oneSpace: boolean;
  /** The client's address is the last one of `X-Forwarded-For`, as a proxy in front wrote it. */
  readonly trustProxy: boolean;
  readonly shardTimeoutMs: number;
  readonly statsPort: number | undefined;
}

/** Between two attempts to connect to a shard that has ended. */
const retryMs = 250;

export const unavailable = JSON.stringify({
  code: 'shard_unavailable',
  detail: 'The part of the service that holds this account or world did not come back in time.',
});

export type MapName = 'worlds' | 'keys' | 'held';
export const mapNames: readonly MapName[] = ['worlds', 'keys', 'held'];

export function shardName(index: number): string {
  return `s${index}`;
}

export function fileIn({ folder }: Pick<RouterPlan, 'folder'>, name: string): string {
  return join(folder, name);
}

export function mapFile(plan: Pick<RouterPlan, 'folder'>, map: MapName): string {
  return fileIn(plan, `${map}.map`);
}

export function routerFiles(plan: RouterPlan): Readonly<Record<string, string>> {
  const error = [
    'HTTP/1.1 503 Service Unavailable',
    'content-type: application/json',
    'retry-after: 1',
    'connection: close',
    '',
    unavailable,
  ];
  return {
    'haproxy.cfg': configOf(plan),
    'hold.lua': holdScript(plan),
    '503.http': error.join('\r\n'),
    ...(plan.tls !== undefined && { 'tls.pem': plan.tls }),
  };
}

function configOf(plan: RouterPlan): string {
  const map = (name: MapName) => `map_str(${mapFile(plan, name)})`;
  const seconds = plan.shardTimeoutMs / 1_000;
  const count = plan.shards.length;
  const bearer = plan.oneSpace ? '^bearer ' : '^bearer[ \\t]+';
  const noKey = plan.wide
    ? [
        // One address, one shard: its limits are counted in one place.
        `  http-request set-var(txn.place) var(txn.client),crc32(1),mod(${count}) unless routed`,
        `  http-request set-var(txn.shard) str(s),concat(,txn.place) unless routed`,
      ]
    : [`  http-request set-var(txn.shard) str(${shardName(0)}) unless routed`];
  const client = plan.trustProxy
    ? [
        '  http-request set-header X-Forwarded-For %[src] unless { req.hdr(x-forwarded-for) -m found }',
        '  http-request set-var(txn.client) req.hdr(x-forwarded-for,-1)',
      ]
    : [
        '  http-request set-header X-Forwarded-For %[src]',
        '  http-request set-var(txn.client) src,concat()',
      ];
  const stats = [
    'frontend stats',
    `  bind 127.0.0.1:${plan.statsPort}`,
    '  stats enable',
    '  stats uri /',
    '  stats refresh 2s',
    '',
  ];
  const lines = [
    'global',
    `  stats socket ${fileIn(plan, 'haproxy.sock')} mode 600 level admin`,
    '  stats timeout 1h',
    `  lua-load ${fileIn(plan, 'hold.lua')}`,
    '  hard-stop-after 3s',
    '',
    'defaults',
    '  mode http',
    `  timeout connect ${retryMs}ms`,
    `  retries ${Math.ceil(plan.shardTimeoutMs / retryMs)}`,
    `  timeout queue ${Math.ceil(seconds)}s`,
    // Faults may keep a request open for long.
    '  timeout client 24h',
    '  timeout server 24h',
    // Below the 8 s after which a shard closes a silent connection, and well above the 5 s that replies
    // announce: a client that is held up may use its connection late.
    '  timeout http-keep-alive 7500ms',
    '  timeout http-request 30s',
    '  http-reuse never',
    '  option abortonclose',
    '  option http-no-delay',
    `  errorfile 503 ${fileIn(plan, '503.http')}`,
    // A reply that a fault cut, or a shard that ended: the client sees its connection end, too.
    '  errorfile 502 /dev/null',
    '',
    'frontend service',
    `  bind ${plan.bind}${plan.tls === undefined ? '' : ` ssl crt ${fileIn(plan, 'tls.pem')} alpn http/1.1`}`,
    '  option accept-invalid-http-request',
    ...client,
    '  acl in_path path_beg /w/',
    '  acl in_path_of_first path_beg /w/default/',
    '  acl in_path_of_first path /w/default',
    '  acl in_host req.hdr(host),lower -m reg ^[a-z0-9-]+(\\.world)?\\.localhost(:[0-9]{1,5})?$',
    '  acl in_host_of_first req.hdr(host),lower -m beg default.localhost default.world.localhost',
    '  acl routed var(txn.shard) -m found',
    `  http-request set-var(txn.shard) path,field(3,/),${map('worlds')} if in_path !in_path_of_first`,
    `  http-request set-var(txn.shard) req.hdr(host),lower,field(1,.),${map('worlds')} if in_host !in_path !in_host_of_first`,
    // Without that word it is no key: such a request counts for its address.
    `  acl has_key req.fhdr(authorization,1) -m reg -i "${bearer}"`,
    `  http-request set-var(txn.shard) req.fhdr(authorization,1),regsub("${bearer}",,i),sha2(256),hex,${map('keys')} if has_key !in_path !in_host or has_key in_path_of_first or has_key in_host_of_first !in_path`,
    ...noKey,
    `  http-request lua.hold if { var(txn.shard),${map('held')} -m found }`,
    `  http-request return status 503 content-type application/json string '${unavailable}' if { var(txn.late) -m found }`,
    '  use_backend %[var(txn.shard)]',
    `  default_backend ${shardName(0)}`,
    '',
    ...plan.shards.flatMap((address, index) => [
      `backend ${shardName(index)}`,
      `  server ${shardName(index)} ${address}`,
      '',
    ]),
    ...(plan.statsPort === undefined ? [] : stats),
  ];
  return `${lines.join('\n')}`;
}

/** Requests wait while their shard is in the map `held`: it starts again, or a clock is moved. */
function holdScript(plan: RouterPlan): string {
  return `local held = Map.new('${mapFile(plan, 'held')}', Map._str)
core.register_action('hold', { 'http-req' }, function(txn)
  local shard = txn:get_var('txn.shard')
  local started = core.now()
  while held:lookup(shard) do
    core.msleep(2)
    local now = core.now()
    local waited = (now.sec - started.sec) * 1000 + (now.usec - started.usec) / 1000
    if waited > ${plan.shardTimeoutMs} then
      txn:set_var('txn.late', true)
      return
    end
  end
end)
`;
}
