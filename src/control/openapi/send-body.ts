/**
 * The body of a send in the service's OpenAPI document. Its fields come from what validates it,
 * which reads more assumptions (`src/sim/sends/send-request.ts`). Rules: SEND-1, SEND-2, SEND-4,
 * SEND-6, SEND-7. Assumes: bothSenderFields, unknownFields, nullFields, typeCoercion, emptySendAt.
 */
import { z } from 'zod';
import { messageMaxCharacters, replayWindowMs } from '#contract/limits.ts';
import { hourMs } from '#contract/time.ts';
import type { Assumptions } from '../../sim/assumptions.ts';
import { sendFields } from '../../sim/sends/send-request.ts';

/**
 * The schema of a send's body. The sender is `from` or its alias `from_number`: one schema for
 * each. It permits all valid bodies, and a few invalid ones: JSON Schema cannot express that two
 * fields are equal, which numbers exist, or that a time is in the future.
 */
export function sendBodySchema(assumptions: Assumptions): z.ZodType {
  const { bothSenderFields, unknownFields } = assumptions;
  const { to, sender } = sendFields(assumptions);
  const recipient = to.meta({ description: 'Recipient, E.164 (`numberCheck`).' });
  const from = sender.meta({
    description: 'Sender number, E.164 (`numberCheck`), of a SIM that the account can send from.',
  });
  // What one name of the sender may hold while the other one is given.
  const ignored = (by: string) => z.unknown().optional().describe(`Ignored if \`${by}\` is given.`);
  const aliasWithFrom = {
    from_wins: ignored('from'),
    alias_wins: absent(assumptions),
    reject: absent(assumptions),
    reject_if_different: orNull(from.optional(), assumptions).meta({
      description: 'The same as `from`.',
    }),
  }[bothSenderFields];
  const fromWithAlias =
    bothSenderFields === 'alias_wins' ? ignored('from_number') : absent(assumptions);

  const otherFields = fieldsBesidesNumbers(assumptions);
  const bodySchema = (title: string, senders: { from: z.ZodType; from_number: z.ZodType }) => {
    const fields = z.object({ to: recipient, ...senders, ...otherFields });
    return (unknownFields === 'reject' ? fields.strict() : fields).meta({ title });
  };
  return z.union([
    bodySchema('With from', { from, from_number: aliasWithFrom }),
    bodySchema('With its alias from_number', { from: fromWithAlias, from_number: from }),
  ]);
}

function fieldsBesidesNumbers(assumptions: Assumptions) {
  const { message, request_id, send_at } = sendFields(assumptions);
  const coerced = withCoercion(assumptions);
  return {
    message: coerced(message).meta({
      description: `Body text, at most ${messageMaxCharacters} characters (SEND-6, \`characterUnit\`, \`blankMessage\`).`,
    }),
    request_id: orNull(coerced(request_id), assumptions).meta({
      description:
        `The caller's idempotency key: a repeat within ${replayWindowMs / hourMs} hours returns ` +
        'the original message (SEND-4, `emptyRequestId`).',
    }),
    send_at: orNull(sendAtOrEmpty(send_at, assumptions), assumptions).meta({
      description:
        'Hold the message until this time, which must be in the future (`sendAtFormats`, ' +
        '`sendAtMaxAheadDays`). Default: send immediately (SEND-7).',
    }),
  };
}

/** Adds `null` if `nullFields` treats it as absent, also for the sender fields. */
function orNull(schema: z.ZodType, { nullFields }: Assumptions): z.ZodType {
  return nullFields === 'absent' ? schema.nullable() : schema;
}

/** Permits only that the field is absent, or null if that means the same. */
function absent({ nullFields }: Assumptions): z.ZodType {
  return nullFields === 'absent' ? z.null().optional() : z.never().optional();
}

function sendAtOrEmpty(schema: z.ZodType, { emptySendAt }: Assumptions): z.ZodType {
  return emptySendAt === 'reject' ? schema : z.union([schema, z.literal('')]).optional();
}

/**
 * Permits numbers and booleans in place of a text if they are converted. Not needed for `to`,
 * `from` and `send_at`, for which the converted text is invalid.
 */
function withCoercion({ typeCoercion }: Assumptions) {
  return (schema: z.ZodType): z.ZodType => {
    if (typeCoercion === 'reject') return schema;
    const converted = typeCoercion === 'coerce' ? [z.number(), z.boolean()] : [z.number()];
    return z.union([schema, ...converted]);
  };
}
