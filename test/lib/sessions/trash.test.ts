/** Trash, restore, permanent deletion and purge: deleted content is in no file. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import type { UserError } from '../../../lib/errors.ts'
import { benchSuite, contentOf, listed, NEW, onDisk, say, texts } from './_sessions.ts'

const test = benchSuite('sessions/trash')

const SECRET = 'xylophonequartz'

const refused = async (work: () => unknown, kind: string): Promise<void> => {
  try {
    await work()
  } catch (error) {
    assert.is((error as UserError).kind, kind)
    return
  }
  assert.unreachable(`expected ${kind}`)
}

test('rejects deletion while a turn is running', async ({ bench: { sessions } }) => {
  const { session_id: id } = sessions.create(NEW)
  sessions.append(id, [say('x')])
  sessions.setLive(id, { active_stream_id: 'f'.repeat(32) })
  await refused(() => sessions.trash(id), 'conflict')
  await refused(() => sessions.erase(id), 'conflict')
  await refused(() => sessions.purge(id), 'conflict')
  assert.is(sessions.cleanup({ anyTitle: true }), 0)
  assert.equal(texts(sessions, id), ['x'])
  sessions.setLive(id, { active_stream_id: null })
  assert.is(sessions.trash(id), true)
})

test('trash: hidden everywhere, restored unchanged, also after a restart; rejected twice', async ({
  bench,
}) => {
  const { session_id: id } = bench.sessions.create({ ...NEW, title: 'Find me' })
  bench.sessions.append(id, [say(`the ${SECRET}`)])
  const before = bench.sessions.require(id)
  assert.is((await bench.sessions.search({ q: SECRET, content: true, limit: 5 })).length, 1)
  assert.is(bench.sessions.trash(id), true)
  assert.is(bench.sessions.trash(id), false)
  assert.equal(bench.gone, [id])
  const sessions = await bench.restart()
  assert.is(sessions.row(id), undefined)
  assert.equal(listed(sessions), [])
  assert.equal(await sessions.search({ q: SECRET, content: true, limit: 5 }), [])
  assert.equal(await sessions.search({ q: 'find', content: true, limit: 5 }), [])
  assert.equal(contentOf(sessions.restore(id)), contentOf(before))
  assert.equal(texts(sessions, id), [`the ${SECRET}`])
  assert.is((await sessions.search({ q: SECRET, content: true, limit: 5 })).length, 1)
  await refused(() => sessions.restore(id), 'missing')
  await refused(() => sessions.restore('../sessions'), 'missing')
  sessions.trash(id)
  writeFileSync(bench.path(id), '{"n":1,"t":"session","at":1,"v":1,"id":"x","meta":{}}\n')
  await refused(() => sessions.restore(id), 'conflict')
})

test('purges the trash after a day', async ({ bench: { sessions, clock, root } }) => {
  const [a, b] = [sessions.create(NEW).session_id, sessions.create(NEW).session_id]
  sessions.append(a, [say(SECRET)])
  sessions.trash(a)
  clock.set(clock.now() + 20 * 3_600_000)
  sessions.append(b, [say('x')])
  sessions.trash(b)
  assert.is(await sessions.sweepTrash(), 0)
  clock.set(clock.now() + 5 * 3_600_000)
  assert.is(await sessions.sweepTrash(), 1)
  assert.equal(onDisk(root, SECRET), [])
  await refused(() => sessions.restore(a), 'missing')
  assert.equal(texts(sessions, sessions.restore(b).session_id), ['x'])
})

test('permanent deletion leaves no byte in any file', async ({
  bench: { sessions, root, path },
}) => {
  const other = sessions.create(NEW).session_id
  sessions.append(other, [say('stays here')])
  const { session_id: id } = sessions.create({ ...NEW, title: `About ${SECRET}title` })
  sessions.append(
    id,
    Array.from({ length: 40 }, (_, index) => say(`word${index} ${SECRET}body`)),
  )
  writeFileSync(path(id, '.json.migrated'), SECRET)
  writeFileSync(path(id, '.torn'), SECRET)
  assert.is((await sessions.search({ q: `${SECRET}body`, content: true, limit: 5 })).length, 1)
  assert.ok(onDisk(join(root, 'cache'), SECRET).length > 0)
  assert.is(await sessions.erase(id), true)
  assert.equal(onDisk(root, SECRET), [])
  assert.is(await sessions.erase(id), false)
  assert.is((await sessions.search({ q: 'stays', content: true, limit: 5 })).length, 1)
})

test('permanent deletion from the trash, with many messages at once', async ({
  bench: { sessions, root },
}) => {
  const { session_id: id } = sessions.create(NEW)
  sessions.append(
    id,
    Array.from({ length: 600 }, (_, index) => say(`word${index} ${SECRET}${index} end`)),
  )
  await sessions.search({ q: 'word1', content: true, limit: 5 })
  sessions.trash(id)
  assert.is(await sessions.erase(id), true)
  assert.equal(onDisk(root, SECRET), [])
})

test('purge: removes cut text, old titles and originals; keeps numbers and ids, which are never reused', async ({
  bench,
}) => {
  const { sessions, root, path } = bench
  const { session_id: id } = sessions.create({ ...NEW, title: `${SECRET} title` })
  sessions.append(id, [say('keep'), say(`cut ${SECRET}`), say(`cut ${SECRET} too`, 'assistant')])
  sessions.append(id, [
    { t: 'cut', after: 2 },
    { t: 'meta', patch: { title: 'Clean', pinned: true } },
    say('kept too'),
    say(`last ${SECRET}`),
    { t: 'cut', after: 7 },
  ])
  writeFileSync(path(id, '.json.migrated'), SECRET)
  assert.is((await sessions.search({ q: 'keep', content: true, limit: 5 })).length, 1)
  const before = sessions.load(id)
  const row = sessions.require(id)
  sessions.acquire(id)
  const purged = await sessions.purge(id)
  assert.equal(onDisk(root, SECRET), [])
  assert.equal(contentOf(purged), contentOf(row))
  const after = sessions.load(id)
  assert.equal(after.messages, before.messages)
  assert.equal(after.meta.title, 'Clean')
  assert.is(after.gen, 1)
  const [entry] = sessions.append(id, [say('next')])
  sessions.release(id)
  assert.ok((entry?.n ?? 0) > 10)
  assert.match(readFileSync(path(id), 'utf8'), /^\{"n":1,.*"gen":1/)
  await sessions.purge(id)
  assert.equal(texts(sessions, id), ['keep', 'kept too', 'next'])
  assert.is(sessions.load(id).gen, 2)
  assert.is((await sessions.search({ q: 'next', content: true, limit: 5 })).length, 1)
  assert.equal(await sessions.search({ q: SECRET, content: true, limit: 5 }), [])
})

test('purges, trashes and erases a session in the earlier format', async ({
  bench: { sessions, path, root },
}) => {
  const file = { session_id: 'old', title: 't', messages: [{ role: 'user', content: SECRET }] }
  writeFileSync(path('old', '.json'), JSON.stringify(file))
  sessions.trash('old')
  assert.is(sessions.row('old'), undefined)
  assert.is(sessions.restore('old').message_count, 1)
  sessions.append('old', [{ t: 'cut', after: 0 }])
  assert.ok(onDisk(join(root, 'sessions'), SECRET).length === 2)
  await sessions.purge('old')
  assert.equal(onDisk(root, SECRET), [])
  assert.not.ok(existsSync(path('old', '.json')))
})

test('cleanup deletes sessions without messages, except with a draft, a title or an open journal', ({
  bench: { sessions, path },
}) => {
  const untitled = sessions.create(NEW).session_id
  const titled = sessions.create({ ...NEW, title: 'T' }).session_id
  const drafted = sessions.create(NEW).session_id
  const spoken = sessions.create(NEW).session_id
  const held = sessions.create(NEW).session_id
  sessions.append(drafted, [{ t: 'meta', patch: { composer_draft: { text: 'x', files: [] } } }])
  sessions.append(spoken, [say('x')])
  sessions.acquire(held)
  assert.is(sessions.cleanup({ anyTitle: false }), 1)
  assert.not.ok(existsSync(path(untitled)))
  assert.is(sessions.cleanup({ anyTitle: true }), 1)
  assert.not.ok(existsSync(path(titled)))
  assert.ok(existsSync(path(drafted)) && existsSync(path(spoken)) && existsSync(path(held)))
  sessions.release(held)
})

test('completes an interrupted purge of the trash', async ({
  bench: { sessions, root, clock },
}) => {
  mkdirSync(join(root, 'trash/half'), { recursive: true })
  writeFileSync(join(root, 'trash/half/half.jsonl'), SECRET)
  clock.set(Date.now() + 25 * 3_600_000)
  assert.is(await sessions.sweepTrash(), 1)
  assert.equal(onDisk(root, SECRET), [])
})

test.run()
