/** What an agent tells again of a session of its own, as messages a journal can take: the newest part where it is too long. */
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

/** A message of the person's and all that followed it. */
type ReplayedTurn = { messages: RunMessage[]; chars: number }

export type Replay = ReturnType<typeof createReplay>

export const createReplay = ({
  workspace,
  served,
  maxMessages = MAX_MESSAGES,
  maxChars = MAX_CHARS,
}: ReplayOptions) => {
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
        // Ids of calls are given once in a journal.
        history: turns.flatMap(({ messages }) => messages),
      },
      emit: event => {
        if (event.type === 'message') add(event.message)
      },
      now: Date.now,
      served,
      terminals: () => null,
      // The files have gone on since.
      readFile: () => undefined,
      onTerminals: () => undefined,
      // What a turn says beyond its bound is left out.
      onFlood: () => undefined,
    })
  }

  const close = (): void => {
    transcript?.end('How this call ended is not known any more.')
    transcript = null
  }

  return {
    /** A message comes in chunks; older agents do not say whose they are. */
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
    /** Whoever writes down what the agent tells of itself. */
    transcript(): Transcript | undefined {
      if (isClosed) return undefined
      transcript ??= open()
      return transcript
    },
    /** All of it, and how many older messages are left out. */
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

/** Listens only for what the person said last, as far as the agent knows. */
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
