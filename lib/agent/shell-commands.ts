/** Finds what would really run: wrappers, inner shells, variables, braces and changes of directory followed. */
import { resolve } from 'node:path/posix'
import { parseShell, type ShellCommand } from './shell-words.ts'

/** One program with its arguments, as the shell would start it. */
export type Simple = {
  /** Base name, lower case. */
  name: string
  args: string[]
  redirects: ShellCommand['redirects']
  /** Those before it in its pipeline. */
  from: Simple[]
  cwd: string
}

export type Place = { home: string; cwd: string }

/** Stands for a program that a variable or a substitution names. */
export const UNKNOWN = '$'

const SHELLS = /^(?:ba|z|k|da|a|fi|c|tc|mk)?sh$/
const RESERVED = new Set('if then else elif do while until ! { } coproc'.split(' '))
const ASSIGNMENT = /^([A-Za-z_]\w*)\+?=([\s\S]*)$/
const MAX_DEPTH = 5
const MAX_WORDS = 200
const MAX_PIPELINE = 30
/** Steps of expansion for one text. Whoever needs more hides something. */
const MAX_STEPS = 50_000

/** Programs that run another: short options that take a value, and how many words stand before the program. */
const WRAPPERS: Record<string, { values?: string; skip?: number }> = {
  sudo: { values: 'ughpCrtTUDR' },
  doas: { values: 'uC' },
  env: { values: 'uC' },
  nice: { values: 'n' },
  ionice: { values: 'cnpPu' },
  timeout: { values: 'sk', skip: 1 },
  stdbuf: { values: 'ioe' },
  time: { values: 'fo' },
  command: {},
  builtin: {},
  exec: { values: 'a' },
  nohup: {},
  setsid: {},
  busybox: {},
  toybox: {},
  watch: { values: 'nd' },
  chroot: { skip: 1 },
  flock: { values: 'wE', skip: 1 },
  taskset: { skip: 1 },
  xargs: { values: 'ILnPsadE' },
  strace: { values: 'eopsSuEbaIOX' },
  unshare: {},
  runuser: { values: 'ugG' },
}

export const isShell = (name: string): boolean => SHELLS.test(name)
const baseName = (word: string) => (word.split('/').at(-1) ?? '').toLowerCase()

/** What flows through a text as it is read. */
type State = { vars: Map<string, string[]>; left: number }

/** Everything that would run; null when the text is too tangled to be followed. */
export const commandsIn = (text: string, place: Place): Simple[] | null => {
  const state: State = { vars: new Map([['HOME', [place.home]]]), left: MAX_STEPS }
  const found = readAll(text, place, state)
  return state.left > 0 ? found : null
}

const readAll = (text: string, place: Place, state: State): Simple[] => {
  // $IFS is the favourite way to write a space that is none.
  const joined = text.replace(/\\\r?\n/g, '').replace(/\$(?:IFS\b|\{IFS[^}]*\})/g, ' ')
  const whole = walk(parseShell(joined), place, 0, state)
  // An apostrophe in a here-document looks like an open quote and hides what follows: so every line counts by itself, too.
  const lines = joined.includes('\n') ? joined.split('\n') : []
  return [...whole, ...lines.flatMap(line => walk(parseShell(line), place, 0, state))]
}

const walk = (
  commands: ShellCommand[],
  { home, cwd: start }: Place,
  depth: number,
  state: State,
): Simple[] => {
  const found: Simple[] = []
  const { vars } = state
  let cwd = start
  let line: Simple[] = []

  for (const command of commands) {
    if (!command.piped) line = []
    vars.set('PWD', [cwd])
    const words = command.words
      .flatMap(word => expandBraces(word))
      .flatMap(word => expandVars(word, state))
      .slice(0, MAX_WORDS)
    const plain = strip(words, vars)
    const redirects = command.redirects.flatMap(({ op, target }) =>
      expandVars(target, state).map(where => ({ op, target: where })),
    )
    for (const each of unwrap(plain, line)) {
      const [first = '', ...args] = each
      // A name that is only known at run time is no name.
      const name = /[$`]/.test(first) ? UNKNOWN : baseName(first)
      const simple = { name, args, redirects, from: line, cwd }
      found.push(simple)
      line = [...line, simple].slice(-MAX_PIPELINE)
      for (const inner of innerText(simple))
        if (depth < MAX_DEPTH)
          found.push(...walk(parseShell(inner), { home, cwd }, depth + 1, state))
      if (simple.name === 'cd' || simple.name === 'pushd') cwd = goTo(args, home, cwd)
    }
  }
  return found
}

const goTo = (args: string[], home: string, cwd: string): string => {
  const target = args.find(arg => !arg.startsWith('-')) ?? home
  return resolve(cwd, target.replace(/^~(?=\/|$)/, home))
}

/** Reserved words and assignments in front; assignments are remembered. */
const strip = (words: string[], vars: Map<string, string[]>): string[] => {
  const [first = '', second = '', third = ''] = words
  if (first === 'for' && third === 'in') {
    vars.set(second, words.slice(3))
    return []
  }
  if (first === 'function') return strip(words.slice(2), vars)
  if (RESERVED.has(first)) return strip(words.slice(1), vars)
  if (['export', 'declare', 'local', 'readonly', 'typeset'].includes(first)) {
    strip(
      words.slice(1).filter(word => ASSIGNMENT.test(word)),
      vars,
    )
    return words
  }
  const assignment = ASSIGNMENT.exec(first)
  if (!assignment) return words
  // Without quotes the shell splits the value; with them this only makes us see more.
  vars.set(assignment[1] ?? '', (assignment[2] ?? '').split(/\s+/))
  return strip(words.slice(1), vars)
}

/** The command itself and, behind wrappers, the one it runs. */
const unwrap = (words: string[], line: Simple[]): string[][] => {
  const [first, ...rest] = words
  if (first === undefined) return []
  const name = baseName(first)
  if (name === 'find') return [words, ...executedBy(rest).flatMap(inner => unwrap(inner, line))]
  const wrapper = WRAPPERS[name]
  if (!wrapper || (name === 'command' && /^-[vV]/.test(rest[0] ?? ''))) return [words]
  const fed = name === 'xargs' ? line.filter(isPrinter).flatMap(simple => simple.args) : []
  const inner = afterOptions(rest, wrapper.values ?? '', wrapper.skip ?? 0)
  return [words, ...inner.flatMap(each => unwrap([...each, ...fed], line))]
}

/** Two readings where a long option may have taken the next word as its value. */
const afterOptions = (words: string[], values: string, skip: number): string[][] => {
  let at = 0
  let unsure = false
  for (; at < words.length; at++) {
    const word = words[at] ?? ''
    if (word === '--') {
      at++
      break
    }
    if (ASSIGNMENT.test(word)) continue
    if (!word.startsWith('-') || word === '-') break
    // A value may be written together with its option, or be the next word.
    if (/^-\w+$/.test(word) && values.includes(word.at(-1) ?? '')) at++
    unsure ||= /^--[^=]+$/.test(word)
  }
  return unsure ? [words.slice(at + skip), words.slice(at + skip + 1)] : [words.slice(at + skip)]
}

/** What `find` runs for each file. */
const executedBy = (args: string[]): string[][] =>
  args.flatMap((arg, at) => {
    if (!/^-(?:exec|ok)(?:dir)?$/.test(arg)) return []
    const rest = args.slice(at + 1)
    const end = rest.findIndex(word => word === ';' || word === '+')
    return [end < 0 ? rest : rest.slice(0, end)]
  })

const isPrinter = ({ name }: Simple) => name === 'echo' || name === 'printf'

/** Text that this command would run as shell commands. */
const innerText = ({ name, args, redirects, from }: Simple): string[] => {
  if (name === 'eval') return [args.join(' ')]
  if (name === 'trap') return args.slice(0, 1)
  if (name === 'env') return wordAfter(args, /^(?:-\w*S|--split-string)$/)
  if (name === 'su' || name === 'script' || name === 'runuser' || name === 'flock')
    return wordAfter(args, /^(?:-\w*c|--command)$/)
  if (!isShell(name)) return []
  return [
    ...wordAfter(args, /^-\w*c$/),
    ...redirects.flatMap(({ op, target }) => (op === '<<<' ? [target] : [])),
    ...from.flatMap(simple => (isPrinter(simple) ? [simple.args.join(' ')] : [])),
  ]
}

const wordAfter = (args: string[], option: RegExp): string[] => {
  const at = args.findIndex(arg => option.test(arg))
  return at < 0 ? [] : args.slice(at + 1, at + 2)
}

/** `{a,b}` in a word, once per pair of braces. */
const expandBraces = (word: string, depth = 0): string[] => {
  const braces = depth < 4 && word.length < 1_000 ? /(?<!\$)\{([^{}]*,[^{}]*)\}/.exec(word) : null
  if (!braces) return [word]
  return (braces[1] ?? '')
    .split(',')
    .slice(0, 32)
    .map(
      part => `${word.slice(0, braces.index)}${part}${word.slice(braces.index + braces[0].length)}`,
    )
    .flatMap(each => expandBraces(each, depth + 1))
    .slice(0, MAX_WORDS)
}

/** Known variables; others stay as they are written. A list variable gives several words. */
const expandVars = (word: string, state: State, depth = 0): string[] => {
  if (depth >= 4 || !word.includes('$') || --state.left <= 0) return [word]
  for (const match of word.matchAll(/\$(?:(\w+)|\{(\w+)[^}]*\})/g)) {
    const values = state.vars.get(match[1] ?? match[2] ?? '')
    if (!values) continue
    const before = word.slice(0, match.index)
    const after = word.slice(match.index + match[0].length)
    return values
      .slice(0, MAX_WORDS)
      .flatMap(value => expandVars(`${before}${value}${after}`, state, depth + 1))
      .slice(0, MAX_WORDS)
  }
  return [word]
}
