/** The arguments of sandbox-exec for a list of mounts: a Seatbelt profile with the same policy as that of bubblewrap. */
import { dirname } from 'node:path'
import { BASE_RULES, MACOS_SYSTEM, NETWORK_RULES, proxyRules, SYSTEM_LINKS } from './macos.ts'
import type { Access, Mount } from './mounts.ts'

const READ = 'file-read* file-test-existence file-map-executable'

type Visible = { path: string; access: Access }

const depth = (path: string): number => (path === '/' ? 0 : path.split('/').length - 1)

/**
 * Seatbelt cannot show a path under another name. So a private directory is visible under its own name only, and what it
 * would replace is hidden.
 */
const visibleOf = (mounts: readonly Mount[]): Visible[] => {
  const modes = new Map<string, Access>()
  for (const { path, access, source = path } of mounts) if (source === path) modes.set(path, access)
  for (const { path, access, source = path } of mounts) {
    if (source === path) continue
    if (!modes.has(path)) modes.set(path, 'hide')
    if (!modes.has(source)) modes.set(source, access)
  }
  return [...modes]
    .map(([path, access]) => ({ path, access }))
    .toSorted((a, b) => depth(a.path) - depth(b.path) || (a.path < b.path ? -1 : 1))
}

const ancestorsOf = (path: string): string[] =>
  path === '/' ? [] : [dirname(path), ...ancestorsOf(dirname(path))]

/** `of` names a path: as a parameter, whose value is taken as it is, so that no character of a path has a meaning. */
const rulesOf = ({ path, access }: Visible, of: (path: string) => string): string[] => {
  // Whether `subpath` includes a plain file is not documented.
  const all = `(literal ${of(path)}) (subpath ${of(path)})`
  const sockets = `unix-socket (subpath ${of(path)})`
  const connect = `network-outbound (remote ${sockets})`
  const listen = `network-bind network-inbound (local ${sockets})`
  if (access === 'hide')
    return [`(deny ${READ} file-write* ${all})`, `(deny ${connect})`, `(deny ${listen})`]
  if (access === 'read')
    return [
      `(allow ${READ} ${all})`,
      `(deny file-write* ${all})`,
      `(allow ${connect})`,
      `(deny ${listen})`,
    ]
  return [`(allow ${READ} file-write* ${all})`, `(allow ${connect})`, `(allow ${listen})`]
}

/**
 * The arguments without the program, which follows after `--`. The last rule that matches decides, so a rule for a
 * directory comes before those for what is in it. Hard links are never allowed (`file-link`): a second name of a
 * protected file would not be protected.
 */
export const seatbeltArguments = ({
  mounts,
  hasNetwork,
  proxyPort = null,
}: {
  mounts: readonly Mount[]
  hasNetwork: boolean
  /** The one port of this computer that may be connected to. */
  proxyPort?: number | null
}): string[] => {
  const visible = visibleOf(mounts)
  const parameters = new Map<string, string>()
  const of = (path: string): string => {
    const name = parameters.get(path) ?? `PATH_${parameters.size}`
    parameters.set(path, name)
    return `(param "${name}")`
  }
  const literals = (paths: Iterable<string>) => [...paths].map(path => `(literal ${of(path)})`)
  const roots = new Set(visible.map(({ path }) => path))
  const ways = new Set(visible.flatMap(({ path }) => ancestorsOf(path)))
  const aliases = mounts.flatMap(({ path, source = path }) => (source === path ? [] : [path]))
  const profile = [
    ...BASE_RULES,
    ...(hasNetwork ? NETWORK_RULES : proxyPort === null ? [] : proxyRules(proxyPort)),
    `(allow ${READ} ${MACOS_SYSTEM.map(path => `(literal "${path}") (subpath "${path}")`).join(' ')})`,
    ...visible.flatMap(each => rulesOf(each, of)),
    // A rule applies to a name. What it protects must not get another one together with the directory that contains it.
    `(deny file-write-unlink ${literals(new Set([...roots, ...ways])).join(' ')})`,
    // The way to each path, without the names of what else is there.
    `(allow file-read-metadata file-test-existence ${[
      ...[...SYSTEM_LINKS, ...new Set(MACOS_SYSTEM.flatMap(ancestorsOf))].map(
        path => `(literal "${path}")`,
      ),
      ...literals(new Set([...ways, ...aliases])),
    ].join(' ')})`,
  ].join('\n')
  return ['-p', profile, ...[...parameters].flatMap(([path, name]) => ['-D', `${name}=${path}`])]
}
