/** Programs from npm as clients of `/v1`, as they come: the AI SDK, Claude Code, Codex. The model is scripted. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Api, startApi } from '../../handlers/_client-api.ts'
import type { Step } from '../../_provider.ts'
import { AI_SDK, askAiSdk, CLAUDE, CODEX, missing, startClaude, startCodex } from './_clients.ts'

const clients = suite('real clients')

const unavailable = (client: Parameters<typeof missing>[0]) => {
  const why = missing(client)
  if (why) process.stdout.write(`skipped: ${why}\n`)
  return why ? clients.skip : clients
}

const withService =
  (run: (service: Api) => Promise<void>, ...script: Step[]) =>
  async () => {
    const service = await startApi(...script)
    try {
      await run(service)
    } finally {
      await service.close()
    }
  }

const placeOf = ({ app, token }: Api) => ({ url: app.url, token: token.secret })

const weather = { toolCalls: [{ id: 'w1', name: 'weather', arguments: { city: 'Rome' } }] }
const ROME = { city: 'Rome', degrees: 21 }
const rome = { text: JSON.stringify(ROME) }
const prose = { text: 'Rome has 21 degrees.' }
const json = { toolCalls: [{ id: 'j1', name: 'json', arguments: ROME }] }

/** What the provider of the AI SDK does for an object: a form, or a tool called `json` that it forces. */
const AI_CASES: [task: string, provider: string, script: Step[], expected: object][] = [
  ...['openai', 'chat', 'compatible', 'anthropic'].flatMap(provider => {
    const first = { text: 'Calling.', ...weather }
    const loop = { text: 'Warm.', steps: 2 }
    const byTool = provider === 'anthropic'
    const object = byTool ? json : rome
    return [
      ['loop', provider, [first, { text: 'Warm.' }], loop],
      ['streamedLoop', provider, [first, { text: 'Warm.' }], { ...loop, text: 'Calling.Warm.' }],
      ['object', provider, [object], { output: ROME }],
      // The model writes prose at first.
      ['object', provider, [prose, object], { output: ROME }],
      ['streamedObject', provider, [prose, object], { output: ROME }],
      ['objectAfterTool', provider, [weather, object], { output: ROME, steps: 2 }],
      ['forced', provider, [prose, weather], { calls: [['weather', { city: 'Rome' }]] }],
      // Neither the first answer nor the second one has the form.
      ['object', provider, [prose, prose], { status: 400 }],
    ] satisfies [string, string, Step[], object][]
  }),
]

const aiSdk = unavailable(AI_SDK)
for (const [task, provider, script, expected] of AI_CASES)
  aiSdk(
    `AI SDK, ${provider}: ${task} in ${script.length}`,
    withService(
      async service => {
        const { error, ...result } = await askAiSdk(placeOf(service), provider, task)
        assert.equal(result, expected, String(error))
      },
      ...script,
    ),
  )

for (const provider of ['openai', 'chat', 'compatible', 'anthropic'])
  aiSdk(
    `AI SDK, ${provider}: a stream that fails after its first text raises an error`,
    withService(async service => {
      service.push(
        { text: 'Calling.', toolCalls: [{ id: 'r', name: 'read_file', arguments: { path: 'x' } }] },
        { status: 401, body: { error: { message: 'bad key' } } },
      )
      const result = await askAiSdk(placeOf(service), provider, 'failing')
      assert.equal(result, { text: 'Calling.', isRaised: true })
    }),
  )

/** Each has a tool that runs commands; the model uses that of the program, not ours. */
const toolLoop = (name: string, args: Record<string, unknown>): Step[] => [
  { toolCalls: [{ id: 'b1', name, arguments: args }] },
  { text: 'All done.' },
]

const ROME_SCHEMA = JSON.stringify({
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'number' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
})

const claude = unavailable(CLAUDE)
claude(
  'Claude Code: an answer, a tool of its own, a second message in the same conversation',
  withService(async service => {
    const { ask, cwd, root } = startClaude(placeOf(service))
    try {
      service.push({ text: 'Good day.' })
      const hello = await ask('hello')
      assert.is(hello.stdout.trim(), 'Good day.', hello.stderr)
      const command = 'echo made > made.txt'
      service.push(...toolLoop('Bash', { command, description: 'Makes it' }))
      const made = await ask('make it', '--continue', '--allowedTools', 'Bash')
      assert.is(made.stdout.trim(), 'All done.', made.stderr)
      assert.is(readFileSync(join(cwd, 'made.txt'), 'utf8'), 'made\n')
      const before = JSON.stringify(service.asked().at(-1))
      assert.ok(before.includes('Good day.'))
      assert.ok(before.includes('# Environment'))
      assert.not.ok(before.includes('DeferredToolPlaceholder'))
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  }),
)

claude(
  'Claude Code: an answer of a form',
  withService(async service => {
    const { ask, root } = startClaude(placeOf(service))
    try {
      service.push({ toolCalls: [{ id: 's1', name: 'StructuredOutput', arguments: ROME }] })
      service.push({ text: 'Done.' }, { text: 'Done.' })
      const { stdout, stderr } = await ask(
        ...['Rome', '--output-format', 'json', '--json-schema', ROME_SCHEMA],
      )
      assert.equal(JSON.parse(stdout).structured_output, ROME, stdout + stderr)
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  }),
)

/** Two of the turn that fails after its first text, one of the next attempt. */
const FAILING_REQUESTS = 3

const codex = unavailable(CODEX)
codex(
  'Codex: an answer, a tool of its own, an answer of a form, a failure',
  withService(async service => {
    const { ask, cwd, root } = startCodex(placeOf(service))
    try {
      service.push({ text: 'Good day.' })
      const hello = await ask('hello')
      assert.is(hello.stdout.trim(), 'Good day.', hello.stderr)
      service.push(...toolLoop('exec_command', { cmd: 'echo made > made.txt' }))
      const made = await ask('make it')
      assert.is(made.stdout.trim(), 'All done.', made.stderr)
      assert.is(readFileSync(join(cwd, 'made.txt'), 'utf8'), 'made\n')
      service.push(prose, rome)
      const schema = join(cwd, 'schema.json')
      writeFileSync(schema, ROME_SCHEMA)
      const object = await ask('Rome', '--output-schema', schema)
      assert.equal(JSON.parse(object.stdout), ROME, object.stderr)
      const before = service.asked().length
      service.push(
        { text: 'Let me see.', toolCalls: [{ id: 'r', name: 'todo', arguments: {} }] },
        { status: 401, body: { error: { message: 'bad key' } } },
      )
      const failed = await ask('fail')
      assert.is.not(failed.code, 0)
      // It connects again after a stream that broke, and stops at a failure that repeating does not cure.
      assert.is(service.asked().length - before, FAILING_REQUESTS)
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  }),
)

clients.run()
