/** Reading a state directory that a server writes: with its catalog and index, without them, and with sessions the index lacks. */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { StoredSessions } from '../../../lib/sessions/stored-sessions.ts'
import { type Bench, benchSuite, NEW, say } from './_sessions.ts'

const test = benchSuite('sessions/stored-sessions')

const add = ({ sessions, clock }: Bench, title: string, text: string, profile = 'default') => {
  clock.set(clock.now() + 10_000)
  const { session_id: id } = sessions.create({ ...NEW, profile, title })
  sessions.append(id, [say(text), say('Answer.', 'assistant')])
  return id
}
const open = ({ root }: Bench) => new StoredSessions(root, undefined)
const found = async (bench: Bench, query: string, profile = 'default') =>
  (await open(bench).search(query, profile, 10)).map(({ row }) => row.session_id)
/** All files with their content. */
const snapshot = ({ root }: Bench): Map<string, string> =>
  new Map(
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile() && !entry.name.endsWith('-shm'))
      .map(entry => {
        const path = join(entry.parentPath, entry.name)
        return [path, readFileSync(path, 'latin1')]
      }),
  )

test('rejects ids that are no sessions, sessions of another profile, and empty queries', async ({
  bench,
}) => {
  const other = add(bench, 'Private', 'whale', 'work')
  const stored = open(bench)
  for (const id of ['unknown', '../sessions/x', '', other])
    assert.is(stored.session(id, 'default'), undefined)
  assert.equal(stored.rows('default'), [])
  assert.equal(await found(bench, 'whale'), [])
  assert.equal(await found(bench, ' " '), [])
  assert.equal(await found(bench, 'whale', 'work'), [other])
})

test('lists and searches while the server has the files open, and changes nothing', async ({
  bench,
}) => {
  const first = add(bench, 'About zebras', 'They have stripes')
  const second = add(bench, 'Other', 'A zebra has stripes as well, zebra')
  await bench.sessions.search({ q: 'stripes', content: true, limit: 5 })
  // Not in the index yet.
  const third = add(bench, 'New', 'Yet another zebra')
  const before = snapshot(bench)
  assert.equal(
    open(bench)
      .rows('default')
      .map(({ session_id }) => session_id),
    [third, second, first],
  )
  assert.equal((await found(bench, 'zebra')).toSorted(), [first, second, third].toSorted())
  assert.equal((await found(bench, 'zebra'))[0], first)
  assert.is(open(bench).session(second, 'default')?.messages.length, 2)
  assert.equal(snapshot(bench), before)
})

test('deleted and cut messages are not found, although the index still has them', async ({
  bench,
}) => {
  const id = add(bench, 'One', 'a giraffe')
  const gone = add(bench, 'Two', 'a giraffe')
  await bench.sessions.search({ q: 'giraffe', content: true, limit: 5 })
  bench.sessions.append(id, [{ t: 'cut', after: 0 }])
  bench.sessions.trash(gone)
  assert.equal(await found(bench, 'giraffe'), [])
})

test('without catalog and index the files are read', async ({ bench }) => {
  const first = add(bench, 'About zebras', 'stripes')
  const second = add(bench, 'Other', 'a zebra')
  add(bench, 'Private', 'zebra', 'work')
  await bench.sessions.close()
  rmSync(join(bench.root, 'cache'), { recursive: true })
  assert.equal(
    open(bench)
      .rows('default')
      .map(({ session_id }) => session_id),
    [second, first],
  )
  assert.equal(await found(bench, 'zebra'), [first, second])
  assert.not(readdirSync(bench.root).includes('cache'))
})

test.run()
