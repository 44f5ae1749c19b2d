/**
 * The page's own words for what the control API answers, held equal to the levers' types.
 */
import { expectTypeOf, test } from 'vitest';
import type { AccountView, CreatedKey, KeyView } from '../operations/accounts.ts';
import type { MessageEvent } from '../operations/activity-events.ts';
import type { Buckets, LedgerEntry, OutcomesView } from '../operations/behaviour.ts';
import type { ClockState } from '../operations/clock-state.ts';
import type { ExchangeView } from '../operations/exchange-view.ts';
import type { FaultView } from '../operations/faults.ts';
import type { MessagePage, MessageRecord } from '../operations/messages.ts';
import type { RequestDetail, RequestView } from '../operations/requests.ts';
import type { SimView } from '../operations/sim-view.ts';
import type { State } from '../operations/state.ts';
import type { TrafficEvent } from '../operations/traffic.ts';
import { endpointNames, type LimitsPerMinute } from '../sim/limits.ts';
import { statuses } from '../sim/message.ts';
import type { ReceivedEntry } from '../sim/received.ts';
import type * as wire from './page/wire.ts';
import { endpoints, statuses as pageStatuses } from './page/wire.ts';

test('what the page reads is what the control API answers', ({ expect }) => {
  expectTypeOf<State>().toExtend<wire.State>();
  expectTypeOf<ClockState>().toExtend<wire.ClockState>();
  expectTypeOf<AccountView>().toExtend<wire.Account>();
  expectTypeOf<KeyView>().toExtend<wire.Key>();
  expectTypeOf<CreatedKey>().toExtend<wire.CreatedKey>();
  expectTypeOf<SimView>().toExtend<wire.Sim>();
  expectTypeOf<MessageRecord>().toExtend<wire.Message>();
  expectTypeOf<MessagePage>().toExtend<wire.MessagePage>();
  expectTypeOf<MessageEvent>().toExtend<wire.MessageEvent>();
  expectTypeOf<ReceivedEntry>().toExtend<wire.Received>();
  expectTypeOf<ExchangeView>().toExtend<wire.Exchange>();
  expectTypeOf<RequestDetail>().toExtend<wire.Exchange>();
  expectTypeOf<TrafficEvent>().toExtend<wire.Traffic>();
  expectTypeOf<RequestView>().toExtend<wire.ServiceRequest>();
  expectTypeOf<Buckets['buckets'][number]>().toExtend<wire.Bucket>();
  expectTypeOf<LimitsPerMinute>().toExtend<wire.Limits>();
  expectTypeOf((view: FaultView): wire.Fault => view).toBeFunction();
  expectTypeOf<OutcomesView['outcomes'][number]>().toExtend<wire.Outcome>();
  expectTypeOf<LedgerEntry>().toExtend<wire.LedgerEntry>();
  expect(endpoints).toEqual(endpointNames);
  expect(pageStatuses).toEqual(statuses);
});
