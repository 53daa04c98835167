/** Texts that a model or a page reads with their secrets masked, and sends back: tasks, notes and skills. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { redact } from '../../lib/base/redact/redact.ts'
import { startApp, type TestApp } from '../_app.ts'
import { createProvider, type Scripted } from '../_provider.ts'

const test = suite<{ app: TestApp; provider: Scripted }>('writes of redacted text')
test.before.each(async context => {
  context.provider = await createProvider()
  context.app = await startApp()
  writeFileSync(
    join(context.app.home, 'config.yaml'),
    `model:\n  provider: custom\n  base_url: ${context.provider.url}\n  default: test-model\n`,
  )
})
test.after.each(async ({ app, provider }) => {
  await app.close()
  await provider.close()
})

const put = (path: string, text: string) => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

test('text read redacted keeps its secrets when written back, or is rejected', async ({
  app,
  provider,
}) => {
  const secret = 'pool-Secret-1a2b3c4d5e6f'
  const other = 'other-Secret-6f5e4d3c2b1a'
  put(join(app.home, '.env'), `SHOP_API_KEY=${secret}\nOTHER_API_KEY=${other}\n`)
  const prompt = `Call the shop with ${secret} and count the orders.`
  const skill = `---\nname: shop\ndescription: Orders\n---\n\nUse ${secret} for orders.\n`
  const note = `The shop key is ${secret} for orders`
  put(join(app.home, 'skills/shop/SKILL.md'), skill)
  put(join(app.home, 'skills/shop/references/a.md'), note)
  put(join(app.home, 'memories/MEMORY.md'), note)
  const made = await app.post('/api/crons/create', { prompt, schedule: 'every 2h' })
  const { id } = made.body.job
  assert.not.match(made.text, secret)

  const mask = (text: string) => redact(text).replace('orders', 'ORDERS')
  assert.not.match(mask(prompt), secret)
  const { session_id } = (await app.post('/api/session/new', {})).body.session
  await app.post('/api/session/rename', { session_id, title: 'Talk' })
  const call = async (...calls: { name: string; arguments: Record<string, unknown> }[]) => {
    const from = provider.requests.length
    provider.push(
      { toolCalls: calls.map((each, at) => ({ id: `c${from}_${at}`, ...each })) },
      { text: 'Done.' },
    )
    const { status, text } = await app.post('/api/chat', { session_id, message: 'Do it' })
    assert.is(status, 200, text)
    const { messages } = provider.requests.at(-1)!.body
    return messages
      .filter(({ role }: { role: string }) => role === 'tool')
      .slice(-calls.length)
      .map(({ content }: { content: string }) => JSON.parse(content))
  }
  const writes = {
    cronjob: { action: 'update', job_id: id, prompt: mask(prompt), name: mask(prompt) },
    memory: {
      action: 'replace',
      target: 'memory',
      old_text: redact(note),
      content: mask(note),
    },
    skill_manage: { action: 'edit', name: 'shop', content: mask(skill) },
  }
  const reference = { action: 'write_file', name: 'shop', file_path: 'references/a.md' }
  const results = await call(
    ...Object.entries(writes).map(([name, args]) => ({ name, arguments: args })),
    { name: 'skill_manage', arguments: { ...reference, file_content: mask(note) } },
  )
  assert.equal(
    results.map(({ success, error }: { success: boolean; error?: string }) => [success, error]),
    Array(4).fill([true, undefined]),
  )
  const jobsFile = join(app.home, 'cron/jobs.json')
  const files = () => [
    JSON.parse(readFileSync(jobsFile, 'utf8')).jobs[0].prompt,
    ...['memories/MEMORY.md', 'skills/shop/SKILL.md', 'skills/shop/references/a.md'].map(path =>
      readFileSync(join(app.home, path), 'utf8').trimEnd(),
    ),
  ]
  const edited = [prompt, note, skill, note].map(text => text.replace('orders', 'ORDERS').trimEnd())
  assert.equal(files(), edited)

  // The page reads and sends masks as well.
  const { jobs } = (await app.get('/api/crons')).body
  assert.not.match(JSON.stringify(jobs), secret)
  const saved = { job_id: id, prompt: jobs[0].prompt.replace('count', 'list'), name: 'Shop' }
  assert.is((await app.post('/api/crons/update', saved)).status, 200)
  edited[0] = edited[0]!.replace('count', 'list')
  assert.equal(files(), edited)

  const skillOf = async (file = '') =>
    (await app.get(`/api/skills/content?name=shop${file}`)).body as {
      content: string
      version: string
    }
  for (const [file, at] of [
    [undefined, 2],
    ['references/a.md', 3],
  ] as const) {
    const { content, version } = await skillOf(file && `&file=${file}`)
    assert.not.match(content, secret)
    const body = { name: 'shop', file, content: content.replace('ORDERS', 'sales') }
    const stale = await app.post('/api/skills/save', { ...body, expected_version: 'other' })
    assert.is(stale.status, 409)
    assert.not.match(stale.text, secret)
    const answer = await app.post('/api/skills/save', { ...body, expected_version: version })
    assert.is(answer.status, 200, answer.text)
    assert.is(answer.body.version, (await skillOf(file && `&file=${file}`)).version)
    edited[at] = edited[at]!.replace('ORDERS', 'sales')
  }
  assert.equal(files(), edited)

  // A mask without a matching secret in the file would be stored instead of one.
  const foreign = `Use ${redact(secret)} and ${redact(other)}`
  const refused = await call(
    { name: 'cronjob', arguments: { action: 'update', job_id: id, prompt: foreign } },
    {
      name: 'cronjob',
      arguments: { action: 'create', schedule: 'every 2h', prompt: mask(prompt) },
    },
    { name: 'memory', arguments: { action: 'add', target: 'user', content: mask(note) } },
    {
      name: 'skill_manage',
      arguments: { ...reference, file_path: 'references/b.md', file_content: mask(note) },
    },
  )
  for (const answer of refused)
    assert.match(String(answer.error), /is the mask of a secret/, JSON.stringify(answer))
  assert.equal(files(), edited)
})

test.run()
