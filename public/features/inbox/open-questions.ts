/** Pending approvals and questions of all sessions. */
import { computed, signal } from '@preact/signals'
import type { Frame } from '../../../lib/schema/event.ts'
import type { Question } from '../../../lib/schema/question.ts'
import type { Platform } from '../../platform.ts'

const idOf = (question: Question): string =>
  question.kind === 'approval' ? question.approval_id : question.clarify_id

export class Inbox {
  readonly #platform: Platform
  readonly #onAsked: (question: Question) => () => void
  readonly open = signal<ReadonlyMap<string, Question>>(new Map())
  readonly #ends = new Map<string, () => void>()
  readonly count = computed(() => this.open.value.size)

  constructor(
    platform: Platform,
    /** Returns what ends with the question. */
    onAsked: (question: Question) => () => void,
  ) {
    this.#platform = platform
    this.#onAsked = onAsked
  }

  receive(frame: Frame): void {
    if (frame.type === 'asked') {
      const id = idOf(frame.data)
      const isKnown = this.open.value.has(id)
      this.#set(new Map(this.open.value).set(id, frame.data))
      if (!isKnown) this.#ends.set(id, this.#onAsked(frame.data))
    } else if (frame.type === 'settled') {
      const rest = new Map(this.open.value)
      rest.delete(frame.data.id)
      this.#set(rest)
    }
  }

  /** Loads the pending questions; returns the event cursor of the reply. */
  async load(): Promise<string> {
    const { questions, cursor } = await this.#platform.api('GET /api/inbox')
    this.#set(new Map(questions.map(question => [idOf(question), question])))
    return cursor
  }

  #set(questions: ReadonlyMap<string, Question>): void {
    this.open.value = questions
    for (const [id, end] of this.#ends) {
      if (questions.has(id)) continue
      this.#ends.delete(id)
      end()
    }
  }
}
