/** AGENT_WEBUI_AUTO_INSTALL: off by default, refused for a directory others could write, never a stopped service. */
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  findAgentDir,
  installAgentDependencies,
} from '../../../lib/operations/host-agent-checkout.ts'
import { startApp } from '../../_app.ts'
import { tempDir } from '../../_temp-dir.ts'

type Context = { root: string; dir: string; marker: string }
const test = suite<Context>('host agent checkout')
test.before.each(context => {
  context.root = tempDir('agent')
  context.dir = join(context.root, 'checkout')
  context.marker = join(context.root, 'installed')
  const bin = join(context.dir, '.venv', 'bin')
  mkdirSync(bin, { recursive: true, mode: 0o755 })
  writeFileSync(join(context.dir, 'pyproject.toml'), '')
  python(context, `echo "$PWD $@" > '${context.marker}'`)
})

const python = ({ dir }: Context, script: string) => {
  const path = join(dir, '.venv', 'bin', 'python')
  writeFileSync(path, `#!/bin/sh\n${script}\n`)
  chmodSync(path, 0o755)
}

const install = async (
  { dir, root }: Context,
  options: { enabled?: boolean; uid?: number } = {},
) => {
  const lines: string[] = []
  const say = (line: string) => void lines.push(line)
  await installAgentDependencies({
    agentDir: dir,
    baseHome: root,
    enabled: options.enabled ?? true,
    env: { PATH: process.env.PATH ?? '' },
    log: { info: say, warn: say },
    uid: options.uid ?? process.getuid?.(),
    signal: new AbortController().signal,
  })
  return lines
}

test('disabled by default: runs nothing and reports nothing', async context => {
  assert.equal(await install(context, { enabled: false }), [])
  assert.not.ok(existsSync(context.marker))
})

test('rejects a directory or manifest that others can write', async context => {
  for (const path of [context.dir, join(context.dir, 'pyproject.toml')]) {
    for (const mode of [0o775, 0o757]) {
      chmodSync(path, mode)
      assert.match((await install(context)).join(), /not installed: .*can be written by others/)
    }
    chmodSync(path, 0o755)
  }
  assert.not.ok(existsSync(context.marker))
})

test('rejects a directory of another user, also through a link', async context => {
  assert.match((await install(context, { uid: 54_321 })).join(), /belongs to another user/)
  chmodSync(context.dir, 0o777)
  const link = join(context.root, 'link')
  symlinkSync(context.dir, link)
  assert.match((await install({ ...context, dir: link })).join(), /can be written by others/)
  assert.not.ok(existsSync(context.marker))
})

test('installs a trusted checkout with its own Python', async context => {
  assert.match((await install(context)).join(), /are installed/)
  assert.ok(existsSync(context.marker))
})

test('reports a failure in a sentence', async context => {
  python(context, 'echo "no such wheel" >&2; exit 3')
  assert.match((await install(context)).join(), /could not be installed: no such wheel/)
  rmSync(join(context.dir, '.venv', 'bin', 'python'))
  symlinkSync('/nowhere', join(context.dir, '.venv', 'bin', 'python'))
  rmSync(join(context.dir, 'pyproject.toml'))
  assert.match((await install(context)).join(), /No dependency manifest in/)
})

test('finds the checkout in the home by default', ({ root, dir }) => {
  assert.is(findAgentDir({ agentDir: dir, baseHome: root }), dir)
  assert.is(findAgentDir({ agentDir: join(root, 'none'), baseHome: root }), null)
  assert.is(findAgentDir({ agentDir: null, baseHome: root }), null)
  mkdirSync(join(root, 'agent'))
  writeFileSync(join(root, 'agent', 'requirements.txt'), '')
  assert.is(findAgentDir({ agentDir: null, baseHome: root }), join(root, 'agent'))
})

test('the service still starts and says why', async ({ dir }) => {
  chmodSync(dir, 0o777)
  const app = await startApp({ env: { AGENT_WEBUI_AUTO_INSTALL: '1', AGENT_WEBUI_AGENT_DIR: dir } })
  assert.is((await app.get('/health')).status, 200)
  assert.ok(app.lines.some(line => /dependencies are not installed/.test(line)))
  await app.close()
})

test.run()
