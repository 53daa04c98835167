/** Effects of a command on the paths it names: workspace, system, control files, and our own address. */
import type { touchedFiles } from './touched-files.ts'
import { DESTRUCTIVE, readGit } from './git.ts'
import { CONTROL, OUTSIDE, OWN_ADDRESS, UNCLEAR } from './labels.ts'
import { reachesUnknownPort, reachesUs } from './network.ts'
import { absolute, controlBelow, controlIn, kindOf, pathsIn } from './paths.ts'
import { DATA, UNKNOWN } from './syntax.ts'
import type { Finding, ShellContext, SimpleCommand } from './types.ts'

export type AddFinding = (label: string, more?: Partial<Finding>) => void

export const classifyPaths = (
  simple: SimpleCommand,
  { writes, deletes, fills, empties }: ReturnType<typeof touchedFiles>,
  context: ShellContext,
  addFinding: AddFinding,
): boolean => {
  const { cwd } = simple
  const isRemote = (path: string) =>
    /^[\w.-]+@?[\w.-]*:[^\\]/.test(path) && /^(?:rsync|scp)$/.test(simple.name)
  let isReadOnly = true
  for (const path of [...new Set([...writes, ...fills])]) {
    if (isRemote(path)) {
      addFinding('send data to another machine')
      continue
    }
    const kind = kindOf(path, cwd, context)
    if (kind !== 'device') isReadOnly = false
    if (kind === 'startup') addFinding('write to a startup or login file')
    else if (kind === 'unknown') addFinding(UNCLEAR, { isUnclear: true })
    else if (kind === 'outside' || kind === 'system')
      addFinding(/^ch(?:mod|own|grp)$/.test(simple.name) ? 'broad permission change' : OUTSIDE)
    if (/(?:^|\/)\.git\/(?:hooks|config|info|modules|objects|refs|HEAD|packed-refs)/.test(path))
      addFinding('git configuration that runs programs')
    if (/\/dev\/(?:tcp|udp)\//.test(path)) addFinding('network shell')
  }
  for (const path of empties) {
    isReadOnly = false
    const kind = kindOf(path, cwd, context)
    if (kind === 'startup') addFinding('write to a startup or login file')
    else if (kind === 'outside' || kind === 'system') addFinding(OUTSIDE)
    if (kind !== 'device') addFinding('empty an existing file')
  }
  for (const path of deletes) {
    isReadOnly = false
    const kind = kindOf(path, cwd, context)
    const full = absolute(path, cwd, context)
    if (kind === 'startup' || kind === 'outside' || kind === 'system')
      addFinding('delete outside the workspace')
    else if (kind === 'unknown') addFinding(UNCLEAR, { isUnclear: true })
    else if (
      full === (context.workspace ?? context.cwd) ||
      path === '.' ||
      path === '*' ||
      path === './*'
    )
      addFinding('recursive delete')
    if (/(?:^|\/)\.git(?:\/|$)/.test(path)) addFinding(DESTRUCTIVE)
  }
  return isReadOnly
}

const MAX_DESTINATIONS = 400

/** Target paths when a command puts files into a folder under their own names. */
const destinations = (
  { args }: SimpleCommand,
  { writes, fills }: ReturnType<typeof touchedFiles>,
): string[] =>
  [...new Set([...writes, ...fills])]
    .flatMap(dir =>
      pathsIn(args).flatMap(word => [
        `${dir}/${word}`,
        `${dir}/${word.replace(/\/+$/, '').split('/').at(-1)}`,
      ]),
    )
    .filter(path => path.length < 4_096)
    .slice(0, MAX_DESTINATIONS)

/** Folders in which a program starts another one. */
export const startedIn = ({ name, args }: SimpleCommand): string[] =>
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

export const classifyControlAccess = (
  simple: SimpleCommand,
  touched: ReturnType<typeof touchedFiles>,
  context: ShellContext,
  addFinding: AddFinding,
): unknown => {
  if (!context.controlPaths?.length) return
  const { name, args, redirects, cwd } = simple
  const control = (): void => addFinding(CONTROL, { isControl: true })
  const words = [...args, ...redirects.map(({ target }) => target)]
  const harmless =
    /^(?:ls|stat|test|\[|\[\[|echo|printf|cd|pushd|pwd|basename|dirname|realpath|readlink|which|du|df|tree)$/.test(
      name,
    )
  const named = pathsIn(harmless ? redirects.map(({ target }) => target) : words).filter(
    word => word !== '' && !/^-/.test(word) && /^[^\s]|\//.test(word),
  )
  const changed = [...touched.writes, ...touched.fills, ...touched.empties, ...touched.deletes]
  if ([...named, ...changed].some(path => controlIn(path, cwd, context) !== undefined))
    return control()
  // Only the folder is unknown.
  const names = changed.flatMap(path => /^[\0\u0001]+(\/[^\0\u0001*?[]+)$/.exec(path)?.[1] ?? [])
  if (names.some(ending => context.controlPaths?.some(path => path.endsWith(ending))))
    return control()
  if (
    name.endsWith('awk') &&
    args.some(arg =>
      [...arg.matchAll(/"([^"]+)"/g)].some(
        ([, path = '']) => controlIn(path, cwd, context) !== undefined,
      ),
    )
  )
    return control()
  if (!harmless && destinations(simple, touched).some(path => controlIn(path, cwd, context)))
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
  if (below.some(path => controlBelow(path, cwd, context) !== undefined)) return control()
  if (name === 'git') {
    const { paths, sub, isReadOnly } = readGit(args)
    if (
      !isReadOnly &&
      sub !== '' &&
      paths.some(
        path =>
          controlBelow(path, cwd, context) !== undefined ||
          controlIn(path, cwd, context) !== undefined,
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
      (roots.length > 0 ? roots : ['.']).some(
        root => controlBelow(root, cwd, context) !== undefined,
      )
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
      controlBelow('.', cwd, context) !== undefined ||
      simple.from.some(({ args: found, cwd: where }) =>
        found.some(
          root => !root.startsWith('-') && controlBelow(root, where, context) !== undefined,
        ),
      )
    )
      return control()
}

const NETWORK =
  /^(?:curl|wget|nc|ncat|netcat|socat|telnet|http|https|xh|httpie|openssl|ssh|ab|wrk|hey|k6|oha|vegeta|lynx|w3m|links|websocat|wscat|grpcurl|aria2c|exec|axel|GET|POST|lwp-request)$/

export const classifyOwnAccess = (
  simple: SimpleCommand,
  context: ShellContext,
  addFinding: AddFinding,
): unknown => {
  const { name, args, redirects, input } = simple
  const targets = redirects.map(({ target }) => target)
  const text = [...args, ...targets, input ?? ''].join('\n')
  const isNetwork =
    NETWORK.test(name) || targets.some(target => /\/dev\/(?:tcp|udp)\//.test(target))
  if (!isNetwork) return
  if (context.ownAddresses?.length && reachesUs(text, context.ownAddresses))
    addFinding(OWN_ADDRESS, { isControl: true })
  else if (context.ownAddresses?.length && reachesUnknownPort(text))
    addFinding(OWN_ADDRESS, { isControl: true })
}
