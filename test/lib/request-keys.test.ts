/** The keys of requests: bounded in number and time, private replies in memory only, damaged files replaced. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openRequestKeys } from '../../lib/request-keys.ts'

const test = suite<{ dir: string; at: number }>('request keys')

test.before.each(state => {
  state.dir = mkdtempSync(join(tmpdir(), 'keys-'))
  state.at = 1_000_000
})
test.after.each(({ dir }) => rmSync(dir, { recursive: true, force: true }))

const REPLY = { status: 200, type: 'application/json', headers: {}, text: '{"word":"quartz"}' }

const open = (state: { dir: string; at: number }, maxKeys?: number) => {
  const lines: string[] = []
  const path = join(state.dir, 'cache', 'requests.db')
  const keys = openRequestKeys(path, {
    addon: undefined,
    nowMs: () => state.at,
    log: line => lines.push(line),
    ...(maxKeys !== undefined && { maxKeys }),
  })
  return { path, lines, ...keys }
}

test('a reply that may not be stored is never in a file, and is gone after a restart', state => {
  const keys = open(state)
  keys.begin('a', 'print')
  keys.end('a', REPLY, 'memory')
  assert.equal(keys.find('a'), { fingerprint: 'print', isDone: true, reply: REPLY })
  keys.close()
  const dir = join(state.dir, 'cache')
  for (const name of readdirSync(dir))
    assert.not(readFileSync(join(dir, name)).includes('quartz'), name)
  const again = open(state)
  assert.equal(again.find('a'), { fingerprint: 'print', isDone: true, reply: null })
  again.close()
})

test('a request without an end is known as such; a released one is not known', state => {
  const keys = open(state)
  keys.begin('a', 'print')
  keys.begin('b', 'print')
  keys.release('b')
  keys.close()
  const again = open(state)
  assert.equal(again.find('a'), { fingerprint: 'print', isDone: false, reply: null })
  assert.is(again.find('b'), undefined)
  again.close()
})

test('keys are kept for a day, and no more than a number of them', state => {
  const keys = open(state, 50)
  for (let n = 0; n < 400; n++) {
    state.at += 1
    keys.begin(`k${n}`, 'print')
    keys.end(`k${n}`, REPLY, 'disk')
  }
  assert.is(keys.find('k0'), undefined)
  assert.equal(keys.find('k399')?.reply, REPLY)
  state.at += 24 * 3_600_000 + 1
  assert.is(keys.find('k399'), undefined)
  keys.begin('next', 'print')
  assert.is(keys.find('k399'), undefined)
  keys.close()
})

test('a damaged file is replaced', state => {
  const first = open(state)
  first.begin('a', 'print')
  first.close()
  writeFileSync(first.path, 'this is no database, and longer than a header '.repeat(30))
  const keys = open(state)
  assert.is(keys.find('a'), undefined)
  keys.begin('a', 'print')
  assert.is(keys.lines.length, 1)
  keys.close()
})

test.run()
