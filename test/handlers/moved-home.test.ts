/** An installation that was restored or copied elsewhere: every chat goes on, and nothing refers to the former place. */
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { makeBackup } from '../../lib/operations/backups/backup.ts'
import { restoreBackup } from '../../lib/operations/backups/restore.ts'
import { noteFirstLocation, startMove } from '../../lib/operations/moved-home.ts'
import { checkpointDir } from '../../lib/workspaces/checkpoints/checkpoint-store.ts'
import { createLog } from '../../lib/operations/log.ts'
import { backupPlaces } from '../../lib/operations/backups/backup-places.ts'
import { readConfig } from '../../lib/config.ts'
import { Homes } from '../../lib/profiles/homes.ts'
import { systemClock } from '../../lib/base/clock.ts'
import { startApp } from '../_app.ts'
import { git, writeFiles } from '../_git.ts'
import { startChat } from './_chat.ts'
import { tempDir } from '../_temp-dir.ts'

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
    ...backupPlaces(config, new Homes(config, systemClock).list()),
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

test('a copy with a damaged chat starts, and its worktrees are of its own repository', async () => {
  const chat = await startChat()
  const { app } = chat
  const { sessions } = await fill(chat)
  const main = join(app.home, 'projects', 'app')
  writeFiles(main, { 'a.txt': 'a' })
  git(main, 'init', '-q')
  git(main, 'add', '.')
  git(main, 'commit', '-qm', 'first')
  git(main, 'worktree', 'add', '-q', '-b', 'work', join(app.state, 'worktrees', 'app-1'))
  await app.restart()
  const user = otherUser(chat)
  const home = join(user, '.agent')
  cpSync(app.home, home, { recursive: true, verbatimSymlinks: true })
  rmSync(join(home, 'webui', 'instance.lock'), { force: true })
  const emptied = join(home, 'webui', 'sessions', `${sessions.own}.jsonl`)
  writeFileSync(emptied, '')
  utimesSync(emptied, 1, 1)
  const copy = await startApp({ env: { HOME: user, AGENT_HOME: home }, allowErrors: true })
  assert.is((await copy.get('/api/workspaces')).status, 200)
  assert.is(readFileSync(emptied, 'utf8'), '')
  const tree = join(home, 'webui', 'worktrees', 'app-1')
  assert.match(git(tree, 'rev-parse', '--git-dir'), join(home, 'projects', 'app', '.git'))
  assert.not.match(git(main, 'worktree', 'list'), tree)
  await copy.close()
  await chat.close()
  rmSync(user, { recursive: true, force: true })
})

test('another HOME alone moves nothing that is still there', async () => {
  const dir = tempDir('move')
  const [home, own, other] = ['agent', 'own', 'other'].map(name => join(dir, name)) as [
    string,
    string,
    string,
  ]
  const code = join(own, 'code')
  mkdirSync(code, { recursive: true })
  mkdirSync(other)
  const first = await startApp({ env: { HOME: own, AGENT_HOME: home } })
  const { body } = await first.post('/api/session/new', { workspace: code })
  const id: string = body.session.session_id
  await first.post('/api/session/rename', { session_id: id, title: 'Kept' })
  await first.post('/api/workspaces/add', { path: code, name: 'Code' })
  await first.close()
  for (const user of [other, own]) {
    const app = await startApp({ env: { HOME: user, AGENT_HOME: home } })
    assert.is((await app.get(`/api/session?session_id=${id}`)).body.session.workspace, code)
    const { workspaces } = (await app.get('/api/workspaces')).body
    assert.ok(workspaces.some(({ path }: { path: string }) => path === code))
    await app.close()
  }
})

test('a chat on a disk that is not there at the first start waits for it', async () => {
  const dir = tempDir('move')
  const [former, now] = [join(dir, 'agent'), join(dir, 'new')] as [string, string]
  const folders = { disk: join(dir, 'disk', 'code'), gone: join(dir, 'gone') }
  const app = await startApp({ env: { HOME: dir, AGENT_HOME: former } })
  const ids: Record<string, string> = {}
  for (const [name, workspace] of Object.entries(folders)) {
    mkdirSync(workspace, { recursive: true })
    const { session } = (await app.post('/api/session/new', { workspace })).body
    ids[name] = session.session_id
    await app.post('/api/session/rename', { session_id: session.session_id, title: name })
  }
  await app.close()
  renameSync(former, now)
  for (const folder of Object.values(folders)) rmSync(folder, { recursive: true })
  const moved = await startApp({ env: { HOME: dir, AGENT_HOME: now }, allowErrors: true })
  const workspaceOf = async (name: string) =>
    (await moved.get(`/api/session?session_id=${ids[name]}`)).body.session.workspace
  assert.is(await workspaceOf('disk'), folders.disk)
  assert.is(await workspaceOf('gone'), join(now, 'webui', 'workspace'))
  await moved.close()
})

test('a start that was interrupted is done again: below the former place, too', () => {
  const dir = tempDir('move')
  const places = (home: string) => ({
    ...readConfig({ HOME: dir, AGENT_HOME: home }, []),
    cluster: null,
  })
  const [former, now] = [join(dir, 'agent'), join(dir, 'agent', 'new')]
  const folder = join(now, 'projects')
  for (const path of [join(former, 'webui'), join(now, 'webui'), join(now, 'cron'), folder])
    mkdirSync(path, { recursive: true })
  noteFirstLocation(places(former))
  cpSync(join(former, 'webui', 'location.json'), join(now, 'webui', 'location.json'))
  const prompt = `${join(former, 'a.md')} beside https://example.com//b`
  const workdir = join(former, 'projects')
  writeFileSync(join(now, 'cron', 'jobs.json'), JSON.stringify({ jobs: [{ prompt, workdir }] }))
  const store = checkpointDir(now, workdir)
  mkdirSync(join(store, 'webui', 'turns'), { recursive: true })
  writeFileSync(join(store, 'webui', 'workspace.txt'), workdir)
  writeFileSync(join(store, 'webui', 'turns', 'a.json'), JSON.stringify({ root: workdir }))
  // A backup before the first start does not forget the former place; a kill before the end neither.
  noteFirstLocation(places(now))
  // As after a kill between the rename and the records.
  const target = checkpointDir(now, folder)
  renameSync(store, target)
  const log = createLog({ out: () => undefined })
  for (let times = 0; times < 2; times++) startMove(places(now), log)
  const [job] = JSON.parse(readFileSync(join(now, 'cron', 'jobs.json'), 'utf8')).jobs
  assert.equal(job, {
    prompt: `${join(now, 'a.md')} beside https://example.com//b`,
    workdir: folder,
  })
  assert.is(readFileSync(join(target, 'webui', 'workspace.txt'), 'utf8'), folder)
  assert.equal(JSON.parse(readFileSync(join(target, 'webui', 'turns', 'a.json'), 'utf8')), {
    root: folder,
  })
})

/** Homes below one directory, and what `startMove` does to a list of strings in one of them. */
const openMoves = () => {
  const dir = tempDir('move')
  const lines: string[] = []
  const log = createLog({ out: text => lines.push(text), err: text => lines.push(text) })
  const places = (name: string) => {
    const env = { HOME: join(dir, name), AGENT_HOME: join(dir, name, 'agent home') }
    return { ...readConfig(env, []), cluster: null }
  }
  const jobs = (name: string) => join(places(name).baseHome, 'cron', 'jobs.json')
  return {
    dir,
    lines,
    places,
    write(name: string, texts: readonly string[]) {
      for (const path of [places(name).stateDir, join(places(name).baseHome, 'cron')])
        mkdirSync(path, { recursive: true })
      writeFileSync(jobs(name), JSON.stringify({ jobs: [{ texts }] }))
    },
    read: (name: string): string[] => JSON.parse(readFileSync(jobs(name), 'utf8')).jobs[0].texts,
    start: (name: string) =>
      startMove(
        places(name),
        log,
      )({
        sessions: { list: () => ({ body: [Buffer.from('[]')] }) } as never,
        workspaces: {} as never,
        homes: {} as never,
      }),
    carry(from: string, to: string) {
      mkdirSync(join(dir, to), { recursive: true })
      cpSync(places(from).baseHome, places(to).baseHome, { recursive: true })
    },
  }
}

test('only paths of the former place change: moved twice, back, and beside each other', () => {
  const { dir, write, read, start, carry, places } = openMoves()
  const texts = (name: string) => {
    const home = join(dir, name)
    return [
      `${home}/agent home`,
      `${home}/agent home/`,
      `${home}/agent home/webui/workspace/größe`,
      `${home}/code/../code/x`,
    ]
  }
  const others = [
    `${dir}/anna/agent home/x`,
    `${dir}/ann.bak/x`,
    `${dir}/ann/../anna/x`,
    `/${dir}/ann/agent home/x`,
    `C:\\Users\\ann\\agent home`,
    'C:/Users/ann/agent home',
    `\\\\server\\ann`,
    `in ${dir}/ann/agent home is a file`,
    `file://${dir}/ann/agent home/x`,
    '/',
    '',
  ]
  write('ann', [...texts('ann'), ...others])
  start('ann')
  assert.equal(read('ann'), [...texts('ann'), ...others])
  const way = ['ann', 'anna', 'ann bob ö', 'ann']
  for (const [at, to] of way.slice(1).entries()) {
    const from = way[at]!
    if (to === 'ann') rmSync(places(to).baseHome, { recursive: true })
    carry(from, to)
    // Twice: the second start finds nothing to do.
    for (let times = 0; times < 2; times++) start(to)
    const foreign = others.filter(text => !text.startsWith(`${dir}/anna/`))
    assert.equal(read(to).slice(0, 4), texts(to), to)
    assert.equal(read(to).slice(5), foreign, to)
    assert.equal(read(from).slice(0, 4), texts(from), 'the original stays')
  }
  rmSync(dir, { recursive: true })
})

test('a service that got a user of its own: folders of people that were not moved stay', () => {
  const { dir, write, read, start, carry } = openMoves()
  const names = ['only-there', 'both', 'gone', 'only-here']
  const folders = (user: string) => names.map(name => join(dir, user, name))
  write('ann', folders('ann'))
  start('ann')
  const there = ['ann/only-there', 'ann/both', 'bob/both', 'bob/only-here']
  for (const path of there) mkdirSync(join(dir, path), { recursive: true })
  carry('ann', 'bob')
  start('bob')
  assert.equal(read('bob'), [join(dir, 'ann', 'only-there'), ...folders('bob').slice(1)])
  rmSync(dir, { recursive: true })
})

test('paths by a link to the former place move, and settings that name it are listed', () => {
  const { dir, lines, write, read, start, places } = openMoves()
  mkdirSync(join(dir, 'disk'))
  symlinkSync(join(dir, 'disk'), join(dir, 'ann'))
  const linked = join(places('ann').baseHome, 'projects')
  write('ann', [linked])
  start('ann')
  mkdirSync(join(dir, 'bob'))
  renameSync(join(dir, 'disk', 'agent home'), places('bob').baseHome)
  rmSync(join(dir, 'ann'))
  writeFileSync(
    join(places('bob').baseHome, 'config.yaml'),
    `a: 1\ncommand: ${linked}/x\nother: ${dir}/annabel\nlast: "${dir}/disk"\n`,
  )
  start('bob')
  assert.equal(read('bob'), [join(places('bob').baseHome, 'projects')])
  assert.match(lines.join(''), /config\.yaml names the former place; .*: line 2, 4\b/)
  rmSync(dir, { recursive: true })
})

test('a folder of another user is looked for below this one where no place was noted', () => {
  const { dir, write, read, start, places } = openMoves()
  const { stateDir } = places('bob')
  const texts = ['/home/nobody-here/code', '/home/nobody-here/other', '/home/nobody-hereafter/code']
  write('bob', texts)
  mkdirSync(join(dir, 'bob', 'code'))
  mkdirSync(join(stateDir, 'sessions'))
  const head = { n: 1, t: 'session', meta: { workspace: texts[0] } }
  writeFileSync(join(stateDir, 'sessions', 'a.jsonl'), `${JSON.stringify(head)}\n`)
  // A backup before the first start says where it is, not where its chats were.
  noteFirstLocation(places('bob'))
  // It was here before: a folder of another user is none of this one.
  const own = join(stateDir, 'sessions', 'b.jsonl')
  writeFileSync(own, JSON.stringify({ meta: { workspace: join(dir, 'bob', 'other') } }))
  start('bob')
  assert.equal(read('bob'), texts)
  for (const path of [own, join(stateDir, 'location.json')]) rmSync(path)
  noteFirstLocation(places('bob'))
  start('bob')
  assert.equal(read('bob'), [join(dir, 'bob', 'code'), ...texts.slice(1)])
  rmSync(dir, { recursive: true })
})

test('a folder that is gone does not mean that the home was moved', () => {
  const dir = tempDir('move')
  const env = { HOME: '/home/nobody-here', AGENT_HOME: join(dir, 'agent') }
  const config = { ...readConfig(env, []), cluster: null }
  const prompts = join(config.stateDir, 'cache', 'prompts')
  mkdirSync(prompts, { recursive: true })
  writeFileSync(join(config.stateDir, 'last_workspace.txt'), '/home/nobody-here/gone')
  const lines: string[] = []
  startMove(config, createLog({ out: text => lines.push(text), err: text => lines.push(text) }))
  assert.equal(lines, [])
  assert.equal(readdirSync(join(config.stateDir, 'cache')), ['prompts'])
})

test('a home that noted no place, as an earlier version left it: chats say where it was', async () => {
  const chat = await startChat()
  const { app } = chat
  const { sessions, folders } = await fill(chat)
  await app.restart()
  const user = otherUser(chat)
  const home = join(user, '.agent')
  const former = `${app.userHome}-away`
  cpSync(app.home, home, { recursive: true })
  mkdirSync(join(user, 'code'))
  rmSync(join(home, 'webui', 'instance.lock'), { force: true })
  rmSync(join(home, 'webui', 'location.json'))
  renameSync(app.userHome, former)
  // One of the former format is not converted by a move.
  const legacy = join(home, 'webui', 'sessions', '5a5b5c5d5e5f.json')
  const record = { session_id: '5a5b5c5d5e5f', workspace: folders.own, messages: [] }
  writeFileSync(legacy, JSON.stringify(record))
  const moved = await startApp({ env: { HOME: user, AGENT_HOME: home } })
  const places = {
    own: join(home, 'webui', 'workspace'),
    inHome: join(home, 'projects', 'a'),
  }
  for (const [name, workspace] of Object.entries(places))
    assert.is(
      (await moved.get(`/api/session?session_id=${sessions[name]}`)).body.session.workspace,
      workspace,
      name,
    )
  assert.is(JSON.parse(readFileSync(legacy, 'utf8')).workspace, places.own)
  const { gone } = sessions
  const { session } = (await moved.get(`/api/session?session_id=${gone}`)).body
  assert.is(session.workspace, folders.gone, 'unknown: the person chooses')
  assert.ok(moved.lines.some(line => line.includes('choose others in the chats')))
  await moved.close()
  renameSync(former, app.userHome)
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
