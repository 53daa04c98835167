/** Commands and subagents of the user over HTTP: files that other programs also write. */
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'

type Row = { name: string; called: string; problem: string | null; [key: string]: unknown }
type Context = { app: TestApp; put: (path: string, text: string) => string }

const test = suite<Context>('own commands and subagents over HTTP')
test.before(async context => {
  context.app = await startApp()
  context.put = (path, text) => {
    const file = join(context.app.home, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    return file
  }
})
test.after(({ app }) => app.close())

const list = async (app: TestApp, kind: string, options = {}): Promise<Row[]> =>
  (await app.get(`/api/own-files?kind=${kind}`, options)).body.files
const read = (app: TestApp, kind: string, name: string) =>
  app.get(`/api/own-files/content?kind=${kind}&name=${encodeURIComponent(name)}`)
const save = (app: TestApp, body: object) => app.post('/api/own-files/save', body)

test('rejects names, keys, and kinds that no command can have, and writes nothing', async ({
  app,
}) => {
  const create = { kind: 'command', create: true, text: 'Do it.' }
  const bad: [body: object, status: number, sentence: RegExp][] = [
    [{ ...create, kind: 'hook', name: 'x' }, 400, /kind/],
    [{ ...create, name: '../x' }, 400, /letters/],
    [{ ...create, name: 'a:..:b' }, 400, /letters/],
    [{ ...create, name: 'a/b' }, 400, /letters/],
    [{ ...create, name: '.hidden' }, 400, /letters/],
    [{ ...create, name: 'a:b:c:d:e:f' }, 400, /letters/],
    [{ ...create, name: 'näme' }, 400, /letters/],
    [{ ...create, name: 'help' }, 409, /built-in/],
    [{ ...create, name: 'x', text: ' \n' }, 400, /needs a text/],
    [{ ...create, name: 'x', text: 'x'.repeat(300_000) }, 400, /limited to 256 kB/],
    [{ ...create, name: 'x', fields: { 'allowed-tools': 'Read' } }, 400, /fields/],
    [{ ...create, name: 'x', fields: { model: 'm' } }, 400, /has no model/],
    [{ ...create, name: 'x', content: 'Whole' }, 400, /either/],
    [
      { kind: 'command', create: true, name: 'x', content: '---\na: [\n---\nText' },
      400,
      /was not saved/,
    ],
    [{ kind: 'subagent', create: true, name: '[x]', text: 'You.' }, 400, /one line/],
    [{ kind: 'command', name: 'missing', text: 'x' }, 404, /There is no command/],
    [{ kind: 'command', name: 'missing', text: 'x', expected_version: '1' }, 409, /deleted/],
  ]
  for (const [body, status, sentence] of bad) {
    const reply = await save(app, body)
    assert.is(reply.status, status, `${JSON.stringify(body).slice(0, 100)}: ${reply.text}`)
    assert.match(reply.body.error, sentence)
  }
  assert.is((await read(app, 'command', 'missing')).status, 404)
  assert.not(existsSync(join(app.home, 'commands')))
})

test('creates a command in its profile, lists it, and offers it at once', async ({ app, put }) => {
  const fields = { description: 'Review: a "file"', argument_hint: '<file>' }
  const input = { kind: 'command', create: true, name: '/Git:Full Review', text: 'Review $1.\n\n' }
  const reply = await save(app, { ...input, fields })
  assert.is(reply.status, 200, reply.text)
  const file = join(app.home, 'commands', 'git', 'full-review.md')
  assert.is(
    readFileSync(file, 'utf8'),
    '---\ndescription: \'Review: a "file"\'\nargument-hint: <file>\n---\n\nReview $1.\n',
  )
  assert.is(statSync(file).mode & 0o777, 0o600)
  assert.equal(
    [reply.body.file.called, reply.body.file.text, reply.body.file.file],
    ['git:full-review', 'Review $1.', file],
  )
  put('profiles/work/commands/mine.md', 'Work')
  const { commands } = (await app.get('/api/commands')).body
  assert.ok(commands.some((one: { name: string }) => one.name === 'git:full-review'))
  const others = await list(app, 'command', { headers: { Cookie: 'agent_profile=work' } })
  assert.equal(
    others.map(({ name }) => name),
    ['mine'],
  )
  assert.is((await save(app, { ...input, name: 'git:full-review' })).status, 409)
})

test('changes only what was edited: other keys, comments, order, CRLF, and byte order mark stay', async ({
  app,
  put,
}) => {
  const head = [
    '\uFEFF---',
    '# from the other program',
    'allowed-tools: Bash(git *), Read   # keep',
    "description:   'Old'  # why",
    'model: sonnet',
    '---',
    '',
    'Sum up $1.',
    '',
    '',
  ]
  const file = put('commands/sum.md', head.join('\r\n'))
  const before = await read(app, 'command', 'sum')
  assert.equal(before.body.other_keys, ['allowed-tools', 'model'])
  assert.is(before.body.text, 'Sum up $1.')
  const { version } = before.body
  const same = { description: 'Old', argument_hint: '' }
  await save(app, { kind: 'command', name: 'sum', fields: same, text: 'Sum up $1.' })
  assert.is(readFileSync(file, 'utf8'), head.join('\r\n'))
  const edit = { kind: 'command', name: 'sum', expected_version: version }
  const saved = await save(app, {
    ...edit,
    fields: { description: 'New', argument_hint: '[day]' },
    text: 'Sum up\n$1.',
  })
  assert.is(saved.status, 200, saved.text)
  assert.is(
    readFileSync(file, 'utf8'),
    head
      .join('\r\n')
      .replace("'Old'", 'New')
      .replace('model: sonnet', 'model: sonnet\r\nargument-hint: "[day]"')
      .replace('Sum up $1.', 'Sum up\r\n$1.'),
  )
  // A key that is emptied is removed; the others stay.
  await save(app, { kind: 'command', name: 'sum', fields: { argument_hint: ' ' } })
  assert.not.match(readFileSync(file, 'utf8'), 'argument-hint')
  const stale = await save(app, { ...edit, text: 'Mine' })
  assert.is(stale.status, 409)
  assert.is(stale.body.code, 'file_changed')
  assert.match(stale.body.content, 'Sum up\r\n$1.')
  const gone = { kind: 'command', name: 'sum', expected_version: version }
  assert.is((await app.post('/api/own-files/delete', gone)).status, 409)
})

test('front matter that cannot be read is edited only as a whole', async ({ app, put }) => {
  const text = '---\ndescription: a: b\n---\nText\n'
  const file = put('commands/broken.md', text)
  const { body } = await read(app, 'command', 'broken')
  assert.match(body.front_matter_problem, /cannot be read/)
  assert.is(body.problem, 'front_matter')
  const edit = { kind: 'command', name: 'broken' }
  const refused = await save(app, { ...edit, fields: { description: 'New' } })
  assert.is(refused.status, 400)
  assert.match(refused.body.error, 'The file was not changed')
  assert.is(readFileSync(file, 'utf8'), text)
  assert.is((await save(app, { ...edit, content: text.replace('a: b', 'a b') })).status, 200)
  assert.is(readFileSync(file, 'utf8'), text.replace('a: b', 'a b'))
})

test('renames a command without losing one that exists', async ({ app, put }) => {
  const file = put('commands/day/old.md', 'Say $1.')
  put('commands/taken.md', 'Other')
  const edit = { kind: 'command', name: 'day:old', text: 'Say it: $1.' }
  assert.is((await save(app, { ...edit, new_name: 'taken' })).status, 409)
  assert.is((await save(app, { ...edit, new_name: 'compact' })).status, 409)
  assert.is(readFileSync(file, 'utf8'), 'Say $1.')
  const { body } = await save(app, { ...edit, new_name: 'say' })
  assert.equal([body.file.name, body.file.text], ['say', 'Say it: $1.'])
  assert.not(existsSync(dirname(file)))
  assert.is(readFileSync(join(app.home, 'commands', 'taken.md'), 'utf8'), 'Other')
})

test('lists files without effect with the reason, and links out of the home as read-only', async ({
  app,
  put,
}) => {
  put('commands/help.md', 'Never')
  put('commands/nothing.md', '---\ndescription: x\n---\n')
  put('commands/TAKEN.md', 'Twice')
  const outside = put('elsewhere.md', 'Linked')
  symlinkSync(outside, join(app.home, 'commands', 'linked.md'))
  symlinkSync(app.home, join(app.home, 'commands', 'out'))
  const rows = await list(app, 'command')
  const problems = rows.filter(({ problem }) => problem).map(row => [row.name, row.problem])
  assert.equal(problems, [
    ['help', 'reserved'],
    ['nothing', 'empty'],
    ['taken', 'duplicate'],
  ])
  const linked = { kind: 'command', name: 'linked' }
  assert.is((await read(app, 'command', 'linked')).body.read_only, true)
  assert.is((await save(app, { ...linked, text: 'Mine' })).status, 403)
  assert.is((await app.post('/api/own-files/delete', linked)).status, 403)
  const through = { kind: 'command', create: true, name: 'out:x', text: 'Mine' }
  assert.is((await save(app, through)).status, 400)
  assert.is(readFileSync(outside, 'utf8'), 'Linked')
  assert.not(existsSync(join(app.home, 'x.md')))
})

test('a subagent gets a file of its name, keeps the spelling of its tools, and is deleted', async ({
  app,
  put,
}) => {
  const fields = { description: 'Checks', tools: ['read_file', 'terminal'], model: '@a:b' }
  const create = { kind: 'subagent', create: true, text: 'You check.' }
  const { body } = await save(app, { ...create, name: 'Code reviewer', fields })
  const file = join(app.home, 'agents', 'code-reviewer.md')
  assert.is(
    readFileSync(file, 'utf8'),
    '---\nname: Code reviewer\ndescription: Checks\ntools: read_file, terminal\nmodel: "@a:b"\n---\n\nYou check.\n',
  )
  assert.equal([body.file.called, body.file.tools], ['Code reviewer', fields.tools])
  assert.is((await save(app, { ...create, name: 'Code reviewer' })).status, 409)
  assert.is((await save(app, { ...create, name: '校对' })).body.file.name, 'subagent')

  const listed = put('agents/list.md', '---\ntools:\n  - Read  # all\n  - Grep\n---\nYou.\n')
  const edit = { kind: 'subagent', name: 'list' }
  await save(app, { ...edit, fields: { name: 'list', tools: ['Read', 'Bash'] } })
  assert.is(readFileSync(listed, 'utf8'), '---\ntools:\n  - Read  # all\n  - Bash\n---\nYou.\n')
  assert.is((await save(app, { ...edit, fields: { name: 'Code reviewer' } })).status, 409)
  await save(app, { ...edit, fields: { name: 'Lister', tools: null } })
  assert.is(readFileSync(listed, 'utf8'), '---\nname: Lister\n---\nYou.\n')
  assert.is((await app.post('/api/own-files/delete', edit)).status, 200)
  assert.not(existsSync(listed))
  assert.is((await app.post('/api/own-files/delete', edit)).status, 404)
})

test.run()
