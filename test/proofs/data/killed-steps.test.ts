/**
 * Proof: SIGKILL before every step that changes the disk, in the middle of every write: in the first start with data of another version,
 * in the first change that converts it, in the first start at another place, and in a restore. The next start has everything once.
 * `PROOF=full` kills at every step, a plain run at a few.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { backupPlaces } from '../../../lib/operations/backups/backup-places.ts'
import { makeBackup } from '../../../lib/operations/backups/backup.ts'
import { unfinishedRestore } from '../../../lib/operations/backups/unfinished.ts'
import { systemClock } from '../../../lib/base/clock.ts'
import { checkpointDir } from '../../../lib/workspaces/checkpoints/checkpoint-store.ts'
import { readConfig } from '../../../lib/config.ts'
import { Homes } from '../../../lib/profiles/homes.ts'
import { realPath } from '../../../lib/store/path-within.ts'
import { mountSmallDisk } from './_small-disk.ts'

const FORMER = join(import.meta.dirname, '../../fixtures/hermes-webui/sessions')
const proof = suite('killed at any step')
const isFull = process.env.PROOF === 'full'
/** Of a plain run, for each case. */
const SAMPLES = 4

const program = join(import.meta.dirname, '_stepped-program.ts')
const preload = join(import.meta.dirname, '_kill-at.mjs')

const { PATH, NODE_COMPILE_CACHE } = process.env

const run = (what: string, home: string, { at = 0, file = '', env = {} } = {}) => {
  const args = ['--import', preload, program, what, home, file]
  const ended = spawnSync(process.execPath, args, {
    env: { PATH, NODE_COMPILE_CACHE, KILL_AT: String(at), ...env },
    encoding: 'utf8',
  })
  return { ...ended, steps: Number(/^steps: (\d+)$/m.exec(ended.stderr)?.[1]) }
}

const print = (home: string, env = {}) => {
  const { stdout, stderr, status } = run('print', home, { env })
  assert.is(status, 0, stderr)
  return JSON.parse(stdout)
}

/** Some of all steps, or each of them; the first and the last ones always. */
const chosen = (steps: number, last = 1): number[] => {
  assert.ok(steps > SAMPLES, `${steps} steps`)
  const all = Array.from({ length: steps }, (_, at) => at + 1)
  const every = (steps - 1) / (SAMPLES - 1)
  return isFull ? all : all.filter(at => (at - 1) % every < 1 || at > steps - last)
}

/** As another version, or Hermes WebUI, left it. */
const createFormer = (userHome: string) => {
  const home = join(userHome, '.agent')
  const state = join(home, 'webui')
  const work = join(state, 'workspace')
  for (const dir of [join(state, 'sessions'), work, join(home, 'cron')])
    mkdirSync(dir, { recursive: true, mode: 0o700 })
  const put = (path: string, value: unknown) =>
    writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value), { mode: 0o600 })
  cpSync(FORMER, join(state, 'sessions'), { recursive: true })
  const meta = {
    title: 'Own',
    workspace: work,
    created_at: 1_760_000_000,
    updated_at: 1_760_000_000,
  }
  const lines = [
    { n: 1, t: 'session', at: 1_760_000_000, v: 1, id: 'aaaaaaaaaaaa', meta },
    { n: 2, t: 'message', at: 1, message: { id: 'm2', role: 'user', content: `In ${work}` } },
  ]
  const text = lines.map(line => `${JSON.stringify(line)}\n`).join('')
  put(join(state, 'sessions', 'aaaaaaaaaaaa.jsonl'), text)
  const settings = { bot_name: 'Ann', theme: 'dark', default_workspace: work, default_model: 'm' }
  put(join(state, 'settings.json'), settings)
  put(join(state, 'workspaces.json'), [{ path: work, name: 'Work' }])
  put(join(state, 'last_workspace.txt'), work)
  const project = { project_id: '0123456789ab', name: 'Old', color: null, created_at: 1 }
  put(join(state, 'projects.json'), [project])
  put(join(home, 'cron', 'jobs.json'), {
    jobs: [{ id: 'j', name: 'j', prompt: 'p', enabled: false, workdir: work }],
  })
  const store = checkpointDir(home, realPath(work))
  for (const name of ['turns', 'open']) mkdirSync(join(store, 'webui', name), { recursive: true })
  put(join(store, 'webui', 'workspace.txt'), realPath(work))
  put(join(store, 'webui', 'turns', '0123456789abcdef.json'), { root: realPath(work) })
  put(join(home, '.env'), 'KEY=value-0123456789\n')
  put(join(home, 'config.yaml'), 'model:\n  provider: custom\n  base_url: http://127.0.0.1:9\n')
}

const createRoot = () => {
  const root = realPath(mkdtempSync(join(tmpdir(), 'steps-')))
  const copy = (from: string, to: string): void => {
    rmSync(join(root, to), { recursive: true, force: true })
    cpSync(join(root, from), join(root, to), { recursive: true, verbatimSymlinks: true })
  }
  createFormer(join(root, 'ann'))
  copy('ann', 'before')
  return { root, at: (name: string) => join(root, name), copy }
}

proof('the first start with data of another version', () => {
  const { root, at, copy } = createRoot()
  const { steps } = run('print', at('ann'))
  const expected = print(at('ann'))
  assert.is(expected.sessions.length, 4)
  for (const step of chosen(steps)) {
    copy('before', 'ann')
    assert.is(run('print', at('ann'), { at: step }).signal, 'SIGKILL')
    assert.equal(print(at('ann')), expected, `killed at step ${step} of ${steps}`)
  }
  rmSync(root, { recursive: true })
})

proof('the first changes, which convert sessions, settings and projects', () => {
  const { root, at, copy } = createRoot()
  const before = print(at('ann'))
  copy('ann', 'started')
  const { steps } = run('change', at('ann'))
  for (const step of chosen(steps)) {
    copy('started', 'ann')
    assert.is(run('change', at('ann'), { at: step }).signal, 'SIGKILL')
    const { sessions, settings, projects, ...others } = print(at('ann'))
    const why = `killed at step ${step} of ${steps}`
    assert.is(sessions.length, before.sessions.length, why)
    for (const [index, { draft, messages, ...row }] of sessions.entries()) {
      const { draft: _, messages: asked, ...kept } = before.sessions[index]
      assert.equal(row, kept, why)
      assert.ok(['', `a draft of ${row.session_id}`].includes(draft), why)
      assert.equal(messages.slice(0, asked.length), asked, why)
      const more = messages.slice(asked.length)
      assert.ok(more.length === 0 || (more.length === 1 && draft !== ''), why)
    }
    assert.ok(['Ann', 'Changed'].includes(settings.bot_name), why)
    assert.is(settings.default_workspace, before.settings.default_workspace, why)
    assert.ok(['Old', 'New,Old', 'Old,New'].includes(projects.join()), why)
    const { sessions: _s, settings: _t, projects: _p, ...same } = before
    assert.equal(others, same, why)
  }
  rmSync(root, { recursive: true })
})

for (const isNoted of [true, false])
  proof(`the first start at another place, which ${isNoted ? 'was' : 'was not'} noted`, () => {
    const { root, at, copy } = createRoot()
    print(at('ann'))
    if (!isNoted) {
      // As Hermes WebUI leaves it: only sessions of its format say where it was.
      copy('before', 'ann')
      const sessions = join(at('ann'), '.agent', 'webui', 'sessions')
      rmSync(join(sessions, 'aaaaaaaaaaaa.jsonl'))
      const workspace = join(at('ann'), '.agent', 'webui', 'workspace')
      const own = { session_id: 'aaaaaaaaaaaa', title: 'Own', workspace, messages: [] }
      writeFileSync(join(sessions, 'aaaaaaaaaaaa.json'), JSON.stringify(own))
      rmSync(join(at('ann'), '.agent', 'webui', 'last_workspace.txt'))
      renameSync(at('ann'), at('gone'))
    }
    const former = isNoted ? 'ann' : 'gone'
    copy(former, 'bob')
    const { steps } = run('print', at('bob'))
    const expected = print(at('bob'))
    const work = join(at('bob'), '.agent', 'webui', 'workspace')
    assert.is(expected.jobs.jobs[0].workdir, work)
    assert.is(
      expected.sessions.find(({ title }: { title: string }) => title === 'Own').workspace,
      work,
    )
    assert.equal(expected.checkpoints, [checkpointDir('', work).split('/').at(-1)])
    for (const step of chosen(steps)) {
      copy(former, 'bob')
      assert.is(run('print', at('bob'), { at: step }).signal, 'SIGKILL')
      assert.equal(print(at('bob')), expected, `killed at step ${step} of ${steps}`)
    }
    rmSync(root, { recursive: true })
  })

const backUp = async (userHome: string, target: string) => {
  const config = readConfig({ HOME: userHome, PATH: process.env.PATH }, [])
  await makeBackup({
    ...backupPlaces(config, new Homes(config, systemClock).list()),
    ...{ target, passphrase: 'a passphrase', version: 'proof', workFactor: 4 },
    now: systemClock.now(),
  })
}

/** Killed at any step, it is absent, whole, or named; doing what is said makes it whole. */
const checkRestore = async (
  places: { root: string; at: (name: string) => string; copy: (a: string, b: string) => void },
  { home, state, clear }: { home: string; state: string; clear: () => void },
) => {
  const { at } = places
  print(at('ann'))
  const file = at('backup.tar.zst')
  await backUp(at('ann'), file)
  const env = { AGENT_WEBUI_STATE_DIR: state }
  clear()
  const { steps, stderr, status } = run('restore', at('bob'), { file, env })
  assert.is(status, 0, stderr)
  const expected = print(at('bob'), env)
  assert.is(expected.env, 'KEY=value-0123456789\n')
  let named = 0
  // The renames are among the last.
  for (const step of chosen(steps, 10)) {
    const why = `killed at step ${step} of ${steps}`
    clear()
    assert.is(run('restore', at('bob'), { file, env, at: step }).signal, 'SIGKILL')
    const isNamed = unfinishedRestore(state, home) !== null
    named += Number(isNamed)
    const again = run('restore', at('bob'), { file, env })
    assert.is(/was interrupted/.test(again.stderr), isNamed, why)
    if (isNamed) {
      clear()
      assert.is(run('restore', at('bob'), { file, env }).status, 0, why)
    } else if (again.status !== 0) assert.match(again.stderr, /is not empty/, why)
    assert.equal(print(at('bob'), env), expected, why)
  }
  assert.ok(named > 0)
}

proof('a restore of a home and a state directory elsewhere', async () => {
  const places = createRoot()
  const { root, at } = places
  const [home, state] = [join(at('bob'), '.agent'), at('state')]
  const clear = () => {
    for (const dir of [at('bob'), state]) rmSync(dir, { recursive: true, force: true })
    mkdirSync(at('bob'))
  }
  await checkRestore(places, { home, state, clear })
  rmSync(root, { recursive: true })
})

proof('a restore into a home that is a volume', async () => {
  const places = createRoot()
  const { root, at } = places
  const home = join(at('bob'), '.agent')
  const disk = { now: mountSmallDisk(home) }
  if (disk.now === null) return
  const clear = () => {
    disk.now?.unmount()
    rmSync(at('bob'), { recursive: true })
    disk.now = mountSmallDisk(home)
  }
  try {
    await checkRestore(places, { home, state: join(home, 'webui'), clear })
  } finally {
    disk.now?.unmount()
    rmSync(root, { recursive: true })
  }
})

proof.run()
