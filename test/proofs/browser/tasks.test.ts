/** Everyday tasks in a real browser, done as a person does them, with every click and key counted: no more than the best of comparable pages needs, and one. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../../_app.ts'
import { closeBrowser, openPage } from '../../_browser.ts'
import { createProvider, type Step } from '../../_provider.ts'

const test = suite('browser: tasks')

type World = {
  app: TestApp
  provider: Awaited<ReturnType<typeof createProvider>>
  dir: string
  /** A chat in which files were read and changed. */
  session: string
}
const world = {} as World

const OLD = 'const limit = 3\n'
const NEW = 'const limit = 5\n'
const git = (...args: string[]) =>
  execFileSync('git', args, { cwd: world.dir, encoding: 'utf8' }).trim()
const at = (name: string) => join(world.dir, name)

const call = (id: string, name: string, args: Record<string, unknown>) => ({
  id,
  name,
  arguments: args,
})
const CHANGE: Step[] = [
  {
    text: 'I look at the code first.',
    toolCalls: [
      call('c1', 'read_file', { path: 'retry.js' }),
      call('c2', 'read_file', { path: 'README.md' }),
    ],
  },
  {
    text: 'Now I change it.',
    toolCalls: [call('c3', 'write_file', { path: 'retry.js', content: NEW })],
  },
  { text: 'And a look at it.', toolCalls: [call('c5', 'terminal', { command: 'cat retry.js' })] },
  { text: 'The limit is five.' },
]
const ASK: Step[] = [
  { toolCalls: [call('c4', 'terminal', { command: 'rm -rf build' })] },
  { text: 'Deleted the folder.' },
]

/** What the model says next is decided by the last message, because a title is asked for in between. */
const answer = (body: {
  messages: { role: string; content: unknown }[]
  tools?: unknown
}): Step => {
  if (!body.tools) return { text: 'A title' }
  const from = body.messages.findLastIndex(({ role }) => role === 'user')
  const text = JSON.stringify(body.messages[from])
  const said = body.messages.slice(from).filter(({ role }) => role === 'assistant').length
  const script = text.includes('limit') ? CHANGE : text.includes('delete') ? ASK : []
  return script[said] ?? { text: `An answer to ${text.includes('again') ? 'it again' : 'it'}.` }
}

/** One who uses the page. A text that is typed or pasted into a field counts as one, like a click and a key. */
const createPerson = (page: Page) => {
  const did: string[] = []
  return {
    did,
    async click(what: Locator, options: Parameters<Locator['click']>[0] = {}) {
      await what.click(options)
      did.push(`click ${what}`)
    },
    async press(keys: string) {
      await page.keyboard.press(keys)
      did.push(keys)
    },
    /** Into a field that has the cursor by itself: else this would be a click more. */
    async type(field: Locator, text: string) {
      await field.and(page.locator(':focus')).waitFor()
      await page.keyboard.insertText(text)
      did.push(`type ${text.slice(0, 20)}`)
    },
  }
}
type Person = ReturnType<typeof createPerson>

type Task = {
  name: string
  /** Clicks and keys of the best of comparable pages. */
  best: number
  /** Default: the chat in which files were changed. */
  path?: () => string | Promise<string>
  options?: BrowserContextOptions
  /** Waits until the page is as the person finds it. */
  ready?: (page: Page) => Promise<unknown>
  run: (person: Person, page: Page) => Promise<unknown>
}

const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: true }).first()
const answered = (page: Page) => page.getByText('The limit is five.').first().waitFor()
const summary = (page: Page) => page.getByRole('region', { name: 'Summary of this answer' })
const changed = (page: Page) => summary(page).getByText('1 file changed').waitFor()

const newChat = async (title: string, ...said: string[]): Promise<string> => {
  const messages = said.map((content, n) => ({ role: n % 2 ? 'assistant' : 'user', content }))
  const { body } = await world.app.post('/api/session/import', { title, messages })
  return `session/${body.session.session_id}`
}
/** A chat of its own: the task changes it. */
const ownChat = () => newChat('Colors', 'Which color?', 'Blue.')
const inOwnChat = {
  path: ownChat,
  ready: (page: Page) => page.getByText('Blue.').first().waitFor(),
}

const TASKS: Task[] = [
  {
    name: 'new chat',
    best: 1,
    async run(person, page) {
      await person.click(page.getByRole('button', { name: 'New chat' }).first())
      await page.waitForURL(url => !url.pathname.includes(world.session))
      await page.locator('#composer:focus').waitFor()
    },
  },
  {
    name: 'new chat by keys',
    best: 1,
    async run(person, page) {
      await person.press('Control+Shift+O')
      await page.waitForURL(url => !url.pathname.includes(world.session))
    },
  },
  {
    name: 'switch the model',
    best: 2,
    async run(person, page) {
      await person.click(page.locator('.chip-model'))
      await person.click(page.getByRole('option', { name: /Other Model/ }))
      await page.locator('.chip-model', { hasText: 'Other Model' }).waitFor()
    },
  },
  {
    name: 'see which files were read',
    best: 0,
    run: async (_, page) =>
      page.locator('.act-words', { hasText: /retry\.js.*README\.md/ }).waitFor(),
  },
  {
    name: 'see what changed in the files',
    best: 1,
    ready: changed,
    async run(person, page) {
      await person.click(button(page, 'Review the changes of this answer'))
      await page.locator('.diff-added', { hasText: 'limit = 5' }).first().waitFor()
    },
  },
  {
    name: 'undo the changes of an answer',
    best: 2,
    ready: changed,
    async run(person, page) {
      await person.click(button(page, 'Undo the changes of this answer'))
      await person.click(page.getByRole('dialog').getByRole('button', { name: 'Undo changes' }))
      await summary(page).getByText('Undone', { exact: true }).waitFor()
      assert.is(readFileSync(at('retry.js'), 'utf8'), OLD)
    },
  },
  {
    name: 'approve a command',
    best: 1,
    path: async () => {
      mkdirSync(at('build'), { recursive: true })
      const { body } = await world.app.post('/api/session/new', { workspace: world.dir })
      const { session_id } = body.session
      await world.app.post('/api/chat/start', { session_id, message: 'Please delete it' })
      return `session/${session_id}`
    },
    ready: async page => {
      await page.locator('.ask-risk').waitFor()
      // Enter is for what was being written, until one can have seen the question.
      const seen = await page.evaluate(() => performance.now())
      await page.waitForFunction(from => performance.now() > from + 1_000, seen)
    },
    async run(person, page) {
      await person.press('Enter')
      await page.getByText('Deleted the folder.').first().waitFor()
      assert.is(existsSync(at('build')), false)
    },
  },
  {
    name: 'edit a message and send it again',
    best: 2,
    ...inOwnChat,
    async run(person, page) {
      await person.click(button(page, 'Edit'))
      await person.type(page.getByLabel('Edit message'), ', again')
      await person.press('Control+Enter')
      await page.getByText('An answer to it again.').first().waitFor()
      // Nothing is lost.
      await page.getByText('2/2').waitFor()
    },
  },
  {
    name: 'retry an answer',
    best: 1,
    ...inOwnChat,
    async run(person, page) {
      await person.click(button(page, 'Retry'))
      await page.getByText('An answer to it.').first().waitFor()
      await page.getByText('2/2').waitFor()
    },
  },
  {
    name: 'branch from an answer',
    best: 1,
    ...inOwnChat,
    async run(person, page) {
      const before = page.url()
      await person.click(button(page, 'Branch from here'))
      await page.waitForURL(url => url.href !== before)
      await page.getByText('Blue.').first().waitFor()
    },
  },
  {
    name: 'commit all changes',
    best: 2,
    async run(person, page) {
      writeFileSync(at('new.txt'), 'new\n')
      await person.press('Control+Shift+G')
      await button(page, /^Commit (all )?\d+ changes?$/).waitFor()
      await person.type(page.getByRole('textbox', { name: 'Commit message' }), 'Change the limit')
      await person.press('Control+Enter')
      await page.getByText('Committed', { exact: true }).waitFor()
      assert.is(git('log', '-1', '--format=%s'), 'Change the limit')
      assert.is(git('status', '--porcelain'), '')
    },
  },
  {
    name: 'open a terminal',
    best: 1,
    async run(person, page) {
      await person.press('Control+`')
      await page.locator('.terminal-screen .xterm-rows', { hasText: /[$#] / }).waitFor()
      const columns = await page
        .locator('.terminal-screen')
        .evaluate(screen => screen.getBoundingClientRect().width)
      assert.ok(columns > 800, `${columns} px`)
      // Types at once.
      await page.keyboard.type('echo ok-$((6*7))')
      await page.keyboard.press('Enter')
      await page.locator('.xterm-rows', { hasText: 'ok-42' }).waitFor()
    },
  },
  {
    name: 'open a file',
    best: 3,
    async run(person, page) {
      await person.press('Control+p')
      await person.type(page.getByRole('combobox'), 'readme')
      await page
        .getByRole('option', { name: /README\.md/ })
        .first()
        .waitFor()
      await person.press('Enter')
      await page.locator('.preview-base', { hasText: 'README.md' }).waitFor()
    },
  },
  {
    name: 'find an old chat by what was said in it',
    best: 3,
    async run(person, page) {
      await newChat('Old', 'Which tree?', 'A hornbeam, I think.')
      await person.press('Control+k')
      await person.type(page.getByRole('combobox'), 'hornbeam')
      await page.getByRole('option', { name: /Old/ }).first().waitFor()
      await person.press('Enter')
      await page.getByText('A hornbeam, I think.').first().waitFor()
    },
  },
  {
    name: 'rename a chat',
    best: 3,
    ...inOwnChat,
    async run(person, page) {
      await person.click(page.locator('.session-link[aria-current]'), { button: 'right' })
      await person.click(page.getByRole('menuitem', { name: 'Rename' }))
      await person.type(page.locator('.session input'), 'Paints')
      await person.press('Enter')
      await page.locator('.session-link', { hasText: 'Paints' }).waitFor()
    },
  },
  {
    name: 'delete a chat',
    best: 2,
    ...inOwnChat,
    async run(person, page) {
      const id = page.url().split('/').at(-1)
      await person.click(page.locator(`[data-id="${id}"] .session-link`), { button: 'right' })
      await person.click(page.getByRole('menuitem', { name: 'Delete' }))
      await page.locator(`[data-id="${id}"]`).waitFor({ state: 'detached' })
    },
  },
  {
    name: 'share a link',
    best: 2,
    ...inOwnChat,
    options: { permissions: ['clipboard-read', 'clipboard-write'] },
    async run(person, page) {
      await person.click(button(page, 'Chat options'))
      await person.click(page.getByRole('menuitem', { name: 'Share…' }))
      await person.click(page.getByRole('dialog').getByRole('button', { name: /create link$/i }))
      await page.getByText('Copied. It won’t be shown again.').waitFor()
      const copied = await page.evaluate(() => navigator.clipboard.readText())
      assert.match(copied, /\/share\/awl_[\w-]{43}$/)
    },
  },
  {
    name: 'change the theme',
    best: 3,
    async run(person, page) {
      await person.press('Control+k')
      await person.type(page.getByRole('combobox'), 'light')
      await page.getByRole('option', { name: /Light/ }).first().waitFor()
      await person.press('Enter')
      await page.locator('html[data-theme="light"]').waitFor()
    },
  },
  {
    name: 'add an MCP server from what its README shows',
    best: 2,
    path: () => 'settings/tools',
    async run(person, page) {
      await person.click(button(page, 'Add server'))
      await person.type(
        page.locator('.mcp-form textarea').first(),
        '{"mcpServers":{"files":{"command":"true","args":[]}}}',
      )
      await page.locator('.mcp-form input').first().waitFor()
      await person.click(page.locator('.mcp-form button[type="submit"]'))
      await page.locator('.key-row', { hasText: 'files' }).waitFor()
    },
  },
]

test.before(async () => {
  world.provider = await createProvider()
  world.provider.models = ['own-model', 'other-model']
  world.provider.otherwise = answer
  world.app = await startApp()
  const { app, provider } = world
  writeFileSync(
    join(app.home, 'config.yaml'),
    `model: {provider: custom, default: own-model, base_url: "${provider.url}"}\n`,
  )
  world.dir = join(app.userHome, 'project')
  mkdirSync(world.dir)
  writeFileSync(at('retry.js'), OLD)
  writeFileSync(at('README.md'), '# Retry\n')
  git('init', '-q', '-b', 'main')
  git('config', 'user.name', 't')
  git('config', 'user.email', 't@example.invalid')
  git('add', '.')
  git('commit', '-qm', 'first')
  await app.post('/api/workspaces/add', { path: world.dir })
  const { body } = await app.post('/api/session/new', { workspace: world.dir })
  world.session = body.session.session_id
  const sent = { session_id: world.session, message: 'Change the limit' }
  const { stream_id } = (await app.post('/api/chat/start', sent)).body
  for await (const { event } of app.events(`/api/chat/stream?stream_id=${stream_id}&after=0`))
    if (event === 'stream_end') break
})

test.after(async () => {
  await closeBrowser()
  await world.app.close()
  await world.provider.close()
})

test('a newcomer chooses a folder and connects a model', async () => {
  const app = await startApp()
  mkdirSync(join(app.userHome, 'code/one/.git'), { recursive: true })
  const opened = await openPage(app.url)
  const { page } = opened
  const person = createPerson(page)
  const atMost = (best: number) =>
    assert.ok(person.did.length <= best + 1, `${person.did.length}: ${person.did.join(', ')}`)
  try {
    await person.click(page.locator('.chip-workspace'))
    await person.click(page.getByRole('option', { name: /^code$/ }))
    await person.click(page.getByRole('option', { name: /^one/ }))
    await person.click(button(page, 'Use this folder'))
    await page.getByText(`Working in ${join(app.userHome, 'code/one')}`).waitFor()
    atMost(3)

    person.did.length = 0
    await person.click(button(page, 'Connect a model'))
    await person.click(page.getByRole('button', { name: /^Anthropic/ }))
    await person.type(page.getByLabel('API key', { exact: true }), 'sk-ant-of-mine')
    await page.locator('dialog button:not(:disabled)', { hasText: 'Start' }).waitFor()
    await person.click(button(page, 'Start'))
    await page.locator('dialog').waitFor({ state: 'detached' })
    atMost(3)
  } finally {
    await opened.close()
    await app.close()
  }
})

test('a screen reader reads of an answer of six rows what was said and done, and who said it, once', async () => {
  const opened = await openPage(`${world.app.url}/session/${world.session}`)
  const { page } = opened
  try {
    await answered(page)
    await changed(page)
    const tree = await page.locator('.tx-column').ariaSnapshot()
    const lines = tree.split('\n').map(line => line.trim().replace(/ \[.*|:$/g, ''))
    const rows = lines.filter(line =>
      /^- (?:heading|paragraph|button "(?:Read|Wrote|Ran) )/.test(line),
    )
    assert.equal(rows, [
      '- heading "You said"',
      '- heading "Agent replied"',
      '- paragraph: I look at the code first.',
      '- button "Read retry.js, README.md"',
      '- paragraph: Now I change it.',
      '- button "Wrote retry.js"',
      '- paragraph: And a look at it.',
      '- button "Ran cat retry.js"',
      '- paragraph: The limit is five.',
    ])
    // No row says besides what it is and that it is done.
    assert.not.match(tree, /(?:Work|Answer|Step)\b.*\bdone|replied[\s\S]*replied|said[\s\S]*said/i)
  } finally {
    await opened.close()
  }
})

test('on an iPhone the composer stands above the keyboard, and Enter that ends a composition sends nothing', async () => {
  const viewport = { width: 390, height: 844 }
  const opened = await openPage(`${world.app.url}/session/${world.session}`, {
    viewport,
    hasTouch: true,
    isMobile: true,
  })
  const { page } = opened
  const KEYBOARD = 336
  /** iOS leaves the layout alone and makes the visual viewport smaller. */
  const showKeyboard = (height: number) =>
    page.evaluate(shown => {
      const view = window.visualViewport!
      Object.defineProperty(view, 'height', { value: innerHeight - shown, configurable: true })
      view.dispatchEvent(new Event('resize'))
    }, height)
  const bottom = async () => {
    const box = (await page.locator('.composer').boundingBox())!
    return box.y + box.height
  }
  try {
    await answered(page)
    await page.locator('.chip-mode').waitFor()
    const before = await bottom()
    await showKeyboard(KEYBOARD)
    assert.ok((await bottom()) <= viewport.height - KEYBOARD, `${await bottom()}`)
    await showKeyboard(0)
    assert.is(await bottom(), before)

    const field = page.locator('#composer')
    await field.tap()
    await page.keyboard.insertText('にほん')
    const press = (keyCode: number) =>
      field.evaluate((element, code) => {
        const init = { key: 'Enter', bubbles: true, cancelable: true }
        const event = new KeyboardEvent('keydown', init)
        Object.defineProperty(event, 'keyCode', { value: code })
        return element.dispatchEvent(event)
      }, keyCode)
    // The browser does with it what it does.
    assert.is(await press(229), true)
    assert.is(await field.inputValue(), 'にほん')
    assert.is(await press(13), false)
    await page.locator('.user', { hasText: 'にほん' }).waitFor()
    assert.equal(opened.problems, [])
  } finally {
    await opened.close()
  }
})

for (const { name, best, path, options, ready = answered, run } of TASKS)
  test(name, async () => {
    const place = path ? await path() : `session/${world.session}`
    const opened = await openPage(`${world.app.url}/${place}`, options)
    const { page } = opened
    const person = createPerson(page)
    try {
      if (!place.startsWith('settings')) {
        await page.locator('.chip-mode').waitFor()
        await ready(page)
      }
      await run(person, page)
      assert.ok(person.did.length <= best + 1, `${person.did.length}: ${person.did.join(', ')}`)
      assert.equal(opened.problems, [])
    } finally {
      await opened.close()
    }
  })

test.run()
