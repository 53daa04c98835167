/** The execute_code tool, offered when an interpreter is installed. */
import { languageOf } from '../../agent/code/languages.ts'
import { executeCode } from '../../agent/tools/execute-code.ts'
import type { Tool } from '../../agent/types.ts'
import type { ToolSource } from './turn-tools.ts'

export const codeTools: ToolSource = ({ home, config }) => {
  const language = languageOf(home.childEnv().PATH ?? '')
  if (!language) return []
  const limits = {
    timeoutMs: config.code_execution.timeout * 1_000,
    maxCalls: config.code_execution.max_tool_calls,
  }
  // The loop validates arguments against the tool's schema.
  return [executeCode(language, limits) as unknown as Tool]
}
