/** What ripgrep is given for a model's pattern. */

/** Letters with marks are found as one character or as several: macOS writes both. */
export const inEitherForm = (source: string): string =>
  source.replace(
    /\[(?:\\.|[^\]\\])*\]|\\.|(?:[\u1100-\u115f][\u1160-\u11a7][\u11a8-\u11ff]?|[^\0-\x7f]\p{M}*|\p{L}\p{M}+)/gsu,
    part => {
      const [one, several] = [part.normalize('NFC'), part.normalize('NFD')]
      return /^[[\\]/.test(part) || one === several ? part : `(?:${one}|${several})`
    },
  )

/** A regular expression that finds `text` as it is. */
export const literally = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
