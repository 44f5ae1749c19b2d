/** CLIENT-15: no body causes a 400. CLIENT-16: a key is in the `Authorization` header alone. */
import { isSend } from './exchange.ts';
import { type ClientRecord, finding, type Judgement, type Judges } from './record.ts';

export const bodies: Judges = { 'CLIENT-15': sendsValidBodies, 'CLIENT-16': keepsItsKey };

function sendsValidBodies({ exchanges }: ClientRecord): Judgement {
  const sends = exchanges.filter(isSend);
  return {
    exercised: sends.length,
    findings: sends
      .filter(({ status, isForced }) => status === 400 && isForced !== true)
      .map((send) =>
        finding(
          `the body was refused by validation: ${shown(send.reply)}; check it before it is sent`,
          [send],
        ),
      ),
  };
}

function shown(reply: Readonly<Record<string, unknown>> | undefined): string {
  const text = JSON.stringify(reply ?? {});
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
}

function keepsItsKey({ exchanges }: ClientRecord): Judgement {
  return {
    exercised: exchanges.length,
    findings: exchanges
      .filter(({ showsKey }) => showsKey)
      .map((one) =>
        finding(
          'an API key is in the path, the query or the body, where logs record it: send it in the Authorization header alone',
          [one],
        ),
      ),
  };
}
