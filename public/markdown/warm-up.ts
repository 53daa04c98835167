/** Lets the browser compile the patterns of the Markdown lexer, which takes longer than to use them, before a message needs them. */
import { Lexer } from 'marked'
import { lex } from '../../lib/base/markdown/lexer.ts'
import { nextTask } from '../parts/next-task.ts'

/** What a task may take on a fast computer: a slow phone takes several times as long. */
const TASK_MS = 4

/** The lexer tries its patterns one after the other, so that a plain word needs most of them. */
const SAMPLES = ['a', '- a **b**']

/** Patterns are compiled by their first use. A search, unlike a test, does not move where a pattern that the lexer shares continues. */
const compilations = function* (): Generator<() => unknown> {
  const { block, inline } = Lexer.rules
  for (const rules of [block.gfm, inline.gfm])
    for (const pattern of Object.values(rules)) yield () => SAMPLES[0]!.search(pattern)
  // What uses them.
  for (const sample of SAMPLES) yield () => lex(sample)
}

/** In short tasks. */
export const warmUp = async (): Promise<void> => {
  let startedAt = performance.now()
  for (const run of compilations()) {
    run()
    if (performance.now() - startedAt < TASK_MS) continue
    await nextTask()
    startedAt = performance.now()
  }
}
