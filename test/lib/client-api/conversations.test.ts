/** What is known of conversations: per token, bounded, and replaced when the file is damaged. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Conversations } from '../../../lib/client-api/conversations.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite<{ dir: string }>('conversations of programs')

test.before.each(state => {
  state.dir = tempDir('api')
})

const HEAD = { session: 's1', message: 'm4' }

const open = (path: string) => {
  const lines: string[] = []
  return Object.assign(new Conversations(path, undefined, line => lines.push(line)), { lines })
}

test('finds an entry for its token only, also after it was opened again', ({ dir }) => {
  const path = join(dir, 'cache', 'api.db')
  const first = open(path)
  first.save('one', 'key', HEAD, '{"id":1}')
  first.close()
  const again = open(path)
  assert.equal(again.find('one', 'key'), { ...HEAD, body: '{"id":1}' })
  assert.is(again.find('two', 'key'), undefined)
  assert.is(again.remove('two', 'key'), false)
  assert.is(again.remove('one', 'key'), true)
  assert.is(again.find('one', 'key'), undefined)
  again.close()
})

test('a damaged file is replaced by an empty one', ({ dir }) => {
  const path = join(dir, 'api.db')
  writeFileSync(
    path,
    'this is no database, and longer than a header of SQLite would be '.repeat(20),
  )
  const store = open(path)
  assert.is(store.find('one', 'key'), undefined)
  store.save('one', 'key', HEAD)
  assert.equal(store.find('one', 'key'), { ...HEAD, body: null })
  assert.is(store.lines.length, 1)
  store.close()
})

test('a place that cannot be written leaves the entries in memory', ({ dir }) => {
  const path = join(dir, 'api.db')
  mkdirSync(path)
  const store = open(path)
  store.save('one', 'key', HEAD)
  assert.equal(store.find('one', 'key'), { ...HEAD, body: null })
  store.close()
})

test.run()
