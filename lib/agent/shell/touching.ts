/** Effects of a command on the paths it names: workspace, system, control files, and our own address. */
import type { touchedBy } from './files.ts'
import { DESTRUCTIVE, readGit } from './git.ts'
import { CONTROL, OUTSIDE, OWN_ADDRESS, UNCLEAR } from './labels.ts'
import { reachesUnknownPort, reachesUs } from './network.ts'
import { absolute, controlBelow, controlIn, kindOf, pathsIn } from './paths.ts'
import { DATA, UNKNOWN } from './syntax.ts'
import type { Finding, ShellContext, Simple } from './types.ts'

export type Ask = (label: string, more?: Partial<Finding>) => void

export const judgePlaces = (
  simple: Simple,
  { writes, deletes, fills, empties }: ReturnType<typeof touchedBy>,
  place: ShellContext,
  ask: Ask,
): boolean => {
  const { cwd } = simple
  const isRemote = (path: string) =>
    /^[\w.-]+@?[\w.-]*:[^\\]/.test(path) && /^(?:rsync|scp)$/.test(simple.name)
  let isQuiet = true
  for (const path of [...new Set([...writes, ...fills])]) {
    if (isRemote(path)) {
      ask('send data to another machine')
      continue
    }
    const kind = kindOf(path, cwd, place)
    if (kind !== 'device') isQuiet = false
    if (kind === 'startup') ask('write to a startup or login file')
    else if (kind === 'unknown') ask(UNCLEAR, { isUnclear: true })
    else if (kind === 'outside' || kind === 'system')
      ask(/^ch(?:mod|own|grp)$/.test(simple.name) ? 'broad permission change' : OUTSIDE)
    if (/(?:^|\/)\.git\/(?:hooks|config|info|modules|objects|refs|HEAD|packed-refs)/.test(path))
      ask('git configuration that runs programs')
    if (/\/dev\/(?:tcp|udp)\//.test(path)) ask('network shell')
  }
  for (const path of empties) {
    isQuiet = false
    const kind = kindOf(path, cwd, place)
    if (kind === 'startup') ask('write to a startup or login file')
    else if (kind === 'outside' || kind === 'system') ask(OUTSIDE)
    if (kind !== 'device') ask('empty an existing file')
  }
  for (const path of deletes) {
    isQuiet = false
    const kind = kindOf(path, cwd, place)
    const full = absolute(path, cwd, place)
    if (kind === 'startup' || kind === 'outside' || kind === 'system')
      ask('delete outside the workspace')
    else if (kind === 'unknown') ask(UNCLEAR, { isUnclear: true })
    else if (
      full === (place.workspace ?? place.cwd) ||
      path === '.' ||
      path === '*' ||
      path === './*'
    )
      ask('recursive delete')
    if (/(?:^|\/)\.git(?:\/|$)/.test(path)) ask(DESTRUCTIVE)
  }
  return isQuiet
}

const MOST_LANDINGS = 400

/** Target paths when a command puts files into a folder under their own names. */
const landings = ({ args }: Simple, { writes, fills }: ReturnType<typeof touchedBy>): string[] =>
  [...new Set([...writes, ...fills])]
    .flatMap(dir =>
      pathsIn(args).flatMap(word => [
        `${dir}/${word}`,
        `${dir}/${word.replace(/\/+$/, '').split('/').at(-1)}`,
      ]),
    )
    .filter(path => path.length < 4_096)
    .slice(0, MOST_LANDINGS)

/** Folders in which a program starts another one. */
export const startedIn = ({ name, args }: Simple): string[] =>
  /^(?:env|sudo|doas|g?make|ninja|cmake|meson|npm|pnpm|yarn|uv|poetry|cargo|go|composer|unshare|nsenter|pkexec|run0|systemd-run)$/.test(
    name,
  )
    ? args.flatMap((arg, at) => {
        const joined = /^(?:-C=?|-D|--[a-z-]*(?:dir|directory|prefix|cwd|wd)=)([~/.][\s\S]*)$/.exec(
          arg,
        )?.[1]
        if (joined !== undefined) return [joined]
        return /^(?:-C|-D|-d|--chdir|--directory|--dir|--prefix|--cwd|--wd|--project|--working-dir)$/.test(
          arg,
        )
          ? [args[at + 1] ?? '']
          : []
      })
    : []

export const judgeControl = (
  simple: Simple,
  touched: ReturnType<typeof touchedBy>,
  place: ShellContext,
  ask: Ask,
): unknown => {
  if (!place.controlPaths?.length) return
  const { name, args, redirects, cwd } = simple
  const control = (): void => ask(CONTROL, { isControl: true })
  const words = [...args, ...redirects.map(({ target }) => target)]
  const harmless =
    /^(?:ls|stat|test|\[|\[\[|echo|printf|cd|pushd|pwd|basename|dirname|realpath|readlink|which|du|df|tree)$/.test(
      name,
    )
  const named = pathsIn(harmless ? redirects.map(({ target }) => target) : words).filter(
    word => word !== '' && !/^-/.test(word) && /^[^\s]|\//.test(word),
  )
  const changed = [...touched.writes, ...touched.fills, ...touched.empties, ...touched.deletes]
  if ([...named, ...changed].some(path => controlIn(path, cwd, place) !== undefined))
    return control()
  // Only the folder is unknown.
  const names = changed.flatMap(path => /^[\0\u0001]+(\/[^\0\u0001*?[]+)$/.exec(path)?.[1] ?? [])
  if (names.some(ending => place.controlPaths?.some(path => path.endsWith(ending))))
    return control()
  if (
    name.endsWith('awk') &&
    args.some(arg =>
      [...arg.matchAll(/"([^"]+)"/g)].some(
        ([, path = '']) => controlIn(path, cwd, place) !== undefined,
      ),
    )
  )
    return control()
  if (!harmless && landings(simple, touched).some(path => controlIn(path, cwd, place)))
    return control()
  const below = [
    ...startedIn(simple),
    ...(name === 'ln' ? touched.writes : []),
    ...(/^(?:docker|podman|nerdctl)$/.test(name) && args.some(arg => /^(?:run|create)$/.test(arg))
      ? args
          .flatMap(arg => arg.replace(/^(?:-v|--volume=)/, '').split(/:|,?\w+=/, 2))
          .filter(arg => /^[~./]/.test(arg))
      : []),
    ...(/^(?:chmod|chown|chgrp|mount|chattr|setfacl)$/.test(name)
      ? args.filter(arg => /[/~]/.test(arg))
      : []),
    ...touched.deletes,
    ...touched.fills,
  ]
  if (below.some(path => controlBelow(path, cwd, place) !== undefined)) return control()
  if (name === 'git') {
    const { places, sub, looks } = readGit(args)
    if (
      !looks &&
      sub !== '' &&
      places.some(
        path =>
          controlBelow(path, cwd, place) !== undefined || controlIn(path, cwd, place) !== undefined,
      )
    )
      return control()
  }
  if (
    name === 'find' &&
    args.some(arg => /^-(?:delete|exec|execdir|ok|okdir|fprint\w*)$/.test(arg))
  ) {
    const roots = args.slice(
      0,
      Math.max(
        0,
        args.findIndex(arg => /^[-(!]/.test(arg)),
      ),
    )
    const isReading =
      args.some(arg => /^(?:grep|wc|ls|stat|echo|head|file)$/.test(arg)) &&
      !args.includes('-delete')
    if (
      !isReading &&
      (roots.length > 0 ? roots : ['.']).some(root => controlBelow(root, cwd, place) !== undefined)
    )
      return control()
  }
  // Files that are the result of a search.
  const isChanging = /^(?:sed|gsed|perl|rm|mv|cp|tee|truncate|chmod|chown|ln|patch)$/.test(name)
  if (
    isChanging &&
    touched.writes
      .concat(touched.deletes, touched.empties)
      .some(path => path === DATA || path === UNKNOWN)
  )
    if (
      controlBelow('.', cwd, place) !== undefined ||
      simple.from.some(({ args: found, cwd: where }) =>
        found.some(root => !root.startsWith('-') && controlBelow(root, where, place) !== undefined),
      )
    )
      return control()
}

const NETWORK =
  /^(?:curl|wget|nc|ncat|netcat|socat|telnet|http|https|xh|httpie|openssl|ssh|ab|wrk|hey|k6|oha|vegeta|lynx|w3m|links|websocat|wscat|grpcurl|aria2c|exec|axel|GET|POST|lwp-request)$/

export const judgeOwn = (simple: Simple, place: ShellContext, ask: Ask): unknown => {
  const { name, args, redirects, input } = simple
  const targets = redirects.map(({ target }) => target)
  const text = [...args, ...targets, input ?? ''].join('\n')
  const isNetwork =
    NETWORK.test(name) || targets.some(target => /\/dev\/(?:tcp|udp)\//.test(target))
  if (!isNetwork) return
  if (place.ownAddresses?.length && reachesUs(text, place.ownAddresses))
    ask(OWN_ADDRESS, { isControl: true })
  else if (place.ownAddresses?.length && reachesUnknownPort(text))
    ask(OWN_ADDRESS, { isControl: true })
}
