/** Where the version comes from, in which order, and what it looks like in a header. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { serverName } from '../../../lib/http/headers.ts'
import { readVersion } from '../../../lib/operations/version.ts'
import { tempDir } from '../../_temp-dir.ts'

const PATH = process.env.PATH ?? ''
const test = suite<{ root: string }>('version')
test.before.each(context => {
  context.root = tempDir('agent-webui-version')
})

test('unknown, built in, or from the VERSION file', async ({ root }) => {
  assert.is(await readVersion({ root, path: PATH }), 'unknown')
  assert.is(await readVersion({ root, builtIn: 'v2.0.0' }), 'v2.0.0')
  for (const bad of ['', '\n', 'a b', 'x\r\nSet-Cookie: a', '-x', 'ü', 'x'.repeat(200)]) {
    writeFileSync(join(root, 'VERSION'), bad)
    assert.is(await readVersion({ root }), 'unknown', bad)
  }
  writeFileSync(join(root, 'VERSION'), 'v3.1.0\n')
  assert.is(await readVersion({ root, builtIn: 'v2.0.0' }), 'v3.1.0')
})

test('uses git in our own checkout only, and not when it fails', async ({ root }) => {
  const git = (...args: string[]) =>
    execFileSync(
      'git',
      [
        '-c',
        'user.name=x',
        '-c',
        'user.email=x@example.org',
        '-c',
        'commit.gpgsign=false',
        ...args,
      ],
      { cwd: root, stdio: 'ignore' },
    )
  writeFileSync(join(root, 'VERSION'), 'v3.1.0')
  mkdirSync(join(root, '.git'))
  assert.is(await readVersion({ root, path: PATH }), 'v3.1.0')
  git('init', '-q')
  git('add', '.')
  git('commit', '-q', '-m', 'x')
  git('tag', 'v1.2.3')
  assert.is(await readVersion({ root, path: PATH }), 'v1.2.3')
  writeFileSync(join(root, 'VERSION'), 'v3.1.0 changed')
  assert.is(await readVersion({ root, path: PATH }), 'v1.2.3-dirty')
  assert.is(await readVersion({ root, path: '/nowhere', builtIn: 'b' }), 'b')
  mkdirSync(join(root, 'inner'))
  assert.is(await readVersion({ root: join(root, 'inner'), path: PATH }), 'unknown')
})

test('the Server header', () => {
  assert.is(serverName('v1.2.3'), 'agent-webui/1.2.3')
  assert.is(serverName('1.2.3-4-gabc-dirty'), 'agent-webui/1.2.3-4-gabc-dirty')
  assert.is(serverName('unknown'), 'agent-webui')
})

test.run()
