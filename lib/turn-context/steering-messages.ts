/** Steering messages of a running turn, as the engine takes them from the session's queue. */
import type { SteeringMessage } from '../agent/types.ts'
import type { PromptAnswer } from '../hooks/turn-hooks.ts'
import type { StoredImage } from '../schema/image.ts'
import type { Meta, Sent } from '../sessions/entries.ts'
import { queuedOf } from '../sessions/queued.ts'
import { withHookAnswer } from './turn-hooks.ts'
import { modelText } from './user-content.ts'

export type SteeringOptions = {
  /** The session's record, which contains the queue. */
  queue: () => Meta
  /** What hooks say about a message. */
  submitted: (text: string) => Promise<PromptAnswer>
  storeImages: (paths: readonly string[]) => Promise<StoredImage[]>
  annotate: (text: string) => Omit<Sent, 'id'>
  /** Receives how each message is sent, by its key in the queue. */
  steered: Map<string, Omit<Sent, 'id'>>
}

export const createSteeringMessages =
  ({ queue, submitted, storeImages, annotate, steered }: SteeringOptions) =>
  async (): Promise<SteeringMessage[]> => {
    const waiting = () => queuedOf(queue()).filter(({ steer }) => steer)
    const prepared = new Map<
      string,
      { text: string; images: StoredImage[]; answer: PromptAnswer }
    >()
    for (const { id: key, text, attachments } of waiting()) {
      const answer = await submitted(text)
      const images = answer.blocked === null ? await storeImages(attachments) : []
      prepared.set(key, { text, images, answer })
    }
    // As it is in the queue at this moment: it may have been edited or removed since.
    return waiting().flatMap(({ id: key, text, attachments }) => {
      const known = prepared.get(key)
      // An edited text is taken before the next step, after hooks have seen it.
      if (!known || known.text !== text) return []
      const how = {
        ...withHookAnswer(text, annotate(text), known.answer),
        ...(known.images.length > 0 && { images: known.images }),
      }
      steered.set(key, how)
      return [{ key, text, modelText: modelText(text, how), attachments, images: known.images }]
    })
  }
