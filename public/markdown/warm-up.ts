/** Lets the browser compile the patterns of the Markdown lexer, which takes longer than to use them, before a message needs them. */
import { lex } from '../../lib/base/markdown/lexer.ts'
import { nextTask } from '../parts/next-task.ts'

/** Kinds of blocks, and of text in them. */
const SAMPLES = [
  'a\n\n- b\n1. c\n\n> d\n\n```\ne\n```\n\n    f\n',
  '# a\n\nb\n---\n\n| c | d |\n|---|---|\n| e | f |\n\n<p>g</p>\n',
  'a **b** *c* ~~d~~ `e` [f](g) <b>h</b> http://i.example\nj\n',
]

/** A short task for each. */
export const warmUp = async (): Promise<void> => {
  for (const sample of SAMPLES) {
    lex(sample)
    await nextTask()
  }
}
