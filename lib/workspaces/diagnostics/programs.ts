/** The programs that could be a language server of a workspace, and whether they may be started. */
import { existsSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import type { CommandRunner, PlacedProgram } from '../../agent/tool-services.ts'
import { findProgram } from '../../base/find-program.ts'
import { isInside } from '../../store/path-within.ts'
import type { Server } from './servers.ts'

export type ServerPlace = {
  workspace: string
  env: Readonly<Record<string, string>>
  runner: CommandRunner | undefined
}

/** Starts one of the candidates. Rejects when it cannot run. */
export type Candidate = () => Promise<PlacedProgram>

/** The nearest directory with a marker, from the file up to the workspace. */
export const rootOf = ({ rootMarkers }: Server, file: string, workspace: string): string => {
  if (rootMarkers.length === 0) return workspace
  for (let dir = dirname(file); isInside(workspace, dir); dir = dirname(dir)) {
    if (rootMarkers.some(name => existsSync(join(dir, name)))) return dir
    if (dir === dirname(dir)) break
  }
  return workspace
}

/** Exits with 127 where the program does not exist, as a shell does. */
const IF_FOUND = 'command -v -- "$1" >/dev/null || exit 127; exec "$@"'

/**
 * With a runner: programs of the workspace, then those on its search path. Without one, only programs outside the
 * workspace, because the agent can write those in it; the working directory and the search path are outside as well. A
 * server that runs code of the project needs a runner, or that the person has named it in config.yaml.
 */
export const candidatesFor = (server: Server, root: string, place: ServerPlace): Candidate[] => {
  const { workspace, runner } = place
  const env = { ...place.env, ...server.env }
  if (runner) {
    const inWorkspace = ([file = '', ...args]: readonly string[]) =>
      [root, workspace]
        .map(dir => join(dir, 'node_modules/.bin', file))
        .filter((path, at, all) => all.indexOf(path) === at && existsSync(path))
        .map(path => [path, ...args])
    const lines = [
      ...(server.isConfigured ? [] : server.commands.flatMap(inWorkspace)),
      ...server.commands,
    ]
    return lines.map(line => async () => {
      const problem = await runner.problem()
      if (problem !== null) throw new Error(`${problem}`)
      return runner.place({
        program: { file: '/bin/sh', args: ['-c', IF_FOUND, 'sh', ...line] },
        cwd: root,
        env,
        access: 'confined',
        hasInput: true,
      })
    })
  }
  if (server.runsProject && !server.isConfigured) return []
  const PATH = (env.PATH ?? '')
    .split(delimiter)
    .filter(dir => isAbsolute(dir) && !isInside(workspace, dir))
    .join(delimiter)
  return server.commands.flatMap(([name = '', ...args]) => {
    const file = findProgram(
      PATH,
      name.replace(/^~(?=\/)/, () => env.HOME ?? '~'),
    )
    if (file === undefined || (!server.isConfigured && isInside(workspace, file))) return []
    return [async () => ({ file, args, cwd: '/', env: { ...env, PATH } })]
  })
}
