/** Looking for updates and applying them, as one thing: neither gets in the way of the other. */
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type ApplyDeps, createApply } from './apply.ts'
import { createCheck } from './check.ts'

/** Where the sources lie that this program runs from: beside router.ts, or one above the built file. */
export const ownCheckout = (directory: string): string | null => {
  const above = basename(directory) === 'dist' ? [dirname(directory)] : []
  return (
    [directory, ...above].find(
      dir => existsSync(join(dir, 'router.ts')) && existsSync(join(dir, '.git')),
    ) ?? null
  )
}

export type UpdatesDeps = Omit<ApplyDeps, 'idle' | 'onApplied'> & { nowMs?: () => number }

export type Updates = ReturnType<typeof createUpdates>

export const createUpdates = ({ nowMs, ...deps }: UpdatesDeps) => {
  const { checkouts, env } = deps
  const checker = createCheck({ checkouts, env, ...(nowMs ? { nowMs } : {}) })
  const applier = createApply({ ...deps, idle: checker.idle, onApplied: checker.forget })
  return {
    check: async (options?: { force?: boolean }) =>
      applier.isBusy() ? checker.known() : checker.check(options),
    apply: applier.apply,
    close: applier.close,
  }
}
