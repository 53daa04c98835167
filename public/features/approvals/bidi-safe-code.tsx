/** A command in the order in which it runs: words of a script that is written from the right do not move what stands between them. */
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
