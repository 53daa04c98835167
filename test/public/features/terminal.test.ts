/** The terminal's client: output in order, input exactly once, over lost connections; keys, links. */
import { fakePlatform, fakeShell } from '../_page.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type ApiCall, ApiError } from '../../../public/api.ts'
import { arrowKey, isForPage, withCtrl } from '../../../public/features/terminal/keys.ts'
import { addressesIn } from '../../../public/features/terminal/links.ts'
import { TerminalClient } from '../../../public/features/terminal/terminal-client.ts'
import { Terminals } from '../../../public/features/terminal/terminals.ts'

const test = suite('terminal: client')

/** A server that answers in order; `null` is a lost connection. */
const serve = (replies: Record<string, (Record<string, unknown> | Error | null)[]>) => {
  const calls: Record<string, unknown>[] = []
  const api = (async (route: string, input: Record<string, unknown>) => {
    calls.push({ route: route.split('/').at(-1), ...input })
    const reply = replies[route.split('/').at(-1)!]?.shift()
    if (reply === undefined) return new Promise(() => {})
    if (reply === null) throw new ApiError(0, 'unreachable')
    if (reply instanceof Error) throw reply
    return reply
  }) as unknown as ApiCall
  return { api, calls }
}
const running = { status: 'running', exit_code: null }
const exited = { status: 'exited', exit_code: 3 }

const follow = async (replies: Parameters<typeof serve>[0], typed: string[] = []) => {
  const { api, calls } = serve(replies)
  const shown: string[] = []
  const links: string[] = []
  const client = new TerminalClient({
    api,
    session: () => 's',
    terminalId: 't',
    name: 'me',
    write: async (text, reset) => void shown.push(reset ? `reset ${text}` : text),
    onLink: link => void (links.at(-1) === link || links.push(link)),
    wait: async () => {},
  })
  client.start()
  for (const data of typed) client.type(data)
  for (let round = 0; round < 40; round++) await Promise.resolve()
  return { shown, links, calls, client }
}

test('continues at the same position after a lost connection, and reports the end', async () => {
  const { shown, links, calls } = await follow({
    read: [
      { text: 'a', next: 1, reset: false, more: true, terminal: running },
      null,
      { text: 'b', next: 2, reset: false, more: false, terminal: running },
      { text: 'z', next: 9, reset: true, more: false, terminal: exited },
    ],
  })
  assert.equal(shown, ['a', 'b', 'reset z'])
  assert.equal(links, ['live', 'waiting', 'live', 'exited'])
  assert.equal(
    calls.map(({ after }) => after),
    [0, 1, 1, 2],
  )
})

test('stops when the terminal no longer exists', async () => {
  const { links, calls } = await follow({ read: [new ApiError(404, 'gone')] })
  assert.equal(links, ['gone'])
  assert.is(calls.length, 1)
})

test('repeats lost input under its number, and collects what is typed in between', async () => {
  const { calls } = await follow({ input: [null, { ok: true }, { ok: true }] }, ['l', 's', '\r'])
  assert.equal(
    calls.filter(({ route }) => route === 'input').map(({ n, data }) => [n, data]),
    [
      [1, 'l'],
      [1, 'l'],
      [2, 's\r'],
    ],
  )
})

test('splits a long paste between characters, and drops it when the terminal has ended', async () => {
  const long = `${'x'.repeat(49_999)}👍y`
  const { calls } = await follow({ input: [{ ok: true }, { ok: true }] }, [long])
  const parts = calls.filter(({ route }) => route === 'input').map(({ data }) => String(data))
  assert.equal(parts, ['x'.repeat(49_999), '👍y'])
  const ended = await follow({ input: [new ApiError(409, 'ended')] }, [long])
  assert.is(ended.calls.filter(({ route }) => route === 'input').length, 1)
})

test('an ended terminal is not resized: it may be closed when the request arrives', async () => {
  const terminals = [{ terminal_id: 'a', ...running }]
  const { api, calls } = serve({ terminals: [{ terminals }], resize: [{}] })
  const own = new Terminals(fakeShell({ ...fakePlatform().platform, api }), 's')
  await own.show('s', false)
  own.resize('a', { cols: 90, rows: 20 })
  own.ended('a', 3)
  own.resize('a', { cols: 90, rows: 19 })
  assert.equal(
    calls.filter(({ route }) => route === 'resize').map(({ rows }) => rows),
    [20],
  )
})

test('being shown opens none; a person who asks gets one, whichever chat of the folder is shown', async () => {
  const opened = { terminal: { terminal_id: 'a', ...running } }
  const none = { terminals: [] }
  const { api, calls } = serve({ terminals: [none, none, opened], open: [opened] })
  const own = new Terminals(fakeShell({ ...fakePlatform().platform, api }), 'one')
  await own.show('one', false)
  assert.equal(
    calls.map(({ route }) => route),
    ['terminals'],
  )
  await own.show('two', true)
  assert.equal(
    calls.slice(1).map(({ route, session_id }) => [route, session_id]),
    [
      ['terminals', 'two'],
      ['open', 'two'],
    ],
  )
})

test('asks before it stops programs, not before it closes an idle shell', async () => {
  const list = (programs?: string[]) => ({
    terminals: [{ terminal_id: 'a', ...running, ...(programs && { programs }) }],
  })
  const { api, calls } = serve({
    terminals: [list([]), list(['vim', 'vim']), list(), list([]), { terminals: [] }],
    close: [{ ok: true }],
  })
  const shell = fakeShell({ ...fakePlatform().platform, api })
  const own = new Terminals(shell, 's')
  await own.load()
  const [one] = own.list.value
  const asked = () => shell.layout.confirmation.value?.text
  await own.close(one!)
  assert.match(asked() ?? '', /: vim\.$/)
  await own.close(one!)
  assert.match(asked() ?? '', /^Programs/)
  shell.layout.confirmation.value = null
  await own.close(one!)
  assert.is(asked(), undefined)
  assert.is(calls.filter(({ route }) => route === 'close').length, 1)
  assert.equal(own.list.value, [])
})

test('a read that failed with the chat it named goes on with the one that is shown now', async () => {
  let session = 'one'
  const links: string[] = []
  const asked: unknown[] = []
  const api = (async (_route: string, { session_id }: Record<string, unknown>) => {
    asked.push(session_id)
    if (session_id === 'two') return new Promise(() => {})
    session = 'two'
    throw new ApiError(404, 'gone')
  }) as unknown as ApiCall
  const client = new TerminalClient({
    api,
    session: () => session,
    terminalId: 't',
    name: 'me',
    write: async () => {},
    onLink: link => void links.push(link),
    wait: async () => {},
  })
  client.start()
  for (let round = 0; round < 20; round++) await Promise.resolve()
  assert.equal(asked, ['one', 'two'])
  assert.equal(links, [])
})

test('leaves the page its shortcuts, and makes control characters', () => {
  const key = (given: object) => ({
    type: 'keydown',
    key: 'k',
    ctrlKey: true,
    metaKey: false,
    shiftKey: false,
    altKey: false,
    ...given,
  })
  assert.not.ok(isForPage(key({})))
  assert.not.ok(isForPage(key({ key: 'Escape', ctrlKey: false })))
  assert.ok(isForPage(key({ key: 'Escape', ctrlKey: false, shiftKey: true })))
  assert.ok(isForPage(key({ key: 'E', shiftKey: true })))
  assert.ok(isForPage(key({ key: 'Dead', code: 'Backquote' })))
  assert.equal(['c', 'C', '[', ' ', '1', 'é', 'ab'].map(withCtrl), [
    '\x03',
    '\x03',
    '\x1b',
    '\0',
    '1',
    'é',
    'ab',
  ])
  assert.equal([arrowKey('up', false), arrowKey('left', true)], ['\x1b[A', '\x1bOD'])
})

test('finds addresses without the punctuation after them', () => {
  assert.equal(addressesIn('see (https://a.example/x?y=1). ftp://no http://b:8080/'), [
    { text: 'https://a.example/x?y=1', at: 5 },
    { text: 'http://b:8080/', at: 40 },
  ])
})

test.run()
