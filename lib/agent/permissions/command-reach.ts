/** What a command or script reaches by its words, as permission rules see it. */
import { realPath } from '../../store/path-within.ts'
import { literalsIn } from '../shell/inner.ts'
import { namedHosts, namedPaths, type NamedPath } from '../shell/paths.ts'
import { readCommand, scriptAsCommand } from '../shell/read.ts'
import type { ReadCommand, ShellContext } from '../shell/types.ts'
import type { Access } from './types.ts'

const asAccesses = ({ path, kind, isTree, isUnsure }: NamedPath): Access[] => {
  const at = (as: 'read' | 'write', isGuess: boolean): Access => ({
    kind: as,
    path: path === null ? null : realPath(path),
    ...(path !== null && { alias: path }),
    reach: isTree ? 'tree' : 'file',
    ...(isGuess && { isUnsure: true as const }),
  })
  switch (kind) {
    case 'read':
    case 'write':
      return [at(kind, isUnsure)]
    case 'both':
      return [at('read', isUnsure), at('write', isUnsure)]
    case 'either':
      return [at('read', isUnsure), at('write', true)]
  }
}

/** The files and hosts that a command names. What a program does beyond its arguments is not known. */
export const commandAccesses = (command: ReadCommand, shell: ShellContext): Access[] => [
  ...namedPaths(command, shell).flatMap(asAccesses),
  ...namedHosts(command).map((host): Access => ({ kind: 'host', host })),
]

/** As above, for a script of `execute_code`: its literals may be paths, hosts, and commands. */
export const scriptAccesses = (code: string, shell: ShellContext): Access[] => {
  const script = scriptAsCommand(code)
  return [
    ...commandAccesses(script, shell),
    ...literalsIn(code)
      .filter(text => readCommand(text).parts.length > 0)
      .map((command): Access => ({ kind: 'command', command, shell })),
  ]
}
