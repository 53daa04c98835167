/** Tool: runs a script that calls other tools, so that many tool calls take one model call. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { realPath } from '../../store/path-within.ts'
import { scriptAccesses } from '../permissions/command-reach.ts'
import {
  type Exit,
  killGroup,
  readThrottled,
  spawnGroup,
  terminateGroup,
  waitForClose,
} from '../../base/process.ts'
import { CALLABLE, type Language } from '../code/languages.ts'
import { ToolSocket } from '../code/tool-socket.ts'
import { type Approved, decideScript } from '../permissions/decide.ts'
import type { Tool, ToolContext, ToolResult } from '../types.ts'
import { askApproval, refusedResult, shellContextFor, unavailableRunner } from './command-gate.ts'
import { Countdown } from './countdown.ts'
import { NetworkGate } from './network-gate.ts'
import { CommandOutput } from './command-output.ts'
import { placeCommand, runsIn } from './place-command.ts'

const KILL_AFTER_MS = 250
const MAX_ERROR_CHARS = 4_000
const MAX_CODE_CHARS = 200_000
/** Tools whose failure is reported, because a script may not look at what its calls return. */
const WRITING: ReadonlySet<string> = new Set(['write_file', 'patch'])
/** The last ones. */
const MAX_FAILURES = 5
const MAX_FAILURE_CHARS = 300

export type CodeLimits = { timeoutMs: number; maxCalls: number }

const input = z.object({
  code: z.string().trim().min(1).max(MAX_CODE_CHARS).describe('The whole script.'),
})

type Ended = 'timeout' | 'stopped' | null
type Run = {
  ctx: ToolContext
  code: string
  language: Language
  limits: CodeLimits
  dir: string
  approved: Approved
}

export const executeCode = (language: Language, limits: CodeLimits): Tool<typeof input> => ({
  name: 'execute_code',
  summary: `Run a ${language.name} script in the workspace that can call these tools as functions, where they are available: ${Object.entries(
    CALLABLE,
  )
    .map(([name, names]) => `${name}(${names.join(', ')})`)
    .join(
      ', ',
    )}. They need no import and return the tool's result, parsed. Use it to loop over many files, filter long results, or chain dependent steps. ${language.hint} Returns status, output, tool_calls_made, duration_seconds, and error. Limits: ${limits.timeoutMs / 1_000} s, ${limits.maxCalls} calls.`,
  input,
  kind: 'execute',
  preview: ({ code }) => code.split('\n').find(line => line.trim() !== '') ?? '',
  reaches: ({ code }, { turn }) =>
    scriptAccesses(code, shellContextFor(turn, realPath(turn.workspace))),
  async run(ctx, { code }) {
    if (!ctx.call) throw new Error('Scripts cannot call tools here.')
    const decision = decideScript(code, ctx.turn, shellContextFor(ctx.turn, ctx.turn.workspace))
    if (decision.kind === 'refuse') return refusedResult(decision.refusal)
    const unavailable = await unavailableRunner(ctx.turn)
    if (unavailable) return unavailable
    const { approved, ask: question } = decision
    const place = runsIn(ctx.turn.runner, approved.access)
    const request = question && { command: code, cwd: ctx.turn.workspace, question, runsIn: place }
    const refusal = request ? await askApproval(ctx, request) : null
    if (refusal) return refusal
    await ctx.beforeChange?.('workspace')
    const dir = mkdtempSync(join(ctx.turn.runner?.sharedDir() ?? tmpdir(), 'agent-code-'))
    try {
      const tools = Object.keys(CALLABLE).filter(name => ctx.toolNames?.includes(name))
      for (const [name, text] of Object.entries(language.files(code, tools)))
        writeFileSync(join(dir, name), text, { mode: 0o600 })
      return await runScript({ ctx, code, language, limits, dir, approved }, tools)
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  },
})

/** One line of live output per call. */
const toLine = (tool: string, args: Record<string, unknown>): string => {
  const first = Object.values(args).find(value => typeof value === 'string') ?? ''
  return `\u001b[2m→ ${tool} ${String(first).split('\n')[0]?.slice(0, 120)}\u001b[22m\n`
}

const runScript = async (run: Run, tools: readonly string[]): Promise<ToolResult> => {
  const { ctx, code, dir, limits } = run
  const over = Promise.withResolvers<void>()
  const countdown = new Countdown(ctx.turn.clock, limits.timeoutMs, over.resolve)
  const where = runsIn(ctx.turn.runner, run.approved.access)
  const request = { command: code, cwd: ctx.turn.workspace, runsIn: where }
  const gate = new NetworkGate(ctx, request)
  gate.pauses(countdown)
  const token = randomBytes(24).toString('hex')
  const failures: string[] = []
  const socket = new ToolSocket(token, limits.maxCalls, async (tool, toolArgs) => {
    if (!tools.includes(tool) || !ctx.call)
      return JSON.stringify({ error: `There is no tool "${tool}" for scripts.` })
    // A background process of a script would have no owner.
    const args = Object.fromEntries(
      Object.entries(toolArgs).filter(([name]) => !/background$/i.test(name)),
    )
    ctx.output(toLine(tool, args))
    // The tool may wait for an approval, so the script's time limit is paused.
    countdown.pause()
    const { content, isError } = await ctx.call(tool, args)
    countdown.go()
    if (isError && WRITING.has(tool) && failures.push(`${tool}: ${content}`) > MAX_FAILURES)
      failures.shift()
    return content
  })
  await socket.listen(join(dir, 'tools.sock'))
  try {
    return await start(run, { over: over.promise, gate, token, socket, failures })
  } finally {
    countdown.stop()
    socket.close()
  }
}

type Started = {
  /** Resolves at the time limit. */
  over: Promise<void>
  gate: NetworkGate
  token: string
  socket: ToolSocket
  failures: readonly string[]
}

const start = async (
  { ctx, language, dir, limits, approved }: Run,
  { over, gate, token, socket, failures }: Started,
): Promise<ToolResult> => {
  const startedAt = ctx.turn.clock.monotonic()
  const env = {
    ...ctx.turn.env,
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONIOENCODING: 'utf-8',
    AGENT_TOOLS_SOCKET: join(dir, 'tools.sock'),
    AGENT_TOOLS_TOKEN: token,
  }
  const program = { file: language.program, args: language.args(dir) }
  ctx.signal.throwIfAborted()
  const placed = await placeCommand(ctx, approved, {
    program,
    cwd: ctx.turn.workspace,
    env,
    readable: [dir],
    onTarget: gate.check,
  })
  const stdio = ['ignore', 'pipe', 'pipe'] as const
  const child = spawnGroup(placed.file, placed.args, { ...placed, stdio })
  const output = new CommandOutput(ctx.turn.clock, ctx.output)
  const errors = new CommandOutput(ctx.turn.clock, ctx.output)
  let ended: Ended = null
  let cancelKill = () => {}

  const stop = (why: Ended) => {
    if (ended) return
    ended = why
    cancelKill = terminateGroup(child, KILL_AFTER_MS)
  }
  const cancel = () => stop('stopped')
  ctx.signal.addEventListener('abort', cancel, { once: true })
  // It may have been aborted while the program was placed.
  if (ctx.signal.aborted) cancel()
  void over.then(() => stop('timeout'))
  readThrottled(child.stdout, bytes => output.write(bytes))
  readThrottled(child.stderr, bytes => errors.write(bytes))
  let exit: Exit
  try {
    // Everything the script has started is killed with it.
    exit = await waitForClose(child, () => killGroup(child, 'SIGKILL'))
  } finally {
    cancelKill()
    ctx.signal.removeEventListener('abort', cancel)
    output.end()
    errors.end()
  }
  const failed = ended !== null || exit.code !== 0
  const complaint = errors.text().output.trim().slice(-MAX_ERROR_CHARS)
  const printed = output.text(ctx.offload)
  return {
    content: JSON.stringify({
      status: statusOf(ended, failed),
      output: printed.output,
      tool_calls_made: socket.calls(),
      duration_seconds: Math.round((ctx.turn.clock.monotonic() - startedAt) / 10) / 100,
      error: failed ? errorOf(ended, exit, complaint, limits) : null,
      ...(failures.length > 0 && {
        not_written: failures.map(failure => failure.slice(0, MAX_FAILURE_CHARS)),
      }),
      ...(!failed && complaint && { warnings: complaint }),
      ...gate.fields(),
    }),
    isError: failed,
    ...(printed.colored !== undefined && { colored: printed.colored }),
  }
}

const statusOf = (ended: Ended, failed: boolean): string =>
  ended === 'timeout' ? 'timeout' : ended ? 'interrupted' : failed ? 'error' : 'success'

const errorOf = (ended: Ended, { code, signal }: Exit, complaint: string, limits: CodeLimits) => {
  if (ended === 'timeout') return `Stopped after ${limits.timeoutMs / 1_000} seconds.`
  if (ended === 'stopped') return 'Stopped by the user.'
  return complaint || `It ended with ${signal ?? `exit code ${code}`}.`
}
