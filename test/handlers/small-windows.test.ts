/** Local servers with small context windows: asked, believed, fitted, and explained to the user. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createProvider, type Recorded, type Step } from '../_provider.ts'
import {
  llamaProps,
  OLLAMA_VERSION,
  ollamaRunning,
  ollamaShown,
} from '../lib/models/_local-server.ts'
import { type Seen, startChat } from './_chat.ts'
import { requirePrefix } from './_prefix.ts'

type Chat = Awaited<ReturnType<typeof startChat>>
type Body = Recorded['body']
const test = suite<{ chat: Chat }>('small windows', { chat: null as never })
test.before(async context => {
  context.chat = await startChat()
})
test.after(({ chat }) => chat.close())

const CORE = ['patch', 'read_file', 'search_files', 'terminal', 'write_file']

let models = 0

/** Each test has a model of its own, because what is known about one is kept. */
const configure = ({ app, provider }: Chat, more: Record<string, unknown> = {}): string => {
  const model = `gemma${++models}`
  provider.requests.splice(0)
  provider.local = {}
  writeFileSync(
    join(app.home, 'config.yaml'),
    JSON.stringify({
      model: { provider: 'custom', base_url: provider.url, default: model, ...more },
      checkpoints: { enabled: false },
    }),
  )
  return model
}
const toolsOf = ({ tools }: Body): string[] =>
  (tools ?? []).map((tool: Body) => tool.function.name).toSorted()
const tokensOf = ({ messages, tools }: Body): number =>
  Math.ceil(Buffer.byteLength(JSON.stringify([messages, tools])) / 4)
const systemOf = ({ messages }: Body): string => messages[0].content
const notesIn = (seen: Seen[]): string[] =>
  seen.flatMap(({ event, data }) =>
    event === 'warning' && data.type === 'window' ? [String(data.message)] : [],
  )
const usageIn = (seen: Seen[]) =>
  seen.find(({ event }) => event === 'done')?.data.usage as Record<string, number>
/** Titles and summaries have no tools. */
const turnsOf = ({ provider }: Chat): Body[] =>
  provider.requests.map(({ body }) => body).filter(({ tools }) => tools?.length)
const yes = (): Step => ({ text: 'yes' })

/** The last decision in the session's journal. */
const smallWindowOf = ({ app }: Chat, id: string): Record<string, unknown> | undefined =>
  readFileSync(join(app.home, 'webui/sessions', `${id}.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
    .findLast(({ t, patch }) => t === 'meta' && patch.small_window)?.patch.small_window

const inWorkspace = async ({ app }: Chat, instructions: string): Promise<string> => {
  const workspace = join(app.userHome, `work${models}`)
  mkdirSync(workspace)
  writeFileSync(join(workspace, 'AGENTS.md'), instructions)
  const { body } = await app.post('/api/session/new', { workspace })
  return body.session.session_id
}

test('a small window gets fewer tools and a short prompt, about a quarter of it, the same in every turn', async context => {
  const { chat } = context
  const { app, provider } = chat
  configure(chat)
  provider.local = { '/props': llamaProps(8_192) }
  provider.otherwise = yes
  const id = await inWorkspace(chat, 'Use tabs, not spaces. '.repeat(2_000))
  const first = await chat.turn(id, 'hello')
  assert.is(usageIn(first).context_length, 8_192)
  const [note, ...more] = notesIn(first)
  assert.is(more.length, 0)
  assert.match(note ?? '', /gemma1 reads 8.2k tokens at once.*terminal/)
  const second = await chat.turn(id, 'again')
  await app.restart()
  const third = await chat.turn(id, 'after the restart')
  assert.equal([notesIn(second), notesIn(third)], [[], []], 'once per chat')
  const sent = turnsOf(chat)
  assert.is(sent.length, 3)
  for (const body of sent) {
    assert.equal(toolsOf(body), CORE)
    assert.is(systemOf(body), systemOf(sent[0]))
  }
  assert.ok(tokensOf(sent[0]) <= 2_048 * 1.1, `${tokensOf(sent[0])} tokens`)
  assert.match(systemOf(sent[0]), 'Use tabs')
  requirePrefix(provider.requests)
})

test('a small window of a fallback: the note names the fallback, and the chosen model keeps what it had', async context => {
  const { chat } = context
  const { app, provider } = chat
  const model = configure(chat)
  const other = await createProvider()
  provider.local = { '/props': llamaProps(32_768) }
  other.local = { '/props': llamaProps(8_192) }
  provider.otherwise = yes
  other.otherwise = yes
  const path = join(app.home, 'config.yaml')
  writeFileSync(
    path,
    JSON.stringify({
      ...JSON.parse(readFileSync(path, 'utf8')),
      custom_providers: [{ name: 'other', base_url: other.url }],
      fallback_providers: [{ provider: 'custom:other', model: 'tiny' }],
    }),
  )
  try {
    writeFileSync(join(app.home, 'SOUL.md'), 'Be kind and brief. '.repeat(1_000))
    const id = await inWorkspace(chat, 'Use tabs, not spaces. '.repeat(2_000))
    const [first] = notesIn(await chat.turn(id, 'hello'))
    assert.match(first ?? '', new RegExp(`^${model} reads 33k tokens`))
    const kept = smallWindowOf(chat, id)
    assert.equal([kept?.model, kept?.context_length], [model, 32_768])
    const denied = { error: { message: 'Invalid API key' } }
    provider.otherwise = () => ({ status: 401, body: denied })
    const notes = notesIn(await chat.turn(id, 'again'))
    assert.is(notes.length, 1)
    assert.match(notes[0] ?? '', /^tiny reads 8.2k tokens .* fewer tools/)
    assert.equal(toolsOf(other.requests.at(-1)!.body), CORE)
    assert.equal(smallWindowOf(chat, id), kept)
  } finally {
    rmSync(join(app.home, 'SOUL.md'))
    await other.close()
  }
})

test('a server that drops the start of long prompts: noticed, compacted, and known in the next turn', async context => {
  const { chat } = context
  const { provider } = chat
  configure(chat, { context_length: 262_144 })
  provider.otherwise = body => ({
    text: body.tools?.length ? 'yes' : '## Goal\nnotes',
    usage: { prompt_tokens: Math.min(8_192, tokensOf(body)), completion_tokens: 2 },
  })
  const id = await chat.newSession()
  const filler = 'lorem ipsum dolor '.repeat(1_500)
  for (let round = 0; round < 4; round += 1) await chat.turn(id, `${round} ${filler}`)
  const seen = await chat.turn(id, 'what did I say?')
  const notes = notesIn(seen)
  // The shorter prompt and the reason for it are one notice.
  assert.is(notes.length, 1)
  assert.match(
    notes[0] ?? '',
    /reads 8.2k tokens at once.*fewer tools.* Raise the context size where the server is started/,
  )
  const warning = JSON.stringify(seen.find(({ event }) => event === 'warning')?.data)
  assert.match(warning, '"code":"window.few_tools"')
  assert.match(warning, '"code":"window.raise"')
  assert.ok(seen.some(({ event }) => event === 'compressed'))
  const last = turnsOf(chat).at(-1)
  assert.ok(tokensOf(last) <= 8_192, `${tokensOf(last)} tokens`)
  const later = await chat.turn(id, 'and now?')
  assert.is(usageIn(later).context_length, 8_192)
  assert.ok(tokensOf(turnsOf(chat).at(-1)) <= 8_192)
})

test('a configured window wins, and the user learns once that the server uses a smaller one', async context => {
  const { chat } = context
  const { provider } = chat
  const model = configure(chat, { context_length: 131_072 })
  provider.local = { '/props': llamaProps(32_768) }
  provider.otherwise = yes
  const id = await chat.newSession()
  const first = await chat.turn(id, 'hello')
  assert.is(usageIn(first).context_length, 131_072)
  assert.equal(notesIn(first), [
    `context_length in config.yaml is 131k, but the server runs ${model} with 33k tokens. Start llama-server with a larger -c.`,
  ])
  assert.equal(notesIn(await chat.turn(id, 'again')), [])
})

test('ollama_num_ctx is sent with every request, in the only format that honors it', async context => {
  const { chat } = context
  const { provider } = chat
  const model = configure(chat, { ollama_num_ctx: 32_768 })
  provider.local = {
    '/api/version': OLLAMA_VERSION,
    '/api/ps': ollamaRunning(model, 4_096),
    '/api/show': ollamaShown('stop "x"'),
  }
  provider.otherwise = body =>
    JSON.stringify(body.messages).includes('"role":"tool"')
      ? { text: 'all done' }
      : { toolCalls: [{ name: 'search_files', arguments: { pattern: '*', target: 'files' } }] }
  const id = await inWorkspace(chat, 'Be brief.')
  const seen = await chat.turn(id, 'hello')
  assert.is(usageIn(seen).context_length, 32_768)
  assert.equal(notesIn(seen), [])
  assert.ok(provider.requests.length >= 2)
  for (const { path, body } of provider.requests) {
    assert.is(path, '/api/chat')
    assert.equal([body.options.num_ctx, body.truncate], [32_768, false])
  }
})

test.run()
