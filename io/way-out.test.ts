import { expect, test } from 'vitest';
import { WayOut } from './way-out.ts';

test('a proxy that is no URL of HTTP is refused by the name of its variable', () => {
  for (const wrong of ['socks5://secret', 'http://', 'a b']) {
    expect(() => new WayOut(new URL('https://a.test'), { HTTPS_PROXY: wrong })).toThrow(
      /^HTTPS_PROXY: expected a proxy such as http:\/\/proxy\.example\.com:3128$/,
    );
  }
});

test.each([
  ['http://sms.example.test', '', true],
  ['http://sms.example.test', 'other.test', true],
  ['http://sms.example.test', 'SMS.example.TEST', false],
  ['http://sms.example.test', 'a.test, example.test', false],
  ['http://sms.example.test', '.example.test', false],
  ['http://sms.example.test', '*.example.test', false],
  ['http://sms.example.test', 'ample.test', true],
  ['http://sms.example.test', '*', false],
  ['http://sms.example.test', 'sms.example.test:80', false],
  ['http://sms.example.test', 'sms.example.test:443', true],
  ['http://sms.example.test:8080', 'example.test:8080 b', false],
  ['http://10.1.2.3', '10.0.0.0/8', false],
  ['http://11.1.2.3', '10.0.0.0/8,10.0.0.0/99,/,:', true],
  ['http://[2001:db8::1]', '2001:db8:0:0:0:0:0:1', false],
  ['http://[2001:db8::1]:81', '[2001:db8::1]:81', false],
  ['http://[2001:db8::1]:81', '[2001:db8::1]:82', true],
  ['http://[2001:db8::1]', '2001:db8::/32', false],
  ['http://localhost:8080', '', false],
  ['http://w1.localhost', '', false],
  ['http://127.0.0.9', '', false],
  ['http://[::1]:8080', '', false],
])('%s with NO_PROXY=%s: through the proxy is %s', (url, list, isProxied) => {
  for (const name of ['NO_PROXY', 'no_proxy']) {
    const way = new WayOut(new URL(url), { HTTP_PROXY: 'http://proxy.test:3128', [name]: list });
    expect(way.request('/').path === '/').toBe(!isProxied);
  }
});
