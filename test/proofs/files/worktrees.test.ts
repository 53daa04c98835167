/** A worktree for a chat: created outside the repository, merged back, and never removed with work that is merged nowhere. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../../_app.ts'
import { createRepositories, git as runIn, type Repositories } from '../../_git.ts'

const world = { repositories: [] } as unknown as { app: TestApp; repositories: Repositories[] }
const PATHS: Readonly<Record<string, string>> = {
  create: '/api/git/worktree/create',
  update: '/api/git/worktree/update',
  merge: '/api/git/worktree/merge',
  remove: '/api/git/worktree/remove',
}

const test = suite('worktrees of chats')

test.before(async () => {
  world.app = await startApp()
  writeFileSync(
    join(world.app.userHome, '.gitconfig'),
    '[user]\n\tname = a\n\temail = a@example.invalid\n',
  )
})
test.after(async () => {
  await world.app.close()
  for (const each of world.repositories) each.remove()
})

const sessionIn = async (path: string): Promise<string> => {
  await world.app.post('/api/workspaces/add', { path })
  const { body } = await world.app.post('/api/session/new', { workspace: path })
  return body.session.session_id
}
const open = async () => {
  const repositories = createRepositories({ 'a.txt': 'one\n' })
  world.repositories.push(repositories)
  const { checkout } = repositories
  const session_id = await sessionIn(checkout)
  const post = (id: string, name: string, input = {}) =>
    world.app.post(PATHS[name]!, { session_id: id, ...input })
  const list = async (id = session_id) =>
    (await world.app.get(`/api/git/worktrees?session_id=${id}`)).body.worktrees
  return { checkout, session_id, post, list }
}

test('rejects names that are no branch, branches that exist, and other folders', async () => {
  const { session_id, post, checkout } = await open()
  assert.is((await post(session_id, 'create', { branch: '-x' })).status, 400)
  assert.is((await post(session_id, 'create', { branch: 'main' })).status, 409)
  assert.is((await post(session_id, 'merge')).status, 400)
  assert.is((await post(session_id, 'remove', { path: checkout, force: true })).status, 404)
})

test('works apart from the checkout, merges back, and is removed with its branch', async () => {
  const { session_id, post, list, checkout } = await open()
  writeFileSync(join(checkout, 'a.txt'), 'local\n')
  const { path } = (await post(session_id, 'create', { branch: 'topic', carry: true })).body
  assert.ok(path.startsWith(join(world.app.state, 'worktrees')))
  assert.is(readFileSync(join(path, 'a.txt'), 'utf8'), 'local\n')
  runIn(checkout, 'checkout', '-q', '--', 'a.txt')
  const chat = await sessionIn(path)
  assert.match((await post(chat, 'merge')).body.error, 'not committed')
  runIn(path, 'commit', '-qam', 'topic')
  await world.app.restart()
  const [found] = await list(chat)
  assert.equal(
    [found.branch, found.current, found.base, found.ahead, found.behind],
    ['topic', true, 'main', 1, 0],
  )
  const refused = await post(session_id, 'remove', { path })
  assert.equal([refused.body.code, refused.body.commits], ['git_unmerged', 1])
  assert.is((await post(chat, 'merge')).status, 200)
  assert.is(readFileSync(join(checkout, 'a.txt'), 'utf8'), 'local\n')
  writeFileSync(join(path, 'new.txt'), 'x')
  assert.is((await post(session_id, 'remove', { path })).body.changed, 1)
  runIn(path, 'add', '.')
  runIn(path, 'commit', '-qm', 'new')
  runIn(checkout, 'merge', '-q', 'topic')
  mkdirSync(join(checkout, '.git', 'info'), { recursive: true })
  writeFileSync(join(checkout, '.git', 'info', 'exclude'), '.env\ndata/\n')
  mkdirSync(join(path, 'data', 'deep'), { recursive: true })
  writeFileSync(join(path, 'data', 'deep', 'b.db'), 'x'.repeat(50))
  writeFileSync(join(path, '.env'), 'KEY=1')
  const { body } = await post(session_id, 'remove', { path })
  assert.equal(
    [body.code, body.commits, body.changed, body.ignored, body.largest],
    ['git_unmerged', 0, 0, 2, { path: 'data/deep/b.db', bytes: 50 }],
  )
  assert.is((await post(session_id, 'remove', { path, force: true })).status, 200)
  assert.not.ok(existsSync(path))
  assert.equal([await list(), runIn(checkout, 'branch', '--list', 'topic')], [[], ''])
})

test('leaves the checkout as it was when a merge has conflicts, which are resolved in the worktree', async () => {
  const { session_id, post, checkout } = await open()
  const { path } = (await post(session_id, 'create', { branch: 'topic' })).body
  const chat = await sessionIn(path)
  writeFileSync(join(path, 'a.txt'), 'theirs\n')
  runIn(path, 'commit', '-qam', 'theirs')
  writeFileSync(join(checkout, 'a.txt'), 'ours\n')
  runIn(checkout, 'commit', '-qam', 'ours')
  const refused = await post(chat, 'merge')
  assert.match(refused.body.error, /same lines of a\.txt/)
  assert.is(runIn(checkout, 'status', '--porcelain'), '')
  assert.is(readFileSync(join(checkout, 'a.txt'), 'utf8'), 'ours\n')
  assert.is((await post(chat, 'update')).status, 409)
  const { body } = await world.app.get(`/api/git/overview?session_id=${chat}`)
  assert.is(body.operation, 'merge')
  writeFileSync(join(path, 'a.txt'), 'both\n')
  runIn(path, 'commit', '-qam', 'both')
  assert.is((await post(chat, 'merge')).status, 200)
  assert.is(readFileSync(join(checkout, 'a.txt'), 'utf8'), 'both\n')
})

test.run()
