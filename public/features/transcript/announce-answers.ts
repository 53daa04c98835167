/** Announces the answers of an open chat to screen readers while they are written, sentence by sentence. */
import { effect } from '@preact/signals'
import type { Message } from '../../../lib/schema/message.ts'
import type { Pane } from '../../pane.ts'
import { t } from '../../strings/transcript-strings.ts'
import type { TranscriptState } from '../messages/chat-reducer.ts'
import { messageText } from '../messages/message-text.ts'
import { SpokenSentences } from './spoken-sentences.ts'

/** An answer is looked at this often while it is written: faster than it is read, and rarely enough to cost nothing. */
const PERIOD_MS = 300

const WORDS = {
  code: (lang: string) => t('code.label', { lang: lang || t('code.plain') }),
  formula: t('formula.label'),
}

/** It gets another id when it is stored. */
const isBeingSent = (id: string): boolean => id.startsWith('sent-')

/** For as long as the page is open: of the chat that a pane shows. */
export const startAnnouncing = (pane: Pane): void => {
  const { announce, platform } = pane.app.peek().shell
  /** Null: no chat was shown. */
  let session: string | null = null
  /** Messages that were on the page when it was opened, or were announced. */
  let ids = new Set<string>()
  let streamed: { id: string; sentences: SpokenSentences } | null = null
  let isPlanned = false

  const sentencesOf = (id: string): SpokenSentences => {
    if (streamed?.id !== id) streamed = { id, sentences: new SpokenSentences(WORDS) }
    return streamed.sentences
  }
  const speak = (sentences: readonly string[]): void => {
    for (const sentence of sentences) announce(sentence)
  }
  const speakLive = (): void => {
    isPlanned = false
    const { live } = pane.app.peek().chat.transcript.chat.peek()
    if (session !== null && live?.message_id)
      speak(sentencesOf(live.message_id).update(live.text, true))
  }
  const skip = ({ messages, live }: TranscriptState): void => {
    ids = new Set(messages.map(({ id }) => id).filter(id => !isBeingSent(id)))
    streamed = null
    if (live?.message_id) sentencesOf(live.message_id).update(live.text, true)
  }
  const finish = (message: Message): void => {
    ids.add(message.id)
    if (message.role === 'assistant' && !message._error)
      speak(sentencesOf(message.id).update(messageText(message), false))
  }

  effect(() => {
    const { transcript: chat } = pane.app.value.chat
    const value = chat.chat.value
    const isShown = chat.state.value === 'ready' && pane.route.current.value.view === 'chat'
    if (!isShown) {
      session = null
      return
    }
    const isNew = session === '' && ids.size === 0
    if (session === null || (session !== value.sessionId && !isNew)) skip(value)
    session = value.sessionId
    const first = value.messages.findLastIndex(({ id }) => ids.has(id)) + 1
    for (const message of value.messages.slice(first)) if (!isBeingSent(message.id)) finish(message)
    if (!value.live?.text || isPlanned) return
    isPlanned = true
    platform.clock.timer(PERIOD_MS, speakLive)
  })
}
