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
  await page.getByRole('button', { name: 'app.ts', expanded: false }).click()
  const links = page.locator('.diff-added a')
  await links.nth(1).waitFor()
  assert.equal(await links.allTextContents(), ['app.ts:5', 'https://example.com/a'])
  const hunks = page.locator('.hunk-head')
  await hunks.nth(1).getByRole('button', { name: 'Stage hunk' }).click()
  await page.getByRole('heading', { name: 'Staged' }).waitFor()
  await hunks.nth(1).waitFor({ state: 'detached' })
  assert.match(git('diff', '--cached'), '+line 31 changed')
  assert.not.match(git('diff', '--cached'), 'line 2 changed')

  await page.getByRole('checkbox', { name: /Line 2: line 2$/ }).check()
  await page.getByRole('checkbox', { name: /Line 2: line 2 changed/ }).check()
  assert.equal(await axe(), [])
  await page.getByRole('button', { name: 'Stage 2 lines' }).click()
  await page
    .getByRole('checkbox', { name: /Line 2: line 2 changed/ })
    .waitFor({ state: 'detached' })
  assert.match(git('show', ':app.ts'), 'line 2 changed')
  assert.not.match(git('show', ':app.ts'), 'line 3 changed')

  await page.getByRole('button', { name: 'Discard changes to app.ts' }).click()
  await page.getByText('Discarded changes to app.ts').waitFor()
  assert.not.match(readFileSync(join(world.work, 'app.ts'), 'utf8'), 'line 3 changed')
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('button', { name: 'Discard changes to app.ts' }).waitFor()
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
  await page.getByRole('button', { name: 'Unstage all' }).waitFor()
  assert.is(git('diff', '--cached', '--name-only'), 'app.ts')

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
