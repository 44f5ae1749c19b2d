/**
 * One request in full: request and reply as sent, the fault that struck it, the message that came of
 * it, and all attempts at the same message.
 */
import { call } from '../control.ts';
import { CopyButton } from '../parts/action.tsx';
import { Detail } from '../parts/detail.tsx';
import { ExchangeView, faultText } from '../parts/exchange.tsx';
import { Loaded } from '../parts/notices.tsx';
import { Trace } from '../parts/trace.tsx';
import { Facts, ReplyStatus, Time } from '../parts/values.tsx';
import { useResource } from '../resource.ts';
import type { Reply } from '../wire.ts';
import { accountName } from '../world.ts';
import { asCurl } from './copies.ts';
import { useCaller } from './setups.ts';

interface DetailProps {
  /** Its number, from the address. */
  readonly name: string;
}

export function RequestDetail({ name }: DetailProps) {
  const request = useResource(() => call('requests.get', name), { key: name });
  return (
    <Detail
      label="Request"
      name={name}
      title={`Request ${name}`}
      badge={request.value && <ReplyStatus status={request.value.status} />}
    >
      <Loaded of={request} what="the request">
        {(value) => <Content request={value} name={name} />}
      </Loaded>
    </Detail>
  );
}

function Content({ request, name }: DetailProps & { readonly request: Reply<'requests.get'> }) {
  const { at, account_id: account, duration_ms: tookMs, message_id: message, is_replay } = request;
  const { method, path, body } = request.request;
  const isThrottled = request.reply.status === 429 && request.fault === null;
  const caller = useCaller(account);
  return (
    <>
      <Facts
        of={[
          ['Fault', request.fault && <b class="problem">{faultText(request.fault)}</b>],
          ['Time', <Time key="at" at={at} />],
          ['Caller', account === null ? 'not known' : accountName(account)],
          ['Took', `${tookMs.toFixed(2)} ms`],
          [
            'Throttled',
            isThrottled ? <a href="#/limits">Limits says when the next passes</a> : null,
          ],
          ['Replay', is_replay ? 'The reply to the first use of this request_id, again.' : null],
          ['Message', message && <a href={`#/messages/${message}`}>{message}</a>],
        ]}
      />
      {method === 'POST' && body !== null && (
        <div class="actions">
          <CopyButton text={() => asCurl(caller.baseUrl, path, body, caller.key)}>
            Copy as curl
          </CopyButton>
        </div>
      )}
      <ExchangeView exchange={request} saysFault={false} />
      <h3 class="section">What happened to it</h3>
      <Trace of={{ number: name }} />
    </>
  );
}
