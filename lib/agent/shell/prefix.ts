/**
 * Which commands a rule such as `git push --force *` may cover: one plain command of a program in this table, with
 * arguments that can't make it run or affect something else.
 */
import { CHANGES, GIT_LOSS } from './labels.ts'
import { normalizeCommand } from './syntax.ts'

/** Labels that don't depend on the arguments after the subcommand. */
const LABELS = new Set([CHANGES, GIT_LOSS, 'docker removal'])

type Program = {
  /** Subcommand words that must be part of the rule. */
  verb: RegExp
  /** Options that may follow without being part of the rule. */
  options: RegExp
  /** Other words would be more of what the verb names. */
  hasNoOperands?: true
}

/** Tests, builds, and checks take options of their own that stay in the project. */
const ANY_OPTION =
  /^--?(?!-?(?:prefix|C|cwd|dir|config|c|require|r|import|loader|eval|e|exec|x|rulesdir|plugin|script-shell|node-options|target-dir|manifest-path|o|write|fix)\b)[\w-]+(?:=[^/~]*)?$/
const SCRIPTS: Program = { verb: /^(?:test|lint|build|run [\w:.-]+)$/, options: ANY_OPTION }

const PROGRAMS: Readonly<Record<string, Program>> = {
  npm: SCRIPTS,
  pnpm: SCRIPTS,
  yarn: SCRIPTS,
  bun: SCRIPTS,
  cargo: { verb: /^(?:test|build|check|clippy|fmt|bench)$/, options: ANY_OPTION },
  go: { verb: /^(?:test|build|vet|fmt)$/, options: ANY_OPTION },
  npx: { verb: /^(?:tsc|eslint|prettier|vitest|jest|biome|playwright test)$/, options: ANY_OPTION },
  make: { verb: /^[\w-]+$/, options: /^-[kBsj]\d*$/, hasNoOperands: true },
  git: {
    verb: /^(?:add|commit|merge|pull|fetch|switch|rebase|push|reset|clean|branch|checkout|restore|stash|tag)$/,
    options: /^(?:--|-[uvqn]|--(?:set-upstream|verbose|quiet|dry-run|tags|follow-tags))$/,
  },
  docker: {
    verb: /^(?:rm|rmi|stop|kill|compose (?:down|stop|rm|kill)|(?:container|image|volume|network) rm)$/,
    options: /^(?:-[ft]|--(?:force|time|timeout|remove-orphans))$/,
  },
  gh: {
    verb: /^(?:(?:pr|issue) (?:create|comment|close|reopen|edit|merge|review|ready)|release view)$/,
    options:
      /^(?:-[tbBHdlarsmn]|--(?:title|body|base|head|draft|label|assignee|reviewer|squash|merge|rebase|notes|fill))(?:=.*)?$/s,
  },
}

/** Other paths, URLs, and references that delete or overwrite. */
const REACHES_FURTHER = /^[/~+:]|\.\.|:|[=@]\/|@.*\.|(?:^|\/)\.git(?:\/|$)/

const WORD = /([\w./:=@,+%-]+)|'([^'\p{C}]*)'|"([^"$`\\!\p{C}]*)"/uy

/** The words of one plain command, without shell syntax; null for any other text. */
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
    // A word that continues after its closing quote isn't plain.
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
    : !PROGRAMS[name]?.hasNoOperands && !REACHES_FURTHER.test(word)

/** All rules that cover the command, shortest first, each as words. */
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

/** The rule to suggest, the shortest; null if only the exact command can be allowed. */
export const suggestedPrefix = (command: string, labels: readonly string[]): string[] | null =>
  coveringPrefixes(command, labels)[0] ?? null
