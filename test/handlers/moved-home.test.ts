/** An installation that was restored or copied elsewhere: every chat goes on, and nothing refers to the former place. */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { makeBackup } from '../../lib/backups/backup.ts'
import { restoreBackup } from '../../lib/backups/restore.ts'
import { backupPlaces } from '../../lib/app/backup-places.ts'
import { readConfig } from '../../lib/config.ts'
import { createHomes } from '../../lib/profiles/homes.ts'
import { systemClock } from '../../lib/base/clock.ts'
import { startApp } from '../_app.ts'
import { git, writeFiles } from '../_git.ts'
import { startChat } from './_chat.ts'

const test = suite('a moved home')

type Chat = Awaited<ReturnType<typeof startChat>>

/** A folder beside the user's home, as that of another user. */
const otherUser = (chat: Chat) => `${chat.app.userHome}-other`

const fill = async (chat: Chat) => {
  const { app } = chat
  const folders = {
    own: join(app.state, 'workspace'),
    inHome: join(app.home, 'projects', 'a'),
    inUserHome: join(app.userHome, 'code'),
    gone: join(app.userHome, 'gone'),
  }
  const sessions: Record<string, string> = {}
  for (const [name, dir] of Object.entries(folders)) {
    mkdirSync(dir, { recursive: true })
    const { body } = await app.post('/api/session/new', { workspace: dir })
    const id: string = body.session.session_id
    sessions[name] = id
    chat.provider.push({ text: 'Done.' }, { text: name })
    await chat.turn(id, `Work in ${name}.`)
  }
  await app.post('/api/workspaces/add', { path: folders.inHome, name: 'A' })
  mkdirSync(join(app.home, 'cron'), { recursive: true })
  writeFileSync(
    join(app.home, 'cron', 'jobs.json'),
    `{"jobs":[{"id":"j1","name":"j","prompt":"p","n":1.50,"workdir":${JSON.stringify(folders.inHome)}}]}`,
  )
  return { folders, sessions }
}

/** Every old chat and a new one answer, in folders of the new place. */
const goesOn = async (
  app: Awaited<ReturnType<typeof startApp>>,
  chat: Chat,
  sessions: Record<string, string>,
  expected: Record<string, string>,
) => {
  for (const [name, id] of Object.entries(sessions)) {
    const { session } = (await app.get(`/api/session?session_id=${id}`)).body
    assert.is(session.workspace, expected[name], name)
    chat.provider.push({ text: 'Again.' })
    const { status, body } = await app.post('/api/chat/start', {
      session_id: id,
      message: 'Go on.',
    })
    assert.is(status, 200, `${name}: ${body.error}`)
    for await (const event of app.events(`/api/chat/stream?stream_id=${body.stream_id}`))
      if (event.event === 'stream_end') break
  }
  const { body } = await app.post('/api/session/new', {})
  chat.provider.push({ text: 'New.' }, { text: 'New' })
  const started = await app.post('/api/chat/start', {
    session_id: body.session.session_id,
    message: 'A new chat.',
  })
  assert.is(started.status, 200, started.body.error)
}

test('a backup restored under another user and path: every chat goes on', async () => {
  const chat = await startChat()
  const { app } = chat
  const { sessions } = await fill(chat)
  const config = readConfig({ HOME: app.userHome, PATH: process.env.PATH }, [])
  const target = join(app.userHome, 'b.tar.zst')
  await makeBackup({
    ...backupPlaces(config, createHomes(config, systemClock).list()),
    ...{ target, passphrase: null, version: 'test', now: Date.now() },
  })
  const user = otherUser(chat)
  const home = join(user, 'other', 'place')
  await restoreBackup({
    file: target,
    home,
    state: join(home, 'webui'),
    passphrase: async () => null,
  })
  mkdirSync(join(user, 'code'))
  const former = `${app.userHome}-away`
  cpSync(app.userHome, former, { recursive: true })
  rmSync(app.userHome, { recursive: true })
  const moved = await startApp({ env: { HOME: user, AGENT_HOME: home } })
  await goesOn(moved, chat, sessions, {
    own: join(home, 'webui', 'workspace'),
    inHome: join(home, 'projects', 'a'),
    inUserHome: join(user, 'code'),
    gone: join(home, 'webui', 'workspace'),
  })
  const { workspaces } = (await moved.get('/api/workspaces')).body
  assert.ok(workspaces.some(({ path }: { path: string }) => path === join(home, 'projects', 'a')))
  const jobs = readFileSync(join(home, 'cron', 'jobs.json'), 'utf8')
  assert.ok(jobs.includes(`"n":1.50,"workdir":${JSON.stringify(join(home, 'projects', 'a'))}`))
  await moved.close()
  cpSync(former, app.userHome, { recursive: true })
  await chat.close()
  for (const dir of [user, former]) rmSync(dir, { recursive: true, force: true })
})

test('a copy beside the original: both go on in their own folders', async () => {
  const chat = await startChat()
  const { app } = chat
  const { sessions, folders } = await fill(chat)
  const user = otherUser(chat)
  const home = join(user, '.agent')
  cpSync(app.home, home, { recursive: true })
  rmSync(join(home, 'webui', 'instance.lock'), { force: true })
  const copy = await startApp({ env: { HOME: user, AGENT_HOME: home } })
  await goesOn(copy, chat, sessions, {
    own: join(home, 'webui', 'workspace'),
    inHome: join(home, 'projects', 'a'),
    // Outside of what the other user trusts.
    inUserHome: join(home, 'webui', 'workspace'),
    gone: join(home, 'webui', 'workspace'),
  })
  await copy.close()
  await app.restart()
  await goesOn(app, chat, sessions, folders)
  await chat.close()
  rmSync(user, { recursive: true, force: true })
})

test('file changes can be undone and worktrees are of their repository after a move', async () => {
  const chat = await startChat()
  const { app, provider } = chat
  chat.enableCheckpoints()
  const own = join(app.state, 'workspace')
  mkdirSync(own, { recursive: true })
  const main = join(app.home, 'projects', 'app')
  const tree = join(app.state, 'worktrees', 'app-1')
  writeFiles(main, { 'a.txt': 'a' })
  git(main, 'init', '-q')
  git(main, 'add', '.')
  git(main, 'commit', '-qm', 'first')
  git(main, 'worktree', 'add', '-q', '-b', 'work', tree)
  const { body } = await app.post('/api/session/new', { workspace: own })
  const id: string = body.session.session_id
  writeFileSync(join(own, 'x.txt'), 'before')
  provider.push(
    { toolCalls: [{ name: 'read_file', arguments: { path: join(own, 'x.txt') } }] },
    {
      toolCalls: [
        { name: 'write_file', arguments: { path: join(own, 'x.txt'), content: 'after' } },
      ],
    },
    { text: 'Done.' },
    { text: 'Title' },
  )
  await chat.turn(id, 'Change x.')
  await app.restart()
  const former = `${app.userHome}-away`
  const user = otherUser(chat)
  cpSync(app.userHome, former, { recursive: true, verbatimSymlinks: true })
  const home = join(user, '.agent')
  cpSync(app.home, home, { recursive: true, verbatimSymlinks: true })
  rmSync(join(home, 'webui', 'instance.lock'), { force: true })
  rmSync(app.userHome, { recursive: true })
  const moved = await startApp({ env: { HOME: user, AGENT_HOME: home } })
  assert.is(git(join(home, 'webui', 'worktrees', 'app-1'), 'status', '--porcelain'), '')
  assert.match(
    git(join(home, 'projects', 'app'), 'worktree', 'list'),
    join(home, 'webui', 'worktrees', 'app-1'),
  )
  const { checkpoints } = (await moved.get(`/api/rollback/list?session_id=${id}`)).body
  assert.is(checkpoints.length, 1)
  const file = join(home, 'webui', 'workspace', 'x.txt')
  assert.is(readFileSync(file, 'utf8'), 'after')
  const undone = await moved.post('/api/rollback/restore', {
    session_id: id,
    checkpoint: checkpoints[0].checkpoint,
  })
  assert.is(undone.status, 200, JSON.stringify(undone.body))
  assert.is(readFileSync(file, 'utf8'), 'before')
  await moved.close()
  cpSync(former, app.userHome, { recursive: true, verbatimSymlinks: true })
  await chat.close()
  for (const dir of [user, former]) rmSync(dir, { recursive: true, force: true })
})

test.run()
