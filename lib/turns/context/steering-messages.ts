/** Steering messages of a running turn, as the engine takes them from the session's queue. */
import type { SteeringMessage } from '../../agent/types.ts'
import type { PromptAnswer } from '../../profiles/hooks/turn-hooks.ts'
import type { Meta, Sent } from '../../sessions/entries.ts'
import { queuedOf } from '../../sessions/queued.ts'
import { type AttachedImages, noImages, sentWith } from './images.ts'
import { withHookAnswer } from './turn-hooks.ts'
import { modelText } from './user-content.ts'

export type SteeringOptions = {
  /** The session's record, which contains the queue. */
  queue: () => Meta
  /** What hooks say about a message. */
  submitted: (text: string) => Promise<PromptAnswer>
  storeImages: (paths: readonly string[]) => Promise<AttachedImages>
  annotate: (text: string) => Omit<Sent, 'id'>
  /** Receives how each message is sent, by its key in the queue. */
  steered: Map<string, Omit<Sent, 'id'>>
}

export const createSteeringMessages =
  ({ queue, submitted, storeImages, annotate, steered }: SteeringOptions) =>
  async (): Promise<SteeringMessage[]> => {
    const waiting = () => queuedOf(queue()).filter(({ steer }) => steer)
    const prepared = new Map<string, AttachedImages & { text: string; answer: PromptAnswer }>()
    for (const { id: key, text, attachments } of waiting()) {
      const answer = await submitted(text)
      const stored = await (answer.blocked === null ? storeImages : noImages)(attachments)
      prepared.set(key, { text, ...stored, answer })
    }
    // As it is in the queue at this moment: it may have been edited or removed since.
    return waiting().flatMap(({ id: key, text, attachments }) => {
      const known = prepared.get(key)
      // An edited text is taken before the next step, after hooks have seen it.
      if (!known || known.text !== text) return []
      const how = sentWith(withHookAnswer(text, annotate(text), known.answer), known)
      steered.set(key, how)
      return [{ key, text, modelText: modelText(text, how), attachments, images: known.images }]
    })
  }
