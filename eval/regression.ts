/** Plays the scripts of the tasks and compares steps, tokens and bytes with the committed baseline. */
import { join } from 'node:path'
import { evaluate, type Row, workspaceOf } from './evaluate.ts'
import { createScriptedModel } from './scripted-model.ts'
import type { Task } from './task.ts'

export const BASELINE_PATH = join(import.meta.dirname, 'baseline.json')

type Figures = Pick<Row, 'steps' | 'inputTokens' | 'resultBytes' | 'approvals'> & {
  /** In percent, rounded down. */
  cached: number
}
export type Baseline = Record<string, Figures>

/** Texts differ a little between machines: paths, versions, durations. */
const TOLERANCE = { inputTokens: 0.02, resultBytes: 0.05, cachedPercent: 3 }
const MIN_BYTES = 100

export const evaluateScripts = async (
  tasks: readonly Task[],
  options: { root: string; size: number; onRow?: (row: Row) => void },
): Promise<Row[]> => {
  const killed = new Set<string>()
  const provider = await createScriptedModel(tasks, task => workspaceOf(options.root, task), killed)
  // Checkpoints cost each change several git calls and send nothing to the model.
  const config = `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: scripted\n  context_length: 200000\ncheckpoints:\n  enabled: false\n`
  try {
    return await evaluate(tasks, { ...options, config, onKill: ({ id }) => killed.add(id) })
  } finally {
    await provider.close()
  }
}

const toFigures = (row: Row): Figures => ({
  steps: row.steps,
  inputTokens: row.inputTokens,
  cached: Math.floor((row.cachedShare ?? 0) * 100),
  resultBytes: row.resultBytes,
  approvals: row.approvals,
})

export const toBaseline = (rows: readonly Row[]): Baseline =>
  Object.fromEntries(rows.map(row => [row.id, toFigures(row)]))

const isNear = (measured: number, expected: number, share: number, least = 0): boolean =>
  Math.abs(measured - expected) <= Math.max(expected * share, least)

/** A line for each task that is not solved or whose figures differ from the baseline. */
export const differences = (rows: readonly Row[], baseline: Baseline): string[] =>
  rows.flatMap(row => {
    if (row.problem !== null) return [`${row.id}: ${row.problem}`]
    const old = baseline[row.id]
    if (!old) return [`${row.id}: not in the baseline; run npm run eval -- --update`]
    const now = toFigures(row)
    const changed = [
      now.steps !== old.steps && `steps ${old.steps} → ${now.steps}`,
      now.approvals !== old.approvals && `approvals ${old.approvals} → ${now.approvals}`,
      !isNear(now.inputTokens, old.inputTokens, TOLERANCE.inputTokens) &&
        `input tokens ${old.inputTokens} → ${now.inputTokens}`,
      !isNear(now.resultBytes, old.resultBytes, TOLERANCE.resultBytes, MIN_BYTES) &&
        `result bytes ${old.resultBytes} → ${now.resultBytes}`,
      !isNear(now.cached, old.cached, 0, TOLERANCE.cachedPercent) &&
        `cached ${old.cached} % → ${now.cached} %`,
    ].filter(text => text !== false)
    return changed.length > 0 ? [`${row.id}: ${changed.join(', ')}`] : []
  })
