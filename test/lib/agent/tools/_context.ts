/** A workspace on the disk and the context a tool is given in it, for tests. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { systemClock } from '../../../../lib/base/clock.ts'
import { coerceArguments } from '../../../../lib/agent/coerce-arguments.ts'
import type { ApprovalRequest, Tool, ToolContext, ToolResult } from '../../../../lib/agent/types.ts'
import { readDocument } from '../../../../lib/workspaces/documents/documents.ts'
import type { ApprovalChoice } from '../../../../lib/schema/question.ts'
import type { TerminalSettings } from '../../../../lib/agent/tools/terminal.ts'
import { toolbox } from '../../../../lib/agent/tools/toolbox.ts'

export type Bench = {
  root: string
  workspace: string
  home: string
  ctx: ToolContext
  asked: ApprovalRequest[]
  printed: string[]
  stop: (reason?: unknown) => void
  /** What the next approvals answer; `deny` when nothing is said. */
  say: (choice: ApprovalChoice) => void
  write: (path: string, text: string | Buffer) => string
  use: (name: string, args: Record<string, unknown>) => Promise<ToolResult>
  /** The result's JSON. Throws what the tool throws. */
  // biome-ignore lint/suspicious/noExplicitAny: tests assert the shape of results
  json: (name: string, args: Record<string, unknown>) => Promise<any>
  close: () => void
}

const toolNamed = (name: string, terminal?: TerminalSettings): Tool => {
  const tool = toolbox(terminal).find(candidate => candidate.name === name)
  if (!tool) throw new Error(`There is no tool ${name}.`)
  return tool
}

/** `root` holds `workspace`, `home` and `state`; the last is forbidden. Outside /tmp, because that is free for all. */
export const createBench = (parent = tmpdir(), terminal?: TerminalSettings): Bench => {
  const root = realpathSync(mkdtempSync(join(parent, 'bench-')))
  const workspace = join(root, 'workspace')
  const home = join(root, 'home')
  for (const dir of [workspace, home, join(root, 'state')]) mkdirSync(dir)
  const asked: ApprovalRequest[] = []
  const printed: string[] = []
  const stopping = new AbortController()
  let choice: ApprovalChoice = 'deny'
  const ctx: ToolContext = {
    turn: {
      workspace,
      env: { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: home },
      // Most tests of tools are not about what is asked.
      outside: 'dangerous',
      forbidden: [join(root, 'state')],
      signal: stopping.signal,
      readDocument,
      clock: systemClock,
    },
    callId: 'c1',
    signal: stopping.signal,
    output: text => printed.push(text),
    approve: async ask => {
      asked.push(ask)
      return choice
    },
    clarify: async () => null,
    memo: new Map(),
  }
  const use = async (name: string, args: Record<string, unknown>) => {
    const tool = toolNamed(name, terminal)
    const fitted = coerceArguments(tool.input, args)
    if (!fitted.ok) throw new Error(fitted.error)
    return tool.run(ctx, fitted.input)
  }
  return {
    root,
    workspace,
    home,
    ctx,
    asked,
    printed,
    stop: reason => stopping.abort(reason),
    say: next => {
      choice = next
    },
    write: (path, text) => {
      const place = join(workspace, path)
      mkdirSync(dirname(place), { recursive: true })
      writeFileSync(place, text)
      return place
    },
    use,
    json: async (name, args) => JSON.parse((await use(name, args)).content),
    close: () => rmSync(root, { recursive: true, force: true }),
  }
}

/** The message of what is thrown. */
export const refused = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  throw new Error('It should have been refused.')
}
