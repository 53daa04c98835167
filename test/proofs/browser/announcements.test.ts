/** What a screen reader announces of an answer, read from the live region in a real browser. */
import type { Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openPage } from '../../_browser.ts'
import { createNetwork, write } from '../../_network.ts'
import { startChat } from '../../handlers/_chat.ts'

const test = suite('browser: announcements')

/** Runs before the page: every text that is ever put into the live region, which is in a closed shadow tree. */
const record = (): void => {
  const announced: string[] = []
  Object.assign(window, { announced })
  const observer = new MutationObserver(changes => {
    for (const { addedNodes, target } of changes)
      for (const node of addedNodes)
        if (target instanceof Element && target.matches('[role=log]'))
          announced.push(node.textContent ?? '')
        else if (target.parentElement?.closest('[role=log]')) announced.push('changed later')
  })
  const { attachShadow } = Element.prototype
  Element.prototype.attachShadow = function (init) {
    const tree = attachShadow.call(this, init)
    observer.observe(tree, { childList: true, characterData: true, subtree: true })
    return tree
  }
}
const announcedIn = (page: Page) =>
  page.evaluate(() => (window as unknown as { announced: string[] }).announced)
const untilAnnounced = (page: Page, count: number) =>
  page.waitForFunction(
    least => (window as unknown as { announced: string[] }).announced.length >= least,
    count,
  )

const CODE = '\n\n```ts\nconst a = 1. Then\nb()\n```\n\n'

test('sentences are announced whole, in order, and once while they arrive, also across a cut connection; code is only named', async () => {
  const { promise: middle, resolve: goOn } = Promise.withResolvers<void>()
  const chat = await startChat({ text: 'An old answer. Of two sentences.' }, { text: 'A title' })
  const network = await createNetwork(() => chat.app.url, '')
  try {
    const id = await chat.newSession()
    await chat.turn(id, 'hello')
    const at = await openPage(network.url)
    const { page } = at
    await page.addInitScript(record)
    await page.goto(`${network.url}/session/${id}`)
    await page.getByText('An old answer.').first().waitFor()
    await page.waitForFunction(() =>
      performance.getEntriesByType('resource').some(({ name }) => /announce-answers/.test(name)),
    )
    const first = 'This is the first. Here is the second'
    const rest = ` of them, e.g. 35 or more.${CODE}The end is *near*. It is here`
    const pieces = [...(first + rest).matchAll(/.{1,5}/gs)].map(([piece]) => piece)
    chat.provider.push({ text: pieces, middle })
    await write(page, 'go')
    await untilAnnounced(page, 1)
    await network.cut()
    goOn()
    await page.locator('.pill', { hasText: 'Connection lost' }).waitFor()
    await network.up()
    await untilAnnounced(page, 6)
    // The page has each sentence once.
    assert.is(await page.getByText('The end is near.').count(), 1)
    const announced = await announcedIn(page)
    assert.equal(announced.slice(0, -1), [
      'This is the first.',
      'Here is the second of them, e.g. 35 or more.',
      'Code, ts',
      'The end is near.',
      'It is here',
    ])
    await at.close()
  } finally {
    await network.cut().catch(() => undefined)
    await chat.close()
  }
})

for (const [locale, message, sentences] of [
  ['ar-EG', 'مرحبا', ['أهلا بك.', 'هل نبدأ الآن؟', 'نعم، هذا هو الملف!', 'انتهى العمل']],
  ['ja-JP', 'こんにちは', ['はい。', 'ファイルを読みました！', '次は何をしますか？', '終わりです']],
] as const)
  test(`${locale}: sentences of a new chat end where its language ends them`, async () => {
    const text = sentences.join(locale === 'ja-JP' ? '' : ' ')
    const chat = await startChat({ text: [...text] }, { text: 'A title' })
    const at = await openPage(chat.app.url, { locale })
    const { page } = at
    try {
      await page.addInitScript(record)
      await page.reload()
      await page.waitForFunction(() =>
        performance.getEntriesByType('resource').some(({ name }) => /announce-answers/.test(name)),
      )
      await write(page, message)
      await untilAnnounced(page, sentences.length + 1)
      assert.equal((await announcedIn(page)).slice(0, sentences.length), sentences)
      assert.equal(at.problems, [])
    } finally {
      await at.close()
      await chat.close()
    }
  })

test.run()
