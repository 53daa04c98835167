/** What a program demands of the answer of a turn: JSON of a given form, or a call of one of its functions. */

/** `schema`: JSON Schema; null: any JSON object. */
export type AnswerFormat = {
  name: string
  schema: Readonly<Record<string, unknown>> | null
  strict: boolean
}

export type AnswerForm = AnswerFormat & {
  /** What is wrong with this answer, in words for the model; null when it has the form. */
  problemOf: (text: string) => string | null
}

/** The part of a request that demands something. Subagents get none of it. */
export type Demands = {
  /** The last text of the turn must have this form. */
  answerForm?: AnswerForm
  /** The turn must end with a call of a function of the client. */
  mustCall?: boolean
}

/** Told with the task: not every model can be held to a form by its API. */
export const formInstruction = ({ schema }: AnswerFormat): string => {
  const form =
    schema === null
      ? 'a single JSON object'
      : `a single JSON value that is valid for this JSON Schema:\n${JSON.stringify(schema)}`
  return `A program reads your answer. Use tools first if you need them; then your last message must be ${form}\nWrite nothing before or after the JSON: no explanation and no code fence.`
}

export const callInstruction = (names: readonly string[]): string =>
  `A program reads your answer: it must end with a call of ${names.length === 1 ? `the tool ${names[0]}` : `one of the tools ${names.join(', ')}`}. Use other tools first if you need them.`

const CALL = 'Your answer must be a call of one of these tools. Call it now; write no text.'

const rewrite = (problem: string): string =>
  `A program reads your answer and could not use it: ${problem}\nWrite the whole answer again as JSON of the form that was asked for. Write nothing before or after the JSON.`

/** What to say when this answer, which has no calls, is not what was demanded; null when it is. */
export const demandAfter = (
  { answerForm, mustCall }: Demands,
  { text, refusal }: { text: string; refusal: string },
): { tools: 'none' | 'client'; sentence: string } | null => {
  if (refusal !== '') return null
  if (mustCall) return { tools: 'client', sentence: CALL }
  const problem = answerForm?.problemOf(text) ?? null
  return problem === null ? null : { tools: 'none', sentence: rewrite(problem) }
}
