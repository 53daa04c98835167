/** The first minute in a real browser: from an open page to the first answer of a real model, with clicks and pastes counted; then another folder and another model. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../../_app.ts'
import { closeBrowser, openPage, shiftOf, slowDown, withoutLimits } from '../../_browser.ts'
import { createProvider } from '../../_provider.ts'

const test = suite('browser: first minute')
test.after(closeBrowser)

/** Whatever in the dialog one has to see or to press and that is outside of its visible box or of the page. */
const hiddenParts = (page: Page): Promise<string[]> =>
  page.locator('dialog[open]').evaluate(dialog => {
    const body = dialog.querySelector('.connect-body')!
    return [...dialog.querySelectorAll<HTMLElement>('button, input, a, h2, [role="status"]')]
      .filter(({ textContent, tagName }) => tagName === 'INPUT' || textContent !== '')
      .filter(element => {
        const box = element.getBoundingClientRect()
        const around = (body.contains(element) ? body : dialog).getBoundingClientRect()
        return (
          box.top < Math.max(0, around.top) - 1 ||
          box.bottom > Math.min(innerHeight, around.bottom) + 1 ||
          box.left < 0 ||
          box.right > innerWidth
        )
      })
      .map(({ tagName, textContent }) => `${tagName} ${textContent}`)
  })

const SCREENS = [
  ['a laptop', { viewport: { width: 1280, height: 720 } }],
  ['a phone', { viewport: { width: 390, height: 664 }, hasTouch: true, isMobile: true }],
] as const

/** What is chosen, what has the cursor then, and what is pasted there. */
const PLACES = [
  { name: /^OpenRouter/, field: 'API key', pasted: () => 'sk-or-of-mine' },
  { name: /^Another server/, field: 'Address', pasted: (url: string) => url },
] as const

for (const [screen, options] of SCREENS)
  test(`a model is connected and answers on ${screen}, in at most five clicks and one paste`, async () => {
    for (const place of PLACES) {
      const provider = await createProvider()
      // Of the test, the answer, and the title.
      for (let n = 0; n < 4; n += 1) provider.push({ text: 'Hello from a real model' })
      provider.models = ['anthropic/claude-sonnet-4.6', 'own-model']
      const app = await startApp({ env: { OPENROUTER_BASE_URL: provider.url } })
      const at = await openPage(app.url, options)
      const { page } = at
      let clicks = 0
      const click = async (what: Locator) => {
        clicks += 1
        await what.click()
      }
      const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true })
      try {
        const connect = button('Connect a model')
        await connect.waitFor()
        await page.getByText(/^Commands run/).waitFor()
        const shift = await shiftOf(page)
        assert.ok(shift <= 0.02, `layout shift ${shift}`)
        await click(connect)
        await page.getByRole('button', { name: place.name }).waitFor()
        assert.equal(await hiddenParts(page), [])
        await click(page.getByRole('button', { name: place.name }))

        // The cursor is where something is missing, and that is said.
        const field = page.getByLabel(place.field, { exact: true })
        await field.and(page.locator(':focus')).waitFor()
        await page.getByRole('status').filter({ hasText: `Enter` }).first().waitFor()
        assert.is(await button('Start').isDisabled(), true)
        assert.equal(await hiddenParts(page), [])
        await page.keyboard.insertText(place.pasted(provider.url))
        await page.locator('dialog button:not(:disabled)', { hasText: 'Start' }).waitFor()
        await button('Test').click()
        await page.locator('dialog .verdict-ok').waitFor()
        assert.equal(await hiddenParts(page), [])
        assert.equal(await at.axeInDialog(), [])
        await click(button('Start'))
        await page.locator('dialog').waitFor({ state: 'detached' })

        await page.getByLabel('Message', { exact: true }).fill('Hello')
        await click(button('Send'))
        await page.getByText('Hello from a real model').first().waitFor()
        assert.ok(clicks <= 5, `${clicks} clicks`)
        assert.equal(at.problems, [])
      } finally {
        await at.close()
        await app.close()
        await provider.close()
      }
    }
  })

test('what arrives late moves nothing: the first page, usage, and settings on a slow line', async () => {
  const provider = await createProvider()
  const app = await startApp()
  const model = `{provider: custom, default: own-model, base_url: "${provider.url}"}`
  writeFileSync(join(app.home, 'config.yaml'), `model: ${model}\n`)
  try {
    for (const message of ['First', 'Second', 'Third']) {
      provider.push({ text: 'An answer', usage: { prompt_tokens: 9, completion_tokens: 9 } })
      const made = await app.post('/api/session/new')
      await app.post('/api/chat', { session_id: made.body.session.session_id, message })
    }
    for (const [screen, options] of SCREENS)
      for (const [view, last] of [
        ['', /^Commands run/],
        ['usage', 'By source'],
        ['settings/tools', /^Tools the agent can use/],
        ['settings/system', /^One file with your chats/],
      ] as const) {
        const at = await openPage('about:blank', options)
        await withoutLimits(at.page, 1_500, 4_000)
        if (view.startsWith('settings')) await slowDown(at.page)
        await at.page.goto(`${app.url}/${view}`)
        await at.page.getByText(last).first().waitFor()
        await at.page.locator('[data-late]').waitFor({ state: 'detached' })
        const shift = await shiftOf(at.page)
        assert.ok(shift <= 0.02, `${view} on ${screen}: ${shift}`)
        await at.close()
      }
  } finally {
    await app.close()
    await provider.close()
  }
})

test('a folder is found by going there, and a model by its name or its id', async () => {
  const provider = await createProvider()
  provider.models = ['own-model', 'other-model']
  const app = await startApp()
  const model = `{provider: custom, default: own-model, base_url: "${provider.url}"}`
  writeFileSync(
    join(app.home, 'config.yaml'),
    `model: ${model}
`,
  )
  for (const name of ['code/one/.git', 'code/two'])
    mkdirSync(join(app.userHome, name), { recursive: true })
  const at = await openPage(app.url)
  const { page } = at
  const option = (name: string | RegExp) => page.getByRole('option', { name })
  try {
    await page.locator('.chip-workspace').click()
    await option(/^code$/).click()
    await option(/^one Git$/).waitFor()
    assert.equal(await at.axeInDialog(), [])
    await option(/^two$/).click()
    await page.getByRole('button', { name: 'Use this folder' }).click()
    await page.getByText(`Working in ${join(app.userHome, 'code/two')}`).waitFor()

    await page.locator('.chip-model').click()
    await page.getByRole('combobox', { name: 'Model' }).fill('not/listed')
    assert.equal(await at.axe(), [])
    await page.keyboard.press('Enter')
    await page.locator('.chip-model', { hasText: 'listed' }).waitFor()
    await page.locator('.chip-model').click()
    await option('Connect a model…').click()
    await page.locator('dialog[open]').waitFor()
    assert.equal(at.problems, [])
  } finally {
    await at.close()
    await app.close()
    await provider.close()
  }
})

test.run()
