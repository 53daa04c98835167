/** Marks in a text that is shown another way than it is. */
import type { TextSpan } from '../../schema/question.ts'

/** Spans in a text that is shown another way. Empty where its parts cannot be shown one by one, as with a secret across them. */
export const spansIn = (
  text: string,
  spans: readonly TextSpan[],
  shown: (text: string) => string,
): TextSpan[] => {
  const moved: TextSpan[] = []
  let made = ''
  let from = 0
  for (const { start, end } of spans) {
    made += shown(text.slice(from, start))
    const at = made.length
    made += shown(text.slice(start, end))
    moved.push({ start: at, end: made.length })
    from = end
  }
  return made + shown(text.slice(from)) === shown(text) ? moved : []
}
