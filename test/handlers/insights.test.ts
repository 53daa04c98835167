/** Usage over HTTP: from real turns, from journals others wrote, through a restart and a lost catalog. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'
import { startChat } from './_chat.ts'

const test = suite<{ app: TestApp }>('insights over HTTP')
test.before.each(async context => {
  context.app = await startApp()
})
test.after.each(({ app }) => app.close())

const now = () => Date.now() / 1_000
type Spent = {
  at: number
  model?: string
  provider?: string
  in: number
  out: number
  cost?: number
}

/** A journal as another program may have written it. */
const journal = (
  app: TestApp,
  id: string,
  spent: readonly Spent[],
  meta: Record<string, unknown> = {},
) => {
  const lines: unknown[] = [
    { n: 1, t: 'session', at: 1, v: 1, id, meta: { title: id, workspace: '/w', ...meta } },
  ]
  for (const { at, model = 'm', provider = 'p', cost = 0, ...tokens } of spent) {
    const stream_id = `s${lines.length}`
    lines.push({
      n: lines.length + 1,
      t: 'turn_started',
      at,
      stream_id,
      model,
      provider,
      message_id: 'm1',
    })
    const usage = { input_tokens: tokens.in, output_tokens: tokens.out, estimated_cost: cost }
    lines.push({ n: lines.length + 1, t: 'turn_ended', at, stream_id, how: 'done', usage })
  }
  mkdirSync(join(app.state, 'sessions'), { recursive: true })
  writeFileSync(
    join(app.state, 'sessions', `${id}.jsonl`),
    lines.map(line => `${JSON.stringify(line)}\n`).join(''),
  )
}
const read = async (app: TestApp, query = '') => (await app.get(`/api/insights${query}`)).body

test('rejects an invalid number of days, format or time zone', async ({ app }) => {
  for (const query of [
    'days=0',
    'days=366',
    'days=x',
    'days=1.5',
    'format=xml',
    'timezone=Mars/Base',
    'timezone=..%2F..%2Fetc',
  ]) {
    const answer = await app.get(`/api/insights?${query}`)
    assert.is(answer.status, 400, query)
    assert.ok(answer.body.error)
  }
})

test('without usage every day is listed with zero', async ({ app }) => {
  const body = await read(app, '?days=7&timezone=UTC')
  assert.is(body.daily.length, 7)
  assert.is(body.daily.at(-1).date, new Date().toISOString().slice(0, 10))
  assert.is(body.totals.total_tokens, 0)
  assert.equal(body.models, [])
  assert.is((await read(app)).days, 30)
  assert.equal([body.by_weekday.length, body.by_hour.length], [7, 24])
})

test('a turn counts once, under the model and provider that served it, also after a restart', async () => {
  const usage = { prompt_tokens: 120, completion_tokens: 30, cost: 0.5 }
  await using chat = await startChat(
    { text: 'one', usage },
    { text: 'A title' },
    { text: 'two', usage },
  )
  const id = await chat.newSession()
  await chat.turn(id, 'hello')
  const spent = async () => {
    const { totals, models, profiles, sources, daily } = await read(chat.app)
    assert.equal(daily.at(-1).input_tokens, totals.input_tokens)
    return { totals, models, profiles, sources }
  }
  const first = await spent()
  assert.equal(first.totals, {
    turns: 1,
    input_tokens: 120,
    output_tokens: 30,
    total_tokens: 150,
    estimated_cost: 0.5,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    sessions: 1,
  })
  assert.equal([first.models[0].model, first.models[0].provider], ['test-model', 'custom'])
  assert.equal([first.profiles[0].profile, first.sources[0].source], ['default', 'webui'])
  await chat.turn(id, 'again')
  const second = await spent()
  assert.equal([second.totals.turns, second.totals.input_tokens], [2, 240])
  await chat.app.restart()
  assert.equal(await spent(), second)
  // The catalog is a cache: lost, it is made again from the journals.
  rmSync(join(chat.app.state, 'cache'), { recursive: true })
  await chat.app.restart()
  assert.equal(await spent(), second)
  await chat.app.post('/api/session/clear', { session_id: id })
  await chat.app.post('/api/session/purge', { session_id: id })
  assert.equal(await spent(), second)
})

test('picks up journals that other programs write, change or remove', async ({ app }) => {
  const at = now() - 60
  journal(app, 'one', [{ at, in: 10, out: 1 }], { profile: 'work' })
  journal(app, 'two', [{ at, model: 'big', in: 100, out: 5 }], { is_cli_session: true })
  journal(app, 'old', [{ at: at - 40 * 86_400, in: 1_000, out: 0 }], { source_tag: 'cron' })
  const { totals, models, profiles, sources } = await read(app)
  assert.equal([totals.turns, totals.total_tokens, totals.sessions], [2, 116, 2])
  assert.equal(
    models.map((row: { model: string }) => row.model),
    ['big', 'm'],
  )
  assert.equal(
    profiles.map((row: { profile: string }) => row.profile),
    ['default', 'work'],
  )
  assert.equal(
    sources.map((row: { source: string }) => row.source),
    ['cli', 'webui'],
  )
  assert.is((await read(app, '?days=90')).sources[0].source, 'cron')
  journal(app, 'one', [{ at, in: 20, out: 2 }], { profile: 'work' })
  assert.is((await read(app)).totals.total_tokens, 127)
  rmSync(join(app.state, 'sessions', 'two.jsonl'))
  assert.is((await read(app)).totals.total_tokens, 22)
})

test('days follow the requested time zone', async ({ app }) => {
  const today = new Date().toISOString().slice(0, 10)
  const midnight = Date.parse(`${today}T00:00:00Z`) / 1_000
  journal(app, 'late', [{ at: midnight - 30 * 60, in: 7, out: 0 }])
  const days = async (timezone: string) =>
    (await read(app, `?days=3&timezone=${timezone}`)).daily.map(
      ({ date, input_tokens }: { date: string; input_tokens: number }) => [date, input_tokens],
    )
  assert.is((await days('UTC')).at(-2)[1], 7)
  // Half an hour before midnight in London is a quarter past five in Kathmandu, the next day.
  const there = (await days('Asia/Kathmandu')).find(([, tokens]: [string, number]) => tokens > 0)
  assert.is(there[0], today)
  writeFileSync(join(app.home, 'config.yaml'), 'timezone: Asia/Kathmandu\n')
  assert.is((await read(app)).timezone.slice(0, 5), 'Asia/')
})

test('tokens of a session in the earlier format count at its own time', async ({ app }) => {
  const at = now() - 2 * 86_400
  mkdirSync(join(app.state, 'sessions'), { recursive: true })
  const file = { title: 'Old', messages: [], model: 'm', input_tokens: 40, output_tokens: 2 }
  writeFileSync(
    join(app.state, 'sessions', 'abc.json'),
    JSON.stringify({ ...file, created_at: at, updated_at: at }),
  )
  const spent = async () => {
    const { totals, models } = await read(app)
    return [totals.turns, totals.total_tokens, totals.sessions, models[0].model]
  }
  assert.equal(await spent(), [0, 42, 1, 'm'])
  await app.post('/api/session/rename', { session_id: 'abc', title: 'Converted' })
  assert.equal(await spent(), [0, 42, 1, 'm'])
  await app.restart()
  assert.equal(await spent(), [0, 42, 1, 'm'])
})

test('CSV has one line per day, model, provider, profile and source, and no cell is a formula', async ({
  app,
}) => {
  const at = now() - 60
  journal(app, 'one', [
    { at, model: '=HYPERLINK("http://x","y")', in: 10, out: 1, cost: 0.25 },
    { at, model: '@sum(a)', in: 5, out: 0 },
    { at, model: '\t=1+1', in: 4, out: 0 },
    { at, model: 'a,"b"', in: 3, out: 0 },
    { at, model: '-2+3', in: 2, out: 0 },
  ])
  const answer = await app.get('/api/insights?days=7&format=csv&timezone=UTC')
  assert.is(answer.headers['content-type'], 'text/csv; charset=utf-8')
  const today = new Date(at * 1_000).toISOString().slice(0, 10)
  assert.match(
    String(answer.headers['content-disposition']),
    /^attachment; filename="usage-\d{4}-\d\d-\d\d-7d\.csv"$/,
  )
  const [head, ...lines] = answer.text.trimEnd().split('\r\n')
  assert.is(
    head,
    'date,model,provider,profile,source,turns,input_tokens,output_tokens,total_tokens,estimated_cost,cache_read_tokens,cache_write_tokens',
  )
  assert.equal(lines, [
    `${today},"'=HYPERLINK(""http://x"",""y"")",p,default,webui,1,10,1,11,0.25,0,0`,
    `${today},'@sum(a),p,default,webui,1,5,0,5,0,0,0`,
    `${today},"'\t=1+1",p,default,webui,1,4,0,4,0,0,0`,
    `${today},"a,""b""",p,default,webui,1,3,0,3,0,0,0`,
    `${today},'-2+3,p,default,webui,1,2,0,2,0,0,0`,
  ])
})

test.run()
