/** Filters of the session list by source and profile, stored in this browser. */
import { computed, type ReadonlySignal, signal } from '@preact/signals'
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

export const createFilters = (
  { device }: Pick<Platform, 'device'>,
  rows: ReadonlySignal<readonly SessionRow[]>,
  profile: ReadonlySignal<string>,
  /** Called when rows are needed that were not fetched. */
  refetch: () => void = () => {},
) => {
  const origin = signal<Choice>(device.read<Choice>('origin', ''))
  const everyProfile = signal(device.read('every-profile', false))
  const hasOthers = computed(() => rows.value.some(row => row.profile !== profile.value))

  const choose = (wanted: Choice): void => {
    const crosses = (wanted === '') !== (origin.value === '')
    origin.value = wanted
    device.write('origin', wanted)
    if (crosses) refetch()
  }
  const showEvery = (every: boolean): void => {
    everyProfile.value = every
    device.write('every-profile', every)
  }

  return {
    origin,
    everyProfile,
    /** Whether sessions of other profiles are loaded. */
    hasOthers,
    /** Whether rows of several profiles are shown. */
    mixed: computed(() => everyProfile.value && hasOthers.value),
    /** Whether a source filter hides sessions. */
    narrowed: computed(() => origin.value !== '' && origin.value !== 'any'),
    matches: (row: SessionRow): boolean => {
      if (origin.value === 'any') return true
      if (origin.value !== '') return originOf(row) === origin.value
      // Sessions that wait for input and pinned ones are always shown.
      return originOf(row) !== 'cron' || row.waiting > 0 || row.pinned
    },
    /** Whether scheduled runs are fetched. */
    withScheduled: () => origin.value !== '',
    choose,
    showEvery,
  }
}

export type Filters = ReturnType<typeof createFilters>
