/**
 * Proof: an installation in which everything was used once is backed up and restored for another user, at another path, on a machine with
 * another name. Every chat goes on, its files and undo points are there, and nothing of the former place is touched. As root the other
 * user is another uid, and the other machine has a host name of its own.
 */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort, programEnv, SERVICE, startProgram } from '../../../build/start-program.ts'
import { stateEntry } from '../../../lib/store/state-files.ts'
import type { TestApp } from '../../_app.ts'
import { git, writeFiles } from '../../_git.ts'
import { createClient, type Client } from '../../_http.ts'
import { startChat } from '../../handlers/_chat.ts'

const proof = suite('a moved machine')

const PASSPHRASE = 'a long passphrase'
const TEXT = 'Look at C:\\Users\\ann\\x and at file:///home/ann/y'
const NOBODY = 65_534
const isRoot = process.getuid?.() === 0

type Chat = Awaited<ReturnType<typeof startChat>>

const upload = async (app: TestApp, id: string, name: string, content: string): Promise<string> => {
  const part = (head: string, text: string) =>
    `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`
  const body = `${part('name="session_id"', id)}${part(`name="file"; filename="${name}"`, content)}--b--\r\n`
  const sent = await app.post('/api/upload', body, {
    headers: { 'Content-Type': 'multipart/form-data; boundary=b' },
  })
  assert.is(sent.status, 200, sent.text)
  return sent.body.path ?? sent.body.filename
}

const must = async (answer: ReturnType<Client['post']>) => {
  const { status, body, text } = await answer
  assert.is(status, 200, text)
  return body
}

/** Everything once. The chats by name, with the folder each works in. */
const useEverything = async (chat: Chat) => {
  const { app, provider } = chat
  const post = (path: string, body: unknown) => must(app.post(path, body))
  chat.enableCheckpoints()
  const repo = join(app.home, 'projects', 'app')
  writeFiles(repo, { 'a.txt': 'a' })
  git(repo, 'init', '-q')
  git(repo, 'add', '.')
  git(repo, 'commit', '-qm', 'first')
  git(repo, 'worktree', 'add', '-q', '-b', 'mine', join(app.home, 'projects', 'mine'))
  const folders: Record<string, string> = {
    own: join(app.state, 'workspace'),
    repo,
    linked: join(app.home, 'projects', 'mine'),
    named: join(app.home, 'projects', 'größe & leer 日本'),
    'pinned in a folder below': join(app.home, 'projects', 'app', 'below'),
    elsewhere: join(app.userHome, 'code'),
    gone: join(app.userHome, 'gone'),
  }
  const ids: Record<string, string> = {}
  const begin = async (name: string, workspace: string, more: object = {}) => {
    mkdirSync(workspace, { recursive: true })
    const id: string = (await post('/api/session/new', { workspace, ...more })).session.session_id
    ids[name] = id
    const file = join(workspace, 'made.txt')
    writeFileSync(file, 'before')
    provider.push(
      { toolCalls: [{ name: 'read_file', arguments: { path: file } }] },
      { toolCalls: [{ name: 'write_file', arguments: { path: file, content: 'after' } }] },
      { text: `Done in ${name}.` },
      { text: `Chat ${name}` },
    )
    await chat.turn(id, `${TEXT} in ${workspace}, ${name}`)
    assert.is(readFileSync(file, 'utf8'), 'after', name)
  }
  for (const [name, workspace] of Object.entries(folders)) await begin(name, workspace)
  const made = await post('/api/git/worktree/create', { session_id: ids.repo, branch: 'work' })
  folders.worktree = made.path
  await begin('worktree', made.path)
  await post('/api/profile/create', { name: 'work' })
  const config = readFileSync(join(app.home, 'config.yaml'), 'utf8')
  writeFileSync(join(app.home, 'profiles', 'work', 'config.yaml'), config)
  folders.profile = join(app.home, 'profiles', 'work', 'files')
  await begin('profile', folders.profile, { profile: 'work' })
  const attached = await upload(app, ids.own!, 'note.txt', 'a note')
  provider.push({ text: 'Read.' })
  const sent = { session_id: ids.own, message: 'Read it.', attachments: [attached] }
  await chat.follow((await post('/api/chat/start', sent)).stream_id)
  await post('/api/session/pin', { session_id: ids.repo, pinned: true })
  await post('/api/session/archive', { session_id: ids.linked, archived: true })
  await post('/api/session/draft', { session_id: ids.own, text: 'half a thought' })
  const { project } = await post('/api/projects/create', { name: 'Here', color: null })
  await post('/api/session/move', { session_id: ids.own, project_id: project.project_id })
  const copy = await post('/api/session/duplicate', { session_id: ids.own })
  ids.copy = copy.session.session_id
  folders.copy = folders.own!
  ids.deleted = (await post('/api/session/duplicate', { session_id: ids.repo })).session.session_id
  folders.deleted = repo
  await post('/api/session/delete', { session_id: ids.deleted })
  writeFileSync(join(repo, 'thrown.txt'), 'thrown')
  const removed = await post('/api/file/delete', { session_id: ids.repo, path: 'thrown.txt' })
  await post('/api/workspaces/add', { path: folders.named, name: 'Named' })
  const job = { prompt: 'look around', schedule: 'every 2h', name: 'Look', workdir: folders.named }
  const { id: job_id } = (await post('/api/crons/create', job)).job
  await post('/api/skills/save', {
    name: 'greet',
    content: '---\nname: greet\ndescription: Greets\n---\nSay hello.\n',
  })
  await post('/api/memory/write', { section: 'memory', content: 'likes tea' })
  await post('/api/shares/enable', { enabled: true })
  const { token } = await post('/api/shares/create', { session_id: ids.own })
  await post('/api/tokens/enable', { enabled: true })
  const { secret } = await post('/api/tokens/create', { name: 'program', approvals: 'deny' })
  await post('/api/settings', { default_workspace: folders.named })
  const lines = `mcp_servers:\n  tool:\n    command: ${app.home}/bin/tool\n    enabled: false\n`
  writeFileSync(join(app.home, 'config.yaml'), `${config}${lines}`)
  return { ids, folders, job_id, token, secret, trash_id: removed.trash_id }
}

/** The other user's directory; as root it belongs to another uid. */
const otherPlace = () => {
  // The directory of the tests is closed to other users.
  const dir = mkdtempSync(join(isRoot ? '/tmp' : tmpdir(), 'other-'))
  chmodSync(dir, 0o755)
  const user = join(dir, 'home of bob ö')
  mkdirSync(join(user, 'code'), { recursive: true })
  if (isRoot) for (const path of [user, join(user, 'code')]) chownSync(path, NOBODY, NOBODY)
  return { dir, user }
}

const AS_OTHER = isRoot
  ? [
      'unshare',
      '-u',
      'sh',
      '-c',
      'hostname elsewhere; exec "$@"',
      'sh',
      ...['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'],
      process.execPath,
    ]
  : [process.execPath]

const runAsOther = (args: readonly string[], home: string, env: Record<string, string>) => {
  const [command = '', ...rest] = [...AS_OTHER, SERVICE, ...args]
  return execFileSync(command, rest, { env: programEnv(home, 0, env), cwd: home, encoding: 'utf8' })
}

proof('every chat goes on for another user, at another path, on another machine', async () => {
  const chat = await startChat()
  const { app } = chat
  const { ids, folders, job_id, token, secret, trash_id } = await useEverything(chat)
  const known = readdirSync(app.state).filter(name => stateEntry(name) === undefined)
  assert.equal(known, [], 'entries of the state directory that no table names')
  const { dir, user } = otherPlace()
  const file = join(dir, 'backup.tar.zst')
  const passphrase = { AGENT_WEBUI_BACKUP_PASSPHRASE: PASSPHRASE }
  const saved = execFileSync(process.execPath, [SERVICE, 'backup', file, '--with-keys'], {
    env: programEnv(app.userHome, 0, passphrase),
    encoding: 'utf8',
  })
  assert.not.match(saved, 'Not saved')
  chmodSync(file, 0o644)
  const former = `${app.userHome}-away`
  renameSync(app.userHome, former)
  // Of the person's own folders, one came along by other means.
  writeFileSync(join(user, 'code', 'made.txt'), 'after')
  if (isRoot) chownSync(join(user, 'code', 'made.txt'), NOBODY, NOBODY)
  const home = join(user, 'agent')
  const env = { AGENT_HOME: home, AGENT_WEBUI_STATE_DIR: join(user, 'state of agent') }
  runAsOther(['restore', file], user, { ...env, ...passphrase })

  const [command = '', ...args] = [...AS_OTHER, SERVICE, '--no-browser']
  const port = await freePort()
  const started = () => startProgram(command, args, { home: user, port, env })
  let service = await started()
  const { get, post, events } = createClient(() => service.url)
  try {
    assert.match(service.output(), /config\.yaml names the former place; .*line \d+/)
    const movedTo = (path: string): string =>
      path.startsWith(app.state)
        ? join(env.AGENT_WEBUI_STATE_DIR, path.slice(app.state.length))
        : path.startsWith(app.home)
          ? join(home, path.slice(app.home.length))
          : join(user, path.slice(app.userHome.length))
    const fallback = movedTo(folders.own!)
    const back = await post('/api/session/restore', { session_id: ids.deleted })
    assert.is(back.status, 200, back.text)
    const listed = (await get('/api/sessions?all_profiles=1&archived=1')).body.sessions
    const rows: Record<string, { pinned: boolean; archived: boolean }> = Object.fromEntries(
      listed.map((row: { session_id: string }) => [row.session_id, row]),
    )
    for (const [name, id] of Object.entries(ids)) {
      const { session } = (await get(`/api/session?session_id=${id}`)).body
      const workspace = name === 'gone' ? fallback : movedTo(folders[name]!)
      assert.is(session.workspace, workspace, name)
      const [first] = session.messages
      assert.ok(first.content.startsWith(TEXT), name)
      assert.ok(first.content.includes(app.userHome), 'the text of a message is not rewritten')
      if (name === 'own') continue
      const target = join(workspace, 'again.txt')
      chat.provider.push(
        { toolCalls: [{ name: 'write_file', arguments: { path: target, content: 'again' } }] },
        { toolCalls: [{ name: 'terminal', arguments: { command: 'pwd -P' } }] },
        { text: 'Again.' },
      )
      const sent = await post('/api/chat/start', { session_id: id, message: 'Go on.' })
      assert.is(sent.status, 200, `${name}: ${sent.text}`)
      const seen: unknown[] = []
      for await (const event of events(`/api/chat/stream?stream_id=${sent.body.stream_id}`)) {
        seen.push(event.data)
        if (event.event === 'stream_end') break
      }
      assert.is(readFileSync(target, 'utf8'), 'again', name)
      assert.ok(JSON.stringify(seen).includes(JSON.stringify(workspace).slice(1, -1)), name)
    }
    assert.is(rows[ids.repo!]?.pinned, true)
    assert.is(rows[ids.linked!]?.archived, true)
    const own = (await get(`/api/session?session_id=${ids.own}`)).body.session
    assert.is(own.composer_draft.text, 'half a thought')
    const note = await get(`/api/file?session_id=${ids.own}&path=note.txt`)
    assert.is(note.body.content, 'a note', note.text)
    for (const name of ['own', 'named', 'worktree']) {
      const { checkpoints } = (await get(`/api/rollback/list?session_id=${ids[name]}`)).body
      const { checkpoint } = checkpoints.at(-1)
      const undone = await post('/api/rollback/restore', { session_id: ids[name], checkpoint })
      assert.is(undone.status, 200, `${name}: ${undone.text}`)
      const made = join(movedTo(folders[name]!), 'made.txt')
      assert.is(readFileSync(made, 'utf8'), 'before', name)
    }
    const again = await post('/api/file/restore', { session_id: ids.repo, trash_id })
    assert.is(again.status, 200, again.text)
    const tree = join(env.AGENT_WEBUI_STATE_DIR, 'worktrees')
    const repo = movedTo(folders.repo!)
    const safe = ['-c', 'safe.directory=*']
    for (const linked of [movedTo(folders.linked!), movedTo(folders.worktree!)])
      git(linked, ...safe, 'status', '--porcelain')
    assert.ok(git(repo, ...safe, 'worktree', 'list').includes(tree))
    assert.is(git(repo, ...safe, 'worktree', 'prune', '--dry-run', '--verbose'), '')
    const { worktrees } = (await get(`/api/git/worktrees?session_id=${ids.repo}`)).body
    assert.is(worktrees.length, 1)
    const found = (await get(`/api/sessions/search?q=${encodeURIComponent('Users ann')}`)).body
    assert.ok(found.count >= Object.keys(ids).length - 2, JSON.stringify(found).slice(0, 300))
    chat.provider.push({
      toolCalls: [{ name: 'write_file', arguments: { path: 'task.txt', content: 'task' } }],
    })
    chat.provider.push({ text: 'Looked.' })
    const ran = await post('/api/crons/run', { job_id })
    assert.is(ran.status, 200, ran.text)
    for (;;) {
      const { runs } = (await get('/api/crons/history')).body
      if (runs.some((run: { ended_at: number | null }) => run.ended_at !== null)) break
    }
    assert.is(readFileSync(join(movedTo(folders.named!), 'task.txt'), 'utf8'), 'task')
    assert.is((await get(`/share/${token}`)).status, 200)
    const headers = { Authorization: `Bearer ${secret}` }
    assert.is((await get('/v1/models', { headers })).status, 200)
    assert.match((await get('/api/memory')).text, 'likes tea')
    assert.match((await get('/api/skills')).text, 'greet')
    const { workspaces, last } = (await get('/api/workspaces')).body
    for (const path of [...workspaces.map((each: { path: string }) => each.path), last])
      assert.ok(path.startsWith(user), path)
    assert.not.ok(existsSync(app.userHome), 'nothing is made at the former place')
    // A second start changes nothing.
    await service.stop()
    const before = readFileSync(join(env.AGENT_WEBUI_STATE_DIR, 'location.json'), 'utf8')
    service = await started()
    assert.not.match(service.output(), 'at another place')
    assert.is(readFileSync(join(env.AGENT_WEBUI_STATE_DIR, 'location.json'), 'utf8'), before)
  } finally {
    await service.stop('SIGKILL')
    renameSync(former, app.userHome)
    await chat.close()
    rmSync(dir, { recursive: true, force: true })
  }
})

proof.run()
