/** Onboarding: whether a model still has to be connected, and the dialog for it. */
import { signal } from '@preact/signals'
import type { Platform } from '../../platform.ts'

export class Onboarding {
  readonly #platform: Pick<Platform, 'api'>
  /** Null until loaded, which happens only with the demo model. */
  readonly needed = signal<boolean | null>(null)
  /** The dialog that connects a model. */
  readonly open = signal(false)

  constructor(platform: Pick<Platform, 'api'>) {
    this.#platform = platform
  }

  async load(): Promise<void> {
    if (this.needed.value !== null) return
    this.needed.value = false
    try {
      const { completed } = await this.#platform.api('GET /api/onboarding/status')
      this.needed.value = !completed
    } catch {
      // Not essential: the demo model works, and Settings offers the same.
    }
  }

  async skip(): Promise<void> {
    this.needed.value = false
    this.open.value = false
    await this.#platform.api('POST /api/onboarding/complete')
  }

  close(): void {
    this.needed.value = false
    this.open.value = false
  }
}
