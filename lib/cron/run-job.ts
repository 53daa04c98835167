/** Runs a job, from its script to its output file. Never rejects: errors become the result of the run. */
import type { CommandRunner } from '../agent/tool-services.ts'
import type { ApprovalRequest, Failure, Outcome } from '../agent/types.ts'
import { forbidden as forbiddenRun, messageOf, UserError } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import type { UnattendedInput } from '../conversation/start-turn.ts'
import type { JobPlan } from './job.ts'
import { writeReport } from './outputs.ts'
import { composeMessage, isSilent, PREAMBLE } from './job-prompt.ts'
import type { RunResult } from './scheduler.ts'
import { runScript } from './job-script.ts'

export type StartedTurn = {
  turn: {
    sessionId: string
    streamId: string
    log: { position(): number }
    retries: { isWaiting(): boolean }
  }
  result: Promise<Outcome | null>
}

export type RunJobOptions = {
  home: Home
  /** `<home>/cron` */
  dir: string
  start: (input: UnattendedInput) => Promise<StartedTurn>
  /** False when the turn has already ended. */
  stop: (streamId: string, failure: Failure) => boolean
  /** SKILL.md of a skill; null when there is no such skill. */
  skill: (name: string) => string | null
  /** Why the home blocks this script, or null. */
  forbids: (script: string) => string | null
  /** Where the script of a job runs; undefined: directly on this computer. */
  runnerFor: (jobId: string) => CommandRunner | undefined
  redact: (text: string) => string
  now: () => number
  zone: () => string
  log: (line: string, extra?: Record<string, unknown>) => void
}

type RunHooks = { signal: AbortSignal; session: (id: string) => void }
type RunOutcome = { response: string } | { error: string; interrupted?: boolean }

const IDLE_S = 600
const MAX_ERROR_CHARS = 2_000

const seconds = (value: unknown, otherwise: number): number => {
  const read = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof read === 'number' && read >= 0 ? read : otherwise
}

/** `AGENT_CRON_TIMEOUT`: seconds without an event; `cron.max_run_seconds`: in total. 0 is no limit. */
const limitsOf = (home: Home): { idleMs: number; maxMs: number } => ({
  idleMs: seconds(home.env().AGENT_CRON_TIMEOUT, IDLE_S) * 1_000,
  maxMs: home.settings().cron.max_run_seconds * 1_000,
})

/** `approvals.cron_mode: approve` allows what would need approval; anything else denies it. */
const mayApprove = (home: Home): boolean => home.settings().approvals.cron_mode !== 'deny'

/** The model id: with its provider, with a custom base URL, or as the home resolves it. */
const modelOf = ({ model, provider, baseUrl }: JobPlan): string => {
  if (!model) return ''
  if (provider) return `@${provider}:${model}`
  return baseUrl ? `@custom:${model}` : model
}

const INTERRUPTED: Failure = {
  type: 'interrupted',
  message: 'The server stopped while this task was running.',
}

export const createJobRunner = (deps: RunJobOptions) => {
  const { home, dir, redact, now, zone } = deps

  /** Waits for the end of a turn, bounded in time: a stuck turn must not block the jobs behind it. */
  const untilEnd = async (
    { turn, result }: StartedTurn,
    signal: AbortSignal,
  ): Promise<RunOutcome> => {
    const { idleMs, maxMs } = limitsOf(home)
    const { promise: given, resolve: giveUp } = Promise.withResolvers<RunOutcome>()
    const end = (failure: Failure, came: RunOutcome): void => {
      deps.stop(turn.streamId, failure)
      // The engine finishes in the background; the next job does not wait for it.
      giveUp(came)
    }
    const outOfTime = (why: string) => end({ type: 'interrupted', message: why }, { error: why })
    const everyMs = Math.min(5_000, idleMs / 4)
    // Looks are counted, not time: while the machine does not run this process, nothing can happen.
    const seen = { position: -1, unchanged: 0 }
    const look = (): void => {
      const position = turn.log.position()
      // The wait before a retry is bounded by the engine.
      const isActive = position !== seen.position || turn.retries.isWaiting()
      Object.assign(seen, { position, unchanged: isActive ? 0 : seen.unchanged + 1 })
      if (seen.unchanged * everyMs >= idleMs)
        outOfTime(`Stopped: nothing happened for ${idleMs / 1_000} seconds.`)
    }
    const watch = idleMs > 0 ? setInterval(look, everyMs) : undefined
    const most =
      maxMs > 0
        ? setTimeout(
            () => outOfTime(`Stopped: it ran longer than ${maxMs / 1_000} seconds.`),
            maxMs,
          )
        : undefined
    const onAbort = () => end(INTERRUPTED, { error: INTERRUPTED.message, interrupted: true })
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      return await Promise.race([given, result.then(outcome => toRunOutcome(outcome, signal))])
    } finally {
      clearInterval(watch)
      clearTimeout(most)
      signal.removeEventListener('abort', onAbort)
    }
  }

  const toRunOutcome = (outcome: Outcome | null, signal: AbortSignal): RunOutcome => {
    if (signal.aborted) return { error: INTERRUPTED.message, interrupted: true }
    if (!outcome) return { error: 'The run was stopped.' }
    if (outcome.status !== 'finished')
      return { error: outcome.failure?.message ?? 'The run did not finish.' }
    return outcome.text.trim() ? { response: outcome.text } : { error: 'No response received.' }
  }

  const compose = async (job: JobPlan, signal: AbortSignal): Promise<string> => {
    const forbidden = job.script ? deps.forbids(job.script) : null
    if (forbidden !== null) throw forbiddenRun(forbidden)
    // A turn reports problems with the shell init files; a script runs without them.
    if (job.script) await home.sourceInitFiles()
    const script = job.script
      ? await runScript({
          home: home.dir,
          name: job.script,
          env: home.childEnv(),
          signal,
          runner: deps.runnerFor(job.id),
        })
      : null
    return composeMessage({
      prompt: job.prompt,
      skills: job.skills.map(name => ({ name, content: deps.skill(name) })),
      script: script && {
        name: job.script ?? '',
        output: redact(script.output),
        error: script.error === null ? null : redact(script.error),
      },
    })
  }

  const runTurn = async (job: JobPlan, denied: string[], on: RunHooks): Promise<RunOutcome> => {
    const text = await compose(job, on.signal)
    if (on.signal.aborted) return { error: INTERRUPTED.message, interrupted: true }
    const ask = ({ command, description }: ApprovalRequest) => {
      if (mayApprove(home)) return 'once' as const
      denied.push(
        `${redact(command)} – ${description}. Scheduled tasks can't ask; approvals.cron_mode: approve in config.yaml allows it.`,
      )
      return 'deny' as const
    }
    const started = await deps.start({
      title: job.name,
      text,
      workspace: job.workdir ?? '',
      model: modelOf(job),
      baseUrl: job.model ? (job.baseUrl ?? '') : '',
      unattended: { preamble: PREAMBLE, ask },
      meta: { source_tag: 'cron', cron_job_id: job.id, enabled_toolsets: job.toolsets },
    })
    on.session(started.turn.sessionId)
    return untilEnd(started, on.signal)
  }

  /** Only local delivery is supported; any other target is reported as an error. */
  const deliveryError = (job: JobPlan, came: RunOutcome): string | null => {
    if (job.deliver === 'local' || ('response' in came && isSilent(came.response))) return null
    return `Not delivered to ${job.deliver}: only local delivery is supported. The result is in the task's history.`
  }

  return async (job: JobPlan, on: RunHooks): Promise<RunResult> => {
    const denied: string[] = []
    const began = now()
    let came: RunOutcome
    try {
      came = await runTurn(job, denied, on)
    } catch (error) {
      // An error boundary: a UserError is shown to the user, everything else is logged.
      if (!(error instanceof UserError))
        deps.log('a scheduled task failed', { job: job.id, error: messageOf(error) })
      came = { error: error instanceof UserError ? error.message : 'The run failed; see the log.' }
    }
    const error = 'error' in came ? redact(came.error).slice(0, MAX_ERROR_CHARS) : null
    const { id, name, display: schedule, prompt } = job
    let filename: string | null = null
    let unwritten: string | null = null
    try {
      const result = 'error' in came ? { error: error ?? '' } : came
      filename = writeReport(dir, { id, name, schedule, prompt, denied, result }, began, zone())
    } catch (cause) {
      // The session still has the response; the record says why there is no file.
      unwritten = `The output file could not be written: ${messageOf(cause)}`
      deps.log('no output file of a scheduled task', { job: id, error: messageOf(cause) })
    }
    return {
      status: error === null && unwritten === null ? 'ok' : 'error',
      error: error ?? unwritten,
      deliveryError: deliveryError(job, came),
      filename,
      interrupted: 'error' in came && came.interrupted === true,
    }
  }
}
