/** Find in chat: searches rendered text, loads all messages, steps through matches. */
import { signal } from '@preact/signals'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Message } from '../../../lib/schema/message.ts'
import { Find, foldCase, indexesOf, MAX_MATCHES } from '../../../public/features/find/find.ts'
import type { App } from '../../../public/app.ts'
import { runShortcut } from '../../../public/features/frame/keys.ts'
import {
  type TranscriptState,
  emptyTranscript,
} from '../../../public/features/messages/chat-reducer.ts'

const say = (n: number, content: string): Message => ({
  id: `m${n}`,
  role: n % 2 ? 'user' : 'assistant',
  content,
})

const setUp = (texts: string[], loaded = texts.length, loadsNothing = false) => {
  const all = texts.map((text, at) => say(at + 1, text))
  const chat = signal<TranscriptState>({
    ...emptyTranscript('s'),
    messages: all.slice(-loaded),
    before: all.length - loaded,
  })
  const asked: number[] = []
  const find = new Find({
    chat,
    async loadBefore(limit) {
      asked.push(limit)
      if (loadsNothing) return
      const { before } = chat.value
      const from = Math.max(0, before - 2)
      const messages = [...all.slice(from, before), ...chat.value.messages]
      chat.value = { ...chat.value, messages, before: from }
    },
  })
  const at = () => [find.current.value?.key, find.current.value?.n]
  return { chat, find, asked, at }
}

const test = suite('find in chat')

test('reports missing earlier messages and retries', async () => {
  const { find, asked } = setUp(['one', 'two', 'three'], 1, true)
  find.set('one', null)
  await find.loadAll()
  assert.equal([find.failed.value, find.loading.value, asked.length], [true, false, 1])
  await find.loadAll()
  assert.is(asked.length, 2)
})

test('counts each match once, ignoring case and line breaks', () => {
  assert.equal(indexesOf('aaaa', 'aa'), [0, 2])
  assert.equal(indexesOf('abc', ''), [])
  assert.equal(indexesOf('aaaa', 'a', 2), [0, 1])
  // One line of megabytes.
  assert.is(indexesOf('e'.repeat(5_000_000), 'e').length, MAX_MATCHES)
  assert.is(foldCase('Ä\nB'), 'ä b')
  assert.is(foldCase('aİb').length, 'aİb'.length, 'places stay where they are')
})

test('what is read is found, not how it is written', () => {
  const { find } = setUp(['x', 'a **bold** word and `code`\n\n[label](https://example.org/hidden)'])
  const count = (text: string) => {
    find.set(text, null)
    return find.total.value
  }
  assert.equal(
    [count('BOLD word'), count('**'), count('label'), count('hidden'), count('   ')],
    [1, 0, 1, 0, 0],
  )
})

test('files named below a message are no part of it', () => {
  const { find } = setUp(['look\n\n[Attached files: secret.txt]'])
  find.set('secret', null)
  assert.is(find.total.value, 0)
})

test('from what is read on, then round and round', () => {
  const { find, at } = setUp(['hit', 'no', 'hit hit', 'no', 'hit'])
  find.set('hit', 'm3')
  assert.equal([...at(), find.index.value, find.total.value], ['m3', 0, 1, 4])
  find.step(1)
  assert.equal(at(), ['m3', 1])
  find.step(1)
  find.step(1)
  assert.equal(at(), ['m1', 0], 'after the last comes the first')
  find.step(-1)
  assert.equal(at(), ['m5', 0])
  find.set('nothing like it', 'm3')
  find.step(1)
  assert.equal([find.current.value, find.index.value], [null, -1])
})

test('loads the whole chat and keeps the current match', async () => {
  const { find, chat, asked, at } = setUp(['hit', 'x', 'y', 'z', 'hit', 'end'], 2)
  find.set('hit', null)
  assert.equal([...at(), find.total.value, find.loading.value], ['m5', 0, 1, true])
  await find.loadAll()
  assert.equal([chat.value.before, asked], [0, [500, 500]])
  assert.equal([...at(), find.index.value, find.total.value], ['m5', 0, 1, 2])
  assert.not.ok(find.loading.value)
})

test('nothing more is fetched after it was closed', async () => {
  const { find, asked } = setUp(['a', 'b', 'c', 'd', 'e', 'f'], 1)
  find.set('a', null)
  find.close()
  await find.loadAll()
  assert.equal(asked, [])
})

test('the second time the key is the browser’s own', () => {
  const chat = signal({ messages: [say(1, 'a')] })
  const app = {
    shell: { route: { current: signal({ view: 'chat' }) }, layout: { findOpen: signal(false) } },
    chat: { transcript: { chat } },
  } as unknown as App
  const event = { key: 'f', ctrlKey: true, metaKey: false, shiftKey: false, altKey: false }
  const press = () => runShortcut(app, event, { mac: false, typing: true })
  assert.equal([press(), app.shell.layout.findOpen.value], [true, true])
  assert.equal([press(), app.shell.layout.findOpen.value], [false, false])
  chat.value = { messages: [] }
  assert.is(press(), false, 'there is nothing to find in an empty conversation')
})

test.run()
