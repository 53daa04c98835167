/** Message queue. The server stores messages written during a turn and sends them after it succeeds. */
import { signal } from '@preact/signals'
import { ApiError } from '../../api.ts'
import type { Platform } from '../../platform.ts'

/** Ids of the message and of the stored draft that it was. */
type Sent = { client_message_id: string; draft?: string } | undefined

export class Queue {
  readonly #platform: Platform
  /** Stream id of the side question whose card is open on this page. */
  readonly aside = signal('')

  constructor(platform: Platform) {
    this.#platform = platform
  }

  add(session_id: string, message: string, files: readonly string[], sent?: Sent) {
    return this.#platform.api('POST /api/queue/add', {
      session_id,
      message,
      attachments: [...files],
      ...sent,
    })
  }

  /** Steers the running turn; queues the message if the turn has just ended. */
  async steer(
    session_id: string,
    message: string,
    files: readonly string[],
    names?: { id: string; draft?: string },
  ): Promise<void> {
    const sent: Sent = names && {
      client_message_id: names.id,
      ...(names.draft && { draft: names.draft }),
    }
    try {
      await this.#platform.api('POST /api/chat/steer', {
        ...{ session_id, message, attachments: [...files] },
        ...sent,
      })
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error
      await this.add(session_id, message, files, sent)
    }
  }
}
