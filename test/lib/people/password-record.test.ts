/** A signing key that was lost: its successor must not make the right password a wrong one without a word. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  isForeignRecord,
  PasswordFile,
  type SettingsPassword,
} from '../../../lib/people/password-record.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite('password record')

const HASH = 'a'.repeat(64)
const OTHER = 'b'.repeat(64)
const [first, second] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]

const open = (dir: string, key: Buffer, hash: string | null) => {
  const stored = { hash }
  const warnings: string[] = []
  const settings: SettingsPassword = {
    read: () => (stored.hash === null ? { kind: 'none' } : { kind: 'hash', hash: stored.hash }),
    store: next => {
      stored.hash = next
    },
  }
  const record = new PasswordFile(dir, key, settings, text => warnings.push(text))
  return { record, warnings }
}

for (const inSettings of [HASH, null])
  test(`a new key beside an existing hash is named (in settings.json: ${inSettings !== null})`, () => {
    const dir = tempDir('record')
    open(dir, first, null).record.set(HASH)
    assert.not(isForeignRecord(dir, first))
    assert.ok(isForeignRecord(dir, second))
    assert.ok(isForeignRecord(dir, null))
    const { record, warnings } = open(dir, second, inSettings)
    assert.is(record.state().kind, 'damaged')
    assert.match(warnings.join(), /another signing key.*agent-webui password/)
    record.set(OTHER)
    assert.equal(record.state(), { kind: 'hash', hash: OTHER })
    assert.not(isForeignRecord(dir, second))
  })

test('a password that another program set later counts, whatever the record is', () => {
  const dir = tempDir('record')
  open(dir, first, null).record.set(HASH)
  assert.equal(open(dir, second, OTHER).record.state(), { kind: 'hash', hash: OTHER })
})

test('no record, a removed password and a damaged file are not of another key', () => {
  const dir = tempDir('record')
  assert.not(isForeignRecord(dir, null))
  writeFileSync(join(dir, '.password'), '{broken')
  assert.not(isForeignRecord(dir, null))
  open(dir, first, null).record.set(null)
  assert.not(isForeignRecord(dir, second))
})

test.run()
