/** CLIENT-15: no body causes a 400. CLIENT-16: a key is in the `Authorization` header alone. */
import { isSend } from './exchange.ts';
import { type ClientRecord, finding, type Judgement, type Judges, judgement } from './record.ts';

export const bodies: Judges = { 'CLIENT-15': sendsValidBodies, 'CLIENT-16': keepsItsKey };

function sendsValidBodies({ exchanges }: ClientRecord): Judgement {
  return judgement(
    exchanges.filter(isSend),
    ({ status, isForced }) => status === 400 && isForced !== true,
    (send) =>
      finding(
        `the body was refused by validation: ${shown(send.reply)}; check it before it is sent`,
        [send],
      ),
  );
}

function shown(reply: Readonly<Record<string, unknown>> | undefined): string {
  const text = JSON.stringify(reply ?? {});
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
}

function keepsItsKey({ exchanges }: ClientRecord): Judgement {
  const what =
    'an API key is in the path, the query or the body, where logs record it: send it in the Authorization header alone';
  return judgement(
    exchanges,
    ({ showsKey }) => showsKey,
    (one) => finding(what, [one]),
  );
}
