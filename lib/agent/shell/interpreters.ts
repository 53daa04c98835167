/** What an interpreter would run: the script's location and language. */
import { readSed } from './sed.ts'
import { hasUnknown } from './syntax.ts'
import type { SimpleCommand } from './types.ts'

export type Runs =
  | { kind: 'shell'; text: string; args?: string[] }
  /** `isInline`: given on the command line instead of in a file. */
  | { kind: 'code'; text: string }
  | { kind: 'file'; path: string; language: 'shell' | 'code'; isSourced?: true; args?: string[] }
  /** It runs something unknown. */
  | { kind: 'unknown' }

const SHELLS = /^(?:ba|z|k|da|a|fi|c|tc|mk|r?ba|yaa|o)?sh(?:[\d.-]+)?$/
export const isShell = (name: string): boolean =>
  SHELLS.test(name) || name === 'pwsh' || name === 'powershell'

type Language = {
  /** Options whose value is code. */
  code: RegExp
  /** Options that take a value that isn't code. */
  values?: RegExp
  /** Options whose value is a file to load. */
  loads?: RegExp
  /** Subcommands before the file. */
  verbs?: RegExp
}

const LANGUAGES: readonly [RegExp, Language][] = [
  [/^(?:python|pypy|jython|micropython)[\d.]*w?$/, { code: /^-[a-zA-Z]*c$/, values: /^-[WX]$/ }],
  [/^perl[\d.]*$/, { code: /^-[a-zA-Z0]*[eE]$/, values: /^$/ }],
  [/^(?:ruby|jruby|irb)[\d.]*$/, { code: /^-[a-z]*e$/, values: /^-[ICrE]$/ }],
  [
    /^(?:node|nodejs)[\d.]*$/,
    {
      code: /^(?:-[a-z]*[ep]|--eval|--print)$/,
      values:
        /^(?:-C|--conditions|--env-file|--test-reporter\w*|--test-name-pattern|--inspect-port|--title|--max-old-space-size)$/,
      loads: /^(?:-r|--require|--import|--loader|--experimental-loader)$/,
    },
  ],
  [/^(?:php|hhvm)[\d.]*$/, { code: /^-[rBRE]$/, values: /^-[dcSt]$/, loads: /^-f$/ }],
  [/^(?:lua|luajit|texlua)[\d.]*$/, { code: /^-e$/, values: /^-l$/ }],
  [
    /^(?:Rscript|rscript|r|julia|osascript|elixir|iex|groovy|scala|clojure|clj|bb|racket|guile|sbcl|ghc|runghc|raku|nim|crystal|swift|jshell|erl|octave|gjs|jsc|d8|qjs|mongo|mongosh)$/,
    { code: /^(?:-[eEs]|--eval|--execute|-eval|-pe|--print|-p|-l)$/ },
  ],
  [/^(?:tclsh|wish|expect)[\d.]*$/, { code: /^-c$/ }],
  [
    /^(?:tsx|ts-node|esno|jiti|babel-node|coffee)$/,
    {
      code: /^(?:-[a-z]*[ep]|--eval|--print)$/,
      values: /^(?:-P|--project|--tsconfig)$/,
      loads: /^(?:-r|--require|--import)$/,
    },
  ],
  [/^deno$/, { code: /^(?:eval|repl|--eval)$/, verbs: /^run$/ }],
  [/^bun$/, { code: /^(?:-e|--eval|-p|--print)$/, verbs: /^run$/ }],
]

export const languageOf = (name: string): Language | undefined =>
  LANGUAGES.find(([names]) => names.test(name))?.[1]

/** Subcommands of runtimes that are also programs. */
const RUNTIME_VERBS =
  /^(?:install|i|ci|add|remove|test|fmt|lint|check|bench|task|build|create|upgrade|update|outdated|pm|init|link|cache|info|doc|types|compile|bundle|coverage|publish|x|why|audit|patch)$/

const shellRuns = ({ args, input }: SimpleCommand): Runs[] => {
  let at = 0
  for (; at < args.length; at++) {
    const word = args[at] ?? ''
    if (/^--(?:rcfile|init-file)$/.test(word))
      return [{ kind: 'file', path: args[at + 1] ?? '', language: 'shell' }]
    if (/^-[a-zA-Z]*c[a-zA-Z]*$/.test(word)) {
      // Options may come between `-c` and its text.
      let text = at + 1
      while (/^[-+][a-zA-Z]/.test(args[text] ?? ''))
        text += /^[-+]\w*[oO]$/.test(args[text] ?? '') ? 2 : 1
      return args[text] === undefined
        ? [{ kind: 'unknown' }]
        : [{ kind: 'shell', text: args[text] ?? '', args: args.slice(text + 2) }]
    }
    if (/^(?:-Command|-EncodedCommand|-enc)$/i.test(word)) return [{ kind: 'unknown' }]
    if (/^[-+]\w*[oO]$/.test(word)) at++
    else if (word === '--') {
      at++
      break
    } else if (word === '-' || !/^[-+]/.test(word)) break
  }
  const file = args[at]
  const readsInput = args.slice(0, at).some(word => /^-[a-zA-Z]*s/.test(word))
  if (
    file !== undefined &&
    file !== '-' &&
    file !== '/dev/stdin' &&
    file !== '/dev/fd/0' &&
    file !== '/proc/self/fd/0' &&
    !readsInput
  )
    return [{ kind: 'file', path: file, language: 'shell', args: args.slice(at + 1) }]
  if (input === undefined) return []
  return [input === null ? { kind: 'unknown' } : { kind: 'shell', text: input }]
}

/** A module that a runtime preloads: a file, or a URL that is code itself. */
const loaded = (address: string): Runs => {
  if (/^data:/i.test(address)) return { kind: 'code', text: address.replace(/^[^,]*,/, '') }
  if (/^https?:/i.test(address)) return { kind: 'unknown' }
  return { kind: 'file', path: address, language: 'code' }
}

const codeRuns = ({ args, input, name }: SimpleCommand, language: Language): Runs[] => {
  const found: Runs[] = []
  const code = (text: string | undefined): Runs =>
    text === undefined ? { kind: 'unknown' } : { kind: 'code', text }
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? ''
    const joined = /^(--\w[\w-]*)=([\s\S]*)$/.exec(word)
    if (joined && language.code.test(joined[1] ?? '')) found.push(code(joined[2]))
    else if (joined && language.loads?.test(joined[1] ?? '')) found.push(loaded(joined[2] ?? ''))
    else if (language.code.test(word)) {
      found.push(code(args[at + 1]))
      if (/^python|^pypy/.test(name)) return found
      at++
    } else if (
      /^-[eEcr]./.test(word) &&
      language.code.test(word.slice(0, 2)) &&
      !word.startsWith('--')
    )
      found.push(code(word.slice(2)))
    else if (language.loads?.test(word)) {
      found.push(loaded(args[at + 1] ?? ''))
      at++
    } else if (/^-m$/.test(word) && /^(?:python|pypy)/.test(name)) return found
    else if (/^-[a-zA-Z]*m$/.test(word) && /^(?:python|pypy)/.test(name)) return found
    else if (language.values?.test(word)) at++
    else if (language.verbs?.test(word)) continue
    else if (/^(?:deno|bun)$/.test(name) && RUNTIME_VERBS.test(word)) return found
    else if (word === '-' || word === '/dev/stdin') break
    // An archive is no text; its location decides (`outside-workspace.ts`).
    else if (/\.(?:phar|pyz|pex|jar|war)$/i.test(word)) return found
    else if (!/^[-+]./.test(word)) {
      const isFile = /[./]/.test(word) || !/^(?:deno|bun)$/.test(name)
      return isFile && found.every(({ kind }) => kind !== 'code')
        ? [...found, { kind: 'file', path: word, language: 'code', args: args.slice(at + 1) }]
        : found
    } else if (/^--?(?:version|help|V|v|h|check|syntax-check)$/.test(word)) return found
  }
  if (found.length > 0 || input === undefined) return found
  return [input === null ? { kind: 'unknown' } : { kind: 'code', text: input }]
}

const optionValues = (args: readonly string[], option: RegExp): string[] =>
  args.flatMap((arg, at) => {
    const joined = /^(--?[\w-]+)=([\s\S]*)$/.exec(arg)
    if (joined && option.test(joined[1] ?? '')) return [joined[2] ?? '']
    return option.test(arg) ? [args[at + 1] ?? ''] : []
  })

/** Scripts of sed; its `e` runs a command. */
export const sedScripts = (args: readonly string[]): string[] => {
  const given = optionValues(args, /^(?:-[a-zA-Z]*e|--expression)$/)
  const joined = args.flatMap(arg => /^-[nrEsuz]*e(.+)$/s.exec(arg)?.[1] ?? [])
  if (given.length + joined.length > 0) return [...given, ...joined]
  if (args.some(arg => /^(?:-[a-zA-Z]*f|--file(?:=.*)?)$/.test(arg))) return []
  const script = args.find(
    (arg, at) => !/^-./.test(arg) && !/^(?:-l|--line-length)$/.test(args[at - 1] ?? ''),
  )
  return script === undefined ? [] : [script]
}

/** Shell escapes of interactive clients: `\! ls`, `.shell ls`, `:!ls`. */
const shellEscapes = (text: string): string[] =>
  text.split('\n').flatMap(line => {
    const found =
      /(?:^|[;\s])(?:\\!|\.shell\s|\.system\s|system\s|:?!|:?r\s*!|:?[\d,%.$]+!|shell\s)\s*([^\n]+)/.exec(
        line,
      )
    return found ? [found[1] ?? ''] : []
  })

/** Everything a program would run that isn't an argument of its command line. */
export const runsOf = (simple: SimpleCommand): Runs[] => {
  const { name, args, input } = simple
  if (isShell(name)) return shellRuns(simple)
  const shell = (texts: readonly string[]): Runs[] =>
    texts.map(text => ({ kind: 'shell' as const, text }))
  switch (name) {
    case 'eval':
      return shell([args.join(' ')])
    case 'trap':
      return /^-/.test(args[0] ?? '-') && args[0] !== '--'
        ? []
        : shell([args[0] === '--' ? (args[1] ?? '') : (args[0] ?? '')])
    case 'source':
    case '.':
      return [
        args[0] === '/dev/stdin'
          ? { kind: 'unknown' }
          : {
              kind: 'file',
              path: args[0] ?? '',
              language: 'shell',
              isSourced: true,
              args: args.slice(1),
            },
      ]
    case 'alias':
      return shell(args.flatMap(arg => /=([\s\S]*)$/.exec(arg)?.[1] ?? []))
    case 'mapfile':
    case 'readarray':
      return shell(optionValues(args, /^-C$/))
    case 'complete':
    case 'compgen':
      return shell(optionValues(args, /^-[CF]$/))
    case 'at':
    case 'batch':
      return input === undefined
        ? []
        : [input === null ? { kind: 'unknown' } : { kind: 'shell', text: input }]
    case 'sed':
    case 'gsed':
      return sedScripts(args).flatMap(text =>
        shell(readSed(text).runs.map(run => (run === '' ? '\0' : run))),
      )
    case 'awk':
    case 'gawk':
    case 'mawk':
    case 'nawk':
      return shell(
        args.flatMap(arg =>
          [
            ...arg.matchAll(
              /(?:system\s*\(\s*|^|[{;|]\s*)"([^"]+)"\s*(?:\)|\|\s*getline)|\|\s*&?\s*"([^"]+)"/g,
            ),
          ].map(found => found[1] ?? found[2] ?? ''),
        ),
      )
    case 'vi':
    case 'vim':
    case 'nvim':
    case 'view':
    case 'ex':
    case 'ed': {
      const given = [
        ...optionValues(args, /^(?:-c|--cmd|-es)$/),
        ...args.flatMap(arg => (arg.startsWith('+') ? [arg.slice(1)] : [])),
        ...(typeof input === 'string' ? [input] : []),
      ]
      return given.flatMap((text): Runs[] => [{ kind: 'code', text }, ...shell(shellEscapes(text))])
    }
    case 'emacs':
    case 'emacsclient':
      return optionValues(
        args,
        /^(?:--eval|-e|--execute|-eval|--funcall|-f|-l|--load|--script)$/,
      ).map(text => ({ kind: 'code', text }))
    case 'gdb':
    case 'lldb':
      return optionValues(
        args,
        /^(?:-ex|-iex|-eval-command|--eval-command|-x|--command|-o|-s|--batch-command)$/,
      ).flatMap((text): Runs[] => [{ kind: 'code', text }, ...shell(shellEscapes(text))])
    case 'psql':
    case 'mysql':
    case 'mariadb':
    case 'sqlite3':
    case 'sqlite': {
      const texts = [...args, ...(typeof input === 'string' ? [input] : [])]
      return shell(texts.flatMap(shellEscapes).filter(text => text.trim() !== ''))
    }
    case 'dc':
    case 'ftp':
    case 'sftp':
    case 'lftp':
      return shell([...args, ...(typeof input === 'string' ? [input] : [])].flatMap(shellEscapes))
  }
  const language = languageOf(name)
  return language ? codeRuns(simple, language) : []
}

/** What a Python module (`-m`) runs: another program or a script. */
export const moduleRuns = ({ name, args }: SimpleCommand): Runs[] => {
  if (!/^(?:python|pypy)[\d.]*$/.test(name)) return []
  const at = args.findIndex(arg => /^-[a-zA-Z]*m$/.test(arg))
  if (at < 0) return []
  const [module = '', ...rest] = args.slice(at + 1)
  if (hasUnknown(module)) return [{ kind: 'unknown' }]
  const quoted = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`
  if (/^(?:pip|uv|poetry|tox|nox|ruff|twine|hatch|pytest)$/.test(module))
    return [{ kind: 'shell', text: [module, ...rest].map(quoted).join(' ') }]
  if (module === 'timeit') return [{ kind: 'code', text: rest.at(-1) ?? '' }]
  if (/^(?:cProfile|profile|pdb|trace|runpy|coverage|kernprof|scalene|debugpy)$/.test(module)) {
    const script = rest.find(word => /\.py$/.test(word))
    return script ? [{ kind: 'file', path: script, language: 'code' }] : []
  }
  return []
}
