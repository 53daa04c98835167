/** The prompt of a scheduled run: the preamble, and the message from skills, script output and prompt. Pure. */
import { codeBlock } from '../base/code-block.ts'
import type { ScriptResult } from './job-script.ts'

/** A response of exactly this is not delivered. */
const SILENT = '[SILENT]'

/** Added to the system prompt for this turn. */
export const PREAMBLE = `This is a scheduled run. No one is watching and no one can answer, so do not ask questions: decide, act, and report the result in your last message. That last message is stored and delivered. If there is truly nothing to report, answer with exactly ${SILENT} and nothing else; then nothing is delivered. Commands that need approval are denied; do not look for a way around that, and name what you could not do.`

export const isSilent = (response: string): boolean => response.trim() === SILENT

export type Loaded = { name: string; content: string | null }

const fence = (text: string): string => codeBlock(text.trimEnd())

/** Skills in order, then the script's output, then the prompt. */
export const composeMessage = (given: {
  prompt: string
  skills: readonly Loaded[]
  script: ({ name: string } & ScriptResult) | null
}): string => {
  const parts = given.skills.map(({ name, content }) =>
    content === null
      ? `The skill "${name}" is set for this task and could not be found. Say so in your answer.`
      : `Follow the skill "${name}":\n\n${content.trim()}`,
  )
  if (given.script) {
    const { name, output, error } = given.script
    if (output.trim()) parts.push(`Output of the script ${name}:\n\n${fence(output)}`)
    else if (!error) parts.push(`The script ${name} printed nothing.`)
    if (error) parts.push(`The script ${name} failed; report that.\n\n${fence(error)}`)
  }
  if (given.prompt.trim()) parts.push(given.prompt.trim())
  return parts.join('\n\n')
}
