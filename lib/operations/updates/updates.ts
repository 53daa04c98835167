/** Checks for updates and applies them, one at a time: pull, build, and for the service itself a restart that keeps the instance lock. */
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { run } from '../../base/process.ts'
import { messageOf } from '../../errors.ts'
import type { UpdateCheck, UpdateResult, UpdateTarget } from '../../schema/update.ts'
import { type Checkouts, UpdateChecker } from './check.ts'
import { allowedEnvironment, gitIn, isCheckout } from './git.ts'
import { pull, resetToRemote } from './pull.ts'

const RESTART_MS = 2_000
const BUILD_MS = 10 * 60_000
const MAX_ERROR_CHARS = 300

/** The checkout this program runs from: the folder of router.ts, or the one above dist/. */
export const ownCheckout = (directory: string): string | null => {
  const above = basename(directory) === 'dist' ? [dirname(directory)] : []
  return (
    [directory, ...above].find(
      dir => existsSync(join(dir, 'router.ts')) && existsSync(join(dir, '.git')),
    ) ?? null
  )
}

/** A build reports errors in its last lines. */
const tailOf = (text: string): string =>
  text.trim().split('\n').slice(-8).join('\n').slice(-MAX_ERROR_CHARS).trim()

/** Like `npm start`: installs what package-lock.json pins, then builds. */
const buildIn = async (dir: string, env: Readonly<Record<string, string>>): Promise<string> => {
  const args = ['setup.mjs', 'build.mjs', '--quiet']
  const limits = { timeoutMs: BUILD_MS, maxBytes: Number.POSITIVE_INFINITY }
  const options = { cwd: dir, env: allowedEnvironment(env), ...limits }
  try {
    const { code, tail } = await run(process.execPath, args, options)
    return code === 0 ? '' : tailOf(tail) || 'it failed without output'
  } catch (error) {
    return messageOf(error)
  }
}

const CURRENT = { message: 'Already up to date', code: 'current' } as const

export class Updates {
  readonly #options
  readonly #checker: UpdateChecker
  readonly #build: (dir: string) => Promise<string>
  /** The running update or restart; a restart never releases it. */
  #running: Promise<unknown> | null = null
  #cancelRestart = () => {}

  constructor(options: {
    checkouts: () => Checkouts
    env: Readonly<Record<string, string>>
    /** Replaces the process and does not return; absent when it cannot be replaced. */
    restart?: (() => Promise<unknown>) | undefined
    clock: Clock
    log: (line: string, extra?: Record<string, unknown>) => void
    /** Installs dependencies and builds; returns what went wrong, or an empty string. For tests. */
    build?: (dir: string) => Promise<string>
  }) {
    this.#options = options
    this.#checker = new UpdateChecker(options)
    this.#build = options.build ?? (dir => buildIn(dir, options.env))
  }

  /** While an update is applied, what is known: two fetches in one checkout fail on git's locks. */
  async check(options?: { force?: boolean }): Promise<UpdateCheck> {
    return this.#running ? this.#checker.lastResult() : this.#checker.check(options)
  }

  async apply(target: UpdateTarget, { force = false } = {}): Promise<UpdateResult> {
    if (this.#running) {
      const message = 'Update already in progress'
      return { ok: false, message, error: message, code: 'running', target }
    }
    const work = this.#update(target, force)
    const task = work.catch(() => undefined)
    this.#running = task
    try {
      const result = await work
      return result.ok ? result : { ...result, error: result.message }
    } finally {
      this.#running = null
      this.#checker.forget()
    }
  }

  close(): void {
    this.#cancelRestart()
  }

  /** Waits for a running update and blocks later ones. */
  async #replace(): Promise<void> {
    while (this.#running) await this.#running
    const leaving = Promise.resolve(this.#options.restart?.())
    this.#running = leaving
    // Still running: the restart has failed, and the old version stays.
    await leaving.catch((error: unknown) =>
      this.#options.log('the restart failed', { error: messageOf(error) }),
    )
    this.#running = null
  }

  async #update(target: UpdateTarget, force: boolean): Promise<UpdateResult> {
    await this.#checker.whenIdle()
    const dir = this.#options.checkouts()[target]
    if (!isCheckout(dir)) return { ok: false, message: 'Not a git repository', code: 'no_checkout' }
    const git = gitIn(dir, this.#options.env)
    const pulled = await (force ? resetToRemote(git) : pull(git))
    const { failure } = pulled
    if (failure && !pulled.changed) return { ...failure, target }
    if (!pulled.changed && !force) {
      return { ok: true, ...CURRENT, target, restart_scheduled: false }
    }
    const result = failure ?? { ok: true, message: 'Updated' }
    if (target === 'agent') {
      const message = failure ? failure.message : 'The agent is updated'
      return {
        ...result,
        message,
        ...(result.ok && { code: 'done' as const }),
        target,
        restart_scheduled: false,
      }
    }
    const problem = await this.#build(dir)
    if (problem !== '') {
      this.#options.log('the new version could not be built', { problem })
      const reason = problem.slice(0, MAX_ERROR_CHARS)
      // The version that runs is that of the checkout again, so that the update is offered again. Local changes stay.
      const isBack = (await git(['reset', '--quiet', '--keep', pulled.from])).ok
      const advice = isBack
        ? 'The checkout is back at it.'
        : `To go back: git reset --keep ${pulled.from}, then npm start.`
      return {
        ok: false,
        message: `The new version could not be built, so this one keeps running. ${advice} ${reason}`,
        code: 'not_built',
        values: { reason, ...(!isBack && { commit: pulled.from }) },
        target,
        ...(failure?.stash_conflict && { stash_conflict: true as const }),
      }
    }
    if (!this.#options.restart) {
      const message = `${result.message}; start it again by hand`
      return { ...result, message, code: 'by_hand', target, restart_scheduled: false }
    }
    // The running version must match the checkout, also when local changes are still stashed.
    this.#cancelRestart = this.#options.clock.timer(RESTART_MS, () => void this.#replace())
    const message = failure ? failure.message : 'Updated; restarting'
    return {
      ...result,
      message,
      ...(result.ok && { code: 'done' as const }),
      target,
      restart_scheduled: true,
    }
  }
}
