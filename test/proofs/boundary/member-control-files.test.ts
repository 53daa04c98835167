/**
 * A member replaces no file that decides about the agent, also not by a request that does not name it: every endpoint for
 * members that changes files of a workspace, with a real repository that has the script of a hook.
 */
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { AnyEndpoint } from '../../../lib/http/endpoint.ts'
import { routes } from '../../../router.ts'
import { startApp, type TestApp } from '../../_app.ts'
import { createRepositories, git, type Repositories, writeFiles } from '../../_git.ts'
import { PASSWORD, setPerson, signIn } from '../../_people.ts'
import { createProvider } from '../../_provider.ts'

type Headers = { headers: { cookie: string } }
type Context = {
  app: TestApp
  owner: Headers
  member: Headers
  repositories: Repositories[]
  close: () => Promise<void>
}

/** Paths of hooks are those of the workspace. */
const SCRIPT = 'tools/check.sh'
const FILES = { [SCRIPT]: 'true\n', 'a.txt': 'one\n', 'tools/other.sh': 'other\n' }

const test = suite<Context>('control files and members')
const configOf = (app: TestApp) => join(app.home, 'profiles', 'team', 'config.yaml')
const write = (dir: string, path: string, text: string) => writeFiles(dir, { [path]: text })

test.before(async context => {
  const provider = await createProvider()
  const app = await startApp({ env: { AGENT_WEBUI_PASSWORD: PASSWORD } })
  await setPerson(app, { name: 'Mia', role: 'member', profiles: ['team'] })
  const { headers } = await signIn(app)
  await app.post('/api/profile/create', { name: 'team' }, { headers })
  Object.assign(context, {
    app,
    owner: { headers: { cookie: `${headers.cookie}; agent_profile=team` } },
    member: await signIn(app, 'Mia'),
    repositories: [],
    close: () => Promise.all([app.close(), provider.close()]),
  })
  writeFileSync(
    join(app.userHome, '.gitconfig'),
    '[user]\n\tname = a\n\temail = a@example.invalid\n[merge]\n\tautoStash = true\n',
  )
  const model = { provider: 'custom', base_url: provider.url, default: 'test-model' }
  const hooks = { pre_tool_call: [{ command: `sh ${SCRIPT}` }, { command: 'sh made.sh' }] }
  writeFileSync(configOf(app), JSON.stringify({ model }))
  await recordTurn(context, provider)
  writeFileSync(configOf(app), JSON.stringify({ model, hooks }))
})
test.after(async ({ close, repositories }) => {
  await close()
  for (const each of repositories) each.remove()
})

const sessionIn = async ({ app, owner }: Context, path: string): Promise<string> => {
  await app.post('/api/workspaces/add', { path }, owner)
  return (await app.post('/api/session/new', { workspace: path }, owner)).body.session.session_id
}

let turn: { session_id: string; checkpoint: string; dir: string }

/** A turn that wrote what becomes the script of a hook later. */
const recordTurn = async (
  context: Context,
  provider: Awaited<ReturnType<typeof createProvider>>,
) => {
  const { app, owner } = context
  const dir = join(app.userHome, 'project')
  mkdirSync(dir)
  const session_id = await sessionIn(context, dir)
  const calls = ['made.sh', 'b.txt'].map(path => ({
    id: path,
    name: 'write_file',
    arguments: { path, content: 'made\n' },
  }))
  provider.push({ toolCalls: calls }, { text: 'done' })
  const { body } = await app.post('/api/chat/start', { session_id, message: 'write' }, owner)
  const stream = `/api/chat/stream?stream_id=${body.stream_id}`
  for await (const { event } of app.events(stream, owner)) if (event === 'stream_end') break
  const list = await app.get(`/api/rollback/list?session_id=${session_id}`, owner)
  turn = { session_id, checkpoint: list.body.checkpoints[0].checkpoint, dir }
}

type Place = {
  dir: string
  session_id: string
  run: (...args: string[]) => string
  /** In the clone whose pushes the remote gets. */
  push: Repositories['push']
  /** By the owner. */
  post: (path: string, input?: object) => ReturnType<TestApp['post']>
}
/** Prepares a request, and returns what it sends. `path` is the file that it would change. */
type Prepare = (place: Place, path: string) => Promise<object> | object

const branch: Prepare = ({ dir, run }, path) => {
  run('switch', '-qc', 'side')
  write(dir, path, 'changed\n')
  run('add', '-A')
  run('commit', '-qm', 'side')
  run('switch', '-q', 'main')
  return { name: 'side' }
}

const changed: Prepare = ({ dir }, path) => {
  write(dir, path, 'local\n')
  return {}
}

const deleted: Prepare = async ({ post, session_id }, path) => {
  const { body } = await post('/api/file/delete', { session_id, path, recursive: true })
  return { trash_id: body.trash_id }
}

const remoteBranch: Prepare = ({ run, ...place }, path) => {
  branch({ run, ...place }, path)
  run('update-ref', 'refs/remotes/origin/far', 'side')
  return { name: 'origin/far', remote: true }
}

/** A merge that stopped at a conflict and had changed the file before. */
const conflict: Prepare = ({ dir, run }, path) => {
  run('switch', '-qc', 'side')
  writeFiles(dir, { [path]: 'side\n', 'clash.txt': 'side\n' })
  run('add', '-A')
  run('commit', '-qm', 'side')
  run('switch', '-q', 'main')
  write(dir, 'clash.txt', 'main\n')
  run('add', '-A')
  run('commit', '-qm', 'main')
  assert.throws(() => run('merge', 'side'))
  return {}
}

const discarded: Prepare = async (place, path) => {
  const { dir, post, session_id } = place
  write(dir, path, 'local\n')
  const { body } = await post('/api/git/discard', { session_id, path })
  return body
}

const named =
  (input: object = {}): Prepare =>
  (_, path) => ({ path, ...input })

/** Every endpoint for members that changes files of a workspace. */
const CASES: Readonly<Record<string, Readonly<Record<string, Prepare>>>> = {
  'POST /api/file/save': { name: named({ content: 'x' }) },
  'POST /api/file/create': {
    name: ({ dir }, path) => {
      rmSync(join(dir, path))
      return { path, content: 'x' }
    },
  },
  'POST /api/file/create-dir': {
    name: ({ dir }, path) => {
      rmSync(join(dir, path))
      return { path }
    },
  },
  'POST /api/file/rename': { name: named({ new_name: 'b' }) },
  'POST /api/file/move': {
    name: ({ dir }, path) => {
      mkdirSync(join(dir, 'sub'))
      return { path, dest_dir: 'sub' }
    },
  },
  'POST /api/file/delete': { name: named() },
  'POST /api/file/restore': {
    file: deleted,
    folder: (place, path) => deleted(place, path === SCRIPT ? 'tools' : path),
  },
  'POST /api/git/discard': {
    'whole file': (place, path) => {
      changed(place, path)
      return { path }
    },
  },
  'POST /api/git/undo-discard': { file: discarded },
  'POST /api/git/switch': {
    branch,
    'branch of a remote': remoteBranch,
  },
  'POST /api/git/pull': {
    commit: ({ push }, path) => {
      push({ [path]: 'pulled\n' })
      return {}
    },
  },
  'POST /api/git/abort': {
    merge: conflict,
    rebase: ({ dir, run }, path) => {
      conflict({ dir, run } as Place, path)
      run('merge', '--abort')
      assert.throws(() => run('rebase', 'side'))
      return {}
    },
    'cherry-pick': ({ dir, run }, path) => {
      conflict({ dir, run } as Place, path)
      run('merge', '--abort')
      assert.throws(() => run('cherry-pick', 'side'))
      return {}
    },
  },
}

/** Endpoints with tests of their own below; of an import, in `handlers/imports`. */
const APART = [
  'POST /api/import',
  'POST /api/git/worktree/update',
  'POST /api/git/worktree/merge',
  'POST /api/rollback/restore',
  'POST /api/upload',
]

/** For members, but they change no file of a workspace: those of the service, the index, branches, a turn, a task. */
const ELSEWHERE = `
  notifications/mute models/live models/refresh personality/set memory workspaces/facts media/remote git/stage git/unstage
  git/commit git/fetch git/push process/kill crons/create crons/update crons/delete crons/run crons/pause
  crons/resume crons/preview session/import session/import_cli session/new session/rename session/update session/delete
  session/restore session/clear session/compress session/uncompress session/truncate session/retry session/undo session/version session/pin
  session/archive session/duplicate session/branch session/draft session/move chat/start chat/steer chat/interrupt queue/add
  queue/edit queue/remove queue/reorder queue/send btw background session/mode session/yolo session/agent/open
  session/agent/sessions session/agent/adopt chat/cancel chat/retry chat transcribe tts approval/respond clarify/respond
  import
`

test('every endpoint for members is known to change files or not to', () => {
  const keys = Object.entries(routes as Record<string, AnyEndpoint>)
    .filter(([, { access, byToken }]) => access === 'work' && !byToken)
    .map(([key]) => key)
  const other = new Set(ELSEWHERE.trim().split(/\s+/))
  const known = (key: string) =>
    key in CASES || APART.includes(key) || other.has(key.replace(/^\w+ \/api\//, ''))
  assert.equal(
    keys.filter(key => !known(key)),
    [],
  )
})

const open = async (context: Context): Promise<Place> => {
  const made = createRepositories(FILES)
  context.repositories.push(made)
  const { checkout: dir, push } = made
  const { app, owner } = context
  return {
    dir,
    session_id: await sessionIn(context, dir),
    run: (...args) => git(dir, ...args),
    push,
    post: (path, input) => app.post(path, input, owner),
  }
}

const textAt = (dir: string, path: string): string | null =>
  existsSync(join(dir, path)) ? readFileSync(join(dir, path), 'utf8') : null

const REFUSED = [403, 'control_file']
const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [
  status,
  body.code,
]

/** Without a process for each: the branches are loose files. */
const stateOf = (dir: string, path: string) =>
  [path, '.git/HEAD', '.git/refs/heads/main'].map(each => textAt(dir, each))

for (const [key, ways] of Object.entries(CASES))
  for (const [n, [way, prepare]] of Object.entries(ways).entries())
    test(`${key} (${way}) changes another file, and not the script of a hook`, async context => {
      const { app, member } = context
      // That others are changed is the same for every way.
      for (const path of n === 0 ? [SCRIPT, 'a.txt'] : [SCRIPT]) {
        const place = await open(context)
        const input = { session_id: place.session_id, ...(await prepare(place, path)) }
        const before = stateOf(place.dir, path)
        const answer = await app.post(key.replace('POST ', ''), input, member)
        const isScript = path === SCRIPT
        assert.is(answer.status, isScript ? 403 : 200, `${path}: ${answer.text}`)
        if (!isScript) continue
        assert.is(answer.body.code, 'control_file')
        assert.match(answer.body.error, way === 'folder' ? 'tools' : SCRIPT)
        assert.equal(stateOf(place.dir, path), before, 'nothing changed')
      }
    })

test('a script is also what links, other names, and a folder in its place lead to', async context => {
  const { app, member } = context
  const { dir, session_id, run } = await open(context)
  const post = (path: string, input: object) => app.post(path, { session_id, ...input }, member)
  const isRefused = async (path: string, input: object) =>
    assert.equal(codeOf(await post(path, input)), REFUSED, JSON.stringify(input))
  const save = (path: string) => ({ path, content: 'x' })
  linkSync(join(dir, SCRIPT), join(dir, 'second.sh'))
  await isRefused('/api/file/save', save('second.sh'))
  symlinkSync(SCRIPT, join(dir, 'linked.sh'))
  await isRefused('/api/file/save', save('linked.sh'))
  await isRefused('/api/file/create', save('tools/CHECK.SH'))
  // The folder of the script becomes a link, and is a link whose target changes.
  run('switch', '-qc', 'link')
  run('rm', '-rqf', 'tools')
  mkdirSync(join(dir, 'elsewhere'))
  writeFileSync(join(dir, 'elsewhere', 'check.sh'), 'evil\n')
  rmSync(join(dir, 'second.sh'))
  rmSync(join(dir, 'linked.sh'))
  symlinkSync('elsewhere', join(dir, 'tools'))
  run('add', '-A')
  run('commit', '-qm', 'link')
  run('switch', '-qc', 'target')
  writeFileSync(join(dir, 'elsewhere', 'check.sh'), 'worse\n')
  run('commit', '-qam', 'target')
  run('switch', '-q', 'main')
  await isRefused('/api/git/switch', { name: 'link' })
  run('switch', '-q', 'link')
  await isRefused('/api/git/switch', { name: 'target' })
  assert.is(readFileSync(join(dir, SCRIPT), 'utf8'), 'evil\n')
  // A file below the link: git would put a folder in its place.
  run('switch', '-q', 'main')
  run('switch', '-qc', 'below')
  write(dir, 'lib/x.txt', 'x\n')
  run('add', '-A')
  run('commit', '-qm', 'below')
  run('switch', '-q', 'main')
  rmSync(join(dir, 'tools'), { recursive: true })
  mkdirSync(join(dir, 'lib'))
  writeFileSync(join(dir, 'lib', 'check.sh'), 'kept\n')
  symlinkSync('lib', join(dir, 'tools'))
  assert.is((await post('/api/git/switch', { name: 'below' })).status, 200)
})

test('a worktree of a chat: its files are changed, and no script comes or goes by a merge', async context => {
  const { app, member } = context
  for (const path of [SCRIPT, 'a.txt']) {
    const place = await open(context)
    const created = { session_id: place.session_id, branch: 'topic' }
    const { path: dir } = (await place.post('/api/git/worktree/create', created)).body
    const chat = await sessionIn(context, dir)
    const post = (name: string, input: object = {}) =>
      app.post(name, { session_id: chat, ...input }, member)
    const saved = await post('/api/file/create', { path: 'b.txt', content: 'b' })
    assert.is(saved.status, 200, saved.text)
    git(dir, 'add', '-A')
    git(dir, 'commit', '-qm', 'b')
    write(place.dir, path, 'base\n')
    place.run('commit', '-qam', 'base')
    const wanted = path === SCRIPT ? REFUSED : [200, undefined]
    assert.equal(codeOf(await post('/api/git/worktree/update')), wanted, path)
    // What only the main checkout has changed is no change of a merge into it.
    assert.equal(codeOf(await post('/api/git/worktree/merge')), [200, undefined], path)
    write(dir, path, 'topic\n')
    git(dir, 'commit', '-qam', 'topic')
    git(dir, 'merge', '-q', '-X', 'ours', 'main')
    const before = place.run('rev-parse', 'HEAD')
    assert.equal(codeOf(await post('/api/git/worktree/merge')), wanted, path)
    assert.is(place.run('rev-parse', 'HEAD') === before, path === SCRIPT)
  }
})

test('a checkpoint is restored without the script, and an upload gets no name of one', async context => {
  const { app, member } = context
  const { dir, ...input } = turn
  const restore = (more: object = {}) =>
    app.post('/api/rollback/restore', { ...input, ...more }, member)
  assert.equal(codeOf(await restore()), REFUSED)
  assert.equal(codeOf(await restore({ paths: ['made.sh'], force: true })), REFUSED)
  assert.equal([textAt(dir, 'made.sh'), textAt(dir, 'b.txt')], ['made\n', 'made\n'])
  assert.is((await restore({ paths: ['b.txt'] })).status, 200)
  assert.equal([textAt(dir, 'made.sh'), textAt(dir, 'b.txt')], ['made\n', null])
  rmSync(join(dir, 'made.sh'))
  const upload = (name: string, path?: string) => {
    const form = new FormData()
    form.set('session_id', input.session_id)
    if (path) form.set('path', path)
    form.set('file', new File(['evil'], name))
    return fetch(`${app.url}/api/upload`, { method: 'POST', body: form, ...member })
  }
  for (const [name, path] of [['made.sh'], ['check.sh', 'tools']] as const)
    assert.is((await upload(name, path)).status, 403, name)
  assert.not.ok(existsSync(join(dir, 'made.sh')))
  assert.is((await upload('check.sh')).status, 200)
  assert.is((await upload('other.sh', 'tools')).status, 200)
})

test('the hooks of another profile count in a folder that both use', async context => {
  const { app, member } = context
  const { dir, session_id } = await open(context)
  write(dir, 'shared.sh', 'true\n')
  const hooks = { pre_tool_call: [{ command: join(dir, 'shared.sh') }] }
  writeFileSync(join(app.home, 'config.yaml'), JSON.stringify({ hooks }))
  const input = { session_id, path: 'shared.sh', content: 'false' }
  assert.equal(codeOf(await app.post('/api/file/save', input, member)), REFUSED)
})

test.run()
