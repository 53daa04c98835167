/** Routes of the views, and the state of skills, memory and usage. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Skill, SkillRow } from '../../../lib/schema/skill.ts'
import { ApiError } from '../../../public/api.ts'
import { parseCommand } from '../../../public/features/composer/slash-commands.ts'
import { MemoryState, entriesOf, levelOf } from '../../../public/features/memory/memory.ts'
import { parseRoute, pathOf } from '../../../public/features/shell/route.ts'
import { SkillCommands } from '../../../public/features/skills/skill-commands.ts'
import { isDescribed } from '../../../public/features/skills/skill-draft.ts'
import { bodyOf, SkillsState, groupSkills } from '../../../public/features/skills/skills.ts'
import { UsageState, formatDay, niceCeiling } from '../../../public/features/usage/usage.ts'
import { formatCost, formatTokens } from '../../../public/parts/amounts.ts'
import { fakePlatform, fakeShell } from '../_page.ts'

const test = suite('page: skills, memory, usage')
const base = 'http://host/any/path/'

test('routes of the views round-trip', () => {
  for (const path of [
    'skills',
    'skills?skill=deploy',
    'skills?skill=a+b%26c&q=x',
    'skills?tab=commands&skill=git%3Asum',
    'skills?tab=subagents',
    'memory',
    'usage',
    'usage?days=90',
  ]) {
    assert.is(pathOf(parseRoute(base, base + path)), path)
  }
  assert.equal(parseRoute(base, `${base}skills/de%20ploy?tab=none`), {
    view: 'skills',
    skill: 'de ploy',
    query: '',
  })
  assert.equal(parseRoute(base, `${base}tasks/job1`), { view: 'tasks', task: 'job1' })
  assert.equal(parseRoute(base, `${base}usage?days=12`), { view: 'usage', days: 30 })
})

const row = (name: string, category: string | null, patch: Partial<SkillRow> = {}): SkillRow => ({
  name,
  description: `About ${name}`,
  category,
  enabled: true,
  compatible: true,
  read_only: false,
  slug: name,
  ...patch,
})
const skill = (name: string, patch: Partial<Skill> = {}): Skill => ({
  success: true,
  ...row(name, 'ops'),
  tags: [],
  related_skills: [],
  content: `---\nname: ${name}\n---\n\n# Text\n`,
  path: `ops/${name}/SKILL.md`,
  version: 'v1',
  mtime: 1,
  linked_files: {},
  usage_hint: null,
  required_environment_variables: [],
  required_commands: [],
  missing_required_environment_variables: [],
  missing_credential_files: [],
  missing_required_commands: [],
  setup_needed: false,
  setup_skipped: false,
  readiness_status: 'available',
  ...patch,
})

test('groups skills by category; a search matches all words', () => {
  const rows = [row('solo', null), row('alpha', 'ops'), row('beta', 'ops')]
  const names = (query: string) =>
    groupSkills(rows, [{ name: 'ops', description: 'Running' }], query).map(group => [
      group.category,
      group.description,
      group.skills.map(({ name }) => name).join(),
    ])
  assert.equal(names(''), [
    [null, '', 'solo'],
    ['ops', 'Running', 'alpha,beta'],
  ])
  assert.equal(names(' BETA Ops '), [['ops', 'Running', 'beta']])
  assert.equal(names('zzz'), [])
  assert.is(bodyOf('---\nname: a\n---\n\n# T\n---\nx'), '# T\n---\nx')
  assert.is(bodyOf('no head'), 'no head')
})

const skillsPage = (answers: Parameters<typeof fakePlatform>[0] = {}) => {
  const fake = fakePlatform({
    'GET /api/skills': () => ({ skills: [row('deploy', 'ops')], categories: [] }),
    'GET /api/skills/content': ({ name, file }) =>
      file
        ? { content: 'text', path: file, is_binary: false, size: 4, version: 'v1' }
        : skill(String(name)),
    'POST /api/skills/save': ({ name }) => ({ ok: true, name, path: '', version: 'v2' }),
    ...answers,
  })
  const shell = fakeShell(fake.platform)
  const skills = new SkillsState(shell, () => undefined)
  return { ...fake, skills, toasts: shell.toasts, unsaved: shell.layout.unsaved }
}

test('reports a conflict for a skill that changed on disk', async () => {
  const { skills, service, unsaved } = skillsPage({
    'POST /api/skills/save': ({ name, expected_version }) => {
      if (expected_version !== 'v9')
        throw new ApiError(409, 'changed', {
          code: 'skill_changed',
          content: 'theirs',
          version: 'v9',
        })
      return { ok: true, name, path: '', version: 'v10' }
    },
  })
  await skills.load()
  await skills.read('deploy')
  skills.form.edit(skills.open.value!)
  skills.form.change({ content: 'mine' })
  assert.ok(unsaved.has('skill'))
  assert.is(await skills.form.saveSkill(), null)
  assert.equal(skills.form.conflict.value, { content: 'theirs', version: 'v9' })
  assert.is(skills.form.draft.value?.content, 'mine')
  assert.is(await skills.form.saveSkill(true), 'deploy')
  assert.is(service.of('POST /api/skills/save')[1]?.content, 'mine')
  assert.equal([skills.form.draft.value, skills.form.conflict.value, unsaved.size], [null, null, 0])

  skills.form.edit(skills.open.value!)
  await skills.form.saveSkill()
  skills.form.discardMine()
  assert.equal(
    [skills.form.draft.value?.content, skills.form.draft.value?.version],
    ['theirs', 'v9'],
  )
})

test('reports a conflict for a skill file that changed on disk', async () => {
  const { skills, service, toasts, unsaved } = skillsPage({
    'POST /api/skills/save': ({ name, file, expected_version }) => {
      if (expected_version !== 'v9')
        throw new ApiError(409, 'changed', {
          code: 'skill_changed',
          content: 'theirs',
          version: 'v9',
        })
      return { ok: true, name, path: file, version: 'v10' }
    },
  })
  const { file } = skills
  await skills.read('deploy')
  await file.read('references/a.md')
  file.edit()
  file.change({ content: 'mine' })
  assert.ok(unsaved.has('skill-file'))
  await file.saveFile()
  assert.equal(file.conflict.value, { content: 'theirs', version: 'v9' })
  assert.is(file.draft.value?.content, 'mine')

  // While another skill is open, the edits remain and no other edit can start.
  await skills.read('other')
  await file.read('scripts/b.sh')
  file.edit()
  assert.is(file.draft.value?.path, 'references/a.md')
  assert.match(toasts.list.value.at(-1)?.text ?? '', /changes to references\/a\.md/)

  await file.saveFile(true)
  const sent = service.of('POST /api/skills/save').at(-1)
  assert.equal([sent?.name, sent?.file, sent?.content], ['deploy', 'references/a.md', 'mine'])
  assert.equal([file.draft.value, unsaved.size], [null, 0])
  assert.is(file.open.value?.path, 'scripts/b.sh', 'what is looked at stays')

  file.edit()
  await file.saveFile()
  file.discardMine()
  assert.equal([file.draft.value?.content, file.draft.value?.version], ['theirs', 'v9'])
  file.cancel()
  assert.is(unsaved.size, 0)
})

test('updates the name in a new skill’s front matter while typing', async () => {
  const { skills, service } = skillsPage()
  skills.form.create()
  for (const name of ['M', 'My T', 'My Tool']) skills.form.rename(name)
  assert.match(skills.form.draft.value?.content ?? '', /^---\nname: my-tool\n/)
  skills.form.change({ content: '---\nname: own\n---\nx' })
  skills.form.rename('other')
  assert.match(skills.form.draft.value?.content ?? '', /name: own/)
  await skills.form.saveSkill()
  const [sent] = service.of('POST /api/skills/save')
  assert.equal([sent?.name, sent?.create, sent?.expected_version], ['other', true, undefined])
})

test('a new skill is described before it can be saved', () => {
  const { form } = skillsPage().skills
  form.create()
  form.rename('Deploy')
  assert.is(isDescribed(form.draft.value!), false)
  const content = form.draft.value!.content.replace(/^description:.*$/m, 'description: Deploys.')
  form.change({ content })
  assert.is(isDescribed(form.draft.value!), true)
})

test('reverts a rejected toggle; shows why a new skill was rejected', async () => {
  const refuse = () => {
    throw new ApiError(409, 'managed')
  }
  const { skills, toasts } = skillsPage({
    'POST /api/skills/toggle': refuse,
    'POST /api/skills/save': refuse,
  })
  await skills.load()
  await skills.read('deploy')
  await skills.toggle('deploy', false)
  assert.equal([skills.rows.value[0]?.enabled, skills.open.value?.enabled], [true, true])
  assert.is(toasts.list.value[0]?.text, 'managed')
  skills.form.create()
  await skills.form.saveSkill()
  assert.equal([skills.form.problem.value, skills.form.conflict.value], ['managed', null])
})

test('closes the open file when switching skills; reports a missing skill', async () => {
  const { skills, service } = skillsPage()
  await skills.read('deploy')
  await skills.file.read('references/a.md')
  assert.is(skills.file.open.value?.path, 'references/a.md')
  service.answers['GET /api/skills/content'] = () => {
    throw new ApiError(404, 'Skill not found')
  }
  await skills.read('gone')
  assert.equal(
    [skills.file.open.value, skills.open.value, skills.opening.value],
    [null, null, 'failed'],
  )
})

test('loads skill commands from the server', async () => {
  const { platform } = fakePlatform({
    'GET /api/commands': () => ({
      commands: [
        { name: 'new', category: 'Session', description: '', args_hint: '' },
        { name: 'deploy', category: 'Skills', description: 'Ship', args_hint: '[request]' },
      ],
    }),
  })
  const commands = new SkillCommands(platform)
  await commands.load()
  assert.equal(commands.list.value, [
    { name: 'deploy', summary: 'Ship', argument: '[request]', group: 'skills' },
  ])
})

test('finds commands by their aliases', () => {
  assert.is(parseCommand('/reset')?.command.name, 'new')
  assert.is(parseCommand('/Fork')?.command.name, 'branch')
  assert.equal(parseCommand('/insights 90')?.argument, '90')
  assert.is(parseCommand('/deploy it'), null)
})

const memoryReply = (memory: string, version = 'v1') => ({
  ...{ memory, user: 'u', soul: 's', memory_path: '', user_path: '', soul_path: '' },
  ...{ memory_version: version, user_version: 'u1', soul_version: 's1' },
  ...{ memory_char_limit: 10, user_char_limit: 10, soul_char_limit: 10 },
})

test('reports a conflict for a note: discard mine or overwrite', async () => {
  const now = { text: 'one', version: 'v1' }
  const { platform } = fakePlatform({
    'GET /api/memory': () => memoryReply(now.text, now.version),
    'POST /api/memory/write': ({ content, expected_version }) => {
      if (expected_version !== now.version)
        throw new ApiError(409, 'changed', {
          ...{ code: 'note_changed', content: now.text, version: now.version },
        })
      Object.assign(now, { text: content, version: `${now.version}+` })
      return { ok: true }
    },
  })
  const shell = fakeShell(platform)
  const memory = new MemoryState(shell)
  await memory.load()
  memory.edit('memory')
  const file = memory.edited.memory
  file.change({ text: 'mine' })
  Object.assign(now, { text: 'agent', version: 'v2' })
  await memory.save('memory')
  assert.equal(file.conflict.value, { content: 'agent', version: 'v2' })
  assert.is(file.draft.value?.text, 'mine')
  memory.discardMine('memory')
  assert.is(file.draft.value?.text, 'agent')
  file.change({ text: 'mine again' })
  Object.assign(now, { version: 'v3' })
  await memory.save('memory')
  assert.is(now.text, 'agent')
  await memory.save('memory', true)
  assert.equal([now.text, memory.notes.value?.memory.text], ['mine again', 'mine again'])
  assert.equal([file.draft.value, shell.layout.unsaved.size], [null, 0])
})

test('splits notes into entries and rates their length', () => {
  assert.equal(entriesOf('a\n§\nb § c\r\n § \r\n\n'), ['a', 'b § c'])
  assert.equal(
    [80, 81, 100, 101].map(count => levelOf(count, 100)),
    ['low', 'middle', 'middle', 'high'],
  )
})

test('usage: only the newest reply counts; the CSV has the same range and zone', async () => {
  const waiting: ((reply: unknown) => void)[] = []
  const { platform } = fakePlatform({
    'GET /api/insights': () => new Promise(resolve => waiting.push(resolve)),
  })
  const left: unknown[][] = []
  const usage = new UsageState(fakeShell(platform, left), 'Europe/Berlin')
  const [first, second] = [usage.load(7), usage.load(90)]
  waiting[1]?.({ days: 90 })
  waiting[0]?.({ days: 7 })
  await Promise.all([first, second])
  assert.is(usage.report.value?.days, 90)
  usage.exportCsv(90)
  assert.equal(left, [
    [`${base}api/insights?days=90&format=csv&timezone=Europe%2FBerlin`, { download: true }],
  ])
})

test('formats tokens, cost and days', () => {
  assert.equal(
    [0, 9_999, 12_345, 2_500_000].map(count => formatTokens(count, 'en')),
    ['0', '9,999', '12.3K', '2.5M'],
  )
  assert.equal(
    [0, 0.0123, 12.5].map(cost => formatCost(cost, 'en-US')),
    ['$0.00', '$0.0123', '$12.50'],
  )
  assert.is(formatDay('2026-03-01', undefined, 'en-US'), 'Mar 1')
  assert.equal([0, 1, 3, 51, 0.0012].map(niceCeiling), [1, 1, 5, 100, 0.002])
})

test.run()
