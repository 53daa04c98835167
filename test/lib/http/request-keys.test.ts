/** The keys of requests: bounded in number and time, private replies in memory only, torn lines skipped. */
import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock, type TestClock } from '../../_clock.ts'
import { RequestKeys } from '../../../lib/http/request-keys.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite<{ dir: string; clock: TestClock }>('request keys')

test.before.each(state => {
  state.dir = tempDir('keys')
  state.clock = createTestClock()
})

const REPLY = { status: 200, type: 'application/json', headers: {}, text: '{"word":"quartz"}' }

const filesOf = ({ dir }: { dir: string }) => join(dir, 'request-keys')

const open = (state: { dir: string; clock: TestClock }, maxKeys?: number) =>
  new RequestKeys(filesOf(state), state.clock, line => assert.unreachable(line), maxKeys)

test('a reply that may not be stored is never in a file, and is gone after a restart', state => {
  const keys = open(state)
  keys.begin('a', 'print')
  keys.end('a', REPLY, 'memory')
  assert.equal(keys.find('a'), { fingerprint: 'print', isDone: true, reply: REPLY })
  const dir = filesOf(state)
  for (const name of readdirSync(dir))
    assert.not(readFileSync(join(dir, name)).includes('quartz'), name)
  const again = open(state)
  assert.equal(again.find('a'), { fingerprint: 'print', isDone: true, reply: null })
})

test('replies in memory have a common bound: the oldest leave', state => {
  const keys = open(state)
  const text = 'x'.repeat(1_000_000)
  for (const id of ['a', 'b', 'c', 'd', 'e']) {
    keys.begin(id, 'print')
    keys.end(id, { ...REPLY, text }, 'memory')
  }
  const isKept = (id: string) => keys.find(id)?.reply !== null
  assert.equal(['a', 'b', 'c', 'd', 'e'].map(isKept), [false, true, true, true, true])
})

test('a request without an end is known as such; a released one is not known', state => {
  const keys = open(state)
  keys.begin('a', 'print')
  keys.begin('b', 'print')
  keys.release('b')
  const again = open(state)
  assert.equal(again.find('a'), { fingerprint: 'print', isDone: false, reply: null })
  assert.is(again.find('b'), undefined)
})

test('keys are kept for a day, and no more than a number of them', async state => {
  const keys = open(state, 50)
  for (let n = 0; n < 400; n++) {
    state.clock.set(state.clock.now() + 1)
    keys.begin(`k${n}`, 'print')
    keys.end(`k${n}`, REPLY, 'disk')
  }
  assert.is(keys.find('k0'), undefined)
  assert.equal(keys.find('k399')?.reply, REPLY)
  await state.clock.advance(24 * 3_600_000 + 1)
  assert.is(keys.find('k399'), undefined)
  keys.begin('next', 'print')
  assert.is(keys.find('k399'), undefined)
})

test('what an earlier process or another machine began is known: not again what may have been done, and its reply', async state => {
  const files = filesOf(state)
  const first = open(state)
  for (const id of ['cut', 'freed', 'kept', 'private']) first.begin(id, `print of ${id}`)
  first.release('freed')
  first.end('kept', REPLY, 'disk')
  first.end('private', { ...REPLY, text: 'secret' }, 'memory')
  const [name = ''] = readdirSync(files)
  const text = readFileSync(join(files, name), 'utf8')
  assert.not.match(text, 'secret')
  // A kill tears the last line.
  appendFileSync(join(files, name), '{}\n{"t":"begun","id":7}\n{"t":"begun","id":"to')
  const second = open(state)
  assert.is(second.find('freed'), undefined)
  assert.equal(second.find('cut'), { fingerprint: 'print of cut', isDone: false, reply: null })
  assert.equal(second.find('kept'), { fingerprint: 'print of kept', isDone: true, reply: REPLY })
  assert.equal(second.find('private')?.reply, null)
  second.begin('after', 'print')
  const third = open(state)
  assert.ok(third.find('after'), 'a torn line does not take the next one with it')
  await state.clock.advance(3 * 24 * 3_600_000)
  third.begin('later', 'print')
  assert.is(readdirSync(files).length, 1)
})

test.run()
