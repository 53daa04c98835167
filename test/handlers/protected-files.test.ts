/** Files that no request about a workspace reaches, under whatever name: secrets by a second name, and what git would run. */
import { existsSync, linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Desk, namesIn, openDesk } from './_files.ts'

const test = suite<Desk>('protected files')
test.before.each(async context => {
  Object.assign(context, await openDesk())
})
test.after.each(({ app }) => app.close())

const TEXT = 'KEY=TOP SECRET'

test('hides a hard link to a secret; a hard link to another file is a file', async desk => {
  const { app, root, id, query } = desk
  const secrets = [
    '.env',
    'auth.json',
    'mcp-tokens/agent-webui/p.json',
    'config.yaml',
    'state.db',
    'webui/.signing_key',
    'webui/settings.json',
    'webui/auth-sessions.json',
  ]
  for (const [i, name] of secrets.entries()) {
    const place = join(app.home, name)
    mkdirSync(dirname(place), { recursive: true })
    if (!existsSync(place))
      writeFileSync(
        place,
        name.endsWith('.yaml')
          ? '# TOP SECRET\n'
          : name.endsWith('.json')
            ? '{"x":"TOP SECRET"}'
            : TEXT,
      )
    linkSync(place, join(root, 'src', `link-${i}.txt`))
    linkSync(place, join(root, `link-${i}.png`))
    symlinkSync(`link-${i}.png`, join(root, `link-to-link-${i}.png`))
  }
  linkSync(join(root, 'README.md'), join(root, 'second name.md'))
  const listed = (await app.get(`/api/list?${query({ path: '.' })}`)).body.entries
  assert.equal(
    listed
      .map(({ name }: { name: string }) => name)
      .filter((name: string) => /^link-\d/.test(name)),
    [],
  )
  for (const i of secrets.keys())
    for (const path of [`src/link-${i}.txt`, `link-${i}.png`, `link-to-link-${i}.png`]) {
      const answers = [
        await app.get(`/api/file?${query({ path })}`),
        await app.get(`/api/file/raw?${query({ path })}`),
        await app.get(`/api/media?${query({ path: join(root, path) })}`),
        await app.post('/api/file/save', { session_id: id, path, content: 'overwritten' }),
      ]
      for (const { status, text } of answers) {
        assert.ok(status === 403 || status === 404, `${secrets[i]} as ${path}: ${status}`)
        assert.not.match(text, 'TOP SECRET')
      }
    }
  const zip = await app.get(`/api/folder/download?${query({ path: '.' })}`)
  assert.is(zip.status, 200)
  assert.not.match(zip.bytes.toString('latin1'), /link-\d\.(?:png|txt)/)
  const shown = await app.get(`/api/file?${query({ path: 'second name.md' })}`)
  assert.equal([shown.status, shown.body.content], [200, 'hello\nworld\n'])
})

const GIT_NAMES = [
  '.git',
  '.GIT',
  '.Git',
  '.git.',
  '.git ',
  'git~1',
  'GIT~1',
  '.g\u200cit',
  '.git::$INDEX_ALLOCATION',
]

test('creates nothing in a .git folder and no such folder, in any spelling', async ({
  app,
  root,
  id,
  query,
}) => {
  mkdirSync(join(root, '.git', 'hooks'), { recursive: true })
  writeFileSync(join(root, '.git', 'config'), '[core]\n')
  writeFileSync(join(root, 'hook'), '#!/bin/sh\n')
  mkdirSync(join(root, 'plain'))
  mkdirSync(join(root, 'moved', '.git'), { recursive: true })
  const before = namesIn(root)
  const upload = (folder: string, name: string) => {
    const part = (head: string, data: string) =>
      `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${data}\r\n`
    return app.post(
      '/api/upload',
      `${part('name="session_id"', id)}${part('name="path"', folder)}${part(`name="file"; filename="${name}"`, 'x')}--b--\r\n`,
      { headers: { 'content-type': 'multipart/form-data; boundary=b' } },
    )
  }
  const session_id = id
  for (const git of GIT_NAMES) {
    const answers = [
      await app.post('/api/file/create', {
        session_id,
        path: `${git}/hooks/post-checkout`,
        content: 'x',
      }),
      await app.post('/api/file/create', { session_id, path: git, content: 'gitdir: /tmp' }),
      await app.post('/api/file/create', { session_id, path: `a/b/${git}/config`, content: 'x' }),
      await app.post('/api/file/create-dir', { session_id, path: git }),
      await app.post('/api/file/create-dir', { session_id, path: `a/${git}/hooks` }),
      await app.post('/api/file/rename', { session_id, path: 'plain', new_name: git }),
      await app.post('/api/file/rename', { session_id, path: 'hook', new_name: git }),
      await upload(`sub/${git}`, 'config'),
      await upload(`${git}/hooks`, 'pre-commit'),
    ]
    for (const [i, { status, body }] of answers.entries())
      assert.equal([git, i, status, typeof body.error], [git, i, 400, 'string'])
  }
  for (const answer of [
    await upload('.', '.GIT'),
    await upload('', '.git'),
    await app.post('/api/file/move', { session_id, path: 'hook', dest_dir: '.git/hooks' }),
    await app.post('/api/file/move', { session_id, path: 'moved/.git', dest_dir: 'plain' }),
    await app.post('/api/file/rename', { session_id, path: '.git/hooks', new_name: 'other' }),
  ])
    assert.is(answer.status, 400, JSON.stringify(answer.body))
  assert.equal(namesIn(root), before)
  assert.equal(namesIn(join(root, '.git')), ['config', 'hooks'])
  assert.equal(namesIn(join(root, '.git', 'hooks')), [])
  // Names that only look like it are ordinary ones, and what was deleted comes back.
  for (const path of ['.gitignore', '.github/workflows/ci.yml', 'x.git', 'git', '.git2'])
    assert.is(
      (await app.post('/api/file/create', { session_id, path, content: 'x' })).status,
      200,
      path,
    )
  assert.ok(existsSync(join(root, dirname('.github/workflows/ci.yml'))))
  const gone = await app.post('/api/file/delete', { session_id, path: 'moved', recursive: true })
  assert.is(gone.status, 200)
  const back = await app.post('/api/file/restore', { trash_id: gone.body.trash_id, session_id })
  assert.is(back.status, 200)
  assert.equal(namesIn(join(root, 'moved')), ['.git'])
  assert.is(readFileSync(join(root, '.git', 'config'), 'utf8'), '[core]\n')
  assert.is((await app.get(`/api/file?${query({ path: 'README.md' })}`)).status, 200)
})

test.run()
