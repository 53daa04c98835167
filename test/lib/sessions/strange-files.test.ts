/** Unexpected files among the sessions, and full disks: the store starts, lists the readable sessions and overwrites nothing. */
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { unreadableSessions } from '../../../lib/sessions/unreadable-files.ts'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { type Bench, benchSuite, listed, NEW, say, texts, withBench } from './_sessions.ts'

const test = benchSuite('sessions/strange files')

const line = (n: number, content: string) =>
  JSON.stringify({ n, t: 'message', at: n, message: { id: `m${n}`, role: 'user', content } })
const head = (id: string) =>
  JSON.stringify({
    n: 1,
    t: 'session',
    at: 1,
    v: 1,
    id,
    meta: { title: `T ${id}`, workspace: '/w' },
  })

/** Journal content by name, and the expected result. */
const JOURNALS: Readonly<Record<string, [string | Buffer, string[]]>> = {
  crlf: [`${head('crlf')}\r\n${line(2, 'a')}\r\n${line(3, 'b')}\r\n`, ['a', 'b']],
  mixed: [`${head('mixed')}\n${line(2, 'a')}\r\n${line(3, 'b')}\n`, ['a', 'b']],
  blanks: [`${head('blanks')} \n${line(2, 'a')}  \n\n ${line(3, 'b')}\n`, ['a', 'b']],
  marked: [`\ufeff${head('marked')}\n${line(2, 'a')}\n`, ['a']],
  headless: [`\ufeff${line(2, 'a')}\n${line(3, 'b')}\n`, ['a', 'b']],
  zeros: [`\0\0\0${head('zeros')}\n${line(2, 'a')}\n\0\0\0\0\n\0${line(3, 'b')}\n`, ['a', 'b']],
  garbage: [
    `${head('garbage')}\nnot json\n${line(2, 'a')}\n{"n":\n[]\nnull\n${line(9, 'b')}\n`,
    ['a', 'b'],
  ],
  torn: [`${head('torn')}\n${line(2, 'a')}\n${line(3, 'b').slice(0, 20)}`, ['a']],
  bytes: [
    Buffer.concat([
      Buffer.from(`${head('bytes')}\n${line(2, 'a')}\n`),
      Buffer.from([0xff, 0xfe, 0x0a]),
    ]),
    ['a'],
  ],
}

const place = ({ root, path }: Bench) => {
  for (const [id, [text]] of Object.entries(JOURNALS)) writeFileSync(path(id), text)
  for (const name of ['folder.jsonl', 'other.json']) {
    mkdirSync(join(root, 'sessions', name))
    writeFileSync(join(root, 'sessions', name, 'inside'), 'x')
  }
  mkdirSync(join(root, 'sessions', 'both.jsonl'))
  writeFileSync(
    join(root, 'sessions', 'both.json'),
    JSON.stringify({
      session_id: 'both',
      title: 'T both',
      messages: [{ role: 'user', content: 'a' }],
    }),
  )
  execFileSync('mkfifo', [
    join(root, 'sessions', 'pipe.jsonl'),
    join(root, 'sessions', 'pipe2.json'),
  ])
  writeFileSync(path('nothing'), '')
}

test('starts, lists readable files, and reports the others once', async ({ bench }) => {
  place(bench)
  const sessions = await bench.restart()
  const ids = listed(sessions).map(({ session_id }) => session_id)
  for (const id of [...Object.keys(JOURNALS), 'both']) assert.ok(ids.includes(id), id)
  for (const id of ['folder', 'other', 'pipe', 'pipe2']) assert.is(sessions.row(id), undefined, id)
  for (const [id, [, expected]] of Object.entries(JOURNALS)) {
    assert.equal(texts(sessions, id), expected, id)
    const whole = JSON.parse((await sessions.wholeJson(id)).toString()) as { content: string }[]
    assert.equal(
      whole.map(({ content }) => content),
      expected,
      id,
    )
    assert.equal(
      sessions.tail(id, { limit: 1 }).messages.map(({ content }) => content),
      expected.slice(-1),
      id,
    )
    sessions.append(id, [say('more')])
    assert.equal(texts(sessions, id), [...expected, 'more'], id)
    assert.is(JSON.parse((await sessions.wholeJson(id)).toString()).length, expected.length + 1)
  }
  await sessions.catchUp()
  await bench.restart()
  for (const name of ['folder.jsonl', 'pipe.jsonl', 'pipe2.json'])
    assert.ok(
      bench.logs.some(said => said.includes('not a file')),
      name,
    )
  assert.is(readFileSync(join(bench.root, 'sessions', 'folder.jsonl', 'inside'), 'utf8'), 'x')
  assert.ok(statSync(join(bench.root, 'sessions', 'pipe.jsonl')).isFIFO())
})

test('what happened to a call is read in the words of this version only', async () => {
  const cases: [given: object, read: object][] = [
    [{ _refused_by: 'rule' }, { _refused_by: 'rule' }],
    [{ _refused_by: 'newer' }, { _failed: true }],
    [
      { _failed: true, _ran_in: 'outside' },
      { _failed: true, _ran_in: 'outside' },
    ],
    [{ _failed: 'yes', _ran_in: 'newer', _hooks: 'none' }, {}],
    [
      { _sentences: { message: { code: 'newer' } } },
      { _sentences: { message: { code: 'newer' } } },
    ],
    [{ _sentences: { message: 'turn.cut', hint: { values: {} } } }, {}],
  ]
  await withBench(async bench => {
    const lines = cases.map(([given], at) =>
      JSON.stringify({
        n: at + 2,
        t: 'message',
        at: 1,
        message: { id: `m${at}`, role: 'tool', content: '', ...given },
      }),
    )
    writeFileSync(bench.path('calls'), `${head('calls')}\n${lines.join('\n')}\n`)
    const sessions = await bench.restart()
    const { messages } = sessions.tail('calls', { limit: 10 })
    assert.equal(
      messages.map(({ id: _, role: __, content: ___, _ts, timestamp, ...rest }) => rest),
      cases.map(([, read]) => read),
    )
  })()
})

const OLD = 1_500_000_000

for (const [name, content] of [
  ['no byte', ''],
  ['zeros', '\0'.repeat(4_096)],
  ['empty lines', '\n\n'],
  ['garbage', 'x{]\n\xff\xfe'],
] as const) {
  test(`an emptied file (${name}) keeps its row, and says so when it is opened`, async ({
    bench,
  }) => {
    const { session_id: id } = bench.sessions.create({ ...NEW, title: 'eight' })
    bench.sessions.append(
      id,
      Array.from({ length: 8 }, (_, at) => say(`m ${at}`)),
    )
    await bench.sessions.close()
    const whole = readFileSync(bench.path(id))
    writeFileSync(bench.path(id), content)
    const sessions = await bench.restart()
    const [row] = listed(sessions)
    assert.equal([row?.title, row?.message_count], ['eight', 8])
    for (const open of [
      () => sessions.load(id),
      () => sessions.append(id, [say('more')]),
      () => sessions.tail(id, { limit: 5 }),
    ])
      assert.throws(open, /file is empty/)
    assert.is(readFileSync(bench.path(id), 'utf8'), Buffer.from(content).toString())
    assert.ok(bench.logs.some(said => said.includes('could not read a session')))
    assert.equal(unreadableSessions(join(bench.root, 'sessions')).bad, [`${id}.jsonl`])
    writeFileSync(bench.path(id), whole)
    await sessions.catchUp()
    assert.is(texts(sessions, id).length, 8)
  })
}

test('an emptied file of which nothing else is known is listed, can be deleted, and is no new chat', async ({
  bench,
}) => {
  const { session_id: id } = bench.sessions.create({ ...NEW, title: 'gone' })
  await bench.sessions.close()
  writeFileSync(bench.path(id), '')
  utimesSync(bench.path(id), OLD, OLD)
  rmSync(join(bench.root, 'cache'), { recursive: true })
  const sessions = await bench.restart()
  const [row] = listed(sessions)
  assert.equal([row?.session_id, row?.title], [id, `Unreadable chat ${id}`])
  assert.throws(() => sessions.load(id), /file is empty/)
  assert.ok(sessions.trash(id))
  assert.equal(listed(sessions), [])
})

for (const content of ['', '\0'.repeat(64)])
  test('an emptied file of the former format keeps its row, known or not, and nothing is written into it', async ({
    bench,
  }) => {
    const id = '5a5b5c5d5e5f'
    const path = join(bench.root, 'sessions', `${id}.json`)
    const messages = [{ role: 'user', content: 'hello' }]
    writeFileSync(path, JSON.stringify({ session_id: id, title: 'former', messages }))
    await bench.sessions.catchUp()
    assert.is(listed(bench.sessions)[0]?.title, 'former')
    writeFileSync(path, content)
    utimesSync(path, OLD, OLD)
    for (const title of ['former', `Unreadable chat ${id}`]) {
      const sessions = await bench.restart()
      assert.is(listed(sessions)[0]?.title, title)
      assert.throws(() => sessions.load(id), /file is empty/)
      assert.throws(() => sessions.append(id, [say('more')]))
      assert.is(readFileSync(path, 'utf8'), content)
      await sessions.close()
      rmSync(join(bench.root, 'cache'), { recursive: true })
    }
  })

test('a session whose file becomes a folder disappears, and returns with its file', async ({
  bench,
}) => {
  const { session_id: id } = bench.sessions.create({ ...NEW, title: 'here' })
  const text = readFileSync(bench.path(id))
  execFileSync('mv', [bench.path(id), join(bench.root, 'aside')])
  mkdirSync(bench.path(id))
  await bench.sessions.catchUp()
  assert.equal(listed(bench.sessions), [])
  assert.ok(existsSync(bench.path(id)))
  execFileSync('rmdir', [bench.path(id)])
  writeFileSync(bench.path(id), text)
  await bench.sessions.catchUp()
  assert.is(listed(bench.sessions)[0]?.title, 'here')
})

test(
  'with a full disk lists, reads, writes and search continue from memory; reported once',
  withBench(
    async ({ sessions, logs }) => {
      const ids = Array.from({ length: 120 }, (_, at) => {
        const { session_id: id } = sessions.create({
          ...NEW,
          title: `title ${at} ${'x'.repeat(60)}`,
        })
        if (at === 0) sessions.setLive(id, { active_stream_id: 's'.repeat(32) })
        sessions.append(id, [say(`needle${at} in the hay`)])
        return id
      })
      assert.is(listed(sessions).length, 120)
      assert.equal(
        logs.filter(said => said.includes('in memory until the next start')).length +
          logs.filter(said => said.includes('rebuilding the session catalog')).length,
        1,
        logs.join('\n'),
      )
      for (const [at, id] of ids.entries())
        assert.equal(texts(sessions, id), [`needle${at} in the hay`])
      assert.is(sessions.row(ids[0]!)?.active_stream_id, 's'.repeat(32))
      const hits = await sessions.search({ q: 'needle77', content: true, limit: 5 })
      assert.equal(
        hits.map(({ session_id, match_type }) => [session_id, match_type]),
        [[ids[77], 'content']],
      )
      assert.ok(sessions.trash(ids[5]!))
      assert.is(listed(sessions).length, 119)
    },
    { catalogPragmas: ['max_page_count = 48'] },
  ),
)

test('starts with a full disk', async ({ bench }) => {
  const { session_id: id } = bench.sessions.create({ ...NEW, title: 'kept' })
  bench.sessions.append(id, [say('words')])
  const sessions = await bench.restart({
    cacheDir: join(bench.root, 'cache2'),
    catalogPragmas: ['max_page_count = 4'],
  })
  assert.is(listed(sessions)[0]?.title, 'kept')
  assert.equal(texts(sessions, id), ['words'])
  assert.is((await sessions.search({ q: 'words', content: true, limit: 5 })).length, 1)
})

test.run()
