/**
 * What a person does in the workspace of a chat stays in that chat: each action with its request held while another chat is
 * shown, answered or refused then. Generated from the table of actions.
 */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ApiError } from '../../../public/api.ts'
import type { App, Page } from '../../../public/app.ts'
import { openSecond } from '../../../public/features/frame/second-pane.ts'
import {
  followChat,
  type WorkspacePanel,
  workspacePanelOf,
} from '../../../public/features/panel/workspace-panel.ts'
import { createPage } from '../_open-page.ts'
import { fakePlatform, fakeRow, fakeSession, settle } from '../_page.ts'

type Input = Record<string, unknown>

const terminal = (id: string) => ({
  ...{ terminal_id: id, shell: 'sh', cwd: '/', status: 'running', exit_code: null },
  ...{ cols: 80, rows: 24 },
})

/** The workspaces of `a` and `b`, whose files have the same names. */
const createServer = () => {
  const ids = ['a', 'b']
  const files = new Map(
    ids.map(id => [
      id,
      new Map([
        ['README.md', `readme of ${id}`],
        ['dir/one.txt', `one of ${id}`],
      ]),
    ]),
  )
  const terminals = new Map(ids.map(id => [id, [terminal(`t-${id}`)]]))
  const folders = new Map(ids.map(id => [id, `/w/${id}`]))
  const filesOf = (id: unknown) => files.get(String(id))!
  const put = ({ session_id: id, path, content = '' }: Input) => {
    filesOf(id).set(String(path), String(content))
    return { ok: true, path, size: String(content).length, version: `v ${content}` }
  }
  const rename = (id: unknown, from: unknown, to: string) => {
    filesOf(id).set(to, filesOf(id).get(String(from))!)
    filesOf(id).delete(String(from))
    return { ok: true, path: to }
  }
  const row = (id: unknown) => fakeRow(String(id), { workspace: folders.get(String(id)) ?? '' })
  const ok = () => ({ ok: true })
  const change = (path: string, index: string, worktree: string) => ({
    ...{ path, index, worktree, status: 'modified' },
  })
  const restored = { ok: true, restored: ['README.md'], unchanged: [], failed: [] }
  const turn = (checkpoint: string, id: unknown, undo_of: string | null = null) => ({
    ...{ checkpoint, session_id: id, message_id: 'm1', title: `turn of ${id}`, workspace: '/' },
    ...{ at: 1, ended_at: 2, undo_of, interrupted: false, notes: [], truncated: false },
    ...{ file_count: 1, added: 1, removed: 0 },
    files: [{ path: 'README.md', status: 'modified', added: 1, removed: 0 }],
  })
  const answers: Record<string, (input: Input) => unknown> = {
    'GET /api/settings': () => ({ bot_name: 'Bot', webui_version: '1', auth_enabled: false }),
    'GET /api/profile/active': () => ({ name: 'default', path: '/' }),
    'GET /api/models': () => ({ active_provider: 'p', default_model: 'm', groups: [] }),
    'GET /api/reasoning': () => ({ show_reasoning: true, reasoning_effort: 'low' }),
    'GET /api/workspaces': () => ({ workspaces: [], last: '/w' }),
    'GET /api/commands': () => ({ commands: [] }),
    'GET /api/config/problems': () => ({ problems: [], guards: [], changed: null, ignored: [] }),
    'GET /api/projects': () => ({ projects: [] }),
    'GET /api/personalities': () => ({ personalities: [] }),
    'GET /api/sessions': () => ({ sessions: ids.map(row), cursor: 'aaaaaaaa-1' }),
    'GET /api/session': ({ session_id: id }) => ({ session: fakeSession(String(id), row(id)) }),
    'GET /api/inbox': () => ({ questions: [], cursor: 'aaaaaaaa-1' }),
    'POST /api/session/new': () => ({ session: row('n') }),
    'POST /api/session/update': ({ session_id: id, workspace }) => {
      folders.set(String(id), String(workspace))
      return { session: row(id) }
    },
    'POST /api/workspaces/add': () => ({ ok: true, workspaces: [] }),

    'GET /api/list': ({ session_id: id, path }) => {
      const below = path === '.' ? '' : `${path}/`
      const names = [...filesOf(id).keys()]
        .filter(file => file.startsWith(below))
        .map(file => file.slice(below.length).split('/'))
      const entries = [...new Map(names.map(([name = '', rest]) => [name, rest]))].map(
        ([name, rest]) => ({
          ...{ name, path: below + name, size: rest === undefined ? 1 : null },
          type: rest === undefined ? 'file' : 'dir',
        }),
      )
      return { entries, path, total: entries.length }
    },
    'GET /api/file': ({ session_id: id, path }) => {
      const content = filesOf(id).get(String(path))
      if (content === undefined) throw new ApiError(404, 'File not found')
      return { path, content, size: content.length, lines: 1, version: `v ${content}` }
    },
    'POST /api/file/save': put,
    'POST /api/file/create': put,
    'POST /api/file/create-dir': input => put({ ...input, path: `${input.path}/.keep` }),
    'POST /api/file/rename': ({ session_id: id, path, new_name }) =>
      rename(id, path, String(new_name)),
    'POST /api/file/move': ({ session_id: id, path, dest_dir }) =>
      rename(id, path, `${dest_dir}/${path}`),
    'POST /api/file/delete': ({ session_id: id, path }) => {
      filesOf(id).delete(String(path))
      return { ok: true, trash_id: `trash of ${id}` }
    },
    'POST /api/file/restore': ({ session_id: id }) => put({ session_id: id, path: 'README.md' }),
    'POST /api/upload': ({ session_id: id, name, path = '' }) => {
      put({ session_id: id, path: `${path}${name}` })
      return { filename: name, path: '', size: 1 }
    },

    'GET /api/git/status': ({ session_id: id }) => ({
      ...{ is_git: true, branch: `branch of ${id}`, detached: false, upstream: 'origin/main' },
      ...{ ahead: 1, behind: 0, truncated: false },
      files: [change('README.md', ' ', 'M'), change('staged.txt', 'M', ' ')],
    }),
    'GET /api/git/diff': ({ session_id: id, path }) => ({
      ...{ path, diff: `diff of ${id}`, binary: false, truncated: false, id: `d ${id}` },
    }),
    'GET /api/git/overview': ({ session_id: id }) => ({
      ...{ branches: [], stashes: [], operation: null, last: { message: `last of ${id}` } },
    }),
    'GET /api/git/worktrees': () => ({ worktrees: [] }),
    'GET /api/git/log': ({ session_id: id }) => ({
      commits: [{ id: `c ${id}`, author: 'A', message: `commit of ${id}`, committed_at: 1 }],
      more: true,
    }),
    'GET /api/git/commit': ({ session_id: id }) => ({ diff: `diff of ${id}`, truncated: false }),
    'POST /api/git/discard': ({ path }) => ({ path, before: 'x', after: 'y' }),
    'POST /api/git/push': ({ hooks }) => {
      if (hooks) return { ok: true }
      const question = { code: 'git_hooks', hooks: { names: ['pre-push'], id: 'h1' } }
      throw new ApiError(409, 'hooks', question)
    },
    'POST /api/git/worktree/create': () => ({ ok: true, path: '/w/tree' }),
    ...Object.fromEntries(
      ['stage', 'unstage', 'undo-discard', 'commit', 'switch', 'fetch', 'pull', 'abort'].map(
        name => [`POST /api/git/${name}`, ok],
      ),
    ),

    'GET /api/terminals': ({ session_id: id }) => ({ terminals: terminals.get(String(id)) }),
    'POST /api/terminal/open': ({ session_id: id }) => {
      const made = terminal(`new-${id}`)
      terminals.set(String(id), [...terminals.get(String(id))!, made])
      return { terminal: made }
    },
    'POST /api/terminal/close': ({ session_id: id, terminal_id }) => {
      const left = terminals.get(String(id))!.filter(each => each.terminal_id !== terminal_id)
      terminals.set(String(id), left)
      return { ok: true }
    },
    'POST /api/terminal/resize': ok,

    'GET /api/processes': ({ session_id: id }) => ({
      session_id: id,
      processes: [{ process_id: `p-${id}`, command: 'c', cwd: '/', pid: 1, status: 'running' }],
    }),
    'GET /api/process/log': ({ session_id: id }) => ({ output: `log of ${id}`, truncated: false }),
    'POST /api/process/kill': ok,

    'GET /api/rollback/list': ({ session_id: id }) => ({
      session_id: id,
      checkpoints: [turn('k2', id, 'k1'), turn('k1', id)],
    }),
    'GET /api/rollback/diff': ({ session_id: id }) => ({
      ...{ diff: `diff of ${id}`, binary: false, truncated: false, undone: [] },
    }),
    'POST /api/rollback/restore': ({ force, paths }) => {
      if (paths && !force) throw new ApiError(409, 'changed', { conflicts: ['README.md'] })
      return { ...restored, checkpoint: 'k2' }
    },
  }
  return { answers, files, terminals, folders }
}

type Hold = { route: string; until: Promise<void>; begun: () => void; fails: boolean }

const openPage = async (href = 'session/a') => {
  const server = createServer()
  const holds: Hold[] = []
  const fake = fakePlatform(
    Object.fromEntries(
      Object.entries(server.answers).map(([route, answer]) => [
        route,
        async (input: Input) => {
          const hold = holds.find(each => each.route === route)
          if (hold) {
            holds.splice(holds.indexOf(hold), 1)
            hold.begun()
            await hold.until
            if (hold.fails) throw new ApiError(500, 'refused')
          }
          return answer(input)
        },
      ]),
    ),
  )
  const { page, start } = createPage(fake.platform, href)
  await start()
  page.first.panel.show()
  let leave = (): void => undefined
  /** Shows a chat and its panel, as the views do. */
  const view = async (id: string): Promise<WorkspacePanel> => {
    page.shell.route.openSession(id)
    await settle()
    leave()
    const app = page.first.app.peek()
    const workspace = workspacePanelOf(app)
    leave = followChat(app, workspace)
    await settle()
    return workspace
  }
  return { page, server, holds, view, ...fake }
}

type Opened = Awaited<ReturnType<typeof openPage>>

/** All that is shown of a workspace. */
const stateOf = ({ files, openFile, uploads, changes, git, turns, ...more }: WorkspacePanel) => {
  const { processes } = more
  const values = {
    ...{ rows: files.rows.value, active: files.active.value, naming: files.naming.value },
    ...{ doc: openFile.doc.value, uploads: uploads.list.value },
    ...{ status: changes.status.value, changesState: changes.state.value },
    ...{ diffs: [...changes.diffs.value], open: [...changes.openKeys.value] },
    ...{ overview: git.overview.value, busy: git.busy.value, message: git.message.value },
    hooks: git.hookQuestion.value?.names ?? null,
    ...{ log: git.history.list.value, commits: [...git.history.diffs.value] },
    ...{ turns: turns.list.value, turnDiffs: [...turns.diffs.value] },
    ...{ processes: processes.list.value, logs: [...processes.logs.value] },
  }
  return structuredClone(values)
}

type State = ReturnType<typeof stateOf>
type Act = (given: {
  w: WorkspacePanel
  page: Page
  app: App
  answer: () => unknown
  press: () => void
}) => unknown

type Action = {
  name: string
  /** The request that is held. */
  route: string
  /** In the first chat, before the other one is shown. */
  act: Act
  /** In place of `act`: what a notice of the first chat leads to while the other one is shown. */
  late?: Act
  /** What the first chat shows in the end. */
  shows: (state: State) => unknown
  is: unknown
}

const readme = { path: 'README.md', line: null }
const [unstaged, staged] = [
  { key: 'unstaged:README.md', path: 'README.md', from: null, kind: 'unstaged' },
  { key: 'staged:staged.txt', path: 'staged.txt', from: null, kind: 'staged' },
].map(change => ({ ...change, mark: 'modified' }) as Parameters<WorkspacePanel['git']['move']>[0])
const namesOf = ({ rows }: State) => rows.map(({ path }) => path)
const edit: Act = async ({ w }) => {
  w.openFile.open(readme)
  await settle()
  w.openFile.setMode('edit')
  w.openFile.edit('mine')
}
const fileOf = ({ doc }: State) => doc && [doc.path, doc.state, doc.content, doc.saving]
const committed: Act = ({ w }) => {
  w.git.message.value = 'Fix it'
  return w.git.commit()
}
const git = (name: string, route: string, act: Act): Action => ({
  ...{ name: `git: ${name}`, route: `POST /api/git/${route}`, act },
  shows: state => [state.busy, state.status?.branch],
  is: ['', 'branch of a'],
})

const actions: Action[] = [
  {
    ...{ name: 'files: list', route: 'GET /api/list', act: ({ w }) => w.files.open('dir') },
    ...{ shows: namesOf, is: ['README.md', 'dir', 'dir/one.txt'] },
  },
  {
    ...{ name: 'file: load', route: 'GET /api/file', act: ({ w }) => w.openFile.open(readme) },
    ...{ shows: fileOf, is: ['README.md', 'ready', 'readme of a', false] },
  },
  {
    ...{ name: 'file: reload', route: 'GET /api/file', shows: fileOf },
    async act({ w }) {
      w.openFile.open(readme)
      await settle()
      await w.openFile.saver.loadFromDisk()
    },
    is: ['README.md', 'ready', 'readme of a', false],
  },
  {
    ...{ name: 'file: save', route: 'POST /api/file/save', shows: fileOf },
    async act(given) {
      await edit(given)
      await given.w.openFile.saver.save()
    },
    is: ['README.md', 'ready', 'mine', false],
  },
  {
    ...{ name: 'file: rename', route: 'POST /api/file/rename', shows: fileOf },
    async act(given) {
      await edit(given)
      await given.w.files.rename('README.md', 'NEW.md')
    },
    is: ['NEW.md', 'ready', 'readme of a', false],
  },
  {
    ...{ name: 'file: move', route: 'POST /api/file/move' },
    act: ({ w }) => w.files.move('README.md', 'dir'),
    ...{ shows: ({ active }) => active, is: 'dir/README.md' },
  },
  {
    ...{ name: 'file: delete', route: 'POST /api/file/delete' },
    act: ({ w }) => w.files.remove('README.md', 'file'),
    ...{ shows: namesOf, is: ['dir'] },
  },
  {
    ...{ name: 'file: undo deletion', route: 'POST /api/file/restore' },
    act: ({ w }) => w.files.remove('README.md', 'file'),
    late: ({ press }) => press(),
    ...{ shows: namesOf, is: ['dir', 'README.md'] },
  },
  {
    ...{ name: 'file: create', route: 'POST /api/file/create' },
    act: ({ w }) => w.files.create('file', '', 'new.txt'),
    ...{ shows: ({ active }) => active, is: 'new.txt' },
  },
  {
    ...{ name: 'files: create a folder', route: 'POST /api/file/create-dir' },
    act: ({ w }) => w.files.create('dir', '', 'sub'),
    ...{ shows: namesOf, is: ['README.md', 'dir', 'sub'] },
  },
  {
    ...{ name: 'files: upload', route: 'POST /api/upload' },
    act: ({ w }) => w.uploads.add([new File(['1'], 'one'), new File(['2'], 'two')], ''),
    shows: state => [namesOf(state), state.uploads.length],
    is: [['README.md', 'dir', 'one', 'two'], 0],
  },
  git('stage', 'stage', ({ w }) => w.git.move(unstaged!)),
  git('stage all', 'stage', ({ w }) => w.git.moveAll([unstaged!])),
  git('unstage', 'unstage', ({ w }) => w.git.move(staged!)),
  git('discard', 'discard', ({ w }) => w.git.discard(unstaged!)),
  {
    ...git('undo discard', 'undo-discard', ({ w }) => w.git.discard(unstaged!)),
    late: ({ press }) => press(),
  },
  { ...git('commit', 'commit', committed), shows: ({ message }) => message, is: '' },
  git('switch', 'switch', ({ w }) => w.git.switchTo('other', false)),
  git('create a branch', 'switch', ({ w }) => w.git.createBranch('other')),
  git('fetch', 'fetch', ({ w }) => w.git.fetch()),
  git('pull', 'pull', ({ w }) => w.git.pull('origin/main')),
  {
    ...git('push, which asks about hooks', 'push', ({ w }) => w.git.push()),
    ...{ shows: ({ hooks, busy }) => [hooks, busy], is: [['pre-push'], ''] },
  },
  git('abort', 'abort', ({ w, answer }) => {
    w.git.abort('merge')
    return answer()
  }),
  {
    ...git('create a worktree', 'worktree/create', ({ w }) => w.git.worktrees.create('x', false)),
    ...{ shows: ({ busy }) => busy, is: '' },
  },
  {
    ...{ name: 'git: history', route: 'GET /api/git/log' },
    act: ({ w }) => w.git.history.load(true),
    ...{ shows: ({ log }) => log?.commits.map(({ message }) => message), is: ['commit of a'] },
  },
  {
    ...{ name: 'git: show a commit', route: 'GET /api/git/commit' },
    act: ({ w }) => w.git.history.toggle('c a'),
    shows: ({ commits }) => commits,
    is: [['c a', { diff: 'diff of a', truncated: false }]],
  },
  {
    ...{ name: 'git: diff', route: 'GET /api/git/diff' },
    act: ({ w }) => w.changes.toggle(unstaged!),
    shows: ({ diffs }) => diffs.map(([key, { diff }]) => [key, diff]),
    is: [['unstaged:README.md', 'diff of a']],
  },
  {
    ...{ name: 'process: end', route: 'POST /api/process/kill' },
    act: ({ w }) => w.processes.kill(w.processes.list.value[0]!),
    ...{ shows: ({ processes }) => processes.map(each => each.process_id), is: ['p-a'] },
  },
  {
    ...{ name: 'process: output', route: 'GET /api/process/log' },
    act: ({ w }) => w.processes.toggleLog('p-a'),
    ...{ shows: ({ logs }) => logs, is: [['p-a', { state: 'ready', text: 'log of a' }]] },
  },
  {
    ...{ name: 'turn: undo', route: 'POST /api/rollback/restore' },
    act({ w, answer }) {
      w.turns.undo(w.turns.list.value[1]!)
      return answer()
    },
    ...{ shows: ({ turns }) => turns.map(({ title }) => title), is: ['turn of a', 'turn of a'] },
  },
  {
    ...{ name: 'turn: take the undo back', route: 'POST /api/rollback/restore' },
    act({ w, answer }) {
      w.turns.undo(w.turns.list.value[1]!)
      return answer()
    },
    late: ({ press }) => press(),
    ...{ shows: ({ turns }) => turns.map(({ title }) => title), is: ['turn of a', 'turn of a'] },
  },
  {
    ...{ name: 'turn: diff', route: 'GET /api/rollback/diff' },
    act({ w }) {
      const [turn] = w.turns.list.value
      return w.turns.toggleFile(turn!, turn!.files[0]!)
    },
    ...{ shows: ({ turnDiffs }) => turnDiffs.map(([, { diff }]) => diff), is: ['diff of a'] },
  },
]

const answerQuestion = async ({ shell: { layout } }: Page): Promise<void> => {
  const question = layout.confirmation.value
  layout.confirmation.value = null
  await question?.run()
}

const questionOf = ({ shell: { layout } }: Page): string => layout.confirmation.peek()?.text ?? ''

const pressNewest = ({ shell: { toasts } }: Page): void => {
  const found = toasts.list.value.findLast(({ action }) => action)
  assert.ok(found, 'a notice offers an action')
  found.action?.run()
}

/** Runs an action with its request held until the other chat is shown; returns what the first one shows then. */
const runHeld = async (opened: Opened, action: Action, fails: boolean) => {
  const { page, service, holds, view } = opened
  const other = await view('b')
  other.openFile.open(readme)
  other.files.open('dir')
  other.git.message.value = 'message of b'
  await settle()
  const w = await view('a')
  const released = Promise.withResolvers<void>()
  let hasBegun = false
  const begun = () => {
    hasBegun = true
  }
  const hold = { route: action.route, until: released.promise, begun, fails }
  const given = {
    ...{ w, page, app: page.first.app.peek() },
    answer: () => answerQuestion(page),
    press: () => pressNewest(page),
  }
  const start = service.calls.length
  const begin = (act: Act) => Promise.resolve(act(given)).catch(page.shell.toasts.showError)
  if (action.late) {
    await begin(action.act)
    await settle()
    await view('b')
    holds.push(hold)
    void begin(action.late)
    await settle()
  } else {
    // What the action loads before the request that is held is not held.
    if (action.name === 'file: reload') w.openFile.open(readme)
    await settle()
    holds.push(hold)
    void begin(action.act)
    await settle()
    await view('b')
  }
  assert.ok(hasBegun, 'the request was sent')
  const before = stateOf(other)
  const shown = service.calls.length
  released.resolve()
  await settle()
  await settle()
  const isOfA = ({ input }: { input: Input }) => input.session_id === 'a'
  const elsewhere = (from: number) => service.calls.slice(from).filter(call => !isOfA(call))
  assert.equal(
    elsewhere(start).filter(({ route }) => route.startsWith('POST') && !/workspaces/.test(route)),
    [],
    'every change names the first chat',
  )
  assert.equal(
    elsewhere(shown).filter(({ route }) => !/workspaces/.test(route)),
    [],
    'nothing is asked about the other chat',
  )
  assert.equal(stateOf(other), before, 'the other chat is as it was')
  assert.is(questionOf(page), '')
  const again = await view('a')
  assert.is(again, w)
  return stateOf(again)
}

const answered = suite('workspace of a chat: answered while another one is shown')
for (const action of actions)
  answered(action.name, async () => {
    const state = await runHeld(await openPage(), action, false)
    assert.equal(action.shows(state), action.is)
  })
answered.run()

const refused = suite('workspace of a chat: refused while another one is shown')
for (const action of actions)
  refused(action.name, async () => {
    const state = await runHeld(await openPage(), action, true)
    assert.equal([state.busy, state.uploads, state.doc?.saving ?? false], ['', [], false])
    assert.equal(state.status?.branch, 'branch of a')
  })
refused.run()

const test = suite('workspace of a chat')

test('a question about hooks waits in its chat, and its answer pushes that repository', async () => {
  const { view, service } = await openPage()
  const w = await view('a')
  await view('b')
  void w.git.push()
  await settle()
  const other = await view('b')
  assert.is(other.git.hookQuestion.value, null)
  await view('a')
  w.git.hookQuestion.value?.go('skip')
  await view('b')
  assert.equal(service.of('POST /api/git/push'), [
    { session_id: 'a' },
    { session_id: 'a', hooks: 'skip' },
  ])
})

test('a commit message stays in its chat; what is written during a commit is kept', async () => {
  const { view, holds } = await openPage()
  const w = await view('a')
  const until = Promise.withResolvers<void>()
  holds.push({
    ...{ route: 'POST /api/git/commit', until: until.promise, begun: () => {}, fails: false },
  })
  w.git.message.value = 'one'
  const done = w.git.commit()
  w.git.message.value = 'two'
  const other = await view('b')
  until.resolve()
  await done
  assert.equal([w.git.message.value, other.git.message.value], ['two', ''])
})

test('asks about a conflict when its chat is shown again', async () => {
  const { view, page, clock } = await openPage()
  const w = await view('a')
  const [turn] = w.turns.list.value
  w.turns.undoFile(turn!, turn!.files[0]!)
  const { value: question } = page.shell.layout.confirmation
  page.shell.layout.confirmation.value = null
  const running = question?.run()
  await view('b')
  await running
  await clock.advance(1)
  assert.is(questionOf(page), '')
  await view('a')
  assert.match(questionOf(page), /README\.md/)
})

test('nothing runs for a chat that is not shown; shown again, it reads what has changed', async () => {
  const { view, service, clock, server } = await openPage()
  const w = await view('a')
  await view('b')
  const from = service.calls.length
  await clock.advance(60_000)
  const asked = service.calls.slice(from).map(({ input }) => input.session_id)
  assert.ok(asked.length > 0 && asked.every(id => id === 'b'))
  server.files.get('a')!.set('new.txt', '')
  await view('a')
  assert.equal(namesOf(stateOf(w)), ['README.md', 'dir', 'new.txt'])
})

test('another workspace of the same session: reads it, and writes nothing of the old one into it', async () => {
  const { view, page, service, server } = await openPage()
  const w = await view('a')
  w.files.open('dir')
  w.changes.toggle(unstaged!)
  w.git.message.value = 'Fix it'
  void w.git.push()
  w.openFile.open(readme)
  await settle()
  w.openFile.setMode('edit')
  w.openFile.edit('mine')
  server.files.set('a', new Map([['README.md', 'another file']]))
  await page.first.app.peek().chat.choices.chooseWorkspace('/w/other')
  await settle()
  const state = stateOf(w)
  assert.equal([namesOf(state), state.open, state.hooks], [['README.md'], [], null])
  assert.equal([state.doc?.isMoved, state.doc?.draft, state.message], [true, 'mine', 'Fix it'])
  await w.openFile.saver.save()
  await w.openFile.saver.overwrite()
  assert.equal(service.of('POST /api/file/save'), [])
  assert.is(service.of('POST /api/git/push').length, 1)
})

test('a workspace that changed while another chat was shown', async () => {
  const { view, server } = await openPage()
  const w = await view('a')
  w.openFile.open(readme)
  w.files.open('dir')
  await settle()
  await view('b')
  server.files.set('a', new Map([['README.md', 'another file']]))
  server.folders.set('a', '/w/other')
  await view('a')
  const state = stateOf(w)
  assert.equal([namesOf(state), state.doc?.content], [['README.md'], 'another file'])
})

test('opens the file of a link, undoes the turn of a command, and names the file in the address', async () => {
  const { view, page } = await openPage()
  await view('a')
  const app = page.first.app.peek()
  app.panel.openFile('/w/a/dir/one.txt', 2)
  app.panel.rollback.value = 1
  await settle()
  const w = workspacePanelOf(app)
  assert.equal([w.openFile.doc.value?.path, w.openFile.doc.value?.line], ['dir/one.txt', 2])
  assert.match(questionOf(page), /turn of a/)
  assert.is(app.panel.rollback.value, 0)
})

test('a chat that is shown on the other side is the same there', async () => {
  const { view, page } = await openPage()
  const w = await view('a')
  w.git.message.value = 'Fix it'
  await view('b')
  const second = openSecond(page)
  page.shell.route.openBeside('a')
  await settle()
  assert.is(workspacePanelOf(second.app.peek()), w)
})

test('of many chats the latest are kept, and those in which something is only here', async () => {
  const { page, view } = await openPage()
  const typed = page.chats.get('typed')
  typed.draft.edit('half a thought')
  const committing = page.chats.get('committing')
  await view('committing')
  committing.panel.contents.peek()!.git.message.value = 'Fix the'
  for (let n = 0; n < 30; n += 1) await view(`s${n}`)
  const kept = page.chats.all()
  assert.ok(kept.includes(typed) && kept.includes(committing))
  assert.ok(page.chats.find('s28') && !page.chats.find('s2'))
  assert.ok(kept.length <= 25, `${kept.length}`)
})

test.run()
