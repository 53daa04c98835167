import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createHome, type TestHome } from './_home.ts'

const test = suite<{ it: TestHome }>('cron: jobs file')
test.before.each(context => {
  context.it = createHome()
})
test.after.each(({ it }) => it.remove())

const refusal = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('It was not refused')
}

test('rejects a damaged file and leaves it unchanged', async ({ it }) => {
  for (const text of ['{', '[]', '7', '{"jobs": {}}', '{"jobs": "x"}', '\u0000']) {
    it.put(text)
    const { jobs, file } = it.service('a')
    assert.ok(file.problem(), text)
    assert.equal(jobs.list(), [])
    assert.match(await refusal(jobs.pause('x', null)), /cannot be read/)
    assert.is(it.text(), text)
  }
})

test('preserves unknown fields, unknown jobs and all digits of numbers', async ({ it }) => {
  const foreign = `{
  "version": 3.0,
  "jobs": [
    {"id": "keep", "ratio": 1.0, "big": 123456789012345678901, "tiny": 1e-7, "nested": {"a": [null, true, "\\u00e9"]}},
    "not a job", null, 7, {"no": "id"},
    {"id": "mine", "prompt": "p", "schedule": {"kind": "interval", "minutes": 60}, "monitor_state": {"x": 1.50}, "repeat": {"times": null, "completed": 4.0}}
  ],
  "updated_at": "2026-01-01T00:00:00+00:00",
  "later": {"deep": [1, 2, {"three": 3.000}]}
}`
  it.put(foreign)
  const { jobs } = it.service('a')
  assert.equal(
    jobs.list().map(each => each.id),
    ['keep', 'mine'],
  )
  await jobs.pause('mine', 'why')
  const text = it.text()
  for (const literal of [
    '"version": 3.0',
    '"ratio": 1.0',
    '123456789012345678901',
    '1e-7',
    '1.50',
    '3.000',
    '4.0',
  ])
    assert.ok(text.includes(literal), literal)
  const [before, after] = [JSON.parse(foreign), JSON.parse(text)]
  assert.equal(after.jobs.slice(0, 5), before.jobs.slice(0, 5))
  assert.equal(after.later, before.later)
  assert.equal(after.jobs[5].monitor_state, { x: 1.5 })
  assert.is(after.jobs[5].state, 'paused')
  assert.match(after.updated_at, /^2026-02-02T10:00:00\+00:00$/)
})

test('reads raw control characters in strings and writes them escaped', async ({ it }) => {
  it.put('{"jobs": [{"id": "a", "prompt": "one\ntwo\t\u0001 \\" \\n", "schedule": "every 1h"}]}')
  const { jobs, file } = it.service('a')
  assert.is(file.problem(), null)
  assert.is(jobs.get('a').prompt, 'one\ntwo\t\u0001 " \n')
  await jobs.pause('a', null)
  assert.is(it.stored()[0]!.prompt, 'one\ntwo\t\u0001 " \n')
})

const refused: [
  string,
  Parameters<ReturnType<TestHome['service']>['jobs']['create']>[0],
  RegExp,
][] = [
  ['no prompt and no skill', { prompt: ' ', schedule: 'every 1h' }, /prompt is required/],
  ['no schedule anybody can read', { prompt: 'x', schedule: 'soon' }, /not a schedule/],
  [
    'a script elsewhere',
    { prompt: 'x', schedule: '1h', script: '../config.yaml' },
    /must be a file in/,
  ],
  ['an absolute script', { prompt: 'x', schedule: '1h', script: '/bin/sh' }, /must be a file in/],
  ['invisible characters', { prompt: 'a\u202eb', schedule: '1h' }, /invisible/],
  ['a prompt without end', { prompt: 'x'.repeat(200_001), schedule: '1h' }, /longer than/],
]
for (const [what, given, sentence] of refused) {
  test(`rejects: ${what}`, async ({ it }) => {
    const { jobs } = it.service('a')
    assert.match(await refusal(jobs.create(given)), sentence)
    assert.equal(jobs.list(), [])
  })
}

test('a job has every key that the host agent reads, whichever are missing in the file', async ({
  it,
}) => {
  const { jobs } = it.service('a')
  const made = await jobs.create({ prompt: `  ${'word '.repeat(30)}`, schedule: '30m' })
  assert.match(made.id, /^[0-9a-f]{12}$/)
  assert.ok(String(made.name).length <= 50 && String(made.name).startsWith('word'))
  assert.equal(made.repeat, { times: 1, completed: 0 })
  assert.is(made.schedule_display, 'once in 30m')
  assert.is(made.next_run_at, '2026-02-02T10:30:00+00:00')
  const other = await jobs.create({ prompt: '', skills: ['tidy'], schedule: 'every 2h', repeat: 3 })
  assert.equal(
    [other.name, other.skill, other.repeat],
    ['tidy', 'tidy', { times: 3, completed: 0 }],
  )
})

test('update: parses text, keeps absent fields, clears blank ones, leaves a paused job paused', async ({
  it,
}) => {
  const { jobs } = it.service('a')
  const { id } = await jobs.create({ prompt: 'x', schedule: 'every 1h', model: 'm' })
  await jobs.update(id, { schedule: '0 9 * * *', name: 'new' })
  assert.equal(jobs.get(id).schedule, { kind: 'cron', expr: '0 9 * * *', display: '0 9 * * *' })
  assert.equal(
    [jobs.get(id).next_run_at, jobs.get(id).name, jobs.get(id).model],
    ['2026-02-03T09:00:00+00:00', 'new', 'm'],
  )
  await jobs.update(id, { model: '', name: '' })
  assert.equal([jobs.get(id).model, jobs.get(id).name], [null, 'new'])
  await jobs.pause(id, 'holidays')
  await jobs.update(id, { schedule: '2h' })
  assert.equal(
    [jobs.get(id).state, jobs.get(id).enabled, jobs.get(id).repeat],
    ['paused', false, { times: 1, completed: 0 }],
  )
  assert.match(await refusal(jobs.update(id, { schedule: 'x' })), /not a schedule/)
  assert.match(await refusal(jobs.update(id, { prompt: '' })), /prompt is required/)
  assert.is(jobs.get(id).prompt, 'x')
  assert.match(await refusal(jobs.update('gone', {})), /Job not found/)
})

test.run()
