/** Reasoning effort and visibility: `agent.reasoning_effort` and `display.show_reasoning`, shared with the command line. */
import type { ModelEndpoint } from '../agent/types.ts'
import { type Effort, EFFORTS, isEffort } from '../base/efforts.ts'
import { asObject } from '../base/json.ts'
import { invalid, UserError } from '../errors.ts'
import type { EditableHome } from './default-model.ts'
import type { ModelHome } from './provider-config.ts'

export type Reasoning = { show_reasoning: boolean; reasoning_effort: string }

const SHOWN: ReadonlyMap<string, boolean> = new Map(
  Object.entries({
    show: true,
    on: true,
    true: true,
    1: true,
    hide: false,
    off: false,
    false: false,
    0: false,
  }),
)

/** `display.show_reasoning`; undefined when not configured. */
export const showsReasoning = (home: ModelHome): boolean | undefined =>
  home.config().display.show_reasoning

export const readReasoning = (home: ModelHome): Reasoning => ({
  show_reasoning: showsReasoning(home) ?? true,
  reasoning_effort: home.config().agent.reasoning_effort,
})

/** The efforts that make a difference for a model; all while it cannot be called. */
export const effortsFor = (
  endpoint: () => ModelEndpoint,
  offered: (endpoint: ModelEndpoint) => Effort[],
): Effort[] => {
  try {
    return offered(endpoint())
  } catch (error) {
    if (error instanceof UserError) return [...EFFORTS]
    throw error
  }
}

export const saveShowReasoning = (home: EditableHome, isShown: boolean): void => {
  if (showsReasoning(home) !== isShown) home.configFile.edit(['display', 'show_reasoning'], isShown)
}

/** Parses `show`, `hide`, `on`, `off` and so on; throws a UserError otherwise. */
export const parseDisplay = (value: unknown): boolean => {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  const isShown = SHOWN.get(text.trim().toLowerCase())
  if (isShown === undefined)
    throw invalid(`display must be show|hide|on|off (got '${text.slice(0, 100)}')`)
  return isShown
}

/** A known effort, or `default`; throws a UserError otherwise. */
export const parseEffort = (value: unknown): string => {
  const effort = typeof value === 'string' ? value.trim().toLowerCase() : ''
  if (!effort) throw invalid('effort is required', { code: 'missing_fields' })
  if (effort !== 'default' && !isEffort(effort))
    throw invalid(
      `Unknown reasoning effort '${effort.slice(0, 100)}'. Valid: ${EFFORTS.join(', ')}.`,
    )
  return effort
}

/** Takes effect with the next turn. `default` removes the key and leaves the effort to the model. */
export const saveEffort = (home: EditableHome, effort: string): void => {
  if (effort !== 'default') home.configFile.edit(['agent', 'reasoning_effort'], effort)
  else if (asObject(home.configFile.read().agent).reasoning_effort !== undefined)
    home.configFile.edit(['agent', 'reasoning_effort'], undefined)
}
