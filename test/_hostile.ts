/** Malicious and malformed values, paths and bodies for every endpoint. */

/** Any of these in a response means that a file outside of its root was read. */
export const CANARY = 'canary-8f3a1c'
export const LEAKS = [CANARY, 'root:x:0:0']

const controlTexts: readonly string[] = [
  '\0',
  'a\0b',
  '\u0001\u001b[31m\r\nX-Injected: 1',
  '\u202e\ufeff\ud800',
  '/etc/passwd\0.png',
]

const traversalTexts: readonly string[] = [
  '..',
  '../',
  '../../../../../../../../etc/passwd',
  '../../secret.txt',
  '..%2f..%2fsecret.txt',
  '%2e%2e%2fsecret.txt',
  '%252e%252e%252fsecret.txt',
  '..%c0%af..%c0%afsecret.txt',
  '..\\..\\secret.txt',
  '/etc/passwd',
  '//etc/passwd',
  'file:///etc/passwd',
  '~/secret.txt',
  'C:\\Windows\\win.ini',
  '\\\\server\\share\\a',
  '/proc/self/environ',
  'escape-link',
  'escape-link/passwd',
]

const otherTexts: readonly string[] = [
  '',
  ' ',
  'x'.repeat(5_000),
  '💥'.repeat(100),
  '-1',
  '0',
  '1e999',
  'NaN',
  '9007199254740993',
  'null',
  'undefined',
  '[]',
  '{"$ne":null}',
  '__proto__',
  'constructor',
  'toString',
  "' or 1=1 --",
  '"><img src=x onerror=alert(1)>',
  '{{7*7}}',
  'CON',
  'a:stream',
  'http://127.0.0.1:1/',
]

/** Values of other types than expected, and one that is far too long. */
const mistyped: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  2 ** 53,
  [],
  ['..'],
  {},
  { toString: 1, length: -1 },
  JSON.parse('{"__proto__":{"polluted":true}}'),
  'x'.repeat(200_000),
]

/** Of each group, a field meets at least one. */
export const hostileTexts: readonly (readonly string[])[] = [
  controlTexts,
  traversalTexts,
  otherTexts,
]
export const hostileValues: readonly (readonly unknown[])[] = [mistyped, ...hostileTexts]

const deep = (depth: number, open: string, close: string) =>
  open.repeat(depth) + close.repeat(depth)

/** Bodies that are not valid objects, or are too large or too deep. */
export const hostileBodies: readonly (string | Buffer)[] = [
  'not json',
  '{',
  'null',
  'true',
  '42',
  '"text"',
  '[]',
  '[{}]',
  '{"a":1,}',
  '\0',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  deep(50_000, '[', ']'),
  deep(20_000, '{"a":', '}'),
  `{"a":${deep(20_000, '[', ']')}}`,
  Buffer.from([0xff, 0xfe, 0x7b, 0x7d]),
  Buffer.from('{"session_id":"\xc3\x28"}', 'latin1'),
  `{${Array.from({ length: 20_000 }, (_, i) => `"k${i}":1`).join(',')}}`,
]

/** Paths that must not serve a file. */
export const hostilePaths: readonly string[] = [
  '/static/',
  '/static/..',
  '/static/../index.html',
  '/static/../../package.json',
  '/static/../../../../../../../../etc/passwd',
  '/static/%2e%2e/%2e%2e/package.json',
  '/static/..%2f..%2fpackage.json',
  '/static/%252e%252e%252fpackage.json',
  '/static/..%c0%af..%c0%afpackage.json',
  '/static/..\\..\\package.json',
  '/static/%5c..%5cpackage.json',
  '/static/main.js%00.png',
  '/static//etc/passwd',
  '/static/C:%5cWindows%5cwin.ini',
  '/static/index.html',
  '/static/login.html',
  '/static/constructor',
  '/static/__proto__',
  '//etc/passwd',
  '/%',
  '/%ff',
  '/index.html/',
  '/api',
  '/api/',
  '/api/nothing',
  '/api/../health',
  '/session/',
  '/session/a/b',
  '/session/..%2f..',
  `/session/${'a'.repeat(4_000)}`,
  '/settings/a/b',
  '/__proto__',
  '/constructor',
  '/health/',
  '/HEALTH',
  '/health;x',
  '/health%00',
]

export const wrongMethods: readonly string[] = [
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
]
