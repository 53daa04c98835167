/** Converts the history that an agent replays on `session/load` to journal messages, keeping the newest part. */
import type { Clock } from '../../base/clock.ts'
import type { RunMessage } from '../types.ts'
import { blockText } from './tool-calls.ts'
import { createTranscript, type Transcript } from './transcript.ts'
import type { Block } from './updates.ts'

export type ReplayOptions = {
  workspace: string
  served: { provider: string; model: string }
  maxMessages?: number
  maxChars?: number
}

const MAX_MESSAGES = 2_000
const MAX_CHARS = 8 * 1024 * 1024
const MAX_USER_CHARS = 1024 * 1024

/** A user message and the messages that followed it. */
type ReplayedTurn = { messages: RunMessage[]; chars: number }

export type Replay = ReturnType<typeof createReplay>

export const createReplay = (
  { workspace, served, maxMessages = MAX_MESSAGES, maxChars = MAX_CHARS }: ReplayOptions,
  clock: Pick<Clock, 'monotonic'>,
) => {
  const turns: ReplayedTurn[] = []
  let transcript: Transcript | null = null
  let userText = ''
  let currentId = ''
  let next = 0
  let omitted = 0
  let isClosed = false

  const add = (message: RunMessage): void => {
    const turn = turns.at(-1)
    turn?.messages.push(message)
    if (turn) turn.chars += JSON.stringify(message).length
  }

  const total = (of: (turn: ReplayedTurn) => number): number =>
    turns.reduce((sum, turn) => sum + of(turn), 0)

  const trim = (): void => {
    while (
      turns.length > 1 &&
      (total(({ chars }) => chars) > maxChars ||
        total(({ messages }) => messages.length) > maxMessages)
    )
      omitted += turns.shift()?.messages.length ?? 0
  }

  const open = (): Transcript => {
    turns.push({ messages: [], chars: 0 })
    trim()
    const text = userText
    userText = ''
    if (text.trim() !== '') add({ id: `r${++next}`, role: 'user', content: text })
    return createTranscript({
      request: {
        workspace,
        nextMessageId: () => `r${++next}`,
        // Call ids are unique in a journal.
        history: turns.flatMap(({ messages }) => messages),
      },
      emit: event => {
        if (event.type === 'message') add(event.message)
      },
      clock,
      served,
      terminals: () => null,
      // The files have changed since.
      readFile: () => undefined,
      onTerminals: () => undefined,
      // Output beyond a turn's limit is dropped.
      onFlood: () => undefined,
    })
  }

  const close = (): void => {
    transcript?.end('The result of this call is unknown.')
    transcript = null
  }

  return {
    /** Messages arrive in chunks; older agents send no message id. */
    user(block: Block, messageId: string): void {
      if (isClosed) return
      close()
      if (userText !== '' && messageId !== currentId) {
        transcript = open()
        close()
      }
      currentId = messageId
      const text = blockText(block)
      userText = (userText + (block.type === 'text' ? text : `\n${text}\n`)).slice(
        0,
        MAX_USER_CHARS,
      )
    },
    /** The transcript of the current turn. */
    transcript(): Transcript | undefined {
      if (isClosed) return undefined
      transcript ??= open()
      return transcript
    },
    /** All messages, and how many older ones were omitted. */
    end(): { messages: RunMessage[]; omitted: number } {
      close()
      if (userText !== '') {
        transcript = open()
        close()
      }
      trim()
      isClosed = true
      return { messages: turns.flatMap(({ messages }) => messages), omitted }
    },
  }
}

/** Reads only the last user message of a replayed history. */
export const createLastMessageReader = () => {
  let lastMessage = ''
  let currentId = ''
  let isNext = true
  return {
    user(block: Block, messageId: string): void {
      if (isNext || messageId !== currentId) lastMessage = ''
      isNext = false
      currentId = messageId
      lastMessage = (lastMessage + blockText(block)).slice(0, MAX_USER_CHARS)
    },
    transcript(): undefined {
      isNext = true
    },
    lastMessage: () => lastMessage,
  }
}
