/** Which conversations the list shows beside projects and tags: by where they began, and of which profile. Remembered by this browser. */
import { computed, type ReadonlySignal, signal } from '@preact/signals'
import type { SessionRow } from '../../../lib/schema/session.ts'
import type { Platform } from '../../platform.ts'

export type Origin = 'web' | 'cli' | 'cron'

/** Blank: all but what tasks did by themselves, which would be most of the list; it is in the history of its task. */
export type Choice = Origin | 'any' | ''

/** Where a conversation began; one that was taken over from the command line began there. */
export const originOf = (row: SessionRow): Origin => {
  if (row.source_tag === 'cron') return 'cron'
  return row.is_cli_session === true || row._cli_origin !== undefined ? 'cli' : 'web'
}

export const createFilters = (
  { device }: Pick<Platform, 'device'>,
  rows: ReadonlySignal<readonly SessionRow[]>,
  profile: ReadonlySignal<string>,
  /** Other rows are wanted than those that were fetched. */
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
    /** There is more than one profile to choose between. */
    hasOthers,
    /** Rows must say whose they are. */
    mixed: computed(() => everyProfile.value && hasOthers.value),
    /** Something is left out that would be there without. */
    narrowed: computed(() => origin.value !== '' && origin.value !== 'any'),
    matches: (row: SessionRow): boolean => {
      if (origin.value === 'any') return true
      if (origin.value !== '') return originOf(row) === origin.value
      // One that waits for a person, or that a person holds on to, is never folded away.
      return originOf(row) !== 'cron' || row.waiting > 0 || row.pinned
    },
    /** Whether runs of tasks are in what is fetched. */
    withScheduled: () => origin.value !== '',
    choose,
    showEvery,
  }
}

export type Filters = ReturnType<typeof createFilters>
