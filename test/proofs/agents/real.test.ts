/** The ways of agents from npm: what a person sees before an edit and after it, what a command printed, lists of steps. */
import { applyPatch } from 'diff'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { type TurnOutput, agentSuite } from '../../lib/agent/acp/_external.ts'

const test = agentSuite('acp: behavior of real agents')

const resultIn = ({ messages }: TurnOutput) =>
  JSON.parse(String(messages.find(({ role }) => role === 'tool')?.content))

test('reads a missing file as empty, and can create it', async at => {
  const turn = await at.say('create new.txt')
  assert.is(turn.text, 'Created.')
  assert.is(readFileSync(join(at.workspace, 'new.txt'), 'utf8'), 'hello\nworld\n')
  assert.is(at.asked[0]?.diff, '--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+hello\n+world\n')
  assert.is(resultIn(turn).diff, at.asked[0]?.diff)
  assert.is((await at.say('create deep/er/new.txt')).text, 'Created.')
  assert.match(`${(await at.say('create ../new.txt')).outcome.failure?.message}`, /outside/)
})

test('an unreadable file is never read as empty', async at => {
  writeFileSync(join(at.workspace, 'bin'), Buffer.from([1, 0, 2]))
  const stray = Buffer.concat([Buffer.from('größe'), Buffer.from([0xff])])
  writeFileSync(join(at.workspace, 'stray.txt'), stray)
  for (const name of ['bin', 'stray.txt', '.', 'a.txt/under'])
    assert.is((await at.say(`create ${name}`)).outcome.status, 'failed', name)
  assert.equal(readFileSync(join(at.workspace, 'stray.txt')), stray)
  if (process.getuid?.() !== 0) {
    chmodSync(join(at.workspace, 'a.txt'), 0)
    assert.is((await at.say('create a.txt')).outcome.status, 'failed')
  }
})

const LONG = Array.from({ length: 40 }, (_, at) => `line ${at}\n`).join('')

/** Each edits `b.txt`, which holds LONG; what it must hold afterwards. */
const EDITS: [said: string, after: string][] = [
  ['write b.txt all new', 'all\nnew\n'],
  ['replace b.txt 20 twenty', LONG.replace('20', 'twenty')],
  ['overwrite b.txt all new', 'all\nnew\n'],
  ['create b.txt', 'hello\nworld\n'],
]
for (const [said, after] of EDITS)
  test(`the diff in the approval matches the resulting file (${said})`, async at => {
    const path = join(at.workspace, 'b.txt')
    writeFileSync(path, LONG)
    const turn = await at.say(said)
    assert.is(readFileSync(path, 'utf8'), after)
    const [asked] = at.asked
    assert.match(asked?.diff ?? '', /^--- a\/b\.txt\n\+\+\+ b\/b\.txt\n@@ /)
    assert.is(applyPatch(LONG, asked?.diff ?? ''), after)
    assert.is(applyPatch(LONG, resultIn(turn).diff), after)
  })

test('a denied edit leaves the file unchanged after showing its diff', async at => {
  const turn = await at.say('write a.txt other', { approve: 'deny' })
  assert.match(at.asked[0]?.diff ?? '', /-first\n\+other\n/)
  assert.is(readFileSync(join(at.workspace, 'a.txt'), 'utf8'), 'first\n')
  assert.is(resultIn(turn).status, 'blocked')
})

test('shows a file before its deletion', async at => {
  const turn = await at.say('remove a.txt')
  assert.is(at.asked[0]?.diff, '--- a/a.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-first\n')
  assert.is(resultIn(turn).diff, at.asked[0]?.diff)
})

test('shows part of a huge change and says so', async at => {
  writeFileSync(join(at.workspace, 'b.txt'), 'x\n'.repeat(30_000))
  await at.say(`write b.txt ${'y '.repeat(10_000)}`)
  const diff = at.asked[0]?.diff ?? ''
  assert.ok(diff.length < 60_000)
  assert.match(diff, /more lines of this change are not shown|too large to be shown/)
})

test('does not show protected files', async at => {
  writeFileSync(join(at.workspace, 'secret'), 'key\n')
  const request = { forbidden: [join(at.workspace, 'secret')] }
  await at.say('overwrite secret x', { request })
  assert.equal(at.asked, [])
})

test('shows the output, while it arrives, and the exit code of a command the agent runs itself', async at => {
  const failed = await at.say('shell 3 one two')
  assert.equal(resultIn(failed), { output: 'one\ntwo\n', exit_code: 3, error: null })
  assert.equal(
    failed.events.flatMap(event => (event.type === 'tool_output' ? [event.text] : [])),
    ['one\n', 'two\n'],
  )
  assert.equal(resultIn(await at.say('shell 0 fine')), {
    output: 'fine\n',
    exit_code: 0,
    error: null,
  })
  assert.equal(resultIn(await at.say('shell killed x')), {
    output: 'x\n',
    exit_code: null,
    error: 'It was ended by SIGKILL.',
  })
  assert.equal(resultIn(await at.say('spoken words')), {
    output: 'out-of-it',
    exit_code: 3,
    error: null,
  })
  assert.equal(resultIn(await at.say('spoken nothing')), {
    output: '',
    exit_code: null,
    error: null,
  })
})

for (const style of ['todos', 'described', 'plan'])
  test(`converts a list of steps to our task list (${style})`, async at => {
    const turn = await at.say(`steps ${style}`)
    const started = turn.events.find(event => event.type === 'tool')
    assert.is(started?.type === 'tool' && started.name, 'todo')
    assert.equal(resultIn(turn).todos, [
      { id: '1', content: 'look', status: 'in_progress' },
      { id: '2', content: 'change', status: 'pending' },
    ])
  })

test('a command with two ways to allow it is an approval, not a question', async at => {
  assert.is((await at.say('yes echo hi')).text, 'Yes.')
  assert.is(at.asked[0]?.command, 'echo hi')
  assert.equal(at.questions, [])
  assert.is((await at.say('yes echo hi', { approve: 'deny' })).text, 'No.')
})

test.run()
