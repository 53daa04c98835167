/** Composer: drafts, attachments, recall and completion. */
import { signal } from '@preact/signals'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ApiError } from '../../../public/api.ts'
import type { FoundFile } from '../../../lib/schema/workspace.ts'
import {
  type CompletionOptions,
  Completion,
  findTrigger,
} from '../../../public/features/composer/completion.ts'
import {
  findCommands,
  type OfferedCommand,
} from '../../../public/features/composer/find-commands.ts'
import { withMentions } from '../../../public/features/composer/mentions.ts'
import { withFiles } from '../../../lib/base/draft-message.ts'
import { Composer } from '../../../public/features/composer/composer.ts'
import { withoutFiles } from '../../../public/features/messages/message-text.ts'
import { createTestClock } from '../../_clock.ts'
import { fakePlatform, settle, unnamed } from '../_page.ts'

const DRAFT = 'POST /api/session/draft'
const setUp = () => {
  const fake = fakePlatform({ [DRAFT]: () => ({ ok: true }) })
  /** That of a chat, as when the page was just loaded; of a chat without a session: ''. */
  const open = (id: string, platform = fake.platform) =>
    new Composer(platform, { key: 'k', sessionId: signal(id) })
  return { ...fake, open }
}

const test = suite('composer')

test('a draft that the server does not store is written in this browser, once for many keys', async () => {
  const { open, clock, service, platform } = setUp()
  const writes: string[] = []
  const { write } = platform.drafts
  platform.drafts.write = (key, value) => {
    writes.push(key)
    write(key, value)
  }
  const composer = open('a')
  const text = 'w'.repeat(60_000)
  for (let key = 0; key < 10; key++) {
    composer.edit(text + key)
    await clock.advance(700)
  }
  assert.equal(writes, [])
  await clock.advance(5_000)
  await settle()
  assert.equal([writes.length, service.of(DRAFT).length], [1, 0])
  assert.is(open('a').text.value, `${text}9`)
})

test('a draft over the limit of a request that outlives its page is sent as a usual one', async () => {
  const { open, clock, platform } = setUp()
  const sent: (boolean | undefined)[] = []
  const { api } = platform
  const composing = open('a', {
    ...platform,
    api: (async (...args: Parameters<typeof api>) => {
      sent.push((args[2] as { keepalive?: boolean } | undefined)?.keepalive)
      return await api(...args)
    }) as typeof api,
  })
  // Three bytes each.
  composing.edit('語'.repeat(30_000))
  await clock.advance(600)
  await settle()
  composing.edit('short')
  await clock.advance(600)
  await settle()
  assert.equal(sent, [false, true])
})

test('a key in a long text looks at the end of it only', () => {
  const text = `${'word '.repeat(1_000_000)}@rea`
  assert.equal(findTrigger(text, text.length), {
    kind: 'file',
    query: 'rea',
    from: text.length - 4,
    to: text.length,
  })
  assert.is(findTrigger(`/${'a'.repeat(5_000)}`, 5_001), null)
})

test('a draft that could not be saved is tried again with the next change', async () => {
  const { open, clock, service } = setUp()
  const composer = open('a')
  service.answers[DRAFT] = () => {
    throw new ApiError(0, 'offline')
  }
  composer.edit('one')
  await clock.advance(600)
  await settle()
  service.answers[DRAFT] = () => ({ ok: true })
  await composer.save()
  assert.is(service.of(DRAFT).length, 2)
})

test('a draft that did not reach the server is sent again by itself, ever more rarely; one that was refused is not', async () => {
  const { open, clock, service } = setUp()
  const attempts = () => service.of(DRAFT).length
  const pass = async (ms: number) => {
    await clock.advance(ms)
    await settle()
  }
  const arrived = Promise.withResolvers<object>()
  service.answers[DRAFT] = () => arrived.promise
  const composer = open('a')
  composer.edit('one')
  await pass(600)
  // The connection is back before the request is known to have failed.
  await composer.save()
  arrived.reject(new ApiError(0, 'offline'))
  await settle()
  assert.is(attempts(), 1)
  service.answers[DRAFT] = () => {
    throw new ApiError(0, 'offline')
  }
  await pass(3_000)
  assert.is(attempts(), 2)
  await pass(3_000)
  assert.is(attempts(), 2)
  service.answers[DRAFT] = () => ({ ok: true })
  await pass(3_000)
  assert.is(attempts(), 3)
  await pass(60_000)
  assert.is(attempts(), 3)

  service.answers[DRAFT] = () => {
    throw new ApiError(403, 'You may only read here', { code: 'forbidden' })
  }
  composer.edit('two')
  await pass(600)
  assert.is(attempts(), 4)
  await pass(60_000)
  assert.is(attempts(), 4)
})

test('a draft that could not be saved survives a reload, is saved when it is opened again, and is of its chat only', async () => {
  const { open, clock, service, platform } = setUp()
  service.answers[DRAFT] = () => {
    throw new ApiError(0, 'offline')
  }
  // Of the closed page nothing more is saved: its clock stands still.
  const closed = { ...platform, clock: createTestClock() }
  const [a, b] = [open('a', closed), open('b', closed)]
  a.edit('long thought')
  void a.leave()
  b.edit('other')
  void b.leave()
  await settle()
  assert.equal([a.text.value, b.text.value, open('').text.value], ['long thought', 'other', ''])
  a.applyServerDraft({ text: 'what the server has', files: [] })
  assert.is(a.text.value, 'long thought')

  const reloaded = open('a')
  service.answers[DRAFT] = () => ({ ok: true })
  const calls = service.of(DRAFT).length
  reloaded.applyServerDraft({ text: 'what the server has', files: [] })
  assert.is(reloaded.text.value, 'long thought')
  await clock.advance(600)
  await settle()
  assert.equal(unnamed(service.of(DRAFT)).slice(calls), [
    { session_id: 'a', text: 'long thought', files: [], comments: [] },
  ])
  const again = open('a')
  again.applyServerDraft({ text: 'newer, of another device', files: [] })
  assert.is(again.text.value, 'newer, of another device', 'the saved draft is no longer kept here')
  assert.is(open('b').text.value, 'other')
})

test('a late answer to an earlier save does not drop the draft kept since', async () => {
  const { open, service } = setUp()
  const first = Promise.withResolvers<object>()
  service.answers[DRAFT] = () => first.promise
  const composer = open('a')
  composer.edit('one')
  void composer.save()
  service.answers[DRAFT] = () => {
    throw new ApiError(0, 'offline')
  }
  composer.edit('one two')
  await composer.save()
  first.resolve({ ok: true })
  await settle()
  assert.is(open('a').text.value, 'one two')
})

test('saves drafts after a pause, and at once when another chat is shown', async () => {
  const { open, clock, service } = setUp()
  const composer = open('a')
  composer.edit('h')
  await clock.advance(500)
  composer.edit('hello')
  await clock.advance(500)
  assert.is(service.calls.length, 0)
  await clock.advance(100)
  assert.equal(unnamed(service.of(DRAFT)), [{ session_id: 'a', text: 'hello', files: [] }])
  composer.edit('hello you')
  void composer.leave()
  assert.equal(unnamed(service.of(DRAFT))[1], { session_id: 'a', text: 'hello you', files: [] })
  assert.is(open('b').text.value, '')
})

test("the server's draft fills an untouched box only; one that was left and saved is untouched again", async () => {
  const { open, service } = setUp()
  const composer = open('a')
  composer.applyServerDraft({ text: 'kept', files: ['x'] })
  assert.equal([composer.text.value, composer.files.value], ['kept', ['x']])
  composer.edit('mine')
  composer.applyServerDraft({ text: 'late', files: [] })
  assert.is(composer.text.value, 'mine')
  await composer.leave()
  composer.applyServerDraft({ text: 'of another device', files: [] })
  assert.is(composer.text.value, 'of another device')

  const arrived = Promise.withResolvers<object>()
  service.answers[DRAFT] = () => arrived.promise
  composer.edit('left too soon')
  const left = composer.leave()
  // Opened again, before the server had it.
  composer.applyServerDraft({ text: 'of before', files: [] })
  composer.edit('written meanwhile')
  arrived.resolve({ ok: true })
  await left
  composer.applyServerDraft({ text: 'of before', files: [] })
  assert.is(composer.text.value, 'written meanwhile')
})

test('stores the draft of a new chat in the browser, under its key, until its session is created', async () => {
  const { clock, device, platform, service, open } = setUp()
  const sessionId = signal('')
  const composer = new Composer(platform, { key: 'k', sessionId })
  composer.edit('idea')
  await clock.advance(600)
  await composer.leave()
  assert.is(open('').text.value, 'idea')
  const beside = new Composer(platform, { key: 'other', sessionId: signal('') })
  assert.is(beside.text.value, '')
  composer.forget(composer.takeDraft(), true)
  sessionId.value = 'n'
  composer.begin(true)
  assert.is(device.values.get('draft:k'), undefined)
  // What is written from now on is of the session.
  composer.edit('more')
  await clock.advance(600)
  await settle()
  assert.equal(unnamed(service.of(DRAFT)), [{ session_id: 'n', text: 'more', files: [] }])
  assert.is(open('').text.value, '')
})

test('what was written while the session of a new chat was created is saved there', async () => {
  const { clock, device, platform, service } = setUp()
  const sessionId = signal('')
  const composer = new Composer(platform, { key: 'k', sessionId })
  composer.edit('first')
  composer.forget(composer.takeDraft(), true)
  composer.edit('second')
  await clock.advance(600)
  sessionId.value = 'n'
  composer.begin(true)
  await clock.advance(600)
  await settle()
  assert.equal(
    [unnamed(service.of(DRAFT)), device.values.get('draft:k')],
    [[{ session_id: 'n', text: 'second', files: [] }], undefined],
  )
})

test('files are named below the text, and come off again', () => {
  assert.is(withFiles('look', []), 'look')
  const sent = withFiles('look', ['a.ts', 'b.ts'])
  assert.is(sent, 'look\n\n[Attached files: a.ts, b.ts]')
  assert.is(withoutFiles(sent), 'look')
  assert.is(withFiles('', ['a.ts']), '[Attached files: a.ts]')
  // Names may have brackets, and a text that only looks like the line stays.
  for (const text of ['look', '', 'see [Attached files: x] of [y]'])
    assert.is(withoutFiles(withFiles(text, ['a[1].ts', 'b.ts'])), text)
  assert.is(withoutFiles('see [Attached files: x] of [y]'), 'see [Attached files: x] of [y]')
})

test('earlier prompts are recalled and left again', () => {
  const composer = setUp().open('')
  const prompts = ['first', 'second']
  assert.not.ok(composer.recall([], 1))
  assert.ok(composer.recall(prompts, 1))
  assert.is(composer.text.value, 'second')
  composer.recall(prompts, 1)
  assert.is(composer.text.value, 'first')
  assert.not.ok(composer.recall(prompts, 1))
  composer.recall(prompts, -1)
  composer.recall(prompts, -1)
  assert.equal([composer.text.value, composer.isRecalling()], ['', false])
})

test('what could not be sent comes back in front', () => {
  const composer = setUp().open('')
  composer.edit('new')
  composer.restoreDraft({ text: 'old', files: ['a'] })
  assert.equal([composer.text.value, composer.files.value], ['old\n\nnew', ['a']])
})

test('what opens a menu, and what does not', async () => {
  for (const text of ['', 'a / b', 'mail@host', '/a b', 'a /b', '//x']) {
    assert.is(findTrigger(text, text.length), null, text)
  }
  assert.equal(findTrigger('/mo', 3), { kind: 'command', query: 'mo', from: 0, to: 3 })
  assert.equal(findTrigger('see @src/a', 10), { kind: 'file', query: 'src/a', from: 4, to: 10 })
})

const COMMANDS: OfferedCommand[] = [
  { name: 'remodel', argument: '', summary: '', group: 'options' },
  { name: 'model', argument: '[search]', summary: '', group: 'options' },
  { name: 'tidy', argument: '', summary: 'Clean the models', group: 'skills' },
  { name: 'undo', argument: '', summary: 'Undo', group: 'chat' },
]

const offered = (
  search: (query: string) => Promise<FoundFile[]> = async () => [],
  mentions: CompletionOptions['mentions'] = async (_, files) => files,
) => {
  const fake = fakePlatform()
  const asked: string[] = []
  const completion = new Completion({
    platform: fake.platform,
    search,
    mentions,
    commands: query => findCommands(COMMANDS, query),
    async entries(directory) {
      asked.push(directory)
      if (directory === 'none') throw new ApiError(404, 'missing')
      const at = directory ? `${directory}/` : ''
      return [
        { name: 'src', path: `${at}src`, type: 'dir', size: null },
        { name: '.git', path: `${at}.git`, type: 'dir', size: null },
        { name: 'app.ts', path: `${at}app.ts`, type: 'file', size: 1 },
      ]
    },
  })
  const type = async (text: string) => {
    completion.update(text, text.length)
    await fake.clock.advance(60)
    await settle()
    return completion.suggestions.value.map(offer =>
      offer.kind === 'file' ? offer.path : offer.name,
    )
  }
  return { completion, type, asked }
}

test('commands: by group, the best match first, also by what they do; adds a space for an argument', async () => {
  const { completion, type } = offered()
  assert.equal(await type('/'), ['undo', 'remodel', 'model', 'tidy'])
  assert.equal(await type('/clean'), ['tidy'])
  assert.equal(await type('/mod'), ['model', 'remodel', 'tidy'])
  const taken = completion.apply('/mod', completion.suggestions.value[0]!)
  assert.equal(taken, { text: '/model ', caret: 7, file: null })
})

test('files: a directory continues, a file becomes a chip, hidden files need a dot', async () => {
  const { completion, type, asked } = offered()
  assert.equal(await type('see @'), ['src', 'app.ts'])
  const folder = completion.apply('see @', completion.suggestions.value[0]!)
  assert.equal(folder, { text: 'see @src/', caret: 9, file: null })
  assert.equal(await type(folder.text), ['src/src', 'src/app.ts'])
  const file = completion.apply(folder.text, completion.suggestions.value[1]!)
  assert.equal(file, { text: 'see src/app.ts ', caret: 15, file: 'src/app.ts' })
  assert.equal(await type('@.g'), ['.git'])
  assert.equal(await type('@none/x'), [])
  assert.equal(asked, ['', 'src', '', 'none'])
})

test('files: a name is searched at any depth; a late answer never replaces a newer one', async () => {
  const deep: FoundFile = { path: 'src/deep/retry.ts', type: 'file', ranges: [9, 14] }
  let answer = (_: FoundFile[]) => {}
  const { completion, type } = offered(query =>
    query === 'slow' ? new Promise(resolve => (answer = resolve)) : Promise.resolve([deep]),
  )
  assert.equal(await type('@slow'), [])
  assert.equal(await type('@retry'), ['src/deep/retry.ts'])
  answer([{ ...deep, path: 'late.ts' }])
  await settle()
  const [first] = completion.suggestions.value
  assert.equal(first?.kind === 'file' && [first.path, first.ranges], ['src/deep/retry.ts', [9, 14]])
  assert.is(completion.apply('@retry', first!).text, 'src/deep/retry.ts ')
})

test('chats and skills: listed with the files, the closest group first; a path names a file only', async () => {
  const service = fakePlatform({
    'GET /api/mentions': () => ({
      mentions: [
        { kind: 'chat', id: 'abc123', name: 'Unify [the] retry logic', ranges: [], updated_at: 1 },
        { kind: 'skill', id: 'code review', name: 'code review', ranges: [], description: 'How' },
      ],
    }),
  })
  const { completion, type } = offered(
    async () => [{ path: 'r/e/try.ts', type: 'file', ranges: [] }],
    (query, files) => withMentions(service.platform, { query, sessionId: 'open', files }),
  )
  const chat = 'Unify [the] retry logic'
  assert.equal(await type('like @retry'), [chat, 'r/e/try.ts', 'code review'])
  assert.equal(service.service.of('GET /api/mentions'), [
    { q: 'retry', limit: 6, session_id: 'open' },
  ])
  const [first, , skill] = completion.suggestions.value
  assert.is(
    completion.apply('like @retry', first!).text,
    'like [Unify the retry logic](chat:abc123) ',
  )
  assert.is(completion.apply('like @retry', skill!).text, 'like [code review](skill:code review) ')
  assert.equal(await type('@src/retry'), ['r/e/try.ts'])
})

test('files are offered although chats and skills could not be fetched', async () => {
  const { type } = offered(undefined, async () => {
    throw new ApiError(0, 'offline')
  })
  assert.equal(await type('@'), ['src', 'app.ts'])
})

test('Escape dismisses completion until the query changes', async () => {
  const { completion, type } = offered()
  await type('/mo')
  completion.dismiss()
  assert.equal(await type('/mo'), [])
  assert.equal(await type('/mod'), ['model', 'remodel', 'tidy'])
})

test('texts that were refused one after the other are put back in their order, before what was written since', () => {
  const { platform } = fakePlatform({ [DRAFT]: () => ({ ok: true }) })
  const composer = new Composer(platform, { key: 'a', sessionId: signal('a') })
  composer.edit('three')
  composer.restoreDraft({ text: 'one', files: [] })
  composer.restoreDraft({ text: 'two', files: [] })
  assert.is(composer.text.value, 'one\n\ntwo\n\nthree')
})

test.run()
