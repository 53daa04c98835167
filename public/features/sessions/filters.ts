/** Filters of the session list by source and profile, stored in this browser. */
import { computed, type ReadonlySignal, signal, type Signal } from '@preact/signals'
import type { SessionRow } from '../../../lib/schema/session.ts'
import type { Platform } from '../../platform.ts'

export type Origin = 'web' | 'cli' | 'api' | 'cron'

/** Empty: everything except scheduled runs, which are listed in the history of their task. */
export type Choice = Origin | 'any' | ''

/** Where a session was created. Imported host sessions count as CLI. */
export const originOf = (row: SessionRow): Origin => {
  if (row.source_tag === 'cron' || row.source_tag === 'api') return row.source_tag
  return row.is_cli_session === true || row._cli_origin !== undefined ? 'cli' : 'web'
}

export class Filters {
  readonly #platform: Platform
  readonly #refetch: () => void
  readonly origin: Signal<Choice>
  readonly everyProfile: Signal<boolean>
  /** Whether sessions of other profiles are loaded. */
  readonly hasOthers: ReadonlySignal<boolean>
  /** Whether rows of several profiles are shown. */
  readonly mixed = computed(() => this.everyProfile.value && this.hasOthers.value)
  /** Whether a source filter hides sessions. */
  readonly narrowed = computed(() => this.origin.value !== '' && this.origin.value !== 'any')

  constructor(
    platform: Platform,
    rows: ReadonlySignal<readonly SessionRow[]>,
    profile: ReadonlySignal<string>,
    /** Called when rows are needed that were not fetched. */
    refetch: () => void = () => {},
  ) {
    const { device } = platform
    this.#platform = platform
    this.#refetch = refetch
    this.origin = signal<Choice>(device.read<Choice>('origin', ''))
    this.everyProfile = signal(device.read('every-profile', false))
    this.hasOthers = computed(() => rows.value.some(row => row.profile !== profile.value))
  }

  choose(choice: Choice): void {
    const { device } = this.#platform
    const crosses = (choice === '') !== (this.origin.value === '')
    this.origin.value = choice
    device.write('origin', choice)
    if (crosses) this.#refetch()
  }

  showEvery(every: boolean): void {
    this.everyProfile.value = every
    this.#platform.device.write('every-profile', every)
  }

  matches(row: SessionRow): boolean {
    if (this.origin.value === 'any') return true
    if (this.origin.value !== '') return originOf(row) === this.origin.value
    // Sessions that wait for input and pinned ones are always shown.
    return originOf(row) !== 'cron' || row.waiting > 0 || row.pinned
  }

  /** Whether scheduled runs are fetched. */
  withScheduled(): boolean {
    return this.origin.value !== ''
  }
}
