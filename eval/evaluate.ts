/** Runs tasks against the real service over HTTP: one chat per task, approvals allowed once, figures from the transcript. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Program, startService as startProgram } from '../build/start-program.ts'
import { git, GIT_ENV } from '../test/_git.ts'
import { type Client, createClient } from '../test/_http.ts'
import type { Outcome, Task } from './task.ts'

export type Row = {
  id: string
  /** Why the task is not solved; null when it is. */
  problem: string | null
  /** Model calls. */
  steps: number
  inputTokens: number
  /** Share of the input tokens that came from the provider's cache; null when it does not report that. */
  cachedShare: number | null
  outputTokens: number
  /** Bytes of all tool results, as the model reads them. */
  resultBytes: number
  /** Commands that asked for approval. */
  approvals: number
  /** US dollars; 0 when unknown. */
  cost: number
  seconds: number
}

export type EvaluationOptions = {
  /** An empty directory that holds the home and the workspaces. */
  root: string
  /** config.yaml of the home, and the lines of its .env. */
  config: string
  keys?: string
  /** `@provider:model`; the configured default when absent. */
  model?: string
  size: number
  onRow?: (row: Row) => void
  /** The service was killed in this task, and is about to start again. */
  onKill?: (task: Task) => void
}

const TASK_TIMEOUT_MS = 15 * 60_000

export const workspaceOf = (root: string, task: Task): string => join(root, 'work', task.id)

export type Message = { role: string; content: unknown }

type Service = { client: Client; kill: () => Promise<void>; start: () => Promise<void> }

type TurnEnd = { failure: string | null; usage: Usage | null; approvals: number }
type Usage = {
  input_tokens: number
  output_tokens: number
  estimated_cost: number
  cache_read_tokens?: number
}

/** Throws when the service cannot be started; a task that fails is a row. */
export const evaluate = async (
  tasks: readonly Task[],
  options: EvaluationOptions,
): Promise<Row[]> => {
  const service = await startService(options)
  try {
    const rows: Row[] = []
    for (const task of tasks) {
      const row = await runTask(task, service, options)
      options.onRow?.(row)
      rows.push(row)
    }
    return rows
  } finally {
    service.client.closeClient()
    await service.kill()
  }
}

const startService = async ({ root, config, keys }: EvaluationOptions): Promise<Service> => {
  const agentHome = join(root, '.agent')
  mkdirSync(agentHome, { recursive: true, mode: 0o700 })
  mkdirSync(join(root, 'work'), { recursive: true })
  writeFileSync(join(agentHome, 'config.yaml'), config)
  if (keys) writeFileSync(join(agentHome, '.env'), keys, { mode: 0o600 })
  const boot = (port?: number): Promise<Program> =>
    startProgram({
      home: root,
      ...(port && { port }),
      args: ['--no-browser'],
      env: {
        AGENT_WEBUI_DEFAULT_WORKSPACE: join(root, 'work'),
        // The tasks use `node`, which must be this one.
        PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
        LC_ALL: 'C.UTF-8',
      },
    })
  const running = { program: await boot() }
  return {
    client: createClient(() => running.program.url),
    kill: async () => void (await running.program.stop('SIGKILL')),
    async start() {
      running.program = await boot(running.program.port)
    },
  }
}

const runTask = async (task: Task, service: Service, options: EvaluationOptions): Promise<Row> => {
  const workspace = workspaceOf(options.root, task)
  rmSync(workspace, { recursive: true, force: true })
  mkdirSync(workspace, { recursive: true })
  task.setup(workspace, options.size)
  const startedAt = performance.now()
  const { client } = service
  const created = await client.post('/api/session/new', { workspace, model: options.model })
  if (created.status !== 200) throw new Error(`A chat cannot be created: ${created.text}`)
  const { session_id } = created.body.session
  const turns: TurnEnd[] = []
  for (const message of [task.prompt, ...(task.followUps ?? [])]) {
    turns.push(await runTurn(service, { session_id, message }, task, options))
    if (turns.at(-1)?.failure !== null) break
  }
  const seconds = (performance.now() - startedAt) / 1_000
  const messages = await messagesOf(client, session_id)
  const sum = (figure: (turn: TurnEnd) => number | undefined) =>
    turns.reduce((total, turn) => total + (figure(turn) ?? 0), 0)
  const inputTokens = sum(({ usage }) => usage?.input_tokens)
  const reportsCached = turns.some(({ usage }) => usage?.cache_read_tokens !== undefined)
  const cachedTokens = sum(({ usage }) => usage?.cache_read_tokens)
  return {
    id: task.id,
    problem: turns.at(-1)?.failure ?? problemOf(task, workspace, messages),
    steps: messages.filter(({ role }) => role === 'assistant').length,
    inputTokens,
    cachedShare: reportsCached && inputTokens > 0 ? cachedTokens / inputTokens : null,
    outputTokens: sum(({ usage }) => usage?.output_tokens),
    resultBytes: messages
      .filter(({ role }) => role === 'tool')
      .reduce((total, message) => total + Buffer.byteLength(textOf(message)), 0),
    approvals: sum(({ approvals }) => approvals),
    cost: sum(({ usage }) => usage?.estimated_cost),
    seconds,
  }
}

/** One turn to its end. After `killAfter` tool results the service is killed and started again, and the turn continues. */
const runTurn = async (
  { client, kill, start }: Service,
  asked: { session_id: string; message: string },
  task: Task,
  { onKill }: EvaluationOptions,
): Promise<TurnEnd> => {
  const { session_id } = asked
  const end: TurnEnd = { failure: null, usage: null, approvals: 0 }
  const started = await client.post('/api/chat/start', asked)
  if (started.status !== 200) return { ...end, failure: started.text }
  let results = 0
  let last = '0'
  for (;;) {
    const path = `/api/chat/stream?stream_id=${started.body.stream_id}&after=${last}`
    let isKilled = false
    for await (const { id, event, data } of client.events(path, { timeoutMs: TASK_TIMEOUT_MS })) {
      last = id ?? last
      if (event === 'stream_end') return end
      if (event === 'apperror') end.failure = String(data.message)
      if (event === 'cancel') end.failure = 'The turn was stopped.'
      if (event === 'done') end.usage = data.usage as Usage
      if (event === 'approval') {
        end.approvals += 1
        const { approval_id } = data
        await client.post('/api/approval/respond', { session_id, approval_id, choice: 'once' })
      }
      if (event === 'clarify') {
        const { clarify_id } = data
        const response = 'Decide for yourself.'
        await client.post('/api/clarify/respond', { session_id, clarify_id, response })
      }
      if (event === 'tool_complete') results += 1
      isKilled = event === 'tool_complete' && results === task.killAfter
      if (isKilled) break
    }
    if (!isKilled) return { ...end, failure: 'The stream ended before the turn did.' }
    await kill()
    onKill?.(task)
    await start()
  }
}

const messagesOf = async (client: Client, session_id: string): Promise<Message[]> =>
  (await client.get(`/api/session?session_id=${session_id}`)).body.session.messages

const textOf = ({ content }: Message): string =>
  typeof content === 'string' ? content : JSON.stringify(content ?? '')

/** Why the task is not solved after these messages; null when it is. */
export const problemOf = (
  task: Task,
  workspace: string,
  messages: readonly Message[],
): string | null => {
  const last = messages.findLast(({ role }) => role === 'assistant')
  const outcome: Outcome = {
    workspace,
    answer: last ? textOf(last) : '',
    read: (path, encoding = 'utf8') => readFileSync(join(workspace, path), encoding),
    git: (...args) => git(workspace, ...args),
    node(...args) {
      const { status, stdout, stderr } = spawnSync(process.execPath, args, {
        cwd: workspace,
        env: GIT_ENV,
        encoding: 'utf8',
        timeout: 60_000,
      })
      return { code: status, output: `${stdout}${stderr}` }
    },
  }
  try {
    task.check(outcome)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
