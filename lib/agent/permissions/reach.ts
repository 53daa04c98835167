/** What a tool call reaches, for `Tool.reaches`. */
import { resolvePath } from '../tools/allowed-paths.ts'
import { shellContextFor } from '../tools/command-gate.ts'
import type { CallScope } from '../types.ts'
import type { Access } from './types.ts'

export const reachesFile = (kind: 'read' | 'write', path: string, { turn }: CallScope): Access[] =>
  path === '' ? [] : [{ kind, path: resolvePath(turn, path), reach: 'file' }]

export const reachesHost = (url: string): Access => ({
  kind: 'host',
  host: URL.parse(url)?.hostname.toLowerCase() ?? null,
})

export const reachesByCommand = (command: string, cwd: string, { turn }: CallScope): Access[] =>
  command === '' ? [] : [{ kind: 'command', command, shell: shellContextFor(turn, cwd) }]
