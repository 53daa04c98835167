/**
 * `npm run eval`: runs the tasks and prints a table. Without a model it plays the scripts of the tasks and compares the
 * figures with baseline.json; `--model` runs a real one with the keys of an agent home.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { parse, stringify } from 'yaml'
import { evaluate, type Row } from './evaluate.ts'
import {
  type Baseline,
  BASELINE_PATH,
  differences,
  evaluateScripts,
  toBaseline,
} from './regression.ts'
import { TASKS } from './tasks.ts'

const USAGE = `npm run eval                          play the scripts, compare with eval/baseline.json
npm run eval -- --update              write the figures into eval/baseline.json
npm run eval -- --model MODEL         run a model, written as in the model menu: @provider:model
                [--home DIR]          the agent home with its configuration and keys; ~/.agent by default
npm run eval -- TASK …                only these tasks
`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    model: { type: 'string' },
    home: { type: 'string', default: join(homedir(), '.agent') },
    update: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

/** The parts of config.yaml that say how models are called. Everything else is ours: no notes, jobs or servers of the user. */
const MODEL_KEYS = [
  'model',
  'providers',
  'custom_providers',
  'fallback_providers',
  'fallback_model',
  'model_aliases',
  'provider_routing',
  'prompt_caching',
]

const modelConfig = (home: string): string => {
  const all = (parse(readFileSync(join(home, 'config.yaml'), 'utf8')) ?? {}) as object
  const chosen = Object.entries(all).filter(([key]) => MODEL_KEYS.includes(key))
  return stringify({
    ...Object.fromEntries(chosen),
    memory: { memory_enabled: false, user_profile_enabled: false },
  })
}

const readKeys = (home: string): string => {
  try {
    return readFileSync(join(home, '.env'), 'utf8')
  } catch {
    // A local server needs no key.
    return ''
  }
}

const row = (cells: readonly (string | number)[]): string =>
  cells
    .map((value, at) => (at === 0 ? String(value).padEnd(18) : String(value).padStart(9)))
    .join(' ')

const show = (one: Row): string => {
  const cached = one.cachedShare === null ? '–' : `${Math.round(one.cachedShare * 100)} %`
  const figures = row([
    one.id,
    one.problem === null ? 'solved' : 'FAILED',
    one.steps,
    one.inputTokens,
    cached,
    one.outputTokens,
    one.resultBytes,
    one.approvals,
    one.cost === 0 ? '–' : one.cost.toFixed(3),
    one.seconds.toFixed(1),
  ])
  return one.problem === null ? figures : `${figures}\n    ${one.problem}`
}

const HEAD = row([
  'task',
  'result',
  'steps',
  'tokens in',
  'cached',
  'out',
  'bytes',
  'asked',
  '$',
  's',
])

const totals = (rows: readonly Row[]): string => {
  const sum = (pick: (one: Row) => number) => rows.reduce((total, one) => total + pick(one), 0)
  const input = sum(one => one.inputTokens)
  return show({
    id: `${rows.filter(({ problem }) => problem === null).length} of ${rows.length} solved`,
    problem: null,
    steps: sum(one => one.steps),
    inputTokens: input,
    cachedShare: sum(one => (one.cachedShare ?? 0) * one.inputTokens) / Math.max(1, input),
    outputTokens: sum(one => one.outputTokens),
    resultBytes: sum(one => one.resultBytes),
    approvals: sum(one => one.approvals),
    cost: sum(one => one.cost),
    seconds: sum(one => one.seconds),
  }).replace('   solved', '         ')
}

const print = (line: string) => void process.stdout.write(`${line}\n`)

const main = async (): Promise<number> => {
  const unknown = positionals.filter(id => TASKS.every(task => task.id !== id))
  if (values.help || unknown.length > 0) {
    if (unknown.length > 0) print(`There is no task ${unknown.join(', ')}.\n`)
    print(
      `${USAGE}\nTasks:\n${TASKS.map(({ id, what }) => `  ${id.padEnd(18)} ${what}`).join('\n')}`,
    )
    return values.help ? 0 : 2
  }
  const tasks = positionals.length > 0 ? TASKS.filter(({ id }) => positionals.includes(id)) : TASKS
  const root = mkdtempSync(join(tmpdir(), 'agent-webui-eval-'))
  const onRow = (one: Row) => print(show(one))
  print(HEAD)
  try {
    if (values.model !== undefined) {
      const config = modelConfig(values.home)
      const rows = await evaluate(tasks, {
        root,
        config,
        keys: readKeys(values.home),
        model: values.model,
        size: 1,
        onRow,
      })
      print(totals(rows))
      return rows.every(({ problem }) => problem === null) ? 0 : 1
    }
    const rows = await evaluateScripts(tasks, { root, size: 1, onRow })
    print(totals(rows))
    if (values.update) {
      const old = positionals.length > 0 ? readBaseline() : {}
      writeFileSync(BASELINE_PATH, `${JSON.stringify({ ...old, ...toBaseline(rows) }, null, 2)}\n`)
      print(`Written to ${BASELINE_PATH}`)
      return 0
    }
    const found = differences(rows, readBaseline())
    for (const line of found) print(line)
    return found.length === 0 ? 0 : 1
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

const readBaseline = (): Baseline => JSON.parse(readFileSync(BASELINE_PATH, 'utf8')) as Baseline

process.exit(await main())
