/**
 * One request in full: what was sent and answered, its fault and message, and the trace of its
 * intent.
 */
import { call } from '../control.ts';
import { CopyButton } from '../parts/copy-and-save.tsx';
import { Detail } from '../parts/detail.tsx';
import { ExchangeView, faultText } from '../parts/exchange.tsx';
import { Loaded } from '../parts/frame.tsx';
import { Trace } from '../parts/trace.tsx';
import { Facts, ReplyStatus, Time } from '../parts/values.tsx';
import { useResource } from '../resource.ts';
import type { Reply } from '../wire.ts';
import { accountName } from '../world.ts';
import { asCurl } from './copies.ts';
import { useCaller } from './setups.ts';

interface DetailProps {
  /** The request's number, from the address. */
  readonly number: string;
}

export function RequestDetail({ number }: DetailProps) {
  const request = useResource(() => call('requests.get', number), { key: number });
  return (
    <Detail
      label="Request"
      title={`Request ${number}`}
      badge={request.value && <ReplyStatus status={request.value.status} />}
    >
      <Loaded resource={request} what="the request">
        {(loaded) => <Content request={loaded} number={number} />}
      </Loaded>
    </Detail>
  );
}

function Content({ request, number }: DetailProps & { readonly request: Reply<'requests.get'> }) {
  const { at, account_id: accountId, message_id: messageId, is_replay: isReplay } = request;
  const { method, path, body } = request.request;
  const isThrottled = request.reply.status === 429 && request.fault === null;
  const caller = useCaller(accountId);
  return (
    <>
      <Facts
        facts={[
          ['Fault', request.fault && <b class="problem">{faultText(request.fault)}</b>],
          ['Time', <Time key="at" at={at} />],
          ['Caller', accountId === null ? 'not known' : accountName(accountId)],
          ['Took', `${request.duration_ms.toFixed(2)} ms`],
          [
            'Throttled',
            isThrottled ? <a href="#/limits">Limits says when the next passes</a> : null,
          ],
          ['Replay', isReplay ? 'The reply to the first use of this request_id, again.' : null],
          ['Message', messageId && <a href={`#/messages/${messageId}`}>{messageId}</a>],
        ]}
      />
      {method === 'POST' && body !== null && (
        <div class="actions">
          <CopyButton text={() => asCurl(caller.baseUrl, path, body, caller.key)}>
            Copy as curl
          </CopyButton>
        </div>
      )}
      <ExchangeView exchange={request} showsFault={false} />
      <h3 class="section">What happened to it</h3>
      <Trace intent={{ number }} />
    </>
  );
}
