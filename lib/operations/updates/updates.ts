/** Checks for updates and applies them; the two do not run at the same time. */
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type ApplyOptions, createUpdateRunner } from './apply.ts'
import { createUpdateChecker } from './check.ts'

/** The checkout this program runs from: the folder of router.ts, or the one above dist/. */
export const ownCheckout = (directory: string): string | null => {
  const above = basename(directory) === 'dist' ? [dirname(directory)] : []
  return (
    [directory, ...above].find(
      dir => existsSync(join(dir, 'router.ts')) && existsSync(join(dir, '.git')),
    ) ?? null
  )
}

export type UpdatesOptions = Omit<ApplyOptions, 'whenIdle' | 'onApplied'>

export type Updates = ReturnType<typeof createUpdates>

export const createUpdates = (deps: UpdatesOptions) => {
  const checker = createUpdateChecker(deps)
  const applier = createUpdateRunner({
    ...deps,
    whenIdle: checker.whenIdle,
    onApplied: checker.forget,
  })
  return {
    check: async (options?: { force?: boolean }) =>
      applier.isBusy() ? checker.known() : checker.check(options),
    apply: applier.apply,
    close: applier.close,
  }
}
