/**
 * Whole requests: valid HTTP with any content. Each must get exactly one reply, and the connection
 * must stay open.
 */
import fc from 'fast-check';
import { largeBody, sendBody } from './bodies.ts';
import { controlRows, type Row } from './control-rows.ts';
import type { Facts } from './facts.ts';
import { authorization, contentType, extraHeaders } from './headers.ts';
import { type Bytes, type Piece, rarely, weighted } from './piece.ts';
import { serviceTargets } from './targets.ts';

export const crlf = '\r\n';

/** A body longer than this is not cut into small chunks. */
const largeBytes = 2_000;
const largeChunkSize = 4_096;
const oddMethods = ['GET', 'POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'];

/** The headers that frame a body, and the body: with its length, or in chunks of this size. */
function framing(body: Bytes, chunkSize: number | undefined): Bytes {
  if (chunkSize === undefined) return `Content-Length: ${body.length}${crlf}${crlf}${body}`;
  let chunks = '';
  for (let start = 0; start < body.length; start += chunkSize) {
    const part = body.slice(start, start + chunkSize);
    chunks += `${part.length.toString(16)}${crlf}${part}${crlf}`;
  }
  return `Transfer-Encoding: chunked${crlf}${crlf}${chunks}0${crlf}${crlf}`;
}

const chunkSizes = rarely<number | undefined>(
  6,
  undefined,
  fc.constantFrom(1, 7, 100, largeChunkSize),
);

/** Requests to the documented service. */
export function servicePieces(facts: Facts): fc.Arbitrary<Piece> {
  const method = rarely<string | undefined>(10, undefined, fc.constantFrom(...oddMethods));
  const body = weighted<Bytes>([60, sendBody], [1, largeBody]);
  const expect = rarely(30, '', fc.constant(`Expect: 100-continue${crlf}`));
  return fc
    .record({
      oddMethod: method,
      target: serviceTargets(facts),
      authorization,
      contentType,
      extraHeaders,
      body,
      chunkSize: chunkSizes,
      expect,
    })
    .map((drawn) => {
      const { oddMethod, target, body, chunkSize } = drawn;
      const verb = oddMethod ?? (target.includes('/send') ? 'POST' : 'GET');
      const requestLine = `${verb} ${target} HTTP/1.1${crlf}`;
      const head = `${requestLine}Host: x${crlf}${drawn.authorization}${drawn.extraHeaders}`;
      const hasBody = verb === 'POST' || verb === 'PUT' || verb === 'PATCH';
      if (!hasBody) return { method: verb, bytes: head + crlf };
      // Chunks of one byte would make a large body six times larger.
      const isLarge = body.length > largeBytes;
      const framed = framing(body, isLarge && chunkSize !== undefined ? largeChunkSize : chunkSize);
      const expected = body === '' ? '' : drawn.expect;
      return { method: verb, bytes: `${head}${drawn.contentType}${expected}${framed}` };
    });
}

/** Requests to the control port. */
export function controlPieces(facts: Facts): fc.Arbitrary<Piece> {
  const host = rarely(
    20,
    'localhost',
    fc.constantFrom('evil.example', '127.0.0.1:99999', '[::1', ''),
  );
  const origin = rarely(30, '', fc.constant(`Origin: http://evil.example${crlf}`));
  return fc
    .tuple(controlRows(facts), host, origin, extraHeaders, chunkSizes)
    .map(([row, name, other, extra, chunk]) =>
      pieceOf(
        row,
        `Host: ${name}${crlf}${other}${extra}`,
        row.body.length > largeBytes ? undefined : chunk,
      ),
    );
}

/** A row of the control port as one request. */
export function pieceOf(
  { method, target, body }: Row,
  headers: Bytes = `Host: localhost${crlf}`,
  chunk?: number,
): Piece {
  const rest = body === '' ? crlf : framing(body, chunk);
  return { method, bytes: `${method} ${target} HTTP/1.1${crlf}${headers}${rest}` };
}
