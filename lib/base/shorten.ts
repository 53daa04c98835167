/** Shortens text for people and for models. Nothing here splits a surrogate pair. */

/** At most so many characters (code points); the last one of a shortened text is `…`. */
export const shorten = (text: string, chars: number): string => {
  if (text.length <= chars) return text
  const points = [...text.slice(0, 2 * chars + 2)]
  return points.length <= chars ? text : `${points.slice(0, chars - 1).join('')}…`
}

/** Says how much follows: a cut command must not look complete. */
export const shortenCounting = (text: string, chars: number): string =>
  text.length > chars
    ? `${text.slice(0, chars).toWellFormed()}… (${text.length - chars} more characters)`
    : text

/** Beginning and end, with what is left out between them. */
export const shortenMiddle = (text: string, chars: number): string =>
  text.length > chars
    ? `${text.slice(0, chars * 0.4).toWellFormed()}\n[… ${text.length - chars} characters left out …]\n${text.slice(-chars * 0.6).toWellFormed()}`
    : text

/** White space of any kind and length is one space. */
export const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()
