/**
 * Which commands a rule such as `git push --force *` may stand for. Only one plain command can be covered by the words
 * it begins with, only programs of this table, and only arguments that cannot make them run or reach something else.
 */
import { normalizeCommand } from './syntax.ts'

/** Its reasons to ask stay the same whatever stands behind the verb. */
const LABELS = new Set(['destructive git command', 'docker removal', 'publish to others'])

type Program = {
  /** The verb: words that have to be part of the rule. */
  verb: RegExp
  /** Options that may follow without being part of the rule. */
  options: RegExp
}

const PROGRAMS: Readonly<Record<string, Program>> = {
  git: {
    verb: /^(?:push|reset|clean|branch|checkout|restore|stash|tag)$/,
    options: /^(?:--|-[uvqn]|--(?:set-upstream|verbose|quiet|dry-run|tags|follow-tags))$/,
  },
  docker: {
    verb: /^(?:rm|rmi|stop|kill|compose (?:down|stop|rm|kill)|(?:container|image|volume|network) rm)$/,
    options: /^(?:-[ft]|--(?:force|time|timeout|remove-orphans))$/,
  },
  gh: {
    verb: /^(?:(?:pr|issue) (?:create|comment|close|reopen|edit|merge|review|ready)|release create)$/,
    options:
      /^(?:-[tbBHdlarsmn]|--(?:title|body|base|head|draft|label|assignee|reviewer|squash|merge|rebase|notes|fill))(?:=.*)?$/s,
  },
}

/** Other places, addresses, and references that delete or overwrite. */
const REACHES_FURTHER = /^[/~+:]|\.\.|::|:\/\/|[:=@]\//

const WORD = /([\w./:=@,+%-]+)|'([^'\p{C}]*)'|"([^"$`\\!\p{C}]*)"/uy

/** The words of one command without anything the shell would read differently; null for every other text. */
export const plainWords = (command: string): string[] | null => {
  const text = command.trim()
  if (text !== normalizeCommand(text)) return null
  const words: string[] = []
  let at = 0
  while (at < text.length) {
    WORD.lastIndex = at
    const match = WORD.exec(text)
    if (!match) return null
    words.push(match[1] ?? match[2] ?? match[3] ?? '')
    at = WORD.lastIndex
    // A word that goes on behind its quote is no plain one.
    if (at < text.length && text[at] !== ' ') return null
    while (text[at] === ' ') at++
  }
  return words
}

const verbLength = ([name = '', ...words]: readonly string[]): number => {
  const program = Object.hasOwn(PROGRAMS, name) ? PROGRAMS[name] : undefined
  return [1, 2].find(count => program?.verb.test(words.slice(0, count).join(' '))) ?? 0
}

const mayFollow = (name: string, word: string): boolean =>
  word.startsWith('-')
    ? PROGRAMS[name]?.options.test(word) === true && !REACHES_FURTHER.test(word)
    : !REACHES_FURTHER.test(word)

/** All rules that cover the command, shortest first, each as its words. */
export const coveringPrefixes = (command: string, labels: readonly string[]): string[][] => {
  if (labels.length === 0 || !labels.every(label => LABELS.has(label))) return []
  const words = plainWords(command)
  const verbs = words === null ? 0 : verbLength(words)
  if (words === null || verbs === 0) return []
  const [name = ''] = words
  let from = words.length
  while (from > 1 + verbs && mayFollow(name, words[from - 1] ?? '')) from--
  return Array.from({ length: words.length - from + 1 }, (_, at) => words.slice(0, from + at))
}

/** The rule to offer, the shortest one; null where only the exact command can be allowed. */
export const suggestedPrefix = (command: string, labels: readonly string[]): string[] | null =>
  coveringPrefixes(command, labels)[0] ?? null
