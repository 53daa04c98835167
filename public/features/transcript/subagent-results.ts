/** The result of a call that delegated, read with care: it is stored text, and may be somebody else's. */
import type { LiveSubagent } from '../../../lib/schema/subagent.ts'

export type Traced = {
  tool: string
  preview: string
  status: 'ok' | 'error' | 'unfinished'
  seconds: number
  trace: Traced[]
}

export type Result = {
  task_index: number
  goal: string
  status: Exclude<LiveSubagent['status'], 'running'>
  summary: string
  error: string
  seconds: number | null
  calls: number
  trace: Traced[]
}

type Bag = Readonly<Record<string, unknown>>
const bag = (value: unknown): Bag =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Bag) : {}
const list = (value: unknown): Bag[] => (Array.isArray(value) ? value.map(bag) : [])
const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const number = (value: unknown): number | null => (typeof value === 'number' ? value : null)

const statuses = ['completed', 'failed', 'interrupted'] as const
const steps = ['ok', 'error', 'unfinished'] as const

const toTraced = (said: Bag): Traced => ({
  tool: text(said.tool),
  preview: text(said.preview),
  status: steps.find(one => one === said.status) ?? 'ok',
  seconds: number(said.duration_seconds) ?? 0,
  trace: list(said.trace).map(toTraced),
})

const toResult = (said: Bag, at: number): Result => ({
  task_index: number(said.task_index) ?? at,
  goal: text(said.goal),
  status: statuses.find(one => one === said.status) ?? 'failed',
  summary: text(said.summary),
  error: text(said.error),
  seconds: number(said.duration_seconds),
  calls: list(said.tool_trace).length,
  trace: list(said.tool_trace).map(toTraced),
})

export const resultsOf = (content: string): { results: Result[]; error: string } => {
  try {
    const said = bag(JSON.parse(content))
    return { results: list(said.results).map(toResult), error: text(said.error) }
  } catch {
    // No JSON: an answer of another kind is shown as it is.
    return { results: [], error: content.slice(0, 2_000) }
  }
}
