/** Files that cannot be read are named in the log of the start, before anyone asks. */
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Check } from '../../lib/operations/checks/check.ts'
import { startApp } from '../_app.ts'
import { OTHER_FORMS } from '../lib/cli/_broken-setups.ts'
import { createDesk } from '../lib/cli/_run.ts'

/** Without them nobody signs in, so no page shows anything. */
const CLOSED = ['people.json', '.password', 'settings.json']

const test = suite('unreadable files')

test('config.yaml, settings.json and people.json', async () => {
  const app = await startApp()
  const broken: Record<string, string> = {
    [join(app.home, 'config.yaml')]: 'model: [',
    [join(app.state, 'settings.json')]: '{broken',
    [join(app.state, 'people.json')]: '{"version":1',
  }
  await app.restart(() => {
    app.lines.length = 0
    for (const [path, text] of Object.entries(broken)) writeFileSync(path, text)
  })
  for (const path of Object.keys(broken))
    assert.is(
      app.lines.filter(line => line.includes(`${path} cannot be read`)).length > 0,
      true,
      `${path}\n${app.lines.join('\n')}`,
    )
  await app.restart(() => {
    writeFileSync(join(app.home, 'config.yaml'), '')
    writeFileSync(join(app.state, 'settings.json'), '{}')
    writeFileSync(join(app.state, 'people.json'), '{"version":1,"people":[]}')
    chmodSync(join(app.home, 'config.yaml'), 0o666)
    app.lines.length = 0
  })
  assert.ok(app.lines.some(line => line.includes('config.yaml can be changed by other users')))
  await app.close()
})

test('what doctor calls unreadable, the page names too, until it is repaired', async () => {
  const [app, desk] = [await startApp(), createDesk()]
  const names = Object.keys(OTHER_FORMS).filter(name => !CLOSED.includes(name))
  const shown = async (): Promise<string[]> =>
    (await app.get('/api/config/problems')).body.problems.map((each: { file: string }) => each.file)
  const found = async (): Promise<string[]> => {
    const { out } = await desk.talk(['doctor', '--json'], { env: { HOME: app.userHome } })
    const { checks } = JSON.parse(out) as { checks: Check[] }
    return checks.flatMap(({ code, about }) =>
      code === 'file_unreadable' ? join(app.state, about) : [],
    )
  }
  try {
    for (const name of names) {
      const path = join(app.state, name)
      const before = existsSync(path) ? readFileSync(path) : null
      writeFileSync(path, OTHER_FORMS[name] ?? '', { mode: 0o600 })
      assert.equal(await shown(), [path])
      assert.equal(await found(), [path])
      if (before) writeFileSync(path, before)
      else rmSync(path)
      assert.equal(await shown(), [], name)
    }
    // Read at the start only: a repair is not enough.
    const tokens = join(app.state, 'api-tokens.json')
    await app.restart(() => writeFileSync(tokens, '[]', { mode: 0o600 }))
    rmSync(tokens)
    assert.equal(await shown(), [tokens])
    await app.restart()
    assert.equal(await shown(), [])
  } finally {
    desk.close()
    await app.close()
  }
})

test.run()
