/** What a person types into the palette who does not know our name for it. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { App } from '../../../public/app.ts'
import { localEntries } from '../../../public/features/palette/local-entries.ts'
import { PaletteSearch } from '../../../public/features/palette/search-palette.ts'
import { fakePlatform, fakeRow } from '../_page.ts'

const test = suite('palette: other words')

const value = <T>(of: T) => ({ value: of })

/** A page with an open chat that is running, as far as the palette reads it. */
const page = (): App =>
  ({
    shell: { layout: { mac: false }, route: { sessionId: value('a') } },
    sessions: { row: () => fakeRow('a'), profileRows: value([]), now: value(0) },
    chat: { transcript: { busy: value(true), chat: value({ messages: [{}] }) } },
    composer: {
      draft: { text: value('') },
      skillCommands: { list: value([]), more: value([]) },
      reasoning: { offered: value(['high']) },
    },
    models: { all: value([]) },
  }) as unknown as App

const WANTED: Readonly<Record<string, string>> = {
  split: 'New chat beside this one',
  'side by side': 'New chat beside this one',
  dark: 'Theme: Dark',
  night: 'Theme: Dark',
  font: 'Text size',
  zoom: 'Text size',
  terminal: 'Terminal',
  shell: 'Terminal',
  stop: 'Stop the answer',
  cancel: 'Stop the answer',
  rename: 'Rename',
  title: 'Rename',
  export: 'Export as Markdown',
  download: 'Export as Markdown',
  archive: 'Archive',
  duplicate: 'Duplicate',
  copy: 'Duplicate',
  fork: 'Branch',
  favorite: 'Pin',
  remove: 'Delete',
  'share link': 'Share…',
  search: 'Find in this chat',
  diff: 'Changes',
  commit: 'Changes',
  worktree: 'Work in a new worktree…',
  cron: 'Tasks',
  schedule: 'Tasks',
  cost: 'Usage',
  approvals: 'Inbox',
  hotkeys: 'Keyboard shortcuts',
  'api key': 'Models and keys',
  'switch model': 'Choose the model',
  translation: 'Language',
  'two-factor': 'Access',
  undo: '/undo',
  retry: '/retry',
  'side question': '/btw',
}

test('each of these words finds its entry among the first three of a section', () => {
  const app = page()
  const search = new PaletteSearch({
    platform: fakePlatform().platform,
    local: () => localEntries(app),
    remote: async () => [],
    recentLabel: 'Recent',
  })
  const lost = Object.entries(WANTED).filter(([typed, label]) => {
    search.set(typed)
    const sections = search.sections.value
    return !sections.some(({ entries }) => entries.slice(0, 3).some(entry => entry.label === label))
  })
  assert.equal(lost, [])
})

test('every action is found by its own label', () => {
  const app = page()
  const search = new PaletteSearch({
    platform: fakePlatform().platform,
    local: () => localEntries(app),
    remote: async () => [],
    recentLabel: 'Recent',
  })
  const labels = localEntries(app).map(({ label }) => label)
  const lost = labels.filter(label => {
    search.set(label)
    return !search.sections.value.some(({ entries }) => entries[0]?.label === label)
  })
  assert.equal(lost, [])
})

test.run()
