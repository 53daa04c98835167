/**
 * An external agent for tests: a separate program that speaks ACP through the SDK's agent side. The first word of a prompt
 * selects its behavior. `ACP_TEST` lists its limitations, `ACP_TEST_STATE` is the file it stores its sessions in.
 */
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { z } from 'zod'
import { DOT, OTHER_DOT, placeBehaviors, resultOf } from './_acp-agent-places.ts'
import { realBehaviors } from './_acp-agent-real.ts'
import {
  type AgentContext,
  agent,
  ndJsonStream,
  type PermissionOption,
  type RequestPermissionResponse,
  RequestError,
  type SessionUpdate,
} from '@agentclientprotocol/sdk'

/** Not in the stable protocol yet. */
const ForkRequest = z.object({ sessionId: z.string(), cwd: z.string() })

const traits = new Set((process.env.ACP_TEST ?? '').split(' '))
const statePath = process.env.ACP_TEST_STATE ?? ''

type StoredSession = { cwd: string; received: string[]; servers?: unknown; open?: boolean }
const sessions: Record<string, StoredSession> =
  statePath !== '' && existsSync(statePath) ? JSON.parse(readFileSync(statePath, 'utf8')) : {}
const save = () => {
  if (statePath === '') return
  // Atomic, because tests kill the process at any time.
  writeFileSync(`${statePath}.${process.pid}`, JSON.stringify(sessions))
  renameSync(`${statePath}.${process.pid}`, statePath)
}
/** Its modes, as JSON, with the one it starts in; `asOption`: reported as an option. */
const given: {
  current: string
  modes: { id: string; name: string; description?: string }[]
  asOption?: boolean
} | null = process.env.ACP_TEST_MODES ? JSON.parse(process.env.ACP_TEST_MODES) : null
const chosen = { mode: given?.current ?? 'ask', model: 'small', loud: false }
let isAuthenticated = false
/** In this process, or by its own program, which left a file. */
const isSignedIn = () => isAuthenticated || existsSync(`${statePath}.login`)
let isProseForever = false
let offered: Turn['offered'] = {}
const cancelled = new Map<string, () => void>()

if (traits.has('dies')) {
  process.stderr.write('no license found\n')
  process.exit(3)
}
if (traits.has('noisy')) process.stdout.write('Welcome to the agent!\n{"half":\n[1,2]\n\n')
if (traits.has('stubborn')) process.on('SIGTERM', () => undefined)

const options = () => [
  {
    id: 'model',
    name: 'Model',
    category: 'model',
    type: 'select' as const,
    currentValue: chosen.model,
    options: [
      { value: 'small', name: 'Small' },
      { value: 'lab/large:free', name: 'Large' },
    ],
  },
  { id: 'loud', name: 'Loud', type: 'boolean' as const, currentValue: chosen.loud },
  ...(given?.asOption
    ? [
        {
          id: 'how',
          name: 'Mode',
          category: 'mode',
          type: 'select' as const,
          currentValue: chosen.mode,
          options: given.modes.map(({ id, ...mode }) => ({ value: id, ...mode })),
        },
      ]
    : []),
]
const modes = () =>
  given?.asOption
    ? null
    : {
        currentModeId: chosen.mode,
        availableModes: given?.modes ?? [
          { id: 'ask', name: 'Ask first' },
          { id: 'free', name: 'Free hand' },
          ...(traits.has('plans') ? [{ id: 'plan', name: 'Plan' }] : []),
        ],
      }

export type Turn = {
  id: string
  cwd: string
  client: AgentContext
  say: (update: SessionUpdate, id?: string) => Promise<void>
  text: (words: string) => Promise<void>
  /** A call begins, with these fields; of a stable schema or not. */
  call: (head: string | object, fields: object) => Promise<void>
  update: (head: string | object, fields: object) => Promise<void>
  offered: { fs?: unknown; terminal?: unknown }
  /** Settles when the client cancels. */
  cancel: Promise<'cancelled'>
  /** Added to the response of the prompt, outside of the schema too. */
  answer: Record<string, unknown>
}

const block = (text: string) => ({ type: 'text' as const, text })
const inside = (text: string) => ({ type: 'content' as const, content: block(text) })
export const standard: PermissionOption[] = [
  { optionId: 'a', name: 'Allow', kind: 'allow_once' },
  { optionId: 'b', name: 'Always', kind: 'allow_always' },
  { optionId: 'c', name: 'No', kind: 'reject_once' },
]

const run = async (turn: Turn, toolCallId: string, command: string) => {
  const { client, id, call, update } = turn
  const title = `Run ${command}`
  const rawInput = { command }
  await call(toolCallId, { title, kind: 'execute', status: 'pending' })
  const { outcome }: RequestPermissionResponse = await client.request(
    'session/request_permission',
    {
      sessionId: id,
      toolCall: { toolCallId, title, kind: 'execute', rawInput },
      options: standard,
    },
  )
  const answer = outcome.outcome === 'selected' ? outcome.optionId : outcome.outcome
  if (answer === 'c' || answer === 'cancelled') {
    await update(toolCallId, { status: 'failed' })
    return answer
  }
  const terminal = await client.createTerminal({ sessionId: id, command })
  await update(toolCallId, {
    status: 'in_progress',
    rawInput,
    content: [{ type: 'terminal', terminalId: terminal.id }],
  })
  const { exitCode } = await terminal.waitForExit()
  await terminal.release()
  await update(toolCallId, { status: 'completed', rawOutput: { exitCode } })
  return answer
}

export type Behaviors = Record<string, (turn: Turn, rest: string) => Promise<unknown>>

/** By the first word of the prompt; the rest is its argument. What they return is the stop reason. */
const behaviors: Behaviors = {
  ...realBehaviors,
  ...placeBehaviors,
  async hello({ say, text }) {
    await say({ sessionUpdate: 'agent_thought_chunk', content: block('A greeting.') })
    await text('Hello ')
    await text('there.')
    await say({
      sessionUpdate: 'usage_update',
      used: 1200,
      size: 200_000,
      cost: { amount: 0.5, currency: 'USD' },
    })
  },
  async paint({ say, text, call, update }, what) {
    const image = (data: string) => ({ type: 'image' as const, data, mimeType: 'image/png' })
    const data = what === 'junk' ? Buffer.from('<svg/>').toString('base64') : DOT
    await call('i1', {
      title: 'Paint',
      kind: 'other',
      status: 'in_progress',
      content: [{ type: 'content', content: image(data) }],
    })
    await update('i1', {
      status: 'completed',
      content: [{ type: 'content', content: image(data) }],
    })
    await text('Here: ')
    await say({ sessionUpdate: 'agent_message_chunk', content: image(data) })
    await say({
      sessionUpdate: 'agent_message_chunk',
      content: image(what === 'junk' ? data : OTHER_DOT),
    })
  },
  async recall({ id, text }) {
    await text(`I have heard: ${sessions[id]?.received.join(' | ')}`)
  },
  async work(turn) {
    const { cwd, say, text, call, update } = turn
    await text('I look first.')
    await say({
      sessionUpdate: 'plan',
      entries: [
        { content: 'look', priority: 'high', status: 'completed' },
        { content: 'change', priority: 'high', status: 'in_progress' },
      ],
    })
    const path = join(cwd, 'a.txt')
    await call('r1', {
      title: 'Read a.txt',
      kind: 'read',
      status: 'in_progress',
      locations: [{ path, line: 1 }],
    })
    const { content } = await turn.client.request('fs/read_text_file', {
      sessionId: turn.id,
      path,
    })
    await update('r1', {
      status: 'completed',
      content: [inside(content)],
    })
    await call('e1', {
      title: 'Edit a.txt',
      kind: 'edit',
      status: 'pending',
      locations: [{ path }],
    })
    await turn.client.request('fs/write_text_file', {
      sessionId: turn.id,
      path,
      content: `${content}changed\n`,
    })
    await update('e1', {
      status: 'completed',
      content: [{ type: 'diff', path, oldText: content, newText: `${content}changed\n` }],
    })
    await text('Done.')
  },
  async run(turn, command) {
    await turn.text(`It was ${await run(turn, 'x1', command)}.`)
  },
  async twice(turn, command) {
    const first = await run(turn, 't1', command)
    await turn.text(`${first} ${await run(turn, 't2', command)}`)
  },
  async together({ text, call, update }) {
    const begin = (toolCallId: string) =>
      call(toolCallId, {
        title: `Look at ${toolCallId}`,
        kind: 'search',
        status: 'in_progress',
        rawInput: { pattern: toolCallId },
      })
    const done = (toolCallId: string) =>
      update(toolCallId, { status: 'completed', content: [inside(`found ${toolCallId}`)] })
    await begin('p1')
    await begin('p2')
    await done('p2')
    await done('p1')
    await done('p1')
    await text('Both.')
  },
  /** File requests for a path, and a terminal, without a permission request before. */
  async unasked({ client, id, text }, given) {
    const [path = '', ...words] = given.split(' ')
    const read = { sessionId: id, path }
    await text(`read ${await resultOf(client.request('fs/read_text_file', read))}\n`)
    const write = { sessionId: id, path, content: 'written' }
    await text(`write ${await resultOf(client.request('fs/write_text_file', write))}\n`)
    const create = { sessionId: id, command: words.join(' ') }
    await text(`terminal ${await resultOf(client.request('terminal/create', create))}`)
  },
  async outside({ client, id, text }) {
    const read = { sessionId: id, path: '/etc/hostname' }
    await text(await resultOf(client.request('fs/read_text_file', read)))
    const write = { sessionId: id, path: '../stolen.txt', content: 'x' }
    await text(await resultOf(client.request('fs/write_text_file', write)))
    const create = { sessionId: id, command: 'rm', args: ['-rf', '/'] }
    await text(await resultOf(client.request('terminal/create', create)))
  },
  /** Tries to change everything, then asks to leave its plan mode. */
  async plan({ client, cwd, id, text }) {
    const ask = async (kind: 'edit' | 'execute', rawInput: unknown) => {
      const { outcome } = await client.request('session/request_permission', {
        sessionId: id,
        toolCall: {
          toolCallId: `${kind}-${JSON.stringify(rawInput)}`,
          title: kind,
          kind,
          rawInput,
        },
        options: [
          { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
          { optionId: 'no', name: 'No', kind: 'reject_once' },
        ],
      })
      return JSON.stringify(outcome)
    }
    const path = `${cwd}/made.txt`
    const create = (command: string) =>
      client.request('terminal/create', {
        sessionId: id,
        command,
        env: [{ name: 'X', value: '1' }],
      })
    const said = [
      `mode ${chosen.mode}`,
      await ask('edit', { path }),
      await ask('execute', { command: 'touch made.txt' }),
      await resultOf(client.request('fs/write_text_file', { sessionId: id, path, content: 'x' })),
      await resultOf(create('touch made.txt')),
      await resultOf(create('ls')),
    ]
    const { outcome } = await client.request('session/request_permission', {
      sessionId: id,
      toolCall: {
        toolCallId: 'leave',
        title: 'Ready to code?',
        kind: 'switch_mode',
        rawInput: { plan: '# My plan' },
      },
      options: [
        { optionId: 'acceptEdits', name: 'Yes, and accept edits', kind: 'allow_always' },
        { optionId: 'default', name: 'Yes', kind: 'allow_once' },
        { optionId: 'plan', name: 'No', kind: 'reject_once' },
      ],
    })
    const after = await resultOf(
      client.request('fs/write_text_file', { sessionId: id, path, content: 'x' }),
    )
    await text([...said, JSON.stringify(outcome), after].join('\n'))
  },
  async mode({ text }) {
    await text(chosen.mode)
  },
  async choose({ client, id, text }) {
    const { outcome } = await client.request('session/request_permission', {
      sessionId: id,
      toolCall: { toolCallId: 'q1', title: 'Which way?', kind: 'switch_mode' },
      options: [
        { optionId: 'fast', name: 'Fast', kind: 'allow_always' },
        { optionId: 'slow', name: 'Slow', kind: 'allow_once' },
        { optionId: 'slower', name: 'Slower', kind: 'allow_once' },
        { optionId: 'no', name: 'Neither', kind: 'reject_once' },
      ],
    })
    await text(JSON.stringify(outcome))
  },
  async form({ client, id, text }) {
    const answer = await client.request('elicitation/create', {
      sessionId: id,
      mode: 'form',
      message: 'About you',
      requestedSchema: {
        type: 'object',
        properties: {
          age: { type: 'integer', title: 'Age' },
          sure: { type: 'boolean', title: 'Sure' },
        },
        required: ['age'],
      },
    })
    await text(JSON.stringify(answer))
  },
  /** Answers a program in prose, and where it is told that this cannot be used, as it should; `prose forever` does not. */
  async prose({ text }, rest) {
    // Who was not told the schema cannot know it later.
    isProseForever = rest.startsWith('forever') || !rest.includes('"degrees"')
    await text('Rome has 21 degrees.')
  },
  async A({ text }) {
    await text(isProseForever ? 'Still prose.' : '{"city":"Rome","degrees":21}')
  },
  async rotate({ id, say, text }) {
    const rotated = `${id}-next`
    const kept = sessions[id]
    if (kept) sessions[rotated] = kept
    delete sessions[id]
    save()
    await text('Before. ')
    await say({ sessionUpdate: 'agent_message_chunk', content: block('After.') }, rotated)
  },
  async garbage({ text }) {
    await text('One. ')
    process.stdout.write('npm WARN something\n{"jsonrpc":"2.0","id":99,"result":{}}\n{{{\n')
    process.stdout.write('{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":7}}\n')
    process.stdout.write('{"jsonrpc":"2.0","method":"made/up","params":{}}\n')
    await text('Two.')
  },
  async die({ text }) {
    await text('I was about to ')
    process.stderr.write('out of cheese\n')
    process.exit(7)
  },
  async hang({ text }) {
    await text('Thinking…')
    return new Promise(() => undefined)
  },
  async wait({ text, cancel }) {
    await text('Waiting…')
    return cancel
  },
  async flood() {
    const line = (sessionId: string) =>
      `${JSON.stringify({
        jsonrpc: '2.0',
        method: 'session/update',
        params: {
          sessionId,
          update: { sessionUpdate: 'agent_message_chunk', content: block('x'.repeat(1_000)) },
        },
      })}\n`.repeat(50)
    const id = Object.keys(sessions).at(-1) ?? ''
    for (;;) await new Promise(resolve => process.stdout.write(line(id), resolve))
  },
  async refuse({ text }) {
    await text('No.')
    return 'refusal'
  },
  async login() {
    throw RequestError.authRequired()
  },
  async nothing() {},
  async servers({ id, text }) {
    await text(JSON.stringify(sessions[id]?.servers))
  },
  async open({ text }) {
    const open = Object.values(sessions).filter(session => session.open)
    await text(String(open.length))
  },
  async chosen({ text }) {
    await text(JSON.stringify(chosen))
  },
  async title({ say, text }, title) {
    await say({ sessionUpdate: 'session_info_update', title })
    await text('Named.')
  },
  /** More output than the log holds, on stdout and stderr. */
  async noise({ text }, lines) {
    for (let at = 0; at < Number(lines); at += 100) {
      const some = `${'x'.repeat(80)}\n`.repeat(100)
      await new Promise(resolve => process.stdout.write(some, resolve))
      await new Promise(resolve => process.stderr.write(some, resolve))
    }
    await text('Quiet.')
  },
  async env({ text }) {
    await text(JSON.stringify(process.env))
  },
}

const restore = ({ sessionId, mcpServers }: { sessionId: string; mcpServers?: unknown }) => {
  const session = sessions[sessionId]
  if (!session || traits.has('forgets')) throw RequestError.sessionNotFound(sessionId)
  if (traits.has('locks') && session.open)
    throw RequestError.internalError({ details: `Session ${sessionId} is already loaded` })
  session.servers = mcpServers
  session.open = true
  save()
  return { modes: modes(), configOptions: options() }
}

const say = (client: AgentContext, sessionId: string, update: SessionUpdate) =>
  client.notify('session/update', { sessionId, update })

agent({ name: 'test' })
  .onRequest('initialize', async ({ params }) => {
    offered = params.clientCapabilities ?? {}
    if (traits.has('mute')) await new Promise(() => undefined)
    const version = traits.has('v2') ? 2 : 1
    return {
      protocolVersion: version,
      agentInfo: { name: process.env.ACP_TEST_NAME ?? 'test', version: '1' },
      // Agents offer those that need a terminal only to clients that have one.
      authMethods: [
        { id: 'login', name: 'Web login', description: 'run "tester login"' },
        ...(params.clientCapabilities?.auth?.terminal && traits.has('terminal-login')
          ? [
              {
                id: 'cli',
                name: 'CLI',
                type: 'terminal' as const,
                args: ['--login', 'a b'],
                env: { X: '1' },
              },
            ]
          : []),
        ...(params.clientCapabilities?._meta?.['terminal-auth'] === true &&
        traits.has('terminal-login')
          ? [
              {
                id: 'other',
                name: 'Other program',
                _meta: {
                  'terminal-auth': { command: '/opt/x', args: ['auth', 'login'], label: 'L' },
                },
              },
            ]
          : []),
      ],
      agentCapabilities: {
        loadSession: !traits.has('no-load') && !traits.has('resumes-only'),
        promptCapabilities: { image: !traits.has('blind') },
        mcpCapabilities: { http: true, sse: false },
        sessionCapabilities: {
          ...(traits.has('no-load') || traits.has('no-resume') ? {} : { resume: {} }),
          ...(traits.has('forks') ? { fork: {} } : {}),
          ...(traits.has('closes') ? { close: {} } : {}),
          ...(traits.has('lists') ? { list: {} } : {}),
        },
      },
    }
  })
  .onRequest('authenticate', ({ params }) => {
    if (params.methodId !== 'login') throw RequestError.invalidParams()
    if (traits.has('refuses-login')) throw RequestError.internalError({ details: 'no browser' })
    isAuthenticated = true
    return {}
  })
  .onRequest('session/new', async ({ params, client }) => {
    const said = process.env.ACP_TEST_SAID
    if (traits.has('signed-out') && !isSignedIn())
      throw said ? new RequestError(-32603, said) : RequestError.authRequired()
    const sessionId = `s${Object.keys(sessions).length + 1}-${process.pid}`
    sessions[sessionId] = { cwd: params.cwd, received: [], servers: params.mcpServers, open: true }
    save()
    // Sent before the response with the session id, as real agents do.
    await say(client, sessionId, {
      sessionUpdate: 'available_commands_update',
      availableCommands: [
        { name: 'plan', description: 'Make a plan', input: { hint: 'what for' } },
      ],
    })
    return { sessionId, modes: modes(), configOptions: options() }
  })
  .onRequest('session/resume', async ({ params }) => restore(params))
  .onRequest('session/load', async ({ params, client }) => {
    const found = restore(params)
    for (const words of sessions[params.sessionId]?.received ?? []) {
      for (const part of [words.slice(0, 2), words.slice(2)])
        await say(client, params.sessionId, {
          sessionUpdate: 'user_message_chunk',
          content: block(part),
        })
      await say(client, params.sessionId, {
        sessionUpdate: 'agent_message_chunk',
        content: block(`again: ${words}`),
      })
    }
    return found
  })
  .onRequest('session/list', ({ params }) => {
    // Two per page; ignores the filter, which the protocol allows.
    const from = Number(params.cursor ?? 0)
    const all = Object.entries(sessions)
    return {
      sessions: all.slice(from, from + 2).map(([sessionId, { cwd, received }]) => ({
        sessionId,
        cwd,
        title: received[0] ?? null,
        updatedAt: '2026-01-02T03:04:05Z',
      })),
      ...(from + 2 < all.length ? { nextCursor: String(from + 2) } : {}),
    }
  })
  .onRequest('session/fork', ForkRequest, ({ params }) => {
    const sessionId = `${params.sessionId}-fork`
    const original = sessions[params.sessionId]
    if (!original) throw RequestError.sessionNotFound(params.sessionId)
    sessions[sessionId] = structuredClone(original)
    save()
    return { sessionId, modes: modes(), configOptions: options() }
  })
  .onRequest('session/close', ({ params }) => {
    const session = sessions[params.sessionId]
    if (session) session.open = false
    save()
    return {}
  })
  .onRequest('session/set_mode', ({ params }) => {
    if (traits.has('strict')) throw RequestError.internalError({ details: 'free needs a sandbox' })
    chosen.mode = params.modeId
    return {}
  })
  .onRequest('session/set_config_option', ({ params }) => {
    if (params.configId === 'how') chosen.mode = String(params.value)
    else if (params.configId === 'model') chosen.model = String(params.value)
    else chosen.loud = params.value === true
    return { configOptions: options() }
  })
  .onNotification('session/cancel', ({ params }) => {
    if (!traits.has('deaf')) cancelled.get(params.sessionId)?.()
  })
  .onRequest('session/prompt', async ({ params, client }) => {
    const { sessionId, prompt } = params
    const session = sessions[sessionId]
    if (!session) throw RequestError.sessionNotFound(sessionId)
    const words = prompt.flatMap(part => (part.type === 'text' ? [part.text] : [`<${part.type}>`]))
    const asked = prompt.findLast(part => part.type === 'text')?.text ?? ''
    session.received.push(words.map(each => each.trim()).join(' + '))
    // Some agents store a message only after answering it.
    if (!traits.has('forgets-last')) save()
    if (process.env.ACP_TEST_LOG) appendFileSync(process.env.ACP_TEST_LOG, `${asked}\n`)
    const { promise, resolve } = Promise.withResolvers<'cancelled'>()
    cancelled.set(sessionId, () => resolve('cancelled'))
    const [verb = '', ...rest] = asked.split(' ')
    const tell = (update: SessionUpdate, id = sessionId) => say(client, id, update)
    const tellCall = (sessionUpdate: string) => (head: string | object, fields: object) => {
      const named = typeof head === 'string' ? { toolCallId: head } : head
      return tell({ sessionUpdate, ...named, ...fields } as unknown as SessionUpdate)
    }
    const turn: Turn = {
      id: sessionId,
      cwd: session.cwd,
      client,
      say: tell,
      text: text => tell({ sessionUpdate: 'agent_message_chunk', content: block(text) }),
      call: tellCall('tool_call'),
      update: tellCall('tool_call_update'),
      cancel: promise,
      offered,
      answer: {},
    }
    const behave = behaviors[verb.replace(/^\//, '')] ?? behaviors.hello
    const reason = await behave?.(turn, rest.join(' '))
    save()
    const stopReason = typeof reason === 'string' ? (reason as 'refusal') : 'end_turn'
    return { stopReason, ...turn.answer }
  })
  .connect(
    ndJsonStream(
      Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
      Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
    ),
  )
