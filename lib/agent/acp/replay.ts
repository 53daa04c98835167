/** Converts the history that an agent replays on `session/load` to journal messages, keeping the newest part. */
import type { Clock } from '../../base/clock.ts'
import type { RunMessage } from '../types.ts'
import { blockText } from './tool-calls.ts'
import type { ReplayReader } from './session.ts'
import { Transcript } from './transcript.ts'
import type { Block } from './updates.ts'

const MAX_MESSAGES = 2_000
const MAX_CHARS = 8 * 1024 * 1024
const MAX_USER_CHARS = 1024 * 1024

/** A user message and the messages that followed it. */
type ReplayedTurn = { messages: RunMessage[]; chars: number }

/** Collects a replayed history. */
export class Replay implements ReplayReader {
  readonly #workspace: string
  readonly #served: { provider: string; model: string }
  readonly #clock: Clock
  readonly #maxMessages: number
  readonly #turns: ReplayedTurn[] = []
  #transcript: Transcript | null = null
  #userText = ''
  #currentId = ''
  #lastId = 0
  #omitted = 0
  #isClosed = false

  constructor(
    workspace: string,
    served: { provider: string; model: string },
    clock: Clock,
    maxMessages = MAX_MESSAGES,
  ) {
    this.#workspace = workspace
    this.#served = served
    this.#clock = clock
    this.#maxMessages = maxMessages
  }

  user(block: Block, messageId: string): void {
    if (this.#isClosed) return
    this.#endTurn()
    if (this.#userText !== '' && messageId !== this.#currentId) {
      this.#startTurn()
      this.#endTurn()
    }
    this.#currentId = messageId
    const text = blockText(block)
    this.#userText = (this.#userText + (block.type === 'text' ? text : `\n${text}\n`)).slice(
      0,
      MAX_USER_CHARS,
    )
  }

  transcript(): Transcript | undefined {
    return this.#isClosed ? undefined : (this.#transcript ?? this.#startTurn())
  }

  /** All messages, and how many older ones were omitted. */
  end(): { messages: RunMessage[]; omitted: number } {
    this.#endTurn()
    if (this.#userText !== '') {
      this.#startTurn()
      this.#endTurn()
    }
    this.#trim()
    this.#isClosed = true
    return { messages: this.#turns.flatMap(({ messages }) => messages), omitted: this.#omitted }
  }

  #startTurn(): Transcript {
    this.#turns.push({ messages: [], chars: 0 })
    this.#trim()
    const text = this.#userText
    this.#userText = ''
    if (text.trim() !== '') this.#add({ id: `r${++this.#lastId}`, role: 'user', content: text })
    this.#transcript = new Transcript({
      workspace: this.#workspace,
      nextMessageId: () => `r${++this.#lastId}`,
      history: this.#turns.flatMap(({ messages }) => messages),
      emit: event => {
        if (event.type === 'message') this.#add(event.message)
      },
      clock: this.#clock,
      served: this.#served,
      terminals: () => null,
      // The files have changed since.
      readFile: () => undefined,
      onTerminals: () => undefined,
      // Output beyond a turn's limit is dropped.
      onFlood: () => undefined,
    })
    return this.#transcript
  }

  #endTurn(): void {
    this.#transcript?.end('The result of this call is unknown.')
    this.#transcript = null
  }

  #add(message: RunMessage): void {
    const turn = this.#turns.at(-1)
    turn?.messages.push(message)
    if (turn) turn.chars += JSON.stringify(message).length
  }

  #trim(): void {
    const total = (of: (turn: ReplayedTurn) => number): number =>
      this.#turns.reduce((sum, turn) => sum + of(turn), 0)
    while (
      this.#turns.length > 1 &&
      (total(({ chars }) => chars) > MAX_CHARS ||
        total(({ messages }) => messages.length) > this.#maxMessages)
    )
      this.#omitted += this.#turns.shift()?.messages.length ?? 0
  }
}

/** Reads only the last user message of a replayed history. */
export class LastMessageReader implements ReplayReader {
  lastMessage = ''
  #currentId = ''
  #isNext = true

  user(block: Block, messageId: string): void {
    if (this.#isNext || messageId !== this.#currentId) this.lastMessage = ''
    this.#isNext = false
    this.#currentId = messageId
    this.lastMessage = (this.lastMessage + blockText(block)).slice(0, MAX_USER_CHARS)
  }

  transcript(): undefined {
    this.#isNext = true
  }
}
