/** Settings → Import in a real browser: the file is sent, the report says what was left out, and its links open the chats. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openPage } from '../../_browser.ts'
import { openImports } from '../../lib/sessions/imports/_bench.ts'
import { startApp, type TestApp } from '../../_app.ts'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

const test = suite<{ app: TestApp }>('import in a browser')
test.before(async context => {
  context.app = await startApp()
})
test.after(({ app }) => app.close())

const said = (id: string, parent: string | null, role: string, text: string) => ({
  id,
  parent,
  message: {
    author: { role },
    create_time: 1_700_000_000,
    content: { content_type: 'text', parts: [text] },
    metadata: {},
  },
})

test('a file is imported, its report shown, and its chat opened with its versions', async ({
  app,
}) => {
  const { page, axe, problems, close } = await openPage(`${app.url}/settings/import`)
  const conversation = {
    title: 'From elsewhere',
    conversation_id: 'c1',
    current_node: 'a2',
    mapping: {
      s: said('s', null, 'system', 'hidden'),
      q: said('q', 's', 'user', 'A question'),
      a1: said('a1', 'q', 'assistant', 'First answer'),
      a2: said('a2', 'q', 'assistant', 'Second answer'),
    },
  }
  const buffer = Buffer.from(JSON.stringify([conversation, { odd: true }]))
  await page
    .locator('.import-drop input')
    .setInputFiles({ name: 'conversations.json', mimeType: 'application/json', buffer })
  await page.getByText('Imported from conversations.json').waitFor()
  await page.getByText('Hidden messages').waitFor()
  await page.getByText('It isn’t a chat of this format.').waitFor()
  assert.equal(await axe(), [])
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}-import.png` })
  await page.getByRole('link', { name: 'From elsewhere' }).last().click()
  await page.getByText('Second answer').waitFor()
  await page.getByText('2/2').waitFor()
  await page.getByRole('button', { name: 'Previous version' }).click()
  await page.getByText('First answer').waitFor()

  // The report is still there, and a file that is no export says so.
  await page.goto(`${app.url}/settings/import`)
  await page.getByText('Imported from conversations.json').waitFor()
  const words = { name: 'a.json', mimeType: 'application/json', buffer: Buffer.from('words') }
  await page.locator('.import-drop input').setInputFiles(words)
  const alert = page.getByRole('alert').filter({ hasText: 'a.json' })
  await alert.waitFor()
  assert.match((await alert.textContent()) ?? '', /isn’t an export/)
  assert.equal(problems, [])
  await close()
})

test('pictures of an archive are shown where they were', async ({ app }) => {
  const bench = openImports()
  const picture = (id: string) => ({
    content_type: 'multimodal_text',
    parts: [{ content_type: 'image_asset_pointer', asset_pointer: `file-service://${id}` }],
  })
  const conversation = {
    title: 'Pictures',
    conversation_id: 'c2',
    current_node: 'a',
    mapping: {
      q: { parent: null, message: { author: { role: 'user' }, content: picture('file-Mine') } },
      a: { parent: 'q', message: { author: { role: 'tool' }, content: picture('file-Made') } },
    },
  }
  const path = await bench.zip({
    'conversations-000.json': [conversation],
    'file-Mine-mine.png': PNG,
    'dalle-generations/file-Made-made.png': PNG,
  })
  const { page, problems, close } = await openPage(`${app.url}/settings/import`)
  await page.locator('.import-drop input').setInputFiles(path)
  await page.getByText('Imported from export.zip').waitFor()
  await page.getByRole('link', { name: 'Pictures' }).last().click()
  for (const picked of ['.user-pictures img', '.md-image']) {
    const image = page.locator(picked)
    await image.waitFor()
    const width = await image.evaluate(async (at: HTMLImageElement) => {
      await at.decode()
      return at.naturalWidth
    })
    assert.is(width, 1)
  }
  assert.equal(problems, [])
  await close()
  bench.close()
})

test.run()
