/** Wrapper programs (env, sudo, xargs, find -exec, …): which arguments are theirs and which are the inner command. */
import { DATA } from './syntax.ts'
import type { SimpleCommand } from './types.ts'

type Wrapper = {
  /** Short options that take a value. */
  values?: string
  /** Long options that take the next word as their value. */
  long?: string
  /** Own arguments before the program. */
  skip?: number
  /** Own subcommands; without one of them it runs nothing. */
  verbs?: string
}

const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  sudo: {
    values: 'ughpCrtTUDR',
    long: 'user group host prompt chdir chroot role type close-from command-timeout other-user',
  },
  doas: { values: 'uC' },
  pkexec: { long: 'user' },
  run0: { long: 'user' },
  env: { values: 'uCPa', long: 'unset chdir argv0' },
  nice: { values: 'n', long: 'adjustment' },
  ionice: { values: 'cnpPu', long: 'class classdata pid' },
  chrt: { values: 'pTPD', skip: 1 },
  timeout: { values: 'sk', long: 'signal kill-after', skip: 1 },
  gtimeout: { values: 'sk', long: 'signal kill-after', skip: 1 },
  stdbuf: { values: 'ioe', long: 'input output error' },
  unbuffer: {},
  time: { values: 'fo', long: 'format output' },
  gtime: { values: 'fo', long: 'format output' },
  command: {},
  builtin: {},
  exec: { values: 'a' },
  nohup: {},
  setsid: {},
  '!': {},
  busybox: {},
  toybox: {},
  chroot: { long: 'userspec groups', skip: 1 },
  taskset: { skip: 1 },
  numactl: { values: 'NmiCp' },
  strace: { values: 'eopsSuEbaIOXP', long: 'output trace' },
  ltrace: { values: 'eopsSuna' },
  valgrind: {},
  perf: { verbs: 'stat record' },
  catchsegv: {},
  unshare: { values: 'SGR', long: 'setuid setgid root wd' },
  nsenter: { values: 'tSG', long: 'target setuid setgid' },
  setpriv: { long: 'reuid regid groups' },
  fakeroot: {},
  proot: { values: 'rbw' },
  firejail: {},
  bwrap: {},
  systemdrun: {},
  'systemd-run': { values: 'pMuE', long: 'unit property uid gid slice setenv' },
  'systemd-inhibit': { long: 'what who why mode' },
  'dbus-run-session': {},
  'xvfb-run': { values: 'nefsp', long: 'server-args server-num' },
  tini: {},
  'dumb-init': {},
  caffeinate: { values: 'tw' },
  prlimit: {},
  torify: {},
  proxychains: { values: 'f' },
  proxychains4: { values: 'f' },
  sshpass: { values: 'pfd' },
  rlwrap: {},
  runuser: { values: 'ugG' },
  setarch: {},
  linux32: {},
  linux64: {},
  eatmydata: {},
  'cross-env': {},
  'env-cmd': { values: 'f' },
  dotenv: { values: 'efcv' },
  direnv: { verbs: 'exec', skip: 1 },
  poetry: { values: 'CP', verbs: 'run' },
  pipenv: { verbs: 'run' },
  pdm: { verbs: 'run' },
  rye: { verbs: 'run' },
  hatch: { values: 'e', verbs: 'run' },
  mise: { verbs: 'exec x' },
  asdf: { verbs: 'exec' },
  rbenv: { verbs: 'exec' },
  pyenv: { verbs: 'exec' },
  bundle: { verbs: 'exec' },
  composer: { values: 'd', long: 'working-dir', verbs: 'exec' },
  conda: { values: 'np', long: 'name prefix', verbs: 'run' },
  mamba: { values: 'np', long: 'name prefix', verbs: 'run' },
  micromamba: { values: 'np', long: 'name prefix', verbs: 'run' },
  rustup: { verbs: 'run', skip: 1 },
  uv: {
    values: 'p',
    long: 'python with extra group package project directory env-file with-requirements index',
    verbs: 'run',
  },
}

const ASSIGNMENT = /^([A-Za-z_]\w*)\+?=([\s\S]*)$/

const isWrapping = ({ name, args }: SimpleCommand, { verbs }: Wrapper): boolean => {
  if (name === 'command') return !/^-\w*[vV]/.test(args[0] ?? '')
  return verbs === undefined || args.some(arg => verbs.split(' ').includes(arg))
}

/** The words after a wrapper's own options; variables it sets are `assigns`. */
const behindOptions = (
  words: readonly string[],
  { values = '', long = '', skip = 0, verbs }: Wrapper,
): { words: string[]; assigns: [string, string][] } => {
  const assigns: [string, string][] = []
  const longs = long.split(' ')
  const own = verbs?.split(' ') ?? []
  let left = skip
  let at = 0
  for (; at < words.length; at++) {
    const word = words[at] ?? ''
    const set = ASSIGNMENT.exec(word)
    if (word === '--') {
      at++
      break
    }
    if (set && left === 0) assigns.push([set[1] ?? '', set[2] ?? ''])
    else if (own.includes(word)) continue
    else if (word.startsWith('--')) {
      if (longs.includes(word.slice(2))) at++
    } else if (/^-./.test(word)) {
      if (values.includes(word.at(-1) ?? '') && values !== '') at++
    } else if (left > 0) left--
    else break
  }
  return { words: [...words.slice(at)], assigns }
}

/** `env -S`: the value is a command line. */
const splitStrings = (words: readonly string[]): string[] =>
  words.flatMap((word, at) => {
    const joined = /^(?:-[iv0]*S=?|--split-string=)([\s\S]+)$/.exec(word)
    if (joined) return [[joined[1], ...words.slice(at + 1)].join(' ')]
    return /^(?:-[iv0]*S|--split-string)$/.test(word) ? [words.slice(at + 1).join(' ')] : []
  })

/** Whether its commands contain lines that are unknown before run time and may be any text: it reads a file or a listing. */
export const takesUnknownLines = ({ name, input, from }: SimpleCommand): boolean =>
  /^(?:g?xargs|parallel)$/.test(name) &&
  typeof input !== 'string' &&
  !(from.length > 0 && from.every(each => each.name === 'seq'))

/** Words that a program reads from stdin and appends to its command (xargs). */
const fedWords = ({ input }: SimpleCommand): string[] =>
  typeof input === 'string'
    ? input
        .split(/\s+/)
        .filter(word => word !== '')
        .slice(0, 100)
    : [DATA]

const xargsWords = (simple: SimpleCommand): string[][] => {
  const { args } = simple
  const { words } = behindOptions(args, {
    values: 'ILnPsadE',
    long: 'max-args max-procs delimiter arg-file max-lines max-chars process-slot-var eof replace',
  })
  if (words.length === 0) return []
  const at = args.findIndex(arg => /^(?:-\w*[Ii]|--replace)/.test(arg))
  if (at < 0 || args.length - words.length <= at) return [[...words, ...fedWords(simple)]]
  const flag = args[at] ?? ''
  const mark = /^-\w*I$/.test(flag)
    ? (args[at + 1] ?? '{}')
    : (/^(?:-\w*[Ii]|--replace=?)(.+)$/.exec(flag)?.[1] ?? '{}')
  return fedWords(simple)
    .slice(0, 20)
    .map(value => words.map(word => word.replaceAll(mark, value)))
}

/** The command that `find` runs for each file. */
const executedBy = (args: readonly string[]): string[][] =>
  args.flatMap((arg, at) => {
    if (!/^-(?:exec|ok)(?:dir)?$/.test(arg)) return []
    const rest = args.slice(at + 1)
    const end = rest.findIndex(word => word === ';' || word === '+')
    const words = end < 0 ? rest : rest.slice(0, end)
    const roots = args.slice(
      0,
      args.findIndex(word => /^[-(!]/.test(word)),
    )
    return [words.map(word => word.replaceAll('{}', `${roots[0] ?? '.'}/${DATA}`))]
  })

const optionText = (args: readonly string[], option: RegExp): string[] =>
  args.flatMap((arg, at) => {
    const joined = /^(--[\w-]+)=([\s\S]*)$/.exec(arg)
    if (joined && option.test(joined[1] ?? '')) return [joined[2] ?? '']
    return option.test(arg) ? args.slice(at + 1, at + 2) : []
  })

export type Inner = { words: string[]; assigns?: [string, string][] } | { text: string }

const parallelInner = (simple: SimpleCommand): Inner[] => {
  const { words } = behindOptions(simple.args, {
    values: 'jnNaLIsSCd',
    long: 'jobs joblog colsep delay timeout retries results arg-file max-args',
  })
  const at = words.findIndex(word => /^:::/.test(word))
  const command = at < 0 ? words : words.slice(0, at)
  const values = at < 0 ? fedWords(simple) : words.slice(at + 1).filter(word => !/^:::/.test(word))
  if (command.length === 0) return values.map(text => ({ text }))
  return values.slice(0, 30).map(value => {
    const line = command.join(' ')
    return { text: /\{[^}]*\}/.test(line) ? line.replace(/\{[^}]*\}/g, value) : `${line} ${value}` }
  })
}

const REMOTE_VALUES = 'bcDEeFIiJLlmOopQRSWw'

/** The commands a program runs; empty if it runs none. */
export const innerCommands = (simple: SimpleCommand): Inner[] => {
  const { name, args } = simple
  switch (name) {
    case 'find':
    case 'gfind':
    case 'fd':
    case 'fdfind':
      return name.startsWith('fd')
        ? optionWords(args, /^(?:-[xX]|--exec(?:-batch)?)$/)
        : executedBy(args).map(words => ({ words }))
    case 'xargs':
    case 'gxargs':
      return xargsWords(simple).map(words => ({ words }))
    case 'parallel':
      return parallelInner(simple)
    case 'watch': {
      const { words } = behindOptions(args, { values: 'nqd', long: 'interval equexit' })
      return words.length > 0 ? [{ text: words.join(' ') }] : []
    }
    case 'entr': {
      const { words } = behindOptions(args, {})
      return words.length > 0 ? [{ words }] : []
    }
    case 'su':
    case 'script':
    case 'runuser': {
      const texts = optionText(args, /^(?:-\w*c|--command)$/).map(text => ({ text }))
      if (texts.length > 0 || name === 'su') return texts
      if (name === 'runuser') break
      const { words } = behindOptions(args, { values: 'tTEIOBmo', skip: 1 })
      return words.length > 0 ? [{ words }] : []
    }
    case 'flock': {
      const texts = optionText(args, /^(?:-\w*c|--command)$/).map(text => ({ text }))
      if (texts.length > 0) return texts
      const { words } = behindOptions(args, {
        values: 'wE',
        long: 'timeout wait conflict-exit-code',
        skip: 1,
      })
      return words.length > 0 ? [{ words }] : []
    }
    case 'ssh':
    case 'autossh':
    case 'mosh': {
      const { words } = behindOptions(args, { values: REMOTE_VALUES, skip: 1 })
      return words.length > 0 ? [{ text: words.join(' ') }] : []
    }
    case 'docker':
    case 'podman':
    case 'nerdctl':
      return containerWords(args)
    case 'docker-compose':
      return containerWords(['compose', ...args])
    case 'kubectl':
    case 'oc': {
      const at = args.indexOf('--')
      return args.includes('exec') && at >= 0 ? [{ words: args.slice(at + 1) }] : []
    }
    case 'nix-shell':
    case 'nix':
      return optionText(args, /^(?:--run|--command|-c)$/).map(text => ({ text }))
    case 'gdb': {
      const at = args.indexOf('--args')
      return at >= 0 ? [{ words: args.slice(at + 1) }] : []
    }
  }
  if (/^ld(?:-linux|-musl|\.so)/.test(name)) return [{ words: behindOptions(args, {}).words }]
  const wrapper = WRAPPERS[name]
  if (!wrapper || !isWrapping(simple, wrapper)) return []
  const split = name === 'env' ? splitStrings(args) : []
  if (split.length > 0) return split.map(text => ({ text }))
  const { words, assigns } = behindOptions(args, wrapper)
  return words.length > 0 ? [{ words, assigns }] : []
}

/** Everything after the option is the command. */
const optionWords = (args: readonly string[], option: RegExp): Inner[] =>
  args.flatMap((arg, at) =>
    option.test(arg)
      ? [{ words: args.slice(at + 1).map(word => word.replace(/\{[^}]*\}/g, DATA)) }]
      : [],
  )

const CONTAINER_VALUES = 'eupwvhlcmaf'
const CONTAINER_LONG =
  'env user publish workdir volume name network mount entrypoint env-file label cpus memory platform add-host hostname restart gpus device shm-size ulimit tmpfs expose link dns cap-add security-opt pull log-driver file profile index'

const containerWords = (args: readonly string[]): Inner[] => {
  const at = args.findIndex(arg => arg === 'run' || arg === 'exec')
  if (at < 0 || args.slice(0, at).some(arg => /^(?:build|ps|images|logs)$/.test(arg))) return []
  const entry = optionText(args, /^--entrypoint$/)
  const { words } = behindOptions(args.slice(at + 1), {
    values: CONTAINER_VALUES,
    long: CONTAINER_LONG,
    skip: 1,
  })
  const inner = [...entry, ...words]
  return inner.length > 0 ? [{ words: inner }] : []
}
