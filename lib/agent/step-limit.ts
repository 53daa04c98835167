/** The budget of steps in words: how the model hears that it runs out, before it has. */
import { isObject } from '../base/json.ts'

/** Shares of the steps at which the model is told, the louder one first. */
const MARKS = [
  {
    share: 0.9,
    say: (left: number) => `Only ${left} left: answer now with what you have.`,
  },
  {
    share: 0.7,
    say: (left: number) => `${left} left: finish what is begun and prepare the answer.`,
  },
]

/** Told once a mark; `told` is the share it was told at last. */
export const stepWarning = (
  steps: number,
  maxSteps: number,
  told: number,
): { share: number; text: string } | null => {
  const mark = MARKS.find(({ share }) => steps >= maxSteps * share)
  if (!mark || mark.share <= told || steps >= maxSteps) return null
  const head = `Step ${steps} of ${maxSteps} of this turn is done.`
  return { share: mark.share, text: `${head} ${mark.say(maxSteps - steps)}` }
}

/** Puts the warning into a tool result: as a field where the result is an object, else as its last line. */
export const withWarning = (content: string, warning: string): string => {
  try {
    const value: unknown = JSON.parse(content)
    if (isObject(value)) return JSON.stringify({ ...value, _budget_warning: warning })
  } catch {
    // Plain text is a result too.
  }
  return `${content}\n\n[${warning}]`
}
