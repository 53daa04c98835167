/** A config.yaml that was never readable stops turns and changes; everything that only shows something still answers. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { routes } from '../../router.ts'
import { startApp } from '../_app.ts'

const test = suite('unreadable config.yaml')

/** Streams do not end, and the check for updates asks git. */
const LEFT_OUT = /stream|\/api\/events|inject|updates/

test('every GET responds as with a valid file', async () => {
  const app = await startApp({ allowErrors: true })
  const { body } = await app.post('/api/session/new', {})
  const id = body.session.session_id
  const paths = Object.keys(routes)
    .filter(route => route.startsWith('GET ') && !LEFT_OUT.test(route))
    .map(route => `${route.slice(4)}?session_id=${id}&path=.&provider=openai&name=x&q=x&prefix=`)
  const look = async () => {
    const found = new Map<string, number>()
    for (const path of paths) found.set(path, (await app.get(path)).status)
    return found
  }
  const sound = await look()
  writeFileSync(join(app.home, 'config.yaml'), 'model: {broken\n')
  await app.restart()
  const broken = await look()
  const worse = paths.filter(path => broken.get(path) !== sound.get(path))
  assert.equal(
    worse.map(path => `${path.split('?')[0]} ${sound.get(path)} → ${broken.get(path)}`),
    [],
  )
  await app.close()
})

test.run()
