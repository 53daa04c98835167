/** Skills as the composer suggestions them after a slash. */
import { signal } from '@preact/signals'
import type { Platform } from '../../platform.ts'

export type SkillCommand = { name: string; summary: string; argument: string }

export class SkillCommands {
  readonly #platform: Platform
  readonly list = signal<readonly SkillCommand[]>([])
  /** Commands of the external agent of the open chat. */
  readonly more = signal<readonly SkillCommand[]>([])

  constructor(platform: Platform) {
    this.#platform = platform
  }

  async load(): Promise<void> {
    const { commands } = await this.#platform.api('GET /api/commands')
    this.list.value = commands
      .filter(({ category }) => category === 'Skills' || category === 'Your commands')
      .map(({ name, description, args_hint }) => ({
        name,
        summary: description,
        argument: args_hint,
      }))
  }
}
