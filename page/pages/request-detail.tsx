/**
 * One request to the service in full: its caller, its fault, its wait, both bodies, and what became
 * of the message that it means to send.
 */
import type { Reply } from '../control.ts';
import { asCurl, CopyButton, CopyTest } from '../parts/copy-and-save.tsx';
import { ExchangeView, FaultLink } from '../parts/exchange.tsx';
import { Detail, Loaded } from '../parts/frame.tsx';
import { Trace } from '../parts/timeline.tsx';
import { Facts, ReplyStatus, Time } from '../parts/values.tsx';
import { useReply } from '../resource.ts';
import { addressOf } from '../route.ts';
import { accountName, useKey } from '../world.ts';

/** `number`: the request's number, from the address. */
export function RequestDetail({ number }: { readonly number: string }) {
  const request = useReply('requests.get', [number], ['traffic']);
  const { status, is_lost: isLost, previous, next } = request.value ?? {};
  return (
    <Detail
      title={`Request ${number}`}
      badge={status && <ReplyStatus status={status} isLost={isLost} />}
      links={[
        previous && neighbour(previous, 'Previous', '‹'),
        next && neighbour(next, 'Next', '›'),
      ]}
    >
      <Loaded resource={request} what="the request" isQuiet>
        {(loaded) => <Content request={loaded} />}
      </Loaded>
    </Detail>
  );
}

function neighbour(near: NonNullable<Reply<'requests.get'>['next']>, which: string, sign: string) {
  return (
    <a class="button plain" href={addressOf('requests', String(near.number))}>
      <span class="hidden">{which}: </span>
      {sign} {near.number} <ReplyStatus status={near.status} isLost={near.is_lost} />
    </a>
  );
}

/** `of`: the request that it repeats; null if that is no longer kept. */
export function Replay({ of }: { readonly of: number | null }) {
  const link = of !== null && <a href={addressOf('requests', String(of))}>{of}</a>;
  return <span>replay of {link || 'an earlier request'}</span>;
}

function Content({ request }: { readonly request: Reply<'requests.get'> }) {
  const { at, account_id: accountId, message_id: messageId, retry_at: retryAt } = request;
  const { key, why, fault } = request;
  const { method, path, body } = request.request;
  const number = String(request.number);
  const ownKey = useKey(accountId);
  const wait = retryAt && (
    <>
      {request.retry_after_s} s by Retry-After, until <Time at={retryAt} />; Retry-After is rounded
      up: <a href="#/limits">Limits</a> shows the exact end
    </>
  );
  const { number: again, sentence } = request.afterwards ?? {};
  const then = again ? <a href={addressOf('requests', String(again))}>{sentence}</a> : sentence;
  return (
    <>
      <Facts
        facts={[
          ['Why', fault === null ? why : <FaultLink key="why" fault={fault} text={why ?? ''} />],
          ['Time', <Time key="at" at={at} />],
          ['Caller', accountId === null ? 'not known' : `${accountName(accountId)}, key ${key}…`],
          ['Took', `${request.duration_ms.toFixed(2)} ms`],
          ['Wait', wait],
          ['Then', then ?? null],
          ['The reply', request.is_replay ? <Replay key="of" of={request.repeats} /> : null],
          ['Message', messageId && <a href={`#/messages/${messageId}`}>{messageId}</a>],
        ]}
      />
      {method === 'POST' && body !== null && (
        <div class="actions">
          <CopyButton text={() => asCurl(path, body, ownKey)}>Copy as curl</CopyButton>
          <CopyTest input={{ number }} />
        </div>
      )}
      <h3 class="section">What happened to it</h3>
      <Trace intent={{ number }} />
      <ExchangeView exchange={request} />
    </>
  );
}
