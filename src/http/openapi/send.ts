/**
 * The schema of the send body, built from the fields that validate it. The sender is `from` or its
 * alias `from_number`.
 * Rules: SEND-1, SEND-2, SEND-6, SEND-7. Assumes: bothSenderFields, unknownFields, nullFields,
 * typeCoercion, and those
 */
import { z } from 'zod';
import type { Assumptions } from '../../sim/assumptions.ts';
import { messageMaxCharacters, replayWindowMs } from '../../sim/limits.ts';
import { sendFields } from '../../sim/send-request.ts';

const hourMs = 3_600_000;

/** JSON Schema cannot express that two fields are equal, nor possible numbers or future times. */
export function sendBodySchema(assumptions: Assumptions): z.ZodType {
  const { bothSenderFields, unknownFields } = assumptions;
  const { to, sender, message, ...optional } = sendFields(assumptions);
  const { notGiven, maybeNull } = nulls(assumptions);
  const recipient = to.meta({ description: `Recipient, E.164. ${numberText(assumptions)}` });
  const asText = textOrMore(assumptions);
  const from = sender.meta({
    description:
      'Sender number, E.164, of a SIM that the account can send from. ' +
      `${numberText(assumptions)}`,
  });
  const rest = {
    message: asText(message).meta({ description: messageText(assumptions) }),
    request_id: maybeNull(asText(optional.request_id)).meta({
      description: requestIdText(assumptions),
    }),
    send_at: maybeNull(optional.send_at).meta({ description: sendAtText(assumptions) }),
  };
  const ignored = (by: string) => z.unknown().optional().describe(`Ignored if \`${by}\` is given.`);
  const aliasBesideFrom = {
    from_wins: ignored('from'),
    alias_wins: notGiven,
    reject: notGiven,
    reject_if_different: maybeNull(from.optional()).meta({ description: 'The same as `from`.' }),
  }[bothSenderFields];
  const fromBesideAlias = bothSenderFields === 'alias_wins' ? ignored('from_number') : notGiven;
  const body = (title: string, senders: { from: z.ZodType; from_number: z.ZodType }) => {
    const fields = z.object({ to: recipient, ...senders, ...rest });
    return (unknownFields === 'reject' ? fields.strict() : fields).meta({ title });
  };
  return z.union([
    body('With from', { from, from_number: aliasBesideFrom }),
    body('With its alias from_number', { from: fromBesideAlias, from_number: from }),
  ]);
}

/** Under `nullFields: absent`, null counts as absent, also in the sender fields. */
function nulls({ nullFields }: Assumptions) {
  return nullFields === 'absent'
    ? {
        notGiven: z.null().optional(),
        maybeNull: (schema: z.ZodType): z.ZodType => schema.nullable(),
      }
    : { notGiven: z.never().optional(), maybeNull: (schema: z.ZodType): z.ZodType => schema };
}

/**
 * Accepts numbers and booleans as text; `to`, `from` and `send_at` reject them as values anyway.
 */
function textOrMore({ typeCoercion }: Assumptions) {
  return (schema: z.ZodType): z.ZodType =>
    typeCoercion === 'reject' ? schema : z.union([schema, z.number(), z.boolean()]);
}

function numberText({ numberCheck }: Assumptions): string {
  return {
    shape: 'Any number of this shape is accepted (`numberCheck`).',
    possible: 'Country code and length must be possible (`numberCheck`).',
    valid: 'It must be a valid number (`numberCheck`).',
  }[numberCheck];
}

function messageText({ blankMessage, characterUnit }: Assumptions): string {
  const unit = {
    code_points: 'code points',
    utf16_units: 'UTF-16 units',
    graphemes: 'graphemes',
  }[characterUnit];
  const blank = blankMessage === 'reject' ? ' May not be blank (`blankMessage`).' : '';
  return (
    `Body text, at most ${messageMaxCharacters} characters (SEND-6), counted as ${unit} ` +
    `(\`characterUnit\`).${blank}`
  );
}

function requestIdText({ emptyRequestId }: Assumptions): string {
  const empty =
    emptyRequestId === 'none_supplied' ? ' The empty string means no key (`emptyRequestId`).' : '';
  return (
    `The caller's idempotency key: a repeat within ${replayWindowMs / hourMs} hours ` +
    `returns the original message (SEND-4).${empty}`
  );
}

function sendAtText({ sendAtFormats, sendAtMaxAheadDays }: Assumptions): string {
  const form = { rfc3339: 'RFC 3339', iso8601: 'ISO 8601' }[sendAtFormats];
  const ahead =
    sendAtMaxAheadDays === 'unlimited'
      ? ''
      : ` and at most ${sendAtMaxAheadDays} days ahead (\`sendAtMaxAheadDays\`)`;
  return (
    `${form} (\`sendAtFormats\`): hold the message until this time, which must be in the ` +
    `future${ahead}. Default: send immediately (SEND-7).`
  );
}
