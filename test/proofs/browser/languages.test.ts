/** The page in other languages, in a real browser: no English text is left, and the whole page can run from right to left. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../../_app.ts'
import { openPage } from '../../_browser.ts'
import { startChat } from '../../handlers/_chat.ts'
import { readEnglish } from '../../../build/languages.ts'
import type { Message } from '../../../public/strings/t.ts'

const test = suite('browser: languages')

/** Every message in brackets: text without them does not come from the catalogs. A reason is a text of its own. */
const inBrackets = (text: string): string =>
  `⟦${text.replace(/\{(?:reason|problem|error|message)\}/g, '⟧$&⟦')}⟧`
const bracketed = (message: Message): Message =>
  typeof message === 'string'
    ? inBrackets(message)
    : Object.assign(
        {},
        ...Object.entries(message).map(([form, text]) => ({ [form]: inBrackets(text) })),
      )

/** A page of each kind; every view in the full run. */
const VIEWS =
  process.env.PROOF !== 'full'
    ? ['', 'inbox', 'settings/backups', 'settings/tools', 'memory']
    : [
        '',
        'tasks',
        'skills',
        'memory',
        'usage',
        'inbox',
        'profiles',
        ...[
          'general',
          'appearance',
          'models',
          'tools',
          'mcp',
          'budgets',
          'backups',
          'notifications',
          'people',
          'security',
          'updates',
          'about',
        ].map(section => `settings/${section}`),
      ]

/** The agent, its profile, model and workspace, and a specimen of letters. */
const NAMES = [
  'Agent',
  'default',
  'Demo model (offline, scripted)',
  ': Demo model (offline, scripted)',
  'Aa',
]

/** Texts and names of visible elements that are in no brackets. Data of the person is excluded by its elements. */
const foreign = (known: string[]): string[] => {
  const names = new Set(known)
  const found: string[] = []
  const data = 'code, pre, kbd, option, time, bdi, .path, [data-raw], [translate=no]'
  const add = (element: Element, text: string | null) => {
    let rest = text ?? ''
    // A message may contain another one.
    while (/⟦[^⟦⟧]*⟧/.test(rest)) rest = rest.replace(/⟦[^⟦⟧]*⟧/g, '')
    rest = rest.replace(/⟦|⟧|\((?:Ctrl|Shift|Alt| |[A-Z])+\)/g, '').trim()
    const isData = names.has(rest) || /^· |^[\da-f]{7,}/.test(rest)
    if (/\p{L}{2}/u.test(rest) && !isData && !element.closest(data)) found.push(rest)
  }
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement!
    if (element.checkVisibility() && element.tagName !== 'NOSCRIPT') {
      const parent = element.textContent ?? ''
      // A message may be split into elements.
      if (!/⟦[^⟦⟧]*$/.test(parent.slice(0, parent.indexOf(walk.currentNode.textContent ?? ''))))
        add(element, walk.currentNode.textContent)
    }
  }
  for (const element of document.querySelectorAll('[aria-label], [title], [placeholder], [alt]'))
    for (const name of ['aria-label', 'title', 'placeholder', 'alt'])
      if (element.checkVisibility()) add(element, element.getAttribute(name))
  return [...new Set(found)]
}

test('every text of every view comes from the catalog of the language', async () => {
  const app = await startApp()
  const messages = Object.fromEntries(
    Object.entries(await readEnglish()).map(([name, texts]) => [
      name,
      Object.fromEntries(Object.entries(texts).map(([id, text]) => [id, bracketed(text)])),
    ]),
  )
  const opened = await openPage('about:blank', { locale: 'de-DE' })
  const { page } = opened
  const left: string[] = []
  try {
    await page.route('**/static/de.*.json', route => route.fulfill({ json: messages }))
    for (const view of VIEWS) {
      await page.goto(`${app.url}/${view}`)
      assert.is(await page.locator('html').getAttribute('lang'), 'de')
      await page.waitForFunction(() => {
        const text = document.querySelector('#page')?.textContent ?? ''
        return text.includes('⟦') && !text.includes('Loading…')
      })
      for (const text of await page.evaluate(foreign, NAMES)) left.push(`${view}: ${text}`)
      const head = view && (await page.locator('h1').first().innerText())
      assert.ok(
        (await page.title()).startsWith(head),
        `the title of ${view}: ${await page.title()}`,
      )
    }
    assert.equal(left, [])
  } finally {
    await opened.close()
    await app.close()
  }
})

test('what the server reports is in the language of the page: notices, the result of a backup and of an update, refusals', async () => {
  const app = await startApp()
  const opened = await openPage(`${app.url}/inbox`, { locale: 'de-DE' })
  const { page } = opened
  try {
    const events = app.events('/api/events')
    await events.until(({ event }) => event === 'ready')
    // The page connects after it has loaded what it shows.
    const toasts = page.locator('.toasts')
    await page.waitForFunction(
      () => performance.getEntriesByName(`${document.baseURI}api/notifications/look`).length > 0,
    )
    await app.post('/api/profile/create', { name: 'spare' })
    await app.post('/api/profile/delete', { name: 'spare' })
    await toasts.getByText('Das Profil „spare“ wurde gelöscht.').waitFor()
    writeFileSync(join(app.home, 'config.yaml'), 'model: [')
    await toasts.getByText('Die letzte lesbare Fassung gilt weiter.').waitFor()
    writeFileSync(join(app.home, 'config.yaml'), 'model: {}')
    await toasts.getByText('ist wieder lesbar.').waitFor()
    // Each had its English sentence for clients that know no code.
    const seen = await events.until(({ data }) => JSON.stringify(data).includes('read again'))
    const sentences = seen
      .filter(({ event }) => event === 'notice')
      .map(({ data }) => (data as { data: { message: string } }).data.message)
    assert.ok(sentences.length >= 3)
    const text = await page.locator('body').innerText()
    for (const sentence of sentences) assert.not.ok(text.includes(sentence), sentence)
    events.close()

    await page.goto(`${app.url}/settings/backups`)
    await page.getByLabel('Ordner').fill('relative')
    await page.getByLabel('Ordner').blur()
    await page.getByText('Gib den vollständigen Pfad eines Ordners ein').first().waitFor()
    const last = {
      ...{ at: 1, ok: false, name: null, problems: 0 },
      ...{ error: '/x cannot be created: permission denied', code: 'folder_not_created' },
      values: { folder: '/x', reason: 'permission denied' },
      sentences: { reason: { code: 'file.denied' } },
    }
    await app.restart(() =>
      writeFileSync(
        join(app.state, 'backups.json'),
        JSON.stringify({ last, settings: { dir: '/x' } }),
      ),
    )
    await page.goto(`${app.url}/settings/backups`)
    await page
      .getByText(
        'Das letzte Backup ist fehlgeschlagen: /x konnte nicht angelegt werden: Zugriff verweigert',
      )
      .waitFor()

    await page.route('**/api/updates/check**', route =>
      route.fulfill({
        json: { webui: { name: 'webui', behind: 1, branch: 'origin/main' }, agent: null },
      }),
    )
    await page.route('**/api/updates/apply', route =>
      route.fulfill({
        json: { ok: false, message: 'Update already in progress', code: 'running' },
      }),
    )
    await page.goto(`${app.url}/settings/updates`)
    await page.getByRole('button', { name: 'Aktualisieren', exact: true }).click()
    await page.getByText('Es läuft schon ein Update.').waitFor()
  } finally {
    await opened.close()
    await app.close()
  }
})

test('German on a phone: what a turn waits for is not cut, and a failure is explained beside the quoted words of the provider', async () => {
  const chat = await startChat(
    { toolCalls: [{ name: 'terminal', arguments: { command: 'ls' } }] },
    { toolCalls: [{ name: 'read_file', arguments: { path: 'missing' } }] },
    { toolCalls: [{ name: 'terminal', arguments: { command: 'rm -rf /var/data' } }] },
  )
  try {
    const id = await chat.newSession()
    await chat.follow(await chat.send(id, 'clean up'), 'approval')
    const opened = await openPage(`${chat.app.url}/session/${id}`, {
      locale: 'de-DE',
      viewport: { width: 390, height: 844 },
    })
    const { page } = opened
    const asked = page.locator('.ask')
    await asked.getByRole('button').first().waitFor()
    const cut = await asked
      .locator('h3, p, button, code')
      .evaluateAll(parts =>
        parts
          .filter(({ scrollWidth, clientWidth }) => clientWidth > 0 && scrollWidth > clientWidth)
          .map(({ textContent }) => textContent),
      )
    assert.equal(cut, [])
    // What was done before is said whole: a German verb stands at the end, after what failed.
    const done = page.locator('.act-words', { hasText: 'missing' })
    assert.match(await done.innerText(), /gelesen$/)
    assert.ok(await done.evaluate(words => words.scrollHeight <= words.clientHeight + 1))
    assert.equal(await opened.axe(), [])

    const failed = await chat.newSession()
    chat.provider.push({ status: 401, body: { error: { message: 'Incorrect API key provided' } } })
    await chat.turn(failed, 'hello')
    await page.goto(`${chat.app.url}/session/${failed}`)
    const card = page.locator('.fail', { hasText: 'API-Schlüssel abgelehnt' })
    await card.getByText('„Incorrect API key provided“').waitFor()
    await card.getByText('Prüfe, ob der Schlüssel in der .env des Agenten').waitFor()
    assert.not.match(await card.innerText(), /Check that the key/)
    await opened.close()
  } finally {
    await chat.close()
  }
})

test('German at 1280: no choice of the settings is wider than its control', async () => {
  const app = await startApp()
  const opened = await openPage(app.url, {
    locale: 'de-DE',
    viewport: { width: 1280, height: 720 },
  })
  const { page } = opened
  try {
    // Where what commands are asked about can be chosen.
    await app.post('/api/sandbox', { enabled: false })
    const cut: unknown[] = []
    for (const section of ['general', 'permissions']) {
      await page.goto(`${app.url}/settings/${section}`)
      await page.locator('.rows .select').first().waitFor()
      const found = await page.locator('.field-control .select').evaluateAll(selects =>
        selects.map(select => {
          const { width } = select.getBoundingClientRect()
          const copy = select.cloneNode(true) as HTMLSelectElement
          copy.style.cssText = 'width: max-content; min-width: 0; max-width: none; position: fixed'
          select.after(copy)
          const { width: needed } = copy.getBoundingClientRect()
          copy.remove()
          return { needed, width, text: select.textContent }
        }),
      )
      cut.push(...found.filter(({ needed, width }) => needed > width + 1))
    }
    assert.equal(cut, [])
  } finally {
    await opened.close()
    await app.close()
  }
})

/** In the full run all of them. */
const AXE_LANGUAGES =
  process.env.PROOF === 'full'
    ? ['de', 'es', 'fr', 'pt-BR', 'ja', 'zh-Hans', 'ko', 'ru', 'ar']
    : ['ja', 'ar']

for (const language of AXE_LANGUAGES)
  test(`${language}: axe finds nothing, and nothing is wider than a phone, on the first page, in the settings, and at the sign-in`, async () => {
    const app = await startApp()
    const opened = await openPage(app.url, {
      locale: language,
      viewport: { width: 390, height: 844 },
    })
    const { page } = opened
    try {
      for (const [path, ready] of [
        ['', 'textarea'],
        ['settings/general', '.rows select'],
        ['settings/permissions', '.rows select'],
        ['login', '#pw'],
      ] as const) {
        if (path === 'login') {
          // A page that is open would be refused what it asks for.
          await page.goto('about:blank')
          await app.post('/api/settings', { _set_password: 'correct horse' })
        }
        await page.goto(`${app.url}/${path}`)
        await page.locator(ready).first().waitFor()
        assert.is(
          (await page.locator('html').getAttribute('lang'))?.slice(0, 2),
          language.slice(0, 2),
        )
        assert.equal(await opened.axe(), [], path)
        const wider = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        )
        assert.is(wider, 0, path)
      }
    } finally {
      await opened.close()
      await app.close()
    }
  })

test('Arabic: approvals, toasts, dates of tasks, and people show no marks of direction', async () => {
  const chat = await startChat({
    toolCalls: [{ name: 'terminal', arguments: { command: 'rm -r zed' } }],
  })
  const { app } = chat
  const opened = await openPage('about:blank', { locale: 'ar-EG' })
  const { page } = opened
  try {
    const id = await chat.newSession()
    await chat.follow(await chat.send(id, 'hello'), 'approval')
    const isClean = async () => assert.not.match(await page.locator('body').innerText(), /⟨U\+/)
    await page.goto(`${app.url}/session/${id}`)
    await page.locator('.ask-why').waitFor()
    await isClean()
    await page.goto(`${app.url}/inbox`)
    await page.locator('[data-item] p[dir=auto]').first().waitFor()
    await isClean()

    await app.post('/api/crons/create', { prompt: 'x', schedule: '2099-01-02T09:00' })
    await page.goto(`${app.url}/tasks`)
    await page.getByText(/2099/).first().waitFor()
    await isClean()
    await page.goto(`${app.url}/settings/people`)
    await page.getByText('مالك').first().waitFor()
    assert.is(await page.getByText('Owner').count(), 0)
    await page.goto(`${app.url}/settings/notifications`)
    await page.getByRole('button', { name: 'إضافة خدمة' }).click()
    await page.locator('form input[type=url]').fill('http://127.0.0.1:9')
    await page.locator('form input[maxlength="64"]').fill('topic-1')
    await page.locator('form [type=submit]').click()
    await page.locator('.toast-text', { hasText: 'ntfy' }).waitFor()
    await isClean()
  } finally {
    await opened.close()
    await chat.close()
  }
})

test('a page from right to left: the sidebar is on the right, English titles begin there, and nothing is wider than a phone', async () => {
  const app = await startApp()
  const messages = [{ role: 'user', content: 'Hello' }]
  await app.post('/api/session/import', { title: 'In English', messages })
  const opened = await openPage(app.url, {
    locale: 'ar-EG',
    viewport: { width: 390, height: 844 },
    hasTouch: true,
  })
  const { page } = opened
  try {
    await page.locator('textarea').waitFor()
    assert.is(await page.locator('html').getAttribute('dir'), 'rtl')
    const overflow = () =>
      page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      )
    assert.is(await overflow(), 0)
    await page.goto(`${app.url}/settings/general`)
    await page.locator('.rows select').first().waitFor()
    assert.is(await overflow(), 0)
    const resizeText = (size: string) =>
      page.evaluate(value => {
        document.documentElement.style.fontSize = value
      }, size)
    await resizeText('200%')
    const row = await page.locator('.rows .field').first().boundingBox()
    assert.ok(row && row.x >= 0 && row.x + row.width <= 390, 'a setting in text of twice the size')
    await resizeText('')
    await page.setViewportSize({ width: 1280, height: 800 })
    const box = await page.locator('.sidebar').boundingBox()
    assert.ok(box && box.x > 640, 'sidebar on the right')
    const title = page.locator('.session-title').first()
    await title.waitFor()
    const gap = await title.evaluate(element => {
      const range = document.createRange()
      range.selectNodeContents(element)
      return element.getBoundingClientRect().right - range.getBoundingClientRect().right
    })
    assert.ok(gap < 2, `an English title begins where the Arabic ones do, ${gap} px away`)
    await page.getByRole('combobox').first().waitFor()
    const language = page.locator('select', { has: page.locator('option[value="pt-BR"]') })
    await Promise.all([page.waitForEvent('load'), language.selectOption('pt-BR')])
    assert.is(await page.locator('html').getAttribute('lang'), 'pt-BR')
    assert.is(await page.locator('html').getAttribute('dir'), 'ltr')
    assert.equal(opened.problems, [])
  } finally {
    await opened.close()
    await app.close()
  }
})

test.run()
