/**
 * Finds the words of a command that it needs approval for, to be marked on the card. The classification has no positions:
 * it follows aliases, scripts, and substitutions. So each word is replaced by a harmless one, and the reasons that are then
 * missing were its own.
 */
import { forEachChild, type SyntaxNode } from 'unbash'
import type { TextSpan } from '../../schema/question.ts'
import { assessCommand, type ShellContext } from '../command-risk.ts'
import { createDisk } from '../shell/disk.ts'
import { parseShell } from '../shell/syntax.ts'

/** In longer commands nothing is marked: each word costs up to two assessments. */
const MAX_CHARS = 2_000
const MAX_WORDS = 60
/** CPU time in milliseconds, after which nothing is marked: an assessment reads the scripts of a command and blocks the service. */
const MAX_CPU_MS = 100

/** Does nothing, as a program, an argument, and a file name. */
const HARMLESS = 'true'

/**
 * Spans of the words that lead to these labels, in order, neighbors joined. Empty when they cannot be found before `isLate`,
 * which is asked for each word.
 */
export const riskyParts = (
  command: string,
  labels: readonly string[],
  context: ShellContext,
  isLate = cpuTimer(MAX_CPU_MS),
): TextSpan[] => {
  if (command.length > MAX_CHARS) return []
  const words = wordsIn(command)
  if (words.length > MAX_WORDS) return []
  // The same paths, once for each word.
  const disk = createDisk()
  const labelsWithout = (isLeftOut: (word: TextSpan) => boolean): Set<string> =>
    new Set(assessCommand(replaced(command, words.filter(isLeftOut)), { ...context, disk }).labels)
  const own = labelsWithout(() => false)
  const wanted = labels.filter(label => own.has(label))
  const needed = new Map(wanted.map(label => [label, new Set<TextSpan>()]))
  for (const word of words) {
    if (isLate()) return []
    const left = labelsWithout(each => each === word)
    for (const label of wanted) if (!left.has(label)) needed.get(label)!.add(word)
  }
  const risky = new Set<TextSpan>()
  for (const [label, found] of needed) {
    for (const word of found) risky.add(word)
    if (labelsWithout(each => !found.has(each)).has(label)) continue
    // Several words lead to it, each of them alone, as in `rm /etc/a /etc/b`.
    for (const word of words) {
      if (isLate()) return []
      if (!found.has(word) && labelsWithout(each => each !== word && !found.has(each)).has(label))
        risky.add(word)
    }
  }
  return joined(
    command,
    words.filter(word => risky.has(word)),
  )
}

/** Not the time of day: a busy machine changes no result. */
const cpuTimer = (milliseconds: number): (() => boolean) => {
  const startedAt = process.threadCpuUsage()
  return () => {
    const { user, system } = process.threadCpuUsage(startedAt)
    return user + system > milliseconds * 1_000
  }
}

/** The innermost words: in `echo $(rm x)` these are `echo`, `rm`, and `x`. */
const wordsIn = (command: string): TextSpan[] => {
  const found: TextSpan[] = []
  const look = (node: SyntaxNode): boolean => {
    let hasWord = false
    forEachChild(node, child => {
      if (look(child)) hasWord = true
    })
    if (node.type !== 'Word' || node.end <= node.pos) return hasWord
    if (!hasWord) found.push({ start: node.pos, end: node.end })
    return true
  }
  const tree = parseShell(command)
  if (tree) look(tree)
  return found
    .filter(({ start, end }) => start >= 0 && end <= command.length)
    .sort((a, b) => a.start - b.start)
}

const replaced = (command: string, words: readonly TextSpan[]): string => {
  let text = ''
  let from = 0
  for (const { start, end } of words) {
    text += command.slice(from, start) + HARMLESS
    from = end
  }
  return text + command.slice(from)
}

/** Words with nothing but blanks between them become one span. */
const joined = (command: string, words: readonly TextSpan[]): TextSpan[] => {
  const spans: TextSpan[] = []
  for (const { start, end } of words) {
    const last = spans.at(-1)
    if (last && /^[ \t]*$/.test(command.slice(last.end, start)))
      spans[spans.length - 1] = { start: last.start, end }
    else spans.push({ start, end })
  }
  return spans
}

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
