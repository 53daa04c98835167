/** What tools remember is bounded: of 1,000 chats, that of the 200 used last. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ChatMemos } from '../../../../lib/turns/context/chat-memos.ts'

const test = suite('memos of chats')

test('of 1,000 chats, that of the 200 used last is remembered', () => {
  const memos = new ChatMemos()
  const ask = (chat: number) => memos.of(`s${chat}`, 'm1', [{ id: 'm1' }])
  const first = ask(0)
  for (let chat = 1; chat < 1_000; chat++) {
    ask(chat).set('directory', '/work')
    // The first one is in use all the time.
    ask(0)
  }
  assert.is(ask(0), first)
  // Newest first: asking for one that is not remembered makes it the newest.
  const remembered = Array.from({ length: 999 }, (_, at) => 999 - at).filter(
    chat => ask(chat).size > 0,
  )
  assert.equal([remembered.length, remembered.at(-1)], [199, 801])
})

test.run()
