/** Applies updates one at a time: pull, build, and for the service itself a restart that keeps the instance lock. */
import type { Clock } from '../../base/clock.ts'
import { run } from '../../base/process.ts'
import { messageOf } from '../../errors.ts'
import type { UpdateResult, UpdateTarget } from '../../schema/update.ts'
import type { Checkouts } from './check.ts'
import { allowedEnvironment, gitIn, isCheckout } from './git.ts'
import { pull, resetToRemote } from './pull.ts'

const RESTART_MS = 2_000
const BUILD_MS = 10 * 60_000
const MAX_ERROR_CHARS = 300

export type ApplyOptions = {
  clock: Clock
  checkouts: () => Checkouts
  env: Readonly<Record<string, string>>
  /** Replaces the process and does not return; absent when it cannot be replaced. */
  restart?: (() => Promise<unknown>) | undefined
  /** Settles when no check is running. */
  whenIdle: () => Promise<void>
  /** Called after every update: results of earlier checks are out of date. */
  onApplied: () => void
  log: (line: string, extra?: Record<string, unknown>) => void
  /** Installs dependencies and builds; returns what went wrong, or an empty string. */
  build?: ((dir: string) => Promise<string>) | undefined
}

/** A build reports errors in its last lines. */
const tailOf = (text: string): string =>
  text.trim().split('\n').slice(-8).join('\n').slice(-MAX_ERROR_CHARS).trim()

/** Like `npm start`: installs what package-lock.json pins, then builds. */
const createBuild =
  (env: Readonly<Record<string, string>>) =>
  async (dir: string): Promise<string> => {
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

export const createUpdateRunner = (deps: ApplyOptions) => {
  const {
    clock,
    checkouts,
    env,
    restart,
    whenIdle,
    onApplied,
    log,
    build = createBuild(env),
  } = deps
  /** The running update or restart; a restart never releases it. */
  let running: Promise<unknown> | null = null
  let cancelRestart = () => {}

  /** Waits for a running update and blocks later ones. */
  const replace = async (): Promise<void> => {
    while (running) await running
    const leaving = Promise.resolve(restart?.())
    running = leaving
    // Still running: the restart has failed, and the old version stays.
    await leaving.catch((error: unknown) => log('the restart failed', { error: messageOf(error) }))
    running = null
  }

  const update = async (target: UpdateTarget, force: boolean): Promise<UpdateResult> => {
    await whenIdle()
    const dir = checkouts()[target]
    if (!isCheckout(dir)) return { ok: false, message: 'Not a git repository', code: 'no_checkout' }
    const git = gitIn(dir, env)
    const pulled = await (force ? resetToRemote(git) : pull(git))
    const { failure } = pulled
    if (failure && !pulled.changed) return { ...failure, target }
    if (!pulled.changed && !force) {
      return { ok: true, ...CURRENT, target, restart_scheduled: false }
    }
    const done = failure ?? { ok: true, message: 'Updated' }
    if (target === 'agent') {
      const message = failure ? failure.message : 'The agent is updated'
      return {
        ...done,
        message,
        ...(done.ok && { code: 'done' as const }),
        target,
        restart_scheduled: false,
      }
    }
    const problem = await build(dir)
    if (problem !== '') {
      log('the new version could not be built', { problem })
      const reason = problem.slice(0, MAX_ERROR_CHARS)
      return {
        ok: false,
        message: `The new version could not be built, so this one keeps running. To go back: git reset --keep ${pulled.from}, then npm start. ${reason}`,
        code: 'not_built',
        values: { reason, commit: pulled.from },
        target,
        ...(failure?.stash_conflict && { stash_conflict: true as const }),
      }
    }
    if (!restart) {
      const message = `${done.message}; start it again by hand`
      return { ...done, message, code: 'by_hand', target, restart_scheduled: false }
    }
    // The running version must match the checkout, also when local changes are still stashed.
    cancelRestart = clock.timer(RESTART_MS, () => void replace())
    const message = failure ? failure.message : 'Updated; restarting'
    return {
      ...done,
      message,
      ...(done.ok && { code: 'done' as const }),
      target,
      restart_scheduled: true,
    }
  }

  return {
    async apply(target: UpdateTarget, { force = false } = {}): Promise<UpdateResult> {
      if (running) {
        const message = 'Update already in progress'
        return { ok: false, message, error: message, code: 'running', target }
      }
      const work = update(target, force)
      const settled = work.catch(() => undefined)
      running = settled
      try {
        const result = await work
        return result.ok ? result : { ...result, error: result.message }
      } finally {
        running = null
        onApplied()
      }
    },
    isBusy: () => running !== null,
    close(): void {
      cancelRestart()
    },
  }
}
