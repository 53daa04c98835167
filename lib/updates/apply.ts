/** Applies updates one at a time: pull, build, and for the service itself a restart that keeps the instance lock. */
import type { Clock } from '../base/clock.ts'
import { run } from '../base/process.ts'
import { messageOf, UserError } from '../errors.ts'
import { UpdateResult, type UpdateTarget } from '../schema/update.ts'
import type { Checkouts } from './check.ts'
import { allowedEnvironment, type Git, gitIn, isCheckout, outputOf } from './git.ts'
import {
  guardSwitch,
  type OwnProgram,
  type Prepared,
  prepareRelease,
  saveFirst,
} from './prepare-switch.ts'
import { keepPrevious } from './switch-program.ts'
import { restoreStash, revertTo, resetToRemote, pull, type PullResult } from './pull.ts'

const RESTART_MS = 2_000
const BUILD_MS = 10 * 60_000
const MAX_ERROR_CHARS = 300

export type ApplyOptions = {
  clock: Clock
  /** Null when the program is not one file: it is then replaced without a way back. */
  program?: OwnProgram | null | undefined
  /** Saves the service's own files before an update. */
  snapshot?: (() => Promise<void>) | undefined
  /** Address of the list of releases; null for none. */
  releases?: string | null | undefined
  /** The version that is running. */
  version?: string | undefined
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

const describe = (error: unknown): Pick<UpdateResult, 'message' | 'code' | 'values'> => {
  const message = messageOf(error)
  if (!(error instanceof UserError)) return { message }
  const values = UpdateResult.shape.values.safeParse(error.extra.values)
  return { message, code: error.code, values: values.data }
}

export const createUpdateRunner = (deps: ApplyOptions) => {
  const {
    clock,
    checkouts,
    env,
    program = null,
    snapshot,
    releases = null,
    version = '',
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
  const replace = async (prepared: Prepared | null): Promise<void> => {
    while (running) await running
    const guarded = prepared && program ? guardSwitch(program, prepared) : Promise.resolve()
    const leaving = guarded.then(() => restart?.())
    running = leaving
    // Still running: the restart has failed, and the old version stays.
    await leaving.catch((error: unknown) => log('the restart failed', { error: messageOf(error) }))
    running = null
  }

  /** Saves what an update could damage. A copy of the program where it was built from this checkout, null elsewhere; or the failure. */
  const prepare = async (
    dir: string,
    git: Git,
    from: string,
  ): Promise<string | null | UpdateResult> => {
    try {
      await saveFirst(snapshot)
    } catch (error) {
      await revertTo(git, from)
      return { ok: false, ...describe(error) }
    }
    const isOwn = program?.file.startsWith(`${dir}/`) && restart
    return program && isOwn ? keepPrevious(program.file) : null
  }

  const install = async (
    dir: string,
    { from, failure }: PullResult,
  ): Promise<UpdateResult | null> => {
    const problem = await build(dir)
    if (problem === '') return null
    log('the new version could not be built; going back', { problem })
    const git = gitIn(dir, env)
    const back = await revertTo(git, from)
    // Local changes did not apply to the new version, but they do to this one.
    const stashed =
      failure?.stash_conflict === true && !(back && (await restoreStash(git, 'set aside')))
    // The installed dependencies are those of the failed version.
    const again = back ? await build(dir) : 'the checkout could not be reset'
    if (again) log('the previous version could not be built again', { problem: again })
    return {
      ok: false,
      message: `The new version could not be built, so the previous one stays: ${problem.slice(0, MAX_ERROR_CHARS)}`,
      code: 'not_built' as const,
      values: { reason: problem.slice(0, MAX_ERROR_CHARS) },
      ...(stashed && { stash_conflict: true as const }),
    }
  }

  const updateToRelease = async (address: string, own: OwnProgram): Promise<UpdateResult> => {
    const target = 'webui' as const
    try {
      const save = () => saveFirst(snapshot)
      const prepared = await prepareRelease(own, { address, version, env, save })
      if (!prepared) return { ok: true, ...CURRENT, target, restart_scheduled: false }
      cancelRestart = clock.timer(RESTART_MS, () => void replace(prepared))
      return {
        ok: true,
        message: 'Updated; restarting',
        code: 'done',
        target,
        restart_scheduled: true,
      }
    } catch (error) {
      return { ok: false, ...describe(error), target }
    }
  }

  const update = async (target: UpdateTarget, force: boolean): Promise<UpdateResult> => {
    await whenIdle()
    const dir = checkouts()[target]
    if (!isCheckout(dir) && target === 'webui' && releases !== null && program && restart)
      return updateToRelease(releases, program)
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
    const previous = await prepare(dir, git, pulled.from)
    if (typeof previous === 'object' && previous) return { ...previous, target }
    const broken = await install(dir, pulled)
    if (broken) return { ...broken, target }
    if (!restart) {
      const message = `${done.message}; start it again by hand`
      return { ...done, message, code: 'by_hand', target, restart_scheduled: false }
    }
    // The running version must match the checkout, also when local changes are still stashed.
    const prepared = previous !== null && {
      previous,
      from: version,
      to: await outputOf(git(['rev-parse', '--short', 'HEAD'])),
      checkout: { dir, commit: pulled.from },
    }
    cancelRestart = clock.timer(RESTART_MS, () => void replace(prepared || null))
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
