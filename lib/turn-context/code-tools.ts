/** Offers execute_code where something can run a script. */
import { languageOf } from '../agent/code/languages.ts'
import { executeCode } from '../agent/tools/execute-code.ts'
import type { Tool } from '../agent/types.ts'
import { numberAt } from './turn-scope.ts'
import type { ToolSource } from './turn-tools.ts'

/** agent-home §8.2. */
const TIMEOUT_S = 300
const MAX_CALLS = 50

export const codeTools: ToolSource = ({ home, config }) => {
  const language = languageOf(home.childEnv().PATH ?? '')
  if (!language) return []
  const limits = {
    timeoutMs: (numberAt(config, 'code_execution', 'timeout') ?? TIMEOUT_S) * 1_000,
    maxCalls: numberAt(config, 'code_execution', 'max_tool_calls') ?? MAX_CALLS,
  }
  // The loop hands a tool only what its own schema let through.
  return [executeCode(language, limits) as unknown as Tool]
}
