/** Search in titles and messages: queries, snippets, cut messages, damaged indexes. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { createTestClock } from '../../_clock.ts'
import * as assert from 'uvu/assert'
import { refreshSecrets, watchSecrets } from '../../../lib/base/redact/redact.ts'
import { IDLE_MS, SearchClient } from '../../../lib/sessions/search-client.ts'
import { toIndexed, toMatch, toSnippet, toTerms } from '../../../lib/sessions/search-query.ts'
import type { NewEntry } from '../../../lib/sessions/entries.ts'
import type { Sessions } from '../../../lib/sessions/sessions.ts'
import { benchSuite, NEW, say } from './_sessions.ts'

const test = benchSuite('sessions/search')

const start = (sessions: Sessions, title: string, ...said: string[]): string => {
  const { session_id: id } = sessions.create({ ...NEW, title })
  sessions.append(
    id,
    said.map((text, index) => say(text, index % 2 ? 'assistant' : 'user')),
  )
  return id
}
const result = (content: Record<string, unknown>): NewEntry => ({
  t: 'message',
  message: { role: 'tool', content: JSON.stringify(content) },
})
const find = (sessions: Sessions, q: string, content = true) =>
  sessions.search({ q, content, limit: 50 })
const ids = async (sessions: Sessions, q: string, content = true) =>
  (await find(sessions, q, content)).map(hit => hit.session_id).sort()

test('treats input as text, never as operators', () => {
  const cases: [string, string][] = [
    ['', ''],
    ['   ', ''],
    ['"', ''],
    ['*', ''],
    ['-- ; ()', ''],
    ['foo', '"foo" *'],
    ['foo ', '"foo" *'],
    ['foo bar', '"foo" AND "bar" *'],
    ['foo OR bar', '"foo" AND "OR" AND "bar" *'],
    ['"foo bar" baz', '"foo bar" AND "baz" *'],
    ['"foo bar"', '"foo bar"'],
    ['text:foo', '"text:foo" *'],
    ['foo*', '"foo" *'],
    ['a"b', '"a" AND "b" *'],
    ['東京', '"東 京" *'],
    ['tokyo東京 x', '"tokyo 東 京" AND "x" *'],
    ['NEAR(a b)', '"NEAR(a" AND "b)" *'],
  ]
  for (const [typed, expected] of cases) assert.is(toMatch(toTerms(typed)), expected, typed)
  assert.is(toTerms('w '.repeat(100)).length, 12)
  assert.is(toIndexed('no change'), 'no change')
  assert.is(toIndexed('京都x'), ' 京  都 x')
})

test('snippets are excerpts with ranges to highlight', () => {
  const show = (text: string, typed: string) =>
    toSnippet(text, toTerms(typed))
      .map(({ text: part, mark }) => (mark ? `[${part}]` : part))
      .join('')
  assert.is(show('one two three', 'two'), 'one [two] three')
  assert.is(show('One TWO twofold', 'two one'), '[One] [TWO] twofold')
  assert.is(show('one twofold', 'two'), 'one [two]fold')
  assert.is(show('a café there', 'cafe there'), 'a [café] [there]')
  assert.is(show('<b>two</b> & more', 'two'), '<b>[two]</b> & more')
  assert.is(show('我在东京的大学', '东京'), '我在[东京]的大学')
  assert.is(show('nothing here', 'elsewhere'), 'nothing here')
  assert.is(show('a (b] c.*', 'c.*'), 'a (b] [c].*')
  const long = show(`${'x '.repeat(500)}needle${' 😀'.repeat(500)}`, 'needle')
  assert.match(long, /^….*\[needle\].*…$/u)
  assert.ok(long.length < 260)
  assert.not.match(long, /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/)
})

test('hostile queries cause no error', async ({ bench: { sessions } }) => {
  const id = start(sessions, 'ordinary', 'some ordinary words')
  for (const q of [
    "' OR 1=1 --",
    '"',
    '""""',
    '"unclosed',
    '*',
    'a*b*',
    '(((',
    'NEAR(ordinary words, 2)',
    'text : words',
    '-words',
    'words NOT ordinary',
    '{text}:words',
    '^ordinary',
    '\0',
    'ordinary\0words',
    '\ud800',
    '%_[]',
    'x'.repeat(10_000),
    `${'"a" '.repeat(2_000)}`,
    '🦊',
    '<script>',
  ]) {
    assert.ok(Array.isArray(await find(sessions, q)), q)
  }
  assert.equal(await ids(sessions, 'ordinary\0words'), [id])
  assert.equal(await ids(sessions, ''), [])
})

test('matches titles first, anywhere and without the index, then the best message of each session', async ({
  bench: { sessions },
}) => {
  const a = start(sessions, 'Concatenation', 'nothing')
  const b = start(sessions, 'Other', 'the cat sat', 'cat cat cat')
  const c = start(
    sessions,
    'Third',
    'a long text about many things with one cat in it somewhere far away',
  )
  const hits = await find(sessions, 'cat')
  assert.equal(
    hits.map(hit => [hit.session_id, hit.match_type]),
    [
      [a, 'title'],
      [b, 'content'],
      [c, 'content'],
    ],
  )
  assert.is(hits[1]?.message_id, 'm3')
  assert.is(hits[0]?.title, 'Concatenation')
  assert.ok(hits[1]?.snippet.some(part => part.mark && part.text === 'cat'))
  assert.equal(await ids(sessions, 'cat', false), [a])
  assert.is((await sessions.search({ q: 'cat', content: true, limit: 1 })).length, 1)
})

test('finds every session, those beyond the ranked messages in the order of time, and those of one profile among many others', async ({
  bench: { sessions },
}) => {
  const made = Array.from({ length: 60 }, (_, at) => {
    const profile = at === 0 ? 'small' : 'large'
    const { session_id: id } = sessions.create({ ...NEW, title: `Chat ${at}`, profile })
    // More matches than are ranked.
    sessions.append(
      id,
      Array.from({ length: 20 }, () => say('everywhere', 'user')),
    )
    return id
  })
  const all = await sessions.search({ q: 'everywhere', content: true, limit: 1_000 })
  assert.equal(new Set(all.map(hit => hit.session_id)), new Set(made))
  const [some, small] = [
    await sessions.search({ q: 'everywhere', content: true, limit: 30 }),
    await sessions.search({ q: 'everywhere', content: true, limit: 30, profile: 'small' }),
  ]
  assert.equal(some, all.slice(0, 30), 'a longer list begins with the shorter one')
  assert.equal(
    small.map(hit => hit.session_id),
    [made[0]],
  )
})

test('the index is asked for no more hits than are shown', async ({ bench: { sessions } }) => {
  for (let at = 0; at < 20; at++) start(sessions, `Chat ${at}`, 'everywhere')
  const { search } = SearchClient.prototype
  const asked: number[] = []
  SearchClient.prototype.search = function (this: SearchClient, terms, limit) {
    asked.push(limit)
    return search.call(this, terms, limit)
  }
  try {
    const found = await sessions.search({ q: 'everywhere', content: true, limit: 3 })
    assert.is(found.length, 3)
    assert.equal(asked, [3])
  } finally {
    SearchClient.prototype.search = search
  }
})

test('matches words, prefixes, phrases, accents and languages without spaces', async ({
  bench: { sessions },
}) => {
  const a = start(sessions, 'A', 'The Größe of the café')
  const b = start(sessions, 'B', '我昨天在东京大学学习日本語です', 'สวัสดีชาวโลก', '안녕하세요 세계')
  const c = start(sessions, 'C', 'red green blue')
  assert.equal(await ids(sessions, 'grosse'), [])
  assert.equal(await ids(sessions, 'Große'), [a])
  assert.equal(await ids(sessions, 'größe'), [a])
  assert.equal(await ids(sessions, 'grö'), [a])
  assert.equal(await ids(sessions, 'cafe'), [a])
  assert.equal(await ids(sessions, 'caf the'), [])
  assert.equal(await ids(sessions, 'the caf'), [a])
  assert.equal(await ids(sessions, '东京'), [b])
  assert.equal(await ids(sessions, '京东'), [])
  assert.equal(await ids(sessions, '学'), [b])
  assert.equal(await ids(sessions, '日本語'), [b])
  assert.equal(await ids(sessions, 'ชาว'), [b])
  assert.equal(await ids(sessions, '세계'), [b])
  assert.equal(await ids(sessions, '"green blue"'), [c])
  assert.equal(await ids(sessions, '"blue green"'), [])
  assert.equal(await ids(sessions, 'blue green'), [c])
})

test('follows appends, cuts, undone cuts, edits and deletions; covers errors and tool output, not system prompts', async ({
  bench,
}) => {
  const { sessions } = bench
  const id = start(sessions, 'T', 'apple', 'banana')
  assert.equal(await ids(sessions, 'apple'), [id])
  sessions.append(id, [
    say('cherry'),
    { t: 'message', message: { role: 'tool', tool_call_id: 'c', content: 'toolword' } },
    { t: 'message', message: { role: 'system', content: 'systemword' } },
  ])
  assert.equal(await ids(sessions, 'cherry'), [id])
  assert.equal(await ids(sessions, 'toolword'), [id])
  assert.equal(await ids(sessions, 'systemword'), [])
  const [cut] = sessions.append(id, [{ t: 'cut', after: 2 }])
  for (const word of ['banana', 'cherry', 'toolword']) assert.equal(await ids(sessions, word), [])
  assert.equal(await ids(sessions, 'apple'), [id])
  sessions.append(id, [say('durian')])
  assert.equal(await ids(sessions, 'durian'), [id])
  sessions.append(id, [{ t: 'uncut', cut: cut?.n ?? 0 }])
  assert.equal(await ids(sessions, 'banana'), [id])
  const { readFileSync } = await import('node:fs')
  const text = readFileSync(bench.path(id), 'utf8')
  writeFileSync(bench.path(id), text.replace('apple', 'grape'))
  assert.equal(await ids(sessions, 'apple'), [])
  assert.equal(await ids(sessions, 'grape'), [id])
  rmSync(bench.path(id))
  assert.equal(await ids(sessions, 'grape'), [])
})

test('finds messages after a new id, a restart, and a lost or corrupt index', async ({ bench }) => {
  const id = start(bench.sessions, 'T', 'apple')
  assert.equal(await ids(bench.sessions, 'apple'), [id])
  bench.sessions.rotate(id, 'other_id')
  assert.equal(await ids(bench.sessions, 'apple'), ['other_id'])
  let sessions = await bench.restart()
  assert.equal(await ids(sessions, 'apple'), ['other_id'])
  await sessions.close()
  rmSync(join(bench.root, 'cache/search.db'))
  sessions = await bench.restart()
  assert.equal(await ids(sessions, 'apple'), ['other_id'])
  await sessions.close()
  writeFileSync(join(bench.root, 'cache/search.db'), 'rubbish '.repeat(1_000))
  sessions = await bench.restart()
  assert.equal(await ids(sessions, 'apple'), ['other_id'])
  await sessions.close()
  rmSync(join(bench.root, 'cache/catalog.db'))
  sessions = await bench.restart()
  sessions.append('other_id', [say('pear')])
  assert.equal(await ids(sessions, 'apple'), ['other_id'])
  assert.equal(await ids(sessions, 'pear'), ['other_id'])
})

test('redacts secrets in results', async ({ bench: { sessions } }) => {
  start(sessions, 'T', 'the deploy key is sk-abcdefghijklmnopqrstuvwxyz yes')
  const [hit] = await find(sessions, 'deploy')
  assert.not.match(JSON.stringify(hit), /abcdefghijkl/)
  assert.equal(await ids(sessions, 'sk-abcdefghijklmnopqrstuvwxyz'), [])
})

test('a snippet contains no part of a secret, wherever it is cut or marked', async ({
  bench: { sessions },
}) => {
  const key = 'blue-harbor-77-lantern-staircase'
  const keys = [key]
  const stop = watchSecrets(() => keys)
  refreshSecrets()
  const pieces = /harbor|lantern|stair/
  try {
    start(sessions, 'T', `needle ${'x'.repeat(170)} ${key} end`)
    start(sessions, 'T', `${'x '.repeat(60)} ${key} thimble ${'y '.repeat(200)}`)
    start(sessions, 'T', `the word ${key} inside`)
    const id = start(sessions, 'T', 'run it')
    sessions.append(id, [result({ output: `${'z '.repeat(990)}basket ${key}` })])
    for (const word of ['needle', 'thimble', 'harbor', 'basket']) {
      const hits = await find(sessions, word)
      assert.not.match(JSON.stringify(hits.map(hit => hit.snippet)), pieces, word)
    }
    assert.is((await find(sessions, 'basket')).length, 1)
  } finally {
    stop()
  }
})

test('a snippet of a tool result shows its text, not its JSON', async ({ bench: { sessions } }) => {
  const id = start(sessions, 'T', 'run it')
  sessions.append(id, [result({ output: 'compiled "main"\nwith gooseberry', exit_code: 0 })])
  const [hit] = await find(sessions, 'gooseberry')
  assert.is(hit?.snippet.map(({ text }) => text).join(''), 'compiled "main" with gooseberry')
  assert.equal(await ids(sessions, 'exit_code'), [])
})

test('a crashed worker fails the search; the next one starts another; an idle one exits', async () => {
  const clock = createTestClock()
  const logs: string[] = []
  const started: string[] = []
  const search = new SearchClient({
    file: '/nowhere/search.db',
    catalog: '/nowhere/catalog.db',
    dir: '/nowhere',
    log: line => logs.push(line),
    clock,
    startWorker: () => {
      const dies = started.length === 0
      started.push('one')
      return new Worker(
        dies
          ? "require('node:worker_threads').parentPort.on('message', () => { throw new Error('dead') })"
          : `const { parentPort } = require('node:worker_threads')
             parentPort.on('message', m => {
               if (m === 'close') parentPort.close()
               else if (m.ask) parentPort.postMessage({ ask: m.ask, hits: [], done: true })
             })`,
        { eval: true },
      )
    },
  })
  await search.purgeDeleted()
  assert.is(started.length, 0)
  try {
    await search.search([], 1)
    assert.unreachable()
  } catch (error) {
    assert.match(String(error), /unavailable right now/)
  }
  const answers = await Promise.all([search.search([], 1), search.search([], 1)])
  assert.ok(answers.every(answer => answer.done))
  assert.is(started.length, 2)
  assert.is(logs.length, 1)
  await clock.advance(IDLE_MS)
  assert.not.ok(search.isRunning)
  await search.close()
  await search.search([], 1).then(
    () => assert.unreachable(),
    error => assert.match(String(error), /shutting down/),
  )
})

test.run()
