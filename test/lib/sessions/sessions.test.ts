/** Appending to sessions and reading them: whole, tail, bytes; numbers, times, full disks and restarts. */
import {
  appendFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import type { UserError } from '../../../lib/errors.ts'
import type { NewEntry } from '../../../lib/sessions/entries.ts'
import { watchSecrets } from '../../../lib/base/redact/redact.ts'
import { changesReported, writeOld } from '../../_wait.ts'
import type { SessionRow } from '../../../lib/schema/session.ts'
import { benchSuite, contentOf, listed, NEW, say, texts, withBench } from './_sessions.ts'

/** The same array each time: it has not changed. */
const SECRET_OF_THIS_TEST = ['Kq83-vvmZ-plain-1207']

const test = benchSuite('sessions/store')

const kind = (expected: string) => (error: UserError) => error.kind === expected

test('rejects unknown and invalid ids', ({ bench: { sessions } }) => {
  for (const id of ['nobody', '', '../x', 'a/b', '.', '..', 'x'.repeat(129), 'a\0b', '_index']) {
    assert.is(sessions.row(id), undefined)
    assert.is(sessions.resolve(id), undefined)
    assert.throws(() => sessions.require(id), kind('missing'))
    assert.throws(() => sessions.load(id), kind('missing'))
    assert.throws(() => sessions.append(id, [say('x')]), kind('missing'))
    assert.throws(() => sessions.tail(id, { limit: 1 }), kind('missing'))
    assert.is(sessions.trash(id), false)
    assert.throws(() => sessions.restore(id), kind('missing'))
    sessions.setLive(id, { waiting: 1 })
    sessions.release(id)
  }
})

test('provider states are in no transcript; damaged ones are skipped, the last one counts, copies have them', async ({
  bench,
}) => {
  const { session_id: id } = bench.sessions.create(NEW)
  const state = (item: unknown, of = 'm3'): NewEntry => ({
    t: 'provider_state',
    id: of,
    key: 'k',
    items: [item],
  })
  bench.sessions.append(id, [say('question')])
  const [answer] = bench.sessions.append(id, [say('answer', 'assistant'), state('first')])
  assert.is(answer?.t === 'message' && answer.message.id, 'm3')
  bench.sessions.append(id, [state('x'.repeat(1_000_000)), state('last')])
  for (const broken of [
    '{"n":90,"t":"provider_state","at":1,"id":"m3","key":"k","items":',
    '{"n":91,"t":"provider_state","at":1,"id":"m3","key":7,"items":[]}',
    '{"n":92,"t":"provider_state","at":1,"id":"m3","key":"k","items":[],"sources":[1]}',
  ])
    appendFileSync(bench.path(id), `${broken}\n`)
  const sessions = await bench.restart()
  assert.equal([...sessions.providerStates(id)], [['m3', { key: 'k', items: ['last'] }]])
  const read = await sessions.loadForModel(id)
  assert.equal(read, { folded: sessions.load(id), states: sessions.providerStates(id) })
  assert.equal(texts(sessions, id), ['question', 'answer'])
  assert.not.match(JSON.stringify(sessions.load(id)), 'last')
  const key = `sk-ant-api03-${'Ab1'.repeat(12)}`
  sessions.append(id, [say(key), state('x'.repeat(9_000), 'm100'), say('end')])
  const whole = JSON.parse((await sessions.wholeJson(id)).toString())
  const [one, two, masked, four] = whole.map(({ content }: { content: string }) => content)
  assert.equal([one, two, four], ['question', 'answer', 'end'])
  assert.match(masked, /^sk-ant/)
  assert.not.match(masked, key)
  assert.is(sessions.tail(id, { limit: 1 }).messages[0]?.content, 'end')
  assert.is(sessions.head(id).bad, 0)
  const copy = sessions.duplicate(id).session_id
  assert.equal([...sessions.providerStates(copy).values()], [{ key: 'k', items: ['last'] }])
  const early = sessions.branch(id, { keep_count: 1 }).session_id
  assert.is(sessions.providerStates(early).size, 0)
  assert.throws(() => sessions.providerStates('nobody'), kind('missing'))
})

test('the number of a row rises with every change of it, also over a restart and a new catalog; that of a deletion is between', async ({
  bench,
}) => {
  const numbers: number[] = []
  const deletions: number[] = []
  const more = {
    onRow: ({ seq = 0 }: SessionRow) => numbers.push(seq),
    onDeleted: (_: string, __: string | undefined, seq: number) => deletions.push(seq),
  }
  let sessions = await bench.restart(more)
  const { session_id: id } = sessions.create({ ...NEW, title: 'One' })
  const other = sessions.create({ ...NEW, title: 'Two' }).session_id
  sessions.append(id, [say('a')])
  sessions.setLive(id, { active_stream_id: 's' })
  sessions.append(other, [say('b')])
  assert.is(sessions.require(id).seq, numbers.at(-2))
  assert.is(sessions.row(other)?.seq, numbers.at(-1))
  // No stream survives the process, so the row changes once more, before anyone asks. Nothing is written at the end of a process.
  sessions = await bench.restart(more)
  numbers.push(sessions.require(id).seq ?? 0)
  sessions.trash(id)
  numbers.push(...deletions)
  sessions.restore(id)
  for (const end of ['', '-wal', '-shm'])
    rmSync(join(bench.root, `cache/catalog.db${end}`), { force: true })
  await sessions.search({ q: 'a', content: true, limit: 1 })
  sessions.append(other, [say('c')])
  assert.equal(
    numbers,
    [...new Set(numbers)].toSorted((a, b) => a - b),
  )
  assert.is(sessions.require(other).seq, numbers.at(-1))
})

test('a new session has a 12-digit hex id and every key of a row; it is listed after its first message', ({
  bench: { sessions, rows },
}) => {
  const row = sessions.create(NEW)
  assert.match(row.session_id, /^[0-9a-f]{12}$/)
  assert.equal(sessions.row(row.session_id), row)
  assert.equal(rows, [row])
  assert.equal(
    { ...contentOf(row), session_id: '', created_at: 0, updated_at: 0 },
    {
      session_id: '',
      title: 'Untitled',
      workspace: '/w',
      model: 'demo',
      message_count: 0,
      created_at: 0,
      updated_at: 0,
      pinned: false,
      archived: false,
      project_id: null,
      profile: 'default',
      input_tokens: 0,
      output_tokens: 0,
      estimated_cost: 0,
      personality: null,
      compression_anchor_visible_idx: null,
      compression_anchor_message_key: null,
      active_stream_id: null,
      is_streaming: false,
      waiting: 0,
      last_turn: null,
      preview: '',
    },
  )
  assert.equal(listed(sessions), [])
  sessions.append(row.session_id, [say('hello')])
  assert.equal(listed(sessions), [contentOf(sessions.require(row.session_id))])
  assert.is(listed(sessions)[0]?.preview, 'hello')
})

test('message ids: keeps given ones, honors reserved ones, never reuses one', async ({ bench }) => {
  const { session_id: id } = bench.sessions.create(NEW)
  const first = bench.sessions.nextMessageId(id)
  assert.is(first, 'm2')
  const second = bench.sessions.nextMessageId(id)
  assert.is(second, 'm3')
  const [other] = bench.sessions.append(id, [say('steered')])
  assert.is(other?.t === 'message' && other.message.id, 'm4')
  bench.sessions.append(id, [
    { t: 'message', message: { id: second, role: 'assistant', content: 'b' } },
    { t: 'message', message: { id: first, role: 'assistant', content: 'a' } },
  ])
  bench.sessions.append(id, [say('later')])
  const sessions = await bench.restart()
  sessions.append(id, [say('after the restart')])
  const ids = sessions.load(id).messages.map(message => message.id)
  assert.equal(ids, ['m4', 'm3', 'm2', 'm7', 'm8'])
  const { numbers } = sessions.load(id)
  assert.equal(numbers, [4, 5, 6, 7, 8])
})

test('lines are ordered independently of the clock, and a row never moves back in time', ({
  bench: { sessions, clock },
}) => {
  const a = sessions.create(NEW).session_id
  const b = sessions.create(NEW).session_id
  sessions.append(a, [say('one')])
  clock.set(clock.now() - 86_400_000)
  sessions.append(b, [say('two')])
  sessions.append(b, [say('three')])
  clock.set(clock.now() - 86_400_000)
  sessions.append(a, [say('four')])
  assert.equal(texts(sessions, a), ['one', 'four'])
  assert.equal(
    listed(sessions).map(row => row.session_id),
    [a, b],
  )
  assert.ok(sessions.require(a).updated_at > sessions.require(b).updated_at)
})

test('only messages move a row; pin, archive, rename, draft, titles and usage do not', ({
  bench: { sessions, clock },
}) => {
  const a = sessions.create({ ...NEW, title: 'a' }).session_id
  const b = sessions.create({ ...NEW, title: 'b' }).session_id
  sessions.append(a, [say('x')])
  sessions.append(b, [say('y')])
  const before = sessions.require(a).updated_at
  clock.set(clock.now() + 100_000)
  sessions.append(a, [
    { t: 'meta', patch: { pinned: true, archived: true, title: 'new', input_tokens: 5 } },
    { t: 'meta', patch: { composer_draft: { text: 'half', files: ['f'] } } },
    { t: 'cut', after: 0 },
  ])
  sessions.setLive(a, { active_stream_id: 's', waiting: 2 })
  const row = sessions.require(a)
  assert.is(row.updated_at, before)
  assert.ok(row.pinned && row.archived && row.is_streaming)
  assert.is(row.waiting, 2)
  assert.is(listed(sessions)[0]?.session_id, b)
  assert.equal(sessions.head(a).meta.composer_draft, { text: 'half', files: ['f'] })
  sessions.append(a, [say('z')])
  assert.is(listed(sessions)[0]?.session_id, a)
})

test('after cuts and undone cuts GET, rows, bytes and tails agree', async ({
  bench: { sessions },
}) => {
  const { session_id: id } = sessions.create(NEW)
  sessions.append(id, [say('one'), say('ONE', 'assistant'), say('two'), say('TWO', 'assistant')])
  const check = async (expected: string[]) => {
    assert.equal(texts(sessions, id), expected)
    assert.is(sessions.require(id).message_count, expected.length)
    const whole = JSON.parse((await sessions.wholeJson(id)).toString())
    assert.equal(whole, sessions.load(id).messages)
    const tail = sessions.tail(id, { limit: 2 })
    assert.equal(tail.messages, whole.slice(-2))
    assert.is(tail.offset, Math.max(0, expected.length - 2))
  }
  await check(['one', 'ONE', 'two', 'TWO'])
  assert.is(sessions.require(id).preview, 'two')
  const [cut] = sessions.append(id, [{ t: 'cut', after: 3 }])
  await check(['one', 'ONE'])
  assert.is(sessions.require(id).preview, 'one')
  sessions.append(id, [{ t: 'cut', after: 2 }, say('two, better')])
  await check(['one', 'two, better'])
  assert.is(sessions.require(id).preview, 'two, better')
  const [all] = sessions.append(id, [{ t: 'cut', after: 0 }])
  await check([])
  assert.is(sessions.require(id).preview, '')
  sessions.append(id, [{ t: 'uncut', cut: all?.n ?? 0 }, say('back', 'assistant')])
  await check(['one', 'two, better', 'back'])
  assert.is(cut?.n, 6)
  const row = sessions.require(id)
  assert.is(row.preview, 'two, better')
})

test('a rebuilt catalog equals the incrementally updated one', async ({ bench }) => {
  const { sessions } = bench
  for (let count = 0; count < 5; count += 1) {
    const { session_id: id } = sessions.create({ ...NEW, title: `t ${count}` })
    bench.clock.set(bench.clock.now() + 1_234.5)
    sessions.append(id, [say('a'), say('b', 'assistant'), say('c'), { t: 'cut', after: 3 }])
    sessions.append(id, [{ t: 'meta', patch: { pinned: true, _odd: { keep: 1 } } }])
    sessions.append(id, [
      { t: 'turn_started', stream_id: 's', model: 'm', provider: 'p', message_id: 'm2' },
    ])
    sessions.append(id, [{ t: 'turn_ended', stream_id: 's', how: 'failed' }])
  }
  const before = listed(sessions)
  assert.is(before[0]?.last_turn, 'failed')
  await sessions.close()
  rmSync(`${bench.root}/cache`, { recursive: true })
  assert.equal(listed(await bench.restart()), before)
})

test('tails: any limit before any message, also across marks and cuts', ({
  bench: { sessions },
}) => {
  const { session_id: id } = sessions.create(NEW)
  for (let block = 0; block < 10; block += 1) {
    sessions.append(
      id,
      Array.from({ length: 60 }, (_, index) => say(`${block}.${index} ${'x'.repeat(900)}`)),
    )
    if (block % 3 === 1) sessions.append(id, [{ t: 'cut', after: 61 * block + 20 }])
  }
  const { messages } = sessions.load(id)
  for (const at of [0, 1, 59, 200, messages.length - 1]) {
    const before = messages[at]?.id
    for (const limit of [0, 1, 30, 500]) {
      const page = sessions.tail(id, { limit, before })
      assert.equal(page.messages, messages.slice(Math.max(0, at - limit), at), `${at} ${limit}`)
      assert.is(page.offset, Math.max(0, at - limit))
      assert.is(page.truncated, page.offset > 0)
    }
  }
  sessions.append(id, [{ t: 'cut', after: 200 }, say('new')])
  const now = sessions.load(id).messages
  const page = sessions.tail(id, { limit: 3, before: now.at(-1)?.id })
  assert.equal(page.messages, now.slice(-4, -1))
  assert.is(page.offset, now.length - 4)
  assert.throws(
    () => sessions.tail(id, { limit: 3, before: messages.at(-1)?.id ?? '' }),
    kind('missing'),
  )
  assert.throws(() => sessions.tail(id, { limit: 3, before: 'm999999' }), kind('missing'))
  assert.throws(() => sessions.tail(id, { limit: 3, before: '"},' }), kind('missing'))
})

test('a secret that becomes known, or is appended, is masked although the session was read before', async ({
  bench: { sessions },
}) => {
  const first = 'Kq83-vvmZ-plain-1207'
  const { session_id: id } = sessions.create(NEW)
  // Too large to be kept as bytes: only the places of secrets are.
  sessions.append(id, [say(`${'long '.repeat(300_000)}${first}`)])
  const whole = async () => (await sessions.wholeJson(id)).toString()
  assert.match(await whole(), first)
  assert.match(await whole(), first)
  const unwatch = watchSecrets(() => SECRET_OF_THIS_TEST)
  assert.not.match(await whole(), first)
  sessions.append(id, [say('API_KEY=hunter2hunter2', 'assistant')])
  for (const text of [await whole(), await whole()]) assert.not.match(text, /hunter2|vvmZ/)
  unwatch()
  assert.match(await whole(), first)
})

test('a secret that another program puts into a file of the same size is masked at once', async ({
  bench: { sessions, path },
}) => {
  const { session_id: id } = sessions.create(NEW)
  const harmless = 'sk_0123456789-0123456789-0123'
  const secret = 'sk-abcdefghijklmnopqrstuvwxyz'
  // Too large to be kept as bytes: only the places of secrets are.
  sessions.append(id, [say(`${'long '.repeat(300_000)}${harmless}`)])
  assert.match((await sessions.wholeJson(id)).toString(), harmless)
  // Nothing has reported this yet.
  writeOld(path(id), readFileSync(path(id), 'utf8').replace(harmless, secret))
  assert.not.match((await sessions.wholeJson(id)).toString(), secret)
})

test('redacts responses, not the file', async ({ bench: { sessions, path } }) => {
  const secret = 'sk-abcdefghijklmnopqrstuvwxyz'
  const { session_id: id } = sessions.create({ ...NEW, title: `my ${secret}` })
  sessions.append(id, [
    say('fine'),
    say(`é the key is ${secret}`),
    say('API_KEY=hunter2hunter2', 'assistant'),
  ])
  const out = [
    (await sessions.wholeJson(id)).toString(),
    JSON.stringify(sessions.tail(id, { limit: 5 })),
    JSON.stringify(sessions.row(id)),
    sessions.list().body.toString(),
  ].join('')
  assert.not.match(out, /abcdefghijkl|hunter2/)
  assert.match(out, /é the key is sk-abc\.\.\.wxyz/)
  assert.match(readFileSync(path(id), 'utf8'), new RegExp(secret))
  assert.is(sessions.load(id).messages[1]?.content, `é the key is ${secret}`)
  assert.match(JSON.stringify(sessions.tail(id, { limit: 5, raw: true })), new RegExp(secret))
})

test('a full disk rejects the whole batch and nothing else', async () => {
  let free = Number.POSITIVE_INFINITY
  await withBench(
    bench => {
      const { session_id: id } = bench.sessions.create(NEW)
      bench.sessions.append(id, [say('kept')])
      bench.sessions.acquire(id)
      const before = readFileSync(bench.path(id), 'utf8')
      free = 20
      assert.throws(() => bench.sessions.append(id, [say('lost'), say('too')]), kind('full'))
      assert.throws(() => bench.sessions.create(NEW), kind('full'))
      assert.is(readFileSync(bench.path(id), 'utf8'), before)
      assert.equal(texts(bench.sessions, id), ['kept'])
      free = Number.POSITIVE_INFINITY
      const [entry] = bench.sessions.append(id, [say('again')])
      assert.is(entry?.n, 3)
      assert.equal(texts(bench.sessions, id), ['kept', 'again'])
      assert.is(bench.sessions.list().body.toString().includes('again'), true)
      bench.sessions.release(id)
    },
    {
      write: (fd, data) => {
        const count = Math.min(free, data.length)
        free -= count
        return writeSync(fd, data.subarray(0, count))
      },
    },
  )()
})

test('ignores a torn tail and repairs it on the next append; skips and counts a bad line', ({
  bench: { sessions, path, logs },
}) => {
  const { session_id: id } = sessions.create(NEW)
  sessions.append(id, [say('one')])
  appendFileSync(path(id), 'not json\n{"n":3,"t":"message","at":1,"message":{"id":"m3","ro')
  assert.equal(texts(sessions, id), ['one'])
  assert.is(logs.filter(line => line.includes('skipped unreadable lines')).length, 1)
  const [entry] = sessions.append(id, [say('two')])
  assert.is(entry?.n, 3)
  assert.equal(texts(sessions, id), ['one', 'two'])
  assert.is(sessions.load(id).bad, 1)
  assert.match(
    readFileSync(path(id), 'utf8'),
    /not json\n\{"n":3,"t":"message","at":[0-9.]+,"message":\{"id":"m3","role":"user","content":"two"\}\}\n$/,
  )
  assert.equal(sessions.tail(id, { limit: 5 }).messages.length, 2)
})

test('another program appends to an open journal or replaces it', ({
  bench: { sessions, path },
}) => {
  const { session_id: id } = sessions.create(NEW)
  sessions.acquire(id)
  sessions.append(id, [say('ours')])
  appendFileSync(
    path(id),
    '{"n":3,"t":"message","at":5,"message":{"id":"m3","role":"user","content":"theirs"}}\n{"torn',
  )
  const [entry] = sessions.append(id, [say('ours again')])
  assert.is(entry?.n, 4)
  assert.equal(texts(sessions, id), ['ours', 'theirs', 'ours again'])
  writeFileSync(`${path(id)}.new`, readFileSync(path(id), 'utf8').replace('theirs', 'edited'))
  renameSync(`${path(id)}.new`, path(id))
  sessions.append(id, [say('last')])
  assert.equal(texts(sessions, id), ['ours', 'edited', 'ours again', 'last'])
  sessions.release(id)
  sessions.append(id, [say('after release')])
  assert.is(texts(sessions, id).length, 5)
})

test('restores a lost header before appending', ({ bench: { sessions, path } }) => {
  const { session_id: id } = sessions.create(NEW)
  writeFileSync(path(id), '')
  sessions.append(id, [say('x')])
  assert.match(readFileSync(path(id), 'utf8'), /^\{"n":1,"t":"session".*\n\{"n":2,"t":"message"/)
  assert.equal(texts(sessions, id), ['x'])
})

test('open questions are stored in the row, also after a restart; live state is not', async ({
  bench,
}) => {
  const { session_id: id } = bench.sessions.create(NEW)
  const ask = (name: string) => ({
    t: 'asked' as const,
    question: {
      kind: 'clarify' as const,
      clarify_id: name,
      session_id: id,
      question: '?',
      choices_offered: [],
      requested_at: 1,
    },
  })
  bench.sessions.append(id, [
    say('hi'),
    { t: 'turn_started', stream_id: 'f'.repeat(32), model: 'm', provider: 'p', message_id: 'm2' },
    ask('a'),
    ask('b'),
    { t: 'answered', id: 'a', kind: 'clarify', answer: 'yes' },
  ])
  bench.sessions.setLive(id, { active_stream_id: 'f'.repeat(32), waiting: 7 })
  assert.is(bench.sessions.require(id).waiting, 7)
  const sessions = await bench.restart()
  const row = sessions.require(id)
  assert.is(row.active_stream_id, null)
  assert.is(row.is_streaming, false)
  assert.is(row.waiting, 1)
  const [turn] = sessions.recover()
  assert.is(turn?.session_id, id)
  assert.is(turn?.message_id, 'm2')
  assert.is(turn?.how, null)
  assert.is(turn?.questions.length, 1)
  sessions.append(id, [{ t: 'turn_ended', stream_id: 'f'.repeat(32), how: 'interrupted' }])
  assert.equal(sessions.recover(), [])
  assert.is(sessions.require(id).last_turn, 'interrupted')
})

test('rotation: the old id remains valid, a real file has precedence, an interrupted one is completed', async ({
  bench,
}) => {
  const { sessions, path } = bench
  const { session_id: id } = sessions.create(NEW)
  sessions.acquire(id)
  sessions.append(id, [say('x')])
  const row = sessions.rotate(id, 'rotated_1')
  assert.is(row.session_id, 'rotated_1')
  assert.equal(bench.gone, [id])
  sessions.append(id, [say('y')])
  assert.equal(texts(sessions, id), ['x', 'y'])
  assert.equal(texts(sessions, 'rotated_1'), ['x', 'y'])
  assert.is(sessions.resolve(id), 'rotated_1')
  sessions.release(id)
  assert.throws(() => sessions.rotate(id, 'rotated_1'), kind('invalid'))
  const other = sessions.create(NEW).session_id
  assert.throws(() => sessions.rotate(other, 'rotated_1'), kind('conflict'))
  sessions.append(other, [say('z')])
  appendFileSync(path(other), `{"n":3,"t":"renamed","at":1,"from":"${other}","to":"rotated_2"}\n`)
  const again = await bench.restart()
  assert.not.ok(existsSync(path(other)))
  assert.equal(texts(again, other), ['z'])
  assert.is(again.resolve(other), 'rotated_2')
  writeFileSync(
    path(other),
    '{"n":1,"t":"session","at":1,"v":1,"id":"q","meta":{"title":"real"}}\n',
  )
  await changesReported()
  assert.is(again.require(other).title, 'real')
})

test('sync resolves for open, idle and legacy sessions', async ({ bench: { sessions, path } }) => {
  const { session_id: id } = sessions.create(NEW)
  await sessions.sync(id)
  sessions.acquire(id)
  sessions.acquire(id)
  sessions.append(id, [say('x')])
  await Promise.all([sessions.sync(id), sessions.sync(id)])
  sessions.release(id)
  sessions.release(id)
  writeFileSync(path('old', '.json'), '{"session_id":"old","messages":[]}')
  await sessions.sync('old')
})

test('copies are independent, with their own ids and without data of the original only', ({
  bench: { sessions },
}) => {
  const { session_id: id } = sessions.create({ ...NEW, title: 'Plan' })
  sessions.append(id, [
    say('a'),
    say('b', 'assistant'),
    say('c'),
    { t: 'meta', patch: { pinned: true, archived: true, input_tokens: 9, _odd: 1 } },
  ])
  const copy = sessions.duplicate(id)
  assert.is(copy.title, 'Plan (copy)')
  assert.match(copy.session_id, /^[0-9a-f]{12}$/)
  assert.not.ok(copy.pinned || copy.archived || copy.input_tokens)
  assert.equal(texts(sessions, copy.session_id), ['a', 'b', 'c'])
  assert.is(sessions.load(copy.session_id).meta._odd, 1)
  const fork = sessions.branch(id, { keep_count: 2 })
  assert.is(fork.title, 'Plan (branch)')
  assert.is(fork.parent_session_id, id)
  assert.equal(texts(sessions, fork.session_id), ['a', 'b'])
  assert.is(sessions.branch(id, { keep_count: 0, title: ' Mine ' }).title, 'Mine')
  sessions.append(copy.session_id, [{ t: 'cut', after: 0 }])
  assert.is(texts(sessions, id).length, 3)
  assert.throws(() => sessions.duplicate('nobody'), kind('missing'))
})

test('reading a session that another program changes, replaces, or deletes: seen when it is reported', async ({
  bench: { sessions, path },
}) => {
  const { session_id: id } = sessions.create({ ...NEW, title: 'before' })
  assert.is(sessions.require(id).title, 'before')
  appendFileSync(path(id), '{"n":2,"t":"meta","at":2,"patch":{"title":"appended"}}\n')
  await changesReported()
  assert.is(sessions.require(id).title, 'appended')
  const replacement = `{"n":1,"t":"session","at":1,"v":1,"id":"${id}","meta":{"title":"replaced"}}\n`
  writeFileSync(path(id, '.tmp'), replacement)
  renameSync(path(id, '.tmp'), path(id))
  await changesReported()
  assert.is(sessions.require(id).title, 'replaced')
  rmSync(path(id))
  await changesReported()
  assert.is(sessions.row(id), undefined)
  // Also one that did not exist when it was asked for.
  assert.is(sessions.row('appears'), undefined)
  writeFileSync(path('appears'), replacement.replace(id, 'appears'))
  await changesReported()
  assert.is(sessions.require('appears').title, 'replaced')
})

test('a session whose changes nothing reports is compared again after a second', async ({
  bench: { sessions, clock, path },
}) => {
  const { session_id: id } = sessions.create({ ...NEW, title: 'before' })
  const other = path(id, '.elsewhere')
  mkdirSync(other)
  linkSync(path(id), join(other, 'file'))
  await changesReported()
  assert.is(sessions.require(id).title, 'before')
  appendFileSync(join(other, 'file'), '{"n":2,"t":"meta","at":2,"patch":{"title":"after"}}\n')
  await clock.advance(1_001)
  assert.is(sessions.require(id).title, 'after')
})

test.run()
