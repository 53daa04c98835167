/** Converts a unified diff, as `git diff` prints it, to the V4A patch format, line by line. */

const HEADER =
  /^(?:diff --git |index [0-9a-f]+\.\.|(?:new|deleted) file mode |(?:old|new) mode |similarity index |\\ No newline at end of file)/
const FENCE = /^```[\w-]*\s*$/

/** A patch in another format is returned as it is. */
export const fromUnifiedDiff = (lines: readonly string[]): string[] => {
  const isDiff = lines.some((_, at) => isHead(lines, at) || RENAME_FROM.test(lines[at] ?? ''))
  if (!isDiff || lines.some(line => /^\*\*\* (?:Begin Patch|Update File:)/.test(line)))
    return [...lines]
  const converted: string[] = []
  let isDeleted = false
  let isAdded = false
  let renamedFrom: string | null = null
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    const from = RENAME_FROM.exec(line)?.[1]
    const to = /^rename to (.+)$/.exec(line)?.[1]
    if (from !== undefined) renamedFrom = from
    else if (to !== undefined && renamedFrom !== null) {
      converted.push(`*** Update File: ${renamedFrom}`, `*** Move to: ${to}`)
      isDeleted = isAdded = false
    } else if (isHead(lines, at)) {
      const before = pathIn(line)
      const after = pathIn(lines[at + 1] ?? '')
      isDeleted = after === null
      isAdded = before === null
      if (isDeleted) converted.push(`*** Delete File: ${before}`)
      else if (isAdded) converted.push(`*** Add File: ${after}`)
      // A renamed file has its head already.
      else if (renamedFrom === null) converted.push(`*** Update File: ${after}`)
      renamedFrom = null
      at++
    } else if (HEADER.test(line)) {
      if (line.startsWith('diff --git ')) renamedFrom = null
    } else if (!FENCE.test(line) && !isDeleted && !(isAdded && line.startsWith('@@')))
      converted.push(line)
  }
  return converted
}

const RENAME_FROM = /^rename from (.+)$/

/** `--- a` and `+++ b`, and then a hunk or the next file: a removed line may begin with dashes, too. */
const isHead = (lines: readonly string[], at: number): boolean =>
  /^--- \S/.test(lines[at] ?? '') &&
  /^\+\+\+ \S/.test(lines[at + 1] ?? '') &&
  /^(?:@@|diff --git |--- |```|\s*$)/.test(lines[at + 2] ?? '')

/** Null for `/dev/null`. Without the prefix `a/` or `b/`, and without a time after a tab. */
const pathIn = (line: string): string | null => {
  const path = line.slice(4).split('\t')[0]?.trim() ?? ''
  return path === '/dev/null' ? null : path.replace(/^[ab]\//, '')
}
