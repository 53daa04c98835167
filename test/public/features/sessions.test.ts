/** Session list: order, headings, pages, reverted changes. */
import { signal } from '@preact/signals'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Frame } from '../../../lib/schema/event.ts'
import type { SessionRow } from '../../../lib/schema/session.ts'
import { ApiError } from '../../../public/api.ts'
import { insertRow } from '../../../public/features/sessions/known-sessions.ts'
import { Selection } from '../../../public/features/sessions/sidebar.ts'
import { Sessions, previewOf, toItems } from '../../../public/features/sessions/sessions.ts'
import { Toasts } from '../../../public/features/shell/toast.ts'
import { fakePlatform, fakeRow, rowFrame } from '../_page.ts'

const now = new Date(2026, 5, 15, 12).getTime() / 1000
const DAY = 86_400
const ids = (rows: readonly { session_id: string }[]) => rows.map(row => row.session_id).join('')

const setUp = (answers: Parameters<typeof fakePlatform>[0] = {}) => {
  const fake = fakePlatform(answers)
  const toasts = new Toasts(fake.platform)
  const profile = signal('default')
  return {
    ...fake,
    toasts,
    profile,
    sessions: new Sessions({ platform: fake.platform, toasts, profile }),
  }
}

const test = suite('sessions')

test('reverts a rejected change and shows the error', async () => {
  const { sessions, toasts } = setUp({
    'POST /api/session/rename': () => {
      throw new ApiError(507, 'The disk is full')
    },
  })
  sessions.upsert(fakeRow('a', { title: 'Old' }))
  const renaming = sessions.rename('a', 'New')
  assert.is(sessions.row('a')?.title, 'New', 'at once')
  await renaming
  assert.is(sessions.row('a')?.title, 'Old')
  assert.is(toasts.list.value[0]?.text, 'The disk is full')
})

test('restores the row after a failed delete; a successful one can be undone', async () => {
  const refused = setUp({
    'POST /api/session/delete': () => {
      throw new ApiError(409, 'busy')
    },
  })
  refused.sessions.upsert(fakeRow('a'))
  await refused.sessions.remove('a').catch(() => null)
  assert.ok(refused.sessions.row('a'))

  const { sessions, service } = setUp({
    'POST /api/session/delete': () => ({ ok: true }),
    'POST /api/session/restore': () => ({ ok: true, session: fakeRow('a') }),
  })
  sessions.upsert(fakeRow('a'))
  const restore = await sessions.remove('a')
  assert.not.ok(sessions.row('a'))
  await restore()
  assert.ok(sessions.row('a'))
  assert.is(service.of('POST /api/session/restore').length, 1)
})

/** A request that is answered when the test says so. */
const held = <T>() => {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  return { answer: () => promise, resolve, reject }
}
const gone = (id: string, seq?: number): Frame => ({
  type: 'gone',
  source: 'list',
  n: 9,
  data: { session_id: id, ...(seq !== undefined && { seq }) },
})

test('a reply that is older than an event does not replace it', async () => {
  const reply = held<{ session: SessionRow }>()
  const list = held<{ sessions: SessionRow[] }>()
  const { sessions } = setUp({
    'POST /api/session/pin': reply.answer,
    'GET /api/sessions': list.answer,
  })
  sessions.upsert(fakeRow('a', { seq: 1, is_streaming: true }))
  const pinning = sessions.pin('a', true)
  const loading = sessions.load()
  sessions.receive(rowFrame(4, fakeRow('a', { seq: 3, is_streaming: false, pinned: true })))
  reply.resolve({ session: fakeRow('a', { seq: 2, is_streaming: true, pinned: true }) })
  await pinning
  assert.is(sessions.row('a')?.is_streaming, false)
  list.resolve({ sessions: [fakeRow('a', { seq: 1, is_streaming: true })] })
  await loading
  assert.equal([sessions.row('a')?.is_streaming, sessions.row('a')?.pinned], [false, true])
})

test('a refused change takes back its own field only, and not what another change has set', async () => {
  const rename = held<never>()
  const again = held<never>()
  const answers = [rename.answer, again.answer]
  const { sessions } = setUp({
    'POST /api/session/rename': () => answers.shift()?.(),
    'POST /api/session/pin': () => ({
      session: fakeRow('a', { seq: 3, title: 'Old', pinned: true }),
    }),
  })
  sessions.upsert(fakeRow('a', { seq: 1, title: 'Old', is_streaming: true }))
  const first = sessions.rename('a', 'New')
  const second = sessions.rename('a', 'Newer')
  await sessions.pin('a', true)
  sessions.receive(rowFrame(4, fakeRow('a', { seq: 4, title: 'Old', pinned: true })))
  assert.is(sessions.row('a')?.title, 'Newer', 'an event does not take back what is being sent')
  rename.reject(new ApiError(507, 'full'))
  await first
  assert.is(sessions.row('a')?.title, 'Newer')
  again.reject(new ApiError(507, 'full'))
  await second
  const { title, pinned, is_streaming } = sessions.row('a')!
  assert.equal([title, pinned, is_streaming], ['Old', true, false])
})

test('a deleted session is not listed again by a late page or reply, but by a restore', async () => {
  const page = held<{ sessions: SessionRow[]; next: null }>()
  const reply = held<{ session: SessionRow }>()
  const { sessions, service } = setUp({
    'GET /api/sessions': ({ cursor }) =>
      cursor
        ? page.answer()
        : { sessions: [fakeRow('a', { seq: 1 })], next: 'k', cursor: 'aaaaaaaa-3' },
    'POST /api/session/rename': reply.answer,
  })
  await sessions.load()
  const more = sessions.more()
  const renaming = sessions.rename('a', 'New')
  sessions.receive(gone('a', 5))
  sessions.receive(gone('host'))
  page.resolve({ sessions: [fakeRow('a', { seq: 1 }), fakeRow('host')], next: null })
  reply.resolve({ session: fakeRow('a', { seq: 4 }) })
  await Promise.all([more, renaming])
  assert.equal(sessions.rows.value, [])
  sessions.receive(rowFrame(9, fakeRow('a', { seq: 6 })))
  assert.is(ids(sessions.rows.value), 'a')
  // A list that was asked for after it has the rows of the host agent that there are.
  service.answers['GET /api/sessions'] = () => ({
    sessions: [fakeRow('host')],
    cursor: 'aaaaaaaa-9',
  })
  await sessions.load()
  assert.is(ids(sessions.rows.value), 'host')
})

test('what is being deleted comes back with what happened meanwhile when that is refused', async () => {
  const reply = held<never>()
  const { sessions } = setUp({ 'POST /api/session/delete': reply.answer })
  sessions.upsert(fakeRow('a', { seq: 1, is_streaming: true }))
  const removing = sessions.remove('a').catch(() => null)
  sessions.receive(rowFrame(2, fakeRow('a', { seq: 2, is_streaming: false })))
  assert.not.ok(sessions.row('a'))
  reply.reject(new ApiError(409, 'busy'))
  await removing
  assert.is(sessions.row('a')?.is_streaming, false)
})

test('a restored session is listed as the server has it', async () => {
  const { sessions } = setUp({
    'POST /api/session/delete': () => ({ ok: true }),
    'POST /api/session/restore': () => ({ session: fakeRow('a', { seq: 9, title: 'Now' }) }),
  })
  sessions.upsert(fakeRow('a', { seq: 1, title: 'Then' }))
  const restore = await sessions.remove('a')
  sessions.receive(gone('a', 5))
  await restore()
  assert.is(sessions.row('a')?.title, 'Now')
})

test('the numbers of another start of the server do not compare', async () => {
  let cursor = 'aaaaaaaa-3'
  const { sessions, service } = setUp({
    'GET /api/sessions': () => ({ sessions: [fakeRow('a', { seq: 90, title: 'before' })], cursor }),
  })
  await sessions.load()
  sessions.keep(fakeRow('open', { seq: 91 }))
  sessions.receive(gone('b', 95))
  cursor = 'bbbbbbbb-1'
  service.answers['GET /api/sessions'] = () => ({
    sessions: [fakeRow('a', { seq: 2, title: 'after' }), fakeRow('b', { seq: 1 })],
    cursor,
  })
  await sessions.load()
  assert.is(sessions.row('a')?.title, 'after')
  assert.ok(sessions.row('b'))
  sessions.receive(rowFrame(4, fakeRow('open', { seq: 3, title: 'after' })))
  assert.is(sessions.row('open')?.title, 'after')
})

test('only what is listed is selected', () => {
  const project = signal('')
  const { platform } = fakePlatform({})
  const sessions = new Sessions({
    platform,
    toasts: new Toasts(platform),
    profile: signal('default'),
    matches: row => !project.value || row.project_id === project.value,
  })
  for (const id of ['a', 'b', 'c']) sessions.upsert(fakeRow(id, { project_id: id }))
  const selection = new Selection(sessions.listedIds)
  for (const id of ['a', 'b', 'c']) selection.toggle(id)
  sessions.receive(gone('c', 5))
  assert.equal([...selection.ids.value], ['a', 'b'])
  project.value = 'a'
  assert.equal([...selection.ids.value], ['a'])
  project.value = ''
  assert.equal([...selection.ids.value], ['a'], 'nobody has selected it again')
  sessions.receive(rowFrame(8, fakeRow('a', { archived: true })))
  assert.is(selection.ids.value.size, 0)
})

test('newest first, equal times by id, a changed row moves', () => {
  let rows = [fakeRow('a', { updated_at: 3 }), fakeRow('b', { updated_at: 2 })]
  rows = insertRow(rows, fakeRow('c', { updated_at: 2 }))
  assert.is(ids(rows), 'acb')
  rows = insertRow(rows, fakeRow('b', { updated_at: 4 }))
  assert.is(ids(rows), 'bac')
})

test('headings: pinned, days, months; archived if requested', () => {
  const rows = [
    fakeRow('a', { updated_at: now - 60 }),
    fakeRow('b', { updated_at: now - 3_600, pinned: true }),
    fakeRow('c', { updated_at: now - DAY }),
    fakeRow('d', { updated_at: now - 3 * DAY }),
    fakeRow('e', { updated_at: now - 20 * DAY }),
    fakeRow('f', { updated_at: now - 60 * DAY }),
    fakeRow('g', { updated_at: now - 60 * DAY, archived: true }),
  ]
  const text = (archived: boolean) =>
    toItems(rows, { now, archived }).map(item => (item.kind === 'head' ? item.label : item.key))
  const expected = ['Pinned', 'b', 'Today', 'a', 'Yesterday', 'c', 'Previous 7 days', 'd']
  expected.push('Previous 30 days', 'e', 'April 2026', 'f')
  assert.equal(text(false), expected)
  assert.equal(text(true), [...expected, 'Archived', 'g'])
})

test('loads pages without duplicates and keeps updates received in between', async () => {
  const { sessions, service } = setUp({
    'GET /api/sessions': ({ cursor }) =>
      cursor
        ? { sessions: [fakeRow('b', { title: 'stale' }), fakeRow('c')], next: null }
        : { sessions: [fakeRow('a', { updated_at: 9 })], next: 'k', cursor: 'aaaaaaaa-3' },
  })
  assert.is(await sessions.load(), 'aaaaaaaa-3')
  sessions.receive(rowFrame(4, fakeRow('b', { title: 'fresh', updated_at: 5 })))
  await Promise.all([sessions.more(), sessions.more()])
  assert.is(ids(sessions.rows.value), 'abc')
  assert.is(sessions.row('b')?.title, 'fresh')
  await sessions.more()
  assert.is(service.of('GET /api/sessions').length, 2)
})

test('reports a failed list only while there are no rows', async () => {
  const { sessions, service } = setUp()
  await sessions.load().catch(() => null)
  assert.is(sessions.state.value, 'failed')
  service.answers['GET /api/sessions'] = () => ({ sessions: [fakeRow('a')] })
  await sessions.load()
  delete service.answers['GET /api/sessions']
  await sessions.load().catch(() => null)
  assert.is(sessions.state.value, 'ready')
})

test('rows of other profiles stay out of sight; command-line ones do not', () => {
  const { sessions, profile } = setUp()
  sessions.upsert(fakeRow('a'))
  sessions.upsert(fakeRow('b', { profile: 'work', waiting: 1 }))
  sessions.upsert(fakeRow('c', { profile: 'work', is_cli_session: true }))
  const shown = () => sessions.items.value.filter(item => item.kind === 'row').length
  assert.is(shown(), 2)
  profile.value = 'work'
  assert.is(shown(), 2)
})

test('lists pinned sessions of later pages first, once', async () => {
  const { sessions, service } = setUp({
    'GET /api/sessions': ({ cursor }) =>
      cursor
        ? {
            sessions: [
              fakeRow('c', { updated_at: 5 }),
              fakeRow('p', { updated_at: 1, pinned: true }),
            ],
            next: null,
          }
        : {
            sessions: [fakeRow('a', { updated_at: 9 })],
            pinned: [fakeRow('p', { updated_at: 1, pinned: true })],
            next: 'more',
          },
  })
  await sessions.load()
  const keys = () => sessions.items.value.flatMap(item => (item.kind === 'row' ? [item.key] : []))
  assert.equal(keys(), ['p', 'a'])
  await sessions.more()
  assert.equal(keys(), ['p', 'a', 'c'])
  assert.is(ids(sessions.rows.value), 'acp', 'in the order of time')
  // More rows than the service gives at once are asked for as many as it gives.
  for (let at = 0; at < 900; at++) sessions.upsert(fakeRow(`s${at}`))
  await sessions.load()
  assert.is(service.of('GET /api/sessions').at(-1)?.limit, 500)
})

test('10 000 rows: a delta is quick', async () => {
  const many = Array.from({ length: 10_000 }, (_, at) =>
    fakeRow(`s${at}`, { updated_at: 20_000 - at }),
  )
  const { sessions } = setUp({ 'GET /api/sessions': () => ({ sessions: many }) })
  await sessions.load()
  sessions.receive(rowFrame(1, fakeRow('s5000', { updated_at: 30_000 })))
  assert.is(sessions.rows.value[0]?.session_id, 's5000')
  assert.is(sessions.rows.value.length, 10_000)
})

test('keeps the row of the open session even if no page contains it', async () => {
  const asked: unknown[] = []
  const { platform } = fakePlatform({
    'GET /api/sessions': input => {
      asked.push(input)
      return { sessions: [fakeRow('a')], cli_count: 0, next: null, cursor: 'aaaaaaaa-1' }
    },
  })
  let all = false
  const profile = signal('default')
  const sessions = new Sessions({
    platform,
    toasts: new Toasts(platform),
    profile,
    everyProfile: () => true,
    withScheduled: () => all,
  })
  await sessions.load()
  sessions.keep(fakeRow('old', { title: 'Nightly' }))
  await sessions.load()
  assert.is(sessions.row('old')?.title, 'Nightly')
  all = true
  await sessions.load()
  assert.equal(
    asked.map(input => (input as { scheduled?: string }).scheduled),
    ['0', '0', undefined],
  )
  sessions.drop('old')
  await sessions.load()
  assert.is(sessions.row('old'), undefined)
})

test('a reply that was overtaken by another filter changes nothing', async () => {
  const replies: ((rows: string) => void)[] = []
  const { platform } = fakePlatform({
    'GET /api/sessions': () =>
      new Promise(resolve =>
        replies.push(rows =>
          resolve({
            sessions: [...rows].map(id => fakeRow(id)),
            cli_count: 0,
            next: `after ${rows}`,
            cursor: 'aaaaaaaa-1',
          }),
        ),
      ),
  })
  const sessions = new Sessions({
    platform,
    toasts: new Toasts(platform),
    profile: signal('default'),
  })
  const first = sessions.load()
  const second = sessions.load()
  replies[1]?.('ab')
  await second
  replies[0]?.('a')
  await first
  assert.is(ids(sessions.rows.value), 'ab')
  // A further page of the old list, and the list again while it is on its way.
  const more = sessions.more()
  const again = sessions.load()
  replies[3]?.('xyz')
  await again
  replies[2]?.('c')
  await more
  assert.is(ids(sessions.rows.value), 'xyz')
  assert.is(sessions.next.value, 'after xyz')
})

test('the snippet of a chat is the text without its files and comments; of files only, their names', () => {
  for (const [preview, shown] of [
    ['look', 'look'],
    ['look [Attached files: a[1].png, b.png]', 'look'],
    // The server cuts it.
    ['look at [this] [Attached files: a.png, b.p', 'look at [this]'],
    ['[Attached files: a[1].png, b.png]', 'a[1].png, b.png'],
    ['[Attached files: a.png, b.p', 'a.png, b.p'],
    ['better so [Comment on src/a.ts, line 3] > -const a', 'better so'],
    ['', ''],
  ] as const)
    assert.is(previewOf({ preview }), shown)
})

test.run()
