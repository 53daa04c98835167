/** A disposable home, agent home, and workspace, and a sandbox over them. Real bubblewrap; without it, `reason` says why not. */
import { createHash } from 'node:crypto'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { CommandPlacement, CommandRunner } from '../../../../lib/agent/tool-services.ts'
import { run, type RunResult } from '../../../../lib/base/process.ts'
import type { NetworkAccess } from '../../../../lib/commands/sandbox/network-opener.ts'
import type { SandboxSystem } from '../../../../lib/commands/sandbox/availability.ts'
import { Sandboxes } from '../../../../lib/commands/sandbox/sandboxes.ts'
import { git } from '../../../_git.ts'

export const SECRET = 'the-secret-word-of-this-test'

const availability = await new Sandboxes(process.env).availability()
/** Why no sandbox can be started here; null: it can. */
export const reason = availability.problem
if (reason !== null) console.log(`  skipped: ${reason}`)

export type Tree = Disposable & {
  root: string
  home: string
  agentHome: string
  /** A directory that the configuration makes readable. */
  shown: string
  workspace: string
  runner: CommandRunner
  env: Record<string, string>
  /** Runs a shell command inside. */
  sh: (command: string, placement?: Partial<CommandPlacement>) => Promise<RunResult>
  /** Runs a program inside. */
  exec: (
    file: string,
    args: readonly string[],
    placement?: Partial<CommandPlacement> & { timeoutMs?: number },
  ) => Promise<RunResult>
  /** The same for another workspace. */
  with: (workspace: string) => Pick<Tree, 'runner' | 'exec' | 'sh'>
  close: () => void
}

const write = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

export type TreeOptions = Partial<Pick<Tree, 'env'>> & {
  network?: boolean | string[]
  writable?: string[]
  /** Where the tree is created. */
  parent?: string
  /** Another directory as the workspace. */
  workspaceOf?: 'home' | 'agentHome' | 'alias' | 'tmp'
  /** Absent: what this computer has. */
  system?: SandboxSystem
  /** Where connections of commands lead to. */
  access?: Partial<NetworkAccess>
}

/** Files that no command in the sandbox may see. */
const secretFiles = ({
  home,
  agentHome,
  root,
  workspace,
}: Pick<Tree, 'home' | 'agentHome' | 'root' | 'workspace'>): string[] => [
  join(home, '.ssh', 'id_ed25519'),
  join(home, '.bashrc'),
  join(home, '.aws', 'credentials'),
  join(home, '.config', 'gh', 'hosts.yml'),
  join(home, 'Documents', 'letter.txt'),
  join(agentHome, '.env'),
  join(agentHome, 'auth.json'),
  join(agentHome, 'config.yaml'),
  join(agentHome, 'webui', 'settings.json'),
  join(root, 'outside', 'file.txt'),
  join(workspace, 'hidden', 'file.txt'),
]

/** What a command can do with files of a tree, whatever the sandbox is made with. */
export const reachTable = (
  { home, agentHome, root, shown, workspace, runner }: Tree,
  changesGit: boolean,
): { path: string; read: boolean; write: boolean }[] => {
  // On macOS the changeable Git directory has another name.
  const changesInPlace = changesGit && runner.kind === 'bubblewrap'
  const none = secretFiles({ home, agentHome, root, workspace })
  const read = [
    join(shown, 'file.txt'),
    join(workspace, '.git', 'hooks', 'pre-commit'),
    join(workspace, '.git', 'config'),
    join(workspace, '.vscode', 'tasks.json'),
  ]
  return [
    ...none.map(path => ({ path, read: false, write: false })),
    ...read.map(path => ({ path, read: true, write: false })),
    // What is written into it is no ref, so it is not kept.
    { path: join(workspace, '.git', 'HEAD'), read: true, write: false },
    { path: join(workspace, '.git', 'COMMIT_EDITMSG'), read: true, write: changesInPlace },
    { path: join(workspace, 'README.md'), read: true, write: true },
  ]
}

export const createTree = (options: TreeOptions = {}): Tree => {
  const parent = options.parent ?? tmpdir()
  mkdirSync(parent, { recursive: true })
  const root = realpathSync(mkdtempSync(join(parent, 'sandbox-test-')))
  const home = join(root, 'home')
  const agentHome = join(home, '.agent')
  const shown = join(root, 'shown')
  const workspace = join(home, 'projects', 'demo')
  for (const path of secretFiles({ home, agentHome, root, workspace })) write(path, `${SECRET}\n`)
  write(join(home, '.gitconfig'), '[user]\n  name = Ada\n  email = ada@example.org\n')
  write(join(shown, 'file.txt'), 'readable\n')
  write(join(workspace, 'README.md'), 'demo\n')
  write(join(workspace, '.vscode', 'tasks.json'), '{}\n')
  git(workspace, 'init', '-q')
  write(join(workspace, '.git', 'hooks', 'pre-commit'), '#!/bin/sh\n')
  write(join(workspace, '.git', 'COMMIT_EDITMSG'), 'one\n')
  chmodSync(join(workspace, '.git', 'hooks', 'pre-commit'), 0o755)
  const env = {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    HOME: home,
    LANG: 'C.UTF-8',
    ...options.env,
  }
  const sandboxes = new Sandboxes(process.env, options.system, options.access)
  const alias = join(root, 'alias')
  symlinkSync(workspace, alias)
  const within = (chosen: string): Pick<Tree, 'runner' | 'exec' | 'sh'> => {
    const runner = sandboxes.runnerFor({
      owner: 'test',
      workspace: chosen,
      env,
      network: options.network ?? false,
      hidden: [agentHome, join(workspace, 'hidden')],
      protected: [],
      readable: [shown],
      writable: options.writable ?? [],
    })
    const exec: Tree['exec'] = async (file, args, { timeoutMs = 30_000, ...placement } = {}) => {
      const placed = await runner.place({
        program: { file, args },
        cwd: workspace,
        env,
        access: 'confined',
        ...placement,
      })
      return run(placed.file, placed.args, { ...placed, timeoutMs, maxBytes: 64 * 1024 * 1024 })
    }
    return {
      runner,
      exec,
      sh: (command, placement) => exec('bash', ['-c', command], placement),
    }
  }
  const places = { home, agentHome, alias, tmp: '/tmp', demo: workspace }
  return {
    root,
    home,
    agentHome,
    shown,
    workspace,
    env,
    ...within(places[options.workspaceOf ?? 'demo']),
    with: within,
    [Symbol.dispose]() {
      this.close()
    },
    close() {
      sandboxes.close()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/** Every file below a directory with kind, permissions, owner, and content; `except` is left out. */
export const snapshot = (dir: string, except: readonly string[] = []): Map<string, string> => {
  const found = new Map<string, string>()
  const visit = (path: string): void => {
    if (except.includes(path)) return
    const stat = lstatSync(path)
    const about = `${stat.mode.toString(8)} ${stat.uid}:${stat.gid} ${stat.nlink}`
    if (stat.isDirectory()) {
      found.set(path, `${stat.mode.toString(8)} ${stat.uid}:${stat.gid}`)
      for (const name of readdirSync(path)) visit(join(path, name))
    } else if (stat.isSymbolicLink()) found.set(path, `${about} → ${readlinkSync(path)}`)
    else if (stat.isFile())
      found.set(path, `${about} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`)
    else found.set(path, about)
  }
  visit(dir)
  return found
}
