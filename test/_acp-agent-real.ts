/** Behaviors of the ACP test agent that reproduce real agents from npm (observed with `npm run proof -- real-agents`). */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type {
  PermissionOption,
  RequestPermissionResponse,
  SessionUpdate,
  ToolCallContent,
  ToolCallUpdate,
} from '@agentclientprotocol/sdk'
import type { Behaviors, Turn } from './_acp-agent.ts'

const options: PermissionOption[] = [
  { optionId: 'always', name: 'Allow for this session', kind: 'allow_always' },
  { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
  { optionId: 'no', name: 'Reject', kind: 'reject_once' },
]

const inside = (text: string): ToolCallContent => ({
  type: 'content',
  content: { type: 'text', text },
})

const isAllowed = async (
  { client, id }: Turn,
  toolCall: ToolCallUpdate,
  offered = options,
): Promise<boolean> => {
  const { outcome }: RequestPermissionResponse = await client.request(
    'session/request_permission',
    { sessionId: id, toolCall, options: offered },
  )
  return outcome.outcome === 'selected' && outcome.optionId === 'yes'
}

/** Updates outside of the stable schema, sent unchecked. */
const raw = (update: Record<string, unknown>): SessionUpdate => update as unknown as SessionUpdate

export const realBehaviors: Behaviors = {
  /** Any permission request, as JSON, after `before`, an update of the call: says what was chosen, with the answers. */
  async ask({ client, id, text, call }, given) {
    const { options: offered = options, before, ...toolCall } = JSON.parse(given)
    if (before) await call(toolCall.toolCallId, { title: 'x', ...before })
    const { outcome, ...rest }: RequestPermissionResponse = await client.request(
      'session/request_permission',
      { sessionId: id, toolCall, options: offered },
    )
    const answers = Object.keys(rest).length > 0 ? ` ${JSON.stringify(rest)}` : ''
    await text(`${outcome.outcome === 'selected' ? outcome.optionId : outcome.outcome}${answers}`)
  },
  /** Reports tokens, as JSON: in the response, and with model calls. Then waits for a cancel, if it is told to. */
  async spend({ say, text, cancel, answer }, given) {
    const { calls = [], waits = false, ...rest } = JSON.parse(given)
    await text('Counting.')
    for (const usage of calls)
      await say(
        raw({
          sessionUpdate: 'agent_message_chunk',
          content: { type: 'text', text: '' },
          _meta: { usage, durationMs: 5 },
        }),
      )
    Object.assign(answer, rest)
    return waits ? cancel : undefined
  },
  /** Codex: a notice beside the answer, as JSON. */
  async note({ say, text }, notice) {
    await say(raw({ sessionUpdate: 'notice', ...JSON.parse(notice) }))
    await text('Noted.')
  },
  /** Gemini: reads the file before creating it, and gives up when that fails. */
  async create(turn, name) {
    const { client, cwd, id, text, update } = turn
    const path = join(cwd, name)
    const toolCallId = 'write_file_1'
    const head = { toolCallId, title: `Writing to ${name}`, kind: 'edit' as const }
    const read = () => client.request('fs/read_text_file', { sessionId: id, path })
    const { content: oldText } = await read()
    const content: ToolCallContent[] = [{ type: 'diff', path, oldText, newText: 'hello\nworld\n' }]
    const locations = [{ path }]
    if (!(await isAllowed(turn, { ...head, status: 'pending', content, locations }))) {
      await text('No.')
      return undefined
    }
    await read()
    await client.request('fs/write_text_file', { sessionId: id, path, content: 'hello\nworld\n' })
    await update(head, { status: 'completed', content, locations })
    await text('Created.')
  },
  /** opencode: the new text is in the arguments only; the result is a sentence. */
  async write(turn, rest) {
    const [name = '', ...words] = rest.split(' ')
    const { client, cwd, id, text, call, update } = turn
    const filePath = join(cwd, name)
    const content = `${words.join('\n')}\n`
    const toolCallId = 'call_1'
    const head = { toolCallId, title: 'write', kind: 'edit' as const }
    await call(head, { status: 'pending', locations: [], rawInput: {} })
    const rawInput = { filePath, content }
    const locations = [{ path: filePath }]
    await update(head, { status: 'in_progress', locations, rawInput })
    const asked = { ...head, title: filePath, status: 'pending' as const, locations, rawInput }
    if (await isAllowed(turn, asked)) {
      await client.request('fs/write_text_file', { sessionId: id, path: filePath, content })
      await update(toolCallId, {
        status: 'completed',
        title: name,
        content: [inside('Wrote file successfully.')],
        rawOutput: { output: 'Wrote file successfully.', metadata: { exists: true } },
      })
    } else await update(toolCallId, { status: 'failed' })
    await text('Done.')
  },
  /** Claude: sends a diff of the replaced part, writes the file itself, then sends a diff of the whole file. */
  async replace(turn, rest) {
    const [name = '', from = '', to = ''] = rest.split(' ')
    const { cwd, text, call, update } = turn
    const path = join(cwd, name)
    const toolCallId = 'toolu_1'
    const head = { toolCallId, title: `Edit ${name}`, kind: 'edit' as const }
    const rawInput = { file_path: path, old_string: from, new_string: to, replace_all: false }
    const content: ToolCallContent[] = [{ type: 'diff', path, oldText: from, newText: to }]
    await call(head, { status: 'pending', rawInput: {}, content: [] })
    await update(toolCallId, { rawInput, content })
    if (
      await isAllowed(turn, {
        ...head,
        status: 'pending',
        rawInput,
        content,
        locations: [{ path }],
      })
    ) {
      const before = readFileSync(path, 'utf8')
      const after = before.replace(from, to)
      writeFileSync(path, after)
      await update(toolCallId, {
        content: [{ type: 'diff', path, oldText: before.trimEnd(), newText: after.trimEnd() }],
      })
      await update(toolCallId, { status: 'completed', rawOutput: 'It has been updated.' })
    }
    await text('Done.')
  },
  /** Claude: an overwritten file has the diff of a new one. */
  async overwrite(turn, rest) {
    const [name = '', ...words] = rest.split(' ')
    const { cwd, text, call, update } = turn
    const path = join(cwd, name)
    const toolCallId = 'toolu_2'
    const head = { toolCallId, title: `Write ${name}`, kind: 'edit' as const }
    const newText = `${words.join('\n')}\n`
    const content: ToolCallContent[] = [{ type: 'diff', path, oldText: null, newText }]
    const rawInput = { file_path: path, content: newText }
    await call(head, { status: 'pending', rawInput, content })
    if (await isAllowed(turn, { ...head, status: 'pending', rawInput, content })) {
      writeFileSync(path, newText)
      await update(toolCallId, { status: 'completed' })
    }
    await text('Done.')
  },
  /** A deletion has the file name only. */
  async remove(turn, name) {
    const { cwd, text, update } = turn
    const path = join(cwd, name)
    const head = { toolCallId: 'd1', title: `Delete ${name}`, kind: 'delete' as const }
    if (await isAllowed(turn, { ...head, status: 'pending', locations: [{ path }] })) {
      if (existsSync(path)) rmSync(path)
      await update(head, { status: 'completed' })
    }
    await text('Done.')
  },
  /** Codex: runs a command itself; output and exit code are in the `_meta` of the updates. */
  async shell({ cwd, text, call, update }, rest) {
    const [code = '0', ...words] = rest.split(' ')
    const toolCallId = 'exec_1'
    const terminal_id = toolCallId
    await call(toolCallId, {
      name: 'exec_command',
      kind: 'execute',
      title: 'sh',
      status: 'in_progress',
      content: [{ type: 'terminal', terminalId: toolCallId }],
      rawInput: { command: 'sh', cwd },
      _meta: { terminal_info: { cwd, terminal_id } },
    })
    for (const word of words.slice(0, -1))
      await update(toolCallId, {
        _meta: { terminal_output_delta: { data: `${word}\n`, terminal_id } },
      })
    await update(toolCallId, {
      status: code === '0' ? 'completed' : 'failed',
      _meta: {
        terminal_output_delta: { data: `${words.at(-1) ?? ''}\n`, terminal_id },
        terminal_exit:
          code === 'killed'
            ? { exit_code: null, signal: 'SIGKILL', terminal_id }
            : { exit_code: Number(code), signal: null, terminal_id },
      },
    })
    await text('Ran.')
  },
  /** Claude without terminals reports the exit code as text; Gemini reports nothing. */
  async spoken({ text, call, update }, rest) {
    const head = { toolCallId: 'b1', title: 'make', kind: 'execute' as const }
    await call(head, { status: 'in_progress' })
    await update('b1', {
      ...(rest === 'nothing'
        ? { status: 'completed' as const, content: [] }
        : {
            status: 'failed' as const,
            content: [inside('```\nExit code 3\nout-of-it\n```')],
            rawOutput: 'Exit code 3\nout-of-it',
          }),
    })
    await text('Ran.')
  },
  /** opencode, Qwen Code, Codex, Gemini: a list of steps is a tool call. */
  async steps({ text, call, update }, style) {
    const todos = [
      { id: '1', content: 'look', status: 'in_progress', priority: 'high' },
      { id: '2', content: 'change', status: 'pending', priority: 'high' },
    ]
    const rawInput =
      style === 'plan'
        ? { plan: todos.map(({ content, status }) => ({ step: content, status })) }
        : style === 'described'
          ? { todos: todos.map(({ content, status }) => ({ description: content, status })) }
          : { todos }
    const head = {
      toolCallId: 'todo_1',
      title: style === 'plan' ? 'update_plan' : 'todowrite',
      kind: 'other' as const,
    }
    await call(head, { status: 'in_progress', rawInput })
    await update('todo_1', {
      status: 'completed',
      title: '2 todos',
      content: [inside(JSON.stringify(todos, null, 2))],
    })
    await text('Planned.')
  },
  /** Exits during a permission request. */
  async perish({ client, id }, command) {
    const toolCall = { toolCallId: 'p1', title: command, kind: 'execute' as const }
    void client.request('session/request_permission', {
      sessionId: id,
      toolCall: { ...toolCall, rawInput: { command } },
      options,
    })
    // Flushes the request before the exit.
    await new Promise(resolve => process.stdout.write('', resolve))
    setTimeout(() => process.exit(7), 200)
    return new Promise(() => undefined)
  },
  /** Requests permission again after a cancel, and twice for one call. */
  async late(turn, command) {
    const head = {
      toolCallId: 'l1',
      title: command,
      kind: 'execute' as const,
      rawInput: { command },
    }
    const both = [
      isAllowed(turn, { ...head, status: 'pending' }),
      isAllowed(turn, { ...head, status: 'pending' }),
    ]
    const answers = await Promise.all(both)
    if (answers.includes(false)) {
      await isAllowed(turn, { ...head, status: 'pending' })
      return 'cancelled'
    }
    await turn.update('l1', { status: 'completed' })
    await turn.text('Both allowed.')
  },
  /** Qwen Code: two options that allow one command. */
  async yes(turn, command) {
    const head = { toolCallId: 'y1', title: `${command} (Runs it)`, kind: 'execute' as const }
    const allowed = await isAllowed(turn, { ...head, status: 'pending', rawInput: { command } }, [
      { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
      { optionId: 'switch', name: 'Switch to Default Mode and allow once', kind: 'allow_once' },
      { optionId: 'no', name: 'Reject', kind: 'reject_once' },
    ])
    await turn.update('y1', {
      status: allowed ? 'completed' : 'failed',
    })
    await turn.text(allowed ? 'Yes.' : 'No.')
  },
}
