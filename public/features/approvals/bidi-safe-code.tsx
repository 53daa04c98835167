/** Code in logical order: right-to-left words are isolated, so that they don't reorder the text between them. */
const FROM_RIGHT =
  /([\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]+)/u

export const hasRtlText = (text: string): boolean => FROM_RIGHT.test(text)

export function BidiSafeCode({ text }: { text: string }) {
  return (
    <code dir="ltr">
      {text.split(FROM_RIGHT).map((part, at) => (at % 2 === 1 ? <bdi key={at}>{part}</bdi> : part))}
    </code>
  )
}
