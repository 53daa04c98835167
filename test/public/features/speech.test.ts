/** Reading aloud: what is spoken, and stopping. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { toSpeech } from '../../../public/features/speech/speakable.ts'
import { signal } from '@preact/signals'
import type { TranscriptState } from '../../../public/features/chat/chat-reducer.ts'
import {
  createHandsFree,
  type HandsFreeOptions,
} from '../../../public/features/speech/hands-free.ts'
import { MicrophoneBlocked } from '../../../public/features/speech/listen.ts'
import {
  browserSpeaker,
  type Player,
  serverSpeaker,
} from '../../../public/features/speech/speakers.ts'
import { createSpeech } from '../../../public/features/speech/speech.ts'
import { onTurnEnd } from '../../../public/features/speech/turn-answers.ts'
import { settle } from '../_page.ts'

const test = suite('page: speech')
const words = { code: 'Code block.', link: 'link' }

const opened = () => {
  const spoken: SpeechSynthesisUtterance[] = []
  const failures: string[] = []
  const speaker = browserSpeaker({ speak: one => void spoken.push(one), cancel() {} }, text => {
    return { text } as SpeechSynthesisUtterance
  })
  const speech = createSpeech({
    speaker: async () => speaker,
    onFailure: () => void failures.push('failed'),
  })
  const end = (at: number) => {
    spoken[at]?.onend?.({} as SpeechSynthesisEvent)
    return settle()
  }
  const fail = (at: number) => {
    spoken[at]?.onerror?.({} as SpeechSynthesisErrorEvent)
    return settle()
  }
  const read = (id: string, parts: string[]) => {
    void speech.read(id, parts)
    return settle()
  }
  return { speech, spoken, failures, read, end, fail, texts: () => spoken.map(({ text }) => text) }
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

test('a failure ends the reading and is reported once; a stop is no failure', async () => {
  const { speech, failures, read, fail } = opened()
  await read('m1', ['a', 'b'])
  await fail(0)
  assert.equal([speech.reading.value, failures.length], [null, 1])
  await read('m1', ['a'])
  speech.stop()
  await fail(1)
  assert.is(failures.length, 1)
  const mute = createSpeech({ speaker: async () => null, onFailure: () => failures.push('mute') })
  await mute.read('m1', ['a'])
  assert.equal([mute.reading.value, failures[1]], [null, 'mute'])
})

test('reads part after part; another answer replaces the one that is read', async () => {
  const { speech, texts, read, end } = opened()
  await read('m1', ['a', 'b'])
  await end(0)
  assert.equal([texts(), speech.reading.value], [['a', 'b'], 'm1'])
  await read('m2', ['c'])
  await end(1)
  assert.equal([texts(), speech.reading.value], [['a', 'b', 'c'], 'm2'])
  await end(2)
  assert.is(speech.reading.value, null)
})

test('audio of the server: the next part is fetched while one is played; a stop ends both', async () => {
  const fetched: string[] = []
  const signals: AbortSignal[] = []
  const log: string[] = []
  const player = {
    src: '',
    onended: null,
    onerror: null,
    async play() {
      log.push(`play ${player.src}`)
    },
    pause: () => void log.push('pause'),
  } as Player
  const speaker = serverSpeaker({
    async fetchAudio(text, signal) {
      fetched.push(text)
      signals.push(signal)
      return new Blob([text])
    },
    player,
    urls: {
      createObjectURL: () => `blob:${log.length}`,
      revokeObjectURL: url => void log.push(`revoke ${url}`),
    },
  })
  const speech = createSpeech({
    speaker: async () => speaker,
    onFailure: () => assert.unreachable(),
  })
  void speech.read('m1', ['a', 'b', 'c'])
  await settle()
  assert.equal([fetched, log], [['a', 'b'], ['play blob:0']])
  player.onended?.call(player as never, {} as Event)
  await settle()
  assert.equal(fetched, ['a', 'b', 'c'], 'no part is fetched twice')
  speech.stop()
  assert.is(log.at(-1), 'pause')
  assert.ok(signals.every(signal => signal.aborted))
  await settle()
  assert.is(speech.reading.value, null)
})

const turn = (id: string) => ({ live: { stream_id: id }, sessionId: 's', messages: [] })
const said = (id: string, more: object = {}) => ({ id, role: 'assistant', content: 'Hi.', ...more })
const ended = (...messages: object[]) => ({ live: null, sessionId: 's', messages })

test('an answer is final when its turn ended in the same chat, and was not stopped or failed', () => {
  const chat = signal(ended(said('old')) as unknown as TranscriptState)
  const answers: (string | null)[] = []
  onTurnEnd(chat, answer => answers.push(answer?.id ?? null))
  const show = (...states: object[]) => {
    for (const state of states) chat.value = state as TranscriptState
  }
  assert.equal(answers, [], 'a chat that is opened is not read')
  show(turn('a'), ended(said('m2')), ended(said('m2'), said('m3')))
  show(turn('b'), { ...ended(said('x')), sessionId: 'other' })
  show(turn('c'), ended(said('m4', { _partial: true })))
  show(turn('d'), ended(said('m5', { _error: true })))
  assert.equal(answers, ['m2', null, null])
})

const handsFreeWith = (utterances: (string | Error)[], more: Partial<HandsFreeOptions> = {}) => {
  const log: string[] = []
  const handsFree = createHandsFree({
    async listen(over) {
      log.push('listen')
      const next = utterances.shift()
      if (next instanceof Error) throw next
      if (next !== undefined) return next
      return new Promise(resolve => over.addEventListener('abort', () => resolve('')))
    },
    async send(text, sent) {
      log.push(`send ${text}`)
      sent()
      return { id: 'm1', markdown: `answer to ${text}` }
    },
    read: async ({ markdown }) => void log.push(`read ${markdown}`),
    stopReading: () => undefined,
    onEnd: reason => void log.push(reason),
    ...more,
  })
  return { handsFree, log }
}

test('hands-free: ends without a microphone, when nothing could be sent, and after three silences', async () => {
  const blocked = handsFreeWith([new MicrophoneBlocked()])
  await blocked.handsFree.start()
  assert.equal(blocked.log, ['listen', 'blocked'])
  const silent = handsFreeWith(['', ' ', ''])
  await silent.handsFree.start()
  assert.equal(silent.log, ['listen', 'listen', 'listen', 'silence'])
  const unsent = handsFreeWith(['one'], { send: async () => false })
  await unsent.handsFree.start()
  assert.equal([unsent.log, unsent.handsFree.state.value], [['listen', 'unsent'], 'off'])
})

test('hands-free: listens, sends, reads, and listens again until it is stopped', async () => {
  const { handsFree, log } = handsFreeWith(['one', '', 'two'])
  const done = handsFree.start()
  await settle()
  assert.is(handsFree.state.value, 'listening')
  handsFree.stop()
  await done
  assert.equal(log, [
    'listen',
    'send one',
    'read answer to one',
    'listen',
    'listen',
    'send two',
    'read answer to two',
    'listen',
  ])
  assert.is(handsFree.state.value, 'off')
})

test.run()
