/** What is hidden, what is not, and that the quick filter never misses what the patterns hit. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Sentence } from '../../../../lib/base/sentences.ts'
import {
  isSuspect,
  redact,
  redactJsonLine,
  redactValue,
  suspectOffsets,
  unredact,
} from '../../../../lib/base/redact/redact.ts'
import { setFlagsFromString } from 'node:v8'

const test = suite('redact')

const LONG = 'abcdefghijklmnopqrstuvwxyz012345'
const PEM =
  '-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEAabcdefgh\nabc=\n-----END RSA PRIVATE KEY-----'

const HIDDEN: [string, string, string][] = [
  ['openai', `key sk-${LONG} end`, 'key sk-abc...2345 end'],
  ['short token', 'sk-abcdefghij', '***'],
  ['github', `ghp_${LONG}`, 'ghp_ab...2345'],
  ['github fine', `github_pat_${LONG}`, 'github...2345'],
  [
    'github others',
    `gho_${LONG} ghu_${LONG} ghs_${LONG} ghr_${LONG}`,
    'gho_ab...2345 ghu_ab...2345 ghs_ab...2345 ghr_ab...2345',
  ],
  ['slack', `xoxb-${LONG}`, 'xoxb-a...2345'],
  ['hugging face', `hf_${LONG}`, 'hf_abc...2345'],
  ['sendgrid', `SG.${LONG}.${LONG}`, 'SG.abc...2345'],
  ['aws', 'AKIAABCDEFGHIJKLMNOP', 'AKIAAB...MNOP'],
  ['bearer', `Authorization: Bearer ${LONG}`, 'Authorization: Bearer abcdef...2345'],
  ['bearer, other case', `authorization: bearer short`, 'authorization: bearer ***'],
  [
    'bearer in JSON',
    `{"Authorization": "Bearer ${LONG}"}`,
    '{"Authorization": "Bearer abcdef...2345"}',
  ],
  ['assignment', `export MY_API_KEY=${LONG}`, 'export MY_API_KEY=abcdef...2345'],
  ['assignment, quoted', `DB_PASSWORD = "hunter2"`, 'DB_PASSWORD = "***"'],
  ['assignment, escaped', 'say \\"APP_SECRET=\\"hunter2\\"', 'say \\"APP_SECRET=\\"***\\"'],
  [
    'every name',
    'A_TOKEN=x B_SECRET=x C_PASSWD=x D_CREDENTIALS=x E_AUTH=x F_APIKEY=x',
    'A_TOKEN=*** B_SECRET=*** C_PASSWD=*** D_CREDENTIALS=*** E_AUTH=*** F_APIKEY=***',
  ],
  ['assignment in code marks', 'set `APP_TOKEN=hunter2` now', 'set `APP_TOKEN=***` now'],
  ['private key', `a ${PEM} b`, 'a [REDACTED PRIVATE KEY] b'],
  [
    'private key without end',
    '-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEAabcdefgh',
    '[REDACTED PRIVATE KEY]',
  ],
]

for (const [name, text, expected] of HIDDEN) {
  test(`hides: ${name}`, () => {
    assert.is(redact(text), expected)
    assert.is(redact(redact(text)), expected)
    assert.ok(isSuspect(text))
    const json = JSON.stringify({ deep: [{ text }] })
    assert.ok(isSuspect(json), 'the filter must see it inside JSON')
    assert.equal(JSON.parse(redactJsonLine(json)), { deep: [{ text: expected }] })
    assert.ok([...suspectOffsets(json)].length > 0)
  })
}

test('leaves ordinary text alone', () => {
  for (const text of [
    'the task-management-system-overview',
    'ask-me-anything-about-it',
    'password: hunter2',
    'api_key=lowercase',
    'token ring network',
    'sk-short',
    'a -----BEGIN CERTIFICATE----- b',
    '',
  ]) {
    assert.is(redact(text), text)
  }
})

test('a mention of a key header does not hide the text after it', () => {
  const text = 'A file starts with -----BEGIN PRIVATE KEY----- and then come lines of base64.'
  assert.match(redact(text), /and then come lines of base64\.$/)
})

test('returns an unchanged line unparsed', () => {
  const line = '{ "odd" :  "spacing" }'
  assert.is(redactJsonLine(line), line)
})

test('a sentence stays one', () => {
  const masked = redactValue({ error: new Sentence('it failed', { code: 'why.failed' }) })
  assert.is(JSON.stringify(masked), '{"error":"it failed"}')
})

test('values keep their types and keys', () => {
  const value = { [`sk-${LONG}`]: 1, a: [null, true, 2.5, `sk-${LONG}`], b: undefined }
  assert.equal(redactValue(value), {
    [`sk-${LONG}`]: 1,
    a: [null, true, 2.5, 'sk-abc...2345'],
    b: undefined,
  })
})

test('restores redacted values after an edit', () => {
  const stored = [
    `key sk-${LONG} and ghp_${LONG}`,
    `A_TOKEN=sk-${LONG}x B_PASSWORD=short`,
    'authorization: bearer abc',
    'a short one: sk-0123456789',
    '***bold***',
    '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n-----END PRIVATE KEY-----',
  ].join('\n')
  const shown = redact(stored)
  for (const secret of [LONG, 'short\n', 'bearer abc', '0123456789', 'MIIE']) {
    assert.not.match(shown, secret)
  }
  assert.is(unredact(shown, stored), stored)
  assert.is(unredact(`new line\n${shown}\n***`, stored), `new line\n${stored}\n***`)
  assert.is(unredact('***a***', stored), '***a***')
  assert.is(unredact(`moved ${redact(`sk-${LONG}`)}`, stored), `moved sk-${LONG}`)
  assert.is(unredact('sk-abc...zzzz', stored), 'sk-abc...zzzz')
})

test('restores a mask written with an ellipsis character', () => {
  const stored = `A_TOKEN=sk-${LONG}\nname: x`
  const edited = redact(stored).replace('...', '…').replace('name: x', 'name: y')
  assert.match(edited, '…')
  assert.is(unredact(edited, stored), stored.replace('name: x', 'name: y'))
})

/** Work that grows with the square of the length would take hours: the limit of a test ends it. */
test('hostile text of any length', () => {
  redact('-----BEGIN PRIVATE KEY-----'.repeat(5_000))
  redact('A'.repeat(300_000))
  redact(`${'TOKEN_'.repeat(50_000)}=x`)
  redact('Authorization'.repeat(30_000))
})

test('megabytes do not exhaust the stack of the regular expression engine', () => {
  // As in a process that has compiled many patterns.
  setFlagsFromString('--no-regexp-optimization')
  const key = `${'Ab1/'.repeat(19)}\n`.repeat(150_000)
  assert.is(redact(`-----BEGIN PRIVATE KEY-----\n${key}`), '[REDACTED PRIVATE KEY]\n')
  const oneLine = 'Ab1/'.repeat(3_000_000)
  assert.is(redact(`-----BEGIN PRIVATE KEY-----\n${oneLine}.`), '[REDACTED PRIVATE KEY].')
  for (const text of [
    `-----BEGIN PRIVATE KEY-----${' '.repeat(12e6)}`,
    `api_key${'\\t'.repeat(6e6)}`,
    `authorization${' '.repeat(12e6)}`,
  ])
    assert.is(redact(text).length > 11, true)
})

test.run()
