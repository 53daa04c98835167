/** A workspace on disk and turns that change its files, for tests of checkpoints. */
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { Checkpoints, type Undo } from '../../../../lib/workspaces/checkpoints/checkpoints.ts'
import type { CheckpointsOptions } from '../../../../lib/workspaces/checkpoints/workspaces.ts'
import { createTestClock } from '../../../_clock.ts'
import { tempDir } from '../../../_temp-dir.ts'

/** Every entry with its bytes and permissions, except `.git`: the state to compare. */
export const snapshot = (root: string): Record<string, string> => {
  const found: Record<string, string> = {}
  const visit = (folder: string) => {
    for (const name of readdirSync(join(root, folder))) {
      if (name === '.git') continue
      const path = folder ? `${folder}/${name}` : name
      const stat = lstatSync(join(root, path))
      if (stat.isSymbolicLink()) found[path] = `-> ${readlinkSync(join(root, path))}`
      else if (stat.isDirectory()) {
        found[`${path}/`] = 'folder'
        visit(path)
      } else {
        const mode = (stat.mode & 0o7777).toString(8)
        found[path] = `${mode} ${readFileSync(join(root, path)).toString('latin1')}`
      }
    }
  }
  visit('')
  return Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)))
}

export const createTurns = (options: Partial<CheckpointsOptions> = {}) => {
  const root = realpathSync(tempDir('checkpoints'))
  const workspace = join(root, 'work')
  const home = { name: 'default', dir: join(root, 'home') }
  for (const dir of [workspace, home.dir]) mkdirSync(dir)
  const said: string[] = []
  const clock = createTestClock(1_000_000)
  const boot = () =>
    new Checkpoints({
      boundsOf: (_, path) => {
        if (!existsSync(path)) throw new Error('not there')
        return { root: realpathSync(path), isHidden: real => real.endsWith('/hidden.txt') }
      },
      clock,
      resolve: id => id,
      log: (line, extra) => said.push(`${line} ${JSON.stringify(extra ?? {})}`),
      ...options,
    })
  const service = { now: boot() }
  let count = 0
  const open = (more: Partial<Parameters<typeof service.now.startTurn>[0]> = {}) => {
    const streamId = (++count).toString(16).padStart(32, '0')
    const recorder = service.now.startTurn({
      home,
      workspace,
      sessionId: 'aaaaaaaaaaaa',
      streamId,
      messageId: `m${count}`,
      title: `turn ${count}`,
      ...more,
    })
    return { recorder, streamId }
  }
  const at = (path: string) => join(workspace, path)
  const write = (path: string, bytes: string | Buffer) => {
    mkdirSync(dirname(at(path)), { recursive: true })
    writeFileSync(at(path), bytes)
  }
  return {
    root,
    workspace,
    home,
    said,
    clock,
    service,
    at,
    write,
    open,
    restart: () => {
      service.now = boot()
    },
    shell: (command: string) =>
      execFileSync('bash', ['-c', command], { cwd: workspace, encoding: 'utf8' }),
    /** Runs one turn; resolves to its id and notes. */
    async turn(what: readonly string[] | 'workspace', work: () => void, more = {}) {
      const { recorder, streamId } = open(more)
      const notes = await recorder.beforeChange(what === 'workspace' ? what : what.map(at))
      work()
      await recorder.end()
      return { id: streamId, notes }
    },
    list: (session = 'aaaaaaaaaaaa') => service.now.list(home, session),
    /** The result, with what was announced before the first file changed. */
    async restore(
      checkpoint: string,
      more: { paths?: string[]; hunks?: string[]; force?: boolean } = {},
      beforeFiles: (undo: Undo) => void = () => undefined,
    ) {
      let announced: Undo | undefined
      const done = await service.now.restore(home, 'aaaaaaaaaaaa', {
        checkpoint,
        force: false,
        ...more,
        beforeFiles(undo) {
          announced = undo
          beforeFiles(undo)
        },
      })
      return { ...done, announced }
    },
    diff: (checkpoint: string, path: string) =>
      service.now.diff(home, 'aaaaaaaaaaaa', checkpoint, path),
    async close() {
      await service.now.close()
      rmSync(root, { recursive: true, force: true })
    },
  }
}
