/** Reasoning effort and visibility, stored in the agent's configuration and shared with the CLI. */
import { signal } from '@preact/signals'
import { type Effort, EFFORTS, isEffort } from '../../../lib/base/efforts.ts'
import type { Platform } from '../../platform.ts'

type Reasoning = { show_reasoning: boolean; reasoning_effort: string; efforts?: string[] }

export const isEffortChoice = (text: string): text is Effort | 'default' =>
  text === 'default' || isEffort(text)

export class ReasoningState {
  readonly #platform: Platform
  readonly effort = signal<Effort | ''>('')
  readonly isShown = signal(true)
  /** Of the chat's model: what it does not know is not offered. */
  readonly offered = signal<readonly Effort[]>(EFFORTS)
  #model = ''

  constructor(platform: Platform) {
    this.#platform = platform
  }

  /** Blank: the default model. */
  async loadOffered(model: string): Promise<void> {
    this.#model = model
    const reply = await this.#platform.api('GET /api/reasoning', { model }).catch(error => {
      // Not those of the model before.
      if (this.#model === model) this.offered.value = EFFORTS
      throw error
    })
    // Another model was chosen meanwhile.
    if (this.#model !== model) return
    this.#take(reply)
    this.offered.value = reply.efforts?.filter(isEffort) ?? EFFORTS
  }

  async load(): Promise<void> {
    this.#take(await this.#platform.api('GET /api/reasoning', {}))
  }

  /** `default` leaves the effort to the model. */
  async setEffort(value: Effort | 'default'): Promise<void> {
    this.#take(await this.#platform.api('POST /api/reasoning', { effort: value }))
  }

  async setShown(value: boolean): Promise<void> {
    this.#take(
      await this.#platform.api('POST /api/reasoning', { display: value ? 'show' : 'hide' }),
    )
  }

  #take(reply: Reasoning): void {
    this.effort.value = isEffort(reply.reasoning_effort) ? reply.reasoning_effort : ''
    this.isShown.value = reply.show_reasoning
  }
}
