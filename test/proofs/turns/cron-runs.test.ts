/** Runs of scheduled jobs over real HTTP: through the engine, into a session and a file, beside other services and homes. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bundleProgram } from '../../_program.ts'
import { type SpawnedApp, spawnApp, startApp } from '../../_app.ts'
import { createProvider, type Scripted, type Step } from '../../_provider.ts'
import { startChat } from '../../handlers/_chat.ts'
import { create, idle, listed, outputOf, ran, runNow } from '../../handlers/_crons.ts'

type Chat = Awaited<ReturnType<typeof startChat>>

const runs = suite<{ chat: Chat }>('crons: runs')
runs.before.each(async context => {
  context.chat = await startChat()
})
runs.after.each(({ chat }) => chat.close())

const configure = (chat: Chat, more: string): void =>
  writeFileSync(
    join(chat.app.home, 'config.yaml'),
    `model:\n  provider: custom\n  base_url: ${chat.provider.url}\n  default: test-model\n${more}`,
  )

runs('cancels MCP elicitation in a scheduled run', async ({ chat }) => {
  const { app, provider } = chat
  const server = bundleProgram(join(import.meta.dirname, '../../lib/mcp/_server.ts'))
  const odd = JSON.stringify({ command: process.execPath, args: [server] })
  configure(chat, `clarify:\n  timeout: 1\nmcp_servers:\n  odd: ${odd}\n`)
  provider.push({ toolCalls: [{ name: 'mcp_odd_ask', arguments: {} }] }, { text: 'Done.' })
  await runNow(app, await create(app))
  const [row] = (await app.get('/api/sessions')).body.sessions
  const said = await chat.messages(row.session_id)
  assert.match(String(said[2]?.content), 'cancel')
  const journal = readFileSync(join(app.state, 'sessions', `${row.session_id}.jsonl`), 'utf8')
  assert.not.match(journal, '"t":"asked"')
})

runs('a run creates a session, an output file and a record', async ({ chat }) => {
  const { app, provider } = chat
  configure(chat, 'timezone: Europe/Berlin\n')
  provider.push({ text: 'All **quiet**.', usage: { prompt_tokens: 7, completion_tokens: 3 } })
  const since = Date.now() / 1_000 - 1
  const id = await create(app)
  await runNow(app, id)

  const { sessions } = (await app.get('/api/sessions')).body
  assert.is(sessions.length, 1)
  const [row] = sessions
  assert.equal([row.title, row.source_tag, row.profile], ['Look', 'cron', 'default'])
  const said = await chat.messages(row.session_id)
  assert.equal(
    said.map(({ role, content }) => [role, content]),
    [
      ['user', 'look around'],
      ['assistant', 'All **quiet**.'],
    ],
  )
  // One call: no title is generated, and the prompt says that the run is unattended.
  assert.is(provider.requests.length, 1)
  const { messages, tools } = provider.requests[0]!.body
  assert.match(messages[0].content, /scheduled run.*\[SILENT\]/s)
  assert.not.ok(
    tools.some((tool: { function: { name: string } }) => tool.function.name === 'clarify'),
  )

  const job = await listed(app, id)
  assert.equal([job.last_status, job.last_error, job.repeat.completed], ['ok', null, 1])
  assert.ok(Date.parse(job.last_run_at) / 1_000 >= since)
  const { outputs } = (await app.get(`/api/crons/output?job_id=${id}`)).body
  assert.is(outputs.length, 1)
  assert.match(outputs[0].filename, /^\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d\.md$/)
  assert.match(
    outputs[0].content,
    new RegExp(
      `^# Cron Job: Look\n\n\\*\\*Job ID:\\*\\* ${id}\n\\*\\*Run Time:\\*\\* [\\d-]+ [\\d:]+\n\\*\\*Schedule:\\*\\* every 60m\n\n## Prompt\n\nlook around\n\n## Response\n\nAll \\*\\*quiet\\*\\*\\.\n$`,
    ),
  )
  const file = join(app.home, 'cron', 'output', id, outputs[0].filename)
  assert.is(statSync(file).mode & 0o777, 0o600)

  const recent = (await app.get(`/api/crons/recent?since=${since}`)).body
  assert.is(recent.since, since)
  assert.equal(
    recent.completions.map(({ completed_at: _, ...each }: Record<string, unknown>) => each),
    [{ job_id: id, name: 'Look', status: 'ok' }],
  )
  assert.equal((await app.get('/api/crons/recent?since=9999999999')).body.completions, [])
  const { runs: past, total } = (await app.get(`/api/crons/history?job_id=${id}`)).body
  assert.is(total, 1)
  const [one] = past
  assert.equal(
    [one.how, one.status, one.trigger, one.session_id, one.filename],
    ['ran', 'ok', 'manual', row.session_id, outputs[0].filename],
  )
  assert.equal((await app.get(`/api/crons/status?job_id=${id}`)).body.running, false)
  // It can be talked to afterwards, by a person who is there again.
  provider.push({ text: 'Sure.' })
  await chat.turn(row.session_id, 'and now?')
  assert.not.match(provider.requests[1]!.body.messages[0].content, /scheduled run/)
})

runs('puts skills, in order, and the script’s output before the prompt', async ({ chat }) => {
  const { app, provider } = chat
  for (const name of ['news', 'style']) {
    mkdirSync(join(app.home, 'skills', name), { recursive: true })
    writeFileSync(
      join(app.home, 'skills', name, 'SKILL.md'),
      `---\nname: ${name}\ndescription: d\n---\nRules of ${name}.\n`,
    )
  }
  mkdirSync(join(app.home, 'scripts'))
  writeFileSync(
    join(app.home, 'scripts', 'load.sh'),
    'echo "load 0.3"; echo "API_KEY=sk-abcdefghijklmnop1234"; echo "$AGENT_HOME"\n',
  )
  provider.push({ text: 'ok' })
  const id = await create(app, { skills: ['style', 'news', 'gone'], script: 'load.sh' })
  await runNow(app, id)
  const sent = provider.requests[0]!.body.messages.at(-1).content as string
  const order = ['Rules of style.', 'Rules of news.', '"gone"', 'load 0.3', 'look around']
  assert.equal(
    order.map(part => sent.indexOf(part)).toSorted((a, b) => a - b),
    order.map(part => sent.indexOf(part)),
  )
  assert.ok(
    order.every(part => sent.includes(part)),
    sent,
  )
  assert.not.match(sent, /sk-abcdefghijklmnop1234/)
  assert.ok(sent.includes(app.home))
  assert.match(await outputOf(app, id), /## Prompt\n\nlook around\n/)
})

runs(
  'reports a failed script to the model; a script outside the scripts folder fails the run',
  async ({ chat }) => {
    const { app, provider } = chat
    mkdirSync(join(app.home, 'scripts'))
    const script = join(app.home, 'scripts', 'a.sh')
    writeFileSync(script, 'echo half; echo broken >&2; exit 3\n')
    provider.push({ text: 'I saw.' })
    const id = await create(app, { script: 'a.sh' })
    await runNow(app, id)
    assert.match(provider.requests[0]!.body.messages.at(-1).content, /half.*exit code 3.*broken/s)
    writeFileSync(
      join(app.home, 'cron', 'jobs.json'),
      readFileSync(join(app.home, 'cron', 'jobs.json'), 'utf8').replace(
        '"a.sh"',
        '"/etc/hostname"',
      ),
    )
    await runNow(app, id)
    assert.is(provider.requests.length, 1)
    assert.match((await listed(app, id)).last_error, /must be a file in/)
    assert.match(await outputOf(app, id), /^# Cron Job: Look \(FAILED\)\n[\s\S]*## Error\n/)
  },
)

runs(
  '[SILENT] suppresses delivery, not the output file; unsupported delivery targets are reported',
  async ({ chat }) => {
    const { app, provider } = chat
    const id = await create(app, { deliver: 'telegram' })
    provider.push({ text: '[SILENT]' })
    await runNow(app, id)
    assert.is((await listed(app, id)).last_delivery_error, null)
    assert.match(await outputOf(app, id), /\[SILENT\]/)
    provider.push({ text: 'News!' })
    await runNow(app, id)
    assert.match((await listed(app, id)).last_delivery_error, /telegram.*only local/)
    assert.is((await listed(app, id)).last_status, 'ok')
  },
)

const dangerous = (target: string): Step => ({
  toolCalls: [{ name: 'terminal', arguments: { command: `rm -rf ${target}` } }],
})

runs('denies approvals and says why in the output; cron_mode allows them', async ({ chat }) => {
  const { app, provider } = chat
  const target = join(app.userHome, 'stuff')
  mkdirSync(target)
  const id = await create(app)
  provider.push(dangerous(target), { text: 'I could not.' })
  await runNow(app, id)
  assert.ok(existsSync(target))
  assert.match(
    await outputOf(app, id),
    /## Denied\n\n- rm -rf .*approvals\.cron_mode.*\n\n## Response/,
  )
  assert.equal((await app.get('/api/inbox')).body.questions ?? [], [])
  const told = () => provider.requests.at(-1)!.body.messages[0].content
  assert.match(told(), 'Commands that need approval are denied')
  configure(chat, 'approvals:\n  cron_mode: approve\n')
  provider.push(dangerous(target), { text: 'Gone.' })
  await runNow(app, id)
  assert.not.ok(existsSync(target))
  assert.not.match(await outputOf(app, id), /## Denied/)
  assert.match(told(), 'would need approval run without one')
  assert.not.match(told(), 'are denied')
})

runs(
  'a model that is unreachable, refuses or returns nothing fails the run with the reason',
  async ({ chat }) => {
    const { app, provider } = chat
    const id = await create(app)
    provider.push({ status: 401, body: { error: { message: 'bad key sk-abcdefghijklmnop1234' } } })
    await runNow(app, id)
    const job = await listed(app, id)
    assert.is(job.last_status, 'error')
    assert.ok(job.last_error.length > 5)
    assert.not.match(JSON.stringify(job), /sk-abcdefghijklmnop1234/)
    assert.match(await outputOf(app, id), /\(FAILED\)/)
    await app.post('/api/crons/update', { job_id: id, model: 'gpt-x', provider: 'openai' })
    await runNow(app, id)
    assert.match((await listed(app, id)).last_error, /key/i)
    assert.is(provider.requests.length, 1)
  },
)

runs('stops a run without activity and continues with the next jobs', async ({ chat }) => {
  const { app, provider } = chat
  writeFileSync(join(app.home, '.env'), 'AGENT_CRON_TIMEOUT=0.1\n')
  const id = await create(app)
  provider.push({ end: 'headers' })
  await runNow(app, id)
  assert.match((await listed(app, id)).last_error, /nothing happened for 0\.1 seconds/)
  configure(chat, 'cron:\n  max_run_seconds: 0.1\n')
  writeFileSync(join(app.home, '.env'), 'AGENT_CRON_TIMEOUT=0\n')
  provider.push({ end: 'headers' })
  await runNow(app, id)
  assert.match((await listed(app, id)).last_error, /longer than 0\.1 seconds/)
  const { sessions } = (await app.get('/api/sessions')).body
  assert.ok(sessions.every((row: { is_streaming: boolean }) => !row.is_streaming))
})

runs.run()

const cut = suite('crons: runs that a restart cuts')

type Cut = { app: SpawnedApp; provider: Scripted }

const killed = (script: Step[], run: (it: Cut) => Promise<void>) => async () => {
  const provider = await createProvider(...script)
  const app = await spawnApp()
  try {
    writeFileSync(
      join(app.home, 'config.yaml'),
      `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\ncheckpoints:\n  enabled: false\n`,
    )
    await run({ app, provider })
  } finally {
    await app.close()
    await provider.close()
  }
}

const historyOf = async ({ app }: Cut) => (await app.get('/api/crons/history')).body.runs

for (const how of ['kill', 'stop'] as const)
  cut(
    `after a ${how} the turn of a task continues with the rules of tasks, and the run is recorded once`,
    killed(
      [
        { end: 'headers' },
        { toolCalls: [{ id: 'c1', name: 'terminal', arguments: { command: 'rm -rf victim' } }] },
        { text: 'All done.' },
      ],
      async it => {
        const { app, provider } = it
        const id = await create(app)
        await app.post('/api/crons/run', { job_id: id })
        await provider.arrived(1)
        await app[how]()
        await app.start()
        await ran(app)
        const runsOf = await historyOf(it)
        assert.equal(
          runsOf.map((run: Record<string, unknown>) => [run.how, run.status, run.trigger]),
          [['ran', 'ok', 'manual']],
        )
        const [, second, third] = provider.requests
        assert.match(second?.body.messages[0].content, /scheduled run/)
        assert.match(third?.body.messages.at(-1).content, /denied|not allowed|approv/i)
        assert.is(provider.requests.length, 3)
        assert.equal((await app.get('/api/inbox')).body.questions, [])
        const output = await outputOf(app, id)
        assert.match(output, /## Denied\n\n- rm -rf victim/)
        assert.match(output, /## Response\n\nAll done\.\n$/)
        const job = await listed(app, id)
        assert.equal([job.last_status, job.repeat.completed, job.running], ['ok', 1, false])
        const { sessions } = (await app.get('/api/sessions')).body
        assert.equal([sessions.length, sessions[0].last_turn], [1, 'done'])
      },
    ),
  )

cut(
  'a run whose process died between the end of its turn and the record has its result; nothing runs again',
  killed([{ text: 'All done.' }], async it => {
    const { app, provider } = it
    const id = await create(app)
    await runNow(app, id)
    await app.kill()
    const file = join(app.home, 'cron', 'history.jsonl')
    const lines = readFileSync(file, 'utf8').split('\n')
    writeFileSync(file, lines.filter(line => !line.includes('"ended"')).join('\n'))
    await app.start()
    await ran(app)
    const [run] = await historyOf(it)
    assert.equal([run.how, run.status, provider.requests.length], ['ran', 'ok', 1])
    assert.match(await outputOf(app, id), /All done\./)
  }),
)

cut(
  'a due time that was claimed but had not begun runs after the kill, once',
  killed([{ text: 'All done.' }], async it => {
    const { app, provider } = it
    const id = await create(app)
    const { pid } = JSON.parse(readFileSync(join(app.state, 'instance.json'), 'utf8'))
    await app.kill()
    const at = Date.now() / 1_000
    const by = { pid, boot: 'killed' }
    const claim = {
      t: 'claimed',
      run: 'r1',
      at,
      job: id,
      name: 'Look',
      trigger: 'schedule',
      due: at,
      by,
    }
    writeFileSync(join(app.home, 'cron', 'history.jsonl'), `${JSON.stringify(claim)}\n`)
    for (const _ of [1, 2]) {
      await app.start()
      await ran(app)
      await app.stop()
    }
    await app.start()
    const list = await historyOf(it)
    assert.equal(
      list.map((run: Record<string, unknown>) => [run.run_id, run.how, run.status]),
      [['r1', 'ran', 'ok']],
    )
    assert.is(provider.requests.length, 1)
  }),
)

cut(
  'a task that was deleted while the service was down: its turn ends as interrupted',
  killed([{ end: 'headers' }], async it => {
    const { app, provider } = it
    const id = await create(app)
    await app.post('/api/crons/run', { job_id: id })
    await provider.arrived(1)
    await app.kill()
    writeFileSync(join(app.home, 'cron', 'jobs.json'), JSON.stringify({ jobs: [] }))
    await app.start()
    await ran(app)
    const [run] = await historyOf(it)
    const { sessions } = (await app.get('/api/sessions')).body
    assert.equal([run.how, sessions[0].last_turn], ['interrupted', 'interrupted'])
    assert.is(provider.requests.length, 1)
  }),
)

cut.run()

const together = suite('crons: several services and homes')

const due = (minutesAgo: number, more: Record<string, unknown> = {}) => ({
  id: 'a1b2c3d4e5f6',
  name: 'shared',
  prompt: 'once only',
  schedule: { kind: 'interval', minutes: 60, display: 'every 60m' },
  enabled: true,
  next_run_at: new Date(Date.now() - minutesAgo * 60_000).toISOString(),
  ...more,
})

const prepare = (home: string, url: string, job: Record<string, unknown>): void => {
  mkdirSync(join(home, 'cron'), { recursive: true })
  writeFileSync(join(home, 'cron', 'jobs.json'), JSON.stringify({ jobs: [job] }))
  writeFileSync(
    join(home, 'config.yaml'),
    `model:\n  provider: custom\n  base_url: ${url}\n  default: test-model\n`,
  )
}

together('two services on one home run a job due at startup once', async () => {
  const provider = await createProvider({ text: 'first' }, { text: 'second' })
  const first = await startApp()
  prepare(first.home, provider.url, due(1))
  const second = await startApp({
    env: { AGENT_BASE_HOME: first.home, AGENT_WEBUI_STATE_DIR: `${first.userHome}/two` },
  })
  await first.restart()
  await ran(first)
  await Promise.all([idle(first), idle(second)])
  const { runs: past } = (await second.get('/api/crons/history')).body
  assert.equal(
    past.map((run: { how: string }) => run.how),
    ['ran'],
  )
  assert.is(provider.requests.length, 1)
  const [job] = (await first.get('/api/crons')).body.jobs
  assert.equal([job.last_status, job.repeat.completed], ['ok', 1])
  await second.close()
  await first.close()
  await provider.close()
})

together('runs the jobs of every profile in their own home with their own model', async () => {
  const provider = await createProvider({ text: 'word' }, { text: 'word' })
  const app = await startApp()
  await app.post('/api/profile/create', { name: 'other' })
  const homes = [app.home, join(app.home, 'profiles', 'other')]
  for (const [at, home] of homes.entries())
    prepare(home, provider.url, due(1, { prompt: `plan ${at}` }))
  await app.restart()
  const other = { headers: { Cookie: 'agent_profile=other' } }
  await ran(app)
  await ran(app, other)
  for (const home of homes)
    assert.is(readdirSync(join(home, 'cron', 'output', 'a1b2c3d4e5f6')).length, 1)
  const { sessions } = (await app.get('/api/sessions')).body
  const byProfile = new Map(
    sessions.map((row: { profile: string; preview: string }) => [row.profile, row.preview]),
  )
  assert.equal([byProfile.get('default'), byProfile.get('other')], ['plan 0', 'plan 1'])
  await app.close()
  await provider.close()
})

together.run()
