/** Commands in the client's own terminals: the person sees them run there and can stop them. They are decided about as everywhere. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentContext } from '@agentclientprotocol/sdk'
import { z } from 'zod'
import { approveCommand } from '../../agent/tools/command-gate.ts'
import { CommandOutput } from '../../agent/tools/command-output.ts'
import { reportingScript, shellStateOf } from '../../agent/tools/shell-state.ts'
import { directoryFor, saveStateAfter } from '../../agent/tools/terminal.ts'
import type { Tool, ToolContext, ToolResult } from '../../agent/types.ts'
import { findProgram } from '../../base/find-program.ts'
import { messageOf } from '../../errors.ts'
import { readText } from '../../store/read-text.ts'

/** As the terminal tool reads them. */
const Input = z.object({
  command: z.string(),
  timeout: z.number(),
  workdir: z.string().optional(),
  background: z.boolean(),
})

const MAX_OUTPUT_BYTES = 1024 * 1024
const SHELL = 'bash'

/** The client starts it with its own environment, which is about that of this process. */
const changesOf = (
  env: Readonly<Record<string, string>>,
  base: Readonly<Record<string, string>>,
): { name: string; value: string }[] => [
  ...Object.entries(env).flatMap(([name, value]) =>
    base[name] === value ? [] : [{ name, value }],
  ),
  // A variable that commands must not have, such as a key.
  ...Object.keys(base).flatMap(name => (Object.hasOwn(env, name) ? [] : [{ name, value: '' }])),
]

type End = { exitCode?: number | null | undefined; signal?: string | null | undefined }
type Stop = 'timeout' | 'stopped'

const resultOf = (
  ctx: ToolContext,
  text: string,
  end: End | null,
  stopped: Stop | null,
  seconds: number,
  lasting: object,
): ToolResult => {
  const output = new CommandOutput(ctx.turn.clock, () => undefined)
  output.write(Buffer.from(text))
  output.end()
  const error =
    stopped === 'timeout'
      ? `Stopped after ${seconds} seconds.`
      : stopped === 'stopped'
        ? 'Stopped by the user.'
        : end?.signal
          ? `Ended by ${end.signal}.`
          : null
  const exit_code = stopped === 'timeout' ? 124 : (end?.exitCode ?? 130)
  const printed = output.text(ctx.offload)
  return {
    content: JSON.stringify({ output: printed.output, exit_code, error, ...lasting }),
    isError: exit_code !== 0,
  }
}

/** Resolves with why it has to stop. Never, if it ends before. */
const stopOf = (
  { signal, turn: { clock } }: ToolContext,
  seconds: number,
): { stopped: Promise<Stop>; cancel: () => void } => {
  const { promise, resolve } = Promise.withResolvers<Stop>()
  const abort = () => resolve('stopped')
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  const cancelTimer = clock.timer(seconds * 1_000, () => resolve('timeout'))
  return {
    stopped: promise,
    cancel() {
      cancelTimer()
      signal.removeEventListener('abort', abort)
    },
  }
}

/**
 * The terminal tool, in the client where that is possible: not in the background, whose processes outlive the client's terminal,
 * not in a sandbox, which the client does not have.
 */
export const inClientTerminals = (
  tool: Tool,
  {
    client,
    sessionId,
    env,
    isShown,
    show,
    log,
  }: {
    client: AgentContext
    sessionId: string
    /** The environment of this process. */
    env: Readonly<Record<string, string>>
    /** The client shows this call, so that it can show its terminal. */
    isShown: (callId: string) => boolean
    /** Shows the terminal in the call. */
    show: (callId: string, terminalId: string) => void
    log: (line: string) => void
  },
): Tool => {
  let isBroken = false

  const runInClient = async (
    ctx: ToolContext,
    { command, timeout, workdir }: z.infer<typeof Input>,
  ): Promise<ToolResult> => {
    const before = shellStateOf(ctx)
    const cwd = directoryFor(ctx, workdir)
    const approval = await approveCommand(ctx, command, { cwd })
    if ('refused' in approval) return approval.refused
    ctx.signal.throwIfAborted()
    const dir = mkdtempSync(join(tmpdir(), 'agent-terminal-'))
    const [script, report] = [join(dir, 'start'), join(dir, 'end')]
    try {
      writeFileSync(script, reportingScript(report, ctx.turn.env))
      const terminal = await client
        .createTerminal({
          sessionId,
          command: SHELL,
          args: ['-c', command],
          cwd,
          env: changesOf({ ...ctx.turn.env, BASH_ENV: script }, env),
          outputByteLimit: MAX_OUTPUT_BYTES,
        })
        .catch((error: unknown) => {
          isBroken = true
          throw new Error(
            `The editor did not open a terminal: ${messageOf(error)}. The next command runs without it.`,
          )
        })
      const { stopped, cancel } = stopOf(ctx, timeout)
      try {
        show(ctx.callId, terminal.id)
        const first = await Promise.race([
          terminal.waitForExit().then(end => ({ end, why: null })),
          stopped.then(why => ({ end: null, why })),
        ])
        if (first.why) await terminal.kill()
        const { output } = await terminal.currentOutput()
        const lasting = saveStateAfter(ctx, before, readText(report).text ?? '', {
          keepsCwd: workdir === undefined && !first.why,
          keepsVariables: false,
        })
        return resultOf(ctx, output, first.end, first.why, timeout, lasting)
      } finally {
        cancel()
        // Its output stays in the client.
        await terminal
          .release()
          .catch((error: unknown) => log(`The editor kept a terminal: ${messageOf(error)}`))
      }
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  }

  return {
    ...tool,
    async run(ctx, input) {
      const result = Input.safeParse(input)
      const isOwn =
        isBroken ||
        !findProgram(ctx.turn.env.PATH ?? '', SHELL) ||
        !result.success ||
        result.data.background ||
        ctx.turn.runner ||
        !isShown(ctx.callId)
      return isOwn ? tool.run(ctx, input) : runInClient(ctx, result.data)
    },
  }
}
