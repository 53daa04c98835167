/** What each hook has done since the service started, for the settings view. */
import { type Clock, toSeconds } from '../../base/clock.ts'
import type { HookRow } from '../../schema/hook.ts'
import type { Hook } from './config.ts'

type Record = Pick<HookRow, 'runs' | 'blocks' | 'failures' | 'last_run_at' | 'last_failure'>

/** Far more than anyone configures; hooks that were removed from the file are forgotten first. */
const MAX_RECORDS = 500

export type HookRecords = ReturnType<typeof createHookRecords>

/** `redact`: of commands and failures. */
export const createHookRecords = (clock: Pick<Clock, 'now'>, redact: (text: string) => string) => {
  const records = new Map<string, Record>()
  const keyOf = (home: string, { name, matcher, command }: Hook): string =>
    JSON.stringify([home, name, matcher, command])

  return {
    ran(
      home: string,
      hook: Hook,
      { isBlocking, failure }: { isBlocking: boolean; failure: string | null },
    ) {
      const key = keyOf(home, hook)
      const before = records.get(key)
      records.delete(key)
      records.set(key, {
        runs: (before?.runs ?? 0) + 1,
        blocks: (before?.blocks ?? 0) + (isBlocking ? 1 : 0),
        failures: (before?.failures ?? 0) + (failure === null ? 0 : 1),
        last_run_at: toSeconds(clock.now()),
        last_failure: failure === null ? (before?.last_failure ?? null) : redact(failure),
      })
      const [oldest] = records.keys()
      if (records.size > MAX_RECORDS && oldest !== undefined) records.delete(oldest)
    },
    rows: (home: string, hooks: readonly Hook[]): HookRow[] =>
      hooks.map(hook => ({
        event: hook.name,
        matcher: hook.matcher,
        command: redact(hook.command),
        timeout_seconds: hook.timeoutMs / 1_000,
        fail_closed: hook.failClosed,
        ...(records.get(keyOf(home, hook)) ?? {
          runs: 0,
          blocks: 0,
          failures: 0,
          last_run_at: null,
          last_failure: null,
        }),
      })),
  }
}
