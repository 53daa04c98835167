/** Projects and profiles: list filters, and reloading on a profile switch. */
import { signal } from '@preact/signals'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { SessionRow } from '../../../lib/schema/session.ts'
import { ApiError } from '../../../public/api.ts'
import { Profiles, isProfileName } from '../../../public/features/profiles/profiles.ts'
import { Projects } from '../../../public/features/projects/projects.ts'
import { tagsOf } from '../../../public/features/sessions/tags.ts'
import { Sessions } from '../../../public/features/sessions/sessions.ts'
import { Toasts } from '../../../public/features/shell/toast.ts'
import { saveProject } from '../../../public/features/projects/project-dialogs.tsx'
import { fakePlatform, fakeRow, fakeShell, settle } from '../_page.ts'

const project = (project_id: string, name = project_id) => ({
  project_id,
  name,
  color: null,
  created_at: 1,
})
type Answers = Parameters<typeof fakePlatform>[0]

const setUp = async (rows: SessionRow[], answers: Answers = {}) => {
  const fake = fakePlatform({
    'GET /api/projects': () => ({ projects: [project('p1', 'One'), project('p2', 'Two')] }),
    'POST /api/session/move': input => {
      const { session_id, project_id } = input as { session_id: string; project_id: string | null }
      return { ok: true, session: fakeRow(session_id, { project_id }) }
    },
    ...answers,
  })
  const shell = fakeShell(fake.platform)
  const { toasts, layout } = shell
  const profile = signal('default')
  const sessions = new Sessions({
    ...{ platform: fake.platform, toasts, profile },
    matches: row => projects.matches(row),
  })
  const projects = new Projects(shell, sessions)
  for (const row of rows) sessions.upsert(row)
  await projects.load()
  const shown = () => sessions.items.value.flatMap(item => (item.kind === 'row' ? item.key : []))
  return { ...fake, toasts, profile, sessions, projects, layout, shown }
}

const test = suite('page: projects and profiles')

test('finds #tags in titles; ignores headings, # inside words and a lone #', () => {
  assert.equal(tagsOf('Fix #CSS and #über-all, again #css'), ['css', 'über-all'])
  assert.equal(tagsOf('issue#12 C# # #-x a#b'), [])
})

test('the list is narrowed down to a project and a tag, of this profile only; the same again shows all', async () => {
  const { projects, shown, profile } = await setUp([
    fakeRow('a', { title: 'A #x', project_id: 'p1' }),
    fakeRow('b', { title: 'B', project_id: 'p1' }),
    fakeRow('c', { title: 'C #x' }),
    fakeRow('d', { title: 'D #other', profile: 'work', project_id: 'p1' }),
    fakeRow('e', { project_id: 'gone' }),
  ])
  assert.equal(projects.tags.value, ['x'], 'tags of another profile are not shown')
  assert.is(projects.counts.value.get('p1'), 2)
  projects.toggle('p1')
  assert.equal(shown().toSorted(), ['a', 'b'])
  projects.toggleTag('x')
  assert.equal(shown(), ['a'])
  projects.toggle('p1')
  assert.equal(shown().toSorted(), ['a', 'c'])
  projects.showAll()
  assert.is(shown().length, 4)
  profile.value = 'work'
  assert.equal(shown(), ['d'])
})

test('remembers the selected project; a deleted one hides nothing', async () => {
  const first = await setUp([fakeRow('a')])
  first.projects.toggle('p2')
  assert.is(first.device.values.get('project'), 'p2')
  assert.equal(first.shown(), [])
  first.projects.list.value = [project('p1')]
  assert.equal(first.shown(), ['a'])
})

test('reverts a rejected move without a success toast; a successful one can be undone', async () => {
  const refused = await setUp([fakeRow('a')], {
    'POST /api/session/move': () => {
      throw new ApiError(507, 'The disk is full')
    },
  })
  await refused.projects.moveTo('a', 'p1')
  assert.is(refused.sessions.row('a')?.project_id, null)
  assert.equal(
    refused.toasts.list.value.map(({ text }) => text),
    ['The disk is full'],
  )
  const { projects, sessions, toasts, service } = await setUp([fakeRow('a')])
  await projects.moveTo('a', 'p1')
  assert.is(sessions.row('a')?.project_id, 'p1')
  toasts.list.value[0]?.action?.run()
  await settle()
  assert.is(sessions.row('a')?.project_id, null)
  await projects.moveTo('a', null)
  assert.is(service.of('POST /api/session/move').length, 2, 'what is so already is not asked for')
})

test('a project created from a session gets it; deleting asks first', async () => {
  const { sessions, projects, layout, service } = await setUp([fakeRow('a')], {
    'POST /api/projects/create': () => ({ ok: true, project: project('p3', 'Three') }),
    'POST /api/projects/delete': () => ({ ok: true }),
  })
  await saveProject(projects, null, { name: 'Three', color: null }, 'a')
  assert.is(sessions.row('a')?.project_id, 'p3')
  await projects.confirmDelete(project('p3', 'Three'))
  assert.is(service.of('POST /api/projects/delete').length, 0)
  await layout.confirmation.value?.run()
  assert.is(projects.find('p3'), undefined)
})

const withProfiles = (answers: Answers = {}) => {
  const names = { now: 'default' }
  const fake = fakePlatform({
    'GET /api/profile/active': () => ({ name: names.now, path: '/' }),
    'POST /api/profile/switch': () => ({}),
    'POST /api/profile/delete': () => ({ ok: true, name: '' }),
    ...answers,
  })
  const toasts = new Toasts(fake.platform)
  const left: string[] = []
  const saved: string[] = []
  const profiles = new Profiles({
    platform: fake.platform,
    toasts,
    navigate: url => left.push(url),
    saveDrafts: async () => void saved.push('draft'),
  })
  return { ...fake, names, toasts, profiles, left, saved }
}

test('a rejected profile switch shows its reason (409 while an agent runs)', async () => {
  const { profiles, left, toasts, device } = withProfiles({
    'POST /api/profile/switch': () => {
      throw new ApiError(409, 'Cannot switch profiles while an agent is running.')
    },
  })
  await profiles.switchTo('work')
  assert.equal([left, device.values.size], [[], 0])
  assert.match(toasts.list.value[0]?.text ?? '', /while an agent is running/)
})

test('a profile switch saves the draft, notifies other tabs and reloads the page', async () => {
  const { profiles, left, saved, device, toasts } = withProfiles()
  await profiles.load()
  await profiles.switchTo('default')
  assert.equal(left, [], 'it is there already')
  await profiles.switchTo('work')
  assert.equal([saved, left], [['draft'], ['http://host/any/path/']])
  assert.is(device.values.get('profile'), 'work')
  profiles.showPendingToast()
  profiles.showPendingToast()
  assert.equal(
    toasts.list.value.map(({ text }) => text),
    ['Switched to work'],
  )
})

test('a page whose browser was led elsewhere by another tab or a deletion follows', async () => {
  const { profiles, names, left } = withProfiles()
  await profiles.reloadIfChanged()
  await profiles.load()
  await profiles.reloadIfChanged()
  assert.equal(left, [])
  names.now = 'work'
  await profiles.reloadIfChanged()
  assert.equal(left, ['http://host/any/path/'])
})

test('deleting the active profile switches to default; another one is removed from the list', async () => {
  const { profiles, names, left } = withProfiles()
  names.now = 'work'
  await profiles.load()
  await profiles.remove('play')
  assert.equal(left, [])
  // The notice of the deletion may come before its answer.
  const deleting = profiles.remove('work')
  names.now = 'default'
  await profiles.reloadIfChanged()
  await deleting
  assert.equal(left, ['http://host/any/path/profiles'])
})

test('a profile name is judged as the service does, over the whole text', () => {
  for (const name of ['a', 'a-b_c9', '0', 'a'.repeat(64)]) assert.ok(isProfileName(name))
  for (const name of ['', 'A', '-a', 'a b', 'a\n', 'a'.repeat(65)])
    assert.not.ok(isProfileName(name))
})

test.run()
