/** Runs a job, from its script to its output file. Never rejects: errors become the result of the run. */
import { changeWords, type Sentence, sentence, type Words } from '../base/sentences.ts'
import { fromSeconds } from '../base/clock.ts'
import type { ApprovalRequest } from '../agent/types.ts'
import { forbidden as forbiddenRun, messageOf, UserError, wordsOf } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import type { Unattended } from '../turns/turn.ts'
import type { JobPlan } from './job.ts'
import { writeReport } from './outputs.ts'
import type { Run } from './history.ts'
import type { AdoptedRun, RunHooks } from './scheduler.ts'
import { type ScriptResult, runScript } from './job-script.ts'
import { CUT, type RunOutcome, type StartedTurn, untilEnd } from './until-end.ts'
import { redact } from '../base/redact/redact.ts'
import type { CronServices } from './cron.ts'
import { codeBlock } from '../base/code-block.ts'

/** A response of exactly this is not delivered. */
const SILENT = '[SILENT]'

/** Added to the system prompt for this turn. */
const preambleOf = (mayApproveAll: boolean): string =>
  `This is a scheduled run. No one is watching and no one can answer, so do not ask questions: decide, act, and report the result in your last message. That last message is stored and delivered. If there is truly nothing to report, answer with exactly ${SILENT} and nothing else; then nothing is delivered. ${mayApproveAll ? 'Commands that would need approval run without one, so do nothing that was not asked for and cannot be undone.' : 'Commands that need approval are denied; do not look for a way around that, and name what you could not do.'}`

const isSilent = (response: string): boolean => response.trim() === SILENT

export type RunResult = {
  status: 'ok' | 'error'
  error: Words | null
  deliveryError: Words | null
  filename: string | null
  /** The service stopped during the run. */
  interrupted: boolean
}

export const INTERRUPTED: RunResult = {
  status: 'error',
  error: CUT.error,
  deliveryError: null,
  filename: null,
  interrupted: true,
}

type Loaded = { name: string; content: string | null }

const fence = (text: string): string => codeBlock(text.trimEnd())

/** Skills in order, then the script's output, then the prompt. */
const composeMessage = (input: {
  prompt: string
  skills: readonly Loaded[]
  script: ({ name: string } & ScriptResult) | null
}): string => {
  const parts = input.skills.map(({ name, content }) =>
    content === null
      ? `The skill "${name}" is set for this task and could not be found. Say so in your answer.`
      : `Follow the skill "${name}":\n\n${content.trim()}`,
  )
  if (input.script) {
    const { name, output, error } = input.script
    if (output.trim()) parts.push(`Output of the script ${name}:\n\n${fence(output)}`)
    else if (!error) parts.push(`The script ${name} printed nothing.`)
    if (error) parts.push(`The script ${name} failed; report that.\n\n${fence(error)}`)
  }
  if (input.prompt.trim()) parts.push(input.prompt.trim())
  return parts.join('\n\n')
}

/** Only local delivery is supported; any other target is reported as an error. */
export const deliveryError = (target: string): Sentence | null =>
  target === 'local' ? null : sentence('task.not_delivered', { target })

const IDLE_MS = 600_000
const MAX_ERROR_CHARS = 2_000

/** Of a text of seconds. */
const msOf = (text: string | undefined, otherwise: number): number => {
  const seconds = text?.trim() ? Number(text) : -1
  return seconds >= 0 ? fromSeconds(seconds) : otherwise
}

/** `AGENT_CRON_TIMEOUT`: seconds without an event; `cron.max_run_seconds`: in total. 0 is no limit. */
const limitsOf = (home: Home): { idleMs: number; maxMs: number } => ({
  idleMs: msOf(home.env().AGENT_CRON_TIMEOUT, IDLE_MS),
  maxMs: fromSeconds(home.config().cron.max_run_seconds),
})

/** `approvals.cron_mode: approve` (or `allow`) allows what would need approval. */
export const mayApprove = (home: Home): boolean => home.config().approvals.cron_mode !== 'deny'

/** The model id: with its provider, with a custom base URL, or as the home resolves it. */
const modelOf = ({ model, provider, baseUrl }: JobPlan): { model: string; baseUrl: string } => {
  if (!model) return { model: '', baseUrl: '' }
  if (provider) return { model: `@${provider}:${model}`, baseUrl: baseUrl ?? '' }
  return { model: baseUrl ? `@custom:${model}` : model, baseUrl: baseUrl ?? '' }
}

/** Runs the jobs of one home. */
export class JobRunner {
  readonly #home: Home
  /** `<home>/cron` */
  readonly #dir: string
  readonly #zone: () => string
  readonly #services: CronServices

  constructor(home: Home, dir: string, zone: () => string, services: CronServices) {
    this.#home = home
    this.#dir = dir
    this.#zone = zone
    this.#services = services
  }

  #untilEnd(started: StartedTurn, signal: AbortSignal): Promise<RunOutcome | null> {
    const { clock, stop } = this.#services
    return untilEnd(clock, stop, started, limitsOf(this.#home), signal)
  }

  async #compose(job: JobPlan, signal: AbortSignal): Promise<string> {
    const forbidden = job.script ? this.#services.forbids(this.#home, job.script) : null
    if (forbidden !== null) throw forbiddenRun(forbidden)
    // A turn reports problems with the shell init files; a script runs without them.
    if (job.script) await this.#home.sourceInitFiles()
    const script = job.script
      ? await runScript({
          home: this.#home.dir,
          name: job.script,
          env: this.#home.childEnv(),
          signal,
          runner: this.#services.runnerFor?.(this.#home, job.id),
        })
      : null
    return composeMessage({
      prompt: job.prompt,
      skills: job.skills.map(name => ({ name, content: this.#services.skill(this.#home, name) })),
      script: script && {
        name: job.script ?? '',
        output: redact(script.output),
        error: script.error === null ? null : redact(script.error),
      },
    })
  }

  /** No one is there to be asked. `denied` collects what was refused. */
  #rulesOf(denied: string[], on: RunHooks): Unattended {
    return {
      preamble: preambleOf(mayApprove(this.#home)),
      ask: ({ command, description }: ApprovalRequest) => {
        if (mayApprove(this.#home)) return 'once'
        const text = `${redact(command)} – ${description}. Scheduled tasks can't ask; approvals.cron_mode: approve in config.yaml allows it.`
        denied.push(text)
        on.denied(text)
        return 'deny'
      },
    }
  }

  async #runTurn(job: JobPlan, denied: string[], on: RunHooks): Promise<RunOutcome | null> {
    const text = await this.#compose(job, on.signal)
    if (on.signal.aborted) return CUT
    const started = await this.#services.start(this.#home, {
      title: job.name,
      text,
      workspace: job.workdir ?? '',
      ...modelOf(job),
      unattended: this.#rulesOf(denied, on),
      meta: {
        source_tag: 'cron',
        cron_job_id: job.id,
        enabled_toolsets: job.toolsets,
        ...(job.isMembers && { turn_role: 'member' }),
      },
    })
    on.session(started.turn.sessionId)
    return this.#untilEnd(started, on.signal)
  }

  /** Writes the output file. */
  #conclude(
    job: JobPlan,
    outcome: RunOutcome,
    { denied, began }: { denied: readonly string[]; began: number },
  ): RunResult {
    const shorten = (text: string) => redact(text).slice(0, MAX_ERROR_CHARS)
    const error = 'error' in outcome ? changeWords(outcome.error, shorten) : null
    const { id, name, display: schedule, prompt } = job
    let filename: string | null = null
    let unwritten: Words | null = null
    try {
      const result = 'error' in outcome ? { error: `${error}` } : outcome
      filename = writeReport(
        this.#dir,
        { id, name, schedule, prompt, denied, result },
        began,
        this.#zone(),
      )
    } catch (cause) {
      // The session still has the response; the record says why there is no file.
      unwritten = sentence('task.no_output', { reason: wordsOf(cause) })
      this.#services.log('no output file of a scheduled task', { job: id, error: messageOf(cause) })
    }
    return {
      status: error === null && unwritten === null ? 'ok' : 'error',
      error: error ?? unwritten,
      deliveryError:
        'response' in outcome && isSilent(outcome.response) ? null : deliveryError(job.deliver),
      filename,
      interrupted: 'error' in outcome && outcome.interrupted === true,
    }
  }

  /** Null: the service stops again before the turn could continue. */
  #endOf(started: StartedTurn | null, signal: AbortSignal) {
    if (started) return this.#untilEnd(started, signal)
    return signal.aborted ? null : CUT
  }

  /** Follows it to its end; null when it continues in another process. */
  async #until(
    job: JobPlan,
    work: () => Promise<RunOutcome | null>,
    earlier: { denied: readonly string[]; began: number },
  ): Promise<RunResult | null> {
    try {
      const outcome = await work()
      return outcome && this.#conclude(job, outcome, earlier)
    } catch (error) {
      // An error boundary: a UserError is shown to the user, everything else is logged.
      if (!(error instanceof UserError))
        this.#services.log('a scheduled task failed', { job: job.id, error: messageOf(error) })
      const why = error instanceof UserError ? wordsOf(error) : sentence('task.failed')
      return this.#conclude(job, { error: why }, earlier)
    }
  }

  run(job: JobPlan, on: RunHooks): Promise<RunResult | null> {
    const denied: string[] = []
    return this.#until(job, () => this.#runTurn(job, denied, on), {
      denied,
      began: this.#services.clock.now(),
    })
  }

  /** What the turn of a run that this process takes over continues with. */
  resume({ plan, run, hooks, follow }: AdoptedRun): {
    onRun: (started: StartedTurn | null) => void
    model: string
    baseUrl: string
    unattended: Unattended
  } {
    const denied = [...run.denied]
    const earlier = { denied, began: beganAt(run) }
    return {
      unattended: this.#rulesOf(denied, hooks),
      ...modelOf(plan),
      onRun: (started: StartedTurn | null) =>
        follow(() => this.#until(plan, async () => this.#endOf(started, hooks.signal), earlier)),
    }
  }

  /** The result of a run of an earlier process, whose turn has ended. */
  ended(job: JobPlan, run: Run, outcome: RunOutcome): RunResult {
    return this.#conclude(job, outcome, { denied: run.denied, began: beganAt(run) })
  }
}

const beganAt = (run: Run): number => fromSeconds(run.started_at ?? run.claimed_at)
