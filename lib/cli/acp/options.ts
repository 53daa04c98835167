/** What a client can set for a session: the approval mode, the model, and the reasoning effort. */
import type { SessionConfigOption, SessionModeState } from '@agentclientprotocol/sdk'
import { EFFORTS, type Effort } from '../../base/efforts.ts'
import type { ModelList } from '../../schema/model.ts'

export const MODES = [
  {
    id: 'default',
    name: 'Ask',
    description: 'Asks before commands that may do harm.',
  },
  {
    id: 'plan',
    name: 'Plan',
    description: 'Reads only, and presents a plan to approve before anything changes.',
  },
  {
    id: 'auto',
    name: 'Auto-approve',
    description: 'Runs commands without asking. Blocked commands stay blocked.',
  },
] as const

export type ModeId = (typeof MODES)[number]['id']

export const isMode = (id: unknown): id is ModeId => MODES.some(mode => mode.id === id)

export const modeState = (current: ModeId): SessionModeState => ({
  currentModeId: current,
  availableModes: MODES.map(mode => ({ ...mode })),
})

/** The profile's own effort. */
export const DEFAULT_EFFORT = 'default'

type OptionState = {
  mode: ModeId
  /** The id of the model in use. */
  model: string
  /** Null: that of the profile. */
  effort: Effort | null
  models: ModelList
}

export const configOptions = ({
  mode,
  model,
  effort,
  models,
}: OptionState): SessionConfigOption[] => {
  const groups = models.groups
    .filter(group => group.models.length > 0)
    .map(({ provider, provider_id: group, models: list }) => ({
      group,
      name: provider,
      options: list.map(({ id, label }) => ({ value: id, name: label })),
    }))
  const isListed = groups.some(({ options }) => options.some(({ value }) => value === model))
  const current = [
    { group: 'current', name: 'Configured', options: [{ value: model, name: model }] },
  ]
  return [
    {
      type: 'select',
      id: 'mode',
      name: 'Mode',
      category: 'mode',
      currentValue: mode,
      options: MODES.map(({ id, name, description }) => ({ value: id, name, description })),
    },
    {
      type: 'select',
      id: 'model',
      name: 'Model',
      category: 'model',
      currentValue: model,
      options: isListed ? groups : [...current, ...groups],
    },
    {
      type: 'select',
      id: 'effort',
      name: 'Reasoning effort',
      category: 'thought_level',
      currentValue: effort ?? DEFAULT_EFFORT,
      options: [
        { value: DEFAULT_EFFORT, name: 'Default' },
        ...EFFORTS.map(value => ({ value, name: value })),
      ],
    },
  ]
}
