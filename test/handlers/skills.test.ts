/** Skills over HTTP, on real directories with hostile names, links and half-broken heads. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'

type Row = { name: string; category: string | null; [key: string]: unknown }
type Context = { app: TestApp; root: string }

const test = suite<Context>('skills over HTTP')
test.before.each(async context => {
  context.app = await startApp()
  context.root = join(context.app.home, 'skills')
})
test.after.each(({ app }) => app.close())

const put = (path: string, text: string) => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
const skillText = (name: string, more = '') =>
  `---\nname: ${name}\ndescription: What ${name} is for.\n${more}---\n\n# ${name}\n\nDo it well.\n`
const addSkill = (root: string, place: string, more = '') =>
  put(join(root, place, 'SKILL.md'), skillText(place.split('/').at(-1) ?? '', more))
const list = async (app: TestApp, query = ''): Promise<Row[]> =>
  (await app.get(`/api/skills${query}`)).body.skills
const names = async (app: TestApp, query = '') =>
  (await list(app, query)).map(({ category, name }) => `${category ?? ''}/${name}`)
const content = (app: TestApp, name: string, file?: string) =>
  app.get(
    `/api/skills/content?name=${encodeURIComponent(name)}${file === undefined ? '' : `&file=${encodeURIComponent(file)}`}`,
  )
const MANY = [
  '*',
  'dep?oy',
  '[a-z]',
  'deploy*',
  '**',
  'ops/*',
  '..',
  '../..',
  '/etc',
  'ops/..',
  '.',
  'x',
]

test('Skills: glob characters are 400 and an unknown name is 404, whichever characters it has', async ({
  app,
  root,
}) => {
  addSkill(root, 'ops/deploy')
  put(join(app.home, 'SKILL.md'), skillText('outside'))
  assert.equal((await app.get('/api/skills/content')).body, {
    error: 'name required',
    code: 'missing_fields',
  })
  for (const name of MANY) {
    for (const file of [undefined, 'SKILL.md']) {
      const answer = await content(app, name, file)
      const glob = /[*?[\]]/.test(name)
      assert.is(answer.status, glob ? 400 : 404, name)
      assert.is(answer.body.code, glob ? 'invalid_skill_name' : 'skill_not_found')
    }
  }
})

test('Skills: a linked file path must stay inside of the skill directory', async ({
  app,
  root,
}) => {
  addSkill(root, 'ops/deploy')
  put(join(app.home, 'secret.txt'), 'canary')
  put(join(root, 'ops', 'other.md'), 'canary')
  const dir = join(root, 'ops', 'deploy')
  put(join(dir, 'references', 'a.md'), 'inside')
  symlinkSync(join(app.home, 'secret.txt'), join(dir, 'references', 'link.md'))
  symlinkSync('/etc', join(dir, 'assets'))
  symlinkSync('a.md', join(dir, 'references', 'good.md'))
  const refused = [
    '../other.md',
    '..\\other.md',
    'references/../../other.md',
    '/etc/passwd',
    'C:\\x',
    'references/link.md',
    'assets/passwd',
    'a\0.md',
  ]
  for (const file of refused) {
    const answer = await content(app, 'deploy', file)
    assert.equal([answer.status, answer.body.error], [400, 'Invalid file path'], file)
  }
  for (const file of ['references/none.md', 'references', '.', 'SKILL.md/x']) {
    const answer = await content(app, 'deploy', file)
    assert.equal([answer.status, answer.body.error], [404, 'File not found'], file)
  }
  const good = await content(app, 'deploy', 'references/good.md')
  assert.equal([good.body.content, good.body.path], ['inside', 'references/good.md'])
  const { linked_files } = (await content(app, 'deploy')).body
  assert.equal(linked_files, { references: ['references/a.md', 'references/good.md'] })
})

test('contract 1.13: the record, with linked_files always an object', async ({ app, root }) => {
  addSkill(
    root,
    'ops/deploy',
    'tags: [a, b]\nmetadata: {hermes: {tags: [c], related_skills: [x]}}\n',
  )
  const plain = (await content(app, 'deploy')).body
  assert.equal(plain.linked_files, {})
  assert.equal(plain.tags, ['a', 'b', 'c'])
  assert.equal(plain.related_skills, ['x'])
  assert.equal(
    [plain.success, plain.name, plain.category, plain.path, plain.readiness_status],
    [true, 'deploy', 'ops', 'ops/deploy/SKILL.md', 'available'],
  )
  const dir = join(root, 'ops', 'deploy')
  put(join(dir, 'references', 'a.md'), 'a')
  put(join(dir, 'references', 'deep', 'b.md'), 'not listed, can be read')
  put(join(dir, 'templates', 'deep', 't.yaml'), 't: 1')
  put(join(dir, 'scripts', 'run.sh'), 'ls')
  put(join(dir, 'scripts', 'run.exe'), '\0\x01')
  put(join(dir, 'assets', 'deep', 'pic.bin'), '\0\x01')
  const full = (await content(app, 'ops/deploy')).body
  assert.equal(full.linked_files, {
    references: ['references/a.md'],
    templates: ['templates/deep/t.yaml'],
    assets: ['assets/deep/pic.bin'],
    scripts: ['scripts/run.sh'],
  })
  const { version, ...picture } = (await content(app, 'deploy', 'assets/deep/pic.bin')).body
  assert.type(version, 'string')
  assert.equal(picture, {
    content: '',
    path: 'assets/deep/pic.bin',
    is_binary: true,
    size: 2,
  })
  put(join(dir, 'assets', 'big.txt'), 'x'.repeat((1 << 20) + 1))
  assert.is((await content(app, 'deploy', 'assets/big.txt')).status, 400)
})

test('names missing prerequisites of a skill', async ({ app, root }) => {
  addSkill(
    root,
    'mail',
    `required_environment_variables:\n  - {name: MAIL_KEY, help: Ask the admin}\n  - HOME\nprerequisites: {env_vars: [OTHER_KEY], commands: [ls, no-such-command-x]}\nrequired_credential_files: [token.json, ../../../etc/passwd]\n`,
  )
  const before = (await content(app, 'mail')).body
  assert.equal(before.missing_required_environment_variables, ['MAIL_KEY', 'OTHER_KEY'])
  assert.equal(before.missing_required_commands, ['no-such-command-x'])
  assert.equal(before.missing_credential_files, ['token.json', '../../../etc/passwd'])
  assert.equal(
    [before.setup_needed, before.readiness_status, before.setup_help],
    [true, 'setup_needed', 'Ask the admin'],
  )
  put(join(app.home, '.env'), 'MAIL_KEY=abcdef\nOTHER_KEY=x\n')
  assert.equal((await content(app, 'mail')).body.missing_required_environment_variables, [])
})

test('lists by category and name; reflects changes by other programs at once', async ({
  app,
  root,
}) => {
  assert.equal(await list(app), [])
  for (const place of ['zeta', 'ops/b', 'ops/a', 'ops/deep/er/c', '.hub/hidden', '.git/x/hidden']) {
    addSkill(root, place)
  }
  put(join(root, 'ops', 'DESCRIPTION.md'), '---\ndescription: Running things\n---\n')
  put(join(root, 'bare', 'SKILL.md'), '# Heading\n\nFirst line of text.\n')
  put(join(root, 'broken', 'SKILL.md'), '---\nname: broken\ndescription: a: b: c\n---\nText\n')
  put(join(root, 'ops', 'a', 'templates', 'sample', 'SKILL.md'), skillText('sample'))
  symlinkSync(root, join(root, 'ops', 'loop'))
  assert.equal(await names(app), ['/bare', '/broken', '/zeta', 'ops/a', 'ops/b', 'ops/c'])
  const { skills, categories } = (await app.get('/api/skills')).body
  assert.equal(categories, [{ name: 'ops', description: 'Running things' }])
  const description = (name: string) => skills.find((row: Row) => row.name === name).description
  assert.is(description('bare'), 'First line of text.')
  assert.is(description('broken'), 'a: b: c')
  put(join(root, 'zeta', 'SKILL.md'), skillText('omega'))
  rmSync(join(root, 'ops', 'b'), { recursive: true })
  assert.equal(await names(app), ['/bare', '/broken', '/omega', 'ops/a', 'ops/c'])
})

test('hides disabled skills and those of other platforms; all=1 lists them', async ({
  app,
  root,
}) => {
  for (const name of ['on', 'off', 'cli-off']) addSkill(root, name)
  addSkill(root, 'mac', 'platforms: [macos]\n')
  addSkill(root, 'here', 'platforms: [windows, linux, macos]\n')
  put(
    join(app.home, 'config.yaml'),
    'skills: {disabled: [off], platform_disabled: {cli: [cli-off], telegram: [on]}}\n',
  )
  const shown = process.platform === 'darwin' ? ['/here', '/mac', '/on'] : ['/here', '/on']
  assert.equal(await names(app), shown)
  assert.equal(await names(app, '?all=1'), ['/cli-off', '/here', '/mac', '/off', '/on'])
  assert.is((await content(app, 'off')).body.enabled, false)
})

test('toggle: edits skills.disabled in config.yaml, keeps comments, rejects unknown names', async ({
  app,
  root,
}) => {
  const config = join(app.home, 'config.yaml')
  const before = '# mine\nskills:\n  disabled: # these\n    - old  # why\nmodel: m # keep\n'
  put(config, before)
  for (const [body, status] of [
    [{}, 400],
    [{ name: 'a' }, 400],
    [{ enabled: false }, 400],
    [{ name: 'nobody', enabled: false }, 404],
  ] as const) {
    assert.is((await app.post('/api/skills/toggle', body)).status, status)
  }
  assert.is(readFileSync(config, 'utf8'), before)
  addSkill(root, 'ops/deploy')
  const off = await app.post('/api/skills/toggle', { name: 'deploy', enabled: false })
  assert.equal(off.body, { ok: true, name: 'deploy', enabled: false })
  assert.is(
    readFileSync(config, 'utf8'),
    '# mine\nskills:\n  disabled: # these\n    - old  # why\n    - deploy\nmodel: m # keep\n',
  )
  assert.equal(await names(app), [])
  await app.post('/api/skills/toggle', { name: 'deploy', enabled: false })
  await app.post('/api/skills/toggle', { name: 'deploy', enabled: true })
  assert.is(readFileSync(config, 'utf8'), before)
  assert.equal(await names(app), ['ops/deploy'])
})

test('Skills: a rejected save writes nothing', async ({ app, root }) => {
  const text = skillText('a')
  const cases: [body: Record<string, unknown>, sentence: RegExp][] = [
    [{}, /^Missing required field\(s\): name, content$/],
    [{ name: 'a' }, /^Missing required field\(s\): content$/],
    [{ name: 'a', content: text, category: 'a/b' }, /^Invalid category/],
    [{ name: 'a', content: text, category: '..' }, /^Invalid category/],
    [{ name: 'a', content: text, category: 'x..y' }, /^Invalid category/],
    [{ name: 'a', content: text, category: 'a\\b' }, /^Invalid category/],
    [{ name: 'a', content: text, category: '.hub' }, /^Invalid category/],
    ...['../x', 'a/b', '.x', '*', 'a[b]', 'ü', 'x'.repeat(65), 'a..b', '  '].map(
      (name): [Record<string, unknown>, RegExp] => [{ name, content: text }, /^Invalid skill name/],
    ),
    [{ name: 'a', content: '---\nname: a\n---\nText' }, /needs a description/],
    [{ name: 'a', content: '---\ndescription: a\n---\nText' }, /needs a name/],
    [{ name: 'a', content: '---\nname: [a\n---\nText' }, /front matter cannot be read/],
    [{ name: 'a', content: '---\nname: a\ndescription: b\n---\n \n' }, /needs a text/],
    [{ name: 'a', content: `---\nname: ${'n'.repeat(65)}\ndescription: b\n---\nx` }, /64/],
    [{ name: 'a', content: `---\nname: a\ndescription: ${'d'.repeat(1_025)}\n---\nx` }, /1024/],
    [{ name: 'a', content: `${text}${'x'.repeat(100_000)}` }, /100,000/],
  ]
  for (const [body, sentence] of cases) {
    const answer = await app.post('/api/skills/save', body)
    assert.is(answer.status, 400, JSON.stringify(body).slice(0, 100))
    assert.match(answer.body.error, sentence)
  }
  assert.not.ok(existsSync(root))
  mkdirSync(join(app.home, 'elsewhere'))
  mkdirSync(root)
  symlinkSync(join(app.home, 'elsewhere'), join(root, 'linked'))
  const escaped = await app.post('/api/skills/save', {
    name: 'a',
    content: text,
    category: 'linked',
  })
  assert.equal([escaped.status, escaped.body.error], [400, 'Invalid skill path'])
  assert.equal(readdirSync(join(app.home, 'elsewhere')), [])
})

test('saves under a normalized name, and removes the command line’s stale index', async ({
  app,
  root,
}) => {
  const snapshot = join(app.home, '.skills_prompt_snapshot.json')
  put(snapshot, '{}')
  const made = await app.post('/api/skills/save', {
    name: '  Deploy The Thing ',
    category: 'ops',
    content: skillText('deploy-the-thing'),
    create: true,
  })
  const path = join(root, 'ops', 'deploy-the-thing', 'SKILL.md')
  assert.equal([made.body.ok, made.body.name, made.body.path], [true, 'deploy-the-thing', path])
  assert.not.ok(existsSync(snapshot))
  assert.equal(readdirSync(dirname(path)), ['SKILL.md'])
  const again = { name: 'deploy the thing', content: skillText('x'), create: true }
  assert.is((await app.post('/api/skills/save', again)).status, 409)

  // Saving over an existing name replaces its text where it is, other files stay.
  put(join(dirname(path), 'scripts', 'run.sh'), 'ls')
  const { version } = (await content(app, 'deploy-the-thing')).body
  const edited = `${skillText('deploy-the-thing')}More.\n`
  const body = { name: 'deploy-the-thing', content: edited }
  assert.is((await app.post('/api/skills/save', body)).body.path, path)
  assert.is(readFileSync(path, 'utf8'), edited)
  const late = await app.post('/api/skills/save', { ...body, expected_version: version })
  assert.is(late.status, 409)
  assert.is(late.body.content, edited)
  const moved = await app.post('/api/skills/save', { ...body, category: 'New Home' })
  assert.is(moved.body.path, join(root, 'New Home', 'deploy-the-thing', 'SKILL.md'))
  assert.ok(existsSync(join(root, 'New Home', 'deploy-the-thing', 'scripts', 'run.sh')))
  assert.not.ok(existsSync(join(root, 'ops')))
  // A blank category is one that was not given; null takes it out.
  await app.post('/api/skills/save', { ...body, category: '' })
  assert.equal(await names(app), ['New Home/deploy-the-thing'])
  addSkill(root, 'New Home/other')
  await app.post('/api/skills/save', { ...body, category: null })
  assert.equal(await names(app), ['/deploy-the-thing', 'New Home/other'])
  rmSync(join(root, 'New Home'), { recursive: true })

  // A text without a head gets one, so that the command line takes it too.
  await app.post('/api/skills/save', { name: 'note', content: '# Note\n\nA "quoted" line\n' })
  assert.is((await content(app, 'note')).body.description, 'A "quoted" line')
  assert.is((await list(app)).length, 2)
})

test('writes linked files only below the four folders, and never over another change', async ({
  app,
  root,
}) => {
  addSkill(root, 'ops/deploy')
  const dir = join(root, 'ops', 'deploy')
  put(join(dir, 'references', 'a.md'), 'first')
  put(join(app.home, 'secret.txt'), 'canary')
  symlinkSync(join(app.home, 'secret.txt'), join(dir, 'references', 'link.md'))
  symlinkSync(app.home, join(dir, 'assets'))
  const save = (file: string, text: string, more = {}) =>
    app.post('/api/skills/save', { name: 'deploy', file, content: text, ...more })
  const refused = [
    'SKILL.md',
    'a.md',
    'other/a.md',
    '../references/a.md',
    'references/../SKILL.md',
    'references//a.md',
    '/references/a.md',
    'references\\a.md',
    'references/a\0.md',
    'references/link.md',
    'assets/secret.txt',
    'references',
  ]
  for (const file of refused) assert.is((await save(file, 'bad')).status, 400, file)
  assert.is(readFileSync(join(app.home, 'secret.txt'), 'utf8'), 'canary')
  assert.is((await save('references/big.md', 'x'.repeat((1 << 20) + 1))).status, 400)
  mkdirSync(join(dir, 'templates', 'inner'), { recursive: true })
  assert.is((await save('templates/inner', 'x')).status, 409)
  assert.is((await save('references/a.md', 'x', { name: 'none' })).status, 404)

  const { version } = (await content(app, 'deploy', 'references/a.md')).body
  const saved = await save('references/a.md', 'second', { expected_version: version })
  assert.equal(saved.body, {
    ok: true,
    name: 'deploy',
    path: join(dir, 'references', 'a.md'),
    version: (await content(app, 'deploy', 'references/a.md')).body.version,
  })
  const late = await save('references/a.md', 'third', { expected_version: version })
  assert.equal(
    [late.status, late.body.content, late.body.version],
    [409, 'second', saved.body.version],
  )
  rmSync(join(dir, 'references', 'a.md'))
  const gone = await save('references/a.md', 'third', { expected_version: saved.body.version })
  assert.equal([gone.status, gone.body.content], [409, undefined])
  assert.is((await save('scripts/deep/new.sh', 'echo')).status, 200)
  assert.is(readFileSync(join(dir, 'scripts', 'deep', 'new.sh'), 'utf8'), 'echo')
})

test('contract 9.3: delete removes exactly the named skill, never by a pattern', async ({
  app,
  root,
}) => {
  for (const place of ['ops/a', 'ops/ab', 'solo/b', 'c']) addSkill(root, place)
  put(join(root, 'solo', 'b', 'references', 'x.md'), 'x')
  for (const name of ['*', 'a*', 'ops/*', '?', '..', '/', 'ops', '.']) {
    assert.is((await app.post('/api/skills/delete', { name })).status, 404, name)
  }
  assert.is((await app.post('/api/skills/delete', {})).status, 400)
  assert.is((await list(app)).length, 4)
  assert.equal((await app.post('/api/skills/delete', { name: 'a' })).body, { ok: true, name: 'a' })
  assert.equal(await names(app), ['/c', 'ops/ab', 'solo/b'])
  // The emptied category goes, and what a killed process had begun to remove.
  mkdirSync(join(root, '.removed-0123', 'x'), { recursive: true })
  await app.post('/api/skills/delete', { name: 'b' })
  assert.equal(readdirSync(root).sort(), ['c', 'ops'])
})

test('external_dirs are read-only; the profile’s own skill of the same name wins', async ({
  app,
  root,
}) => {
  const shared = join(app.userHome, 'shared')
  for (const place of ['team/review', 'deploy']) addSkill(shared, place)
  addSkill(root, 'deploy')
  addSkill(join(app.userHome, 'linked'), 'tool')
  symlinkSync(join(app.userHome, 'linked', 'tool'), join(root, 'tool'))
  put(join(app.home, 'config.yaml'), 'skills: {external_dirs: [~/shared, ~/none, /no/such]}\n')
  assert.equal(await names(app), ['/deploy', '/tool', 'team/review'])
  for (const name of ['review', 'tool']) {
    assert.is((await content(app, name)).body.read_only, true)
    const body = { name, content: skillText(name) }
    assert.is((await app.post('/api/skills/save', body)).status, 403)
    assert.is((await app.post('/api/skills/delete', { name })).status, 403)
  }
  assert.is((await content(app, 'deploy')).body.read_only, false)
  await app.post('/api/skills/delete', { name: 'deploy' })
  assert.ok(existsSync(join(shared, 'deploy', 'SKILL.md')))
  assert.ok((await app.post('/api/skills/toggle', { name: 'review', enabled: false })).body.ok)
  assert.equal(await names(app), ['/deploy', '/tool'])
})

test('ignores a SKILL.md that links outside of its directory', async ({ app, root }) => {
  put(join(app.home, 'secret.txt'), skillText('evil'))
  mkdirSync(join(root, 'evil'), { recursive: true })
  symlinkSync(join(app.home, 'secret.txt'), join(root, 'evil', 'SKILL.md'))
  assert.equal(await list(app), [])
  assert.is((await content(app, 'evil')).status, 404)
})

test('contract 9.3: two browsers on two profiles have separate skills', async ({ app, root }) => {
  const work = join(app.home, 'profiles', 'work')
  addSkill(join(work, 'skills'), 'clerk')
  addSkill(root, 'cook')
  const headers = { Cookie: 'agent_profile=work' }
  assert.equal(
    (await app.get('/api/skills', { headers })).body.skills.map((row: Row) => row.name),
    ['clerk'],
  )
  assert.equal(await names(app), ['/cook'])
  assert.is((await app.get('/api/skills/content?name=cook', { headers })).status, 404)
  await app.post('/api/skills/toggle', { name: 'clerk', enabled: false }, { headers })
  await app.post('/api/skills/save', { name: 'new', content: 'Text.' }, { headers })
  assert.ok(existsSync(join(work, 'skills', 'new', 'SKILL.md')))
  assert.not.ok(existsSync(join(app.home, 'config.yaml')))
  assert.equal(await names(app), ['/cook'])
  await app.restart()
  const after = (await app.get('/api/skills?all=1', { headers })).body.skills
  assert.equal(
    after.map(({ name, enabled }: Row) => [name, enabled]),
    [
      ['clerk', false],
      ['new', true],
    ],
  )
})

test('saving keeps the line endings, byte order mark and encoding of the file', async ({
  app,
  root,
}) => {
  const asWindows = (text: string) => text.replaceAll('\n', '\r\n')
  const path = join(root, 'deploy/SKILL.md')
  put(path, `\ufeff${asWindows(skillText('deploy'))}`)
  put(join(root, 'deploy/scripts/a.bat'), 'echo one\r\necho two\r\n')
  const text = skillText('deploy').replace('well', 'better')
  const saved = await app.post('/api/skills/save', { name: 'deploy', content: text })
  assert.is(saved.status, 200)
  assert.is(readFileSync(path, 'utf8'), `\ufeff${asWindows(text)}`)
  const file = { name: 'deploy', file: 'scripts/a.bat', content: 'echo one\necho 2\n' }
  assert.is((await app.post('/api/skills/save', file)).status, 200)
  assert.is(readFileSync(join(root, file.name, file.file), 'utf8'), 'echo one\r\necho 2\r\n')
})

test.run()
