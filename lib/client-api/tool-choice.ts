/** Which functions of a request are offered, and whether one must be called. */
import type { Tool } from '../agent/types.ts'
import { asObject, asObjects } from '../base/json.ts'
import type { ApiRequest } from './api-request.ts'
import { badParameter, toolName } from './parse.ts'

/** `names`: only these; absent: all. */
export type ToolChoice = { mode: 'auto' | 'none' | 'required'; names?: readonly string[] }

/** Tools that run at the provider, or in another way than functions do: this server has neither. */
export type OfferedTools = {
  functions: readonly Tool[]
  /** For the header that tells about them, such as `tools.4 (web_search)`. */
  ignored: readonly string[]
  /** Names and types that a choice may refer to without effect. */
  ignoredNames: ReadonlySet<string>
}

const unsupported = () =>
  badParameter(
    'tool_choice',
    '"tool_choice" is "auto", "none", "required", a function, or "allowed_tools".',
    'unsupported_value',
  )

/** Both APIs of OpenAI; one has names and lists a level deeper. */
export const parseToolChoice = (choice: unknown): ToolChoice => {
  if (choice === undefined || choice === null || choice === 'auto') return { mode: 'auto' }
  if (choice === 'none' || choice === 'required') return { mode: choice }
  const { type, ...fields } = asObject(choice)
  if (typeof type !== 'string') throw unsupported()
  if (type === 'allowed_tools') {
    const { mode, tools } = { ...fields, ...asObject(fields.allowed_tools) }
    if (mode !== 'auto' && mode !== 'required') throw unsupported()
    return { mode, names: asObjects(tools).map(toolName) }
  }
  return { mode: 'required', names: [toolName({ type, ...fields })] }
}

/** Throws a 400 for a choice that cannot be met. One that names only what is ignored is ignored as well. */
export const chooseTools = (
  { functions, ignored, ignoredNames }: OfferedTools,
  { mode, names }: ToolChoice,
): Pick<ApiRequest, 'functions' | 'mustCall' | 'ignored'> => {
  if (mode === 'none') return { functions: [], mustCall: false, ignored: [...ignored] }
  const functionNames = new Set(functions.map(({ name }) => name))
  const unknown = names?.find(name => !functionNames.has(name) && !ignoredNames.has(name))
  if (unknown !== undefined)
    throw badParameter('tool_choice', `There is no tool "${unknown.slice(0, 100)}" in "tools".`)
  const selection = names ? functions.filter(({ name }) => names.includes(name)) : functions
  if (selection.length > 0 || mode === 'auto')
    return { functions: selection, mustCall: mode === 'required', ignored: [...ignored] }
  if (ignored.length === 0)
    throw badParameter('tool_choice', 'A call can only be required where there are "tools".')
  return { functions, mustCall: false, ignored: [...ignored, 'tool_choice'] }
}
