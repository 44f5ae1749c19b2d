/**
 * How many requests a second a fleet answers, by the utilisation law: the busiest station is full.
 * Stations are the shards, one core each; HAProxy's threads; and the machine, whose cores serve all
 * of them and the load generator. Times are CPU microseconds for one request.
 */
export interface FleetCosts {
  readonly shardMicros: number;
  readonly routerMicros: number;
  /** Of the load generator, if it runs on the same machine; otherwise 0. */
  readonly clientMicros: number;
}

export interface FleetSize {
  readonly shards: number;
  readonly routerThreads: number;
  readonly cores: number;
}

const microsPerSecond = 1_000_000;

export function capacityOf(
  { shardMicros, routerMicros, clientMicros }: FleetCosts,
  { shards, routerThreads, cores }: FleetSize,
): number {
  const requestsPerMicro = Math.min(
    shards / shardMicros,
    routerThreads / routerMicros,
    cores / (shardMicros + routerMicros + clientMicros),
  );
  return requestsPerMicro * microsPerSecond;
}

/** The smallest fleet of dedicated cores that answers so many requests a second. */
export function sizeFor(perSecond: number, costs: FleetCosts): FleetSize {
  const busy = (micros: number) => Math.ceil((perSecond * micros) / microsPerSecond);
  const shards = busy(costs.shardMicros);
  const routerThreads = busy(costs.routerMicros);
  return { shards, routerThreads, cores: shards + routerThreads + busy(costs.clientMicros) };
}
