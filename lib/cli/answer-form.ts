/** A question of the agent as a form of MCP or ACP: one of the offered answers, or another one. */
import { asObject, asString } from '../base/json.ts'

type FormField = { type: 'string'; title: string; enum?: string[] }

export const formFields = (choices: readonly string[]): Record<string, FormField> =>
  choices.length === 0
    ? { answer: { type: 'string', title: 'Answer' } }
    : {
        choice: { type: 'string', title: 'Answer', enum: [...choices] },
        answer: { type: 'string', title: 'Another answer' },
      }

/** Null without an answer. */
export const answerIn = (content: unknown): string | null => {
  const { answer, choice } = asObject(content)
  return asString(answer).trim() || asString(choice) || null
}
