/** Skills and commands of the user and of an external agent, as the composer offers them after a slash. */
import { signal } from '@preact/signals'
import type { Platform } from '../../platform.ts'

export type SkillCommand = {
  name: string
  summary: string
  argument: string
  group: 'own' | 'agent' | 'skills'
}

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
      .map(({ name, description, args_hint, category }) => ({
        name,
        summary: description,
        argument: args_hint,
        group: category === 'Skills' ? 'skills' : 'own',
      }))
  }
}
