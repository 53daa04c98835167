/** Git over HTTP, against real repositories: counts, changed files, diffs, and nothing of theirs executed. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openGit } from '../../../lib/workspaces/git.ts'
import { parseStatus, readStatus } from '../../../lib/workspaces/git-status.ts'
import { addDesk, type Desk, ESCAPES, HOSTILE_NAMES, openDesk } from '../../handlers/_files.ts'

type Changed = { path: string; old_path?: string; index: string; worktree: string; status: string }

const test = suite<Desk & { count: number }>('git over HTTP')
test.before(async context => void Object.assign(context, await openDesk(), { count: 0 }))
test.before.each(async context => {
  context.count++
  Object.assign(context, await addDesk(context.app, `repository-${context.count}`))
})
test.after(({ app }) => app.close())

const IDENTITY = [
  '-c',
  'user.name=T',
  '-c',
  'user.email=t@example.org',
  '-c',
  'protocol.file.allow=always',
]
const run = (cwd: string, ...args: string[]): string =>
  execFileSync('git', [...IDENTITY, ...args], {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, GIT_CONFIG_NOSYSTEM: '1' },
    stdio: ['ignore', 'pipe', 'ignore'],
  }).toString()

const commit = (root: string, message = 'one'): void => {
  run(root, 'add', '-A')
  run(root, 'commit', '-qm', message, '--allow-empty')
}

/** A repository with one commit of what the workspace holds. */
const begin = (root: string): void => {
  run(root, 'init', '-qb', 'main')
  commit(root)
}

const info = async ({ app, query }: Desk) => (await app.get(`/api/git-info?${query({})}`)).body
const status = async ({ app, query }: Desk) => (await app.get(`/api/git/status?${query({})}`)).body
const diff = ({ app, query }: Desk, path: string, kind: string) =>
  app.get(`/api/git/diff?${query({ path, kind })}`)
const fileOf = async (desk: Desk, path: string): Promise<Changed | undefined> =>
  (await status(desk)).files.find((file: Changed) => file.path === path)

test('git-info: 404 for an unknown session; null without a repository', async desk => {
  const { app } = desk
  for (const url of ['/api/git-info', '/api/git/status', '/api/git/diff']) {
    const gone = await app.get(`${url}?session_id=gone00000000&path=a`)
    assert.equal(
      [gone.status, gone.body],
      [404, { error: 'Session not found', code: 'session_not_found' }],
      url,
    )
    assert.is((await app.get(url)).status, 400, url)
  }
  assert.equal(await info(desk), { git: null })
  const none = await status(desk)
  assert.equal([none.is_git, none.branch, none.files], [false, null, []])
  assert.is((await diff(desk, 'README.md', 'worktree')).status, 404)
  assert.is((await diff(desk, 'README.md', 'everything')).status, 400)
})

test('ignores a repository in a parent directory, and a broken one', async desk => {
  run(desk.app.userHome, 'init', '-q')
  assert.equal(await info(desk), { git: null })
  rmSync(join(desk.app.userHome, '.git'), { recursive: true })
  writeFileSync(join(desk.root, '.git'), 'gitdir: nowhere\n')
  assert.equal(await info(desk), { git: null })
  rmSync(join(desk.root, '.git'))
  mkdirSync(join(desk.root, '.git'))
  assert.equal(await info(desk), { git: null })
  assert.is((await status(desk)).is_git, false)
})

test('without commits the branch has a name and files are untracked or added', async desk => {
  const { root } = desk
  run(root, 'init', '-qb', 'trunk')
  run(root, 'add', 'README.md')
  const { git } = await info(desk)
  assert.equal([git.branch, git.ahead, git.behind], ['trunk', 0, 0])
  const now = await status(desk)
  assert.equal([now.branch, now.upstream, now.detached], ['trunk', null, false])
  const added = await fileOf(desk, 'README.md')
  assert.equal([added?.index, added?.worktree, added?.status], ['A', ' ', 'added'])
  assert.is((await fileOf(desk, 'src/main.ts'))?.status, 'untracked')
  const { body } = await diff(desk, 'README.md', 'index')
  assert.match(body.diff, /\+hello\n\+world\n/)
})

test('git-info: examines both X and Y; the six fields appear twice', async desk => {
  const { root } = desk
  begin(root)
  const clean = await info(desk)
  assert.equal(clean.git, {
    branch: 'main',
    dirty: 0,
    modified: 0,
    untracked: 0,
    ahead: 0,
    behind: 0,
    is_git: true,
  })
  writeFileSync(join(root, 'README.md'), 'staged')
  run(root, 'add', 'README.md')
  writeFileSync(join(root, 'src', 'main.ts'), 'not staged')
  writeFileSync(join(root, 'added.txt'), '1')
  run(root, 'add', 'added.txt')
  run(root, 'mv', 'alias.ts', 'renamed.ts')
  rmSync(join(root, 'up'))
  mkdirSync(join(root, 'new'))
  for (const name of ['a', 'b']) writeFileSync(join(root, 'new', name), name)
  const found = await info(desk)
  const { git, ...flat } = found
  assert.equal(git, { ...flat, is_git: true })
  assert.equal(flat, { branch: 'main', dirty: 6, modified: 4, untracked: 1, ahead: 0, behind: 0 })
})

test('status: reports every kind of change with exact names', async desk => {
  const { root } = desk
  for (const name of ['gone.txt', 'both.txt', 'mode.sh', 'type.txt'])
    writeFileSync(join(root, name), `${name}\n`.repeat(20))
  begin(root)
  rmSync(join(root, 'gone.txt'))
  writeFileSync(join(root, 'both.txt'), 'one')
  run(root, 'add', 'both.txt')
  writeFileSync(join(root, 'both.txt'), 'two')
  chmodSync(join(root, 'mode.sh'), 0o755)
  rmSync(join(root, 'type.txt'))
  symlinkSync('README.md', join(root, 'type.txt'))
  run(root, 'mv', 'README.md', 'src/new name.md')
  writeFileSync(join(root, '.gitignore'), 'ignored\n')
  writeFileSync(join(root, 'ignored'), '')
  mkdirSync(join(root, 'deep', 'er'), { recursive: true })
  writeFileSync(join(root, 'deep', 'er', 'file'), '')
  const { files, truncated } = await status(desk)
  const short = files.map(({ path, old_path, index, worktree, status: word }: Changed) =>
    [`${index}${worktree}`, word, old_path ? `${old_path} → ${path}` : path].join(' '),
  )
  assert.equal(short.sort(), [
    ' D deleted gone.txt',
    ' M modified mode.sh',
    ' T typechange type.txt',
    '?? untracked .gitignore',
    '?? untracked deep/er/file',
    'MM modified both.txt',
    'R  renamed README.md → src/new name.md',
  ])
  assert.is(truncated, false)
})

test('hostile names: untracked, modified and renamed files and their diffs', async desk => {
  const { app, root } = desk
  for (const name of HOSTILE_NAMES) writeFileSync(join(root, name), 'one\n')
  run(root, 'init', '-qb', 'main')
  const found = (await status(desk)).files.map(({ path }: Changed) => path)
  const news = await Promise.all(HOSTILE_NAMES.map(name => diff(desk, name, 'untracked')))
  for (const [n, name] of HOSTILE_NAMES.entries()) {
    assert.ok(found.includes(name), JSON.stringify(name))
    const body = news[n]?.body
    assert.match(body.diff, /\n@@ -0,0 \+1,1 @@\n\+one\n$/, JSON.stringify(name))
    assert.is(body.path, name)
  }
  commit(root)
  for (const name of HOSTILE_NAMES) writeFileSync(join(root, name), 'two\n')
  const { files } = await status(desk)
  assert.equal(files.map(({ path }: Changed) => path).sort(), [...HOSTILE_NAMES].sort())
  const diffs = await Promise.all(HOSTILE_NAMES.map(name => diff(desk, name, 'worktree')))
  for (const [n, name] of HOSTILE_NAMES.entries()) {
    const body = diffs[n]?.body
    assert.match(body.diff, /\n-one\n\+two\n$/, JSON.stringify(name))
    assert.is(body.diff.match(/^diff --git/gm).length, 1, JSON.stringify(name))
  }
  assert.not(existsSync(join(root, 'pwned')))
  assert.is((await app.get('/health')).status, 200)
})

test('diffs: working tree, index, renames, new and binary files, truncated when large', async desk => {
  const { root } = desk
  writeFileSync(join(root, 'pic.bin'), Buffer.from([0, 1, 2]))
  writeFileSync(join(root, 'long.txt'), 'x\n')
  begin(root)
  writeFileSync(join(root, 'README.md'), 'hello\nstaged\n')
  run(root, 'add', 'README.md')
  writeFileSync(join(root, 'README.md'), 'hello\nstaged\nand more\n')
  const body = async (path: string, kind: string) => (await diff(desk, path, kind)).body
  assert.match((await body('README.md', 'index')).diff, /\n-world\n\+staged\n$/)
  assert.match((await body('README.md', 'staged')).diff, /\n-world\n\+staged\n$/)
  assert.match((await body('README.md', 'worktree')).diff, / staged\n\+and more\n$/)
  assert.match((await body('README.md', 'unstaged')).diff, /\n\+and more\n$/)
  assert.is((await diff(desk, 'README.md', 'untracked')).status, 404)

  run(root, 'mv', 'src/main.ts', 'src/first.ts')
  const renamed = (await body('src/first.ts', 'index')).diff
  assert.match(renamed, /similarity index 100%\nrename from src\/main.ts\nrename to src\/first.ts/)

  writeFileSync(join(root, 'pic.bin'), Buffer.from([0, 3]))
  assert.equal(await body('pic.bin', 'worktree'), {
    path: 'pic.bin',
    diff: '',
    binary: true,
    truncated: false,
  })
  writeFileSync(join(root, 'new.bin'), Buffer.from([1, 0]))
  assert.is((await body('new.bin', 'untracked')).binary, true)
  writeFileSync(join(root, 'no-newline'), 'a\nb')
  assert.match(
    (await body('no-newline', 'untracked')).diff,
    /\+a\n\+b\n\\ No newline at end of file\n$/,
  )
  writeFileSync(join(root, 'empty'), '')
  assert.match((await body('empty', 'untracked')).diff, /new file mode 100644\n$/)
  symlinkSync('/etc/passwd', join(root, 'link'))
  const link = (await body('link', 'untracked')).diff
  assert.match(link, /new file mode 120000\n.*\n\+\/etc\/passwd\n/s)
  assert.not.match(link, /root:/)
  rmSync(join(root, 'away.txt'))
  assert.match((await body('away.txt', 'worktree')).diff, /deleted file mode 120000/)

  writeFileSync(join(root, 'long.txt'), 'a line of text\n'.repeat(60_000))
  writeFileSync(join(root, 'long-new.txt'), 'a line of text\n'.repeat(60_000))
  for (const [path, kind] of [
    ['long.txt', 'worktree'],
    ['long-new.txt', 'untracked'],
  ] as const) {
    const cut = await body(path, kind)
    assert.is(cut.truncated, true)
    assert.ok(cut.diff.length < 900_000)
    assert.match(cut.diff, /\+a line of text\n$/)
  }
})

test('a diff accepts one changed file: no folder, pattern, path outside, or option', async desk => {
  const { root } = desk
  begin(root)
  writeFileSync(join(root, 'README.md'), 'changed')
  writeFileSync(join(root, 'src', 'main.ts'), 'changed')
  const paths = [
    ...ESCAPES,
    '.',
    'src',
    'src/',
    '*',
    '*.md',
    ':/',
    ':(top)README.md',
    '--output=x',
    '-O/etc/passwd',
    './README.md',
  ]
  const kinds = ['worktree', 'index', 'untracked']
  for (const [n, path] of paths.entries()) {
    const answer = await diff(desk, path, kinds[n % 3] ?? '')
    assert.is(answer.status, 404, path.slice(0, 30))
    assert.not.match(answer.text, /OUTSIDE|root:x/)
  }
  assert.not(existsSync(join(root, 'x')))
})

test('reports a conflict with a combined diff', async desk => {
  const { root } = desk
  begin(root)
  run(root, 'checkout', '-qb', 'other')
  writeFileSync(join(root, 'README.md'), 'theirs\n')
  commit(root, 'theirs')
  run(root, 'checkout', '-q', 'main')
  writeFileSync(join(root, 'README.md'), 'ours\n')
  commit(root, 'ours')
  assert.throws(() => run(root, 'merge', 'other'))
  const file = await fileOf(desk, 'README.md')
  assert.equal([file?.index, file?.worktree, file?.status], ['U', 'U', 'conflict'])
  assert.is((await info(desk)).dirty, 1)
  const { body } = await diff(desk, 'README.md', 'worktree')
  assert.match(body.diff, /\+\+<<<<<<< HEAD\n/)
})

test('shows a detached HEAD by its commit', async desk => {
  const { root } = desk
  begin(root)
  run(root, 'checkout', '-q', '--detach')
  const short = run(root, 'rev-parse', '--short=7', 'HEAD').trim()
  const now = await status(desk)
  assert.equal([now.branch, now.detached], [short, true])
  assert.is((await info(desk)).branch, short)
})

test('ahead and behind refer to the upstream, and are 0 when it is deleted', async desk => {
  const { app, root } = desk
  begin(root)
  const bare = join(app.userHome, 'bare.git')
  run(app.userHome, 'clone', '-q', '--bare', root, bare)
  run(root, 'remote', 'add', 'origin', bare)
  run(root, 'push', '-qu', 'origin', 'main')
  commit(root, 'two')
  commit(root, 'three')
  let now = await status(desk)
  assert.equal([now.upstream, now.ahead, now.behind], ['origin/main', 2, 0])
  run(root, 'push', '-q')
  run(root, 'reset', '-q', '--hard', 'HEAD~1')
  assert.equal((await info(desk)).behind, 1)
  run(root, 'update-ref', '-d', 'refs/remotes/origin/main')
  now = await status(desk)
  assert.equal([now.ahead, now.behind], [0, 0])
})

test('supports a submodule as a workspace and in its parent', async desk => {
  const { app, root } = desk
  const inner = join(app.userHome, 'inner')
  mkdirSync(inner)
  writeFileSync(join(inner, 'a.txt'), 'a\n')
  begin(inner)
  begin(root)
  run(root, 'submodule', '--quiet', 'add', inner, 'sub')
  commit(root, 'with submodule')
  writeFileSync(join(root, 'sub', 'a.txt'), 'changed\n')
  assert.equal((await status(desk)).files, [], 'what is changed in it is shown in it')
  commit(join(root, 'sub'), 'moved on')
  assert.is((await fileOf(desk, 'sub'))?.status, 'modified')
  assert.match((await diff(desk, 'sub', 'worktree')).body.diff, /\+Subproject commit/)

  const made = await app.post('/api/session/new', { workspace: join(root, 'sub') })
  const id = made.body.session.session_id
  writeFileSync(join(root, 'sub', 'b.txt'), 'b')
  const { body } = await app.get(`/api/git/status?session_id=${id}`)
  assert.equal(
    body.files.map(({ path }: Changed) => path),
    ['b.txt'],
  )
  assert.is((await app.get(`/api/git-info?session_id=${id}`)).body.untracked, 1)
})

test('supports a second work tree of the same repository', async desk => {
  const { app, root } = desk
  begin(root)
  const other = join(app.userHome, 'other')
  run(root, 'worktree', 'add', '-q', other, '-b', 'side')
  writeFileSync(join(other, 'README.md'), 'changed')
  const id = (await app.post('/api/session/new', { workspace: other })).body.session.session_id
  const { body } = await app.get(`/api/git-info?session_id=${id}`)
  assert.equal([body.branch, body.modified], ['side', 1])
})

test('runs no program configured by a repository, and writes nothing to it', async desk => {
  const { app, root } = desk
  const mark = join(app.userHome, 'pwned')
  const script = join(app.userHome, 'evil.sh')
  writeFileSync(script, `#!/bin/sh\necho "$0 $@" >> ${mark}\ncat\n`)
  chmodSync(script, 0o755)
  writeFileSync(join(root, '.gitattributes'), '* filter=evil diff=evil\n*.md filter=a=b\n')
  begin(root)
  const set = (key: string, value = script) => run(root, 'config', key, value)
  for (const key of [
    'core.fsmonitor',
    'core.pager',
    'core.editor',
    'core.sshCommand',
    'core.askPass',
    'diff.external',
    'diff.evil.command',
    'diff.evil.textconv',
    'filter.evil.clean',
    'filter.evil.smudge',
    'filter.evil.process',
    'filter.a=b.clean',
    'pager.status',
    'pager.diff',
    'alias.status',
    'credential.helper',
    'gpg.program',
  ])
    set(key, key.startsWith('alias') ? `!${script}` : script)
  set('filter.evil.required', 'true')
  mkdirSync(join(root, '.git', 'hooks'), { recursive: true })
  for (const hook of ['post-index-change', 'fsmonitor-watchman', 'pre-commit', 'post-checkout']) {
    writeFileSync(join(root, '.git', 'hooks', hook), readFileSync(script))
    chmodSync(join(root, '.git', 'hooks', hook), 0o755)
  }
  writeFileSync(join(root, 'README.md'), 'hello\nWORLD\n')
  const index = () => statSync(join(root, '.git', 'index'), { bigint: true }).mtimeNs
  const before = index()
  assert.is((await info(desk)).modified, 1)
  assert.is((await fileOf(desk, 'README.md'))?.status, 'modified')
  assert.match((await diff(desk, 'README.md', 'worktree')).body.diff, /\n-world\n\+WORLD\n$/)
  assert.not(existsSync(mark), existsSync(mark) ? readFileSync(mark, 'utf8') : '')
  assert.is(index(), before)
})

test('ignores `core.worktree`', async desk => {
  const { app, root } = desk
  begin(root)
  run(root, 'config', 'core.worktree', app.userHome)
  const { files } = await status(desk)
  assert.equal(files, [])
})

test('omits secrets and state files from status and diffs', async ({ app }) => {
  writeFileSync(join(app.home, '.env'), 'A=1\n')
  writeFileSync(join(app.home, 'SOUL.md'), 'soul\n')
  run(app.home, 'init', '-qb', 'main')
  await app.post('/api/workspaces/add', { path: app.home })
  const made = await app.post('/api/session/new', { workspace: app.home })
  const id = made.body.session.session_id
  const { body } = await app.get(`/api/git/status?session_id=${id}`)
  assert.equal(
    body.files.map(({ path }: Changed) => path),
    ['SOUL.md'],
  )
  for (const path of ['.env', 'webui/settings.json', 'webui/.signing_key']) {
    const answer = await app.get(`/api/git/diff?session_id=${id}&path=${path}&kind=untracked`)
    assert.is(answer.status, 404, path)
  }
  // The person may have committed one.
  run(app.home, 'add', '--force', '.env', 'SOUL.md')
  run(app.home, 'commit', '-qm', 'all')
  const commit = run(app.home, 'rev-parse', 'HEAD').trim()
  const shown = await app.get(`/api/git/commit?session_id=${id}&commit=${commit}`)
  assert.match(shown.body.diff, '+soul')
  assert.not.match(shown.body.diff, /\.env|A=1/)
})

test.run()

const odd = suite('git: unusual environments')

odd('the service’s GIT_* variables do not reach git', async () => {
  const desk = await openDesk({
    env: {
      GIT_DIR: '/nowhere',
      GIT_WORK_TREE: '/',
      GIT_INDEX_FILE: '/nowhere',
      GIT_EXTERNAL_DIFF: '/bin/false',
      GIT_CONFIG_GLOBAL: '/nowhere',
    },
  })
  try {
    begin(desk.root)
    writeFileSync(join(desk.root, 'README.md'), 'x')
    assert.is((await info(desk)).branch, 'main')
    assert.match((await diff(desk, 'README.md', 'worktree')).body.diff, /\+x/)
  } finally {
    await desk.app.close()
  }
})

odd(
  'without git, info is null and status reports it; never runs a `git` of the workspace',
  async () => {
    const desk = await openDesk({ env: { PATH: '.:src:/nowhere' } })
    try {
      begin(desk.root)
      for (const place of ['git', 'src/git']) {
        writeFileSync(join(desk.root, place), `#!/bin/sh\ntouch ${desk.root}/pwned\n`)
        chmodSync(join(desk.root, place), 0o755)
      }
      assert.equal(await info(desk), { git: null })
      const { app, query } = desk
      const answer = await app.get(`/api/git/status?${query({})}`)
      assert.is(answer.status, 503)
      assert.match(answer.body.error, /git could not be started/)
      assert.not(existsSync(join(desk.root, 'pwned')))
    } finally {
      await desk.app.close()
    }
  },
)

odd('stops a git that exceeds its time limit', async () => {
  const desk = await openDesk()
  try {
    begin(desk.root)
    const bin = join(desk.app.userHome, 'bin')
    mkdirSync(bin)
    writeFileSync(join(bin, 'git'), '#!/bin/sh\n/bin/sleep 20\n')
    chmodSync(join(bin, 'git'), 0o755)
    const places = { path: bin, userHome: desk.app.userHome, timeoutMs: 100 }
    const error = await openGit(desk.root, places).then(
      () => undefined,
      (e: Error) => e,
    )
    assert.match(error?.message ?? '', /took longer than/)
  } finally {
    await desk.app.close()
  }
})

odd('truncates very many files and says so', async () => {
  const desk = await openDesk()
  try {
    begin(desk.root)
    for (let n = 0; n < 30; n++) writeFileSync(join(desk.root, `new-${n}`), '')
    const git = await openGit(desk.root, { path: process.env.PATH, userHome: desk.app.userHome })
    const { files, truncated } = await readStatus(git, () => false, 20)
    assert.equal([files.length, truncated], [20, true])
  } finally {
    await desk.app.close()
  }
})

odd('an unparsable status causes no error', () => {
  for (const text of ['', '\0', '1', '2 R. x', 'u', '# branch.ab nonsense', '? \0? ', '9 x\0'])
    assert.is(parseStatus(text).is_git, true)
})

odd.run()
