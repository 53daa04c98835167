/** What each hook has done since the service started, for the settings view. */
import { redact } from '../../base/redact/redact.ts'
import { type Clock, toSeconds } from '../../base/clock.ts'
import type { HookRow } from '../../schema/hook.ts'
import type { Hook } from './config.ts'

type Record = Pick<HookRow, 'runs' | 'blocks' | 'failures' | 'last_run_at' | 'last_failure'>

/** Far more than anyone configures; hooks that were removed from the file are forgotten first. */
const MAX_RECORDS = 500

export class HookRecords {
  readonly #clock: Clock
  readonly #records = new Map<string, Record>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  ran(
    home: string,
    hook: Hook,
    { isBlocking, failure }: { isBlocking: boolean; failure: string | null },
  ) {
    const key = this.#keyOf(home, hook)
    const before = this.#records.get(key)
    this.#records.delete(key)
    this.#records.set(key, {
      runs: (before?.runs ?? 0) + 1,
      blocks: (before?.blocks ?? 0) + (isBlocking ? 1 : 0),
      failures: (before?.failures ?? 0) + (failure === null ? 0 : 1),
      last_run_at: toSeconds(this.#clock.now()),
      last_failure: failure === null ? (before?.last_failure ?? null) : redact(failure),
    })
    const [oldest] = this.#records.keys()
    if (this.#records.size > MAX_RECORDS && oldest !== undefined) this.#records.delete(oldest)
  }

  rows(home: string, hooks: readonly Hook[]): HookRow[] {
    return hooks.map(hook => ({
      event: hook.name,
      matcher: hook.matcher,
      command: redact(hook.command),
      timeout_seconds: hook.timeoutMs / 1_000,
      fail_closed: hook.failClosed,
      ...(this.#records.get(this.#keyOf(home, hook)) ?? {
        runs: 0,
        blocks: 0,
        failures: 0,
        last_run_at: null,
        last_failure: null,
      }),
    }))
  }

  #keyOf(home: string, { name, matcher, command }: Hook): string {
    return JSON.stringify([home, name, matcher, command])
  }
}
