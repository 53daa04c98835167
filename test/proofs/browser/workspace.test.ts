/** The workspace panel in a real browser: tree, preview, editor, conflicts, changes, attachments; by keyboard, on a phone, for axe. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openPage, type TestPage } from '../../_browser.ts'
import { startChat } from '../../handlers/_chat.ts'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const PDF =
  '%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>\n'
const LINES = Array.from({ length: 200 }, (_, n) => `export const line${n + 1} = ${n + 1}`)

type Chat = Awaited<ReturnType<typeof startChat>>
type World = { chat: Chat; work: string; session: string; opened: TestPage[] }
const world = {} as World

/** Expected 4xx replies, which the browser logs as errors. */
const expected = /status of 4\d\d/

const show = async (path: string, options = {}): Promise<Page> => {
  const opened = await openPage(`${world.chat.app.url}/${path}`, options)
  world.opened.push(opened)
  return opened.page
}
const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: world.work })
const row = (page: Page, name: string) => page.getByRole('treeitem', { name, exact: false }).first()
const panel = (page: Page) => page.locator('.panel')
const openFile = async (page: Page, name: string) => {
  await row(page, name).click()
  await page.locator('.preview-base', { hasText: name }).waitFor()
}
/** Runs in the page: a function, because the CSP forbids strings as code. */
const drawn = (selector: string): boolean =>
  document.querySelector<HTMLImageElement>(selector)?.naturalWidth === 1
/** Drops a file as if dragged in from the desktop. */
const dropFile = (page: Page, selector: string, name: string, text: string) =>
  page.locator(selector).evaluate(
    (element, [fileName, content]) => {
      const data = new DataTransfer()
      data.items.add(new File([content!], fileName!, { type: 'text/plain' }))
      for (const type of ['dragenter', 'dragover', 'drop']) {
        element.dispatchEvent(
          new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }),
        )
      }
    },
    [name, text],
  )

const test = suite('browser: workspace')

test.before(async () => {
  world.chat = await startChat()
  world.opened = []
  world.work = join(world.chat.app.userHome, 'project')
  mkdirSync(join(world.work, 'src', 'deep'), { recursive: true })
  const write = (name: string, data: string | Buffer) => writeFileSync(join(world.work, name), data)
  write('src/app.ts', `${LINES.join('\n')}\n`)
  write('src/deep/note.txt', 'deep\n')
  write('README.md', '# Title\n\nSome *text*.\n')
  write('table.csv', 'name,count\n"a, b",12\nc,3\n')
  write(
    'page.html',
    '<!doctype html><style>h1{color:rgb(1,2,3)}</style><h1 style="font-size:50px">Hi</h1><script>parent.document.title="stolen"</script>',
  )
  write('pic.png', PNG)
  write('doc.pdf', PDF)
  write('blob.bin', Buffer.from([0, 1, 2, 3]))
  write('big.txt', `${'a line\n'.repeat(50_000)}the last line\n`)
  write('dense.json', `{"a":[${'{"b":1.50},'.repeat(50)}0]}`)
  write(
    'book.ipynb',
    JSON.stringify({
      cells: [
        {
          cell_type: 'code',
          source: 'print(3)',
          outputs: [{ output_type: 'stream', text: 'three' }],
        },
      ],
    }),
  )
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'first')
  const { body } = await world.chat.app.post('/api/session/new', { workspace: world.work })
  world.session = body.session.session_id
})

test.after(async () => {
  await world.chat.close()
})

test.after.each(async () => {
  for (const opened of world.opened.splice(0)) {
    const problems = opened.problems.filter(text => !expected.test(text))
    await opened.close()
    assert.equal(problems, [])
  }
})

/** The sheet takes the place of the chat: tree and file are side by side. */
const expand = (page: Page) => page.getByRole('button', { name: 'Expand' }).click()

test('is closed at first; opens by shortcut, resizes by keyboard, and is remembered', async () => {
  const page = await show(`session/${world.session}`)
  await page.getByRole('button', { name: 'Show workspace' }).waitFor()
  assert.is(await panel(page).count(), 0)
  await page.keyboard.press('Control+Shift+E')
  await row(page, 'src').waitFor()
  await page.getByRole('separator', { name: 'Resize workspace' }).press('ArrowLeft')
  const wide = () => document.querySelector('.panel')?.getBoundingClientRect().width === 376
  await page.waitForFunction(wide)
  await page.reload()
  await row(page, 'src').waitFor()
  await page.waitForFunction(wide)
})

test('tree by keyboard; a file opens at its line and is in the URL', async () => {
  const page = await show(`session/${world.session}`)
  await page.keyboard.press('Control+Shift+E')
  await row(page, 'src').focus()
  await page.keyboard.press('ArrowRight')
  await row(page, 'app.ts').waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.locator('.text-numbers').waitFor()
  assert.match(page.url(), /\?file=src\/app\.ts$/)
  await page.locator('.text-numbers').click({ position: { x: 20, y: 20 * 4 + 5 } })
  await page.waitForURL(/\?file=src\/app\.ts:5$/)
  await page.goto(`${world.chat.app.url}/session/${world.session}?file=src/app.ts:150`)
  await page.locator('.text-mark').waitFor()
  await expand(page)
  const [mark, box] = [
    (await page.locator('.text-mark').boundingBox())!,
    (await page.locator('.text-view').boundingBox())!,
  ]
  assert.ok(mark.y >= box.y && mark.y < box.y + box.height, 'the line is in sight')
  assert.is(await row(page, 'app.ts').getAttribute('aria-selected'), 'true')
})

test('previews: table, Markdown, image, PDF, sandboxed HTML; binary files offer a download, long ones are read by pages', async () => {
  const page = await show(`session/${world.session}`)
  await page.keyboard.press('Control+Shift+E')
  await expand(page)
  await openFile(page, 'table.csv')
  assert.equal(await page.locator('.csv-view td').allTextContents(), ['a, b', '12', 'c', '3'])
  await openFile(page, 'README.md')
  await page.locator('.md-view em').waitFor()
  await page.getByRole('button', { name: 'Source' }).click()
  await page.locator('.text-code').waitFor()
  await openFile(page, 'pic.png')
  await page.waitForFunction(drawn, '.media-image img')
  await openFile(page, 'doc.pdf')
  assert.match((await page.locator('iframe.frame-view').getAttribute('src'))!, /^blob:/)
  await openFile(page, 'page.html')
  const frame = page.frameLocator('iframe.frame-view').locator('h1')
  assert.equal(
    await frame.evaluate(one => [getComputedStyle(one).color, getComputedStyle(one).fontSize]),
    ['rgb(1, 2, 3)', '50px'],
  )
  assert.not.match(await page.title(), /stolen/)
  await openFile(page, 'big.txt')
  await page.getByRole('button', { name: 'End', exact: true }).click()
  await page.locator('.text-code', { hasText: 'the last line' }).waitFor()
  assert.ok(await page.getByRole('button', { name: 'Next part' }).isDisabled())
  await openFile(page, 'dense.json')
  await page.locator('.text-code', { hasText: '"b": 1.50' }).waitFor()
  await openFile(page, 'book.ipynb')
  await page.locator('.cell', { hasText: 'three' }).waitFor()
  await openFile(page, 'blob.bin')
  await page.locator('.preview .panel-blank', { hasText: 'Binary file' }).waitFor()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.locator('.preview').getByRole('button', { name: 'Download' }).click(),
  ])
  assert.is(download.suggestedFilename(), 'blob.bin')
})

test('saves an edit; a conflict offers its choices', async () => {
  const place = join(world.work, 'src/deep/note.txt')
  const page = await show(`session/${world.session}?file=src/deep/note.txt`)
  await page.locator('.preview').getByRole('button', { name: 'Edit', exact: true }).click()
  const editor = page.getByRole('textbox', { name: 'Editor for note.txt' })
  await editor.waitFor()
  await page.keyboard.press('Control+End')
  await page.keyboard.type('typed')
  await page.locator('.preview-dirty').waitFor()
  await page.keyboard.press('Control+s')
  await page.locator('.preview-state', { hasText: 'Saved' }).waitFor()
  assert.is(readFileSync(place, 'utf8'), 'deep\ntyped')
  await page.keyboard.type(' more')
  writeFileSync(place, 'the agent wrote this\n')
  await page.keyboard.press('Control+s')
  await page.locator('.conflict').waitFor()
  assert.is(readFileSync(place, 'utf8'), 'the agent wrote this\n')
  await page.getByRole('button', { name: 'Compare' }).click()
  await page.locator('.conflict .diff-added').first().waitFor()
  await page.getByRole('button', { name: 'Overwrite' }).click()
  await page.locator('.conflict').waitFor({ state: 'detached' })
  assert.is(readFileSync(place, 'utf8'), 'deep\ntyped more')
  await page.getByRole('button', { name: 'Done' }).click()
  await page.locator('.text-code').waitFor()
})

test('creates, renames, moves, deletes, restores, and uploads by drop', async () => {
  const page = await show(`session/${world.session}`)
  await page.keyboard.press('Control+Shift+E')
  await row(page, 'src').waitFor()
  await expand(page)
  await page.getByRole('button', { name: 'New file' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('new.txt')
  await page.keyboard.press('Enter')
  await row(page, 'new.txt').waitFor()
  await page.locator('.preview-base', { hasText: 'new.txt' }).waitFor()
  await row(page, 'new.txt').focus()
  await page.keyboard.press('F2')
  await page.getByRole('textbox', { name: 'New name for new.txt' }).fill('named.txt')
  await page.keyboard.press('Enter')
  await page.locator('[data-path="named.txt"]').waitFor()
  await page.locator('.preview-base', { hasText: 'named.txt' }).waitFor()
  // The same events a hand makes, without the pointer's race against a busy machine.
  const dataTransfer = await page.evaluateHandle(() => new DataTransfer())
  await row(page, 'named.txt').dispatchEvent('dragstart', { dataTransfer })
  await row(page, 'src').dispatchEvent('dragover', { dataTransfer })
  await row(page, 'src').dispatchEvent('drop', { dataTransfer })
  await page.getByText('Moved named.txt to src').waitFor()
  assert.ok(existsSync(join(world.work, 'src/named.txt')))
  await row(page, 'src').focus()
  await page.keyboard.press('ArrowRight')
  await row(page, 'named.txt').focus()
  await page.keyboard.press('Delete')
  await page.getByText('Deleted named.txt').waitFor()
  assert.not.ok(existsSync(join(world.work, 'src/named.txt')))
  await page.getByRole('button', { name: 'Undo' }).click()
  await row(page, 'named.txt').waitFor()
  assert.ok(existsSync(join(world.work, 'src/named.txt')))
  await dropFile(page, '[data-path="src"]', 'dropped.txt', 'dropped')
  await row(page, 'dropped.txt').waitFor()
  assert.is(readFileSync(join(world.work, 'src/dropped.txt'), 'utf8'), 'dropped')
})

test('keeps every character typed as soon as the name field appears', async () => {
  const page = await show(`session/${world.session}`)
  await page.keyboard.press('Control+Shift+E')
  await row(page, 'README.md').waitFor()
  await row(page, 'README.md').focus()
  await page.locator('[data-path="README.md"][tabindex="0"]').waitFor()
  const begun = await row(page, 'README.md').evaluate(element => {
    element.dispatchEvent(new KeyboardEvent('keydown', { key: 'F2', bubbles: true }))
    // The field is there after the drawing that follows in the same task; what it selects must be by then, too.
    return new Promise<number[]>(resolve => {
      const look = () => {
        const field = document.querySelector<HTMLInputElement>('.tree-field')
        if (field) resolve([field.selectionStart ?? -1, field.selectionEnd ?? -1])
      }
      new MutationObserver(look).observe(document.body, { childList: true, subtree: true })
    })
  })
  assert.equal(begun, [0, 'README'.length])
  await page.keyboard.press('Escape')
})

test('changes: branch, staged and unstaged files, diffs with marks in the tree', async () => {
  writeFileSync(join(world.work, 'README.md'), '# Other title\n\nSome *text*.\n')
  writeFileSync(join(world.work, 'staged.txt'), 'a\n')
  git('add', 'staged.txt')
  const page = await show(`session/${world.session}`)
  await page.keyboard.press('Control+Shift+E')
  await row(page, 'README.md').locator('.file-mark-modified').waitFor()
  await page.getByRole('tab', { name: /Changes/ }).click()
  await page.locator('.branch-name', { hasText: 'main' }).waitFor()
  await page
    .getByRole('button', { name: /README.md/ })
    .first()
    .click()
  await page.locator('.change .diff-added', { hasText: 'Other' }).waitFor()
  const titles = await page.locator('.change-group h3').allTextContents()
  assert.match(titles.join(), /Staged.*Changes/)
  await page.getByRole('button', { name: 'Options for README.md' }).click()
  await page.getByRole('menuitem', { name: 'Open file' }).click()
  await page.locator('.md-view').waitFor()
})

test('refreshes after a turn; a step links to its file; shows MEDIA', async () => {
  const picture = join(world.work, 'pic.png')
  world.chat.provider.push(
    {
      toolCalls: [
        { id: 'c1', name: 'write_file', arguments: { path: 'made.ts', content: 'const a = 1\n' } },
      ],
    },
    { text: `Here it is.\n\nMEDIA:${picture}` },
    { text: 'Title' },
  )
  const page = await show(`session/${world.session}`)
  await page.keyboard.press('Control+Shift+E')
  await row(page, 'src').waitFor()
  await page.locator('#composer').fill('make a file')
  await page.keyboard.press('Enter')
  await row(page, 'made.ts').waitFor()
  await page.waitForFunction(drawn, '.md-media img')
  await page.locator('.act').first().click()
  await page.locator('.tool-body .tx-link', { hasText: 'made.ts' }).first().click()
  await page.locator('.preview-base', { hasText: 'made.ts' }).waitFor()
})

test('attachments: picked, dropped, pasted; sent by name', async () => {
  world.chat.provider.push({ text: 'Read.' })
  const page = await show(`session/${world.session}`)
  await page.locator('.composer .attach-input').setInputFiles([
    { name: 'my notes.txt', mimeType: 'text/plain', buffer: Buffer.from('notes') },
    { name: 'photo.png', mimeType: 'image/png', buffer: PNG },
  ])
  await page.locator('.file', { hasText: 'my_notes.txt' }).waitFor()
  await page.locator('.file', { hasText: 'photo.png' }).locator('img').waitFor()
  await dropFile(page, '#composer', 'thrown.txt', 'thrown')
  await page.locator('.file', { hasText: 'thrown.txt' }).waitFor()
  const long = 'long text '.repeat(500)
  await page.locator('#composer').evaluate((field: HTMLTextAreaElement, text) => {
    const data = new DataTransfer()
    data.setData('text/plain', text)
    field.dispatchEvent(
      new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }),
    )
    field.value = text
    field.dispatchEvent(new InputEvent('input', { bubbles: true }))
  }, long)
  await page.getByRole('button', { name: 'Attach as file' }).click()
  await page.locator('.file', { hasText: 'pasted-text.txt' }).waitFor()
  assert.is(await page.locator('#composer').inputValue(), '')
  await page.locator('.file', { hasText: 'thrown.txt' }).getByRole('button').click()
  await page.locator('#composer').fill('read these')
  await page.keyboard.press('Enter')
  await page.locator('.user-files li').first().waitFor()
  await page.getByText('Read.', { exact: true }).first().waitFor()
  const files = await page.locator('.user-files li').allTextContents()
  assert.equal(
    files.map(text => text.trim()),
    ['my_notes.txt', 'pasted-text.txt'],
  )
  const picture = page.locator('.user-pictures img')
  await page.waitForFunction(drawn, '.user-pictures img')
  assert.is(await picture.count(), 1)
  await page
    .getByRole('button', { name: /photo\.png/ })
    .first()
    .waitFor()
  assert.is((await page.locator('.user-text').last().textContent())?.trim(), 'read these')
  const [request] = world.chat.provider.requests.slice(-1)
  assert.match(
    JSON.stringify(request?.body.messages.at(-1)),
    /\[Attached files: my_notes\.txt, photo\.png, pasted-text\.txt\]/,
  )
  assert.is(readFileSync(join(world.work, 'pasted-text.txt'), 'utf8'), long)
  assert.ok(readdirSync(world.work).includes('my_notes.txt'))
})

test('a pasted picture is kept with the chat, not in its workspace', async () => {
  world.chat.provider.push({ text: 'Seen.' })
  const page = await show(`session/${world.session}`)
  const before = readdirSync(world.work)
  await page.locator('#composer').evaluate((field, data) => {
    const bytes = Uint8Array.from(atob(data), letter => letter.charCodeAt(0))
    const clipboardData = new DataTransfer()
    clipboardData.items.add(new File([bytes], 'image.png', { type: 'image/png' }))
    const options = { clipboardData, bubbles: true, cancelable: true }
    field.dispatchEvent(new ClipboardEvent('paste', options))
  }, PNG.toString('base64'))
  await page.locator('.file', { hasText: /^image-.*png/ }).waitFor()
  await page.locator('#composer').fill('what is this')
  await page.keyboard.press('Enter')
  await page.getByText('Seen.', { exact: true }).first().waitFor()
  const shown = page.locator('.user-pictures img').last()
  await shown.waitFor()
  assert.match((await shown.getAttribute('src'))!, /^api\/media\?.*image-/)
  await page.waitForFunction(drawn, '.user-pictures img')
  assert.equal(readdirSync(world.work), before)
})

test('five megabytes from the clipboard become a file, not text of the field; undo takes it back, and a shorter text may be put into the message', async () => {
  const page = await show(`session/${world.session}`)
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  const drafts: number[] = []
  page.on('request', request => {
    if (request.url().endsWith('/api/session/draft')) drafts.push(request.postData()?.length ?? 0)
  })
  const field = page.locator('#composer')
  const paste = async (text: string) => {
    await page.evaluate(given => navigator.clipboard.writeText(given), text)
    await field.focus()
    await page.keyboard.press('Control+v')
  }
  const chip = page.locator('.file', { hasText: 'pasted-text' })
  await field.fill('Look at this')
  await paste('a line of a log\n'.repeat(320_000))
  await page.getByText('5,120,000 characters attached as a file').waitFor()
  assert.is(await field.inputValue(), 'Look at this')
  assert.is(await page.getByRole('button', { name: 'Put into the message' }).count(), 0)
  // Uploaded: the chip has its size, and no progress.
  await chip.getByText('MB').waitFor()
  await chip.locator('progress').waitFor({ state: 'detached' })
  await field.press('Control+z')
  await chip.waitFor({ state: 'detached' })
  assert.is(await field.inputValue(), 'Look at this')

  await paste('b'.repeat(30_000))
  await page.getByRole('button', { name: 'Put into the message' }).click()
  assert.is((await field.inputValue()).length, 30_012)
  await chip.waitFor({ state: 'detached' })
  await page.keyboard.press('Control+z')
  assert.is(await field.inputValue(), 'Look at this')

  // A dropped text, too.
  await field.evaluate((element, text) => {
    const data = new DataTransfer()
    data.setData('text/plain', text)
    const options = { dataTransfer: data, bubbles: true, cancelable: true }
    element.dispatchEvent(new DragEvent('drop', options))
  }, 'c'.repeat(40_000))
  await page.getByText('40,000 characters attached as a file').waitFor()
  await page.getByRole('button', { name: /^Remove pasted-text/ }).click()
  await field.fill('')
  await field.blur()
  await page.waitForResponse('**/api/session/draft')
  assert.ok(Math.max(...drafts) < 40_000, `${drafts}`)
})

test('a long text pasted into the editor of a sent message becomes a file of the message, beside those it has', async () => {
  world.chat.provider.push({ text: 'Read once.' }, { text: 'Read again.' })
  const page = await show(`session/${world.session}`)
  await page
    .locator('.composer .attach-input')
    .setInputFiles([{ name: 'first.txt', mimeType: 'text/plain', buffer: Buffer.from('first') }])
  await page.locator('.file', { hasText: 'first.txt' }).waitFor()
  await page.locator('#composer').fill('read it')
  await page.keyboard.press('Enter')
  await page.getByText('Read once.', { exact: true }).first().waitFor()
  await page.getByRole('button', { name: 'Edit', exact: true }).last().click()
  const editor = page.getByRole('textbox', { name: 'Edit message' })
  const paste = (text: string) =>
    editor.evaluate((element, given) => {
      const clipboardData = new DataTransfer()
      clipboardData.setData('text/plain', given)
      const options = { clipboardData, bubbles: true, cancelable: true }
      element.dispatchEvent(new ClipboardEvent('paste', options))
    }, text)
  await paste('a line of a log\n'.repeat(320_000))
  const attached = page.locator('.user-edit-file')
  await attached.filter({ hasText: '5,120,000 characters attached as a file' }).waitFor()
  assert.is(await editor.inputValue(), 'read it')
  await paste('b'.repeat(30_000))
  await attached.filter({ hasText: '30,000 characters' }).getByRole('button').click()
  await page.getByRole('button', { name: 'Resend' }).click()
  await page.getByText('Read again.', { exact: true }).first().waitFor()
  const [request] = world.chat.provider.requests.slice(-1)
  assert.match(
    JSON.stringify(request?.body.messages.at(-1)),
    /read it.*\[Attached files: first\.txt, pasted-text[^,]*\.txt\]/,
  )
})

test('without a session, offers to start one', async () => {
  const page = await show('')
  await page.keyboard.press('Control+Shift+E')
  await page.getByRole('button', { name: 'Show files' }).click()
  await page.waitForURL(/session\//)
  await page.locator('.files-bar').waitFor()
})

test('on a phone the panel fills the page, closes on Escape, and nothing scrolls sideways', async () => {
  const page = await show(`session/${world.session}`, { viewport: { width: 390, height: 800 } })
  await page.getByRole('button', { name: 'Show workspace' }).click()
  await row(page, 'src').waitFor()
  const box = (await panel(page).boundingBox())!
  assert.equal([box.x, Math.round(box.width)], [0, 390])
  await row(page, 'README.md').click()
  await page.locator('.md-view').waitFor()
  assert.is(await page.evaluate('document.documentElement.scrollWidth'), 390)
  await page.keyboard.press('Escape')
  await panel(page).waitFor({ state: 'detached' })
  assert.is(
    await page.evaluate('document.activeElement.getAttribute("aria-label")'),
    'Show workspace',
  )
})

test('has no axe violations: tree, preview, editor, changes', async () => {
  const page = await show(`session/${world.session}?file=src/app.ts:3`)
  const { axe } = world.opened[0]!
  await page.locator('.preview').getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByRole('textbox', { name: 'Editor for app.ts' }).waitFor()
  assert.equal(await axe(), [])
  await page.getByRole('tab', { name: /Changes/ }).click()
  await page
    .getByRole('button', { name: /README.md/ })
    .first()
    .click()
  await page.locator('.change .diff-added').first().waitFor()
  assert.equal(await axe(), [])
})

test.run()
