/** The page of a viewer and of a member: whatever it offers, pressing it ends in no refusal. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../../_app.ts'
import { openPage } from '../../_browser.ts'
import { git } from '../../_git.ts'
import { PASSWORD, setPerson, signIn } from '../../_people.ts'

const test = suite<{ app: TestApp; chat: string; task: string }>('roles in the page')

const CHAT = [
  { role: 'user', content: 'What is in a.txt?' },
  { role: 'assistant', content: 'One word.' },
  { role: 'user', content: 'Which?' },
  {
    role: 'assistant',
    content: '**Rate limit reached:** too many requests\n\n*Wait.*',
    _error: true,
  },
]

test.before(async context => {
  const app = await startApp({ env: { AGENT_WEBUI_PASSWORD: PASSWORD }, allowErrors: true })
  await setPerson(app, { name: 'Mia', role: 'member', profiles: ['team'] })
  await setPerson(app, { name: 'Vera', role: 'viewer', profiles: ['team'] })
  const signedIn = await signIn(app)
  await app.post('/api/profile/create', { name: 'team' }, signedIn)
  const owner = { headers: { cookie: `${signedIn.headers.cookie}; agent_profile=team` } }
  // A model that is never called, so that the page does not introduce the demo.
  const model = { provider: 'custom', base_url: 'http://127.0.0.1:9/v1', default: 'none' }
  writeFileSync(join(app.home, 'profiles', 'team', 'config.yaml'), JSON.stringify({ model }))
  const workspace = join(app.userHome, 'work')
  mkdirSync(workspace)
  git(workspace, 'init', '-q')
  writeFileSync(join(workspace, 'a.txt'), 'one\n')
  git(workspace, 'add', '-A')
  git(workspace, 'commit', '-qm', 'one')
  git(workspace, 'branch', 'side')
  writeFileSync(join(workspace, 'a.txt'), 'two\n')
  await app.post('/api/workspaces/add', { path: workspace }, owner)
  const chats: string[] = []
  for (const title of ['First', 'Second']) {
    const given = { title, messages: CHAT, workspace }
    chats.push((await app.post('/api/session/import', given, owner)).body.session.session_id)
  }
  await app.post('/api/projects/create', { name: 'Garden' }, signedIn)
  const task = { name: 'Report', prompt: 'report', schedule: '0 9 * * *' }
  const made = await app.post('/api/crons/create', task, owner)
  const skill = { name: 'notes', content: '---\nname: notes\ndescription: Notes\n---\nText' }
  await app.post('/api/skills/save', skill, owner)
  Object.assign(context, { app, chat: chats[0], task: made.body.job.id })
})
test.after(({ app }) => app.close())

/** Ends the sign-in, or takes away what the test still needs. Confirmed in the dialogs of others. */
const LEFT_OUT =
  /sign out|delete|remove|archive|discard|clear|password|hide|close|back to|beside|profile:|filter|dictat/i
const MAX_PRESSES = 150

/** Presses the first control that was not pressed yet; its name, or null when there is none. */
const pressNext = (page: Page, pressed: string[]): Promise<string | null> =>
  page.evaluate(
    ([done, leftOut]) => {
      const skip = new RegExp(leftOut, 'i')
      const dialog = [...document.querySelectorAll('dialog[open]')].at(-1)
      const all = (dialog ?? document).querySelectorAll<HTMLElement>(
        'button, [role^=menuitem], [role=option], [role=switch], input[type=checkbox]',
      )
      for (const each of all) {
        const text = each.ariaLabel || each.textContent || each.title || each.id
        const place = each.closest('nav, header, aside, article, section, dialog, form')
        const name = `${place?.ariaLabel ?? place?.className ?? ''} > ${text.trim()}`
        const isOff = each.matches(':disabled, [aria-disabled=true]') || each.closest('[inert]')
        if (isOff || done.includes(name) || skip.test(text) || !each.checkVisibility()) continue
        each.click()
        return name
      }
      return null
    },
    [pressed, LEFT_OUT.source] as const,
  )

const walk = async (app: TestApp, name: string, paths: readonly string[]) => {
  const { headers } = await signIn(app, name)
  const opened = await openPage(`${app.url}/login`)
  const { page } = opened
  const [key = '', value = ''] = headers.cookie.split('=')
  await page.context().addCookies([{ name: key, value, url: app.url }])
  const refused: string[] = []
  const pressed: string[] = []
  const open = new Set<string>()
  let last = ''
  page.on('request', request => {
    if (request.url().includes('/api/') && !/events|stream/.test(request.url()))
      open.add(`${request.method()} ${request.url()}`)
  })
  const ended = (what: string) => open.delete(what)
  page.on('requestfailed', request => ended(`${request.method()} ${request.url()}`))
  page.on('response', response => {
    const what = `${response.request().method()} ${response.url()}`
    ended(what)
    if (response.status() === 403) refused.push(`${what.replace(app.url, '')} (${last})`)
  })
  const settled = async () => {
    await page.evaluate(() => new Promise(done => requestAnimationFrame(() => setTimeout(done))))
    while (open.size > 0) {
      // Not every request of a view that was left gets a response.
      const next = await page.waitForEvent('response', { timeout: 1_000 }).catch(() => null)
      if (next === null) open.clear()
    }
  }
  for (const path of paths) {
    last = `opening ${path}`
    await page.goto(`${app.url}${path}`, { waitUntil: 'load' })
    await page.locator('main :is(h1, h2)').first().waitFor()
    await settled()
    for (let count = 0; count < MAX_PRESSES; count++) {
      const found = await pressNext(page, pressed)
      if (found === null) {
        const dialog = page.locator('dialog[open], :popover-open').last()
        if ((await dialog.count()) === 0) break
        await page.keyboard.press('Escape')
        await settled()
        if ((await dialog.count()) > 0) break
        continue
      }
      pressed.push(found)
      last = `${path}: ${found}`
      await settled()
      if (new URL(page.url()).pathname !== path) {
        await page.goto(`${app.url}${path}`, { waitUntil: 'load' })
        await settled()
      }
    }
  }
  return { ...opened, refused, pressed }
}

const VIEWS = ['/inbox', '/tasks', '/skills', '/usage', '/profiles', '/settings/general']

for (const name of ['Vera', 'Mia'])
  test(`${name === 'Vera' ? 'a viewer' : 'a member'} is offered nothing that is refused`, async ({
    app,
    chat,
    task,
  }) => {
    const own = [
      '/settings/notifications',
      '/settings/access',
      '/settings/system',
      '/settings/import',
    ]
    const ofOne = [`/session/${chat}`, `/tasks/${task}`, '/skills/notes']
    const paths = [...ofOne, '/', ...VIEWS, ...own]
    const { refused, pressed, close } = await walk(app, name, paths)
    if (process.env.SHOTS) writeFileSync(`${process.env.SHOTS}-${name}.txt`, pressed.join('\n'))
    assert.equal(refused, [])
    assert.ok(pressed.length > 20, `${pressed.length} controls were pressed`)
    await close()
  })

test.run()
