/** Lets the browser compile the patterns of the Markdown lexer, which takes longer than to use them, before a message needs them. */
import { lex } from '../../lib/base/markdown/lexer.ts'
import { nextTask } from '../parts/next-task.ts'

/** The lexer tries its patterns one after the other, so that a plain word needs most of them. */
const SAMPLES = ['a', '- a **b**']

/** A short task for each. */
export const warmUp = async (): Promise<void> => {
  for (const sample of SAMPLES) {
    lex(sample)
    await nextTask()
  }
}
