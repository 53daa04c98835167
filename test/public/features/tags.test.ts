/** Tags of titles, and changing them in several chats at once. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { App } from '../../../public/app.ts'
import { tagAll } from '../../../public/features/sessions/bulk-actions.ts'
import { parseTags, withTags } from '../../../public/features/sessions/tags.ts'
import { fakeRow } from '../_page.ts'

const test = suite('tags')

test('reads typed words as tags, and rejects what the list would not show as one', () => {
  assert.equal(parseTags('#Release, notes  release'), ['release', 'notes'])
  assert.equal(parseTags('تقرير 発売 q-3_1'), ['تقرير', '発売', 'q-3_1'])
  assert.equal(parseTags(' '), [])
  for (const bad of ['a.b', '##x', '-a', 'a!']) assert.is(parseTags(bad), null, bad)
})

test('adds and removes tags in a title, and nothing else', () => {
  const change = (title: string, add: string[], remove: string[] = []) =>
    withTags(title, { add, remove })
  assert.is(change('Fix it', ['a', 'b']), 'Fix it #a #b')
  assert.is(change('Fix #A  it', ['a']), 'Fix #A  it')
  assert.is(change('Fix #A it #b #abc', [], ['a']), 'Fix it #b #abc')
  assert.is(change('Fix a #a, b', [], ['a']), 'Fix a, b')
  assert.is(change('#a Fix', [], ['a']), 'Fix')
  assert.is(change('#a', [], ['a']), 'a')
  assert.is(change('x'.repeat(79), ['a']), null)
})

test('tags several chats; undo restores the titles that were not changed since', async () => {
  const titles = new Map([
    ['a', 'One'],
    ['b', 'Two #old'],
    ['c', 'x'.repeat(80)],
  ])
  const toasts: { text: string; undo?: () => void }[] = []
  const app = {
    sessions: {
      row: (id: string) => fakeRow(id, { title: titles.get(id)! }),
      rename: async (id: string, title: string) => void titles.set(id, title),
    },
    shell: {
      toasts: {
        show: (text: string, { action }: { action?: { run: () => void } }) =>
          toasts.push({ text, ...(action && { undo: action.run }) }),
      },
    },
  } as unknown as App
  await tagAll(app, ['a', 'b', 'c'], { add: ['new'], remove: ['old'] })
  assert.equal([...titles.values()], ['One #new', 'Two #new', 'x'.repeat(80)])
  assert.equal(
    toasts.map(({ text }) => text),
    ['The title of 1 chat is too long for the tags', 'Changed the tags of 2 chats'],
  )
  titles.set('a', 'Renamed since')
  toasts[1]?.undo?.()
  await new Promise(setImmediate)
  assert.equal([...titles.values()], ['Renamed since', 'Two #old', 'x'.repeat(80)])
})

test.run()
