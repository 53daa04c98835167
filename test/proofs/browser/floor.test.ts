/** What every view keeps: controls that are visible in forced colors, reachable on the narrowest phone, and not covered by toasts. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../../_app.ts'
import { closeBrowser, openPage, shiftOf } from '../../_browser.ts'

const test = suite('browser: floor')
test.after(closeBrowser)

/** Contrast of the first matching element's color, or of a part of it, with the system's background. */
const contrastOf = ([selector, property, part]: readonly [string, string, string]): number => {
  const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true })!
  const luminance = (color: string): number => {
    context.fillStyle = color
    context.fillRect(0, 0, 1, 1)
    const [r = 0, g = 0, b = 0] = [...context.getImageData(0, 0, 1, 1).data].map(value => {
      const part = value / 255
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const element = document.querySelector(selector)
  if (!element) return 0
  const own = luminance(getComputedStyle(element, part).getPropertyValue(property))
  const canvas = luminance(getComputedStyle(document.documentElement).backgroundColor)
  return (Math.max(own, canvas) + 0.05) / (Math.min(own, canvas) + 0.05)
}

test('in forced colors a switch that is on looks on, and marks and icons are visible with the colors of the other scheme', async () => {
  const app = await startApp()
  const { body } = await app.post('/api/session/import', {
    title: 'Named',
    messages: [
      { role: 'user', content: 'Say it' },
      { role: 'assistant', content: '**Rate limit reached:** wait', _error: true },
    ],
  })
  await app.post('/api/settings', { theme: 'dark' })
  const at = await openPage(`${app.url}/settings/general`, {
    forcedColors: 'active',
    colorScheme: 'light',
  })
  const { page } = at
  try {
    await page.locator('.switch:checked').first().waitFor()
    const looks = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate(element => {
          const knob = getComputedStyle(element, '::after')
          return [getComputedStyle(element, '::before').backgroundColor, knob.backgroundColor]
        })
    const [on, off] = [await looks('.switch:checked'), await looks('.switch:not(:checked)')]
    assert.is.not(on[0], off[0])
    for (const [track, knob] of [on, off]) assert.is.not(track, knob)
    const background = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate(element => getComputedStyle(element).backgroundColor)
    assert.is.not(
      await background('.settings-nav [aria-current]'),
      await background('.settings-nav :not([aria-current])'),
    )
    await page.goto(`${app.url}/session/${body.session.session_id}`)
    await page.locator('.fail').last().waitFor()
    const border = await page
      .locator('.user')
      .first()
      .evaluate(element => getComputedStyle(element).borderTopStyle)
    assert.is(border, 'solid', 'a message of the person is told from an answer')
    const faint = []
    for (const place of [
      ['.session .icon', 'color', ''],
      ['.fail > .icon', 'color', ''],
      ['.chip .icon', 'color', ''],
      ['.sidebar-head .icon', 'color', ''],
    ] as const) {
      const contrast = await page.evaluate(contrastOf, place)
      if (contrast < 3) faint.push(`${place[0]} ${contrast.toFixed(2)}`)
    }
    assert.equal(faint, [])
  } finally {
    await at.close()
    await app.close()
  }
})

test('at 320 px every control in the head and the composer can be pressed; a toast leaves what was pressed visible', async () => {
  const app = await startApp()
  const { body } = await app.post('/api/session/import', {
    title: 'A long name of a chat that has no room on a phone',
    messages: [
      { role: 'user', content: 'show me' },
      { role: 'assistant', content: 'Shown.\n\nسلام\n\n- سلام\n\nEnglish again.' },
    ],
  })
  const at = await openPage(`${app.url}/session/${body.session.session_id}`, {
    viewport: { width: 320, height: 640 },
    hasTouch: true,
    isMobile: true,
  })
  const { page } = at
  try {
    await page.getByText('Shown.').waitFor()
    await page.locator('.chip-mode').waitFor()
    const covered = await page.locator('.head button, .composer button').evaluateAll(buttons =>
      buttons.flatMap(button => {
        const { left, top, width, height, right } = button.getBoundingClientRect()
        const hit = document.elementFromPoint(left + width / 2, top + height / 2)
        const name = button.getAttribute('aria-label') ?? button.textContent
        const isReached = hit !== null && button.contains(hit)
        return isReached && left >= 0 && right <= innerWidth ? [] : [name]
      }),
    )
    assert.equal(covered, [])
    const directions = await page
      .locator('.md :is(p, ul)')
      .evaluateAll(blocks => blocks.map(block => getComputedStyle(block).direction))
    assert.equal(directions, ['ltr', 'rtl', 'rtl', 'ltr'])

    // At the top of the page, where toasts appear.
    await page.goto(`${app.url}/settings/general`)
    const pressed = page.getByRole('switch', { name: 'Token usage' })
    await pressed.waitFor()
    await pressed.evaluate(field => field.closest('.field')?.scrollIntoView({ block: 'start' }))
    await page.context().setOffline(true)
    await pressed.tap()
    const toast = page.locator('.toast', { hasText: 'Can’t reach the server' })
    await toast.waitFor()
    const boxes = [await toast.boundingBox(), await pressed.boundingBox()]
    const [a, b] = boxes as { x: number; y: number; width: number; height: number }[]
    const isOver =
      a!.x < b!.x + b!.width &&
      b!.x < a!.x + a!.width &&
      a!.y < b!.y + b!.height &&
      b!.y < a!.y + a!.height
    assert.is(isOver, false)
  } finally {
    await at.close()
    await app.close()
  }
})

test('while the code of the page is on its way its name and a word are shown in its colors and language, and nothing moves when it comes', async () => {
  const app = await startApp()
  await app.post('/api/settings', { theme: 'light', bot_name: 'Ada' })
  const at = await openPage('about:blank', { locale: 'de-DE' })
  const { page } = at
  try {
    const code = Promise.withResolvers<void>()
    await page.route(/\/static\/main-\w+\.js/, async route => {
      await code.promise
      await route.continue()
    })
    await page.goto(`${app.url}/`, { waitUntil: 'commit' })
    const opening = page.locator('.opening')
    await opening.getByText('Wird geladen').waitFor()
    assert.match(await opening.innerText(), /^Ada/)
    const background = await page.evaluate(
      () => getComputedStyle(document.documentElement).backgroundColor,
    )
    assert.match(background, /^rgb\(2[345]\d, /)
    assert.equal(await at.axe(), [])
    code.resolve()
    await page.locator('#composer').waitFor()
    assert.is(await opening.isVisible(), false)
    const shift = await shiftOf(page)
    assert.ok(shift <= 0.02, `moved by ${shift}`)
  } finally {
    await at.close()
    await app.close()
  }
})

test.run()
