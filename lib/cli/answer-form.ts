/** Approvals and questions of the agent for clients of MCP and ACP: what choices are called, and a question as a form: one of the offered answers, or another one. */
import { asObject, asString } from '../base/json.ts'
import type { ApprovalChoice } from '../schema/question.ts'

export const CHOICE_NAMES: Readonly<Record<ApprovalChoice, string>> = {
  once: 'Allow once',
  session: 'Allow for this session',
  always: 'Always allow',
  deny: 'Deny',
}

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
