/** Session filters by source and profile, stored in the browser. */
import { signal } from '@preact/signals'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Filters, originOf } from '../../../public/features/sessions/filters.ts'
import { Sessions } from '../../../public/features/sessions/sessions.ts'
import { Toasts } from '../../../public/features/shell/toast.ts'
import { fakePlatform, fakeRow } from '../_page.ts'

const test = suite('filters')

const setUp = () => {
  const { platform } = fakePlatform({})
  const profile = signal('default')
  const sessions = new Sessions({
    platform,
    toasts: new Toasts(platform),
    profile,
    matches: row => filters.matches(row),
    everyProfile: () => filters.everyProfile.value,
  })
  const filters = new Filters(platform, sessions.rows, profile)
  for (const row of [
    fakeRow('web', { updated_at: 6 }),
    fakeRow('cli', { updated_at: 5, is_cli_session: true, source_tag: 'cli' }),
    fakeRow('taken', { updated_at: 4, _cli_origin: 'x' }),
    fakeRow('due', { updated_at: 3, source_tag: 'cron' }),
    fakeRow('theirs', { updated_at: 2, profile: 'work' }),
  ])
    sessions.upsert(row)
  const shown = () => sessions.items.value.flatMap(item => (item.kind === 'row' ? [item.key] : []))
  return { platform, profile, sessions, filters, shown }
}

test('source of a session', () => {
  const row = fakeRow('a')
  assert.is(originOf(row), 'web')
  assert.is(originOf({ ...row, is_cli_session: true, source_tag: 'cron' }), 'cron')
  assert.is(originOf({ ...row, is_cli_session: true }), 'cli')
  assert.is(originOf({ ...row, _cli_origin: 'x' }), 'cli')
})

test('by origin', () => {
  const { filters, shown } = setUp()
  assert.equal(shown(), ['web', 'cli', 'taken'], 'what tasks did is folded into them')
  assert.not.ok(filters.narrowed.value)
  filters.choose('any')
  assert.equal(shown(), ['web', 'cli', 'taken', 'due'])
  assert.not.ok(filters.narrowed.value)
  filters.choose('cli')
  assert.equal(shown(), ['cli', 'taken'])
  assert.ok(filters.narrowed.value)
  filters.choose('cron')
  assert.equal(shown(), ['due'])
  filters.choose('web')
  assert.equal(shown(), ['web'])
  filters.choose('')
  assert.is(shown().length, 3)
})

test('by profile: rows say whose they are only when there are several', () => {
  const { sessions, filters, shown } = setUp()
  assert.equal([filters.hasOthers.value, filters.mixed.value], [true, false])
  filters.showEvery(true)
  assert.ok(shown().includes('theirs'))
  assert.ok(filters.mixed.value)
  assert.ok(
    sessions.profileRows.value.some(row => row.profile === 'work'),
    'search and projects too',
  )
  sessions.drop('theirs')
  assert.not.ok(filters.mixed.value)
})

test('both are remembered', () => {
  const { platform, profile, sessions, filters } = setUp()
  filters.choose('cron')
  filters.showEvery(true)
  const again = new Filters(platform, sessions.rows, profile)
  assert.equal([again.origin.value, again.everyProfile.value], ['cron', true])
})

test.run()
