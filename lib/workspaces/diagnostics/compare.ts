/** Which diagnostics are new since before an edit, as lines for the model. */
import { shorten } from '../../base/shorten.ts'
import { asArray, asObject, asString } from '../../base/json.ts'

export type Diagnostic = {
  path: string
  kind: 'error' | 'warning'
  /** From 0. */
  line: number
  character: number
  /** What it says, with its code. */
  text: string
  /** The line it is about, trimmed. */
  source: string
}

const MAX_LINES = 20
const MAX_CHARS = 300
/** Of one file; a server may report any number. */
const MAX_FOUND = 2_000

const toPosition = (value: unknown): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0

/** Parses the diagnostics of a server: errors and warnings only. */
export const parseDiagnostics = (path: string, text: string, items: unknown): Diagnostic[] => {
  const lines = text.split('\n')
  return asArray(items)
    .slice(0, MAX_FOUND)
    .map(asObject)
    .flatMap(({ severity = 1, range, message, code, source }) => {
      if (severity !== 1 && severity !== 2) return []
      const start = asObject(asObject(range).start)
      const line = toPosition(start.line)
      const from = [asString(source), typeof code === 'object' ? '' : String(code ?? '')]
      const label = from.filter(Boolean).join(' ')
      // Version 3.18 of the protocol has messages in Markdown as well.
      const words = asString(message) || asString(asObject(message).value)
      const plain = words.replace(/[\s\p{Cc}]+/gu, ' ').trim()
      const short = shorten(plain, MAX_CHARS)
      return [
        {
          path,
          kind: severity === 1 ? 'error' : 'warning',
          line,
          character: toPosition(start.character),
          text: label ? `${short} [${label.slice(0, 60)}]` : short,
          source: (lines[line] ?? '').trim(),
        } as const,
      ]
    })
}

/**
 * Those of `after` that `before` does not have. Lines move with an edit, so positions do not count; where the same was said
 * about several lines, the one on a changed line is new.
 */
export const newDiagnostics = (
  before: readonly Diagnostic[],
  after: readonly Diagnostic[],
): Diagnostic[] => {
  const key = ({ path, kind, text }: Diagnostic) => JSON.stringify([path, kind, text])
  const counts = new Map<string, number>()
  for (const one of before) counts.set(key(one), (counts.get(key(one)) ?? 0) + 1)
  const keys = new Set(before.map(one => key(one) + one.source))
  const isKnown = (one: Diagnostic) => (keys.has(key(one) + one.source) ? 0 : 1)
  return after
    .toSorted((a, b) => isKnown(a) - isKnown(b))
    .filter(one => {
      const count = counts.get(key(one)) ?? 0
      if (count > 0) counts.set(key(one), count - 1)
      return count === 0
    })
}

/** Errors first, files of the edit first. */
export const toLines = (
  diagnostics: readonly Diagnostic[],
  display: (path: string) => string,
  edited: ReadonlySet<string>,
): string[] => {
  const rank = ({ path, kind }: Diagnostic) =>
    (edited.has(path) ? 0 : 2) + (kind === 'error' ? 0 : 1)
  const sorted = diagnostics.toSorted(
    (a, b) => rank(a) - rank(b) || a.path.localeCompare(b.path) || a.line - b.line,
  )
  const lines = sorted
    .slice(0, MAX_LINES)
    .map(
      ({ path, kind, line, character, text }) =>
        `${display(path)}:${line + 1}:${character + 1} ${kind}: ${text}`,
    )
  const more = sorted.length - lines.length
  return more > 0 ? [...lines, `and ${more} more`] : lines
}
