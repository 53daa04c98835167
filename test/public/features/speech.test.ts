/** Reading aloud: what is spoken, and stopping. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { toSpeech } from '../../../public/features/speech/speakable.ts'
import { createSpeech } from '../../../public/features/speech/speech.ts'

const test = suite('page: speech')
const words = { code: 'Code block.', link: 'link' }

const opened = () => {
  const spoken: SpeechSynthesisUtterance[] = []
  const failures: string[] = []
  const speech = createSpeech({
    voices: { speak: one => void spoken.push(one), cancel() {} },
    utterance: text => ({ text }) as SpeechSynthesisUtterance,
    onFailure: () => void failures.push('failed'),
  })
  const end = (at: number) => spoken[at]?.onend?.({} as SpeechSynthesisEvent)
  const fail = (at: number) => spoken[at]?.onerror?.({} as SpeechSynthesisErrorEvent)
  return { speech, spoken, failures, end, fail, texts: () => spoken.map(({ text }) => text) }
}

test('code blocks and addresses are never read, also not one that is not closed', () => {
  const text =
    'Done, see https://x.test/a?b.\n\n```ts\nconst secret = 1\n```\n\n**Next** `npm test`.'
  assert.equal(toSpeech(text, words), ['Done, see link', 'Code block.', 'Next npm test.'])
  assert.equal(toSpeech('Look:\n\n~~~\nrm -rf', words), ['Look:', 'Code block.'])
  assert.equal(toSpeech('', words), [])
})

test('long texts are read in parts without losing a word', () => {
  const long = `${'word '.repeat(300)}end. ${'x'.repeat(500)} Short one. Another.`
  const parts = toSpeech(long, words)
  assert.ok(parts.every(part => part.length <= 200))
  assert.is(parts.join('').replace(/\s/g, ''), long.replace(/\s/g, ''))
})

test('a failure ends the reading and is reported once; a stop is no failure', () => {
  const { speech, failures, fail } = opened()
  speech.read('m1', ['a', 'b'])
  fail(0)
  assert.equal([speech.reading.value, failures.length], [null, 1])
  speech.read('m1', ['a'])
  speech.stop()
  fail(1)
  assert.is(failures.length, 1)
})

test('reads part after part; another answer replaces the one that is read', () => {
  const { speech, texts, end } = opened()
  speech.read('m1', ['a', 'b'])
  end(0)
  assert.equal([texts(), speech.reading.value], [['a', 'b'], 'm1'])
  speech.read('m2', ['c'])
  end(1)
  assert.equal([texts(), speech.reading.value], [['a', 'b', 'c'], 'm2'])
  end(2)
  assert.is(speech.reading.value, null)
})

test.run()
