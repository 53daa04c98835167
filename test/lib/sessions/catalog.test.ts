/** The session catalog stays in sync with the files; list pages and ETags. */
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import type { UserError } from '../../../lib/errors.ts'
import type { SessionRow } from '../../../lib/schema/session.ts'
import { Catalog } from '../../../lib/sessions/catalog.ts'
import { rowsOf } from '../../../lib/sessions/listing.ts'
import { POLL_MS, Watch } from '../../../lib/sessions/watch.ts'
import { type Bench, benchSuite, listed, NEW, say, texts, withBench } from './_sessions.ts'
import { emptySummary } from '../../../lib/sessions/fold.ts'
import { createTestClock } from '../../_clock.ts'

const test = benchSuite('sessions/catalog')

const fill = (bench: Bench, count: number): string[] =>
  Array.from({ length: count }, (_, index) => {
    bench.clock.set(bench.clock.now() + 1_000)
    const profile = index % 5 === 0 ? 'work' : 'default'
    const { session_id: id } = bench.sessions.create({ ...NEW, profile, title: `title ${index}` })
    bench.sessions.append(id, [say(`words ${index}`)])
    return id
  })

test('rejects forged cursors', ({ bench: { sessions } }) => {
  for (const cursor of ['x', '%%%', Buffer.from('1.../x').toString('base64url')]) {
    assert.throws(
      () => sessions.list({ limit: 5, cursor }),
      (error: UserError) => error.kind === 'invalid',
    )
  }
})

test('pages concatenate to the whole list in order, by profile too; bounds the limit', ({
  bench,
}) => {
  fill(bench, 23)
  for (const profile of [undefined, 'work', 'nobody']) {
    const whole = rowsOf(bench.sessions.list({ profile }).body)
    const joined: unknown[] = []
    let cursor: string | undefined
    do {
      const page = bench.sessions.list({ limit: 4, cursor, profile })
      const rows = rowsOf(page.body)
      assert.ok(rows.length <= 4)
      joined.push(...rows)
      cursor = page.next ?? undefined
    } while (cursor !== undefined)
    assert.equal(joined, whole)
  }
  assert.is(rowsOf(bench.sessions.list({ limit: 0 }).body).length, 1)
  assert.is(rowsOf(bench.sessions.list({ limit: 1e9 }).body).length, 23)
})

test('the ETag changes exactly when the list does', ({ bench }) => {
  const [id = ''] = fill(bench, 3)
  const tags = () => [bench.sessions.list().etag, bench.sessions.list({ limit: 2 }).etag]
  assert.match(bench.sessions.list({ profile: 'a"\r\nb' }).etag, /^[\x21\x23-\x7e]+$/)
  const before = tags()
  assert.equal(tags(), before)
  assert.not.match(before.join(), /["\s]/)
  bench.sessions.append(id, [{ t: 'meta', patch: { archived: true } }])
  const after = tags()
  assert.is.not(after[0], before[0])
  // The changed row is on the second page.
  assert.is(after[1], before[1])
  bench.sessions.append(id, [{ t: 'meta', patch: { pinned: true } }])
  const pinned = tags()
  assert.is.not(pinned[1], before[1], 'it comes along with the first one now')
  bench.sessions.append(id, [say('up')])
  assert.is.not(tags()[1], pinned[1])
})

test('the next response has what other programs added, changed, appended or removed', async ({
  bench,
}) => {
  const [a = '', b = ''] = fill(bench, 2)
  const { sessions, path } = bench
  copyFileSync(path(a), path('copied'))
  await sessions.catchUp()
  assert.is(sessions.require('copied').title, 'title 0')
  assert.is(listed(sessions).length, 3)
  appendFileSync(path(b), '{"n":3,"t":"meta","at":1,"patch":{"title":"edited"}}\n')
  await sessions.catchUp()
  assert.ok(listed(sessions).some(row => row.title === 'edited'))
  const text = readFileSync(path(a), 'utf8')
  writeFileSync(path(a), text.replace('title 0', 'TITLE 0'))
  assert.is(sessions.require(a).title, 'TITLE 0')
  writeFileSync(`${path(a)}.x`, text)
  renameSync(`${path(a)}.x`, path(a))
  await sessions.catchUp()
  assert.ok(listed(sessions).some(row => row.title === 'title 0' && row.session_id === a))
  rmSync(path(b))
  assert.is(sessions.row(b), undefined)
  rmSync(path('copied'))
  await sessions.catchUp()
  assert.equal(
    listed(sessions).map(row => row.session_id),
    [a],
  )
  assert.equal(bench.gone.sort(), [b, 'copied'].sort())
  for (const name of ['_index.json', 'a.txt', '.hidden.jsonl', 'x.jsonl.tmp', 'big.torn']) {
    writeFileSync(join(bench.root, 'sessions', name), '{}')
  }
  writeFileSync(path('broken', '.json'), '{"messages": [')
  await sessions.catchUp()
  assert.is(listed(sessions).length, 1)
})

test('does not treat our own writes as foreign', async ({ bench }) => {
  const [id = ''] = fill(bench, 3)
  const before = bench.rows.length
  bench.sessions.append(id, [say('x')])
  await bench.sessions.catchUp()
  await bench.sessions.catchUp()
  assert.is(bench.rows.length, before + 1)
})

test('rebuilds a deleted catalog, at runtime and at start', async ({ bench }) => {
  const ids = fill(bench, 4)
  const before = listed(bench.sessions)
  for (const end of ['', '-wal', '-shm'])
    rmSync(join(bench.root, `cache/catalog.db${end}`), { force: true })
  bench.sessions.append(ids[0] ?? '', [{ t: 'meta', patch: { pinned: true } }])
  assert.is(listed(bench.sessions).filter(row => row.pinned).length, 1)
  assert.is((await bench.sessions.search({ q: 'words', content: true, limit: 9 })).length, 4)
  bench.sessions.append(ids[0] ?? '', [{ t: 'meta', patch: { pinned: false } }])
  await bench.sessions.close()
  rmSync(join(bench.root, 'cache'), { recursive: true })
  assert.equal(listed(await bench.restart()), before)
})

test('rebuilds a corrupt catalog at start', async ({ bench }) => {
  fill(bench, 4)
  const before = listed(bench.sessions)
  const file = join(bench.root, 'cache/catalog.db')
  await bench.sessions.close()
  writeFileSync(file, 'this is not a database at all, whatever its name may say')
  let sessions = await bench.restart()
  assert.equal(listed(sessions), before)
  await sessions.close()
  const bytes = readFileSync(file)
  bytes.fill(0x5a, 4096)
  writeFileSync(file, bytes)
  sessions = await bench.restart()
  assert.equal(listed(sessions), before)
  // Damages the pages of one table, which is detected at start or on the first read.
  for (const page of [3, 5, 8, 12]) {
    await sessions.close()
    const part = readFileSync(file)
    part.fill(0x5a, page * 4096, (page + 2) * 4096)
    writeFileSync(file, part)
    sessions = await bench.restart()
    assert.equal(listed(sessions), before, `page ${page}`)
  }
})

test(
  'after a reboot, trusts the catalog only after a clean shutdown',
  withBench(
    async bench => {
      const [id = ''] = fill(bench, 2)
      const open = (bootId: string) =>
        new Catalog({
          file: join(bench.root, 'other.db'),
          redact: text => text,
          log: () => {},
          rebuild: () => {},
          bootId,
        })
      const first = open('one')
      first.put({ ...emptySummary(id), count: 1 }, 's', true)
      // Not closed, as after a kill.
      const second = open('one')
      assert.is(second.stamp(id), 's')
      second.close()
      assert.is(open('two').stamp(id), 's')
      assert.is(open('three').stamp(id), undefined)
    },
    { bootId: 'one' },
  ),
)

test('detects hundreds of changes made while stopped', async ({ bench }) => {
  const ids = fill(bench, 30)
  await bench.sessions.close()
  for (const id of ids.slice(0, 10)) rmSync(bench.path(id))
  for (const id of ids.slice(10, 20)) {
    appendFileSync(bench.path(id), '{"n":9,"t":"meta","at":1,"patch":{"title":"while away"}}\n')
  }
  const sessions = await bench.restart()
  assert.is(listed(sessions).length, 20)
  assert.is(listed(sessions).filter(row => row.title === 'while away').length, 10)
})

test('without file system events, polls every few seconds and says so once', async ({ bench }) => {
  const logs: string[] = []
  const clock = createTestClock()
  let sweeps = 0
  const watch = new Watch({
    dir: join(bench.root, 'sessions'),
    clock,
    sweep: async () => {
      sweeps += 1
    },
    log: line => logs.push(line),
    changed: () => undefined,
    watch: (() => {
      throw new Error('ENOSPC: no more watches')
    }) as never,
  })
  assert.ok(watch.isPolling)
  assert.equal([...(watch.takeChanged() ?? [])], [])
  writeFileSync(bench.path('new'), '')
  assert.is(watch.takeChanged(), null)
  watch.ignoreOwn(() => writeFileSync(bench.path('own'), ''))
  assert.equal([...(watch.takeChanged() ?? [])], [])
  await clock.advance(3 * POLL_MS)
  assert.is(sweeps, 3)
  watch.close()
  assert.equal(clock.waiting(), [])
  assert.is(logs.length, 1)
})

const LEGACY = {
  session_id: 'aaaabbbbcccc',
  title: 'Old',
  workspace: '/w',
  model: null,
  messages: [
    { role: 'user', content: 'hello', timestamp: 1_600_000_000, id: 'their-own' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'c', type: 'function', function: { name: 'terminal', arguments: '{"a":1}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'c', content: '{"output":"x"}' },
    'rubbish',
    { role: 'robot', content: 'x' },
    {
      role: 'assistant',
      content: [{ type: 'text', text: 'parts' }],
      reasoning: 'because',
      odd: { deep: 1 },
    },
  ],
  tool_calls: [],
  created_at: 1_600_000_000.25,
  updated_at: 1_600_000_100.5,
  pinned: true,
  profile: null,
  estimated_cost: null,
  active_stream_id: 'gone',
  pending_user_message: 'never answered',
  pending_attachments: ['a.txt'],
  pending_started_at: 1_600_000_200.5,
  llm_title_generated: true,
  future_key: { kept: true },
}

test('lists and reads a session in the earlier format, and converts it on the first write', async ({
  bench: { sessions, path },
}) => {
  const id = LEGACY.session_id
  const json = JSON.stringify(LEGACY, null, 2)
  writeFileSync(path(id, '.json'), json)
  await sessions.catchUp()
  const [row] = listed(sessions) as [SessionRow]
  assert.is(row.title, 'Old')
  assert.is(row.profile, 'default')
  assert.is(row.message_count, 5)
  assert.is(row.updated_at, 1_600_000_100.5)
  assert.is(row.created_at, 1_600_000_000.25)
  assert.is(row.active_stream_id, null)
  assert.is(row.llm_title_generated, true)
  const before = sessions.load(id)
  assert.equal(
    before.messages.map(message => [message.id, message.content]),
    [
      ['m2', 'hello'],
      ['m3', ''],
      ['m4', '{"output":"x"}'],
      ['m5', [{ type: 'text', text: 'parts' }]],
      ['m6', 'never answered'],
    ],
  )
  assert.equal(before.messages[3]?.odd, { deep: 1 })
  assert.equal(before.messages[4]?.attachments, ['a.txt'])
  assert.equal(before.meta.future_key, { kept: true })
  assert.equal(sessions.tail(id, { limit: 2 }).messages, before.messages.slice(-2))
  assert.equal(JSON.parse((await sessions.wholeJson(id)).toString()), before.messages)
  assert.is(readFileSync(path(id, '.json'), 'utf8'), json)
  assert.not.ok(existsSync(path(id)))

  sessions.append(id, [{ t: 'meta', patch: { pinned: null } }])
  assert.not.ok(existsSync(path(id, '.json')))
  assert.is(readFileSync(path(id, '.json.migrated'), 'utf8'), json)
  const after = sessions.load(id)
  assert.equal(after.messages, before.messages)
  assert.equal(after.meta.future_key, { kept: true })
  assert.is(sessions.require(id).updated_at, 1_600_000_100.5)
  assert.is(sessions.require(id).pinned, false)
  assert.is(listed(sessions).length, 1)
  sessions.append(id, [say('new')])
  assert.is(sessions.load(id).messages.at(-1)?.id, 'm8')
})

test('completes or restarts an interrupted conversion; on a mismatch the journal applies', async ({
  bench,
}) => {
  const id = LEGACY.session_id
  const { path, logs } = bench
  const json = JSON.stringify(LEGACY)
  // Killed before the first rename.
  writeFileSync(path(id, '.json'), json)
  writeFileSync(path(id, '.jsonl.tmp'), '{"n":1,"t":"session","half')
  let sessions = await bench.restart()
  assert.is(sessions.require(id).message_count, 5)
  sessions.append(id, [say('x')])
  assert.not.ok(existsSync(path(id, '.jsonl.tmp')))
  // Killed between the two.
  await sessions.close()
  renameSync(path(id, '.json.migrated'), path(id, '.json'))
  sessions = await bench.restart()
  await sessions.catchUp()
  assert.is(sessions.require(id).message_count, 6)
  assert.not.ok(existsSync(path(id, '.json')))
  assert.ok(existsSync(path(id, '.json.migrated')))
  // Another program wrote to the old file since.
  writeFileSync(path(id, '.json'), json.replace('Old', 'Other'))
  await sessions.catchUp()
  await sessions.catchUp()
  assert.is(sessions.require(id).title, 'Old')
  assert.ok(existsSync(path(id, '.json')))
  assert.is(logs.filter(line => line.includes('both formats')).length, 1)
})

test('a changed mtime alone causes a reread and nothing else', ({ bench }) => {
  const [id = ''] = fill(bench, 1)
  const before = bench.sessions.require(id)
  const { mtimeMs } = statSync(bench.path(id))
  utimesSync(bench.path(id), mtimeMs / 1000, mtimeMs / 1000 - 500)
  assert.equal(bench.sessions.require(id), before)
  assert.is(texts(bench.sessions, id).length, 1)
})

test.run()
