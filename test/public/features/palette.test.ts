/** What the palette lists: recent entries, sections, server results, late and failed answers. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  PaletteSearch,
  type PaletteEntry,
} from '../../../public/features/palette/search-palette.ts'
import { settingEntries } from '../../../public/features/settings-view/settings-index.ts'
import { fakePlatform, settle } from '../_page.ts'

const test = suite('page: palette')

const entry = (section: string, label: string, more: Partial<PaletteEntry> = {}): PaletteEntry => ({
  id: `${section}:${label}`,
  section,
  label,
  run: () => label,
  ...more,
})
const LOCAL = [
  entry('Chats', 'Unify the retry logic'),
  entry('Actions', 'New chat'),
  entry('Actions', 'Theme: nord', { searchOnly: true }),
  entry('Settings', 'Assistant name', { words: 'header of the retry', searchOnly: true }),
]

const opened = (
  remote: (query: string) => Promise<readonly PaletteEntry[]> = async () => [],
  fake = fakePlatform(),
) => {
  const search = new PaletteSearch({
    platform: fake.platform,
    local: () => LOCAL,
    remote,
    recentLabel: 'Recent',
  })
  const shown = () =>
    search.sections.value.map(({ label, entries }) => [label, ...entries.map(one => one.label)])
  const type = async (text: string) => {
    search.set(text)
    await fake.clock.advance(120)
    await settle()
    return shown()
  }
  return { search, shown, type, fake }
}

test('a failed search of the server keeps the results of the page and says so', async () => {
  const { search, type } = opened(async () => {
    throw new Error('offline')
  })
  assert.equal(await type('retry logic'), [['Chats', 'Unify the retry logic']])
  assert.equal([search.hasFailed.value, search.busy.value], [true, false])
  await type('')
  assert.is(search.hasFailed.value, false)
})

test('Enter takes the chat that was open before; the open one is not listed', () => {
  const { platform } = fakePlatform()
  platform.device.write('palette-recent', ['Chats:Open', 'Actions:New chat'])
  const search = new PaletteSearch({
    platform,
    local: () => [entry('Chats', 'Open'), entry('Chats', 'Before'), ...LOCAL],
    remote: async () => [],
    recentLabel: 'Recent',
    first: () => ({ id: 'Chats:Before', without: 'Chats:Open' }),
  })
  assert.equal(
    search.sections.value.map(({ label, entries }) => [label, ...entries.map(one => one.label)]),
    [
      ['Recent', 'Before', 'New chat'],
      ['Chats', 'Unify the retry logic'],
    ],
  )
})

test('without a query: what was picked last, then chats and actions', async () => {
  const { search, shown, fake } = opened()
  assert.equal(shown(), [
    ['Chats', 'Unify the retry logic'],
    ['Actions', 'New chat'],
  ])
  await search.set('nord')
  assert.is(search.pick('Actions:Theme: nord'), 'Theme: nord')
  assert.is(search.pick('gone'), undefined)
  assert.equal(opened(undefined, fake).shown(), [
    ['Recent', 'Theme: nord'],
    ['Chats', 'Unify the retry logic'],
    ['Actions', 'New chat'],
  ])
})

test('marks the matched letters, finds settings by their explanation, never marks beyond the label', async () => {
  const { search, type } = opened()
  await type('chat')
  assert.equal(search.sections.value[0]?.entries[0]?.ranges, [4, 8])
  assert.equal(await type('header'), [['Settings', 'Assistant name']])
  assert.equal(search.sections.value[0]?.entries[0]?.ranges, [])
})

test('results of the server follow those of the page, without repeats; a late answer is dropped', async () => {
  const answers = new Map<string, (entries: readonly PaletteEntry[]) => void>()
  const { search, shown, type } = opened(
    query => new Promise(resolve => answers.set(query, resolve)),
  )
  await type('ret')
  assert.is(search.busy.value, true)
  await type('retry')
  answers.get('retry')!([LOCAL[0]!, entry('Files', 'src/retry.ts')])
  await settle()
  const expected = [
    ['Chats', 'Unify the retry logic'],
    ['Settings', 'Assistant name'],
    ['Files', 'src/retry.ts'],
  ]
  assert.equal(shown(), expected)
  answers.get('ret')!([entry('Files', 'late.ts')])
  await settle()
  assert.equal([shown(), search.busy.value], [expected, false])
})

test('until the server has answered, its results for the last query stay only where they match the new one', async () => {
  const found = [
    entry('Files', 'src/zebra.ts'),
    entry('Found', 'An old chat', { hint: 'the zoo has a zebra' }),
    entry('Files', 'src/zoo.ts'),
  ]
  const { search, shown, type } = opened(async query => {
    if (query === 'zebra lion') throw new Error('offline')
    return found
  })
  await type('z')
  search.set('zebra')
  const matching = [
    ['Files', 'src/zebra.ts'],
    ['Found', 'An old chat'],
  ]
  assert.equal(shown(), matching)
  search.set('xylophone')
  assert.equal(shown(), [])
  assert.equal(await type('zebra lion'), [])
})

test('every setting is listed once', () => {
  const labels = settingEntries().map(({ section, label }) => `${section} ${label}`)
  assert.is(new Set(labels).size, labels.length)
})

test.run()
