/** Tool: lists background processes, reads their output, sends them input, and kills them. */
import { z } from 'zod'
import { reachesByCommand } from '../permissions/reach.ts'
import { truncateMiddle } from '../long-result.ts'
import type { ProcessView, Processes } from '../tool-services.ts'
import type { Tool, ToolContext, ToolResult } from '../types.ts'
import { approveCommand } from './command-gate.ts'
import { seconds, numberWithin } from './numbers.ts'

const DEFAULT_WAIT_S = 60
const MAX_WAIT_S = 600
const PREVIEW_CHARS = 1_000
const MAX_POLL_CHARS = 20_000

const input = z.object({
  action: z.enum(['list', 'poll', 'log', 'wait', 'kill', 'write', 'submit', 'close']),
  session_id: z.string().optional().describe('proc_…, as returned by terminal.'),
  data: z.string().optional().describe('Text for write; submit adds a newline.'),
  timeout: seconds(MAX_WAIT_S).default(DEFAULT_WAIT_S).describe('wait: maximum seconds.'),
  offset: numberWithin(0, Infinity).default(0).describe('log: first line, counted from 0.'),
  limit: numberWithin(1, 2_000).default(200).describe('log: number of lines.'),
})
type Input = z.output<typeof input>

const answer = (value: object): ToolResult => ({ content: JSON.stringify(value) })

const stateOf = ({ session_id, status, exit_code, uptime }: ProcessView) => ({
  session_id,
  status,
  exit_code,
  uptime,
})

const lastChars = (text: string, most: number): string =>
  text.length > most
    ? `[… ${text.length - most} characters left out …]\n${text.slice(-most)}`
    : text

/** The newest lines by default. */
const log = (processes: Processes, id: string, { offset, limit }: Input) => {
  const { text, left_out } = processes.read(id)
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const first = offset > 0 ? offset : Math.max(0, lines.length - limit)
  return {
    ...stateOf(processes.view(id)),
    output: lines.slice(first, first + limit).join('\n'),
    first_line: first,
    total_lines: lines.length,
    ...(left_out > 0 && { characters_dropped: left_out }),
  }
}

/** Masks before truncating, because half a secret isn't recognized. */
const shownEnd = ({ turn: { secrets } }: ToolContext, text: string, chars: number): string =>
  (secrets?.mask(text) ?? text).slice(-chars)

const act = async (ctx: ToolContext, processes: Processes, args: Input): Promise<ToolResult> => {
  const { action, session_id: id, data, timeout } = args
  if (action === 'list')
    return answer({
      processes: processes.list().map(view => ({
        ...stateOf(view),
        command: view.command,
        cwd: view.cwd,
        pid: view.pid,
        output_preview: shownEnd(ctx, processes.read(view.session_id).text, 200),
      })),
    })
  if (!id) throw new Error(`action ${action} needs session_id.`)
  if (action === 'poll') {
    const output = lastChars(processes.poll(id), MAX_POLL_CHARS)
    return answer({ ...stateOf(processes.view(id)), output })
  }
  if (action === 'log') return answer(log(processes, id, args))
  if (action === 'wait') {
    const view = await processes.wait(id, timeout * 1_000, ctx.signal)
    return answer({
      ...stateOf(view),
      ...(view.status === 'running' && { timed_out: true }),
      output: truncateMiddle(lastChars(processes.read(id).text, MAX_POLL_CHARS), MAX_POLL_CHARS),
    })
  }
  if (action === 'kill') {
    const view = await processes.kill(id)
    const output_preview = shownEnd(ctx, processes.read(id).text, PREVIEW_CHARS)
    return answer({ ...stateOf(view), output_preview })
  }
  if (action === 'close') {
    await processes.endInput(id)
    return answer(stateOf(processes.view(id)))
  }
  if (data === undefined) throw new Error(`action ${action} needs data.`)
  // The process may be a shell, so typed input passes the command check, joined with pending input.
  const typed = processes.pendingInput(id) + data
  const access = processes.accessOf(id)
  // What is typed runs where the process runs.
  const runner = access === 'unconfined' ? undefined : ctx.turn.runner
  const { cwd } = processes.view(id)
  const approval = await approveCommand({ ...ctx, turn: { ...ctx.turn, runner } }, typed, { cwd })
  if ('refused' in approval) return approval.refused
  await processes.write(id, action === 'submit' ? `${data}\n` : data)
  return answer({ ...stateOf(processes.view(id)), characters_written: data.length })
}

export const processTool: Tool<typeof input> = {
  name: 'process',
  summary:
    'Control commands that run in the background. list: all of this chat. poll: output since the last poll. log: lines of output, the last ones without offset. wait: until it exits or timeout. kill: end it and its child processes. write, submit: send input to a command started with background=true. close: end its input.',
  input,
  kind: 'execute',
  preview: ({ action, session_id }) => (session_id ? `${action} ${session_id}` : action),
  onlyReads: ({ action }) => ['list', 'poll', 'log', 'wait'].includes(action),
  reaches({ action, session_id: id, data = '' }, call) {
    if (action !== 'write' && action !== 'submit') return []
    const { processes } = call.turn
    // An unknown process is refused when the call runs.
    const target = processes?.list().find(view => view.session_id === id)
    return target && processes
      ? reachesByCommand(processes.pendingInput(target.session_id) + data, target.cwd, call)
      : []
  },
  run(ctx, args) {
    const {
      turn: { processes },
    } = ctx
    if (!processes) throw new Error('Programs cannot run in the background here.')
    return act(ctx, processes, args)
  },
}
