/**
 * The one spelling of a client's address. Limits are counted by its text (AUTH-6), and sockets and
 * proxies spell one address in many ways: short or long, in brackets, with a port or a zone.
 */
import { isIP } from 'node:net';

/** An IPv6 address in brackets, or digits and dots, perhaps with a port. */
const withPort = /^(?:\[(.*)\]|([\d.]+))(?::\w*)?$/;
/** Zeros before the digits of a number: some proxies write three digits. */
const leadingZeros = /\b0+(?=\d)/g;
const mappedIpv4 = /^::ffff:(\w+):(\w+)$/;

/** The plain spelling, an IPv4 address on an IPv6 socket as IPv4; empty if the text names none. */
export function plainIp(text: string): string {
  const unquoted = text.trim().replace(/^"(.*)"$/, '$1');
  const [, bracketed, dotted] = withPort.exec(unquoted) ?? [];
  if (dotted !== undefined) {
    const address = dotted.replace(leadingZeros, '');
    return isIP(address) === 4 ? address : '';
  }
  const [address = ''] = (bracketed ?? unquoted).split('%', 1);
  if (isIP(address) !== 6) return '';
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, high, low] = mappedIpv4.exec(plain) ?? [];
  if (high === undefined || low === undefined) return plain;
  return [high, low]
    .map((half) => Number.parseInt(half, 16))
    .flatMap((half) => [half >>> 8, half & 255])
    .join('.');
}
