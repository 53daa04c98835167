/** Drafts of new chats: each chat keeps its own, on both sides, in all tabs of a browser, and after they are closed. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ApiError } from '../../../public/api.ts'
import { CREATED } from '../../../public/features/chat/chats.ts'
import { followCreated } from '../../../public/features/offline/start.ts'
import { openSecond } from '../../../public/features/frame/second-pane.ts'
import { createPage } from '../_open-page.ts'
import { fakeMemory, fakePlatform, fakeRow, fakeSession, settle } from '../_page.ts'

const test = suite('drafts of new chats')

const never = () => new Promise<never>(() => {})

/** Its tabs have the locks of those that are open. */
const createBrowser = () => {
  const drafts = fakeMemory()
  const locks = new Map<string, object>()
  const net = { isOnline: true }
  let sessions = 0
  const open = async ({ tab = fakeMemory(), href = '' } = {}) => {
    const reach =
      <T>(answer: () => T) =>
      (): T => {
        if (!net.isOnline) throw new ApiError(0, 'Can’t reach the server')
        return answer()
      }
    const fake = fakePlatform({
      'GET /api/settings': () => ({ bot_name: 'Bot', webui_version: '1', auth_enabled: false }),
      'GET /api/models': () => ({ active_provider: 'p', default_model: 'm', groups: [] }),
      'GET /api/workspaces': () => ({ workspaces: [], last: '/w' }),
      'GET /api/sessions': () => ({ sessions: [], cursor: 'aaaaaaaa-1' }),
      'GET /api/inbox': () => ({ questions: [], cursor: 'aaaaaaaa-1' }),
      'GET /api/session': ({ session_id: id }) => ({ session: fakeSession(String(id)) }),
      'POST /api/session/new': reach(() => ({ session: fakeRow(`n${++sessions}`) })),
      'POST /api/session/draft': reach(() => ({ ok: true })),
      'POST /api/chat/start': reach(() => ({})),
      'POST /api/upload': ({ name, size }) => ({ filename: name, path: name, size }),
    })
    const owner = {}
    const platform = {
      ...{ ...fake.platform, drafts, tab },
      exclusively: async <T>(name: string, work: () => Promise<T>): Promise<T> => {
        if (!locks.has(name)) locks.set(name, owner)
        try {
          return await work()
        } finally {
          if (locks.get(name) === owner) locks.delete(name)
        }
      },
      isFree: async (name: string) => !locks.has(name),
    }
    const { page, start } = createPage(platform, href)
    await start()
    await settle()
    const first = page.first
    return {
      ...{ page, first, fake, tab },
      text: () => first.app.peek().composer.draft.text.peek(),
      async write(text: string) {
        first.app.peek().composer.draft.edit(text)
        await first.app.peek().composer.draft.save()
      },
      async send(text: string) {
        first.app.peek().composer.draft.edit(text)
        void first.app.peek().composer.submit()
        await settle()
      },
      async show(id: string | null) {
        page.shell.route.openSession(id)
        await settle()
      },
      close() {
        for (const [name, of] of locks) if (of === owner) locks.delete(name)
      },
    }
  }
  return { open, net, drafts }
}

test('two sides, and two tabs, have drafts of their own, also after a reload', async () => {
  const { open } = createBrowser()
  const one = await open({ href: '?beside=' })
  const beside = openSecond(one.page)
  await settle()
  const two = await open()
  await one.write('of one')
  beside.openChat.peek().draft.edit('beside')
  await beside.openChat.peek().draft.save()
  await two.write('of two')
  one.close()
  two.close()
  const [first, second] = [
    await open({ tab: one.tab, href: '?beside=' }),
    await open({ tab: two.tab }),
  ]
  assert.equal([first.text(), second.text()], ['of one', 'of two'])
  const again = openSecond(first.page)
  await settle()
  assert.is(again.openChat.peek().draft.text.peek(), 'beside')
})

test('a tab without a draft shows the one of a tab that was closed, and leaves that of an open one', async () => {
  const { open } = createBrowser()
  const one = await open()
  await one.write('not sent')
  const two = await open()
  assert.is(two.text(), '')
  one.close()
  // Not in the middle of something else.
  await two.write('of two')
  await two.show('a')
  await two.show(null)
  assert.is(two.text(), 'of two')
  const three = await open()
  assert.is(three.text(), 'not sent')
  await three.write('')
  three.close()
  assert.is((await open()).text(), '')
})

test('a new chat begun while the messages of another one wait does not have its draft; each gets its own session', async () => {
  const { open, net, drafts } = createBrowser()
  net.isOnline = false
  const one = await open()
  await one.send('waits')
  await one.write('half a thought')
  one.first.newChat()
  await settle()
  assert.is(one.text(), '')
  await one.write('another')
  // Both are there after a reload, one of them with the session that is created then.
  one.close()
  const again = await open({ tab: one.tab })
  assert.is(again.text(), 'another')
  net.isOnline = true
  await again.page.outbox.flush()
  await settle()
  assert.is(again.text(), 'another')
  await again.show('n1')
  assert.is(again.text(), 'half a thought')
  await again.send('half a thought, sent')
  await again.show(null)
  assert.is(again.text(), 'another')
  await again.send('another')
  const keys = drafts.keys().filter(key => key.startsWith('draft'))
  assert.equal([keys, drafts.read('unsaved-drafts', {})], [[], {}])
})

test('a tab that was duplicated shows the session that the other one creates, and keeps only what was written in it', async () => {
  for (const [isWritten, isByFile] of [
    [true, false],
    [false, false],
    [true, true],
    [false, true],
  ] as const) {
    const { open, drafts } = createBrowser()
    const one = await open()
    await one.write('hello')
    const tab = fakeMemory()
    for (const key of one.tab.keys()) tab.write(key, one.tab.read(key, null))
    const two = await open({ tab })
    assert.is(two.first.openChat.peek().key, one.first.openChat.peek().key)
    assert.is(two.text(), 'hello')
    if (isWritten) two.first.app.peek().composer.draft.edit('mine')
    // As the browser tells other tabs.
    const write = drafts.write
    drafts.write = (key, value) => {
      write(key, value)
      if (key.startsWith(CREATED)) followCreated(two.page, key.slice(CREATED.length), String(value))
    }
    if (isByFile) one.first.app.peek().composer.attachments.add([new File(['x'], 'one.txt')])
    else void one.first.app.peek().composer.submit()
    await settle()
    for (const { page } of [one, two]) assert.is(page.shell.route.sessionId.peek(), 'n1')
    assert.is(two.first.app.peek().chat.transcript.state.peek(), 'ready')
    assert.is(two.text(), isWritten ? 'mine' : '')
    assert.is(one.text(), isByFile ? 'hello' : '')
    assert.equal(
      drafts.keys().filter(key => /^(?:draft|created):/.test(key)),
      [],
    )
    // Another one is begun in each.
    for (const { first } of [one, two]) first.newChat()
    assert.not.equal(one.first.openChat.peek().key, two.first.openChat.peek().key)
  }
})

test('what waits for a new chat whose page was closed is shown with its draft', async () => {
  const { open, net } = createBrowser()
  net.isOnline = false
  const one = await open()
  await one.send('waits')
  await one.write('half a thought')
  one.close()
  const two = await open()
  const { key } = two.first.openChat.peek()
  assert.equal([two.text(), two.page.outbox.of(key, null).length], ['half a thought', 1])
})

test('what was written while the session was created is stored at once', async () => {
  const { open, drafts } = createBrowser()
  const one = await open()
  const created = Promise.withResolvers<object>()
  Object.assign(one.fake.service.answers, {
    'POST /api/session/draft': never,
    'POST /api/session/new': () => created.promise,
  })
  await one.send('hello')
  one.first.app.peek().composer.draft.edit('more')
  created.resolve({ session: fakeRow('n') })
  await settle()
  assert.equal(
    Object.values(drafts.read<object>('unsaved-drafts', {})).map(({ text }) => text),
    ['more'],
  )
})

test.run()
