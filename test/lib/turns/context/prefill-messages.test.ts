/** Prefill messages from the file that a home names. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { prefillMessages } from '../../../../lib/turns/context/prefill-messages.ts'

const dir = mkdtempSync(join(tmpdir(), 'prefill-'))
const test = suite('prefill messages')
test.after(() => rmSync(dir, { recursive: true }))

const read = (file: string) => {
  const lines: string[] = []
  const scope = { home: { dir }, config: { agent: { prefill_messages_file: file } } }
  return { messages: prefillMessages(scope as never, line => void lines.push(line)), lines }
}

test('no file is configured: no messages and nothing in the log', () => {
  assert.equal(read(''), { messages: [], lines: [] })
})

test('reads messages relative to the home', () => {
  const messages = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Hello' },
  ]
  writeFileSync(join(dir, 'prefill.json'), JSON.stringify(messages))
  assert.equal(read('prefill.json'), { messages, lines: [] })
})

test('a missing or malformed file is logged and skipped', () => {
  writeFileSync(join(dir, 'bad.json'), '[{"role":"system","content":"x"}]')
  for (const name of ['missing.json', 'bad.json']) {
    const { messages, lines } = read(name)
    assert.equal(messages, [])
    assert.is(lines.length, 1)
  }
})

test.run()
