/** A workspace with files to protect, and rules for it, for tests of permissions. */
import { linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Rules } from '../../../../lib/agent/permissions/rules.ts'
import type { Access, RuledCall } from '../../../../lib/agent/permissions/types.ts'
import { realPath } from '../../../../lib/store/path-within.ts'
import { tempDir } from '../../../_temp-dir.ts'

export type Lists = { deny?: string[]; ask?: string[]; allow?: string[] }

/** Remove it after the suite: suites of one process share this module. */
export const createPlace = () => {
  const root = realPath(tempDir('rules'))
  const workspace = join(root, 'work')
  const home = join(root, 'home')

  mkdirSync(join(workspace, 'secret', 'deep'), { recursive: true })
  mkdirSync(join(workspace, 'src', 'lib'), { recursive: true })
  mkdirSync(join(workspace, 'empty'))
  mkdirSync(join(home, 'private'), { recursive: true })
  const put = (path: string, text = 'text\n') => writeFileSync(join(workspace, path), text)
  put('secret/key')
  put('a.txt')
  put('src/a.ts')
  put('x.sh', 'git push\n')
  put('package.json', JSON.stringify({ scripts: { release: 'git push origin', build: 'tsc' } }))
  symlinkSync(join(workspace, 'secret'), join(workspace, 'link'))
  linkSync(join(workspace, 'secret', 'key'), join(workspace, 'hard'))
  writeFileSync(join(home, 'private', 'note'), 'x')
  symlinkSync(join(home, 'private'), join(home, 'also'))

  const removePlace = () => rmSync(root, { recursive: true, force: true })

  const rulesOf = (lists: Lists) =>
    new Rules('config.yaml', { workspace, homes: [home] }, () => lists)

  const shell = {
    home,
    cwd: workspace,
    workspace,
    env: { HOME: home, PATH: '/usr/bin:/bin' },
  }

  const commandCall = (command: string): RuledCall => ({
    tool: 'terminal',
    accesses: [{ kind: 'command', command, shell }],
  })

  const pathCall = (kind: 'read' | 'write', path: string): RuledCall => ({
    tool: kind === 'read' ? 'read_file' : 'write_file',
    accesses: [{ kind, path: realPath(path), alias: path, reach: 'file' } satisfies Access],
  })

  /** `deny`, `ask`, `unsure` (asked because it cannot be known), or `none`. */
  const verdictOf = (lists: Lists, call: RuledCall): string => {
    const verdict = rulesOf(lists).decide(call)
    return verdict === null ? 'none' : verdict.isUnsure ? 'unsure' : verdict.list
  }

  /** Whether an `allow` list answers the approval of a command. */
  const isAllowed = (lists: Lists, command: string): boolean =>
    rulesOf(lists).covers(commandCall(command), {
      command,
      patternKeys: ['x'],
      description: '',
      cwd: workspace,
    }) !== null

  return { workspace, home, removePlace, rulesOf, commandCall, pathCall, verdictOf, isAllowed }
}
