/** Terminals of an agent (ACP `terminal/*`): commands are checked like ours, streamed, and killed with the turn. */
import { shellQuote } from '../../base/shell-quote.ts'
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { StringDecoder } from 'node:string_decoder'
import { stripVTControlCharacters } from 'node:util'
import type { CreateTerminalRequest, TerminalExitStatus } from '@agentclientprotocol/sdk'
import { spawnGroup, terminateGroup, waitForClose } from '../../base/process.ts'
import { decideCommand } from '../permissions/decide.ts'
import { approvalFor, shellContextFor } from '../tools/command-gate.ts'
import { denial } from '../permissions/denied-path.ts'
import type { RuledCall } from '../permissions/types.ts'
import { stakesOf } from '../reasons.ts'
import { withRule } from '../permissions/check-call.ts'
import { addToApproval } from './permission-rules.ts'
import type { AgentHooks } from './hooks.ts'
import { allowedKey } from './permissions.ts'
import { resolvePath } from '../tools/allowed-paths.ts'
import { NetworkGate } from '../tools/network-gate.ts'
import { placeCommand, runsIn } from '../tools/place-command.ts'
import { messageOf } from '../../errors.ts'
import { planRefusal } from '../plan-mode.ts'
import { READING_GIT_ENV } from '../shell/git-programs.ts'
import type { ToolContext } from '../types.ts'

const MAX_OPEN = 64
const MAX_BYTES = 1024 * 1024
const KILL_AFTER_MS = 250

type Terminal = {
  child: ChildProcess
  /** The newest output, up to `limit` bytes. */
  output: string
  truncated: boolean
  limit: number
  ended: Promise<TerminalExitStatus>
  exit: TerminalExitStatus | null
  /** Receives the output, starting with what was printed before. */
  watch: ((text: string) => void) | null
}

/** The last `bytes` bytes of a text, not cut inside a character. */
const tail = (text: string, bytes: number): string => {
  const whole = Buffer.from(text)
  if (whole.length <= bytes) return text
  let from = whole.length - bytes
  while (from < whole.length && ((whole[from] ?? 0) & 0xc0) === 0x80) from++
  return whole.subarray(from).toString('utf8')
}

/** The terminals of one session. */
export class Terminals {
  readonly #open = new Map<string, Terminal>()
  readonly #released = new Map<string, { output: string; exitCode: number | null }>()

  async create(
    ctx: ToolContext,
    params: CreateTerminalRequest,
    agent: { name: string; allowed: Set<string>; hooks?: AgentHooks },
  ): Promise<string> {
    if (this.#open.size >= MAX_OPEN)
      throw new Error(`${MAX_OPEN} terminals are open. Release some of them first.`)
    const { command, args = [] } = params
    const line = args.length > 0 ? [command, ...args].map(shellQuote).join(' ') : command
    const cwd = params.cwd ? resolvePath(ctx.turn, params.cwd) : ctx.turn.workspace
    const shell = shellContextFor(ctx.turn, cwd)
    const decision = decideCommand(line, ctx.turn, shell)
    if (decision.kind === 'refuse') throw decision.refusal
    const refusal = planRefusal(ctx.turn.planMode, line, shell)
    if (refusal !== null) throw new Error(refusal)
    const unavailable = (await ctx.turn.runner?.problem()) ?? null
    if (unavailable !== null) throw new Error(`${unavailable}`)
    const { approved, ask: question } = decision
    const { labels = [], isControl = false } = question ?? {}
    const call: RuledCall = {
      tool: 'terminal',
      accesses: [{ kind: 'command', command: line, shell }],
    }
    const verdict = ctx.turn.rules?.decide(call) ?? null
    if (ctx.turn.rules && verdict?.list === 'deny') throw new Error(denial(verdict, ctx.turn.rules))
    const key = allowedKey(line, cwd)
    const isAllowed = agent.allowed.has(key)
    // An approval for a control file, or one that a rule requires, is valid once.
    if (isControl || verdict) agent.allowed.delete(key)
    const { callId } = ctx
    const hookedCall = {
      callId,
      name: 'terminal',
      kind: 'execute',
      args: { command: line, workdir: cwd },
    }
    // Hooks have seen a command that the agent asked permission for.
    const approve = isAllowed ? undefined : await agent.hooks?.before(hookedCall)
    if ((labels.length > 0 || verdict) && !isAllowed) {
      const approval = approvalFor({
        command: line,
        cwd,
        question: question ?? { labels, isControl, marks: [] },
        runsIn: runsIn(ctx.turn.runner, approved.access),
      })
      const who = `${agent.name} asks to run a command.`
      const needed = {
        ...approval,
        ...addToApproval(verdict, labels, [who, ...stakesOf(labels)]),
      }
      const ask = withRule(ctx.turn.rules, call, needed)
      const choice = await (approve?.(ask, callId) ?? ctx.approve(ask))
      if (choice === 'deny') throw new Error(`The user denied this command (${labels.join('; ')}).`)
    }
    ctx.signal.throwIfAborted()
    const extra = Object.fromEntries((params.env ?? []).map(({ name, value }) => [name, value]))
    // Without arguments, `command` may be a whole command line.
    const [file, ...words] = args.length > 0 ? [command, ...args] : ['sh', '-c', command]
    const program = { file: file ?? '', args: words }
    // Variables of the agent could change what a reading command does.
    const env = { ...ctx.turn.env, ...(ctx.turn.planMode?.isOn() ? READING_GIT_ENV : extra) }
    const where = runsIn(ctx.turn.runner, approved.access)
    const gate = new NetworkGate(ctx, { command: line, cwd, runsIn: where })
    const place = { program, cwd, env, onTarget: gate.check }
    const placed = await placeCommand(ctx, approved, place)
    const stdio = ['ignore', 'pipe', 'pipe'] as const
    const child = spawnGroup(placed.file, placed.args, { ...placed, stdio })
    const terminal: Terminal = {
      child,
      output: '',
      truncated: false,
      limit: Math.min(params.outputByteLimit ?? MAX_BYTES, MAX_BYTES),
      exit: null,
      watch: null,
      ended: waitForClose(child).then(
        ({ code, signal }) => {
          terminal.exit = { exitCode: code, signal }
          return terminal.exit
        },
        (error: unknown) => {
          take(`${messageOf(error)}\n`)
          terminal.exit = { exitCode: 127, signal: null }
          return terminal.exit
        },
      ),
    }
    const take = (text: string) => {
      if (text === '') return
      const all = terminal.output + text
      terminal.output = tail(all, terminal.limit)
      terminal.truncated ||= terminal.output.length < all.length
      terminal.watch?.(text)
    }
    for (const stream of [child.stdout, child.stderr]) {
      const decoder = new StringDecoder('utf8')
      stream?.on('data', (bytes: Buffer) => take(decoder.write(bytes)))
    }
    const id = `terminal_${randomBytes(4).toString('hex')}`
    this.#open.set(id, terminal)
    return id
  }

  output(id: string) {
    const { output, truncated, exit } = this.#find(id)
    return { output, truncated, ...(exit ? { exitStatus: exit } : {}) }
  }

  wait(id: string): Promise<TerminalExitStatus> {
    return this.#find(id).ended
  }

  kill(id: string): void {
    stop(this.#find(id))
  }

  /** Closed for the agent; its output stays available to the tool card. */
  release(id: string): void {
    const terminal = this.#find(id)
    stop(terminal)
    this.#released.set(id, {
      output: stripVTControlCharacters(terminal.output),
      exitCode: terminal.exit?.exitCode ?? null,
    })
    const [oldest] = this.#released.keys()
    if (this.#released.size > MAX_OPEN && oldest !== undefined) this.#released.delete(oldest)
    this.#open.delete(id)
  }

  /** Calls `show` with all output, starting with what was printed before. */
  watch(id: string, show: (text: string) => void): void {
    const terminal = this.#open.get(id)
    if (!terminal || terminal.watch) return
    terminal.watch = show
    if (terminal.output !== '') show(terminal.output)
  }

  /** The output of these terminals, including released ones. */
  view(ids: readonly string[]): { output: string; exitCode: number | null } | null {
    const views = ids.flatMap(id => {
      const terminal = this.#open.get(id)
      if (!terminal) return this.#released.get(id) ?? []
      const output = stripVTControlCharacters(terminal.output)
      return { output, exitCode: terminal.exit?.exitCode ?? null }
    })
    if (views.length === 0) return null
    return {
      output: views.map(({ output }) => output).join('\n'),
      exitCode: views.at(-1)?.exitCode ?? null,
    }
  }

  stopAll(): void {
    for (const terminal of this.#open.values()) stop(terminal)
  }

  #find(id: string): Terminal {
    const terminal = this.#open.get(id)
    if (!terminal) throw new Error(`There is no terminal ${id}.`)
    return terminal
  }
}

const stop = ({ child, exit }: Terminal): void => {
  if (!exit) terminateGroup(child, KILL_AFTER_MS)
}
