/** Code in logical order, with marks: right-to-left words are isolated, so that they don't reorder the text between them. */
import type { TextSpan } from '../../../lib/schema/question.ts'

const FROM_RIGHT =
  /([\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]+)/u

export const hasRtlText = (text: string): boolean => FROM_RIGHT.test(text)

const Isolated = ({ text }: { text: string }) =>
  text.split(FROM_RIGHT).map((part, at) => (at % 2 === 1 ? <bdi key={at}>{part}</bdi> : part))

type Props = { text: string; marks?: readonly TextSpan[] }

/** `marks` are in order and do not overlap. */
export function BidiSafeCode({ text, marks = [] }: Props) {
  return (
    <code dir="ltr">
      {marks.map(({ start, end }, at) => (
        <>
          <Isolated text={text.slice(marks[at - 1]?.end ?? 0, start)} />
          <mark class="ask-risk">
            <Isolated text={text.slice(start, end)} />
          </mark>
        </>
      ))}
      <Isolated text={text.slice(marks.at(-1)?.end ?? 0)} />
    </code>
  )
}
