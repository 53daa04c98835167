/** Reasoning effort and visibility, stored in the agent's configuration and shared with the CLI. */
import { signal } from '@preact/signals'
import { type Effort, EFFORTS, isEffort } from '../../../lib/base/efforts.ts'
import type { Platform } from '../../platform.ts'

type Reasoning = { show_reasoning: boolean; reasoning_effort: string; efforts?: string[] }

export const isEffortChoice = (text: string): text is Effort | 'default' =>
  text === 'default' || isEffort(text)

export const createReasoning = ({ api }: Pick<Platform, 'api'>) => {
  const effort = signal<Effort | ''>('')
  const shown = signal(true)
  /** Of the chat's model: what it does not know is not offered. */
  const offered = signal<readonly Effort[]>(EFFORTS)
  let asked = ''
  const take = (reply: Reasoning): void => {
    effort.value = isEffort(reply.reasoning_effort) ? reply.reasoning_effort : ''
    shown.value = reply.show_reasoning
  }
  return {
    effort,
    shown,
    offered,
    /** Blank: the default model. */
    loadOffered: async (model: string) => {
      asked = model
      const reply = await api('GET /api/reasoning', { model }).catch(error => {
        // Not those of the model before.
        if (asked === model) offered.value = EFFORTS
        throw error
      })
      // Another model was chosen meanwhile.
      if (asked !== model) return
      take(reply)
      offered.value = reply.efforts?.filter(isEffort) ?? EFFORTS
    },
    load: async () => take(await api('GET /api/reasoning', {})),
    /** `default` leaves the effort to the model. */
    setEffort: async (value: Effort | 'default') =>
      take(await api('POST /api/reasoning', { effort: value })),
    setShown: async (value: boolean) =>
      take(await api('POST /api/reasoning', { display: value ? 'show' : 'hide' })),
  }
}

export type ReasoningState = ReturnType<typeof createReasoning>
