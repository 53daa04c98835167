/** Parses the result of a delegation call, which is untrusted stored text. */
import { asObject, asString, type JsonObject } from '../../../lib/base/json.ts'
import type { LiveSubagent } from '../../../lib/schema/subagent.ts'

export type TraceEntry = {
  tool: string
  preview: string
  status: 'ok' | 'error' | 'unfinished'
  seconds: number
  trace: TraceEntry[]
}

export type Result = {
  task_index: number
  goal: string
  status: Exclude<LiveSubagent['status'], 'running'>
  summary: string
  error: string
  seconds: number | null
  calls: number
  trace: TraceEntry[]
}

const list = (value: unknown): Readonly<JsonObject>[] =>
  Array.isArray(value) ? value.map(asObject) : []
const number = (value: unknown): number | null => (typeof value === 'number' ? value : null)

const statuses = ['completed', 'failed', 'interrupted'] as const
const steps = ['ok', 'error', 'unfinished'] as const

const toTraced = (said: Readonly<JsonObject>): TraceEntry => ({
  tool: asString(said.tool),
  preview: asString(said.preview),
  status: steps.find(one => one === said.status) ?? 'ok',
  seconds: number(said.duration_seconds) ?? 0,
  trace: list(said.trace).map(toTraced),
})

const toResult = (said: Readonly<JsonObject>, at: number): Result => ({
  task_index: number(said.task_index) ?? at,
  goal: [said.agent, said.goal].map(asString).filter(Boolean).join(' · '),
  status: statuses.find(one => one === said.status) ?? 'failed',
  summary: asString(said.summary),
  error: asString(said.error),
  seconds: number(said.duration_seconds),
  calls: list(said.tool_trace).length,
  trace: list(said.tool_trace).map(toTraced),
})

export const resultsOf = (content: string): { results: Result[]; error: string } => {
  try {
    const said = asObject(JSON.parse(content))
    return { results: list(said.results).map(toResult), error: asString(said.error) }
  } catch {
    // Not JSON: shown as plain text.
    return { results: [], error: content.slice(0, 2_000) }
  }
}
