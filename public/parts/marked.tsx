/** Text with its matched characters marked. */
import type { ComponentChildren } from 'preact'

/** `ranges`: offsets in `text`, start and end in turn. */
export const Marked = ({
  text,
  ranges = [],
}: {
  text: string
  ranges?: readonly number[] | undefined
}) => {
  const parts: ComponentChildren[] = []
  let at = 0
  for (let index = 0; index + 1 < ranges.length; index += 2) {
    const [from, to] = [ranges[index]!, ranges[index + 1]!]
    parts.push(text.slice(at, from), <mark key={index}>{text.slice(from, to)}</mark>)
    at = to
  }
  return (
    <>
      {parts}
      {text.slice(at)}
    </>
  )
}
