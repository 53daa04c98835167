/** Files that cannot be read are named in the log of the start, before anyone asks. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../_app.ts'

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

test.run()
