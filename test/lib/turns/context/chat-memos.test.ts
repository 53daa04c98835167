/** What tools remember of a chat lasts as long as the messages in which it happened. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ChatMemos } from '../../../../lib/turns/context/chat-memos.ts'

const test = suite('memos of chats')

const open = () => {
  const memos = new ChatMemos()
  return (
    { sessionId, userMessageId }: { sessionId: string; userMessageId: string },
    messages: { id: string }[],
  ) => memos.of(sessionId, userMessageId, messages)
}
const ids = (...given: string[]) => given.map(id => ({ id }))

test('they last from turn to turn, and are each chat’s own', () => {
  const memoOf = open()
  const first = memoOf({ sessionId: 'a', userMessageId: 'm1' }, ids('m1'))
  assert.is(memoOf({ sessionId: 'a', userMessageId: 'm3' }, ids('m1', 'm3')), first)
  assert.is.not(memoOf({ sessionId: 'b', userMessageId: 'm5' }, ids('m1', 'm3', 'm5')), first)
})

test('of two hundred chats, those used last', () => {
  const memoOf = open()
  const of = (at: number) => memoOf({ sessionId: `${at}`, userMessageId: 'm1' }, ids('m1'))
  const memos = Array.from({ length: 201 }, (_, at) => of(at))
  assert.is(of(1), memos[1])
  assert.is.not(of(0), memos[0])
})

test('what was taken back is forgotten: an edited, undone, or cleared message', () => {
  const memoOf = open()
  const first = memoOf({ sessionId: 'a', userMessageId: 'm1' }, ids('m1'))
  assert.is.not(memoOf({ sessionId: 'a', userMessageId: 'm3' }, ids('m3')), first)
  const second = memoOf({ sessionId: 'a', userMessageId: 'm5' }, ids('m3', 'm5'))
  assert.is.not(second, first)
  assert.is.not(memoOf({ sessionId: 'a', userMessageId: 'm7' }, ids('m3', 'm7')), second)
})

test.run()
