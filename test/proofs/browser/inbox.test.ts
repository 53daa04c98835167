/** The inbox in a real browser: questions of two profiles answered by keyboard, one of them on another device at the same time; running turns steered and stopped. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openPage } from '../../_browser.ts'
import { startChat } from '../../handlers/_chat.ts'

const test = suite('page: inbox')

test('questions and running turns of all profiles are answered, steered and stopped by keyboard', async () => {
  const chat = await startChat()
  const { app, provider } = chat
  try {
    const first = await chat.newSession()
    await app.post('/api/session/rename', { session_id: first, title: 'First chat' })
    await app.post('/api/profile/create', { name: 'work' })
    const made = await app.post('/api/session/new', { profile: 'work' })
    const second = made.body.session.session_id
    await app.post('/api/session/rename', { session_id: second, title: 'Second chat' })
    assert.equal((await app.get('/api/running')).body.turns, [])

    await app.post('/api/approval/inject_test', { session_id: first, command: 'rm -rf build' })
    await app.post('/api/approval/inject_test', { session_id: second, command: 'rm -rf dist' })
    await app.post('/api/clarify/inject_test', { session_id: second, question: 'Which one?' })
    const asked = (await app.get('/api/inbox')).body
    assert.equal(
      asked.sessions.map((s: { title: string; profile: string }) => [s.title, s.profile]),
      [
        ['First chat', 'default'],
        ['Second chat', 'work'],
      ],
    )

    const at = await openPage(`${app.url}/inbox`)
    const { page } = at
    const items = page.locator('[data-item]')
    await items.nth(2).waitFor()
    assert.match(await page.title(), /^\(3\) Inbox · /)
    await page.locator('.foot-count', { hasText: '3' }).waitFor()
    assert.equal(await at.axe(), [])
    const press = (key: string) => page.keyboard.press(key)
    const inbox = page.locator('.inbox')
    await items.first().focus()
    // One press changes nothing, and moving on forgets it.
    await press('a')
    await inbox.getByText('Press A again: Allow once').waitFor()
    await press('j')
    await press('k')
    assert.is(await inbox.getByText('Press A again').count(), 0)
    assert.is((await app.get('/api/inbox')).body.questions.length, 3)
    await press('a')
    await press('a')
    await items.nth(2).waitFor({ state: 'detached' })
    // Answered on another device: it goes away here, and the focus is at what took its place.
    const [other] = (await app.get('/api/inbox')).body.questions
    await app.post('/api/approval/respond', {
      session_id: second,
      choice: 'deny',
      approval_id: other.approval_id,
    })
    await items.nth(1).waitFor({ state: 'detached' })
    await page.waitForFunction(() => document.activeElement?.matches('[data-item]'))
    await press('r')
    await page.keyboard.type('the ja one')
    await press('Enter')
    await items.first().waitFor({ state: 'detached' })
    assert.equal((await app.get('/api/inbox')).body.questions, [])
    await page.getByText('Nothing needs you').waitFor()

    provider.push({ end: 'headers' })
    await chat.send(first, 'work on it')
    const running = items.filter({ hasText: 'First chat' })
    await running.waitFor()
    await running.focus()
    await press('s')
    await page.keyboard.type('only the tests')
    await press('Enter')
    await page.getByText('The agent reads it before its next step').waitFor()
    const { session } = (await app.get(`/api/session?session_id=${first}`)).body
    assert.equal(
      session.queued.map(({ text, steer }: { text: string; steer: boolean }) => [text, steer]),
      [['only the tests', true]],
    )
    await page.setViewportSize({ width: 320, height: 700 })
    assert.equal(await at.axe(), [])
    assert.ok(
      await page.evaluate(
        () => document.documentElement.scrollWidth <= document.documentElement.clientWidth,
      ),
    )
    await running.focus()
    await press('x')
    await press('x')
    await running.waitFor({ state: 'detached' })
    assert.equal((await app.get('/api/running')).body.turns, [])
    assert.equal(at.problems, [])
    await at.close()
  } finally {
    await chat.close()
  }
})

test.run()
