/** Stage by hunk and line, commit with hooks, and discard with undo, in a real browser. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { closeBrowser, openPage, type TestPage } from '../../_browser.ts'
import { startChat } from '../../handlers/_chat.ts'

type World = { chat: Awaited<ReturnType<typeof startChat>>; work: string; session: string }
const world = {} as World
const LINES = Array.from({ length: 40 }, (_, n) => `line ${n + 1}`)
const git = (...args: string[]) =>
  execFileSync('git', args, { cwd: world.work, encoding: 'utf8' }).trim()

const test = suite('browser: git changes')

test.before(async () => {
  world.chat = await startChat()
  world.work = join(world.chat.app.userHome, 'project')
  mkdirSync(world.work)
  writeFileSync(join(world.work, 'app.ts'), `${LINES.join('\n')}\n`)
  git('init', '-q', '-b', 'main')
  git('config', 'user.name', 't')
  git('config', 'user.email', 't@example.invalid')
  git('add', '.')
  git('commit', '-qm', 'first')
  const hook = join(world.work, '.git/hooks/pre-commit')
  mkdirSync(join(hook, '..'), { recursive: true })
  writeFileSync(hook, '#!/bin/sh\nexit 0\n')
  chmodSync(hook, 0o755)
  const { body } = await world.chat.app.post('/api/session/new', { workspace: world.work })
  world.session = body.session.session_id
})

test.after(async () => {
  await closeBrowser()
  await world.chat.close()
})

const show = async (): Promise<TestPage> => {
  const opened = await openPage(`${world.chat.app.url}/session/${world.session}`)
  await opened.page.keyboard.press('Control+Shift+E')
  await opened.page.getByRole('tab', { name: 'Changes' }).click()
  return opened
}

test('stages a hunk and a line, discards with undo, and commits', async () => {
  const note = ', see app.ts:5 and https://example.com/a'
  const text = LINES.map((line, n) =>
    n === 1 || n === 2 || n === 30 ? `${line} changed${n === 2 ? note : ''}` : line,
  )
  writeFileSync(join(world.work, 'app.ts'), `${text.join('\n')}\n`)
  const { page, problems, axe, axeInDialog } = await show()
  await page.getByRole('button', { name: 'app.ts modified' }).click()
  const links = page.locator('.diff-added a')
  await links.nth(1).waitFor()
  assert.equal(await links.allTextContents(), ['app.ts:5', 'https://example.com/a'])
  const hunks = page.locator('.hunk-head')
  await hunks.nth(1).getByRole('button', { name: 'Stage hunk' }).click()
  await page.getByRole('heading', { name: 'Staged' }).waitFor()
  await hunks.nth(1).waitFor({ state: 'detached' })
  assert.match(git('diff', '--cached'), '+line 31 changed')
  assert.not.match(git('diff', '--cached'), 'line 2 changed')

  // Check boxes only while lines are chosen, and then the code of all lines stays in one column.
  assert.is(await page.locator('.stage-check').count(), 0)
  await page.getByRole('button', { name: 'Choose lines' }).click()
  const columns = await page.locator('.stage-lines pre > div').evaluateAll(lines =>
    lines.map(line => {
      const text = document.createTreeWalker(line, NodeFilter.SHOW_TEXT).nextNode()!
      const range = document.createRange()
      range.setStart(text, 0)
      range.setEnd(text, 1)
      return range.getBoundingClientRect().left
    }),
  )
  assert.is(new Set(columns).size, 1)
  await page.getByRole('checkbox', { name: /Line 2: line 2$/ }).check()
  await page.getByRole('checkbox', { name: /Line 2: line 2 changed/ }).check()
  assert.equal(await axe(), [])
  await page.getByRole('button', { name: 'Stage 2 lines' }).click()
  await page
    .getByRole('checkbox', { name: /Line 2: line 2 changed/ })
    .waitFor({ state: 'detached' })
  assert.match(git('show', ':app.ts'), 'line 2 changed')
  assert.not.match(git('show', ':app.ts'), 'line 3 changed')

  const menu = () => page.getByRole('button', { name: 'Options for app.ts' }).last()
  await menu().click()
  await page.getByRole('menuitem', { name: 'Discard changes' }).click()
  await page.getByText('Discarded changes to app.ts').waitFor()
  assert.not.match(readFileSync(join(world.work, 'app.ts'), 'utf8'), 'line 3 changed')
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('heading', { name: 'Changes' }).waitFor()
  assert.match(readFileSync(join(world.work, 'app.ts'), 'utf8'), 'line 3 changed')

  await page.getByRole('textbox', { name: 'Commit message' }).fill('Change two lines')
  await page.getByRole('button', { name: 'Commit 1 file' }).click()
  await page.getByRole('heading', { name: 'Run the repository’s hooks?' }).waitFor()
  assert.equal(await axeInDialog(), [])
  await page.getByRole('button', { name: 'Run hooks' }).click()
  await page.getByText('Committed', { exact: true }).waitFor()
  assert.is(git('log', '-1', '--format=%s'), 'Change two lines')
  await page.getByRole('button', { name: 'More Git actions' }).click()
  await page.getByRole('menuitem', { name: 'History' }).click()
  await page.getByRole('button', { name: /Change two lines/ }).click()
  await page.locator('.git-commit-diff', { hasText: 'line 31 changed' }).waitFor()
  await page.getByRole('button', { name: /^Branch main/ }).click()
  await page.getByRole('menuitem', { name: 'New branch' }).click()
  await page.getByRole('textbox', { name: 'Branch name' }).fill('topic')
  assert.equal(await axeInDialog(), [])
  await page.getByRole('button', { name: 'Create and switch' }).click()
  await page.getByRole('button', { name: /^Branch topic/ }).waitFor()
  await page.getByRole('button', { name: 'Stage all' }).click()
  await page.getByRole('button', { name: 'Unstage all' }).click()
  await page.getByRole('button', { name: 'Stage all' }).waitFor()

  // The sheet in the place of the chat: list and diff side by side, and the letters of the list in one column.
  writeFileSync(join(world.work, 'new.txt'), 'new\n')
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.getByRole('button', { name: 'Expand' }).click()
  const head = page.locator('.review-head')
  await head.getByText('1 of 2').waitFor()
  await page.keyboard.press('n')
  await head.getByText('new.txt').waitFor()
  const letters = await page
    .locator('.change-line .file-mark')
    .evaluateAll(marks => marks.map(mark => mark.getBoundingClientRect().left))
  assert.is(letters.length, 2)
  assert.is(new Set(letters).size, 1)
  assert.equal(await axe(), [])
  await page.keyboard.press('Escape')
  await head.waitFor({ state: 'detached' })

  // With nothing staged, one key commits all.
  await page.keyboard.press('Control+Shift+G')
  await page.keyboard.type('All of it')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('button', { name: 'Run hooks' }).click()
  await page.getByText('No changes').waitFor()
  assert.is(git('log', '-1', '--format=%s'), 'All of it')
  assert.is(git('status', '--porcelain'), '')

  await page.getByRole('button', { name: /^Workspace/ }).click()
  await page.getByRole('option', { name: 'Work in a new worktree…' }).click()
  await page.getByRole('textbox', { name: 'Branch name' }).fill('apart')
  assert.equal(await axeInDialog(), [])
  await page.getByRole('button', { name: 'Create worktree' }).click()
  await page.getByText('This chat works in its own worktree').waitFor()
  assert.match(git('worktree', 'list'), '[apart]')
  assert.equal(
    // The question about hooks is a 409.
    problems.filter(problem => !/status of 409/.test(problem)),
    [],
  )
})

test.run()
