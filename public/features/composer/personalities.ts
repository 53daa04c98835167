/** Personalities defined in the agent's configuration, and the one set for a session. */
import { signal } from '@preact/signals'
import type { Platform } from '../../platform.ts'

export type Personality = { name: string; description: string }

export class Personalities {
  readonly #platform: Platform
  readonly list = signal<readonly Personality[]>([])

  constructor(platform: Platform) {
    this.#platform = platform
  }

  async load(): Promise<void> {
    this.list.value = (await this.#platform.api('GET /api/personalities')).personalities
  }

  /** An empty name clears it. Returns the personality in effect. */
  async set(sessionId: string, name: string): Promise<string | null> {
    return (await this.#platform.api('POST /api/personality/set', { session_id: sessionId, name }))
      .personality
  }
}
