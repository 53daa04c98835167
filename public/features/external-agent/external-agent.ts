/** What an external agent offers in the open session: modes, options, and slash commands. */
import { signal } from '@preact/signals'
import type { ExternalAgent } from '../../../lib/schema/external.ts'
import type { Platform } from '../../platform.ts'
import type { SkillCommand } from '../composer/skill-commands.ts'

export type ExternalChoice = {
  /** `mode`, or `option:<id>`. */
  group: string
  label: string
  value: string
  name: string
  description: string
  current: boolean
}

export const choicesOf = (
  { mode, options }: ExternalAgent,
  modeLabel: string,
): ExternalChoice[] => [
  ...(mode?.choices ?? []).map(({ value, name, description }) => ({
    group: 'mode',
    label: modeLabel,
    value,
    name,
    description,
    current: value === mode?.current,
  })),
  ...options.flatMap(({ id, name: label, current, choices }) =>
    choices.map(({ value, name, description }) => ({
      group: `option:${id}`,
      label,
      value,
      name,
      description,
      current: value === current,
    })),
  ),
]

export const createExternalAgent = (
  { api }: Pick<Platform, 'api'>,
  offer: (commands: SkillCommand[]) => void,
) => {
  const current = signal<ExternalAgent | null>(null)
  const busy = signal(false)
  /** The session shown; replies for another one are dropped. */
  let wanted = ''

  const applyReply = (id: string, found: ExternalAgent): void => {
    if (id !== wanted) return
    current.value = found
    offer(
      found.commands.map(({ name, description, hint }) => ({
        name,
        summary: description,
        argument: hint,
      })),
    )
  }

  const whileBusy = async (id: string, work: Promise<ExternalAgent>): Promise<void> => {
    busy.value = true
    try {
      applyReply(id, await work)
    } finally {
      busy.value = false
    }
  }

  return {
    current,
    busy,
    async load(id: string): Promise<void> {
      if (id !== wanted) current.value = null
      wanted = id
      applyReply(id, await api('GET /api/session/agent', { session_id: id }))
    },
    open: (id: string) => whileBusy(id, api('POST /api/session/agent/open', { session_id: id })),
    choose: (id: string, { group, value }: Pick<ExternalChoice, 'group' | 'value'>) =>
      whileBusy(
        id,
        group === 'mode'
          ? api('POST /api/session/agent/mode', { session_id: id, mode: value })
          : api('POST /api/session/agent/option', {
              session_id: id,
              option: group.slice('option:'.length),
              value,
            }),
      ),
    reset(): void {
      wanted = ''
      current.value = null
      offer([])
    },
  }
}
