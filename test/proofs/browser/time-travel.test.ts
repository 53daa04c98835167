/** Time travel in a real browser: the files after a step. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openPage } from '../../_browser.ts'
import { startChat } from '../../handlers/_chat.ts'

const test = suite('browser: time travel')

const call = (id: string, name: string, args: Record<string, unknown>) => ({
  id,
  name,
  arguments: args,
})

test('a step shows the files as they were', async () => {
  const chat = await startChat()
  chat.enableCheckpoints()
  const { app, provider } = chat
  const dir = join(app.userHome, 'project')
  mkdirSync(join(dir, 'src'), { recursive: true })
  await app.post('/api/workspaces/add', { path: dir })
  const { body } = await app.post('/api/session/new', { workspace: dir })
  const session = String(body.session.session_id)
  writeFileSync(join(dir, 'src/a.ts'), 'const one = 1\n')
  provider.push(
    {
      toolCalls: [
        call('c1', 'patch', { path: 'src/a.ts', old_string: 'one = 1', new_string: 'two = 2' }),
      ],
    },
    {
      toolCalls: [
        call('c2', 'terminal', {
          command: 'echo made > made.txt; echo "const three = 3" > src/a.ts',
        }),
      ],
    },
    { text: 'All changed.' },
  )
  await chat.turn(session, 'Change the file')
  await app.get(`/api/rollback/list?session_id=${session}`)
  const { page, axe, problems, close } = await openPage(`${app.url}/session/${session}`)

  await page
    .getByRole('button', { name: /Edited.*a\.ts/ })
    .first()
    .click()
  await page
    .getByRole('button', { name: /src\/a\.ts/ })
    .first()
    .click()
  await page.getByRole('button', { name: 'Files after this step' }).click()
  const past = page.getByRole('region', { name: 'Files at an earlier step' })
  await past.getByText('After change 1 of 2').waitFor()
  await past.getByText('Didn’t exist yet').waitFor()
  await past.getByRole('button', { name: /^a\.ts/ }).click()
  await past.getByText('const two = 2').waitFor()
  await past.getByRole('button', { name: 'Compared with now' }).click()
  await past.locator('.diff-added').getByText('const three = 3').waitFor()
  assert.equal(await axe(), [])
  await past.getByRole('button', { name: 'Earlier' }).click()
  await past.getByText('Before this answer').waitFor()
  await past.locator('.diff-removed').getByText('const one = 1').waitFor()
  await past.getByRole('button', { name: 'Back to now' }).click()
  await past.waitFor({ state: 'detached' })
  assert.is(readFileSync(join(dir, 'src/a.ts'), 'utf8'), 'const three = 3\n')

  assert.equal(problems, [])
  await close()
  await chat.close()
})

test.run()
