/** Files of a workspace over HTTP: read, saved, created, renamed, moved, deleted and brought back. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../lib/base/clock.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Trash } from '../../lib/workspaces/trash.ts'
import { type Desk, ESCAPES, HOSTILE_NAMES, namesIn, openDesk } from './_files.ts'

const test = suite<Desk>('files over HTTP')
test.before.each(async context => void Object.assign(context, await openDesk()))
test.after.each(({ app }) => app.close())

/** Escapes that lead out of the workspace whatever is on the disk. */
const OUTSIDE = ESCAPES.filter(path => /^(?:\.\.\/|\/|\.\.$)/.test(path))

test('no path reads, writes, moves or removes anything outside of the workspace', async desk => {
  const { app, id, root, query } = desk
  const before = namesIn(root)
  for (const path of ESCAPES) {
    const what = JSON.stringify(path.slice(0, 40))
    for (const url of ['/api/file', '/api/file/raw', '/api/list', '/api/folder/download']) {
      const answer = await app.get(`${url}?${query({ path })}`)
      assert.ok([400, 404].includes(answer.status), `${url} ${what} ${answer.status}`)
      assert.not.match(answer.text, /OUTSIDE|root:x|\/tmp/, `${url} ${what}`)
    }
    const bodies: [string, Record<string, unknown>][] = [
      ['save', { path, content: 'X' }],
      ['rename', { path, new_name: 'mine.txt' }],
      ['move', { path: 'README.md', dest_dir: path }],
      ['move', { path, dest_dir: '.' }],
      ['delete', { path, recursive: true }],
      ['create', { path: `${path}/new.txt` }],
      ['create-dir', { path: `${path}/new` }],
    ]
    for (const [verb, body] of bodies) {
      // The links themselves lie in the workspace: naming, moving and removing them is allowed.
      if (/^(?:away\.txt|up)$/.test(path) && !/^(?:save|create)/.test(verb)) continue
      if (verb.startsWith('create') && /%2|^~/.test(path)) continue
      const answer = await app.post(`/api/file/${verb}`, { session_id: id, ...body })
      assert.ok([400, 404].includes(answer.status), `${verb} ${what} ${answer.status}`)
      if (OUTSIDE.includes(path))
        assert.equal([answer.status, answer.body.code], [400, 'path_outside'], `${verb} ${what}`)
      assert.not.match(answer.body.error, /\/tmp|\/etc/, `${verb} ${what}`)
    }
  }
  assert.equal(namesIn(root), before)
  assert.is(readFileSync(join(app.userHome, 'secret.txt'), 'utf8'), 'OUTSIDE')
  assert.not(existsSync(join(app.userHome, 'new.txt')))
})

test('an unknown session is 404 and a missing parameter 400 on every file endpoint', async desk => {
  const { app, id } = desk
  for (const url of ['/api/file', '/api/file/raw', '/api/folder/download', '/api/git-info']) {
    assert.is((await app.get(`${url}?session_id=gone00000000&path=a`)).status, 404, url)
    assert.is((await app.get(url)).status, 400, url)
  }
  for (const verb of ['save', 'create', 'create-dir', 'rename', 'move', 'delete', 'restore']) {
    const path = `/api/file/${verb}`
    const body = { path: 'a', new_name: 'b', dest_dir: '.', trash_id: 'a' }
    const gone = await app.post(path, { session_id: 'gone00000000', ...body })
    assert.equal(
      [gone.status, gone.body],
      [404, { error: 'Session not found', code: 'session_not_found' }],
      verb,
    )
    assert.is((await app.post(path, { session_id: id })).status, 400, verb)
    assert.is((await app.post(path)).status, 400, verb)
  }
})

test('reads a text file with size, lines and version; reports binary files', async desk => {
  const { app, root, query } = desk
  const read = (path: string) => app.get(`/api/file?${query({ path })}`)
  const { body } = await read('README.md')
  assert.type(body.version, 'string')
  assert.equal(body, {
    path: 'README.md',
    content: 'hello\nworld\n',
    size: 12,
    lines: 3,
    version: body.version,
  })
  assert.is((await read('alias.ts')).body.content, 'export {}\n', 'a link inside is followed')
  assert.is((await read(join(root, 'README.md'))).status, 200, 'absolute, but inside')

  assert.equal((await read('src')).body, { error: 'Path is a directory', code: 'is_folder' })
  assert.is((await read('gone.txt')).status, 404)
  writeFileSync(join(root, 'large.txt'), 'x'.repeat(200_001))
  const large = await read('large.txt')
  assert.equal(
    [large.status, large.body],
    [
      404,
      {
        error: 'File too large (200001 bytes, max 200000)',
        code: 'file_too_large',
        values: { max: 200 },
      },
    ],
  )
  writeFileSync(join(root, 'large.txt'), 'x'.repeat(200_000))
  assert.is((await read('large.txt')).body.size, 200_000)
  writeFileSync(
    join(root, 'image.png'),
    Buffer.concat([Buffer.from([137, 80, 0]), Buffer.alloc(300_000)]),
  )
  const binary = (await read('image.png')).body
  assert.equal([binary.binary, binary.content, binary.size], [true, '', 300_003])
  writeFileSync(join(root, 'latin1.txt'), Buffer.from('caf\xe9', 'latin1'))
  assert.is((await read('latin1.txt')).body.content, 'caf\ufffd', 'invalid UTF-8 is replaced')
  writeFileSync(join(root, 'empty'), '')
  assert.equal([(await read('empty')).body.size, (await read('empty')).body.lines], [0, 1])
})

test('reads a file of any size by pages of whole lines', async ({ app, root, query }) => {
  const page = async (path: string, place: Record<string, string>) =>
    (await app.get(`/api/file?${query({ path, ...place })}`)).body
  const line = (n: number) => `line ${n} é\n`
  const text = Array.from({ length: 60_000 }, (_, n) => line(n + 1)).join('')
  const bytes = Buffer.from(text)
  writeFileSync(join(root, 'long.log'), text)

  const whole: string[] = []
  for (let from = 0, first = 1; from < bytes.length; ) {
    const { content, size, first_line, ...found } = await page('long.log', { from: `${from}` })
    assert.equal([found.from, size, first_line], [from, bytes.length, first])
    assert.ok(Buffer.byteLength(content) <= 200_000)
    whole.push(content)
    first += content.split('\n').length - 1
    from = found.to
  }
  assert.is(whole.join(''), text)

  const last = await page('long.log', { from: '-50' })
  assert.is(last.content.at(-1), '\n')
  assert.ok(last.content.endsWith(line(60_000)) && last.content.startsWith('line 5'))
  assert.is(last.to, bytes.length)
  const middle = await page('long.log', { line: '30000' })
  assert.is(middle.content.split('\n')[30_000 - middle.first_line], 'line 30000 é')
  const beyond = await page('long.log', { line: '70000' })
  assert.ok(beyond.content.endsWith(line(60_000)))

  // One line longer than a page is cut between characters.
  writeFileSync(join(root, 'min.js'), `a${'é'.repeat(150_000)}`)
  const cut = await page('min.js', { from: '0' })
  const rest = await page('min.js', { from: `${cut.to}` })
  assert.is(cut.content + rest.content, `a${'é'.repeat(150_000)}`)
  assert.is((await page('README.md', { from: '0' })).content, 'hello\nworld\n')
  writeFileSync(join(root, 'bytes.dat'), Buffer.alloc(300_000))
  assert.is((await page('bytes.dat', { from: '0' })).binary, true)
})

test('rejects pipes, sockets and devices without blocking', async ({ app, root, query }) => {
  const { execFileSync } = await import('node:child_process')
  execFileSync('mkfifo', [join(root, 'pipe')])
  for (const url of ['/api/file', '/api/file/raw'])
    assert.is((await app.get(`${url}?${query({ path: 'pipe' })}`)).status, 404, url)
  const saved = await app.post('/api/file/save', { ...query2(query), path: 'pipe', content: 'x' })
  assert.is(saved.status, 404)
})

const query2 = (query: Desk['query']) => ({
  session_id: new URLSearchParams(query({})).get('session_id'),
})

test('hostile names can be listed, read, renamed, moved, deleted and restored', async desk => {
  const { app, id, root, query } = desk
  for (const name of HOSTILE_NAMES) writeFileSync(join(root, name), `content of ${name}`)
  const listed = (await app.get(`/api/list?${query({})}`)).body.entries
  for (const name of HOSTILE_NAMES) {
    const what = JSON.stringify(name)
    const entry = listed.find((each: { name: string }) => each.name === name)
    assert.ok(entry, what)
    const { path } = entry
    const content = `content of ${name}`
    assert.is((await app.get(`/api/file?${query({ path })}`)).body.content, content, what)
    const raw = await app.get(`/api/file/raw?${query({ path, download: '1' })}`)
    assert.is(raw.text, content, what)
    const disposition = String(raw.headers['content-disposition'])
    assert.match(disposition, /^attachment; filename="[\x20-\x7e]*"; filename\*=UTF-8''[\w.~%-]+$/)
    assert.is(decodeURIComponent(disposition.replace(/^.*UTF-8''/, '')), name)

    const renamed = await app.post('/api/file/rename', { session_id: id, path, new_name: 'plain' })
    assert.equal(renamed.body, { ok: true, old_path: name, new_path: 'plain' }, what)
    const moved = await app.post('/api/file/move', {
      session_id: id,
      path: 'plain',
      dest_dir: 'src',
    })
    assert.is(moved.body.new_path, 'src/plain', what)
    rmSync(join(root, 'src', 'plain'))

    writeFileSync(join(root, name), content)
    const removed = await app.post('/api/file/delete', { session_id: id, path })
    assert.is(removed.status, 200, what)
    assert.not(existsSync(join(root, name)), what)
    const { trash_id } = removed.body
    const restored = await app.post('/api/file/restore', { session_id: id, trash_id })
    assert.equal(restored.body, { ok: true, path: name }, what)
    assert.is(readFileSync(join(root, name), 'utf8'), content, what)
  }
  assert.not(existsSync(join(root, 'pwned')))
})

test('rejects new names with control characters, separators of any system, or excessive length', async desk => {
  const { app, id, root } = desk
  const before = namesIn(root)
  for (const name of [
    '',
    ' ',
    '.',
    '..',
    'a/b',
    'a\\b',
    'a\nb',
    'a\0b',
    '\u0007',
    'x'.repeat(256),
  ]) {
    const body = { session_id: id, path: 'README.md', new_name: name }
    const answer = await app.post('/api/file/rename', body)
    assert.is(answer.status, 400, JSON.stringify(name))
  }
  for (const path of ['a\nb', 'src/a\\b', 'é'.repeat(128), 'new\n/a.txt', '.', 'src/..']) {
    for (const verb of ['create', 'create-dir']) {
      const answer = await app.post(`/api/file/${verb}`, { session_id: id, path })
      assert.is(answer.status, 400, JSON.stringify(path))
    }
  }
  assert.equal(namesIn(root), before)
})

test('save: rejects missing files, folders, concurrent changes and text that is not UTF-8', async desk => {
  const { app, id, root, query } = desk
  const save = (body: Record<string, unknown>) =>
    app.post('/api/file/save', { session_id: id, ...body })
  assert.equal((await save({ path: 'gone.txt', content: 'x' })).body, {
    error: 'File not found',
    code: 'file_not_found',
  })
  const folder = await save({ path: 'src', content: 'x' })
  assert.equal(
    [folder.status, folder.body],
    [400, { error: 'Cannot save: path is a directory', code: 'is_folder' }],
  )
  const { version } = (await app.get(`/api/file?${query({ path: 'README.md' })}`)).body

  writeFileSync(join(root, 'README.md'), 'the agent was here')
  const late = await save({ path: 'README.md', content: 'mine', expected_version: version })
  assert.is(late.status, 409)
  assert.is(late.body.conflict, true)
  assert.ok(late.body.error)
  assert.is(readFileSync(join(root, 'README.md'), 'utf8'), 'the agent was here')
  const now = late.body.version
  const over = await save({ path: 'README.md', content: 'mine', expected_version: now })
  assert.is(over.status, 200)
  assert.is(readFileSync(join(root, 'README.md'), 'utf8'), 'mine')

  writeFileSync(join(root, 'latin1.txt'), Buffer.from('caf\xe9', 'latin1'))
  const lossy = await save({ path: 'latin1.txt', content: 'caf\ufffd!' })
  assert.is(lossy.status, 400)
  assert.equal(readFileSync(join(root, 'latin1.txt')), Buffer.from('caf\xe9', 'latin1'))
})

test('save: writes atomically, keeps the mode, follows links inside, leaves no temporary file', async desk => {
  const { app, id, root } = desk
  const before = namesIn(root)
  chmodSync(join(root, 'src', 'main.ts'), 0o755)
  const body = { session_id: id, path: 'alias.ts', content: 'ünï\n' }
  const saved = await app.post('/api/file/save', body)
  assert.equal(
    [saved.status, saved.body.ok, saved.body.path, saved.body.size],
    [200, true, 'alias.ts', 6],
  )
  assert.ok(lstatSync(join(root, 'alias.ts')).isSymbolicLink())
  assert.is(readFileSync(join(root, 'src', 'main.ts'), 'utf8'), 'ünï\n')
  assert.is(statSync(join(root, 'src', 'main.ts')).mode & 0o777, 0o755)
  // The version of the reply is the one that the next save is held against.
  const again = await app.post('/api/file/save', { ...body, expected_version: saved.body.version })
  assert.is(again.status, 200)
  const emptied = await app.post('/api/file/save', { session_id: id, path: 'alias.ts' })
  assert.is(emptied.body.size, 0)
  assert.equal(namesIn(root), before)
  assert.equal(namesIn(join(root, 'src')), ['main.ts'])
})

test('create: makes parents and replaces nothing', async ({ app, id, root }) => {
  const create = (path: string, content?: string) =>
    app.post('/api/file/create', { session_id: id, path, content })
  for (const path of ['README.md', 'src', 'away.txt', 'up'])
    assert.equal(
      (await create(path, 'x')).body,
      { error: 'File already exists', code: 'file_exists' },
      path,
    )
  symlinkSync('nowhere', join(root, 'dangling'))
  assert.is((await create('dangling', 'x')).status, 400)
  assert.is((await create('README.md/a.txt')).status, 404)
  const made = await create('a/b/c.txt', 'ü')
  assert.equal([made.body.ok, made.body.path, made.body.size], [true, 'a/b/c.txt', 2])
  assert.is(readFileSync(join(root, 'a/b/c.txt'), 'utf8'), 'ü')
  assert.is((await create('./a/../a/empty')).body.path, 'a/empty')

  const folder = (path: string) => app.post('/api/file/create-dir', { session_id: id, path })
  assert.equal((await folder('x/y')).body, { ok: true, path: 'x/y' })
  assert.equal((await folder('x/y')).body, { error: 'Path already exists', code: 'file_exists' })
  assert.is((await folder('README.md')).status, 400)
  assert.ok(statSync(join(root, 'x/y')).isDirectory())
})

test('rename and move: replace nothing, and no folder moves into itself', async ({
  app,
  id,
  root,
}) => {
  const rename = (path: string, new_name: string) =>
    app.post('/api/file/rename', { session_id: id, path, new_name })
  const move = (path: string, dest_dir: string) =>
    app.post('/api/file/move', { session_id: id, path, dest_dir })
  assert.equal((await rename('gone', 'x')).body, {
    error: 'File not found',
    code: 'file_not_found',
  })
  const taken = await rename('README.md', 'src')
  assert.equal(
    [taken.status, taken.body],
    [400, { error: 'A file named "src" already exists', code: 'file_exists' }],
  )
  assert.is((await rename('src', 'README.md')).status, 400)
  assert.is((await rename('.', 'x')).status, 400)
  assert.is((await move('src', 'src')).status, 400)
  mkdirSync(join(root, 'src', 'inner'))
  assert.is((await move('src', 'src/inner')).status, 400)
  assert.is((await move('README.md', 'alias.ts')).status, 404)
  assert.is((await move('README.md', 'gone')).status, 404)
  assert.is((await move('README.md', '.')).status, 400)
  assert.is((await move('.', 'src')).status, 400)

  assert.equal((await rename('src', 'lib')).body, { ok: true, old_path: 'src', new_path: 'lib' })
  const moved = await move('README.md', 'lib/inner')
  assert.equal(moved.body, { ok: true, old_path: 'README.md', new_path: 'lib/inner/README.md' })
  assert.is((await move('lib/inner', '')).body.new_path, 'inner')
  // A link is moved itself, not what it leads to.
  assert.is((await move('away.txt', 'lib')).status, 200)
  assert.is(readlinkSync(join(root, 'lib', 'away.txt')), '../secret.txt')
  assert.is(readFileSync(join(app.userHome, 'secret.txt'), 'utf8'), 'OUTSIDE')
})

test('delete: moves to the trash; restores, also after a restart, but never over a new file', async desk => {
  const { app, id, root } = desk
  const remove = (path: string, recursive?: boolean) =>
    app.post('/api/file/delete', { session_id: id, path, recursive })
  const restore = (trash_id: string) => app.post('/api/file/restore', { session_id: id, trash_id })
  assert.equal((await remove('gone')).body, { error: 'File not found', code: 'file_not_found' })
  assert.is((await remove('src')).status, 400)
  assert.is((await remove('.', true)).status, 400)
  assert.ok(existsSync(join(root, 'src', 'main.ts')))

  const file = (await remove('README.md')).body
  assert.equal([file.ok, file.path], [true, 'README.md'])
  const folder = (await remove('src', true)).body
  const link = (await remove('up')).body
  assert.equal(namesIn(root), ['alias.ts', 'away.txt'])
  await app.restart()

  writeFileSync(join(root, 'README.md'), 'new')
  const taken = await restore(file.trash_id)
  assert.is(taken.status, 409)
  assert.is(readFileSync(join(root, 'README.md'), 'utf8'), 'new')
  rmSync(join(root, 'README.md'))
  assert.equal((await restore(file.trash_id)).body, { ok: true, path: 'README.md' })
  assert.is(readFileSync(join(root, 'README.md'), 'utf8'), 'hello\nworld\n')
  assert.is((await restore(file.trash_id)).status, 404, 'only once')
  assert.is((await restore(folder.trash_id)).status, 200)
  assert.ok(existsSync(join(root, 'src', 'main.ts')))
  assert.is((await restore(link.trash_id)).status, 200)
  assert.is(readlinkSync(join(root, 'up')), '..')
  assert.ok(existsSync(join(app.userHome, 'secret.txt')))
  assert.equal(readdirSync(join(app.state, 'file-trash')), [])
})

test('restore: only into the original workspace, and not by an invented id', async ({
  app,
  id,
  root,
}) => {
  const { trash_id } = (await app.post('/api/file/delete', { session_id: id, path: 'src/main.ts' }))
    .body
  const other = join(app.userHome, 'other')
  mkdirSync(other)
  const made = (await app.post('/api/session/new', { workspace: other })).body.session
  const body = { session_id: made.session_id, trash_id }
  assert.is((await app.post('/api/file/restore', body)).status, 404)
  for (const trash of ['../sessions', '..', 'x', '0'.repeat(24), '/etc', `${trash_id}/..`]) {
    const answer = await app.post('/api/file/restore', { session_id: id, trash_id: trash })
    assert.is(answer.status, 404, trash)
  }
  // Its folder was deleted: it is created again.
  rmSync(join(root, 'src'), { recursive: true })
  assert.is((await app.post('/api/file/restore', { session_id: id, trash_id })).status, 200)
  assert.ok(existsSync(join(root, 'src', 'main.ts')))
})

test('purges the trash after a day', async ({ app, id }) => {
  const old = (await app.post('/api/file/delete', { session_id: id, path: 'README.md' })).body
  const young = (await app.post('/api/file/delete', { session_id: id, path: 'alias.ts' })).body
  const about = join(app.state, 'file-trash', old.trash_id, 'about.json')
  const then = { ...JSON.parse(readFileSync(about, 'utf8')), at: Date.now() / 1000 - 25 * 3600 }
  writeFileSync(about, JSON.stringify(then))
  // A folder that a killed process had only begun.
  const begun = join(app.state, 'file-trash', 'a'.repeat(24))
  mkdirSync(begun)
  utimesSync(begun, new Date(0), new Date(0))
  const trash = new Trash(join(app.state, 'file-trash'), systemClock)
  assert.is(await trash.sweep(), 2)
  assert.equal(readdirSync(join(app.state, 'file-trash')), [young.trash_id])
})

test('the state directory and the home’s secrets are hidden', async ({ app }) => {
  for (const name of ['.env', 'auth.json', 'config.yaml', 'state.db', '.env.backup'])
    writeFileSync(join(app.home, name), 'SECRET: 1')
  mkdirSync(join(app.home, 'profiles', 'other'), { recursive: true })
  writeFileSync(join(app.home, 'profiles', 'other', 'SOUL.md'), 'SECRET')
  writeFileSync(join(app.home, 'SOUL.md'), 'a soul')
  symlinkSync('.agent/.env', join(app.userHome, 'env-link'))
  await app.post('/api/workspaces/add', { path: app.userHome })
  const made = await app.post('/api/session/new', { workspace: app.userHome })
  const id = made.body.session.session_id
  const get = (url: string, path: string) =>
    app.get(`${url}?${new URLSearchParams({ session_id: id, path })}`)

  const names = (await get('/api/list', '.agent')).body.entries.map((e: { name: string }) => e.name)
  assert.equal(names, ['SOUL.md'])
  assert.is((await get('/api/file', '.agent/SOUL.md')).body.content, 'a soul')
  const secrets = [
    '.agent/.env',
    '.agent/.ENV'.toLowerCase(),
    '.agent/auth.json',
    '.agent/config.yaml',
    '.agent/state.db',
    '.agent/webui/.signing_key',
    '.agent/webui/settings.json',
    `.agent/webui/sessions/${id}.jsonl`,
    '.agent/profiles/other/SOUL.md',
    'env-link',
  ]
  for (const path of secrets) {
    for (const url of ['/api/file', '/api/file/raw'])
      assert.is((await get(url, path)).status, 404, `${url} ${path}`)
    const body = { session_id: id, path, content: 'X', new_name: 'x', dest_dir: '.' }
    for (const verb of ['save', 'rename', 'move', 'delete']) {
      if (path === 'env-link' && verb !== 'save') continue
      const answer = await app.post(`/api/file/${verb}`, body)
      assert.is(answer.status, 404, `${verb} ${path}`)
    }
  }
  // Nor can they be carried off with the folder around them.
  for (const path of ['.agent', '.agent/profiles']) {
    const body = { session_id: id, path, recursive: true, new_name: 'x', dest_dir: 'project' }
    for (const verb of ['delete', 'rename', 'move'])
      assert.ok([403, 404].includes((await app.post(`/api/file/${verb}`, body)).status), verb)
  }
  const made2 = await app.post('/api/file/create', { session_id: id, path: '.agent/webui/x.txt' })
  assert.is(made2.status, 404)
  assert.is(readFileSync(join(app.home, '.env'), 'utf8'), 'SECRET: 1')
})

test('rejects the state directory as a workspace, and shows nothing of it when a file configures it', async ({
  app,
}) => {
  assert.is((await app.post('/api/session/new', { workspace: app.state })).status, 400)
  const meta = { title: 'x', workspace: app.state }
  const line = { n: 1, t: 'session', at: 1, v: 1, id: 'inside', meta }
  writeFileSync(join(app.state, 'sessions', 'inside.jsonl'), `${JSON.stringify(line)}\n`)
  for (const path of ['.', 'settings.json', '.signing_key', 'sessions'])
    assert.is((await app.get(`/api/list?session_id=inside&path=${path}`)).status, 404, path)
  assert.is((await app.get('/api/file?session_id=inside&path=.signing_key')).status, 404)
  // Only the folder in it that is a workspace by default.
  const own = join(app.state, 'workspace')
  mkdirSync(own, { recursive: true })
  writeFileSync(join(own, 'mine.txt'), 'mine')
  const second = await app.post('/api/session/new', { workspace: own })
  const path = `session_id=${second.body.session.session_id}&path=mine.txt`
  assert.is((await app.get(`/api/file?${path}`)).body.content, 'mine')
})

test('reports a deleted workspace', async ({ app, root, id, query }) => {
  rmSync(root, { recursive: true })
  for (const url of ['/api/list', '/api/file', '/api/git-info'])
    assert.is((await app.get(`${url}?${query({ path: 'README.md' })}`)).status, 404, url)
  assert.is((await app.post('/api/file/create', { session_id: id, path: 'a' })).status, 404)
  assert.not(existsSync(root))
})

test('reports file system errors in a sentence', async ({ app, id, root, query }) => {
  if (process.getuid?.() === 0) return
  chmodSync(join(root, 'README.md'), 0)
  assert.is((await app.get(`/api/file?${query({ path: 'README.md' })}`)).status, 403)
  chmodSync(join(root, 'src'), 0o555)
  const body = { session_id: id, path: 'src/new.txt' }
  assert.is((await app.post('/api/file/create', body)).status, 403)
  chmodSync(join(root, 'src'), 0o755)
})

test('stores the order of workspaces: POST /api/workspaces/reorder', async ({ app, root }) => {
  const other = join(app.userHome, 'other')
  mkdirSync(other)
  for (const path of [root, other]) await app.post('/api/workspaces/add', { path })
  const reorder = (paths: unknown) => app.post('/api/workspaces/reorder', { paths })
  for (const paths of [undefined, 'x', [1], [['x']]])
    assert.is((await reorder(paths)).status, 400, JSON.stringify(paths))
  const pathsOf = (answer: { body: { workspaces: { path: string }[] } }) =>
    answer.body.workspaces.map(({ path }) => path)
  const [home = ''] = pathsOf(await app.get('/api/workspaces'))
  assert.equal(pathsOf(await reorder([other, '/not/there', root])), [other, root, home])
  assert.equal(pathsOf(await reorder([root, root])), [root, other, home])
  await app.restart()
  assert.equal(pathsOf(await app.get('/api/workspaces')), [root, other, home])
})

test.run()

const disks = suite('files over HTTP: trash on another disk')

const otherDisk = (): string | undefined => {
  try {
    const dir = mkdtempSync('/dev/shm/agent-webui-')
    if (statSync(dir).dev !== statSync(process.env.TMPDIR ?? '/tmp').dev) return dir
    rmSync(dir, { recursive: true })
  } catch {
    // No such disk on this machine.
  }
  return undefined
}

disks('deletes and restores by complete copies, links as links', async () => {
  const state = otherDisk()
  if (!state) return
  const { app, id, root } = await openDesk({ env: { AGENT_WEBUI_STATE_DIR: state } })
  try {
    chmodSync(join(root, 'src', 'main.ts'), 0o640)
    symlinkSync('../../secret.txt', join(root, 'src', 'out'))
    const body = { session_id: id, path: 'src', recursive: true }
    const removed = await app.post('/api/file/delete', body)
    assert.is(removed.status, 200)
    assert.not(existsSync(join(root, 'src')))
    const { trash_id } = removed.body
    assert.is((await app.post('/api/file/restore', { session_id: id, trash_id })).status, 200)
    assert.is(readFileSync(join(root, 'src', 'main.ts'), 'utf8'), 'export {}\n')
    assert.is(statSync(join(root, 'src', 'main.ts')).mode & 0o777, 0o640)
    assert.is(readlinkSync(join(root, 'src', 'out')), '../../secret.txt')
    assert.equal(readdirSync(join(state, 'file-trash')), [])

    const one = await app.post('/api/file/delete', { session_id: id, path: 'README.md' })
    const back = { session_id: id, trash_id: one.body.trash_id }
    writeFileSync(join(root, 'README.md'), 'new')
    assert.is((await app.post('/api/file/restore', back)).status, 409)
    rmSync(join(root, 'README.md'))
    assert.is((await app.post('/api/file/restore', back)).status, 200)
    assert.is(readFileSync(join(root, 'README.md'), 'utf8'), 'hello\nworld\n')
    assert.equal(namesIn(root), ['README.md', 'alias.ts', 'away.txt', 'src', 'up'])
  } finally {
    await app.close()
    rmSync(state, { recursive: true, force: true })
  }
})

disks.run()
