/** Skills as the composer suggestions them after a slash. */
import { signal } from '@preact/signals'
import type { Platform } from '../../platform.ts'

export type SkillCommand = { name: string; summary: string; argument: string }

export const createSkillCommands = ({ api }: Pick<Platform, 'api'>) => {
  const list = signal<readonly SkillCommand[]>([])
  return {
    list,
    /** Commands of the external agent of the open chat. */
    more: signal<readonly SkillCommand[]>([]),
    async load(): Promise<void> {
      const { commands } = await api('GET /api/commands')
      list.value = commands
        .filter(({ category }) => category === 'Skills' || category === 'Your commands')
        .map(({ name, description, args_hint }) => ({
          name,
          summary: description,
          argument: args_hint,
        }))
    },
  }
}

export type SkillCommands = ReturnType<typeof createSkillCommands>
