/** The chat as a document, in a real browser: the first page, a running turn, the outline, the step limit. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { closeBrowser, openPage, shiftOf, withoutLimits } from '../../_browser.ts'
import { startChat } from '../../handlers/_chat.ts'

const test = suite('the chat as a document')
test.after(closeBrowser)

const call = (id: string, name: string, args: Record<string, unknown>) => ({
  toolCalls: [{ id, name, arguments: args }],
})
const long = Array.from({ length: 60 }, (_, n) => `Line ${n} of the answer.`).join('\n\n')

test('a phone requests nothing beside a chat until the chat is shown', async () => {
  const chat = await startChat()
  try {
    const session_id = await chat.newSession()
    chat.provider.push({ text: '## Found\n\n`a.ts` is **fine**.' })
    await chat.follow(await chat.send(session_id, 'Look at it'))
    const phone = await openPage(`${chat.app.url}/session/none`, {
      viewport: { width: 390, height: 844 },
    })
    const { page } = phone
    await page.goto('about:blank')
    await withoutLimits(page, 2_000)
    const requested: string[] = []
    page.on('request', request => requested.push(new URL(request.url()).pathname))
    let shownFirst: boolean | undefined
    await page.route('**/api/sessions?*', async route => {
      shownFirst ??= await page.getByRole('heading', { name: 'Found' }).isVisible()
      await route.continue()
    })
    await page.goto(`${chat.app.url}/session/${session_id}`)
    await page.waitForResponse('**/api/sessions?*')
    assert.is(shownFirst, true)
    const FIRST =
      /\/session\/|\/static\/(?:main|transcript|first-request|sans|serif|mono)-|\/api\/session$|\/api\/settings$/
    const first = requested.slice(0, requested.indexOf('/api/sessions'))
    assert.equal(
      first.filter(path => !FIRST.test(path)),
      [],
    )
    await phone.close()
  } finally {
    await chat.close()
  }
})

for (const width of [1440, 390])
  test(`a running turn shows its plan and the end of its output, and moves nothing, ${width} px wide`, async () => {
    const chat = await startChat()
    try {
      const { app, provider } = chat
      const session_id = await chat.newSession()
      provider.push({ text: long })
      await chat.follow(await chat.send(session_id, 'First'))
      const go = join(app.userHome, 'go')
      const command = `for n in 1 2 3 4 5 6 7 8; do echo "part $n"; done; until [ -e '${go}' ]; do sleep 0.05; done; exit 3`
      const answer = Promise.withResolvers<void>()
      provider.push(
        call('c1', 'todo', { todos: [{ id: '1', content: 'Count', status: 'in_progress' }] }),
        call('c2', 'terminal', { command }),
        { text: [...long.split(/(?<=\n\n)/), '\n\nThe very end.'], gate: answer.promise },
      )
      const viewport = { width, height: 844 }
      const { page, problems, close } = await openPage(`${app.url}/session/${session_id}`, {
        viewport,
      })
      await page.getByText('Line 59').waitFor()
      const before = await shiftOf(page)
      await page.locator('.tx-scroll').press('End')
      const stream = await chat.send(session_id, 'Second')
      await page.locator('.now-tail', { hasText: 'part 8' }).waitFor()
      assert.not.match((await page.locator('.now-tail').textContent()) ?? '', /part 2/)
      await page.locator('.live-plan', { hasText: 'Count' }).waitFor()
      assert.is(await page.locator('.node-running').count(), 1)
      writeFileSync(go, '')
      await page.locator('.said-mark-failed', { hasText: '3' }).waitFor()
      answer.resolve()
      await chat.follow(stream)
      await page.getByText('The very end.').waitFor()
      await page.locator('.tx-row-foot').last().waitFor()
      await page.locator('.live-plan').waitFor({ state: 'detached' })
      const moved = (await shiftOf(page)) - before
      assert.ok(moved <= 0.02, `${moved}`)
      // Nobody scrolled, so the end was followed: what failed is far above it.
      assert.is(await page.locator('.tx-new').count(), 0)
      await page.keyboard.press('Alt+ArrowUp')
      await page.locator('.node-failed').waitFor()
      assert.equal(problems, [])
      await close()
    } finally {
      await chat.close()
    }
  })

for (const width of [1440, 390])
  test(`a file that is being written names itself and grows until its diff is there, ${width} px wide`, async () => {
    const chat = await startChat()
    try {
      const { app, provider } = chat
      const session_id = await chat.newSession()
      provider.push({ text: long })
      await chat.follow(await chat.send(session_id, 'First'))
      const half = Promise.withResolvers<void>()
      const answer = Promise.withResolvers<void>()
      const content = Array.from({ length: 80 }, (_, n) => `export const n${n} = ${n}\n`).join('')
      const args = { path: 'src/numbers.ts', content }
      provider.push(
        {
          text: 'I write it.',
          toolCalls: [{ name: 'write_file', arguments: args, size: 9 }],
          middle: half.promise,
        },
        { text: 'The very end.', gate: answer.promise },
      )
      const { page, problems, close } = await openPage(`${app.url}/session/${session_id}`, {
        viewport: { width, height: 844 },
      })
      await page.getByText('Line 59').waitFor()
      const before = await shiftOf(page)
      await page.locator('.tx-scroll').press('End')
      const stream = await chat.send(session_id, 'Second')
      const line = page.locator('.act-live', { hasText: 'src/numbers.ts' })
      await line.filter({ hasText: /\d lines/ }).waitFor()
      await page.locator('.now-tail', { hasText: /export const n\d+/ }).waitFor()
      assert.is(await page.locator('.node-running').count(), 1)
      // Another device that opens the chat now sees the same.
      const other = await openPage(`${app.url}/session/${session_id}`)
      await other.page.locator('.now-tail', { hasText: /export const n\d+/ }).waitFor()
      await other.close()
      half.resolve()
      await page.locator('.act', { hasText: 'Wrote numbers.ts' }).waitFor()
      answer.resolve()
      await chat.follow(stream)
      await page.getByText('The very end.').waitFor()
      assert.is(await page.locator('.now-tail').count(), 0)
      const moved = (await shiftOf(page)) - before
      assert.ok(moved <= 0.02, `${moved}`)
      assert.equal(problems, [])
      await close()
    } finally {
      await chat.close()
    }
  })

for (const width of [1280, 390])
  test(`a chat that is opened while it runs moves nothing, with messages in the queue, ${width} px wide`, async () => {
    const chat = await startChat()
    const { app, provider } = chat
    const never = Promise.withResolvers<void>()
    try {
      const session_id = await chat.newSession()
      for (const message of ['First', 'Second']) {
        // One paragraph, whose height is not what it is estimated to be.
        provider.push({ text: 'An answer with **some** of its words in bold. '.repeat(40) })
        await chat.follow(await chat.send(session_id, message))
      }
      provider.push({ text: 'never', gate: never.promise })
      await chat.send(session_id, 'Third')
      for (const message of ['next', 'and then'])
        await app.post('/api/queue/add', { session_id, message, attachments: [] })
      const viewport = { width, height: 720 }
      const phone = width < 720 && { hasTouch: true, isMobile: true }
      const { page, close } = await openPage('about:blank', { viewport, ...phone })
      await page.goto(`${app.url}/session/${session_id}`)
      await page.getByText('and then').waitFor()
      await page.locator('.chip-mode').waitFor()
      // The rows around what is seen are drawn in steps.
      await page.locator('.tx-row-user', { hasText: 'Second' }).waitFor({ state: 'attached' })
      const moved = await shiftOf(page)
      assert.ok(moved <= 0.02, `${moved}`)
      // Below the last row is the place of its footer, and not what others were estimated too high.
      const gap = await page.locator('.tx-column').evaluate(column => {
        const last = [...column.querySelectorAll('.tx-row')].at(-1)!
        return column.getBoundingClientRect().bottom - last.getBoundingClientRect().bottom
      })
      assert.ok(gap < 120, `${gap}`)
      await close()
    } finally {
      await chat.close()
    }
  })

/** The parts of a page come one after the other on a slow line. What they draw must not move what is there. */
for (const width of [1280, 390])
  test(`a chat with steps, errors, decisions, and summaries moves nothing when it is opened, ${width} px wide`, async () => {
    const chat = await startChat()
    const { app, provider } = chat
    try {
      const session_id = await chat.newSession()
      const read = (id: string) =>
        call(id, 'search_files', { pattern: 'a rather long pattern', path: '.' }).toolCalls[0]!
      for (const message of ['First', 'Second', 'Third']) {
        provider.push(
          { text: 'I look first.', toolCalls: [read(`${message}1`), read(`${message}2`)] },
          call(`${message}3`, 'todo', { todos: [{ id: '1', content: 'A', status: 'pending' }] }),
          { toolCalls: [{ id: `${message}4`, name: 'terminal', arguments: { command: 'false' } }] },
          { text: 'Done.' },
        )
        await chat.follow(await chat.send(session_id, message))
      }
      provider.push({ text: 'A summary of what was said.' })
      await app.post('/api/session/compress', { session_id })
      provider.push({ status: 401, body: { error: { message: 'Wrong key.' } } })
      await chat.follow(await chat.send(session_id, 'Fourth'))
      const phone = width < 720 && { hasTouch: true, isMobile: true }
      const { page, close } = await openPage('about:blank', {
        viewport: { width, height: 900 },
        ...phone,
      })
      await withoutLimits(page, 4_000)
      await page.route(/\/static\/(?!main)[\w-]+\.js$/, async route => {
        // Each part after what came before it was drawn.
        await page.evaluate(() => new Promise(requestAnimationFrame)).catch(() => undefined)
        await route.continue()
      })
      await page.goto(`${app.url}/session/${session_id}`)
      await page.getByText('Wrong key.').first().waitFor()
      await page.getByText('false').last().waitFor()
      await page.locator('.chip-mode').waitFor()
      assert.ok((await page.locator('.said-mark').count()) >= 2)
      assert.is(await page.locator('.tx-row-compaction').count(), 1)
      const moved = await shiftOf(page)
      assert.ok(moved <= 0.02, `${moved}`)
      await close()
    } finally {
      await chat.close()
    }
  })

test('whoever reads further up and sends a message sees it, and the answer', async () => {
  const chat = await startChat()
  try {
    const session_id = await chat.newSession()
    chat.provider.push({ text: long })
    await chat.follow(await chat.send(session_id, 'First'))
    const { page, close } = await openPage(`${chat.app.url}/session/${session_id}`)
    await page.getByText('Line 59').waitFor()
    await page.locator('.tx-scroll').evaluate(scroller => {
      scroller.scrollTop = 0
    })
    await page.locator('.tx-new').waitFor()
    chat.provider.push({ text: `${long}\n\nThe very end.` })
    await page.locator('#composer').fill('Second')
    await page.locator('#composer').press('Enter')
    const end = page.getByText('The very end.')
    await end.waitFor()
    await page.locator('.tx-new').waitFor({ state: 'detached' })
    assert.ok(await end.evaluate(words => words.getBoundingClientRect().bottom < innerHeight))
    await close()
  } finally {
    await chat.close()
  }
})

test('an approval is answered from the inbox; the outline, arrow keys and the address lead to a place; a limit continues', async () => {
  const chat = await startChat()
  try {
    const { app, provider } = chat
    const session_id = await chat.newSession()
    await app.post('/api/session/rename', { session_id, title: 'Named' })
    provider.push({ text: `${long}\n\n## The heart of it\n\n${long}` })
    await chat.follow(await chat.send(session_id, 'First request'))
    provider.push({ text: `${long}\n\nسلام\n\n- سلام` })
    await chat.follow(await chat.send(session_id, 'Second request'))
    await app.post('/api/budgets', { steps: 2 })
    provider.push(
      call('c1', 'terminal', { command: 'echo one two three four five && rm -rf build' }),
      call('c2', 'terminal', { command: 'exit 3' }),
      { text: '### Half of it' },
      { text: 'All of it.' },
    )
    const stream = await chat.send(session_id, 'Third request')
    await chat.follow(stream, 'approval')

    const desktop = await openPage(`${app.url}/inbox`)
    const { page } = desktop
    await page.locator('.waiting-command .ask-risk', { hasText: 'rm -rf' }).waitFor()
    assert.equal(await desktop.axe(), [])
    assert.is((await page.locator('.session .mark-waiting').boundingBox())!.width, 8)

    // The messages are requested even before the code is there, and once.
    const early = await openPage(`${app.url}/session/none`)
    await early.page.route('**/main-*.js', route => route.abort())
    const requested = early.page.waitForRequest('**/api/session?*')
    const settings = early.page.waitForRequest('**/api/settings')
    await early.page.goto(`${app.url}/session/${session_id}`)
    const asked = await requested
    const shown = new URLSearchParams({ session_id, limit: '60' })
    assert.is(asked.url(), `${app.url}/api/session?${shown}`)
    for (const one of [asked, await settings]) assert.ok('x-agent-account' in one.headers())
    await early.close()

    // On a phone: the card follows the message, without a line that says the same, and a marked word is in one line.
    const phone = await openPage(`${app.url}/session/${session_id}`, {
      viewport: { width: 390, height: 844 },
    })
    await phone.page.locator('.ask-risk').waitFor()
    const loaded = await phone.page.evaluate(() =>
      performance.getEntriesByType('resource').map(({ name }) => name),
    )
    assert.is(loaded.filter(name => name.includes('/api/session?')).length, 1)
    assert.is(loaded.filter(name => name.endsWith('/api/settings')).length, 1)
    assert.ok(loaded.filter(name => name.endsWith('.js')).length <= 18, loaded.join('\n'))
    const [waits, card] = await Promise.all(
      ['.user', '.ask'].map(name => phone.page.locator(name).last().boundingBox()),
    )
    const gap = card!.y - waits!.y - waits!.height
    assert.ok(gap >= 0 && gap < 32, `${gap}`)
    assert.is(await phone.page.locator('.act-live').count(), 0)
    const rects = (element: Element) => element.getClientRects().length
    assert.is(await phone.page.locator('.ask-risk').evaluate(rects), 1)
    assert.equal(await phone.axe(), [])

    await page.getByRole('button', { name: 'Allow once' }).click()
    await chat.follow(stream)
    await page.getByText('Needs your input').waitFor({ state: 'detached' })
    await page.locator('.session', { hasText: 'Named' }).click()

    await page.getByText('Stopped after 2 steps').waitFor()
    assert.ok((await page.locator('.node-failed').count()) > 0)
    // What opens at the end of the chat opens below the pointer.
    const opensInPlace = async (opener: string, body: string) => {
      await page.locator('.tx-scroll').press('End')
      const place = (await page.locator(opener).last().boundingBox())!.y
      await page.locator(opener).last().click()
      await page.locator(body).last().waitFor()
      assert.is((await page.locator(opener).last().boundingBox())!.y, place)
    }
    await opensInPlace('.act', '.tool-head')
    await opensInPlace('.tool-head', '.tool-body')
    assert.is(await page.locator('.md ul[dir="rtl"]').count(), 1)
    assert.equal(await desktop.axe(), [])
    const edge = (await page.locator('.tx-scroll').boundingBox())!.y
    const isOnTop = async (text: string) => {
      const box = await page.getByText(text, { exact: true }).first().boundingBox()
      return box !== null && box.y >= edge && box.y < edge + 60
    }
    await page.keyboard.press('Control+j')
    await page.getByRole('combobox', { name: 'Go to a message or heading' }).fill('heart')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(/at=.*~0$/)
    await page.waitForFunction(() => document.activeElement?.classList.contains('tx-row'))
    assert.ok(await isOnTop('The heart of it'))
    await page.keyboard.press('Alt+ArrowUp')
    await page.waitForFunction(() => document.activeElement?.classList.contains('tx-row-user'))
    assert.ok(await isOnTop('First request'))

    // The same address on a phone.
    await phone.page.goto(page.url())
    await phone.page.getByText('First request', { exact: true }).waitFor()
    await phone.page.locator('.tx-row[aria-current="location"]').waitFor()
    const width = await phone.page.evaluate(() => document.documentElement.scrollWidth)
    assert.is(width, 390)

    await page.keyboard.press('End')
    await page.locator('.tx-scroll').focus()
    await page.keyboard.press('End')
    await page.getByRole('button', { name: 'Continue', exact: true }).click()
    await page.getByText('All of it.').first().waitFor()
    // A key beside three thousand messages is a layout of the field: no row is rendered again.
    const messages = Array.from({ length: 750 }, (_, n) => [
      { role: 'user', content: `Request ${n}` },
      {
        role: 'assistant',
        content: '',
        tool_calls: [
          { id: `l${n}`, type: 'function', function: { name: 'terminal', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: `l${n}`, content: '{"output":"ok","exit_code":0}' },
      { role: 'assistant', content: `Answer ${n}: see \`src/a.ts\`.` },
    ]).flat()
    const made = await app.post('/api/session/import', { title: 'Long', messages })
    await page.goto(`${app.url}/session/${made.body.session.session_id}`)
    await page.getByText('Answer 749').waitFor()
    await page.locator('.act-words', { hasText: 'Ran' }).last().waitFor()
    assert.ok((await page.locator('*').count()) <= 2_500)
    const cdp = await page.context().newCDPSession(page)
    await cdp.send('Performance.enable')
    const counted = async (name: string) =>
      (await cdp.send('Performance.getMetrics')).metrics.find(each => each.name === name)!.value
    await page.locator('#composer').press('a')
    const before = await Promise.all(['LayoutCount', 'RecalcStyleCount'].map(counted))
    await page.evaluate(() => {
      const observer = new MutationObserver(list => {
        document.body.dataset.changes = `${Number(document.body.dataset.changes ?? 0) + list.length}`
      })
      const all = { subtree: true, childList: true, attributes: true, characterData: true }
      for (const place of document.querySelectorAll('.tx-column, .head, .sidebar'))
        observer.observe(place, all)
    })
    await page.keyboard.type('b'.repeat(40))
    const after = await Promise.all(['LayoutCount', 'RecalcStyleCount'].map(counted))
    const changes = await page.evaluate(() => Number(document.body.dataset.changes ?? 0))
    assert.ok(changes < 40, `${changes} changes outside of the composer`)
    const cost = after.map((count, at) => (count - before[at]!) / 40)
    assert.ok(cost[0]! <= 2 && cost[1]! <= 3, `layouts and style changes of a key: ${cost}`)

    assert.equal([...desktop.problems, ...phone.problems], [])
    await desktop.close()
    await phone.close()
  } finally {
    await chat.close()
  }
})

test.run()
